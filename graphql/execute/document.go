package execute

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// Limits bound what one call may cost. A field that is not positive means its
// default.
type Limits struct {
	// Document bounds the text of a document, in bytes; 256 KiB.
	Document int
	// Tokens bounds a document's tokens; 10,000.
	Tokens int
	// Depth bounds how deep the fields of an operation nest, fragments
	// included; 15. The roots' fields are at depth 1.
	Depth int
	// Aliases bounds an operation's renamed fields, those of a fragment counted
	// each time it is spread; 30.
	Aliases int
	// Directives bounds an operation's directives, counted likewise; 100.
	Directives int
	// Fields bounds the fields of a document's operations, counted likewise;
	// 2,000. To see whether fields of one name can be merged takes the square of
	// their number.
	Fields int
	// Spreads bounds how often fragments are spread, counted likewise; 200. Each
	// is held against each other as well.
	Spreads int
	// Request bounds the body of a request, in bytes; 1 MiB.
	Request int
	// Timeout bounds one execution with all its tries; 20 s.
	Timeout time.Duration
}

func (l Limits) withDefaults() Limits {
	d := func(given, otherwise int) int { return cmp.Or(max(given, 0), otherwise) }
	return Limits{
		Document:   d(l.Document, 256<<10),
		Tokens:     d(l.Tokens, 10_000),
		Depth:      d(l.Depth, 15),
		Aliases:    d(l.Aliases, 30),
		Directives: d(l.Directives, 100),
		Fields:     d(l.Fields, 2_000),
		Spreads:    d(l.Spreads, 200),
		Request:    d(l.Request, 1<<20),
		Timeout:    cmp.Or(max(l.Timeout, 0), defaultTimeout),
	}
}

// document is a document that was parsed and is within the limits.
type document struct {
	text string
	tree *ast.QueryDocument
}

// Parse reads a text of any number of operations and fragments, with at most as
// many bytes and tokens as the limits allow a document. Faults have the name as
// their file.
func Parse(name, text string, limits Limits) (*ast.QueryDocument, []Fault) {
	limits = limits.withDefaults()
	switch {
	case len(text) > limits.Document:
		return nil, inFile(name, faultf("the document has %d bytes; at most %d are allowed", len(text), limits.Document))
	case !utf8.ValidString(text):
		return nil, inFile(name, faultf("the document is not valid UTF-8"))
	}
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Name: name, Input: text}, limits.Tokens)
	if err != nil {
		return nil, inFile(name, []Fault{syntaxFault(text, err)})
	}
	if faults := overlongQuotes(text); len(faults) > 0 {
		return nil, inFile(name, faults)
	}
	return tree, nil
}

func inFile(name string, faults []Fault) []Fault {
	for i := range faults {
		faults[i].File = name
	}
	return faults
}

// parse reads a document and holds it to the limits.
func parse(text string, limits Limits) (document, []Fault) {
	tree, faults := Parse("", text, limits)
	if len(faults) > 0 {
		return document{}, faults
	}
	return document{text: text, tree: tree}, bounded(tree, limits)
}

// bounded holds a document to the limits. What it may cost to validate it is
// bounded with that: fragments that spread one another can be worth far more
// fields than their text has.
func bounded(tree *ast.QueryDocument, limits Limits) []Fault {
	if len(tree.Operations) == 0 {
		return faultf("the document holds no operation: begin it with query or mutation")
	}
	m := newMeasure(tree)
	var faults []Fault
	var all shape
	for _, operation := range tree.Operations {
		s := m.of(operation)
		all = all.plus(s)
		for _, bound := range []struct {
			what      string
			has, most int
		}{
			{"levels of fields", s.depth, limits.Depth},
			{"aliases", s.aliases, limits.Aliases},
			{"directives", s.directives, limits.Directives},
			{"fields", all.fields, limits.Fields},
			{"spreads of fragments", all.spreads, limits.Spreads},
		} {
			if bound.has > bound.most {
				faults = append(faults, faultAt(operation.Position, "%s has %d %s, fragments included; at most %d are allowed: ask for less, or in several documents",
					title(operation), bound.has, bound.what, bound.most))
			}
		}
	}
	return shorten(append(m.unmeasured(tree), faults...))
}

// overlongQuotes finds block strings that end in more than three quotation marks.
// The parser takes the last three for the end, the GraphQL spec (October 2021,
// §2.9.4) the first, so that a server would read another document.
func overlongQuotes(text string) []Fault {
	if !strings.Contains(text, `""""`) {
		return nil
	}
	var faults []Fault
	runes := []rune(text)
	l := lexer.New(&ast.Source{Input: text})
	for {
		token, err := l.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return shorten(faults)
		}
		if end := token.Pos.End; token.Kind == lexer.BlockString && end < len(runes) && runes[end] == '"' {
			before := string(runes[:token.Pos.Start]) // the token's own line is that of its end
			faults = append(faults, Fault{
				Message: `The block string ends in more than three quotation marks: within it, write three as \""".`,
				Line:    strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1,
			})
		}
	}
}

// syntaxFault is why a text is no document. Where a character is what is wrong,
// the parser says no more than that; the lexer says which.
func syntaxFault(text string, err error) Fault {
	if strings.Contains(err.Error(), lexer.Invalid.String()) {
		l := lexer.New(&ast.Source{Input: text})
		for {
			token, why := l.ReadToken()
			if why != nil {
				err = why
				break
			}
			if token.Kind == lexer.EOF {
				break
			}
		}
	}
	if located, ok := errors.AsType[*gqlerror.Error](err); ok {
		return faultOf(located)
	}
	return Fault{Message: err.Error()}
}

// rootless finds the operations of a kind that the schema does not have.
func (d document) rootless(schema *ast.Schema) []Fault {
	var faults []Fault
	missing := map[ast.Operation]bool{ast.Mutation: schema.Mutation == nil, ast.Subscription: schema.Subscription == nil, ast.Query: schema.Query == nil}
	noun := map[ast.Operation]string{ast.Query: "queries", ast.Mutation: "mutations", ast.Subscription: "subscriptions"}
	for _, operation := range d.tree.Operations {
		if missing[operation.Operation] {
			faults = append(faults, faultAt(operation.Position, "the schema has no %s", noun[operation.Operation]))
		}
	}
	return shorten(faults)
}

// validate holds the document to the schema (GraphQL spec, October 2021, §5).
func (d document) validate(schema *ast.Schema) []Fault {
	if faults := d.rootless(schema); len(faults) > 0 {
		return faults
	}
	all := rules.NewDefaultRules()
	all.AddRule("IntRange", intRange)
	return d.hold(schema, all)
}

// validateAlone holds the document to the rules that need no schema.
func (d document) validateAlone() []Fault {
	return d.hold(&ast.Schema{}, rules.NewRules(
		rules.KnownFragmentNamesRule, rules.NoUndefinedVariablesRule, rules.NoUnusedVariablesRule, rules.UniqueArgumentNamesRule,
		rules.UniqueInputFieldNamesRule, rules.UniqueOperationNamesRule, rules.UniqueVariableNamesRule,
	))
}

func (d document) hold(schema *ast.Schema, all *rules.Rules) []Fault {
	var faults []Fault
	for _, err := range validator.ValidateWithRules(schema, d.tree, all) {
		faults = append(faults, faultOf(err).nearest(schema))
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return shorten(faults)
}

// intRange holds literals of Int to 32 bits (spec §3.5.1), which the library's
// rules do not.
func intRange(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnValue(func(_ *validator.Walker, value *ast.Value) {
		if value.Kind != ast.IntValue || value.Definition == nil || value.Definition.Name != "Int" {
			return
		}
		if _, err := strconv.ParseInt(value.Raw, 10, 32); err != nil {
			addError(validator.Message("Int cannot represent %s: it is a whole number from -2147483648 to 2147483647.", Cut(value.Raw, 40)),
				core.At(value.Position))
		}
	})
}

// operation selects the operation with a name; without one, the only one (spec §6.1).
func (d document) operation(name string) (*ast.OperationDefinition, error) {
	all := d.tree.Operations
	name = strings.TrimSpace(name)
	switch {
	case name == "" && len(all) == 1:
		return all[0], nil
	case name == "":
		return nil, refuse("the document holds %d operations: name one of %s in operation_name", len(all), names(all))
	}
	if i := slices.IndexFunc(all, func(o *ast.OperationDefinition) bool { return o.Name == name }); i >= 0 {
		return all[i], nil
	}
	return nil, refuse("the document has no operation %s; it has %s", name, names(all))
}

func names(operations ast.OperationList) string {
	list := make([]string, len(operations))
	for i, o := range operations {
		list[i] = cmp.Or(o.Name, "one without a name")
	}
	return strings.Join(list, ", ")
}

// title names an operation in a sentence.
func title(o *ast.OperationDefinition) string {
	if o.Name == "" {
		return "the " + string(o.Operation)
	}
	return string(o.Operation) + " " + o.Name
}

// incremental returns the directive of an operation that asks for an answer in
// parts, or "".
func (d document) incremental(operation *ast.OperationDefinition) string {
	found := ""
	d.each(operation, func(s ast.Selection) {
		for _, directive := range directivesOf(s) {
			if directive.Name == "defer" || directive.Name == "stream" {
				found = directive.Name
			}
		}
	})
	return found
}

// introspects reports whether an operation asks for the schema.
func (d document) introspects(operation *ast.OperationDefinition) bool {
	found := false
	d.each(operation, func(s ast.Selection) {
		if f, ok := s.(*ast.Field); ok && (f.Name == "__schema" || f.Name == "__type") {
			found = true
		}
	})
	return found
}

// each visits the selections of an operation and, once each, of the fragments
// that it needs.
func (d document) each(operation *ast.OperationDefinition, visit func(ast.Selection)) {
	seen := map[string]bool{}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, s := range set {
			visit(s)
			switch s := s.(type) {
			case *ast.Field:
				walk(s.SelectionSet)
			case *ast.InlineFragment:
				walk(s.SelectionSet)
			case *ast.FragmentSpread:
				if f := d.tree.Fragments.ForName(s.Name); f != nil && !seen[s.Name] {
					seen[s.Name] = true
					walk(f.SelectionSet)
				}
			}
		}
	}
	walk(operation.SelectionSet)
}

// fragments are the names of the fragments that an operation needs.
func (d document) fragments(operation *ast.OperationDefinition) map[string]bool {
	needed := map[string]bool{}
	d.each(operation, func(s ast.Selection) {
		if spread, ok := s.(*ast.FragmentSpread); ok {
			needed[spread.Name] = true
		}
	})
	return needed
}

func directivesOf(s ast.Selection) ast.DirectiveList {
	switch s := s.(type) {
	case *ast.Field:
		return s.Directives
	case *ast.InlineFragment:
		return s.Directives
	case *ast.FragmentSpread:
		return s.Directives
	}
	return nil
}

func faultf(format string, args ...any) []Fault {
	return []Fault{{Message: fmt.Sprintf(format, args...)}}
}

func faultAt(at *ast.Position, format string, args ...any) Fault {
	f := Fault{Message: fmt.Sprintf(format, args...)}
	if at != nil {
		f.Line, f.Column = at.Line, at.Column
		if at.Src != nil {
			f.File = at.Src.Name
		}
	}
	return f
}
