package operations

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// printed is the text of an operation and its fragments: the same for the same
// tree, whatever it was written like. Descriptions and comments are no part of it.
func printed(operation *ast.OperationDefinition, fragments []*ast.FragmentDefinition) string {
	var p printer
	p.operation(operation)
	for _, f := range fragments {
		p.b.WriteByte('\n')
		p.fragment(f)
	}
	return p.b.String()
}

func printedFragment(f *ast.FragmentDefinition) string {
	var p printer
	p.fragment(f)
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	indent int
}

func (p *printer) write(parts ...string) {
	for _, part := range parts {
		p.b.WriteString(part)
	}
}

func (p *printer) operation(o *ast.OperationDefinition) {
	p.write(string(o.Operation))
	if o.Name != "" {
		p.write(" ", o.Name)
	}
	p.variables(o.VariableDefinitions)
	p.directives(o.Directives)
	p.selections(o.SelectionSet)
	p.write("\n")
}

func (p *printer) fragment(f *ast.FragmentDefinition) {
	p.write("fragment ", f.Name, " on ", f.TypeCondition)
	p.directives(f.Directives)
	p.selections(f.SelectionSet)
	p.write("\n")
}

func (p *printer) variables(all ast.VariableDefinitionList) {
	before := "("
	for _, v := range all {
		p.write(before, "$", v.Variable, ": ", v.Type.String())
		if v.DefaultValue != nil {
			p.write(" = ")
			p.value(v.DefaultValue)
		}
		p.directives(v.Directives)
		before = ", "
	}
	if len(all) > 0 {
		p.write(")")
	}
}

func (p *printer) directives(all ast.DirectiveList) {
	for _, d := range all {
		p.write(" @", d.Name)
		p.arguments(d.Arguments)
	}
}

func (p *printer) arguments(all ast.ArgumentList) {
	before := "("
	for _, a := range all {
		p.write(before, a.Name, ": ")
		p.value(a.Value)
		before = ", "
	}
	if len(all) > 0 {
		p.write(")")
	}
}

// value writes a value. Block strings stay as they are written but for their
// line ends: what of their indentation counts, a server has to say.
func (p *printer) value(v *ast.Value) {
	open, end := "[", "]"
	switch v.Kind {
	case ast.BlockValue:
		runes := []rune(v.Position.Src.Input)
		p.write(strings.ReplaceAll(unix(string(runes[v.Position.Start:v.Position.End])), "\r", "\n"))
		return
	case ast.ObjectValue:
		open, end = "{", "}"
	case ast.ListValue:
	default:
		p.write(v.String())
		return
	}
	p.write(open)
	for i, child := range v.Children {
		if i > 0 {
			p.write(", ")
		}
		if child.Name != "" {
			p.write(child.Name, ": ")
		}
		p.value(child.Value)
	}
	p.write(end)
}

func (p *printer) selections(set ast.SelectionSet) {
	if len(set) == 0 {
		return
	}
	p.write(" {\n")
	p.indent++
	for _, s := range set {
		p.write(strings.Repeat("  ", p.indent))
		switch s := s.(type) {
		case *ast.Field:
			if s.Alias != s.Name {
				p.write(s.Alias, ": ")
			}
			p.write(s.Name)
			p.arguments(s.Arguments)
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		case *ast.FragmentSpread:
			p.write("...", s.Name)
			p.directives(s.Directives)
		case *ast.InlineFragment:
			p.write("...")
			if s.TypeCondition != "" {
				p.write(" on ", s.TypeCondition)
			}
			p.directives(s.Directives)
			p.selections(s.SelectionSet)
		}
		p.write("\n")
	}
	p.indent--
	p.write(strings.Repeat("  ", p.indent), "}")
}
