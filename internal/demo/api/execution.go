package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// maxFields bounds what one operation may read.
const maxFields = 20_000

// object is a value of an object type: the name of its type, and its fields.
// A field is a value or a resolver.
type object struct {
	typename string
	fields   map[string]any
}

// resolver computes a field from its arguments.
type resolver func(args map[string]any) (any, error)

// execution runs one operation (GraphQL spec, October 2021, §6.3).
type execution struct {
	schema    *ast.Schema
	variables map[string]any
	errors    gqlerror.List
	fields    int
}

// result is an object of an answer: its members keep their order.
type result []member

type member struct {
	name  string
	value any
}

func (r result) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// object resolves the fields of an object. ok is false if one that must not be
// null is null, which makes the object itself null (§6.4.4).
func (e *execution) object(o object, set ast.SelectionSet, path ast.Path) (_ any, ok bool) {
	var order []string
	grouped := map[string][]*ast.Field{}
	e.collect(o.typename, set, &order, grouped)
	out := make(result, 0, len(order))
	for _, name := range order {
		fields := grouped[name]
		value, ok := e.field(o, fields, append(slices.Clip(path), ast.PathName(name)))
		if !ok {
			return nil, false
		}
		out = append(out, member{name, value})
	}
	return out, true
}

// collect groups the fields of a selection set by their name in the answer (§6.3.2).
func (e *execution) collect(typename string, set ast.SelectionSet, order *[]string, grouped map[string][]*ast.Field) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if e.left(s.Directives) {
				continue
			}
			if grouped[s.Alias] == nil {
				*order = append(*order, s.Alias)
			}
			grouped[s.Alias] = append(grouped[s.Alias], s)
		case *ast.InlineFragment:
			if !e.left(s.Directives) && e.applies(s.TypeCondition, typename) {
				e.collect(typename, s.SelectionSet, order, grouped)
			}
		case *ast.FragmentSpread:
			if !e.left(s.Directives) && e.applies(s.Definition.TypeCondition, typename) {
				e.collect(typename, s.Definition.SelectionSet, order, grouped)
			}
		}
	}
}

// left reports whether @skip or @include leaves a selection out.
func (e *execution) left(directives ast.DirectiveList) bool {
	value := func(name string) any {
		if d := directives.ForName(name); d != nil {
			return d.ArgumentMap(e.variables)["if"]
		}
		return nil
	}
	return value("skip") == true || value("include") == false
}

func (e *execution) applies(condition, typename string) bool {
	return condition == "" || condition == typename ||
		slices.ContainsFunc(e.schema.PossibleTypes[condition], func(d *ast.Definition) bool { return d.Name == typename })
}

// field resolves one field of the answer; the fields of the document that it
// merges have the same arguments.
func (e *execution) field(o object, merged []*ast.Field, path ast.Path) (any, bool) {
	first := merged[0]
	if e.fields++; e.fields > maxFields {
		if e.fields == maxFields+1 {
			e.fail(first, path, "the operation reads more than %d fields", maxFields)
		}
		return nil, false
	}
	if first.Name == "__typename" {
		return o.typename, true
	}
	value := o.fields[first.Name]
	if resolve, ok := value.(resolver); ok {
		var err error
		if value, err = resolve(first.ArgumentMap(e.variables)); err != nil {
			e.fail(first, path, "%v", err)
			return nil, !first.Definition.Type.NonNull
		}
	}
	var set ast.SelectionSet
	for _, f := range merged {
		set = append(set, f.SelectionSet...)
	}
	return e.complete(first, first.Definition.Type, value, set, path)
}

// complete brings a value to its type (§6.4.3).
func (e *execution) complete(f *ast.Field, t *ast.Type, value any, set ast.SelectionSet, path ast.Path) (any, bool) {
	out, ok := e.nullable(f, t, value, set, path)
	if t.NonNull && out == nil {
		if ok {
			e.fail(f, path, "%s must not be null", f.Name)
		}
		return nil, false
	}
	return out, ok || !t.NonNull
}

func (e *execution) nullable(f *ast.Field, t *ast.Type, value any, set ast.SelectionSet, path ast.Path) (any, bool) {
	if o, ok := value.(object); ok {
		return e.object(o, set, path)
	}
	if t.Elem == nil || value == nil {
		return value, true
	}
	items := reflect.ValueOf(value)
	out := make([]any, items.Len())
	for i := range out {
		item, ok := e.complete(f, t.Elem, items.Index(i).Interface(), set, append(slices.Clip(path), ast.PathIndex(i)))
		if !ok {
			return nil, false
		}
		out[i] = item
	}
	return out, true
}

func (e *execution) fail(f *ast.Field, path ast.Path, format string, args ...any) {
	err := gqlerror.ErrorPathf(path, format, args...)
	err.Locations = []gqlerror.Location{{Line: f.Position.Line, Column: f.Position.Column}}
	e.errors = append(e.errors, err)
}
