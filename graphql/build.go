package graphql

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// builder makes a closed schema of a document: it puts right or leaves out what
// breaks the rules of the GraphQL spec (October 2021, §3), with a warning for each.
type builder struct {
	*document
	out     *ast.Schema
	prelude map[string]*ast.DirectiveDefinition
	order   []*ast.Definition
}

func (d *document) build() *ast.Schema {
	b := &builder{document: d, out: &ast.Schema{
		Types:         map[string]*ast.Definition{},
		Directives:    map[string]*ast.DirectiveDefinition{},
		PossibleTypes: map[string][]*ast.Definition{},
		Implements:    map[string][]*ast.Definition{},
	}, prelude: map[string]*ast.DirectiveDefinition{}}
	for _, def := range validator.PreludeDocument().Definitions {
		def.BuiltIn = true
		b.out.Types[def.Name] = def
	}
	for _, def := range validator.PreludeDocument().Directives {
		b.prelude[def.Name] = def
		if def.Name != "defer" { // known only where the server says so
			b.out.Directives[def.Name] = def
		}
	}
	b.collect()
	for rest := b.order; len(rest) > 0; {
		known := len(b.order)
		for _, def := range rest {
			b.definition(def)
		}
		rest = b.order[known:] // what was undefined, and was added on the way
	}
	for _, def := range b.order {
		b.defaults(def)
	}
	b.directives()
	for _, def := range b.order {
		b.interfaces(def)
	}
	b.relate()
	b.roots()
	if b.out.Query != nil {
		b.out.Query.Fields = append(b.out.Query.Fields, validator.QueryIntrospectionFields()...)
	}
	return b.out
}

// collect brings each type together from its definition and extensions.
func (b *builder) collect() {
	for _, def := range b.Definitions {
		b.add(def)
	}
	for _, ext := range b.Extensions {
		base := b.out.Types[ext.Name]
		switch {
		case base == nil:
			b.add(ext)
			continue
		case base.BuiltIn:
			continue
		case base.Kind != ext.Kind:
			b.warn(ext.Name, ext.Position, "is extended as another kind of type; the extension is left out")
			continue
		}
		base.Directives = append(base.Directives, ext.Directives...)
		base.Interfaces = append(base.Interfaces, ext.Interfaces...)
		base.Fields = append(base.Fields, ext.Fields...)
		base.Types = append(base.Types, ext.Types...)
		base.EnumValues = append(base.EnumValues, ext.EnumValues...)
	}
}

func (b *builder) add(def *ast.Definition) {
	switch before := b.out.Types[def.Name]; {
	case strings.HasPrefix(def.Name, "__"), before != nil && before.BuiltIn:
		// every schema has these, said or not
	case !isName(def.Name):
		b.warn(strconv.Quote(def.Name), def.Position, "is left out: the name is no GraphQL name")
	case before != nil:
		b.warn(def.Name, def.Position, "is defined twice; the first definition stays")
	default:
		b.out.Types[def.Name] = def
		b.order = append(b.order, def)
	}
}

// definition puts the members of a type right, but for default values.
func (b *builder) definition(def *ast.Definition) {
	def.BuiltIn = false
	def.TypePositions = nil
	def.Description = cleanDescription(def.Description)
	def.BeforeDescriptionComment, def.AfterDescriptionComment, def.EndOfDefinitionComment = nil, nil, nil
	switch def.Kind {
	case ast.Scalar:
		def.Directives = b.known(def.Directives, "specifiedBy", "url")
	case ast.InputObject:
		def.Directives = b.known(def.Directives, "oneOf", "")
	default:
		def.Directives = nil
	}
	input := def.Kind == ast.InputObject
	def.Fields = b.fields(def, input)
	def.EnumValues = b.enumValues(def)
	def.Types = b.members(def)
	if def.Kind != ast.Scalar && len(def.Fields)+len(def.EnumValues)+len(def.Types) == 0 {
		b.warn(def.Name, def.Position, "is empty")
	}
}

// maxTwice bounds the members that one warning names.
const maxTwice = 8

func (b *builder) fields(def *ast.Definition, input bool) ast.FieldList {
	seen := make(map[string]bool, len(def.Fields))
	var twice []string // of a type, said in one warning
	var first *ast.Position
	defer func() {
		if len(twice) > 0 {
			b.warn(strings.Join(twice, ", "), first, "is defined twice; the first definition stays")
		}
	}()
	return slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool {
		place := def.Name + "." + f.Name
		if seen[f.Name] {
			if first == nil {
				first = f.Position
			}
			if len(twice) < maxTwice {
				twice = append(twice, place)
			}
			return true
		}
		if !b.member(place, f.Name, f.Position, seen) || !b.typed(place, f.Position, f.Type, input) {
			return true
		}
		f.Description = cleanDescription(f.Description)
		f.BeforeDescriptionComment, f.AfterDescriptionComment = nil, nil
		f.Directives = b.known(f.Directives, "deprecated", "reason")
		f.Arguments = b.arguments(place, f.Arguments)
		return false
	})
}

func (b *builder) arguments(place string, args ast.ArgumentDefinitionList) ast.ArgumentDefinitionList {
	if len(args) == 0 {
		return nil
	}
	seen := make(map[string]bool, len(args))
	return slices.DeleteFunc(args, func(a *ast.ArgumentDefinition) bool {
		place := place + "(" + a.Name + ":)"
		if !b.member(place, a.Name, a.Position, seen) || !b.typed(place, a.Position, a.Type, true) {
			return true
		}
		a.Description = cleanDescription(a.Description)
		a.BeforeDescriptionComment, a.AfterDescriptionComment = nil, nil
		a.Directives = b.known(a.Directives, "deprecated", "reason")
		return false
	})
}

func (b *builder) enumValues(def *ast.Definition) ast.EnumValueList {
	seen := make(map[string]bool, len(def.EnumValues))
	return slices.DeleteFunc(def.EnumValues, func(v *ast.EnumValueDefinition) bool {
		place := def.Name + "." + v.Name
		if v.Name == "true" || v.Name == "false" || v.Name == "null" {
			b.warn(place, v.Position, "is left out: no enum value can have that name")
			return true
		}
		if !b.member(place, v.Name, v.Position, seen) {
			return true
		}
		v.Description = cleanDescription(v.Description)
		v.BeforeDescriptionComment, v.AfterDescriptionComment = nil, nil
		v.Directives = b.known(v.Directives, "deprecated", "reason")
		return false
	})
}

// members are the types of a union.
func (b *builder) members(def *ast.Definition) []string {
	seen := make(map[string]bool, len(def.Types))
	return slices.DeleteFunc(def.Types, func(name string) bool {
		target := b.out.Types[name]
		switch {
		case seen[name]:
			b.warn("union "+def.Name, def.Position, "names %s twice", name)
		case target == nil || target.Kind != ast.Object:
			b.warn("union "+def.Name, def.Position, "names %q, which is no object type; it is left out", name)
		default:
			seen[name] = true
			return false
		}
		return true
	})
}

// member tells whether a name may stand in a type, argument list or directive.
func (b *builder) member(place, name string, pos *ast.Position, seen map[string]bool) bool {
	switch {
	case !isName(name) || strings.HasPrefix(name, "__"):
		b.warn(place, pos, "is left out: the name is no GraphQL name")
	case seen[name]:
		b.warn(place, pos, "is defined twice; the first definition stays")
	default:
		seen[name] = true
		return true
	}
	return false
}

// typed tells whether a field or argument may have the type. A type that is not
// defined becomes a scalar.
func (b *builder) typed(place string, pos *ast.Position, t *ast.Type, input bool) bool {
	name := t.Name()
	target := b.out.Types[name]
	switch {
	case target == nil && (!isName(name) || strings.HasPrefix(name, "__")):
		b.warn(place, pos, "is left out: its type %q is no GraphQL name", name)
		return false
	case target == nil:
		b.warn(place, pos, "its type %s is not defined; it is taken for a scalar", name)
		target = &ast.Definition{Kind: ast.Scalar, Name: name}
		b.out.Types[name] = target
		b.order = append(b.order, target)
	case input && !target.IsInputType():
		b.warn(place, pos, "is left out: its type %s is for output only", name)
		return false
	case !input && target.Kind == ast.InputObject:
		b.warn(place, pos, "is left out: its type %s is for input only", name)
		return false
	}
	return true
}

// noReason is the default reason of a deprecation.
const noReason = "No longer supported"

// known keeps, of the directives that are applied to an element, the one that
// introspection knows too, with its only argument: nobody can depend on others.
func (b *builder) known(applied ast.DirectiveList, name, argument string) ast.DirectiveList {
	d := applied.ForName(name)
	if d == nil {
		return nil
	}
	kept := &ast.Directive{Name: name, Definition: b.prelude[name], Position: d.Position}
	if a := d.Arguments.ForName(argument); a != nil && a.Value != nil && (a.Value.Kind == ast.StringValue || a.Value.Kind == ast.BlockValue) {
		if text := cleanText(a.Value.Raw); text != noReason {
			kept.Arguments = ast.ArgumentList{{Name: argument, Value: &ast.Value{Kind: ast.StringValue, Raw: text}}}
		}
	} else if name == "specifiedBy" {
		return nil
	}
	return ast.DirectiveList{kept}
}

// defaults fits the default values of a type's members to their types.
func (b *builder) defaults(def *ast.Definition) {
	for _, f := range def.Fields {
		place := def.Name + "." + f.Name
		if def.Kind == ast.InputObject {
			f.DefaultValue = b.defaultValue(place, f.Position, f.Type, f.DefaultValue)
		} else {
			f.DefaultValue = nil
		}
		for _, a := range f.Arguments {
			a.DefaultValue = b.defaultValue(place+"("+a.Name+":)", a.Position, a.Type, a.DefaultValue)
		}
	}
}

func (b *builder) defaultValue(place string, pos *ast.Position, t *ast.Type, v *ast.Value) *ast.Value {
	if v == nil {
		return nil
	}
	fitted, exact := b.fit(t, v, 0)
	switch {
	case fitted == nil && v.Kind == unparsed:
		b.warn(place, pos, "its default %s is no value of %s; it is left out", strconv.Quote(cut(v.Raw, 60)), t)
	case fitted == nil:
		b.warn(place, pos, "its default %s is no value of %s; it is left out", cut(v.String(), 60), t)
	case !exact && v.Kind == unparsed:
		b.warn(place, pos, "its default %s is no GraphQL literal; it is read as %s", strconv.Quote(cut(v.Raw, 60)), cut(fitted.String(), 60))
	case !exact:
		b.warn(place, pos, "its default %s is written for another type; it is read as %s", cut(v.String(), 60), cut(fitted.String(), 60))
	}
	return fitted
}

// fit gives the value as one of the type, and whether it was one as it stood;
// nil if it is none.
func (b *builder) fit(t *ast.Type, v *ast.Value, depth int) (fitted *ast.Value, exact bool) {
	if depth > maxWrappers {
		return nil, false
	}
	if v.Kind == unparsed {
		read := jsonLiteral(v.Raw)
		if read == nil && t.NamedType != "" && b.out.Types[t.NamedType].Kind == ast.Scalar {
			read = &ast.Value{Kind: ast.StringValue, Raw: v.Raw}
		}
		if read == nil {
			return nil, false
		}
		fitted, _ = b.fit(t, read, depth+1)
		return fitted, false
	}
	if v.Kind == ast.NullValue {
		if t.NonNull {
			return nil, false
		}
		return v, true
	}
	if t.Elem != nil {
		if v.Kind != ast.ListValue {
			return b.fit(t.Elem, v, depth+1)
		}
		return b.fitChildren(v, depth, func(*ast.ChildValue) *ast.Type { return t.Elem })
	}
	as := func(kind ast.ValueKind, raw string) *ast.Value { return &ast.Value{Kind: kind, Raw: raw} }
	switch target := b.out.Types[t.NamedType]; target.Kind {
	case ast.Enum:
		if known := target.EnumValues.ForName(v.Raw); known != nil {
			switch v.Kind {
			case ast.EnumValue:
				return v, true
			case ast.StringValue, ast.BlockValue:
				return as(ast.EnumValue, v.Raw), false
			default:
			}
		}
		return nil, false
	case ast.InputObject:
		if v.Kind != ast.ObjectValue {
			return nil, false
		}
		return b.fitChildren(v, depth, func(child *ast.ChildValue) *ast.Type {
			if f := target.Fields.ForName(child.Name); f != nil {
				return f.Type
			}
			return nil
		})
	default:
		return fitScalar(t.NamedType, v, as)
	}
}

func (b *builder) fitChildren(v *ast.Value, depth int, typeOf func(*ast.ChildValue) *ast.Type) (*ast.Value, bool) {
	children, exact := make(ast.ChildValueList, 0, len(v.Children)), true
	for _, child := range v.Children {
		t := typeOf(child)
		if t == nil {
			return nil, false
		}
		value, same := b.fit(t, child.Value, depth+1)
		if value == nil {
			return nil, false
		}
		exact = exact && same
		children = append(children, &ast.ChildValue{Name: child.Name, Value: value, Position: child.Position})
	}
	return &ast.Value{Kind: v.Kind, Children: children, Position: v.Position}, exact
}

func fitScalar(name string, v *ast.Value, as func(ast.ValueKind, string) *ast.Value) (*ast.Value, bool) {
	text := v.Kind == ast.StringValue || v.Kind == ast.BlockValue
	number := v.Kind == ast.IntValue || v.Kind == ast.FloatValue
	word := v.Kind == ast.EnumValue || v.Kind == ast.BooleanValue || number
	// reread takes a text for what stands in it, where that has the kind.
	reread := func(kinds ...ast.ValueKind) (*ast.Value, bool) {
		if text {
			if inner := parseLiteral(v.Raw); inner != nil && slices.Contains(kinds, inner.Kind) {
				return inner, false
			}
		}
		return nil, false
	}
	switch name {
	case "Int":
		if v.Kind == ast.IntValue {
			return v, true
		}
		return reread(ast.IntValue)
	case "Float":
		if number {
			return v, true
		}
		return reread(ast.IntValue, ast.FloatValue)
	case "Boolean":
		if v.Kind == ast.BooleanValue {
			return v, true
		}
		return reread(ast.BooleanValue)
	case "String", "ID":
		switch {
		case text, name == "ID" && v.Kind == ast.IntValue:
			return v, true
		case word:
			return as(ast.StringValue, v.Raw), false
		}
		return nil, false
	}
	return v, true // what a custom scalar takes only the server knows
}

// directives adds the definitions of directives.
func (b *builder) directives() {
	declared := map[string]bool{}
	for _, def := range b.Directives {
		place := "@" + def.Name
		switch {
		case !isName(def.Name) || strings.HasPrefix(def.Name, "__"):
			b.warn(place, def.Position, "is left out: the name is no GraphQL name")
			continue
		case declared[def.Name]:
			b.warn(place, def.Position, "is defined twice; the first definition stays")
			continue
		}
		declared[def.Name] = true
		if standard(def.Name) {
			continue // the prelude's definition is the newest
		}
		def.Description = cleanDescription(def.Description)
		def.BeforeDescriptionComment, def.AfterDescriptionComment, def.Directives = nil, nil, nil
		def.Arguments = b.arguments(place, def.Arguments)
		for _, a := range def.Arguments {
			a.DefaultValue = b.defaultValue(place+"("+a.Name+":)", a.Position, a.Type, a.DefaultValue)
		}
		var locations []ast.DirectiveLocation
		for _, location := range def.Locations {
			if isName(string(location)) && !slices.Contains(locations, location) {
				locations = append(locations, location)
			}
		}
		if def.Locations = locations; len(locations) == 0 {
			b.warn(place, def.Position, "is left out: it may stand nowhere")
			continue
		}
		b.out.Directives[def.Name] = def
	}
}

// standard tells the directives that every schema has.
func standard(name string) bool {
	switch name {
	case "skip", "include", "deprecated", "specifiedBy", "oneOf":
		return true
	}
	return false
}

// maxInterfaces bounds the interfaces of a type: of a chain of them, each has all
// that follow.
const maxInterfaces = 250

// interfaces puts right what a type says it implements.
func (b *builder) interfaces(def *ast.Definition) {
	if def.Kind != ast.Object && def.Kind != ast.Interface {
		def.Interfaces = nil
		return
	}
	if len(def.Interfaces) == 0 {
		return
	}
	fields := make(map[string]bool, len(def.Fields))
	for _, f := range def.Fields {
		fields[f.Name] = true
	}
	seen := map[string]bool{}
	def.Interfaces = slices.DeleteFunc(def.Interfaces, func(name string) bool {
		target := b.out.Types[name]
		switch {
		case len(seen) == maxInterfaces:
			b.warn(def.Name, def.Position, "implements more than %d interfaces; %q is left out", maxInterfaces, name)
		case seen[name]:
			b.warn(def.Name, def.Position, "implements %s twice", name)
		case name == def.Name || target == nil || target.Kind != ast.Interface:
			b.warn(def.Name, def.Position, "implements %q, which is no interface it could; that is left out", name)
		default:
			seen[name] = true
			for _, f := range target.Fields {
				if !fields[f.Name] {
					b.warn(def.Name, def.Position, "lacks the field %s of the interface %s", f.Name, name)
				}
			}
			return false
		}
		return true
	})
	for i := 0; i < len(def.Interfaces); i++ { // it grows
		for _, name := range b.out.Types[def.Interfaces[i]].Interfaces {
			if len(seen) == maxInterfaces {
				b.warn(def.Name, def.Position, "implements more than %d interfaces by way of others; the rest is left out", maxInterfaces)
				return
			}
			if target := b.out.Types[name]; !seen[name] && name != def.Name && target != nil && target.Kind == ast.Interface {
				b.warn(def.Name, def.Position, "implements %s by way of %s without saying so", name, def.Interfaces[i])
				seen[name] = true
				def.Interfaces = append(def.Interfaces, name)
			}
		}
	}
}

// relate fills the tables of who may stand for whom, by name.
func (b *builder) relate() {
	for _, name := range slices.Sorted(maps.Keys(b.out.Types)) {
		def := b.out.Types[name]
		switch def.Kind {
		case ast.Union:
			for _, member := range def.Types {
				b.out.AddPossibleType(name, b.out.Types[member])
				b.out.AddImplements(member, def)
			}
		case ast.Object, ast.Interface, ast.InputObject:
			for _, i := range def.Interfaces {
				b.out.AddPossibleType(i, def)
				b.out.AddImplements(name, b.out.Types[i])
			}
			if def.Kind != ast.Interface {
				b.out.AddPossibleType(name, def)
			}
		default:
		}
	}
}

// roots finds the types that operations start at. Without a schema definition
// they are found by their names.
func (b *builder) roots() {
	roots := map[ast.Operation]**ast.Definition{ast.Query: &b.out.Query, ast.Mutation: &b.out.Mutation, ast.Subscription: &b.out.Subscription}
	said := false
	set := func(operation ast.Operation, name string, pos *ast.Position) {
		def := b.out.Types[name]
		switch root := roots[operation]; {
		case def == nil || def.Kind != ast.Object:
			b.warn("schema", pos, "its %s type %q is no object type; it is left out", operation, name)
		case *root != nil && *root != def:
			b.warn("schema", pos, "names two %s types; %s stays", operation, (*root).Name)
		default:
			*root = def
		}
	}
	for i, list := range []ast.SchemaDefinitionList{b.Schema, b.SchemaExtension} {
		for _, schema := range list {
			b.out.Description += cleanDescription(schema.Description)
			said = said || i == 0 || len(schema.OperationTypes) > 0
			for _, root := range schema.OperationTypes {
				set(root.Operation, root.Type, root.Position)
			}
		}
	}
	if said {
		return
	}
	for _, operation := range []ast.Operation{ast.Query, ast.Mutation, ast.Subscription} {
		name := strings.ToUpper(string(operation[:1])) + string(operation[1:])
		if def := b.out.Types[name]; def != nil && def.Kind == ast.Object {
			set(operation, name, def.Position)
		}
	}
}
