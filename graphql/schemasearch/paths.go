package schemasearch

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// What the steps of a path cost. An ordinary field is the measure.
const (
	fieldCost      = 1.0
	deprecatedCost = 2.0  // more, for a field that is deprecated
	argumentCost   = 0.25 // more, for each argument that must be given
	castCost       = 1.0  // for a cast to one of two; more where there is more to choose from
	shortcutCost   = 50.0 // more, for a cast that leads from anywhere to everywhere
)

// step is how a type is reached: by a field of another type, or by a cast of it.
type step struct {
	from  *ast.Definition // nil at a root
	field *ast.FieldDefinition
	cost  float64
	// depth is the number of fields from the root.
	depth int
}

func (s step) cast() bool { return s.from != nil && s.field == nil }

// graph holds the cheapest way to every type that can be reached.
type graph struct {
	schema *ast.Schema
	to     map[string]step
	roots  []*ast.Definition
}

// newGraph finds the ways: first those from Query; types that are not reached
// so get one from Mutation, if mutations are asked for, and then from
// Subscription (Dijkstra's algorithm, from one root after the other).
func newGraph(s *ast.Schema, mutations bool) *graph {
	g := &graph{schema: s, to: map[string]step{}}
	roots := []*ast.Definition{s.Query, s.Mutation, s.Subscription}
	if !mutations {
		roots[1] = nil
	}
	for _, root := range roots {
		if root != nil {
			g.roots = append(g.roots, root)
			g.reach(root)
		}
	}
	return g
}

func (g *graph) reach(root *ast.Definition) {
	if _, ok := g.to[root.Name]; ok {
		return
	}
	settled := map[string]bool{}
	for name := range g.to {
		settled[name] = true
	}
	found := map[string]step{root.Name: {}}
	open := &queue{{name: root.Name}}
	for open.Len() > 0 {
		item := heap.Pop(open).(item) //nolint:forcetypeassert,errcheck // the queue holds nothing else
		if settled[item.name] {
			continue
		}
		settled[item.name] = true
		g.to[item.name] = found[item.name]
		def := g.schema.Types[item.name]
		relax := func(target *ast.Definition, by step) {
			if settled[target.Name] {
				return
			}
			if before, ok := found[target.Name]; ok && before.cost <= by.cost {
				return
			}
			found[target.Name] = by
			heap.Push(open, newItem(target.Name, by))
		}
		here := found[item.name]
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			if target := g.schema.Types[f.Type.Name()]; target.IsCompositeType() {
				relax(target, step{from: def, field: f, cost: here.cost + cost(f), depth: here.depth + 1})
			}
		}
		if def.IsAbstractType() {
			price := g.castCost(def)
			for _, target := range g.schema.PossibleTypes[def.Name] {
				if target.Name != def.Name && target.Kind == ast.Object {
					relax(target, step{from: def, cost: here.cost + price, depth: here.depth})
				}
			}
		}
	}
}

func cost(f *ast.FieldDefinition) float64 {
	c := fieldCost
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			c += argumentCost
		}
	}
	if f.Directives.ForName("deprecated") != nil {
		c += deprecatedCost
	}
	return c
}

// castCost is dear where the abstract type says little: the more types it may
// be, the more. An interface that a good part of all objects implement, as
// Relay's Node, is no way to anywhere unless there is no other.
func (g *graph) castCost(def *ast.Definition) float64 {
	n := len(g.schema.PossibleTypes[def.Name])
	c := castCost * max(1, math.Log2(float64(n)))
	if def.Kind == ast.Interface && (def.Name == "Node" || len(def.Fields) <= 2 && n >= 16 && n*8 > g.objects()) {
		c += shortcutCost
	}
	return c
}

func (g *graph) objects() int {
	n := 0
	for _, def := range g.schema.Types {
		if def.Kind == ast.Object {
			n++
		}
	}
	return n
}

// way is the steps from a root to a type; the first has no from.
func (g *graph) way(def *ast.Definition) []step {
	var steps []step
	for name := def.Name; ; {
		s, ok := g.to[name]
		if !ok {
			return nil
		}
		if s.from == nil {
			break
		}
		steps = append(steps, s)
		name = s.from.Name
	}
	slices.Reverse(steps)
	return steps
}

// mutated tells whether the way to a type starts at Mutation.
func (g *graph) mutated(def *ast.Definition) bool {
	root := g.schema.Mutation
	if root == nil || root == g.schema.Query {
		return false
	}
	for {
		s := g.to[def.Name]
		if s.from == nil {
			return def == root
		}
		def = s.from
	}
}

// item is a type that waits to be settled.
type item struct {
	name string
	cost float64
	via  string // breaks ties, so that the order of maps and lists never shows
}

func newItem(name string, s step) item {
	via := s.from.Name
	if s.field != nil {
		via += "." + s.field.Name
	}
	return item{name: name, cost: s.cost, via: via}
}

type queue []item

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].cost, q[j].cost), cmp.Compare(q[i].name, q[j].name), cmp.Compare(q[i].via, q[j].via)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(item)) } //nolint:forcetypeassert,errcheck // only items are pushed
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// taker is a field that takes a type as an argument, or gives it.
type taker struct {
	parent *ast.Definition
	field  *ast.FieldDefinition
}

// takers finds, for every input type and enum, the field with the cheapest path
// that takes a value of it, directly or within another, or gives it.
func (g *graph) takers() map[string]taker {
	taken := map[string]taker{}
	found := map[string]taker{}
	costs := map[string]float64{}
	open := &queue{}
	offer := func(name string, t taker, cost float64) {
		def := g.schema.Types[name]
		if def.BuiltIn || def.Kind != ast.InputObject && def.Kind != ast.Enum {
			return
		}
		if before, ok := costs[name]; ok && before <= cost {
			return
		}
		found[name], costs[name] = t, cost
		heap.Push(open, item{name: name, cost: cost, via: t.parent.Name + "." + t.field.Name})
	}
	for _, name := range slices.Sorted(maps.Keys(g.to)) {
		def := g.schema.Types[name]
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			t, c := taker{def, f}, g.to[name].cost+cost(f)
			offer(f.Type.Name(), t, c)
			for _, a := range f.Arguments {
				offer(a.Type.Name(), t, c)
			}
		}
	}
	for open.Len() > 0 {
		item := heap.Pop(open).(item) //nolint:forcetypeassert,errcheck // the queue holds nothing else
		if _, ok := taken[item.name]; ok {
			continue
		}
		taken[item.name] = found[item.name]
		for _, f := range g.schema.Types[item.name].Fields {
			offer(f.Type.Name(), found[item.name], costs[item.name]+fieldCost)
		}
	}
	return taken
}
