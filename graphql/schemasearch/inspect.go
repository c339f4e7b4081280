package schemasearch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
)

// Miss is a name that the schema does not have.
type Miss struct {
	Name string `json:"name"`
	// Nearest are the names that it may be meant for, the nearest first.
	Nearest []string `json:"nearest"`
}

// Inspection is the definitions that were asked for.
type Inspection struct {
	// SDL can be parsed.
	SDL string `json:"sdl"`
	// Unknown are the names that the schema does not have.
	Unknown []Miss `json:"unknown,omitempty"`
	// Shortened are the names of the types that have more than there is room for.
	Shortened []string `json:"shortened,omitempty"`

	maxChars int
}

// Text is the inspection as SDL with remarks. It is never longer than asked for.
func (i Inspection) Text() string {
	return cut(i.SDL+i.remarks(), i.maxChars)
}

func (i Inspection) remarks() string {
	var b strings.Builder
	for _, m := range i.Unknown {
		fmt.Fprintf(&b, "# unknown type %q", m.Name)
		if len(m.Nearest) > 0 {
			b.WriteString("; nearest: " + strings.Join(m.Nearest, ", "))
		}
		b.WriteByte('\n')
	}
	if len(i.Shortened) > 0 {
		fmt.Fprintf(&b, "# shortened: %s; raise max_chars, or inspect one name at a time\n", strings.Join(i.Shortened, ", "))
	}
	return b.String()
}

const (
	mostNames   = 50 // of an inspection
	mostNearest = 5
	mostUnknown = 10
)

// Inspect prints definitions: of types by their names, of directives ("@skip"),
// of single fields with what their arguments need ("Query.user"). Query, Mutation
// and Subscription also stand for the roots where those are called otherwise. The
// answer with its remarks has at most maxChars characters; 0 means
// [DefaultMaxChars].
func (x *Index) Inspect(names []string, maxChars int) Inspection {
	if maxChars <= 0 {
		maxChars = DefaultMaxChars
	}
	maxChars = min(maxChars, MaxMaxChars)
	out := Inspection{maxChars: maxChars}
	var wanted []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(wanted, name) && len(wanted) < mostNames {
			wanted = append(wanted, name)
		}
	}
	var known []subject
	for _, name := range wanted {
		if found, ok := x.subject(name); ok {
			known = append(known, found)
		} else if len(out.Unknown) < mostUnknown {
			out.Unknown = append(out.Unknown, Miss{Name: cut(name, 80), Nearest: x.nearest(name)})
		}
	}
	room := maxChars - utf8.RuneCountInString(out.remarks())
	if out.SDL, out.Shortened = x.print(known, room); len(out.Shortened) > 0 {
		room -= remarkRoom
		for _, found := range known {
			room -= len(found.name) + len(", ")
		}
		out.SDL, out.Shortened = x.print(known, room)
	}
	return out
}

// print prints definitions, sharing the room, and names those that are not whole.
func (x *Index) print(known []subject, room int) (sdl string, shortened []string) {
	var b strings.Builder
	for i, found := range known {
		text, whole := x.fit(found, room/(len(known)-i))
		room -= utf8.RuneCountInString(text)
		b.WriteString(text)
		if !whole {
			shortened = append(shortened, found.name)
		}
	}
	return b.String(), shortened
}

// remarkRoom is for the remark on what is shortened.
const remarkRoom = len("# shortened: ; raise max_chars, or inspect one name at a time\n")

// subject is what a name stands for: a directive, a type, or a field of one.
type subject struct {
	name      string
	directive *ast.DirectiveDefinition
	def       *ast.Definition
	field     *ast.FieldDefinition
}

func (x *Index) subject(name string) (subject, bool) {
	s := subject{name: name}
	if bare, ok := strings.CutPrefix(name, "@"); ok {
		s.directive = x.schema.AST().Directives[bare]
		return s, s.directive != nil
	}
	of, field, single := strings.Cut(name, ".")
	if s.def = x.typeNamed(strings.TrimRight(of, "!]")); s.def == nil {
		return s, false
	}
	if single {
		s.field = s.def.Fields.ForName(field)
	}
	return s, !single || s.field != nil
}

// typeNamed is a type by its name, a root also by its usual one.
func (x *Index) typeNamed(name string) *ast.Definition {
	name = strings.TrimLeft(name, "[")
	schema := x.schema.AST()
	if def := schema.Types[name]; def != nil && !strings.HasPrefix(name, "__") {
		return def
	}
	switch name {
	case "Query":
		return schema.Query
	case "Mutation":
		return schema.Mutation
	case "Subscription":
		return schema.Subscription
	}
	return nil
}

// fit prints a definition with as much as there is room for, and tells whether
// all of its members are there.
func (x *Index) fit(s subject, room int) (text string, whole bool) {
	if s.field != nil {
		return x.fitField(s, room)
	}
	for _, style := range []graphql.Style{{Describe: -1, Arguments: true}, {Describe: hitChars}, {Describe: inputChars}, {}} {
		var text []byte
		if s.directive != nil {
			text = style.AppendDirective(nil, s.directive)
		} else {
			text = style.AppendType(nil, s.def)
		}
		if utf8.RuneCount(text) <= room {
			return string(text), true
		}
	}
	if s.directive != nil {
		return "", false
	}
	part := newSheet(x.schema.AST(), room)
	if part.put([]piece{{def: s.def, partial: true}}, 1) {
		for _, p := range members(s.def) {
			part.put([]piece{p}, 1)
		}
	}
	return part.body(), false
}

// members are the pieces of a type, without descriptions.
func members(def *ast.Definition) []piece {
	var all []piece
	for _, f := range def.Fields {
		if !strings.HasPrefix(f.Name, "__") {
			all = append(all, piece{def: def, line: fieldLine(f, 0)})
		}
	}
	for _, v := range def.EnumValues {
		all = append(all, piece{def: def, line: valueLine(v, 0)})
	}
	for _, name := range def.Types {
		all = append(all, piece{def: def, member: name})
	}
	return all
}

// fitField prints one field with the types that its arguments need, as far as
// there is room.
func (x *Index) fitField(s subject, room int) (text string, whole bool) {
	part := newSheet(x.schema.AST(), room)
	for _, describe := range []int{-1, hitChars, 0} {
		style := graphql.Style{Describe: describe, Arguments: describe != 0}
		full := line{s.field.Name, string(style.AppendField(nil, s.field))}
		if whole = part.put([]piece{{def: s.def, line: full}}, 1); whole {
			break
		}
	}
	c := collector{schema: x.schema.AST(), seen: map[string]bool{}}
	c.optional(s.field.Arguments, room)
	for len(c.pieces) > 0 { // type by type
		n := slices.IndexFunc(c.pieces, func(p piece) bool { return p.def != c.pieces[0].def })
		if n < 0 {
			n = len(c.pieces)
		}
		whole = part.put(c.pieces[:n], 1) && whole
		c.pieces = c.pieces[n:]
	}
	return part.body(), whole
}

// nearest are the names most like one: those with few letters of difference, and
// those that have the same words in them.
func (x *Index) nearest(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	name = cut(strings.TrimSpace(name), 80)
	of, field, single := strings.Cut(name, ".")
	var names []string
	switch {
	case strings.HasPrefix(name, "@"):
		for directive := range x.schema.AST().Directives {
			names = append(names, "@"+directive)
		}
	case single && x.typeNamed(of) != nil:
		for _, f := range x.typeNamed(of).Fields {
			if !strings.HasPrefix(f.Name, "__") {
				names = append(names, of+"."+f.Name)
			}
		}
	default:
		names = x.schema.Names()
	}
	wanted := strings.ToLower(name)
	var found []candidate
	for _, n := range names {
		lower := strings.ToLower(n)
		d := distance(wanted, lower)
		switch {
		case d <= max(2, len(wanted)/3):
			found = append(found, candidate{n, d})
		case strings.Contains(lower, strings.ToLower(cmp.Or(field, of))), len(lower) > 3 && strings.Contains(wanted, lower),
			len(wanted) > 3 && len(lower) > len(wanted) && distance(wanted, lower[:len(wanted)+1]) <= 1:
			found = append(found, candidate{n, d + len(wanted)})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	nearest := []string{}
	for _, c := range found[:min(mostNearest, len(found))] {
		nearest = append(nearest, c.name)
	}
	return nearest
}

// distance is the number of letters to insert, delete, change or swap with the
// next to make a the same as b (the restricted Damerau–Levenshtein distance).
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
