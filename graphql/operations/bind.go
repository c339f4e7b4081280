package operations

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/theory/jsonpath/spec"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql/execute"
)

// binding makes an operation's variables of a tool's arguments.
type binding struct {
	// schema is what the arguments are held to.
	schema *jsonschema.Schema
	// defaults stand for arguments that are left out.
	defaults map[string]json.RawMessage
	slots    []source
	// coerce holds the variables to the types that the document declares.
	coerce func(json.RawMessage) (json.RawMessage, []execute.Fault)
}

// source is where a variable has its value from.
type source struct {
	variable string
	// path leads into the arguments; constant is the value where there is none.
	path     *jsonPath
	constant any
}

// variables are what is sent for the arguments, or why they do not fit.
func (b *binding) variables(input json.RawMessage) (json.RawMessage, []execute.Fault) {
	arguments, err := readArguments(input)
	if err != nil {
		return nil, []execute.Fault{{Message: err.Error()}}
	}
	for name, standard := range b.defaults {
		if _, given := arguments[name]; given {
			continue
		}
		if arguments[name], err = execute.Decode(standard); err != nil {
			return nil, []execute.Fault{{Message: fmt.Sprintf("arguments: the default of %s: %v", name, err)}}
		}
	}
	var value any = arguments
	if err := checkNumbers(value); err == nil {
		value = repair(b.schema, value)
	}
	if wrong := checkValue(b.schema, value); len(wrong) > 0 {
		faults := make([]execute.Fault, len(wrong))
		for i, sentence := range wrong {
			faults[i].Message = "arguments: " + sentence
		}
		return nil, faults
	}
	sent := map[string]any{}
	for _, s := range b.slots {
		if s.path == nil {
			sent[s.variable] = s.constant
			continue
		}
		part, state, err := s.path.get(value)
		if err != nil {
			return nil, []execute.Fault{{Message: fmt.Sprintf("arguments: %v", err)}}
		}
		if state != Missing {
			sent[s.variable] = part
		}
	}
	raw, err := execute.Encode(sent)
	if err != nil {
		return nil, []execute.Fault{{Message: fmt.Sprintf("arguments: %v", err)}}
	}
	coerced, faults := b.coerce(raw)
	for i, f := range faults {
		faults[i].Message = b.renamed(f.Message)
	}
	return coerced, faults
}

// renamed says of an argument what a fault says of the variable it is sent as.
func (b *binding) renamed(message string) string {
	for _, s := range b.slots {
		rest, ok := strings.CutPrefix(message, "variables."+s.variable)
		if !ok || s.path == nil || rest != "" && !strings.ContainsAny(rest[:1], " .[") {
			continue
		}
		return "arguments: " + s.path.text + rest
	}
	return message
}

// readArguments reads a tool's arguments: an object, one written as a text, null
// or nothing.
func readArguments(input json.RawMessage) (map[string]any, error) {
	value, err := execute.Decode(input)
	if text, ok := value.(string); ok && err == nil {
		value, err = execute.Decode([]byte(text))
	}
	if err != nil {
		return nil, fmt.Errorf("the arguments must be a JSON object: %w", err)
	}
	switch value := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return value, nil
	}
	return nil, fmt.Errorf("the arguments must be a JSON object, got %s", shown(value))
}

// closed is a JSON Schema whose objects take only the properties that they list,
// unless they say otherwise or are put together of several schemas.
func closed(schema any) any {
	switch schema := schema.(type) {
	case []any:
		out := make([]any, len(schema))
		for i, item := range schema {
			out[i] = closed(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(schema)+1)
		for name, value := range schema {
			switch name {
			case "enum", "const", "default", "examples":
				out[name] = value
			case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
				out[name] = closedEach(value)
			default:
				out[name] = closed(value)
			}
		}
		if _, lists := schema["properties"]; lists && !opened(schema) {
			out["additionalProperties"] = false
		}
		return out
	}
	return schema
}

// opened reports whether a schema has a keyword that says what else its objects
// may have.
func opened(schema map[string]any) bool {
	return slices.ContainsFunc([]string{
		"additionalProperties", "patternProperties", "unevaluatedProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf",
		"if", "dependentSchemas",
	}, func(name string) bool { return schema[name] != nil })
}

// closedEach closes the schemas that stand under names.
func closedEach(schemas any) any {
	named, ok := schemas.(map[string]any)
	if !ok {
		return schemas
	}
	out := make(map[string]any, len(named))
	for name, schema := range named {
		out[name] = closed(schema)
	}
	return out
}

// builtin is a schema of nothing but the scalars that every API has (GraphQL
// spec, October 2021, §3.5): values of other types are for the endpoint to judge.
func builtin() *ast.Schema {
	s := &ast.Schema{Types: map[string]*ast.Definition{}}
	for _, name := range []string{"Int", "Float", "String", "Boolean", "ID"} {
		s.Types[name] = &ast.Definition{Kind: ast.Scalar, Name: name, BuiltIn: true}
	}
	return s
}

// fitting holds what a path selects in the arguments to a variable's type.
type fitting struct {
	arguments *jsonschema.Schema
	types     *ast.Schema
	scalars   execute.Scalars
}

// check says why the values at a path do not fit a variable; "" if they do, or
// if the schemas do not tell.
func (f fitting) check(v *ast.VariableDefinition, p jsonPath) string {
	at, sure := f.arguments, true
	for i, segment := range p.segments {
		selectors := segment.Selectors()
		if segment.IsDescendant() || len(selectors) != 1 {
			return "" // only a call tells
		}
		at = target(at)
		switch selector := selectors[0].(type) {
		case spec.Name:
			name := string(selector)
			member := below(at, name)
			if at != nil && at.Properties[name] == nil {
				member = nil
				if at.AdditionalProperties == false {
					return fmt.Sprintf("%s leads to nothing: variables_schema has no %s there", p.text, name)
				}
			}
			present := at != nil && slices.Contains(at.Required, name) || i == 0 && member != nil && member.Default != nil
			sure = sure && present && !nullable(at)
			at = member
		default:
			sure = false
			if at = target(at); at != nil {
				at = at.Items2020
			}
		}
	}
	if v.Type.NonNull && v.DefaultValue == nil && p.definite() && !sure {
		return fmt.Sprintf("$%s must be given (%s), and callers may leave %s out: add it to required", v.Variable, v.Type, p.text)
	}
	kind := v.Type
	if !p.definite() {
		if kind.Elem == nil {
			return fmt.Sprintf("%s selects a list, and $%s is %s", p.text, v.Variable, v.Type)
		}
		kind = kind.Elem
	}
	if why := f.fits(kind, at, 0); why != "" {
		return fmt.Sprintf("%s does not fit $%s, which is %s: %s", p.text, v.Variable, v.Type, why)
	}
	return ""
}

// nullable reports whether a schema says that it takes null.
func nullable(s *jsonschema.Schema) bool {
	s = target(s)
	return s != nil && s.Types != nil && slices.Contains(s.Types.ToStrings(), "null")
}

// maxFitDepth is how deep types are compared.
const maxFitDepth = 12

// fits says why values of a JSON Schema are not all values of a GraphQL type; ""
// if they are, or if it cannot be told.
func (f fitting) fits(t *ast.Type, s *jsonschema.Schema, depth int) string {
	s = target(s)
	if s == nil || depth > maxFitDepth {
		return ""
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			if why := f.takes(t, value); why != "" {
				return why
			}
		}
		return ""
	}
	if s.Const != nil {
		return f.takes(t, *s.Const)
	}
	if s.Types == nil {
		return ""
	}
	for _, name := range s.Types.ToStrings() {
		if why := f.fitsType(t, name, s, depth); why != "" {
			return why
		}
	}
	return ""
}

// fitsType is fits for one of the types that a schema names.
func (f fitting) fitsType(t *ast.Type, name string, s *jsonschema.Schema, depth int) string {
	switch {
	case name == "null" && t.NonNull:
		return "it may be null"
	case name == "null":
		return ""
	case t.Elem != nil && name == "array":
		return f.fits(t.Elem, s.Items2020, depth+1)
	case t.Elem != nil:
		return f.fitsType(t.Elem, name, s, depth+1) // one value stands for a list of it
	}
	def := f.types.Types[t.NamedType]
	if def == nil {
		return ""
	}
	taken := map[string][]string{
		"Int": {"integer"}, "Float": {"integer", "number"}, "Boolean": {"boolean"},
		"String": {"string", "integer", "number"}, "ID": {"string", "integer", "number"},
	}[def.Name]
	switch def.Kind {
	case ast.Enum:
		taken = []string{"string"}
	case ast.InputObject:
		taken = []string{"object"}
	default:
		if taken == nil {
			return "" // what a custom scalar takes, only a call tells
		}
	}
	if !slices.Contains(taken, name) {
		return fmt.Sprintf("it may be %s, and %s takes %s", name, def.Name, strings.Join(taken, " or "))
	}
	if def.Kind == ast.InputObject {
		return f.fitsInput(def, s, depth)
	}
	return ""
}

func (f fitting) fitsInput(def *ast.Definition, s *jsonschema.Schema, depth int) string {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := def.Fields.ForName(name)
		if field == nil {
			return fmt.Sprintf("%s has no field %s", def.Name, name)
		}
		if why := f.fits(field.Type, s.Properties[name], depth+1); why != "" {
			return name + ": " + why
		}
	}
	for _, field := range def.Fields {
		if field.Type.NonNull && field.DefaultValue == nil && len(s.Properties) > 0 && !slices.Contains(s.Required, field.Name) {
			return fmt.Sprintf("%s.%s must be given: add %s to required", def.Name, field.Name, field.Name)
		}
	}
	return ""
}

// takes says why a type does not take a value.
func (f fitting) takes(t *ast.Type, value any) string {
	raw, err := execute.Encode(map[string]any{"it": value})
	if err != nil {
		return err.Error()
	}
	probe := &ast.OperationDefinition{
		Operation: ast.Query, VariableDefinitions: ast.VariableDefinitionList{{Variable: "it", Type: t}},
	}
	_, faults := execute.Coerce(f.types, probe, raw, f.scalars)
	if len(faults) == 0 {
		return ""
	}
	return strings.TrimPrefix(faults[0].String(), "variables.")
}
