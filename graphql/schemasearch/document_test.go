package schemasearch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// document writes an operation that asks for a path, from nothing but the text
// of an answer: it fails where the text does not say what it takes.
func document(text, path string) (string, error) {
	doc, err := parser.ParseSchema(&ast.Source{Name: "answer", Input: text})
	if err != nil {
		return "", fmt.Errorf("parse the answer: %w", err)
	}
	w := writer{types: map[string]*ast.Definition{}}
	for _, def := range doc.Definitions {
		w.types[def.Name] = def
	}
	segments := strings.Split(path, ".")
	operation := map[string]string{"Query": "query", "Mutation": "mutation", "Subscription": "subscription"}[segments[0]]
	for _, schema := range doc.Schema {
		for _, root := range schema.OperationTypes {
			if root.Type == segments[0] {
				operation = string(root.Operation)
			}
		}
	}
	if operation == "" {
		return "", fmt.Errorf("the answer does not say which operation starts at %s", segments[0])
	}
	var b strings.Builder
	b.WriteString(operation + " ")
	depth := 0
	at := segments[0]
	for _, segment := range segments[1:] {
		if name, ok := strings.CutPrefix(segment, "<"); ok {
			at = strings.TrimSuffix(name, ">")
			b.WriteString("{ ... on " + at + " ")
			depth++
			continue
		}
		def := w.types[at]
		if def == nil {
			return "", fmt.Errorf("the answer does not have the type %s", at)
		}
		field := def.Fields.ForName(segment)
		if field == nil {
			return "", fmt.Errorf("the answer does not have the field %s.%s", at, segment)
		}
		args, err := w.arguments(field)
		if err != nil {
			return "", err
		}
		b.WriteString("{ " + segment + args + " ")
		depth++
		at = field.Type.Name()
	}
	if def := w.types[at]; def != nil && def.IsCompositeType() {
		b.WriteString("{ " + w.selection(def) + " }")
	}
	return b.String() + strings.Repeat(" }", depth), nil
}

type writer struct{ types map[string]*ast.Definition }

// selection is the fields of a type that are asked for without more.
func (w writer) selection(def *ast.Definition) string {
	names := []string{"__typename"}
	for _, f := range def.Fields {
		target := w.types[f.Type.Name()]
		builtIn := slices.Contains([]string{"Int", "Float", "String", "Boolean", "ID"}, f.Type.Name())
		if (builtIn || target != nil && (target.Kind == ast.Enum || target.Kind == ast.Scalar)) && len(f.Arguments) == 0 {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

func (w writer) arguments(f *ast.FieldDefinition) (string, error) {
	var list []string
	for _, a := range f.Arguments {
		if !a.Type.NonNull || a.DefaultValue != nil {
			continue
		}
		value, err := w.value(a.Type)
		if err != nil {
			return "", fmt.Errorf("argument %s of %s: %w", a.Name, f.Name, err)
		}
		list = append(list, a.Name+": "+value)
	}
	if len(list) == 0 {
		return "", nil
	}
	return "(" + strings.Join(list, ", ") + ")", nil
}

func (w writer) value(t *ast.Type) (string, error) {
	if t.Elem != nil {
		item, err := w.value(t.Elem)
		return "[" + item + "]", err
	}
	switch t.NamedType {
	case "Int":
		return "1", nil
	case "Float":
		return "1.5", nil
	case "Boolean":
		return "true", nil
	case "ID", "String":
		return `"x"`, nil
	}
	def := w.types[t.NamedType]
	switch {
	case def == nil:
		return "", fmt.Errorf("the answer does not have the type %s", t.NamedType)
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name, nil
	case def.Kind == ast.Scalar:
		return `"x"`, nil
	}
	var fields []string
	for i, f := range def.Fields {
		oneOf := def.Directives.ForName("oneOf") != nil
		if oneOf && i > 0 || !oneOf && (!f.Type.NonNull || f.DefaultValue != nil) {
			continue
		}
		value, err := w.value(f.Type)
		if err != nil {
			return "", err
		}
		fields = append(fields, f.Name+": "+value)
	}
	return "{" + strings.Join(fields, ", ") + "}", nil
}
