package graphql

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// api is a GraphQL server that answers introspection alone, as strictly as its
// age has it: what its introspection schema does not know is refused.
type api struct {
	schema *ast.Schema
	// refuse may refuse a query that is valid; empty lets it pass.
	refuse func(query *ast.QueryDocument) string
	// queries are those that arrived, valid or not.
	queries []string
}

// newAPI serves a schema. The age is the introspection schema: pairs of what to
// replace in the newest.
func newAPI(tb testing.TB, sdl string, age ...string) *api {
	tb.Helper()
	prelude := strings.NewReplacer(age...).Replace(validator.Prelude.Input)
	schema, err := validator.LoadSchema(&ast.Source{Name: "prelude", Input: prelude, BuiltIn: true}, &ast.Source{Name: "test", Input: sdl})
	if err != nil {
		tb.Fatal(err)
	}
	return &api{schema: schema}
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.queries = append(a.queries, request.Query)
	w.Header().Set("Content-Type", "application/graphql-response+json")
	_ = json.NewEncoder(w).Encode(a.answer(request.Query))
}

func (a *api) answer(query string) map[string]any {
	failed := func(messages ...string) map[string]any {
		var errors []map[string]any
		for _, m := range messages {
			errors = append(errors, map[string]any{"message": m})
		}
		return map[string]any{"errors": errors}
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	if err != nil {
		return failed(err.Error())
	}
	if errs := validator.ValidateWithRules(a.schema, doc, rules.NewDefaultRules()); len(errs) > 0 {
		var messages []string
		for _, e := range errs {
			messages = append(messages, e.Message)
		}
		return failed(messages...)
	}
	if a.refuse != nil {
		if message := a.refuse(doc); message != "" {
			return failed(message)
		}
	}
	return map[string]any{"data": a.object(a.schema, doc.Operations[0].SelectionSet)}
}

// depth is how deep a selection goes, leaves included.
func depth(s ast.SelectionSet) int {
	deepest := 0
	for _, selection := range s {
		if f, ok := selection.(*ast.Field); ok {
			deepest = max(deepest, 1+depth(f.SelectionSet))
		}
	}
	return deepest
}

// object resolves a selection on an introspected thing.
func (a *api) object(of any, s ast.SelectionSet) any {
	out := map[string]any{}
	for _, selection := range s {
		f := selection.(*ast.Field)
		args := f.ArgumentMap(nil)
		out[f.Alias] = a.value(a.field(of, f.Name, args), f.SelectionSet)
	}
	return out
}

func (a *api) value(v any, s ast.SelectionSet) any {
	list, ok := v.([]any)
	switch {
	case ok:
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = a.value(item, s)
		}
		return out
	case v == nil || len(s) == 0:
		return v
	}
	return a.object(v, s)
}

// input is an argument or input field.
type input struct {
	name, description string
	t                 *ast.Type
	value             *ast.Value
	directives        ast.DirectiveList
}

func deprecation(directives ast.DirectiveList, name string) any {
	d := directives.ForName("deprecated")
	if name == "isDeprecated" {
		return d != nil
	}
	if d == nil {
		return nil
	}
	return d.ArgumentMap(nil)["reason"]
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (a *api) named(name string) any { return ast.NamedType(name, nil) }

func (a *api) field(of any, name string, args map[string]any) any {
	deprecatedToo, _ := args["includeDeprecated"].(bool)
	shown := func(directives ast.DirectiveList) bool {
		return deprecatedToo || directives.ForName("deprecated") == nil
	}
	arguments := func(list ast.ArgumentDefinitionList) any {
		all := []any{}
		for _, arg := range list {
			if shown(arg.Directives) || a.schema.Types["__Field"].Fields.ForName("args").Arguments == nil {
				all = append(all, input{arg.Name, arg.Description, arg.Type, arg.DefaultValue, arg.Directives})
			}
		}
		return all
	}
	root := func(def *ast.Definition) any {
		if def == nil {
			return nil
		}
		return a.named(def.Name)
	}
	switch of := of.(type) {
	case *ast.Schema:
		switch name {
		case "__schema":
			return of
		case "__type":
			if name, _ := args["name"].(string); a.schema.Types[name] != nil {
				return a.named(name)
			}
			return nil
		case "description":
			return optional(of.Description)
		case "queryType":
			return root(of.Query)
		case "mutationType":
			return root(of.Mutation)
		case "subscriptionType":
			return root(of.Subscription)
		case "types":
			all := []any{}
			for _, name := range slices.Sorted(maps.Keys(of.Types)) {
				all = append(all, a.named(name))
			}
			return all
		case "directives":
			all := []any{}
			for _, name := range slices.Sorted(maps.Keys(of.Directives)) {
				if name == "defer" {
					continue // the library knows it, the server does not have it
				}
				all = append(all, of.Directives[name])
			}
			return all
		}
	case *ast.DirectiveDefinition:
		switch name {
		case "name":
			return of.Name
		case "description":
			return optional(of.Description)
		case "isRepeatable":
			return of.IsRepeatable
		case "locations":
			all := []any{}
			for _, l := range of.Locations {
				all = append(all, string(l))
			}
			return all
		case "args":
			return arguments(of.Arguments)
		}
	case *ast.Type:
		if of.NonNull || of.Elem != nil {
			inner := *of
			inner.NonNull = false
			switch {
			case name == "kind" && of.NonNull:
				return "NON_NULL"
			case name == "kind":
				return "LIST"
			case name == "ofType" && of.NonNull:
				return &inner
			case name == "ofType":
				return of.Elem
			}
			return nil
		}
		return a.definition(a.schema.Types[of.NamedType], name, shown)
	case *ast.FieldDefinition:
		switch name {
		case "name":
			return of.Name
		case "description":
			return optional(of.Description)
		case "type":
			return of.Type
		case "args":
			return arguments(of.Arguments)
		}
		return deprecation(of.Directives, name)
	case *ast.EnumValueDefinition:
		switch name {
		case "name":
			return of.Name
		case "description":
			return optional(of.Description)
		}
		return deprecation(of.Directives, name)
	case input:
		switch name {
		case "name":
			return of.name
		case "description":
			return optional(of.description)
		case "type":
			return of.t
		case "defaultValue":
			if of.value == nil {
				return nil
			}
			return of.value.String()
		}
		return deprecation(of.directives, name)
	}
	panic(fmt.Sprintf("%T has no %s", of, name))
}

func (a *api) definition(def *ast.Definition, name string, shown func(ast.DirectiveList) bool) any {
	composite := def.Kind == ast.Object || def.Kind == ast.Interface
	switch name {
	case "kind":
		return string(def.Kind)
	case "name":
		return def.Name
	case "description":
		return optional(def.Description)
	case "specifiedByURL":
		if d := def.Directives.ForName("specifiedBy"); d != nil {
			return d.ArgumentMap(nil)["url"]
		}
	case "isOneOf":
		if def.Kind == ast.InputObject {
			return def.Directives.ForName("oneOf") != nil
		}
	case "fields", "inputFields":
		if composite != (name == "fields") || !composite && def.Kind != ast.InputObject {
			return nil
		}
		all := []any{}
		for _, f := range def.Fields {
			switch {
			case strings.HasPrefix(f.Name, "__") || composite && !shown(f.Directives):
			case composite:
				all = append(all, f)
			default:
				if shown(f.Directives) || a.schema.Types["__Type"].Fields.ForName("inputFields").Arguments == nil {
					all = append(all, input{f.Name, f.Description, f.Type, f.DefaultValue, f.Directives})
				}
			}
		}
		return all
	case "interfaces":
		if !composite {
			return nil
		}
		all := []any{}
		for _, i := range def.Interfaces {
			all = append(all, a.named(i))
		}
		return all
	case "possibleTypes":
		if !def.IsAbstractType() {
			return nil
		}
		all := []any{}
		for _, p := range a.schema.PossibleTypes[def.Name] {
			if p.Kind == ast.Object {
				all = append(all, a.named(p.Name))
			}
		}
		return all
	case "enumValues":
		if def.Kind != ast.Enum {
			return nil
		}
		all := []any{}
		for _, v := range def.EnumValues {
			if shown(v.Directives) {
				all = append(all, v)
			}
		}
		return all
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func quoted(tb testing.TB, text string) string {
	tb.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
