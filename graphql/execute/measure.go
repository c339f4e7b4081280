package execute

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
)

// shape is what an operation is worth when its fragments are put in place.
type shape struct {
	depth, aliases, directives, fields int
}

// measure computes shapes. Each fragment is measured once, so that fragments
// that spread one another many times cost what their text costs.
type measure struct {
	fragments map[string]*ast.FragmentDefinition
	known     map[string]shape
	open      map[string]bool
}

func newMeasure(d *ast.QueryDocument) *measure {
	m := &measure{fragments: make(map[string]*ast.FragmentDefinition, len(d.Fragments)), known: map[string]shape{}, open: map[string]bool{}}
	for _, f := range d.Fragments {
		if _, twice := m.fragments[f.Name]; !twice {
			m.fragments[f.Name] = f
		}
	}
	return m
}

func (m *measure) of(o *ast.OperationDefinition) shape {
	s := m.set(o.SelectionSet)
	s.directives = add(s.directives, len(o.Directives))
	for _, v := range o.VariableDefinitions {
		s.directives = add(s.directives, len(v.Directives))
	}
	return s
}

func (m *measure) set(set ast.SelectionSet) shape {
	var sum shape
	for _, selection := range set {
		one := shape{}
		switch s := selection.(type) {
		case *ast.Field:
			one = m.set(s.SelectionSet)
			one.depth++
			one.fields = add(one.fields, 1)
			if s.Alias != s.Name {
				one.aliases = add(one.aliases, 1)
			}
		case *ast.InlineFragment:
			one = m.set(s.SelectionSet)
		case *ast.FragmentSpread:
			one = m.fragment(s.Name)
		}
		one.directives = add(one.directives, len(directivesOf(selection)))
		sum.depth = max(sum.depth, one.depth)
		sum.aliases = add(sum.aliases, one.aliases)
		sum.directives = add(sum.directives, one.directives)
		sum.fields = add(sum.fields, one.fields)
	}
	return sum
}

// fragment measures a fragment. One that contains itself, or that there is
// none of, counts nothing there: validation refuses it.
func (m *measure) fragment(name string) shape {
	if s, ok := m.known[name]; ok {
		return s
	}
	f := m.fragments[name]
	if f == nil || m.open[name] {
		return shape{}
	}
	m.open[name] = true
	s := m.set(f.SelectionSet)
	s.directives = add(s.directives, len(f.Directives))
	delete(m.open, name)
	m.known[name] = s
	return s
}

// add adds two counts and stays at the largest number.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
