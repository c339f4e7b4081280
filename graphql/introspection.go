package graphql

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxWrappers bounds how many lists and non-nulls stand around a type.
const maxWrappers = 32

// introspected is the answer to an introspection query. What an older server
// does not know is absent.
type introspected struct {
	Description      *string               `json:"description"`
	QueryType        *introspectedRef      `json:"queryType"`
	MutationType     *introspectedRef      `json:"mutationType"`
	SubscriptionType *introspectedRef      `json:"subscriptionType"`
	Types            []introspectedType    `json:"types"`
	Directives       []introspectedDirects `json:"directives"`
}

type introspectedType struct {
	Kind           string              `json:"kind"`
	Name           string              `json:"name"`
	Description    string              `json:"description"`
	SpecifiedByURL string              `json:"specifiedByURL"`
	IsOneOf        bool                `json:"isOneOf"`
	Fields         []introspectedField `json:"fields"`
	InputFields    []introspectedInput `json:"inputFields"`
	Interfaces     []introspectedRef   `json:"interfaces"`
	EnumValues     []introspectedEnum  `json:"enumValues"`
	PossibleTypes  []introspectedRef   `json:"possibleTypes"`
}

type introspectedField struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Args        []introspectedInput `json:"args"`
	Type        *introspectedRef    `json:"type"`
	introspectedDeprecation
}

type introspectedInput struct {
	Name         string           `json:"name"`
	Description  string           `json:"description"`
	Type         *introspectedRef `json:"type"`
	DefaultValue *string          `json:"defaultValue"`
	introspectedDeprecation
}

type introspectedEnum struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	introspectedDeprecation
}

type introspectedDeprecation struct {
	IsDeprecated      *bool   `json:"isDeprecated"`
	DeprecationReason *string `json:"deprecationReason"`
}

type introspectedDirects struct {
	Name         string              `json:"name"`
	Description  string              `json:"description"`
	IsRepeatable bool                `json:"isRepeatable"`
	Locations    []string            `json:"locations"`
	Args         []introspectedInput `json:"args"`
}

type introspectedRef struct {
	Kind   string           `json:"kind"`
	Name   string           `json:"name"`
	OfType *introspectedRef `json:"ofType"`
}

// readIntrospection reads the JSON answer to an introspection query: whole, its
// data alone, or the schema alone.
func (d *document) readIntrospection(text []byte) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Schema json.RawMessage `json:"__schema"`
		Types  json.RawMessage `json:"types"`
		Errors json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	failures := parseErrors(answer.Errors)
	raw := answer.Schema
	switch {
	case notNull(answer.Data) != nil:
		var data struct {
			Schema json.RawMessage `json:"__schema"`
		}
		if err := json.Unmarshal(answer.Data, &data); err != nil {
			return fmt.Errorf("as JSON: %w", err)
		}
		raw = data.Schema
	case raw == nil && answer.Types != nil:
		raw = text
	}
	if notNull(raw) == nil {
		if len(failures) > 0 {
			return fmt.Errorf("it is an answer that failed: %s", cut(failures[0].Message, maxExcerpt))
		}
		return errors.New("the JSON is no answer to an introspection query: it has no __schema")
	}
	for _, failure := range failures {
		d.warn("", nil, "the answer came with an error: %s", cut(failure.Message, maxExcerpt))
	}
	var schema introspected
	if err := d.decode(raw, &schema); err != nil {
		return err
	}
	d.addIntrospected(&schema)
	return nil
}

// decode reads JSON and forgives single values of another type than they should have.
func (d *document) decode(raw []byte, to any) error {
	err := json.Unmarshal(raw, to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		d.warn(wrong.Field, nil, "is left out: it is a JSON %s", wrong.Value)
		return nil
	}
	if err != nil {
		return fmt.Errorf("as JSON: %w", err)
	}
	return nil
}

func (d *document) addIntrospected(in *introspected) {
	root := &ast.SchemaDefinition{}
	if in.Description != nil {
		root.Description = *in.Description
	}
	for _, r := range []struct {
		operation ast.Operation
		ref       *introspectedRef
	}{{ast.Query, in.QueryType}, {ast.Mutation, in.MutationType}, {ast.Subscription, in.SubscriptionType}} {
		if r.ref != nil && r.ref.Name != "" {
			root.OperationTypes = append(root.OperationTypes, &ast.OperationTypeDefinition{Operation: r.operation, Type: r.ref.Name})
		}
	}
	d.Schema = append(d.Schema, root)
	for i := range in.Types {
		if def := d.introspectedDefinition(&in.Types[i]); def != nil {
			d.Definitions = append(d.Definitions, def)
		}
	}
	for _, directive := range in.Directives {
		def := &ast.DirectiveDefinition{
			Name: directive.Name, Description: directive.Description, IsRepeatable: directive.IsRepeatable,
			Arguments: d.introspectedArguments("@"+directive.Name, directive.Args),
		}
		for _, location := range directive.Locations {
			def.Locations = append(def.Locations, ast.DirectiveLocation(location))
		}
		d.Directives = append(d.Directives, def)
	}
	d.addImplementers(in)
}

// addImplementers takes over what interfaces say of their types where the types
// do not say it of themselves.
func (d *document) addImplementers(in *introspected) {
	var byName map[string]*ast.Definition
	for i := range in.Types {
		t := &in.Types[i]
		if t.Kind != string(ast.Interface) {
			continue
		}
		for _, possible := range t.PossibleTypes {
			if byName == nil {
				byName = make(map[string]*ast.Definition, len(d.Definitions))
				for _, def := range d.Definitions {
					byName[def.Name] = def
				}
			}
			def := byName[possible.Name]
			if def == nil || def.Kind != ast.Object || slices.Contains(def.Interfaces, t.Name) {
				continue
			}
			d.warn("type "+def.Name, nil, "does not say that it implements %s, which says it of it", t.Name)
			def.Interfaces = append(def.Interfaces, t.Name)
		}
	}
}

func (d *document) introspectedDefinition(t *introspectedType) *ast.Definition {
	if strings.HasPrefix(t.Name, "__") {
		return nil
	}
	def := &ast.Definition{Kind: ast.DefinitionKind(t.Kind), Name: t.Name, Description: t.Description}
	place := t.Name
	switch def.Kind {
	case ast.Scalar:
		if t.SpecifiedByURL != "" {
			def.Directives = ast.DirectiveList{{Name: "specifiedBy", Arguments: ast.ArgumentList{{
				Name: "url", Value: &ast.Value{Kind: ast.StringValue, Raw: t.SpecifiedByURL},
			}}}}
		}
	case ast.Object, ast.Interface:
		for _, i := range t.Interfaces {
			def.Interfaces = append(def.Interfaces, i.Name)
		}
		def.Fields = make(ast.FieldList, 0, len(t.Fields))
		for i := range t.Fields {
			f := &t.Fields[i]
			typ, err := f.Type.astType()
			if err != nil {
				d.warn(place+"."+f.Name, nil, "is left out: %v", err)
				continue
			}
			def.Fields = append(def.Fields, &ast.FieldDefinition{
				Name: f.Name, Description: f.Description, Type: typ,
				Arguments:  d.introspectedArguments(place+"."+f.Name, f.Args),
				Directives: f.directives(),
			})
		}
	case ast.InputObject:
		if t.IsOneOf {
			def.Directives = ast.DirectiveList{{Name: "oneOf"}}
		}
		for _, f := range t.InputFields {
			typ, err := f.Type.astType()
			if err != nil {
				d.warn(place+"."+f.Name, nil, "is left out: %v", err)
				continue
			}
			def.Fields = append(def.Fields, &ast.FieldDefinition{
				Name: f.Name, Description: f.Description, Type: typ, DefaultValue: f.value(), Directives: f.directives(),
			})
		}
	case ast.Enum:
		for _, v := range t.EnumValues {
			def.EnumValues = append(def.EnumValues, &ast.EnumValueDefinition{
				Name: v.Name, Description: v.Description, Directives: v.directives(),
			})
		}
	case ast.Union:
		for _, possible := range t.PossibleTypes {
			def.Types = append(def.Types, possible.Name)
		}
	default:
		d.warn(place, nil, "is left out: its kind is %q", t.Kind)
		return nil
	}
	return def
}

func (d *document) introspectedArguments(place string, args []introspectedInput) ast.ArgumentDefinitionList {
	if len(args) == 0 {
		return nil
	}
	list := make(ast.ArgumentDefinitionList, 0, len(args))
	for i := range args {
		a := &args[i]
		typ, err := a.Type.astType()
		if err != nil {
			d.warn(place+"("+a.Name+":)", nil, "is left out: %v", err)
			continue
		}
		list = append(list, &ast.ArgumentDefinition{
			Name: a.Name, Description: a.Description, Type: typ, DefaultValue: a.value(), Directives: a.directives(),
		})
	}
	return list
}

func (e *introspectedDeprecation) directives() ast.DirectiveList {
	if e.IsDeprecated != nil && !*e.IsDeprecated || e.IsDeprecated == nil && e.DeprecationReason == nil {
		return nil
	}
	deprecated := &ast.Directive{Name: "deprecated"}
	if e.DeprecationReason != nil {
		deprecated.Arguments = ast.ArgumentList{{Name: "reason", Value: &ast.Value{Kind: ast.StringValue, Raw: *e.DeprecationReason}}}
	}
	return ast.DirectiveList{deprecated}
}

var (
	errCutOff     = errors.New("its type is cut off; the introspection was too shallow")
	errTypeless   = errors.New("it has no type")
	errTypeNested = fmt.Errorf("its type has more than %d lists", maxWrappers/2)
	errNonNull    = errors.New("its type is twice non-null")
)

// astType unwraps a reference to a type.
func (r *introspectedRef) astType() (*ast.Type, error) {
	if r == nil {
		return nil, errTypeless
	}
	var outer *ast.Type
	hole := &outer // where the next type goes
	nonNull := false
	for range maxWrappers {
		switch {
		case r.Kind == "NON_NULL" && nonNull:
			return nil, errNonNull
		case r.Kind == "NON_NULL":
			nonNull = true
		case r.Kind == "LIST":
			list := &ast.Type{NonNull: nonNull}
			*hole, hole, nonNull = list, &list.Elem, false
		case r.Name == "":
			return nil, errTypeless
		default:
			*hole = &ast.Type{NamedType: r.Name, NonNull: nonNull}
			return outer, nil
		}
		if r = r.OfType; r == nil {
			return nil, errCutOff
		}
	}
	return nil, errTypeNested
}

// unparsed is the kind of a default value that is no GraphQL literal: Raw is its text.
const unparsed ast.ValueKind = -1

func (in *introspectedInput) value() *ast.Value {
	if in.DefaultValue == nil {
		return nil
	}
	if v := parseLiteral(*in.DefaultValue); v != nil {
		return v
	}
	return &ast.Value{Kind: unparsed, Raw: *in.DefaultValue}
}

// parseLiteral reads one GraphQL literal without variables; nil if the text is none.
func parseLiteral(text string) *ast.Value {
	query, err := parser.ParseQuery(&ast.Source{Input: "{a(b:" + text + "\n)}"})
	if err != nil || len(query.Operations) != 1 || len(query.Fragments) != 0 || len(query.Operations[0].SelectionSet) != 1 {
		return nil
	}
	field, ok := query.Operations[0].SelectionSet[0].(*ast.Field)
	if !ok || len(field.Arguments) != 1 || len(field.Directives) != 0 || len(field.SelectionSet) != 0 {
		return nil
	}
	if v := field.Arguments[0].Value; !hasVariable(v) {
		return v
	}
	return nil
}

func hasVariable(v *ast.Value) bool {
	if v.Kind == ast.Variable {
		return true
	}
	for _, child := range v.Children {
		if hasVariable(child.Value) {
			return true
		}
	}
	return false
}

// jsonLiteral reads a JSON text as the literal that says the same; nil if it is no JSON.
func jsonLiteral(text string) *ast.Value {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v := jsonValue(d, 0)
	if v == nil || d.More() {
		return nil
	}
	return v
}

func jsonValue(d *json.Decoder, depth int) *ast.Value {
	token, err := d.Token()
	if err != nil || depth > maxWrappers {
		return nil
	}
	switch t := token.(type) {
	case nil:
		return &ast.Value{Kind: ast.NullValue, Raw: "null"}
	case bool:
		return &ast.Value{Kind: ast.BooleanValue, Raw: strconv.FormatBool(t)}
	case string:
		return &ast.Value{Kind: ast.StringValue, Raw: t}
	case json.Number:
		if strings.ContainsAny(t.String(), ".eE") {
			return &ast.Value{Kind: ast.FloatValue, Raw: t.String()}
		}
		return &ast.Value{Kind: ast.IntValue, Raw: t.String()}
	case json.Delim:
		v := &ast.Value{Kind: ast.ListValue}
		if t == '{' {
			v.Kind = ast.ObjectValue
		}
		for d.More() {
			child := &ast.ChildValue{}
			if t == '{' {
				key, err := d.Token()
				name, ok := key.(string)
				if err != nil || !ok || !isName(name) {
					return nil
				}
				child.Name = name
			}
			if child.Value = jsonValue(d, depth+1); child.Value == nil {
				return nil
			}
			v.Children = append(v.Children, child)
		}
		if _, err := d.Token(); err != nil {
			return nil
		}
		return v
	}
	return nil
}

// isName tells a GraphQL name (spec, October 2021, §2.1.9).
func isName(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.Trim(s, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
