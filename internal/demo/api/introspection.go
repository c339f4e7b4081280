package api

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// introspector answers __schema and __type (GraphQL spec, October 2021, §4.2).
type introspector struct{ schema *ast.Schema }

func (i introspector) fields() map[string]any {
	return map[string]any{
		"__schema": resolver(func(map[string]any) (any, error) { return i.whole(), nil }),
		"__type": resolver(func(args map[string]any) (any, error) {
			name, _ := args["name"].(string)
			if i.schema.Types[name] == nil {
				return nil, nil
			}
			return i.named(name), nil
		}),
	}
}

func (i introspector) whole() object {
	root := func(d *ast.Definition) any {
		if d == nil {
			return nil
		}
		return i.named(d.Name)
	}
	var types, directives []object
	for _, name := range slices.Sorted(maps.Keys(i.schema.Types)) {
		types = append(types, i.named(name))
	}
	for _, name := range slices.Sorted(maps.Keys(i.schema.Directives)) {
		directives = append(directives, i.directive(i.schema.Directives[name]))
	}
	return object{"__Schema", map[string]any{
		"description": text(i.schema.Description), "types": types, "directives": directives,
		"queryType": root(i.schema.Query), "mutationType": root(i.schema.Mutation), "subscriptionType": root(i.schema.Subscription),
	}}
}

// text is nil for what was not written.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (i introspector) typeOf(t *ast.Type) object {
	switch {
	case t.NonNull:
		inner := *t
		inner.NonNull = false
		return object{"__Type", map[string]any{"kind": "NON_NULL", "ofType": i.typeOf(&inner)}}
	case t.Elem != nil:
		return object{"__Type", map[string]any{"kind": "LIST", "ofType": i.typeOf(t.Elem)}}
	default:
		return i.named(t.NamedType)
	}
}

func (i introspector) named(name string) object {
	d := i.schema.Types[name]
	fields := map[string]any{"kind": string(d.Kind), "name": d.Name, "description": text(d.Description)}
	names := func(of []string) resolver {
		return func(map[string]any) (any, error) {
			all := []object{}
			for _, name := range of {
				all = append(all, i.named(name))
			}
			return all, nil
		}
	}
	switch d.Kind {
	case ast.Object, ast.Interface:
		fields["interfaces"] = names(d.Interfaces)
		fields["fields"] = resolver(func(args map[string]any) (any, error) { return i.members(d, args), nil })
	case ast.InputObject:
		fields["isOneOf"] = d.Directives.ForName("oneOf") != nil
		fields["inputFields"] = resolver(func(args map[string]any) (any, error) {
			all := []object{}
			for _, f := range d.Fields {
				if shown(f.Directives, args) {
					all = append(all, i.input(f.Name, f.Description, f.Type, f.DefaultValue, f.Directives))
				}
			}
			return all, nil
		})
	case ast.Enum:
		fields["enumValues"] = resolver(func(args map[string]any) (any, error) {
			all := []object{}
			for _, v := range d.EnumValues {
				if shown(v.Directives, args) {
					all = append(all, deprecable("__EnumValue", v.Name, v.Description, v.Directives))
				}
			}
			return all, nil
		})
	case ast.Scalar:
		if by := d.Directives.ForName("specifiedBy"); by != nil {
			fields["specifiedByURL"] = by.ArgumentMap(nil)["url"]
		}
	case ast.Union:
	}
	if d.Kind == ast.Interface || d.Kind == ast.Union {
		var possible []string
		for _, p := range i.schema.PossibleTypes[name] {
			possible = append(possible, p.Name)
		}
		slices.Sort(possible)
		fields["possibleTypes"] = names(possible)
	}
	return object{"__Type", fields}
}

func (i introspector) members(d *ast.Definition, args map[string]any) []object {
	all := []object{}
	for _, f := range d.Fields {
		if len(f.Name) > 1 && f.Name[:2] == "__" || !shown(f.Directives, args) {
			continue
		}
		o := deprecable("__Field", f.Name, f.Description, f.Directives)
		o.fields["args"] = i.arguments(f.Arguments)
		o.fields["type"] = resolver(func(map[string]any) (any, error) { return i.typeOf(f.Type), nil })
		all = append(all, o)
	}
	return all
}

func (i introspector) arguments(list ast.ArgumentDefinitionList) resolver {
	return func(args map[string]any) (any, error) {
		all := []object{}
		for _, a := range list {
			if shown(a.Directives, args) {
				all = append(all, i.input(a.Name, a.Description, a.Type, a.DefaultValue, a.Directives))
			}
		}
		return all, nil
	}
}

func (i introspector) input(name, description string, t *ast.Type, value *ast.Value, directives ast.DirectiveList) object {
	o := deprecable("__InputValue", name, description, directives)
	o.fields["type"] = resolver(func(map[string]any) (any, error) { return i.typeOf(t), nil })
	if value != nil {
		o.fields["defaultValue"] = value.String()
	}
	return o
}

func (i introspector) directive(d *ast.DirectiveDefinition) object {
	locations := make([]string, len(d.Locations))
	for n, l := range d.Locations {
		locations[n] = string(l)
	}
	return object{"__Directive", map[string]any{
		"name": d.Name, "description": text(d.Description), "locations": locations,
		"isRepeatable": d.IsRepeatable, "args": i.arguments(d.Arguments),
	}}
}

// deprecable is what fields, arguments and enum values have in common.
func deprecable(typename, name, description string, directives ast.DirectiveList) object {
	fields := map[string]any{"name": name, "description": text(description), "isDeprecated": false}
	if d := directives.ForName("deprecated"); d != nil {
		fields["isDeprecated"] = true
		fields["deprecationReason"] = d.ArgumentMap(nil)["reason"]
	}
	return object{typename, fields}
}

// shown reports whether something is in a list: what is deprecated is only if asked for.
func shown(directives ast.DirectiveList, args map[string]any) bool {
	return directives.ForName("deprecated") == nil || args["includeDeprecated"] == true
}
