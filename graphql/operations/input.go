package operations

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql/execute"
)

const (
	// maxInput bounds the JSON Schema of a tool's input, in bytes: a client would
	// have to read all of it before the first call.
	maxInput = 1 << 20
	// largeInput is what is worth a warning, about as much as all built-in tools
	// together.
	largeInput = 16 << 10
	// maxAbout bounds a description from the schema, in characters.
	maxAbout = 300
	// maxInline is how many input types stand within one another before the next
	// is written by itself.
	maxInline = 16
	// smallEnum is how many bytes an enum may have to be written wherever it is used.
	smallEnum = 64
)

// about is what is said of a place where a value goes.
type about struct {
	description string
	deprecated  string // why; "" if it is not
	standard    json.RawMessage
}

// conversion makes a JSON Schema of the variables of one operation.
//
// The schema takes exactly the values that coercion (GraphQL spec, October 2021,
// §3 and §6.1.2) takes as they are: what may be null may be null, objects are
// closed, a default makes optional. It has no $schema, no combinators at the
// top, and only keywords that draft 7 has or ignores. A type that is used once is
// written where it is used, others under $defs, so that input types may contain
// themselves.
type conversion struct {
	schema  *ast.Schema
	scalars map[string]*scalar
	// used are the enums and input types that the variables reach, in that order.
	used  []*usage
	named map[string]*usage
	// unmapped are the custom scalars that nothing is known of, sorted.
	unmapped []string
}

// usage is an enum or input type at work.
type usage struct {
	def *ast.Definition
	// level is how far it is from the variables.
	level int
	// nullable and plain count where it is used, with and without null.
	nullable, plain int
	// apart says that it is written under $defs.
	apart bool
}

// standsApart reports whether the type is better written under $defs.
func (u *usage) standsApart() bool {
	if u.nullable+u.plain < 2 {
		return u.level > 0 && u.level%maxInline == 0
	}
	if u.def.Kind != ast.Enum {
		return true
	}
	size := 0
	for _, v := range u.def.EnumValues {
		size += len(v.Name) + len(`"",`)
		if v.Description != "" || deprecation(v.Directives) != "" {
			return true
		}
	}
	return size > smallEnum
}

// reach notes all types that the variables need.
func (c *conversion) reach(variables ast.VariableDefinitionList) {
	c.named = map[string]*usage{}
	for _, v := range variables {
		c.note(v.Type, 0, false)
	}
	for rest := c.used; len(rest) > 0; {
		known := len(c.used)
		for _, u := range rest {
			one := isOneOf(u.def)
			for _, f := range u.def.Fields {
				c.note(f.Type, u.level+1, one)
			}
		}
		rest = c.used[known:] // what was met on the way
	}
	for _, u := range c.used {
		u.apart = u.standsApart()
	}
	slices.Sort(c.unmapped)
}

// note counts a type where a value of it goes. never says that null is refused
// though the type allows it.
func (c *conversion) note(t *ast.Type, level int, never bool) {
	for t.Elem != nil {
		t, never = t.Elem, false
	}
	def := c.schema.Types[t.NamedType]
	if def == nil {
		return // validation has said so
	}
	if def.Kind == ast.Scalar {
		if !def.BuiltIn && c.scalars[def.Name] == nil && !slices.Contains(c.unmapped, def.Name) {
			c.unmapped = append(c.unmapped, def.Name)
		}
		return
	}
	u := c.named[def.Name]
	if u == nil {
		u = &usage{def: def, level: level}
		c.named[def.Name] = u
		c.used = append(c.used, u)
	}
	if t.NonNull || never {
		u.plain++
	} else {
		u.nullable++
	}
}

// object is the schema of all variables. says has what is said of each.
func (c *conversion) object(variables ast.VariableDefinitionList, says map[string]about) json.RawMessage {
	c.reach(variables)
	members := make([]member, len(variables))
	for i, v := range variables {
		members[i] = member{v.Variable, v.Type, v.DefaultValue != nil, says[v.Variable]}
	}
	b := c.appendMembers([]byte(`{"type":"object"`), members, true)
	apart := slices.DeleteFunc(slices.Clone(c.used), func(u *usage) bool { return !u.apart })
	slices.SortFunc(apart, func(a, b *usage) int { return cmp.Compare(a.def.Name, b.def.Name) })
	if len(apart) > 0 {
		b = append(key(b, "$defs"), '{')
		for _, u := range apart {
			b = append(key(b, u.def.Name), '{')
			b = append(c.appendDefinition(b, u.def, u.plain == 0, about{}), '}')
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// member is a variable, or a field of an input type.
type member struct {
	name     string
	of       *ast.Type
	optional bool // though it may not be null
	about    about
}

// appendMembers writes the keywords that describe an object's members. nullable
// says that null is taken where the type allows it.
func (c *conversion) appendMembers(b []byte, members []member, nullable bool) []byte {
	b = append(key(b, "properties"), '{')
	var required []string
	for _, m := range members {
		b = c.appendType(key(b, m.name), m.of, nullable && !m.of.NonNull, m.about)
		if m.of.NonNull && !m.optional {
			required = append(required, m.name)
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = append(key(b, "required"), `["`...)
		b = append(append(b, strings.Join(required, `","`)...), `"]`...)
	}
	return append(key(b, "additionalProperties"), "false"...)
}

// appendType writes the schema of a value of a type.
func (c *conversion) appendType(b []byte, t *ast.Type, nullable bool, a about) []byte {
	b = append(b, '{')
	def := c.schema.Types[t.NamedType]
	switch {
	case t.Elem != nil:
		b = appendKind(b, "array", nullable)
		b = a.append(b)
		b = c.appendType(key(b, "items"), t.Elem, !t.Elem.NonNull, about{})
	case def.Kind == ast.Scalar:
		b = c.appendScalar(b, def, nullable, a)
	case !c.named[def.Name].apart:
		b = c.appendDefinition(b, def, nullable, a)
	default:
		reference := `"$ref":"#/$defs/` + def.Name + `"`
		if nullable && c.named[def.Name].plain > 0 {
			reference = `"anyOf":[{` + reference + `},{"type":"null"}]`
		}
		b = a.append(append(b, reference...))
	}
	return append(b, '}')
}

func (c *conversion) appendScalar(b []byte, def *ast.Definition, nullable bool, a about) []byte {
	switch def.Name {
	case "Int":
		b = append(appendKind(b, "integer", nullable), `,"minimum":-2147483648,"maximum":2147483647`...)
	case "Float":
		b = appendKind(b, "number", nullable)
	case "Boolean":
		b = appendKind(b, "boolean", nullable)
	case "String", "ID":
		b = appendKind(b, "string", nullable)
	default:
		if s := c.scalars[def.Name]; s != nil {
			a.description = cmp.Or(a.description, s.description)
			b = s.append(b, nullable)
			break
		}
		meaning := oneLine(def.Description)
		if d := def.Directives.ForName("specifiedBy"); d != nil && len(d.Arguments) > 0 {
			meaning = joined(meaning, "Specified by "+d.Arguments[0].Value.Raw+".")
		}
		a.description = joined(a.description, joined("A value of "+def.Name+".", meaning))
	}
	return a.append(b)
}

// appendDefinition writes the keywords of an enum or input type.
func (c *conversion) appendDefinition(b []byte, def *ast.Definition, nullable bool, a about) []byte {
	a.description = cmp.Or(a.description, oneLine(def.Description))
	if def.Kind == ast.Enum {
		b = append(key(appendKind(b, "string", nullable), "enum"), '[')
		var meanings strings.Builder
		for i, v := range def.EnumValues {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, v.Name)
			meaning := oneLine(v.Description)
			if why := deprecation(v.Directives); why != "" {
				meaning = joined(meaning, "(deprecated: "+why+")")
			}
			if meaning != "" {
				meanings.WriteString("\n" + v.Name + ": " + meaning)
			}
		}
		if nullable {
			b = append(b, ",null"...)
		}
		a.description = strings.TrimPrefix(a.description+meanings.String(), "\n")
		return a.append(append(b, ']'))
	}
	one := isOneOf(def)
	b = appendKind(b, "object", nullable)
	if one {
		names := make([]string, len(def.Fields))
		for i, f := range def.Fields {
			names[i] = f.Name
		}
		a.description = joined(a.description, "Give exactly one of "+strings.Join(names, ", ")+".")
		b = append(b, `,"minProperties":1,"maxProperties":1`...)
	}
	b = a.append(b)
	members := make([]member, len(def.Fields))
	standard := c.standards(def)
	for i, f := range def.Fields {
		members[i] = member{f.Name, f.Type, f.DefaultValue != nil, about{oneLine(f.Description), deprecation(f.Directives), standard[f.Name]}}
	}
	return c.appendMembers(b, members, !one)
}

// standards are the default values of an input type's fields.
func (c *conversion) standards(def *ast.Definition) map[string]json.RawMessage {
	var variables ast.VariableDefinitionList
	for _, f := range def.Fields {
		if f.DefaultValue != nil {
			variables = append(variables, &ast.VariableDefinition{Variable: f.Name, Type: f.Type, DefaultValue: f.DefaultValue})
		}
	}
	values, _ := c.defaults(variables) // one that does not fit is not shown
	return values
}

// defaults are the default values of variables as coercion writes them.
func (c *conversion) defaults(variables ast.VariableDefinitionList) (map[string]json.RawMessage, []execute.Fault) {
	written := map[string]any{}
	var with ast.VariableDefinitionList
	for _, v := range variables {
		if v.DefaultValue != nil {
			written[v.Variable] = jsonOf(v.DefaultValue)
			with = append(with, v)
		}
	}
	if len(with) == 0 {
		return nil, nil
	}
	raw, err := execute.Encode(written)
	if err != nil {
		return nil, []execute.Fault{{Message: "default values: " + err.Error()}}
	}
	coerced, faults := execute.Coerce(c.schema, &ast.OperationDefinition{VariableDefinitions: with}, raw, checks(c.scalars))
	var values map[string]json.RawMessage
	if len(faults) == 0 {
		_ = json.Unmarshal(coerced, &values) // it is a JSON object
	}
	return values, faults
}

// jsonOf is a value of a document in JSON; an enum value is a text. The value
// holds no variables.
func jsonOf(v *ast.Value) any {
	switch v.Kind {
	case ast.IntValue, ast.FloatValue:
		return json.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.NullValue:
		return nil
	case ast.ListValue:
		list := make([]any, len(v.Children))
		for i, child := range v.Children {
			list[i] = jsonOf(child.Value)
		}
		return list
	case ast.ObjectValue:
		object := make(map[string]any, len(v.Children))
		for _, child := range v.Children {
			object[child.Name] = jsonOf(child.Value)
		}
		return object
	default:
		return v.Raw
	}
}

// append writes what is said of a place.
func (a about) append(b []byte) []byte {
	if a.deprecated != "" {
		a.description = joined(a.description, "Deprecated: "+a.deprecated)
	}
	if a.description != "" {
		b = appendText(key(b, "description"), a.description)
	}
	if a.deprecated != "" {
		b = append(key(b, "deprecated"), "true"...)
	}
	if a.standard != nil {
		b = append(key(b, "default"), a.standard...)
	}
	return b
}

func deprecation(all ast.DirectiveList) string {
	d := all.ForName("deprecated")
	if d == nil {
		return ""
	}
	if reason := d.Arguments.ForName("reason"); reason != nil && reason.Value.Raw != "" {
		return oneLine(reason.Value.Raw)
	}
	return "No longer supported"
}

func isOneOf(d *ast.Definition) bool { return d.Directives.ForName("oneOf") != nil }

// oneLine is a text of the schema on one line, and not too long.
func oneLine(s string) string {
	return execute.Cut(strings.Join(strings.Fields(s), " "), maxAbout)
}

// joined puts a sentence behind another.
func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }

// key writes the name of an object's next member, which needs no escapes.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), `":`...)
}

func appendKind(b []byte, kind string, nullable bool) []byte {
	b = key(b, "type")
	if nullable {
		return append(append(append(b, `["`...), kind...), `","null"]`...)
	}
	return append(append(append(b, '"'), kind...), '"')
}

func appendText(b []byte, s string) []byte {
	text, _ := execute.Encode(s) // a string
	return append(b, text...)
}

// input describes the operation's variables, as its tool and as what is held to
// it on every call.
func (l *loader) input(m *marked, o *Operation) {
	c := conversion{schema: l.Schema.AST(), scalars: l.scalars}
	says := m.says()
	standard, faults := c.defaults(m.VariableDefinitions)
	for _, fault := range faults {
		m.fault(m.Position, "default of %s", asArgument(fault.String()))
	}
	for _, v := range m.VariableDefinitions {
		a := says[v.Variable]
		a.description = cmp.Or(m.variables[v.Variable].description, strings.TrimSpace(v.Description), a.description)
		a.standard = standard[v.Variable]
		says[v.Variable] = a
		if why, ok := l.Schema.Unfillable(v.Type.Name()); ok {
			m.fault(v.Position, "$%s can never be filled: %s", v.Variable, why)
		}
	}
	o.Input = c.object(m.VariableDefinitions, says)
	if slices.Contains(c.unmapped, "Upload") {
		m.fault(m.Position, "files cannot be uploaded by a tool (scalar Upload): where the API takes them in JSON, say how under scalars")
	}
	if size := len(o.Input); size > maxInput {
		m.fault(m.Position, "the JSON Schema of the input has %d bytes; at most %d are allowed: give the operation plain variables, and build the input type in the document", size, maxInput)
	} else if size > largeInput {
		l.warn(o.Place, m.Name, "the JSON Schema of the input has %d bytes, which each client reads: with plain variables, and the input type built in the document, it has fewer", size)
	}
	if len(m.faults) == 0 {
		for _, name := range c.unmapped {
			l.unmapped[name] = append(l.unmapped[name], o.OperationName)
		}
	}
	schema, definition, scalars := c.schema, m.OperationDefinition, checks(l.scalars)
	o.variables = func(input json.RawMessage) (json.RawMessage, []execute.Fault) {
		sent, faults := execute.Coerce(schema, definition, input, scalars)
		for i, f := range faults {
			faults[i].Message = asArgument(f.Message)
		}
		return sent, faults
	}
}

// asArgument words a fault of a variable as one of the tool's argument, which it is.
func asArgument(message string) string {
	if rest, ok := strings.CutPrefix(message, "variables."); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(message, "variables:"); ok {
		return "arguments:" + rest
	}
	return message
}

// says is what the schema says of the places where the variables are used.
func (m *marked) says() map[string]about {
	all := map[string]about{}
	var use func(value *ast.Value, description string, directives ast.DirectiveList)
	use = func(value *ast.Value, description string, directives ast.DirectiveList) {
		switch value.Kind {
		case ast.Variable:
			before, again := all[value.Raw]
			a := about{description: cmp.Or(before.description, oneLine(description)), deprecated: deprecation(directives)}
			if again && (a.deprecated == "" || before.deprecated == "") {
				a.deprecated = ""
			}
			all[value.Raw] = a
		case ast.ListValue:
			for _, child := range value.Children {
				use(child.Value, description, directives)
			}
		case ast.ObjectValue:
			for _, child := range value.Children {
				if value.Definition == nil {
					continue
				}
				if field := value.Definition.Fields.ForName(child.Name); field != nil {
					use(child.Value, field.Description, field.Directives)
				}
			}
		default:
		}
	}
	arguments := func(given ast.ArgumentList, defined ast.ArgumentDefinitionList) {
		for _, a := range given {
			if d := defined.ForName(a.Name); d != nil {
				use(a.Value, d.Description, d.Directives)
			}
		}
	}
	m.each(func(s ast.Selection) {
		if f, ok := s.(*ast.Field); ok && f.Definition != nil {
			arguments(f.Arguments, f.Definition.Arguments)
		}
	})
	m.eachDirective(func(d *ast.Directive) {
		if d.Definition != nil {
			arguments(d.Arguments, d.Definition.Arguments)
		}
	})
	return all
}
