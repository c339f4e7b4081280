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
)

// step is how a type is reached: by a field of another type, or by a cast of it.
type step struct {
	from  *ast.Definition // nil at a root
	field *ast.FieldDefinition
	cost  float64
	// depth is the number of fields from the root.
	depth int
	// shortcut says that there is no other way than by a shortcut.
	shortcut bool
}

func (s step) cast() bool { return s.from != nil && s.field == nil }

// graph holds the cheapest way to every type that can be reached.
type graph struct {
	schema  *ast.Schema
	to      map[string]step
	objects int
}

// newGraph finds the ways (Dijkstra's algorithm, from one root after the other):
// first those from Query; types that are not reached so get one from Mutation, if
// mutations are asked for, and then from Subscription. What is left is reached by
// shortcuts, if at all.
func newGraph(s *ast.Schema, mutations bool) *graph {
	g := &graph{schema: s, to: map[string]step{}}
	roots := []*ast.Definition{s.Query, s.Mutation, s.Subscription}
	if !mutations {
		roots[1] = nil
	}
	for _, def := range s.Types {
		if def.Kind == ast.Object && !def.BuiltIn {
			g.objects++
		}
	}
	for _, shortcuts := range []bool{false, true} {
		for _, root := range roots {
			if root != nil {
				g.reach(root, shortcuts)
			}
		}
	}
	return g
}

// reach finds the ways from a root to the types that have none yet.
func (g *graph) reach(root *ast.Definition, shortcuts bool) {
	found := map[string]step{}
	open := &queue{}
	offer := func(target *ast.Definition, by step) {
		if _, settled := g.to[target.Name]; settled {
			return
		}
		if before, ok := found[target.Name]; !ok || by.cost < before.cost {
			found[target.Name] = by
			heap.Push(open, newItem(target.Name, by))
		}
	}
	offer(root, step{})
	for _, name := range slices.Sorted(maps.Keys(g.to)) { // a shortcut may start at any type that this root leads to
		if shortcuts && g.root(g.schema.Types[name]) == root {
			g.leave(name, shortcuts, offer)
		}
	}
	for open.Len() > 0 {
		item := heap.Pop(open).(item) // the queue holds nothing else
		if _, settled := g.to[item.name]; settled {
			continue
		}
		g.to[item.name] = found[item.name]
		g.leave(item.name, shortcuts, offer)
	}
}

// leave offers the types that a type leads to.
func (g *graph) leave(name string, shortcuts bool, offer func(*ast.Definition, step)) {
	def, here := g.schema.Types[name], g.to[name]
	for _, f := range def.Fields {
		if strings.HasPrefix(f.Name, "__") {
			continue
		}
		if target := g.schema.Types[f.Type.Name()]; target.IsCompositeType() {
			offer(target, step{from: def, field: f, cost: here.cost + cost(f), depth: here.depth + 1, shortcut: here.shortcut})
		}
	}
	if !def.IsAbstractType() || g.shortcut(def) && !shortcuts {
		return
	}
	// A cast says more where there is less to choose from.
	price := castCost * max(1, math.Log2(float64(len(g.schema.PossibleTypes[name]))))
	for _, target := range g.schema.PossibleTypes[name] {
		if target.Name != name && target.Kind == ast.Object {
			offer(target, step{from: def, cost: here.cost + price, depth: here.depth, shortcut: here.shortcut || g.shortcut(def)})
		}
	}
}

// shortcut tells an abstract type that leads from anywhere to everywhere: Relay's
// Node, and other interfaces of next to no fields that many objects implement.
// The way through it says nothing about what it leads to.
func (g *graph) shortcut(def *ast.Definition) bool {
	n := len(g.schema.PossibleTypes[def.Name])
	return def.Kind == ast.Interface && (def.Name == "Node" || len(def.Fields) <= 2 && n >= 16 && n*8 > g.objects)
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

// root is where the way to a type starts; nil if there is none.
func (g *graph) root(def *ast.Definition) *ast.Definition {
	for {
		s, ok := g.to[def.Name]
		if !ok {
			return nil
		}
		if s.from == nil {
			return def
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
	via := ""
	if s.from != nil {
		via = s.from.Name
	}
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
func (q *queue) Push(x any)   { *q = append(*q, x.(item)) } // only items are pushed
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
		item := heap.Pop(open).(item) // the queue holds nothing else
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
