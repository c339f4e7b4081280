package operations

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath/spec"
	"github.com/vektah/gqlparser/v2/ast"
)

// spot is what a path has reached in what a query selects.
type spot struct {
	// sets hold the fields of the value; none for one that has no fields.
	sets []ast.SelectionSet
	// kind is the value's type; nil where it is not known, and at the root.
	kind *ast.Type
	// open says that what follows is for the endpoint to say.
	open bool
	// name is how the spot is called in an error.
	name string
}

// selection is what a query selects. Where the query was validated against a
// schema, its fields know their types.
type selection struct {
	root      ast.SelectionSet
	fragments ast.FragmentDefinitionList
}

func (q selection) spot() spot { return spot{sets: []ast.SelectionSet{q.root}, name: "data"} }

// follow goes along a path, from a spot on, as far as the query tells where it
// leads. The error says where it leads to nothing.
func (q selection) follow(at spot, p jsonPath) (spot, error) {
	for _, segment := range p.segments {
		selectors := segment.Selectors()
		if at.open || segment.IsDescendant() || len(selectors) != 1 {
			at.open = true
			return at, nil
		}
		var err error
		switch selector := selectors[0].(type) {
		case spec.Name:
			at, err = q.field(at, string(selector))
		case spec.WildcardSelector, *spec.FilterSelector:
			at = at.items()
		default:
			at, err = at.item()
		}
		if err != nil {
			return spot{}, fmt.Errorf("%s: %w", p.text, err)
		}
	}
	return at, nil
}

// field is the field of a spot with a response name.
func (q selection) field(at spot, name string) (spot, error) {
	if at.kind != nil && at.kind.Elem != nil {
		return spot{}, fmt.Errorf("%s is a list: write [*] or an index before %s", at.name, name)
	}
	if len(at.sets) == 0 {
		at.open = true // a scalar of the API's own may hold anything
		return at, nil
	}
	var names []string
	next := spot{name: name}
	q.each(at.sets, func(f *ast.Field) {
		if f.Alias != name {
			names = append(names, f.Alias)
			return
		}
		if f.Definition != nil {
			next.kind = f.Definition.Type
		}
		if len(f.SelectionSet) > 0 {
			next.sets = append(next.sets, f.SelectionSet)
		}
		names = append(names, name)
	})
	if !slices.Contains(names, name) {
		slices.Sort(names)
		return spot{}, fmt.Errorf("the query selects no %s in %s: it selects %s", name, at.name, strings.Join(slices.Compact(names), ", "))
	}
	return next, nil
}

// items are the values in a spot: of a list, or of an object.
func (s spot) items() spot {
	if s.kind == nil || s.kind.Elem == nil {
		s.open = s.kind != nil || s.name == "data"
		return s
	}
	s.kind = s.kind.Elem
	return s
}

// item is one value of a list.
func (s spot) item() (spot, error) {
	switch {
	case s.kind == nil:
		return s, nil
	case s.kind.Elem == nil && len(s.sets) > 0:
		return spot{}, fmt.Errorf("%s is no list", s.name)
	}
	return s.items(), nil
}

// each visits the fields of selection sets, those of fragments included.
func (q selection) each(sets []ast.SelectionSet, visit func(*ast.Field)) {
	for _, set := range sets {
		for _, s := range set {
			switch s := s.(type) {
			case *ast.Field:
				visit(s)
			case *ast.InlineFragment:
				q.each([]ast.SelectionSet{s.SelectionSet}, visit)
			case *ast.FragmentSpread:
				if f := q.fragments.ForName(s.Name); f != nil {
					q.each([]ast.SelectionSet{f.SelectionSet}, visit)
				}
			}
		}
	}
}

// everywhere visits all fields, at any depth.
func (q selection) everywhere(sets []ast.SelectionSet, visit func(*ast.Field)) {
	q.each(sets, func(f *ast.Field) {
		visit(f)
		q.everywhere([]ast.SelectionSet{f.SelectionSet}, visit)
	})
}

var errNoTypename = errors.New("the query selects no __typename, so no type can be told: add it where a failure may be")

// selects reports whether the query selects a field of a name, under that name.
func (q selection) selects(name string) bool {
	found := false
	q.everywhere([]ast.SelectionSet{q.root}, func(f *ast.Field) { found = found || f.Name == name && f.Alias == name })
	return found
}
