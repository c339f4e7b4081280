package execute

import (
	"math"

	"github.com/vektah/gqlparser/v2/ast"
)

// shape is what an operation is worth when its fragments are put in place.
type shape struct {
	depth, aliases, directives, fields, spreads int
}

// plus is two shapes beside one another.
func (s shape) plus(other shape) shape {
	return shape{
		depth: max(s.depth, other.depth), aliases: add(s.aliases, other.aliases), directives: add(s.directives, other.directives),
		fields: add(s.fields, other.fields), spreads: add(s.spreads, other.spreads),
	}
}

// measure computes shapes. Each fragment is measured once, so that fragments
// that spread one another many times cost what their text costs.
type measure struct {
	fragments map[string]*ast.FragmentDefinition
	known     map[string]shape
	open      map[string]bool
	faults    []Fault
}

func newMeasure(d *ast.QueryDocument) *measure {
	m := &measure{fragments: make(map[string]*ast.FragmentDefinition, len(d.Fragments)), known: map[string]shape{}, open: map[string]bool{}}
	for _, f := range d.Fragments {
		if _, twice := m.fragments[f.Name]; twice {
			m.faults = append(m.faults, faultAt(f.Position, "There can be only one fragment named %q.", f.Name))
			continue
		}
		m.fragments[f.Name] = f
	}
	return m
}

// unmeasured are the faults of fragments (GraphQL spec, October 2021, §5.5) that
// keep their size from being known: validation would take it as it comes, and
// more than the square of it in time.
func (m *measure) unmeasured(d *ast.QueryDocument) []Fault {
	faults := m.faults
	for _, f := range d.Fragments {
		if _, used := m.known[f.Name]; !used && m.fragments[f.Name] == f {
			faults = append(faults, faultAt(f.Position, "Fragment %q is never used.", f.Name))
		}
	}
	return faults
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
			one = m.fragment(s)
			one.spreads = add(one.spreads, 1)
		}
		one.directives = add(one.directives, len(directivesOf(selection)))
		sum = sum.plus(one)
	}
	return sum
}

// fragment measures a fragment. One that there is none of counts nothing:
// validation refuses it.
func (m *measure) fragment(spread *ast.FragmentSpread) shape {
	name := spread.Name
	if s, ok := m.known[name]; ok {
		return s
	}
	f := m.fragments[name]
	if f == nil {
		return shape{}
	}
	if m.open[name] {
		m.faults = append(m.faults, faultAt(spread.Position, "Cannot spread fragment %q within itself.", name))
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
