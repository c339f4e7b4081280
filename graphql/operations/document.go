package operations

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"

	"github.com/docseek/docseek/graphql/execute"
)

// The directives that mark an operation document. They are for docseek alone and
// are never sent.
const (
	markTool     = "mcpTool"
	markVariable = "mcpToolVariable"
)

// remedyName says where to give an operation another name.
const remedyName = `set name in @mcpTool`

// excluded is why an operation with exclude: true is no tool.
const excluded = "exclude: true"

// maxDescription bounds a tool's description, in bytes.
const maxDescription = 1 << 10

// marked is one operation with its @mcpTool, which is no longer among its directives.
type marked struct {
	*ast.OperationDefinition
	tool      mark
	variables map[string]mark
	fragments []*ast.FragmentDefinition
	faults    []Fault
}

// mark is what one of the directives says. What it does not say is empty.
type mark struct {
	name, description string
	exclude           bool
}

func (m *marked) fault(at *ast.Position, format string, args ...any) {
	m.faults = append(m.faults, Fault{Place: placeOf(at), Operation: m.Name, Message: fmt.Sprintf(format, args...)})
}

func placeOf(p *ast.Position) Place { return Place{File: p.Src.Name, Line: p.Line, Column: p.Column} }

// document adds the marked operations and the fragments of an annotated document.
func (l *loader) document(f File) {
	text := withoutDeclarations(f.Text)
	if strings.TrimSpace(text) == "" {
		return
	}
	tree, faults := execute.Parse(f.Path, text, execute.Limits{Document: maxFileBytes, Tokens: maxFileTokens})
	if len(faults) > 0 {
		for _, fault := range faults {
			l.faults = append(l.faults, faultOf(fault, "", Place{File: f.Path}))
		}
		return
	}
	for _, fragment := range tree.Fragments {
		if text := printedFragment(fragment); !l.texts[text] {
			l.texts[text] = true
			l.fragments[fragment.Name] = append(l.fragments[fragment.Name], fragment)
		}
	}
	for _, definition := range tree.Operations {
		if definition.Directives.ForName(markTool) != nil {
			l.marked = append(l.marked, unmark(definition))
		}
	}
}

// faultOf is a fault of the execute room. at stands for a place that it does not know.
func faultOf(f execute.Fault, operation string, at Place) Fault {
	if f.File != "" {
		at = Place{File: f.File, Line: f.Line, Column: f.Column}
	}
	f.File, f.Line, f.Column = "", 0, 0
	return Fault{Place: at, Operation: operation, Message: f.String()}
}

// unmark takes the marks off an operation.
func unmark(definition *ast.OperationDefinition) *marked {
	m := &marked{OperationDefinition: definition, variables: map[string]mark{}}
	definition.Directives = m.take(definition.Directives, markTool, &m.tool)
	for _, v := range definition.VariableDefinitions {
		var said mark
		v.Directives = m.take(v.Directives, markVariable, &said)
		m.variables[v.Variable] = said
	}
	return m
}

// take reads the directive of a name and returns the others.
func (m *marked) take(all ast.DirectiveList, name string, into *mark) ast.DirectiveList {
	var others ast.DirectiveList
	seen := false
	for _, d := range all {
		switch {
		case d.Name != name:
			others = append(others, d)
		case seen:
			m.fault(d.Position, "@%s stands here twice", name)
		default:
			seen = true
			m.read(d, into)
		}
	}
	return others
}

func (m *marked) read(d *ast.Directive, into *mark) {
	texts, allowed := map[string]*string{"description": &into.description}, "description"
	if d.Name == markTool {
		texts["name"], allowed = &into.name, "description, name and exclude"
	}
	seen := map[string]bool{}
	for _, a := range d.Arguments {
		text := texts[a.Name]
		kind := a.Value.Kind
		switch {
		case seen[a.Name]:
			m.fault(a.Position, "@%s has %s twice", d.Name, a.Name)
		case text == nil && (a.Name != "exclude" || d.Name != markTool):
			m.fault(a.Position, "@%s has no argument %q: it takes %s", d.Name, a.Name, allowed)
		case kind == ast.NullValue:
		case text != nil && (kind == ast.StringValue || kind == ast.BlockValue):
			*text = strings.TrimSpace(a.Value.Raw)
		case text == nil && kind == ast.BooleanValue:
			into.exclude = a.Value.Raw == "true"
		case text != nil:
			m.fault(a.Position, "%s of @%s must be a text, got %s", a.Name, d.Name, a.Value)
		default:
			m.fault(a.Position, "exclude of @%s must be true or false, got %s", d.Name, a.Value)
		}
		seen[a.Name] = true
	}
}

// annotated makes operations of all that is marked.
func (l *loader) annotated() {
	for _, name := range slices.Sorted(maps.Keys(l.fragments)) {
		if all := positions(l.fragments[name]); len(all) > 1 {
			for _, at := range all {
				l.fault(placeOf(at), "", "fragment %s is written differently in %s", name, others(all, at))
			}
		}
	}
	named := map[string][]*ast.Position{}
	for _, m := range l.marked {
		named[m.Name] = append(named[m.Name], m.Position)
	}
	for _, m := range l.marked {
		if all := named[m.Name]; m.Name != "" && len(all) > 1 {
			m.fault(m.Position, "operation %s is defined in %s too: give each a name of its own", m.Name, others(all, m.Position))
		}
		o := l.annotate(m)
		l.add(o, m.faults)
	}
}

func positions(fragments []*ast.FragmentDefinition) []*ast.Position {
	all := make([]*ast.Position, len(fragments))
	for i, f := range fragments {
		all[i] = f.Position
	}
	return all
}

// others lists all places but one.
func others(all []*ast.Position, but *ast.Position) string {
	var places []string
	for _, at := range all {
		if at != but {
			places = append(places, placeOf(at).String())
		}
	}
	return listed(places)
}

// listed is a list of places, the first of many.
func listed(places []string) string {
	const most = 5
	if more := len(places) - most; more > 0 {
		places = append(places[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(places, ", ")
}

// annotate makes the operation of a marked one; what is wrong with it is in its faults.
func (l *loader) annotate(m *marked) *Operation {
	o := &Operation{
		Name:        cmp.Or(m.tool.name, snakeCase(m.Name)),
		Description: cmp.Or(m.tool.description, strings.TrimSpace(m.Description)),
		Kind:        Annotated, Endpoint: l.Endpoint, Type: Type(m.Operation), OperationName: m.Name, Place: placeOf(m.Position),
	}
	if m.tool.exclude {
		o.Withheld = excluded
	}
	switch {
	case m.Operation == ast.Subscription:
		m.fault(m.Position, "a subscription is no tool: a call has one answer, and subscriptions go on")
	case m.Name == "":
		m.fault(m.Position, "the operation has no name: write one after %s", m.Operation)
	case !m.tool.exclude:
		if err := checkName(o.Name, l.Options, remedyName); err != nil {
			m.fault(m.Position, "%v", err)
		}
		if o.Description == "" {
			m.fault(m.Position, "the tool has no description: set description in @%s", markTool)
		}
		if size := len(o.Description); size > maxDescription {
			m.fault(m.Position, "the description has %d bytes; at most %d are allowed", size, maxDescription)
		}
	}
	before := len(m.faults)
	m.fragments = l.needed(m)
	m.stray()
	if len(m.faults) == before && m.Operation != ast.Subscription {
		tree := &ast.QueryDocument{Operations: ast.OperationList{m.OperationDefinition}, Fragments: m.fragments}
		for _, fault := range execute.CheckParsed(l.tree(), tree, l.Limits) {
			m.faults = append(m.faults, faultOf(fault, m.Name, o.Place))
		}
	}
	o.Document = printed(m.OperationDefinition, m.fragments)
	o.ID = IDOf(o.Document)
	if p, ok := l.published[o.Document]; ok {
		o.ID, o.Document = p.id, p.text
	}
	switch {
	case len(m.faults) > before:
	case l.Schema == nil:
		m.fault(m.Position, "the schema of the endpoint %s is not known, and without it the operation cannot be checked", l.Endpoint)
	default:
		l.aging(m)
		if !m.tool.exclude {
			l.input(m, o)
		}
	}
	return o
}

// needed are the fragments that an operation needs, by name.
func (l *loader) needed(m *marked) []*ast.FragmentDefinition {
	found := map[string]*ast.FragmentDefinition{}
	var spread func(ast.Selection)
	spread = func(selection ast.Selection) {
		s, ok := selection.(*ast.FragmentSpread)
		if !ok || found[s.Name] != nil || len(l.fragments[s.Name]) == 0 {
			return // validation names one that there is none of
		}
		all := l.fragments[s.Name]
		if len(all) > 1 {
			m.fault(s.Position, "fragment %s is written differently in %s", s.Name, others(positions(all), nil))
		}
		found[s.Name] = all[0]
		each(all[0].SelectionSet, spread)
	}
	each(m.SelectionSet, spread)
	fragments := make([]*ast.FragmentDefinition, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fragments = append(fragments, found[name])
	}
	return fragments
}

// each visits the selections of a set, and those within them.
func each(set ast.SelectionSet, visit func(ast.Selection)) {
	for _, selection := range set {
		visit(selection)
		switch s := selection.(type) {
		case *ast.Field:
			each(s.SelectionSet, visit)
		case *ast.InlineFragment:
			each(s.SelectionSet, visit)
		}
	}
}

// eachDirective visits the directives of an operation and its fragments.
func (m *marked) eachDirective(visit func(*ast.Directive)) {
	all := func(directives ast.DirectiveList) {
		for _, d := range directives {
			visit(d)
		}
	}
	all(m.Directives)
	for _, v := range m.VariableDefinitions {
		all(v.Directives)
	}
	for _, f := range m.fragments {
		all(f.Directives)
	}
	m.each(func(selection ast.Selection) {
		switch s := selection.(type) {
		case *ast.Field:
			all(s.Directives)
		case *ast.InlineFragment:
			all(s.Directives)
		case *ast.FragmentSpread:
			all(s.Directives)
		}
	})
}

// each visits the selections of an operation and its fragments.
func (m *marked) each(visit func(ast.Selection)) {
	each(m.SelectionSet, visit)
	for _, f := range m.fragments {
		each(f.SelectionSet, visit)
	}
}

// stray finds what cannot be sent: the marks where they mean nothing, directives
// that ask for an answer in parts, and variables of fragments, which the parser
// takes and servers do not.
func (m *marked) stray() {
	for _, f := range m.fragments {
		if len(f.VariableDefinition) > 0 {
			m.fault(f.Position, "fragment %s declares variables, which only an operation can", f.Name)
		}
	}
	m.eachDirective(func(d *ast.Directive) {
		switch d.Name {
		case markTool:
			m.fault(d.Position, "@%s belongs on an operation", d.Name)
		case markVariable:
			m.fault(d.Position, "@%s belongs on a variable of an operation", d.Name)
		case "defer", "stream":
			m.fault(d.Position, "incremental delivery is unsupported: leave @%s out", d.Name)
		}
	})
}

// aging warns of what the operation uses and the API means to take away.
func (l *loader) aging(m *marked) {
	m.each(func(s ast.Selection) {
		f, ok := s.(*ast.Field)
		if !ok || f.Definition == nil {
			return
		}
		if why := deprecation(f.Definition.Directives); why != "" {
			l.warn(placeOf(f.Position), m.Name, "the field %s.%s is deprecated: %s", f.ObjectDefinition.Name, f.Name, why)
		}
		for _, a := range f.Arguments {
			if d := f.Definition.Arguments.ForName(a.Name); d != nil {
				if why := deprecation(d.Directives); why != "" {
					l.warn(placeOf(a.Position), m.Name, "the argument %s of %s.%s is deprecated: %s", a.Name, f.ObjectDefinition.Name, f.Name, why)
				}
			}
		}
	})
}

// withoutDeclarations blanks the declarations of the marks, which editors and
// code generators want beside the documents that use them. All else stays where
// it is.
func withoutDeclarations(text string) string {
	if !strings.Contains(text, "directive") {
		return text
	}
	var tokens []lexer.Token
	l := lexer.New(&ast.Source{Input: text})
	for {
		token, err := l.ReadToken()
		if err != nil {
			return text // the parser says what is wrong
		}
		if token.Kind == lexer.EOF {
			break
		}
		if token.Kind != lexer.Comment {
			tokens = append(tokens, token)
		}
	}
	runes := []rune(text)
	for depth, i := 0, 0; i < len(tokens); i++ {
		switch tokens[i].Kind {
		case lexer.BraceL, lexer.ParenL:
			depth++
		case lexer.BraceR, lexer.ParenR:
			depth--
		default:
		}
		named := i > 0 && slices.Contains([]string{"query", "mutation", "subscription", "fragment"}, tokens[i-1].Value)
		n := declaration(tokens[i:])
		if depth > 0 || named || n == 0 {
			continue
		}
		first := tokens[i]
		if i > 0 && (tokens[i-1].Kind == lexer.String || tokens[i-1].Kind == lexer.BlockString) {
			first = tokens[i-1] // its description
		}
		i += n - 1
		for at := first.Pos.Start; at < tokens[i].Pos.End; at++ {
			if runes[at] != '\n' && runes[at] != '\r' {
				runes[at] = ' '
			}
		}
	}
	return string(runes)
}

// declaration is the number of tokens of the declaration of a mark that the
// tokens begin with (GraphQL spec, October 2021, §3.13); 0 if they do not.
func declaration(tokens []lexer.Token) int {
	word := func(i int, text string) bool {
		return i < len(tokens) && tokens[i].Kind == lexer.Name && tokens[i].Value == text
	}
	kind := func(i int, kind lexer.Type) bool { return i < len(tokens) && tokens[i].Kind == kind }
	if !word(0, "directive") || !kind(1, lexer.At) || !word(2, markTool) && !word(2, markVariable) {
		return 0
	}
	n := 3
	if kind(n, lexer.ParenL) {
		for n < len(tokens) && !kind(n, lexer.ParenR) {
			n++
		}
		n++
	}
	if word(n, "repeatable") {
		n++
	}
	if !word(n, "on") {
		return 0
	}
	n++
	for {
		if kind(n, lexer.Pipe) {
			n++
		}
		if !kind(n, lexer.Name) {
			return 0
		}
		if n++; !kind(n, lexer.Pipe) {
			return n
		}
	}
}
