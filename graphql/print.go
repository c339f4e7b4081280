package graphql

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Style says how definitions are printed. What is printed can be loaded again.
type Style struct {
	// Describe is the most characters of each description, which is put on one
	// line; 0 leaves descriptions out, a negative number prints them whole.
	Describe int
	// Arguments says that the arguments of fields have their descriptions too.
	Arguments bool
}

// maxReason is the most characters of why something is deprecated, where it is
// not printed whole.
const maxReason = 200

// appendSchema prints a schema whose types are printed by one.
func appendSchema(b []byte, s *Schema, one func([]byte, *ast.Definition) []byte) []byte {
	whole := Style{Describe: -1, Arguments: true}
	b = appendRoots(b, s.ast)
	for _, name := range slices.Sorted(maps.Keys(s.ast.Directives)) {
		if !standard(name) {
			b = whole.AppendDirective(b, s.ast.Directives[name])
		}
	}
	for _, name := range s.names {
		b = one(b, s.ast.Types[name])
	}
	return b
}

// appendRoots prints the schema definition, where names alone do not say it.
func appendRoots(b []byte, s *ast.Schema) []byte {
	roots := []struct {
		name, usual string
		def         *ast.Definition
	}{{"query", "Query", s.Query}, {"mutation", "Mutation", s.Mutation}, {"subscription", "Subscription", s.Subscription}}
	plain := s.Description == ""
	for _, root := range roots {
		plain = plain && root.def == s.Types[root.usual]
	}
	if plain {
		return b
	}
	b = appendDescription(b, s.Description, "")
	b = append(b, "schema"...)
	open := " {\n"
	for _, root := range roots {
		if root.def != nil {
			b = append(append(append(append(b, open...), "  "...), root.name...), ": "...)
			b = append(append(b, root.def.Name...), '\n')
			open = ""
		}
	}
	if open == "" {
		b = append(b, '}')
	}
	return append(b, '\n')
}

// appendSorted prints a type so that the order of its members does not show.
func appendSorted(b []byte, def *ast.Definition) []byte {
	sorted := *def
	sorted.Fields = slices.Clone(def.Fields)
	for i, f := range sorted.Fields {
		if len(f.Arguments) > 1 {
			again := *f
			again.Arguments = slices.Clone(f.Arguments)
			slices.SortFunc(again.Arguments, func(x, y *ast.ArgumentDefinition) int { return cmp.Compare(x.Name, y.Name) })
			sorted.Fields[i] = &again
		}
	}
	slices.SortFunc(sorted.Fields, func(x, y *ast.FieldDefinition) int { return cmp.Compare(x.Name, y.Name) })
	sorted.EnumValues = slices.Clone(def.EnumValues)
	slices.SortFunc(sorted.EnumValues, func(x, y *ast.EnumValueDefinition) int { return cmp.Compare(x.Name, y.Name) })
	sorted.Types = slices.Sorted(slices.Values(def.Types))
	sorted.Interfaces = slices.Sorted(slices.Values(def.Interfaces))
	return Style{Describe: -1, Arguments: true}.AppendType(b, &sorted)
}

// AppendType prints one type.
func (s Style) AppendType(b []byte, def *ast.Definition) []byte {
	b = s.appendDescription(b, def.Description, "")
	switch def.Kind {
	case ast.Scalar:
		b = append(append(b, "scalar "...), def.Name...)
		if d := def.Directives.ForName("specifiedBy"); d != nil {
			b = append(append(b, ` @specifiedBy(url: `...), d.Arguments[0].Value.String()...)
			b = append(b, ')')
		}
		return append(b, '\n')
	case ast.Union:
		b = append(append(b, "union "...), def.Name...)
		for i, name := range def.Types {
			separator := " | "
			if i == 0 {
				separator = " = "
			}
			b = append(append(b, separator...), name...)
		}
		return append(b, '\n')
	case ast.Object:
		b = append(b, "type "...)
	case ast.Interface:
		b = append(b, "interface "...)
	case ast.InputObject:
		b = append(b, "input "...)
	case ast.Enum:
		b = append(b, "enum "...)
	}
	b = append(b, def.Name...)
	for i, name := range def.Interfaces {
		separator := " & "
		if i == 0 {
			separator = " implements "
		}
		b = append(append(b, separator...), name...)
	}
	if def.Directives.ForName("oneOf") != nil {
		b = append(b, " @oneOf"...)
	}
	open := " {\n"
	for _, f := range def.Fields {
		if !strings.HasPrefix(f.Name, "__") {
			b = s.AppendField(append(b, open...), f)
			open = ""
		}
	}
	for _, v := range def.EnumValues {
		b = s.AppendEnumValue(append(b, open...), v)
		open = ""
	}
	if open == "" {
		b = append(b, '}')
	}
	return append(b, '\n')
}

// AppendEnumValue prints one value of an enum, indented by two spaces.
func (s Style) AppendEnumValue(b []byte, v *ast.EnumValueDefinition) []byte {
	b = s.appendDescription(b, v.Description, "  ")
	b = append(append(b, "  "...), v.Name...)
	return append(s.appendDeprecated(b, v.Directives), '\n')
}

// AppendField prints one field of a type, indented by two spaces.
func (s Style) AppendField(b []byte, f *ast.FieldDefinition) []byte {
	b = s.appendDescription(b, f.Description, "  ")
	b = append(append(b, "  "...), f.Name...)
	b = s.appendArguments(b, f.Arguments, "  ")
	b = append(b, ": "...)
	b = appendType(b, f.Type)
	b = appendDefault(b, f.DefaultValue)
	return append(s.appendDeprecated(b, f.Directives), '\n')
}

func (s Style) appendArguments(b []byte, args ast.ArgumentDefinitionList, indent string) []byte {
	if len(args) == 0 {
		return b
	}
	if s.Describe == 0 || !s.Arguments || !slices.ContainsFunc(args, func(a *ast.ArgumentDefinition) bool { return a.Description != "" }) {
		for i, a := range args {
			separator := ", "
			if i == 0 {
				separator = "("
			}
			b = s.appendArgument(append(b, separator...), a)
		}
		return append(b, ')')
	}
	b = append(b, "(\n"...)
	for _, a := range args {
		b = s.appendDescription(b, a.Description, indent+"  ")
		b = append(append(b, indent...), "  "...)
		b = append(s.appendArgument(b, a), '\n')
	}
	return append(append(b, indent...), ')')
}

func (s Style) appendArgument(b []byte, a *ast.ArgumentDefinition) []byte {
	b = append(append(b, a.Name...), ": "...)
	b = appendType(b, a.Type)
	b = appendDefault(b, a.DefaultValue)
	return s.appendDeprecated(b, a.Directives)
}

func appendType(b []byte, t *ast.Type) []byte {
	if t.NamedType != "" {
		b = append(b, t.NamedType...)
	} else {
		b = append(appendType(append(b, '['), t.Elem), ']')
	}
	if t.NonNull {
		b = append(b, '!')
	}
	return b
}

func appendDefault(b []byte, v *ast.Value) []byte {
	if v == nil {
		return b
	}
	return append(append(b, " = "...), v.String()...)
}

func (s Style) appendDeprecated(b []byte, directives ast.DirectiveList) []byte {
	d := directives.ForName("deprecated")
	if d == nil {
		return b
	}
	b = append(b, " @deprecated"...)
	if len(d.Arguments) > 0 {
		reason := *d.Arguments[0].Value
		if s.Describe >= 0 {
			reason.Raw = cut(strings.Join(strings.Fields(reason.Raw), " "), maxReason)
		}
		b = append(append(b, "(reason: "...), reason.String()...)
		b = append(b, ')')
	}
	return b
}

// AppendDirective prints the definition of a directive.
func (s Style) AppendDirective(b []byte, def *ast.DirectiveDefinition) []byte {
	b = s.appendDescription(b, def.Description, "")
	b = append(append(b, "directive @"...), def.Name...)
	b = s.appendArguments(b, def.Arguments, "")
	if def.IsRepeatable {
		b = append(b, " repeatable"...)
	}
	for i, location := range def.Locations {
		separator := " | "
		if i == 0 {
			separator = " on "
		}
		b = append(append(b, separator...), location...)
	}
	return append(b, '\n')
}

func (s Style) appendDescription(b []byte, text, indent string) []byte {
	if s.Describe == 0 || text == "" {
		return b
	}
	if s.Describe > 0 {
		text = cut(strings.Join(strings.Fields(withoutLinks(text)), " "), s.Describe)
	}
	return appendDescription(b, text, indent)
}

// withoutLinks leaves of Markdown's links what is read.
func withoutLinks(text string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			break
		}
		middle := strings.Index(text[open:], "](")
		if middle < 0 {
			break
		}
		label, rest := text[open+1:open+middle], text[open+middle+2:]
		end := strings.IndexByte(rest, ')')
		if end < 0 || strings.ContainsAny(label, "[]") || strings.ContainsAny(rest[:end], " \n(") {
			b.WriteString(text[:open+1])
			text = text[open+1:]
			continue
		}
		b.WriteString(text[:open])
		b.WriteString(label)
		text = rest[end+1:]
	}
	return b.String() + text
}

// appendDescription prints a description in the shorter of the forms that give
// it back unchanged (GraphQL spec, October 2021, §2.9.4).
func appendDescription(b []byte, text, indent string) []byte {
	if text == "" {
		return b
	}
	b = append(b, indent...)
	if !blockSafe(text) {
		b = append(b, (&ast.Value{Kind: ast.StringValue, Raw: text}).String()...)
		return append(b, '\n')
	}
	b = append(b, "\"\"\"\n"...)
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b = append(append(b, indent...), strings.ReplaceAll(line, `"""`, `\"""`)...)
		}
		b = append(b, '\n')
	}
	return append(append(b, indent...), "\"\"\"\n"...)
}

// blockSafe tells whether a text of several lines comes back unchanged from a
// block string: no blank line at an end, and a line that is not indented.
func blockSafe(text string) bool {
	if !strings.Contains(text, "\n") {
		return false
	}
	lines := strings.Split(text, "\n")
	blank := func(line string) bool { return strings.Trim(line, " \t") == "" }
	if blank(lines[0]) || blank(lines[len(lines)-1]) {
		return false
	}
	return slices.ContainsFunc(lines, func(line string) bool { return !blank(line) && line[0] != ' ' && line[0] != '\t' })
}
