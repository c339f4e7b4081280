package schemasearch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of an answer.
const (
	// DefaultMaxChars is the size of an answer that names none.
	DefaultMaxChars = 10000
	// MaxMaxChars is the largest size of an answer.
	MaxMaxChars = 200000

	mostPaths    = 40  // of an answer
	mostMisses   = 5   // hits that do not fit, until no more are tried
	mostExamples = 3   // of what is left out
	mostMatches  = 5   // named of one path
	mostValues   = 40  // of an enum
	mostMembers  = 20  // of a union
	mostFields   = 8   // shown of the type that a hit gives
	mostInputs   = 500 // input types and enums that a hit brings along
	hitChars     = 200
	inputChars   = 80
	trailerRoom  = 160
	leastForNote = 1000 // characters of an answer that has room for the note
)

// Path leads from a root to a field.
type Path struct {
	// Path is written Query.account.iban, a cast as Query.search.<Repository>.name.
	Path string `json:"path"`
	// Depth is the number of fields.
	Depth int     `json:"depth"`
	Score float64 `json:"score"`
	// Matches are the input fields and enum values, such as "InvoiceInput.dueDate",
	// that were found and that the field takes or gives; empty where the field itself was found.
	Matches []string `json:"matches,omitempty"`
	// NotExecutable says that the path starts at a subscription, or at a mutation
	// where those are not allowed (see [MutationsMarked]).
	NotExecutable bool `json:"not_executable,omitempty"`
}

// Omitted counts the hits that an answer has no room for, and names the best of them.
type Omitted struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// Answer is what a search found: all that is needed to ask for each of the paths.
type Answer struct {
	// SDL can be parsed. Types have only the members that the paths need.
	SDL     string  `json:"sdl"`
	Paths   []Path  `json:"paths"`
	Omitted Omitted `json:"omitted"`
	// Hint says what to do where there is nothing, or too little room.
	Hint string `json:"hint,omitempty"`

	maxChars int
}

// note says why the types are not whole.
const note = "# Types have only what these paths need; inspect a type for the rest.\n"

// Text is the answer as SDL with remarks: the paths before it, the best first,
// and what is left out after it. It is never longer than asked for.
func (a Answer) Text() string { return cut(a.whole(), a.maxChars) }

// whole is the text, however long.
func (a Answer) whole() string {
	var b strings.Builder
	for _, p := range a.Paths {
		b.WriteString(pathLine(p))
	}
	if a.SDL != "" && a.maxChars >= leastForNote {
		b.WriteString(note)
	}
	b.WriteString(a.SDL)
	if a.Hint != "" { // before what matters less, should it be cut
		b.WriteString("# " + a.Hint + "\n")
	}
	if a.Omitted.Count > 0 {
		b.WriteString(trailer(a.Omitted))
	}
	return b.String()
}

func pathLine(p Path) string {
	s := "# " + p.Path
	if len(p.Matches) > 0 {
		s += " (" + strings.Join(p.Matches, ", ") + ")"
	}
	if p.NotExecutable {
		s += " - not executable here"
	}
	return s + "\n"
}

func trailer(o Omitted) string {
	s := fmt.Sprintf("# %d more", o.Count)
	if len(o.Examples) > 0 {
		s += ", e.g. " + strings.Join(o.Examples, ", ")
	}
	return s + "; raise max_chars or narrow the terms\n"
}

// cut shortens a text to a number of characters.
func cut(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// Search finds the fields that the terms are about: words, phrases or names, as
// many as one likes. The answer with its remarks ([Answer.Text]) has at most
// maxChars characters; 0 means [DefaultMaxChars]. The same search of the same
// schema gives the same answer.
func (x *Index) Search(terms []string, maxChars int) Answer {
	if maxChars <= 0 {
		maxChars = DefaultMaxChars
	}
	maxChars = min(maxChars, MaxMaxChars)
	a := Answer{Paths: []Path{}, Omitted: Omitted{Examples: []string{}}, maxChars: maxChars}
	known := x.terms(terms)
	if len(known) == 0 {
		a.Hint = "no usable terms: " + unusable(terms)
		return a
	}
	hits := x.rank(known)
	if len(hits) == 0 {
		a.Hint = "nothing in the schema matches; try other words, or fewer"
		return a
	}
	x.fill(&a, hits)
	return a
}

// unusable says what is wrong with terms none of which is known.
func unusable(terms []string) string {
	if !slices.ContainsFunc(terms, func(t string) bool { return len(textWords(t)) > 0 }) {
		return "give words of what you look for, such as \"invoice due date\""
	}
	if !slices.ContainsFunc(terms, func(t string) bool {
		return slices.ContainsFunc(textWords(t), func(w string) bool { return !stopWord(w) })
	}) {
		return "they are too common; give words of what you look for"
	}
	return "the schema knows none of these words; try others"
}

// fill puts the hits on a sheet until there is no more room.
func (x *Index) fill(a *Answer, hits []hit) {
	reserve := min(trailerRoom, a.maxChars/3)
	if len(hits) == 1 {
		reserve = 0
	}
	if a.maxChars >= leastForNote {
		reserve += len(note)
	}
	s := newSheet(x.schema.AST(), a.maxChars-reserve-rootsRoom(x.schema.AST()))
	var left []int32
	at := map[string]int{} // paths of the answer
	for i, h := range hits {
		if len(left) >= mostMisses || len(a.Paths) == mostPaths {
			for _, rest := range hits[i:] {
				left = append(left, rest.entry)
			}
			break
		}
		e := &x.entries[h.entry]
		path := x.path(e, h.score)
		known, again := at[path.Path]
		spent := utf8.RuneCountInString(pathLine(path))
		if again {
			spent = 0
			for _, m := range path.Matches {
				if len(a.Paths[known].Matches) < mostMatches && len(a.Paths[known].Matches) > 0 {
					spent += len(m) + len(", ")
				}
			}
		}
		s.room -= spent
		optional := optionalShare
		if i == 0 {
			optional = bestShare
		}
		if !x.place(s, e, optional) {
			s.room += spent
			left = append(left, h.entry)
			continue
		}
		if !again {
			at[path.Path] = len(a.Paths)
			a.Paths = append(a.Paths, path)
			continue
		}
		if p := &a.Paths[known]; len(p.Matches) > 0 && len(p.Matches) < mostMatches {
			p.Matches = append(p.Matches, path.Matches...)
		}
	}
	if a.SDL = s.String(); len(a.Paths) == 0 {
		best := x.path(&x.entries[hits[0].entry], hits[0].score)
		a.SDL = ""
		a.Hint = fmt.Sprintf("max_chars %d is too small for the best hit, %s; raise it", a.maxChars, best.Path)
	}
	a.Omitted.Count = len(left)
	x.examples(a, left)
}

// examples names what was left out, as far as there is room.
func (x *Index) examples(a *Answer, left []int32) {
	for _, i := range left {
		if len(a.Omitted.Examples) == mostExamples {
			return
		}
		name := x.entries[i].String()
		if slices.Contains(a.Omitted.Examples, name) {
			continue
		}
		before := a.Omitted.Examples
		a.Omitted.Examples = append(slices.Clone(before), name)
		if utf8.RuneCountInString(a.whole()) > a.maxChars {
			a.Omitted.Examples = before
			return
		}
	}
}

// path writes the way to an entry.
func (x *Index) path(e *entry, score float32) Path {
	steps := x.graph.way(e.way.parent)
	var b strings.Builder
	depth := 1
	if len(steps) == 0 {
		b.WriteString(e.way.parent.Name)
	} else {
		b.WriteString(steps[0].from.Name)
	}
	for i, s := range steps {
		if s.cast() {
			target := e.way.parent
			if i+1 < len(steps) {
				target = steps[i+1].from
			}
			b.WriteString(".<" + target.Name + ">")
			continue
		}
		b.WriteString("." + s.field.Name)
		depth++
	}
	b.WriteString("." + e.way.field.Name)
	p := Path{
		Path: b.String(), Depth: depth, Score: math.Round(float64(score)*1000) / 1000,
		NotExecutable: e.mutation && x.options.Mutations == MutationsMarked || e.subscription,
	}
	if e.way.parent != e.parent {
		p.Matches = []string{e.String()}
	}
	return p
}

// The shares of the room that a hit may take for more than it needs: for what its
// optional arguments take, and for that and what can be selected of it.
const (
	bestShare     = 0.4 // the best hit
	optionalShare = 0.2 // the others
	shownShare    = 0.6
)

// place puts on the sheet what it takes to ask for an entry, in as much detail
// as there is room for.
func (x *Index) place(s *sheet, e *entry, share float64) bool {
	c := collector{schema: x.schema.AST(), seen: map[string]bool{}}
	c.way(x.graph, e.way)
	c.hit(e)
	must := slices.Clone(c.pieces)
	c.required(e.way.field.Arguments)
	needed := c.pieces
	c.result(e)
	shown := c.pieces
	c.optional(e.way.field.Arguments, int(float64(s.room)*share))
	// What one hit may take of the room for more than it needs leaves some to the next.
	switch {
	case s.put(c.pieces, shownShare), s.put(shown, shownShare), s.put(needed, 1):
		return true
	}
	c.pieces = must
	c.short(e)
	return s.put(c.pieces, 1)
}

// collector gathers the pieces for one hit.
type collector struct {
	schema *ast.Schema
	pieces []piece
	seen   map[string]bool // input types and enums that are whole
}

func (c *collector) field(def *ast.Definition, f *ast.FieldDefinition, describe int) {
	c.pieces = append(c.pieces, piece{def: def, line: fieldLine(f, describe)})
}

// way adds the fields and casts down to the field, with what their arguments need.
func (c *collector) way(g *graph, t taker) {
	steps := g.way(t.parent)
	for i, s := range steps {
		target := t.parent
		if i+1 < len(steps) {
			target = steps[i+1].from
		}
		if !s.cast() {
			c.field(s.from, s.field, 0)
			continue
		}
		c.cast(s.from, target)
	}
	for _, s := range steps {
		if !s.cast() {
			c.required(s.field.Arguments)
		}
	}
}

// cast adds what says that a type may be another.
func (c *collector) cast(from, to *ast.Definition) {
	if from.Kind == ast.Interface {
		c.pieces = append(c.pieces, piece{def: from}, piece{def: to, implements: from.Name})
		return
	}
	c.members(from, to.Name)
}

// members adds a union: all of it if it is short, else the members that are needed.
func (c *collector) members(union *ast.Definition, needed ...string) {
	names := needed
	if len(union.Types) <= mostMembers {
		names = union.Types
	} else if len(needed) == 0 {
		names = union.Types[:mostMembers]
	}
	for _, name := range names {
		c.pieces = append(c.pieces, piece{def: union, member: name})
	}
}

// hit adds what was found.
func (c *collector) hit(e *entry) {
	c.field(e.way.parent, e.way.field, hitChars)
	if def := c.schema.Types[e.way.field.Type.Name()]; def.IsCompositeType() {
		c.pieces = append(c.pieces, piece{def: def}) // so that it is seen to have fields
	}
	if e.way.parent == e.parent {
		return
	}
	for _, link := range c.chain(e.way.field, e.parent) {
		c.field(link.parent, link.field, 0)
	}
	if e.value != nil {
		c.pieces = append(c.pieces, piece{def: e.parent, line: valueLine(e.value, hitChars)})
		return
	}
	c.field(e.parent, e.field, hitChars)
}

// chain is the input fields from the arguments of a field to an input type or
// enum, the shortest way.
func (c *collector) chain(f *ast.FieldDefinition, to *ast.Definition) []taker {
	type node struct {
		name string
		up   int
		by   taker
	}
	var nodes []node
	visited := map[string]bool{}
	visit := func(name string, up int, by taker) {
		if !visited[name] {
			visited[name] = true
			nodes = append(nodes, node{name, up, by})
		}
	}
	for _, a := range f.Arguments {
		visit(a.Type.Name(), -1, taker{})
	}
	for i := 0; ; i++ {
		if i == len(nodes) {
			return nil
		}
		if nodes[i].name == to.Name {
			var links []taker
			for at := i; nodes[at].up >= 0; at = nodes[at].up {
				links = append(links, nodes[at].by)
			}
			slices.Reverse(links)
			return links
		}
		def := c.schema.Types[nodes[i].name]
		if def.Kind != ast.InputObject {
			continue
		}
		for _, field := range def.Fields {
			visit(field.Type.Name(), i, taker{def, field})
		}
	}
}

// must tells what has to be given.
func must(t *ast.Type, value *ast.Value) bool { return t.NonNull && value == nil }

// required adds the types of the arguments that have to be given, and of the
// fields in them that have to be.
func (c *collector) required(args ast.ArgumentDefinitionList) {
	var names []string
	for _, a := range args {
		if must(a.Type, a.DefaultValue) {
			names = append(names, a.Type.Name())
		}
	}
	c.inputs(names, math.MaxInt, func(f *ast.FieldDefinition) bool { return must(f.Type, f.DefaultValue) })
}

// optional adds the types of all arguments, and those within them, as far as
// there is room.
func (c *collector) optional(args ast.ArgumentDefinitionList, room int) {
	var names []string
	for _, a := range args {
		names = append(names, a.Type.Name())
	}
	c.inputs(names, room, func(*ast.FieldDefinition) bool { return true })
}

// inputs adds input types and enums as a whole, and those of the fields that are
// followed, the nearest first, until one does not fit into the room.
func (c *collector) inputs(names []string, room int, follow func(*ast.FieldDefinition) bool) {
	visited := map[string]bool{}
	for len(names) > 0 && len(visited) < mostInputs {
		name := names[0]
		names = names[1:]
		if visited[name] {
			continue
		}
		visited[name] = true
		def := c.schema.Types[name]
		if !c.within(def, &room) {
			return
		}
		for _, f := range def.Fields {
			if def.Kind == ast.InputObject && (follow(f) || oneOf(def)) {
				names = append(names, f.Type.Name())
			}
		}
	}
}

// within adds a type if it fits into the room, without descriptions if that
// helps, else with the members that do fit, and tells whether it is whole.
func (c *collector) within(def *ast.Definition, room *int) bool {
	if def.BuiltIn || c.seen[def.Name] {
		return true
	}
	before := len(c.pieces)
	for _, describe := range []int{inputChars, 0} {
		c.seen[def.Name] = false
		c.pieces = c.pieces[:before]
		c.whole(def, describe)
		size := 0
		for _, p := range c.pieces[before:] {
			size += utf8.RuneCountInString(p.line.text)
		}
		if size <= *room {
			*room -= size
			return true
		}
	}
	kept := c.pieces[before:before]
	for _, p := range c.pieces[before:] {
		if *room -= utf8.RuneCountInString(p.line.text); *room < 0 {
			break
		}
		kept = append(kept, p)
	}
	c.pieces = c.pieces[:before+len(kept)]
	if len(kept) > 0 {
		c.pieces = append(c.pieces, piece{def: def, partial: true})
	}
	return false
}

func oneOf(def *ast.Definition) bool { return def.Directives.ForName("oneOf") != nil }

// whole adds an input type, enum or scalar with all it has.
func (c *collector) whole(def *ast.Definition, describe int) {
	if def.BuiltIn || c.seen[def.Name] {
		return
	}
	c.seen[def.Name] = true
	if len(def.Fields)+len(def.EnumValues) == 0 {
		c.pieces = append(c.pieces, piece{def: def})
	}
	for _, f := range def.Fields {
		c.field(def, f, describe)
	}
	for i, v := range def.EnumValues {
		if i == mostValues {
			c.pieces = append(c.pieces, piece{def: def, partial: true})
			break
		}
		c.pieces = append(c.pieces, piece{def: def, line: valueLine(v, 0)})
	}
}

// short adds the least that the arguments of a hit and its way need: of input
// types, the fields that have to be given.
func (c *collector) short(e *entry) {
	for i := range c.pieces { // descriptions go
		if p := &c.pieces[i]; p.line.name != "" {
			if f := p.def.Fields.ForName(p.line.name); f != nil {
				p.line = fieldLine(f, 0)
			} else if v := p.def.EnumValues.ForName(p.line.name); v != nil {
				p.line = valueLine(v, 0)
			}
		}
	}
	var names []string
	for _, a := range e.way.field.Arguments {
		if must(a.Type, a.DefaultValue) {
			names = append(names, a.Type.Name())
		}
	}
	visited := map[string]bool{}
	for len(names) > 0 {
		def := c.schema.Types[names[0]]
		names = names[1:]
		if visited[def.Name] || def.BuiltIn {
			continue
		}
		visited[def.Name] = true
		c.pieces = append(c.pieces, piece{def: def})
		for i, f := range def.Fields {
			if must(f.Type, f.DefaultValue) || oneOf(def) && i == 0 {
				c.field(def, f, 0)
				names = append(names, f.Type.Name())
			}
		}
		if len(def.EnumValues) > 0 {
			c.pieces = append(c.pieces, piece{def: def, line: valueLine(def.EnumValues[0], 0)})
		}
	}
}

// result adds what the type of a hit has to select from.
func (c *collector) result(e *entry) {
	def := c.schema.Types[e.way.field.Type.Name()]
	switch def.Kind {
	case ast.Enum:
		c.whole(def, 0)
	case ast.Union:
		c.members(def)
	case ast.Object, ast.Interface:
		shown := 0
		small := len(def.Fields) <= mostFields+4
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") || !small && shown == mostFields {
				continue
			}
			leaf := c.schema.Types[f.Type.Name()].IsLeafType()
			if slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool { return must(a.Type, a.DefaultValue) }) ||
				f.Directives.ForName("deprecated") != nil || !leaf && !small {
				continue
			}
			c.field(def, f, 0)
			shown++
		}
	default:
	}
}
