package schemasearch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
)

// sheet is SDL that grows piece by piece within a number of characters.
type sheet struct {
	schema *ast.Schema
	room   int
	parts  map[string]*part
	order  []*part
}

// part is what a sheet has of one type.
type part struct {
	def        *ast.Definition
	interfaces []string
	members    []string // of a union
	lines      []line   // fields or enum values
	partial    bool     // not all of them are there, which is to be said
	at         map[string]int
}

type line struct{ name, text string }

// piece is something to put on a sheet. All of it goes on, or nothing.
type piece struct {
	def *ast.Definition
	// implements is an interface that the header has to name.
	implements string
	// member is a member of a union.
	member string
	// line is a field or enum value; its text ends the line.
	line line
	// partial asks to say how many members are missing.
	partial bool
}

func newSheet(s *ast.Schema, room int) *sheet {
	return &sheet{schema: s, room: room, parts: map[string]*part{}}
}

// put adds the pieces if they fit into the room, of which at most share may be
// used, and tells whether they did.
func (s *sheet) put(pieces []piece, share float64) bool {
	cost, staged := 0, make(map[piece]bool, len(pieces))
	opened := map[string]int{} // lines that parts will have
	for _, p := range pieces {
		bare := p
		bare.line.text = ""
		if staged[bare] {
			continue
		}
		staged[bare] = true
		cost += s.cost(p, opened)
	}
	if float64(cost) > float64(s.room)*share {
		return false
	}
	s.room -= cost
	for _, p := range pieces {
		s.add(p)
	}
	return true
}

// cost is the number of characters that a piece adds.
func (s *sheet) cost(p piece, opened map[string]int) int {
	cost := 0
	have := s.parts[p.def.Name]
	if _, ok := opened[p.def.Name]; !ok {
		opened[p.def.Name] = 0
		if have == nil {
			cost += len(header(p.def)) + 1
		} else {
			opened[p.def.Name] = len(have.lines)
		}
	}
	if have == nil {
		have = &part{}
	}
	if p.implements != "" && !slices.Contains(have.interfaces, p.implements) {
		cost += len(" implements ") + len(p.implements)
	}
	if p.member != "" && !slices.Contains(have.members, p.member) {
		cost += len(" | ") + len(p.member)
	}
	if p.partial && !have.partial {
		cost += len(remainder(p.def, 100000))
	}
	if p.line.name == "" {
		return cost
	}
	if i, ok := have.at[p.line.name]; ok {
		return cost + max(0, utf8.RuneCountInString(p.line.text)-utf8.RuneCountInString(have.lines[i].text))
	}
	if opened[p.def.Name] == 0 {
		cost += len(" {\n}")
	}
	opened[p.def.Name]++
	return cost + utf8.RuneCountInString(p.line.text)
}

func (s *sheet) add(p piece) {
	have := s.parts[p.def.Name]
	if have == nil {
		have = &part{def: p.def, at: map[string]int{}}
		s.parts[p.def.Name] = have
		s.order = append(s.order, have)
	}
	if p.implements != "" && !slices.Contains(have.interfaces, p.implements) {
		have.interfaces = append(have.interfaces, p.implements)
	}
	if p.member != "" && !slices.Contains(have.members, p.member) {
		have.members = append(have.members, p.member)
	}
	have.partial = have.partial || p.partial
	if p.line.name == "" {
		return
	}
	i, ok := have.at[p.line.name]
	if !ok {
		have.at[p.line.name] = len(have.lines)
		have.lines = append(have.lines, p.line)
	} else if len(p.line.text) > len(have.lines[i].text) { // the one that says more
		have.lines[i] = p.line
	}
}

// header is how the definition of a type begins.
func header(def *ast.Definition) string {
	switch def.Kind {
	case ast.Object:
		return "type " + def.Name
	case ast.Interface:
		return "interface " + def.Name
	case ast.Union:
		return "union " + def.Name
	case ast.Enum:
		return "enum " + def.Name
	case ast.InputObject:
		if def.Directives.ForName("oneOf") != nil {
			return "input " + def.Name + " @oneOf"
		}
		return "input " + def.Name
	default:
		return "scalar " + def.Name
	}
}

// String is the SDL, with the definition of the schema if that is needed.
func (s *sheet) String() string { return s.roots() + s.body() }

// body is the SDL of the types.
func (s *sheet) body() string {
	var b strings.Builder
	for _, p := range s.order {
		b.WriteString(header(p.def))
		for i, name := range p.interfaces {
			b.WriteString([]string{" implements ", " & "}[min(i, 1)])
			b.WriteString(name)
		}
		for i, name := range p.members {
			b.WriteString([]string{" = ", " | "}[min(i, 1)])
			b.WriteString(name)
		}
		if len(p.lines) > 0 {
			b.WriteString(" {\n")
			for _, l := range p.lines {
				b.WriteString(l.text)
			}
			if missing := len(p.def.Fields) + len(p.def.EnumValues) - len(p.lines); p.partial && missing > 0 {
				b.WriteString(remainder(p.def, missing))
			}
			b.WriteByte('}')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// remainder says how many members of a type are missing.
func remainder(def *ast.Definition, n int) string {
	return fmt.Sprintf("  # and %d more; inspect %s\n", n, def.Name)
}

// roots is the definition of the schema, if its roots are not called as usual
// and any of them is on the sheet.
func (s *sheet) roots() string {
	roots := []struct {
		name, usual string
		def         *ast.Definition
	}{{"query", "Query", s.schema.Query}, {"mutation", "Mutation", s.schema.Mutation}, {"subscription", "Subscription", s.schema.Subscription}}
	var shown []string
	renamed := false
	for _, r := range roots {
		if r.def != nil && s.parts[r.def.Name] != nil {
			shown = append(shown, r.name+": "+r.def.Name)
			renamed = renamed || r.def.Name != r.usual
		}
	}
	if !renamed {
		return ""
	}
	return "schema { " + strings.Join(shown, " ") + " }\n"
}

// rootsRoom is what roots takes at most.
func rootsRoom(s *ast.Schema) int {
	all := &sheet{schema: s, parts: map[string]*part{}}
	for _, def := range []*ast.Definition{s.Query, s.Mutation, s.Subscription} {
		if def != nil {
			all.parts[def.Name] = &part{}
		}
	}
	return len(all.roots())
}

// fieldLine prints a field with at most so many characters of its description.
func fieldLine(f *ast.FieldDefinition, describe int) line {
	return line{f.Name, string(graphql.Style{Describe: describe}.AppendField(nil, f))}
}

func valueLine(v *ast.EnumValueDefinition, describe int) line {
	return line{v.Name, string(graphql.Style{Describe: describe}.AppendEnumValue(nil, v))}
}
