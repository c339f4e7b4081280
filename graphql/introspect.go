package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of an introspection, for the client that carries it.
const (
	IntrospectionTimeout     = time.Minute
	IntrospectionMaxResponse = MaxSchemaBytes
)

// longest bounds an introspection with all its requests.
const longest = 10 * time.Minute

// ErrIntrospectionDisabled means that an endpoint does not tell its schema.
var ErrIntrospectionDisabled = errors.New("the endpoint does not allow introspection; give an SDL file as its schema")

// Caller sends a request to an endpoint: a [Client], or what wraps one.
type Caller interface {
	Do(ctx context.Context, r Request) (Response, error)
}

// Rung is how an endpoint was asked for its schema. The zero value asks for all
// that the newest specification knows; servers that refuse get the next rung.
type Rung struct {
	// Without are the parts that are not asked for, such as "isOneOf".
	Without []string `json:"without,omitempty"`
	// Depth is the number of ofType levels asked for.
	Depth int `json:"depth"`
	// Batch is the number of types per request where the schema is asked for in
	// parts; 0 where it comes in one answer.
	Batch int `json:"batch,omitempty"`
}

func (r Rung) String() string {
	parts := []string{"full"}
	if r.Batch > 0 {
		parts[0] = fmt.Sprintf("in batches of %d types", r.Batch)
	}
	if len(r.Without) > 0 {
		parts = append(parts, "without "+strings.Join(r.Without, ", "))
	}
	if r.Depth != 0 && r.Depth != deepest {
		parts = append(parts, fmt.Sprintf("%d levels of types", r.Depth))
	}
	return strings.Join(parts, ", ")
}

// Report says how a schema was got.
type Report struct {
	// Rung is nil where the schema was read from a file.
	Rung *Rung `json:"rung,omitempty"`
	// Requests is the number of requests it took.
	Requests int `json:"requests"`
	// Refusals are the messages that led from rung to rung.
	Refusals []string `json:"refusals,omitempty"`
}

// Parts of the introspection that a server may not know, the newest first.
const (
	partOneOf         = "isOneOf"
	partSpecifiedBy   = "specifiedByURL"
	partRepeatable    = "isRepeatable"
	partDescription   = "__Schema.description"
	partFieldArgs     = "includeDeprecated on __Field.args"
	partInputFields   = "includeDeprecated on __Type.inputFields"
	partDirectiveArgs = "includeDeprecated on __Directive.args"
	partInputValue    = "__InputValue.isDeprecated"
)

// Levels of ofType: [[T!]!]! takes five, and nine is what graphql-js asks for.
const (
	deepest    = 9
	usualDepth = 7
	leastDepth = 3
)

const (
	firstBatch   = 25
	maxRequests  = 5000
	maxRefusals  = 20
	maxTypeNames = 50000
	maxWaits     = 10
	longestWait  = time.Minute
)

// Introspect asks an endpoint for its schema. It begins at a rung that is known
// to work (or at the zero value) and steps down as long as the server refuses:
// what an error names is left out at once; else the parts go one by one, the
// newest first, then depth, and at last the types are asked for by name, in batches.
func Introspect(ctx context.Context, c Caller, from Rung, origin string, o Options) (*Schema, Report, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	l := ladder{caller: c, rung: Rung{Without: slices.Clone(from.Without), Depth: from.Depth, Batch: from.Batch}}
	if l.rung.Depth == 0 {
		l.rung.Depth = deepest
	}
	err := l.climbDown(ctx)
	l.report.Rung = &l.rung
	if err != nil {
		return nil, l.report, fmt.Errorf("introspect %s: %w", origin, err)
	}
	l.doc.addIntrospected(&l.found)
	s, err := l.doc.schema(origin, o)
	return s, l.report, err
}

type ladder struct {
	caller Caller
	rung   Rung
	report Report
	doc    document
	found  introspected
	waits  int
}

func (l *ladder) climbDown(ctx context.Context) error {
	for l.rung.Batch == 0 {
		var data struct {
			Schema *introspected `json:"__schema"`
		}
		refusal, err := l.ask(ctx, "IntrospectionQuery", l.wholeQuery(), &data)
		switch {
		case err != nil:
			return err
		case data.Schema != nil && len(data.Schema.Types) > 0:
			for _, message := range refusal {
				l.doc.warn("", nil, "the answer came with an error: %s", message)
			}
			l.found = *data.Schema
			return nil
		case len(refusal) == 0:
			return errors.New("the answer has no schema")
		}
		if err := l.stepDown(refusal); err != nil {
			return err
		}
	}
	return l.inParts(ctx)
}

// send sends one query. Where the server says how long to wait, it waits, a few
// times: asking for a schema in parts takes many requests.
func (l *ladder) send(ctx context.Context, name, query string) (Response, error) {
	for {
		if l.report.Requests++; l.report.Requests > maxRequests {
			return Response{}, fmt.Errorf("gave up after %d requests", maxRequests)
		}
		response, err := l.caller.Do(ctx, Request{Query: query, OperationName: name})
		status, after := response.Status, response.RetryAfter
		if failure, ok := errors.AsType[*CallError](err); ok {
			status, after = failure.Status, failure.RetryAfter
		}
		if status != http.StatusTooManyRequests || after <= 0 || after > longestWait || l.waits == maxWaits {
			return response, err
		}
		l.waits++
		timer := time.NewTimer(after)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Response{}, ctx.Err()
		case <-timer.C:
		}
	}
}

// ask sends one query. A refusal is what a server says that understood enough to
// answer; an error is for all that stepping down cannot cure.
func (l *ladder) ask(ctx context.Context, name, query string, to any) (refusal []string, err error) {
	response, err := l.send(ctx, name, query)
	if failure, ok := errors.AsType[*CallError](err); ok {
		switch failure.Status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
			return []string{failure.Error()}, nil
		}
		if errors.Is(err, ErrTooLarge) {
			return []string{failure.Error()}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, e := range response.Errors {
		if disabled(e) {
			return nil, fmt.Errorf("%w (it says: %s)", ErrIntrospectionDisabled, cut(e.Message, maxExcerpt))
		}
		if response.Status == http.StatusUnauthorized || response.Status == http.StatusForbidden || response.Status == http.StatusTooManyRequests {
			return nil, fmt.Errorf("HTTP status %d: %s", response.Status, cut(e.Message, maxExcerpt))
		}
		refusal = append(refusal, cut(e.Message, maxExcerpt))
	}
	if response.Data != nil {
		if err := l.doc.decode(response.Data, to); err != nil {
			return nil, err
		}
	}
	return refusal, nil
}

// disabled tells the many ways in which servers say that they do not introspect.
func disabled(e Error) bool {
	var extensions struct {
		Validation any `json:"validationErrorCode"`
	}
	_ = json.Unmarshal(e.Extensions, &extensions)
	if e.Code() == "INTROSPECTION_DISABLED" || extensions.Validation == "INTROSPECTION_DISABLED" {
		return true
	}
	text := strings.ToLower(e.Message)
	if strings.Contains(text, `cannot query field "__schema"`) || strings.Contains(text, "cannot query field '__schema'") {
		return true
	}
	if !strings.Contains(text, "introspection") {
		return false
	}
	for _, word := range []string{"disabled", "not allowed", "not permitted", "not enabled", "forbidden", "denied", "prohibited", "blocked"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// stepDown leaves out what the refusal names, or else the next part.
func (l *ladder) stepDown(refusal []string) error {
	if len(l.report.Refusals) < maxRefusals {
		l.report.Refusals = append(l.report.Refusals, refusal[0])
	}
	parts := []string{partOneOf, partSpecifiedBy, partRepeatable, partDescription, partFieldArgs, partInputFields, partDirectiveArgs, partInputValue}
	var named []string
	limited := false
	for _, message := range refusal {
		for _, part := range blamed(message) {
			if !slices.Contains(l.rung.Without, part) && !slices.Contains(named, part) {
				named = append(named, part)
			}
		}
		limited = limited || aboutSize(message)
	}
	if len(named) == 0 && !limited {
		for _, part := range parts {
			if !slices.Contains(l.rung.Without, part) {
				named = append(named, part)
				break
			}
		}
	}
	switch {
	case len(named) > 0:
		l.rung.Without = append(l.rung.Without, named...)
		slices.SortFunc(l.rung.Without, func(a, b string) int { return slices.Index(parts, a) - slices.Index(parts, b) })
	case l.rung.Depth > usualDepth:
		l.rung.Depth = usualDepth
	case l.rung.Batch == 0:
		l.rung.Batch = firstBatch
	case l.rung.Batch > 1:
		l.rung.Batch /= 2
	case l.rung.Depth > leastDepth:
		l.rung.Depth--
		l.rung.Batch = firstBatch
	default:
		return fmt.Errorf("the endpoint refuses every way to ask for its schema, at last with: %s; give an SDL file as its schema", refusal[0])
	}
	return nil
}

// blamed are the parts that a message is about.
func blamed(message string) []string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
	}
	switch {
	case has("isOneOf"):
		return []string{partOneOf}
	case has("specifiedByURL", "specifiedByUrl"):
		return []string{partSpecifiedBy}
	case has("isRepeatable"):
		return []string{partRepeatable}
	case has("includeDeprecated"):
		switch {
		case has("inputFields"):
			return []string{partInputFields}
		case has("__Directive", "directives"):
			return []string{partDirectiveArgs}
		case has("__Field.args", `"__Field"`, "'__Field'", "fields/args"):
			return []string{partFieldArgs}
		}
		return []string{partFieldArgs, partInputFields, partDirectiveArgs}
	case has("__InputValue", "isDeprecated", "deprecationReason"):
		return []string{partInputValue}
	case has("description") && has("__Schema", "__schema"):
		return []string{partDescription}
	}
	return nil
}

// aboutSize tells refusals of a query that asks for too much at once.
func aboutSize(message string) bool {
	text := strings.ToLower(message)
	for _, word := range []string{"depth", "deep", "complex", "nest", "cost", "too large", "too big", "too many", "token", "alias", "limit", "exceed"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// inParts asks for the names of the types first, then for the types.
func (l *ladder) inParts(ctx context.Context) error {
	var names struct {
		Schema *introspected `json:"__schema"`
	}
	const roots = "query TypeNames{__schema{queryType{name}mutationType{name}subscriptionType{name}types{name}}}"
	refusal, err := l.ask(ctx, "TypeNames", roots, &names)
	switch {
	case err != nil:
		return err
	case names.Schema == nil || len(names.Schema.Types) == 0:
		return fmt.Errorf("the endpoint refuses even to name its types: %s; give an SDL file as its schema", strings.Join(append(refusal, ""), " "))
	case len(names.Schema.Types) > maxTypeNames:
		return fmt.Errorf("it has more than %d types", maxTypeNames)
	}
	l.found = *names.Schema
	l.found.Types = nil
	var wanted []string
	for _, t := range names.Schema.Types {
		if isName(t.Name) && !strings.HasPrefix(t.Name, "__") {
			wanted = append(wanted, t.Name)
		}
	}
	for round := 0; len(wanted) > 0; round++ {
		if wanted, err = l.types(ctx, wanted, round); err != nil {
			return err
		}
	}
	return l.directives(ctx)
}

// types asks for types by their names, in batches that are halved in each round,
// and returns those that came with an error in place of some: a server may
// answer a batch as far as its limits go.
func (l *ladder) types(ctx context.Context, wanted []string, round int) (again []string, err error) {
	for len(wanted) > 0 {
		size := max(1, l.rung.Batch>>round)
		batch := wanted[:min(size, len(wanted))]
		data := map[string]*introspectedType{}
		refusal, err := l.ask(ctx, "TypesByName", l.typesQuery(batch), &data)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 {
			if len(refusal) == 0 {
				return nil, errors.New("the answer has no types")
			}
			if err := l.stepDown(refusal); err != nil {
				return nil, err
			}
			continue
		}
		for i, name := range batch {
			switch t := data[alias(i)]; {
			case t != nil:
				l.found.Types = append(l.found.Types, *t)
			case len(refusal) > 0 && size > 1:
				again = append(again, name)
			default:
				l.doc.warn(name, nil, "the endpoint names the type and does not tell it")
			}
		}
		wanted = wanted[len(batch):]
	}
	return again, nil
}

// directives asks for the directives; a schema is of use without them.
func (l *ladder) directives(ctx context.Context) error {
	for {
		var data struct {
			Schema *introspected `json:"__schema"`
		}
		refusal, err := l.ask(ctx, "Directives", "query Directives{__schema{"+l.directivesSelection()+"}}", &data)
		if err != nil {
			return err
		}
		if data.Schema != nil {
			l.found.Directives = data.Schema.Directives
			return nil
		}
		blame := slices.DeleteFunc(blamed(strings.Join(refusal, " ")), func(part string) bool { return slices.Contains(l.rung.Without, part) })
		if len(blame) == 0 {
			l.doc.warn("", nil, "the endpoint does not tell its directives")
			return nil
		}
		l.rung.Without = append(l.rung.Without, blame...)
	}
}

func alias(i int) string { return fmt.Sprintf("t%d", i) }

func (l *ladder) asks(part string) bool { return !slices.Contains(l.rung.Without, part) }

// when is a text that is part of a query while the server takes the part.
func (l *ladder) when(part, text string) string {
	if l.asks(part) {
		return text
	}
	return ""
}

func (l *ladder) wholeQuery() string {
	return "query IntrospectionQuery{__schema{" + l.when(partDescription, "description ") +
		"queryType{name}mutationType{name}subscriptionType{name}types{" + l.typeSelection() + "}" + l.directivesSelection() + "}}"
}

func (l *ladder) typesQuery(names []string) string {
	var b strings.Builder
	b.WriteString("query TypesByName{")
	selection := l.typeSelection()
	for i, name := range names {
		fmt.Fprintf(&b, "%s:__type(name:%s){%s}", alias(i), (&ast.Value{Kind: ast.StringValue, Raw: name}).String(), selection)
	}
	return b.String() + "}"
}

const includeDeprecated = "(includeDeprecated:true)"

func (l *ladder) typeSelection() string {
	deeper := l.rung.Depth + 1 // these stand one level above the arguments of fields
	return "kind name description " + l.when(partSpecifiedBy, "specifiedByURL ") + l.when(partOneOf, "isOneOf ") +
		"fields" + includeDeprecated + "{name description args" + l.when(partFieldArgs, includeDeprecated) + "{" + l.inputSelection(l.rung.Depth) + "}" +
		"type{" + refSelection(deeper) + "}isDeprecated deprecationReason}" +
		"inputFields" + l.when(partInputFields, includeDeprecated) + "{" + l.inputSelection(deeper) + "}" +
		"interfaces{name}enumValues" + includeDeprecated + "{name description isDeprecated deprecationReason}possibleTypes{name}"
}

func (l *ladder) inputSelection(levels int) string {
	return "name description type{" + refSelection(levels) + "}defaultValue " + l.when(partInputValue, "isDeprecated deprecationReason")
}

func refSelection(levels int) string {
	return strings.Repeat("kind name ofType{", levels) + "kind name" + strings.Repeat("}", levels)
}

func (l *ladder) directivesSelection() string {
	return "directives{name description " + l.when(partRepeatable, "isRepeatable ") + "locations args" +
		l.when(partDirectiveArgs, includeDeprecated) + "{" + l.inputSelection(l.rung.Depth) + "}}"
}
