package graphql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// library is a schema with all that introspection can tell.
const library = `
"The library's API."
schema {
  query: Query
  mutation: Mutation
}

"Who may see it."
directive @audience(
  "The group."
  group: Group = ALL
  old: String @deprecated(reason: "use group")
) repeatable on FIELD | FRAGMENT_SPREAD

type Query {
  "A book by its number."
  book(id: ID!, "The edition." edition: Int = 1, format: Format = PAPER @deprecated(reason: "use edition")): Book
  search(where: Where = {title: "a", tags: ["x", "y"]}, first: Int = 10): [Found!]!
  matrix: [[[[Int!]!]!]!]
  old: String @deprecated
}

type Mutation {
  addBook(input: BookInput!): Book!
}

interface Node {
  id: ID!
}

interface Titled implements Node {
  id: ID!
  title: String!
}

"""
A book:
  - with a title

and an author.
"""
type Book implements Titled & Node {
  id: ID!
  title: String!
  author(name: String): Author
  published: Date
  format: Format
}

type Author implements Node {
  id: ID!
  name: String
}

union Found = Book | Author

enum Format {
  PAPER
  "On a screen."
  DIGITAL
  TAPE @deprecated(reason: "nobody has a player")
}

enum Group { ALL STAFF }

scalar Date @specifiedBy(url: "https://dates.test/iso")

input Where {
  title: String
  tags: [String!]
  and: [Where!]
  from: Date @deprecated(reason: "use and")
}

input BookInput @oneOf {
  isbn: ID
  title: String
}
`

// mustLoad reads a schema that has to be without faults.
func mustLoad(tb testing.TB, text string) *Schema {
	tb.Helper()
	s, err := Load([]byte(text), "test", Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if len(s.Warnings()) > 0 {
		tb.Fatalf("warnings: %v", s.Warnings())
	}
	return s
}

func introspect(t *testing.T, a *api) (*Schema, Report) {
	t.Helper()
	s, report, err := Introspect(t.Context(), serve(t, a.ServeHTTP), Rung{}, "test", Options{})
	if err != nil {
		t.Fatalf("%v\n%+v", err, report)
	}
	return s, report
}

func TestIntrospectTheNewestServer(t *testing.T) {
	want := mustLoad(t, library)
	s, report := introspect(t, newAPI(t, library))
	if report.Rung.String() != "full" || report.Requests != 1 || len(report.Refusals) != 0 {
		t.Errorf("the report is %+v", report)
	}
	if s.Hash() != want.Hash() || s.SDL() != want.SDL() {
		t.Errorf("it is\n%s\nwant\n%s", s.SDL(), want.SDL())
	}
	if len(s.Warnings()) != 0 {
		t.Errorf("warnings: %v", s.Warnings())
	}
}

// Ages of servers, as replacements in the newest introspection schema.
const (
	withOneOf           = "  isOneOf: Boolean\n"
	withSpecifiedBy     = "  specifiedByURL: String\n"
	withRepeatable      = "  isRepeatable: Boolean!\n"
	withDescription     = "type __Schema {\n  description: String\n"
	withArgs            = "type __Field {\n  name: String!\n  description: String\n  args(includeDeprecated: Boolean = false)"
	withInputFields     = "inputFields(includeDeprecated: Boolean = false)"
	withDirectiveArgs   = "locations: [__DirectiveLocation!]!\n  args(includeDeprecated: Boolean = false)"
	withInputDeprecated = "  defaultValue: String\n  isDeprecated: Boolean!\n  deprecationReason: String\n"
)

func without(text, piece string) string { return strings.Replace(text, piece, "", 1) }

func TestIntrospectOlderServers(t *testing.T) {
	includes := "(includeDeprecated: Boolean = false)"
	tests := []struct {
		name string
		age  []string
		rung string
		has  []string // what the schema still says
		lost []string
	}{
		{
			"no isOneOf",
			[]string{withOneOf, ""},
			"full, without isOneOf",
			[]string{`@specifiedBy(url: "https://dates.test/iso")`, "repeatable on FIELD", `@deprecated(reason: "use edition")`},
			[]string{"@oneOf"},
		},
		{
			"no specifiedByURL either",
			[]string{withOneOf, "", withSpecifiedBy, ""},
			"full, without isOneOf, specifiedByURL",
			[]string{"repeatable on FIELD"},
			[]string{"@specifiedBy"},
		},
		{
			"no argument on args alone",
			[]string{withArgs, without(withArgs, includes)},
			"full, without includeDeprecated on __Field.args",
			[]string{`@deprecated(reason: "use edition")`, `@deprecated(reason: "use and")`, "old: String @deprecated\n", "@oneOf"},
			nil,
		},
		{
			"of 2018",
			[]string{
				withOneOf, "", withSpecifiedBy, "", withRepeatable, "", withDescription, "type __Schema {\n",
				withArgs, without(withArgs, includes), withInputFields, "inputFields",
				withDirectiveArgs, without(withDirectiveArgs, includes), withInputDeprecated, "  defaultValue: String\n",
			},
			"full, without isOneOf, specifiedByURL, isRepeatable, __Schema.description, includeDeprecated on __Field.args, " +
				"includeDeprecated on __Type.inputFields, includeDeprecated on __Directive.args, __InputValue.isDeprecated",
			[]string{"interface Titled implements Node", "matrix: [[[[Int!]!]!]!]", `TAPE @deprecated(reason: "nobody has a player")`, "edition: Int = 1"},
			[]string{"The library's API.", "use edition"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := newAPI(t, library, test.age...)
			s, report := introspect(t, a)
			if report.Rung.String() != test.rung {
				t.Errorf("the rung is %q, want %q", report.Rung, test.rung)
			}
			sdl := s.SDL()
			for _, has := range test.has {
				if !strings.Contains(sdl, has) {
					t.Errorf("it lacks %q\n%s", has, sdl)
				}
			}
			for _, lost := range test.lost {
				if strings.Contains(sdl, lost) {
					t.Errorf("it has %q", lost)
				}
			}
			if !strings.Contains(a.queries[len(a.queries)-1], "fields(includeDeprecated:true)") {
				t.Errorf("it does not ask for deprecated fields")
			}
		})
	}
}

// A server that says no more than that it refuses loses the parts one by one.
func TestIntrospectSilentServer(t *testing.T) {
	a := newAPI(t, library)
	a.refuse = func(q *ast.QueryDocument) string {
		if strings.Contains(q.Position.Src.Input, "isRepeatable") {
			return "Bad request"
		}
		return ""
	}
	_, report := introspect(t, a)
	if want := "full, without isOneOf, specifiedByURL, isRepeatable"; report.Rung.String() != want || report.Requests != 4 {
		t.Errorf("the report is %+v, want %s", report, want)
	}
	if !slices.Equal(report.Refusals, []string{"Bad request", "Bad request", "Bad request"}) {
		t.Errorf("the refusals are %q", report.Refusals)
	}
}

func TestIntrospectInParts(t *testing.T) {
	want := mustLoad(t, strings.Replace(library, `"The library's API."`, "", 1))
	limits := map[string]struct {
		refuse func(*ast.QueryDocument) string
		rung   string
		matrix bool // whether the deepest type comes through
	}{
		"depth 8": {func(q *ast.QueryDocument) string {
			if d := depth(q.Operations[0].SelectionSet); d > 8 {
				return fmt.Sprintf("Query depth %d exceeds the limit of 8", d)
			}
			return ""
		}, "in batches of 25 types, 3 levels of types", false},
		"depth 12": {func(q *ast.QueryDocument) string {
			if d := depth(q.Operations[0].SelectionSet); d > 12 {
				return "the query is too deep"
			}
			return ""
		}, "in batches of 25 types, 7 levels of types", true},
		"three aliases": {func(q *ast.QueryDocument) string {
			selection := q.Operations[0].SelectionSet
			if len(selection) > 3 || strings.Contains(q.Position.Src.Input, "types{kind") {
				return "Too many aliases"
			}
			return ""
		}, "in batches of 3 types, 7 levels of types", true},
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, library)
			a.refuse = limit.refuse
			s, report := introspect(t, a)
			if report.Rung.String() != limit.rung {
				t.Errorf("the rung is %q, want %q", report.Rung, limit.rung)
			}
			sdl, expected := s.SDL(), want.SDL()
			if !limit.matrix {
				expected = strings.Replace(expected, "  matrix: [[[[Int!]!]!]!]\n", "", 1)
				if len(s.Warnings()) != 1 || s.Warnings()[0].Place != "Query.matrix" || !strings.Contains(s.Warnings()[0].Problem, "cut off") {
					t.Errorf("the warnings are %v", s.Warnings())
				}
			}
			if sdl != expected {
				t.Errorf("it is\n%s\nwant\n%s", sdl, expected)
			}
		})
	}
}

// A server whose limits cut an answer off, with an error in place of the rest,
// is asked again for the rest; what it never tells is warned of, and costs the
// others nothing.
func TestIntrospectPartsThatAreCutOff(t *testing.T) {
	a := newAPI(t, library)
	a.refuse = func(q *ast.QueryDocument) string {
		if strings.Contains(q.Position.Src.Input, "types{kind") {
			return "too complex"
		}
		return ""
	}
	var batches []int
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var request Request
		_ = json.NewDecoder(r.Body).Decode(&request)
		answer := a.answer(request.Query)
		if request.OperationName == "TypesByName" {
			types, _ := answer["data"].(map[string]any)
			batches = append(batches, len(types))
			for i := range len(types) {
				if i >= 3 || strings.Contains(request.Query, alias(i)+`:__type(name:"Group")`) {
					types[alias(i)] = nil
					answer["errors"] = []any{map[string]any{"message": "the budget is used up"}}
				}
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	s, report, err := Introspect(t.Context(), c, Rung{}, "the API", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mustLoad(t, library).Names() {
		if d := s.AST().Types[name]; d == nil || name != "Group" && d.Kind == ast.Scalar && name != "Date" {
			t.Errorf("%s is lost", name)
		}
	}
	if !slices.ContainsFunc(s.Warnings(), func(w Warning) bool { return w.Place == "Group" }) {
		t.Errorf("the warnings are %v", s.Warnings())
	}
	if report.Rung.Batch != 25 || slices.Index(batches, 1) < 3 {
		t.Errorf("the rung is %s, the batches had %v types", report.Rung, batches)
	}
}

func TestIntrospectionRemembersTheRung(t *testing.T) {
	a := newAPI(t, library, withOneOf, "", withSpecifiedBy, "")
	source := NewIntrospection(serve(t, a.ServeHTTP), "test", Options{})
	var hashes []string
	for range 2 {
		s, _, err := source.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, s.Hash())
	}
	if hashes[0] != hashes[1] || len(a.queries) != 3 {
		t.Errorf("%d requests, hashes %q", len(a.queries), hashes)
	}
}

func TestIntrospectRefused(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		disabled bool
		says     string
		requests int
	}{
		{"Apollo", answer(400, `{"errors":[{"message":"GraphQL introspection is not allowed by Apollo Server, but the query contained __schema or __type.","extensions":{"code":"GRAPHQL_VALIDATION_FAILED","validationErrorCode":"INTROSPECTION_DISABLED"}}]}`), true, "give an SDL file", 1},
		{"code", answer(200, `{"errors":[{"message":"no","extensions":{"code":"INTROSPECTION_DISABLED"}}]}`), true, "give an SDL file", 1},
		{"graphql-js", answer(200, `{"errors":[{"message":"GraphQL introspection has been disabled, but the requested query contained the field \"__schema\"."}]}`), true, "give an SDL file", 1},
		{"no such field", answer(200, `{"errors":[{"message":"Cannot query field \"__schema\" on type \"Query\"."}]}`), true, "give an SDL file", 1},
		{"unauthorized", answer(401, `{"errors":[{"message":"no token"}]}`), false, "HTTP status 401: no token", 1},
		{"forbidden", answer(403, `<html>`), false, "HTTP status 403", 1},
		{"not found", answer(404, `nothing here`), false, "HTTP status 404", 1},
		{"empty", answer(200, `{"data":{"__schema":null}}`), false, "has no schema", 1},
		{"always", answer(200, `{"errors":[{"message":"no"}]}`), false, "refuses even to name its types: no", 11},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, report, err := Introspect(t.Context(), serve(t, test.handler), Rung{}, "the API", Options{})
			if errors.Is(err, ErrIntrospectionDisabled) != test.disabled || err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the failure is %v", err)
			}
			if report.Requests != test.requests {
				t.Errorf("%d requests, want %d", report.Requests, test.requests)
			}
		})
	}
}

func TestIntrospectAnswerWithErrorsBeside(t *testing.T) {
	a := newAPI(t, library)
	s, _, err := Introspect(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"data":   a.answer("query IntrospectionQuery{__schema{queryType{name}types{kind name fields{name args{name}type{kind name ofType{kind name ofType{kind name ofType{kind name ofType{name}}}}}}}}}")["data"],
			"errors": []any{map[string]any{"message": "one resolver failed"}},
		})
	}), Rung{}, "test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Type("Book") == nil || !slices.ContainsFunc(s.Warnings(), func(w Warning) bool {
		return strings.Contains(w.Problem, "one resolver failed")
	}) {
		t.Errorf("the warnings are %v", s.Warnings())
	}
}

func TestBlamed(t *testing.T) {
	tests := map[string][]string{
		`Cannot query field "isOneOf" on type "__Type".`:                                                               {partOneOf},
		`Unknown argument "includeDeprecated" on field "__Field.args".`:                                                {partFieldArgs},
		`Unknown argument "includeDeprecated" on field "args" of type "__Field".`:                                      {partFieldArgs},
		`Unknown argument "includeDeprecated" on field "inputFields" of type "__Type".`:                                {partInputFields},
		`Unknown argument "includeDeprecated" on field "args" of type "__Directive".`:                                  {partDirectiveArgs},
		`Validation error (UnknownArgument@[__schema/types/fields/args]) : Unknown field argument 'includeDeprecated'`: {partFieldArgs},
		`Field 'args' doesn't accept argument 'includeDeprecated'`:                                                     {partFieldArgs, partInputFields, partDirectiveArgs},
		`Cannot query field "isDeprecated" on type "__InputValue".`:                                                    {partInputValue},
		`Cannot query field "description" on type "__Schema".`:                                                         {partDescription},
		`Syntax Error`: nil,
	}
	for message, want := range tests {
		if got := blamed(message); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// A server that asks to wait is waited for.
func TestIntrospectThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, library)
		calls := 0
		caller := callerFunc(func(r Request) (Response, error) {
			if calls++; calls == 1 {
				return Response{}, &CallError{URL: "test", Status: http.StatusTooManyRequests, RetryAfter: 7 * time.Second, Err: errors.New("slower")}
			}
			answer, err := json.Marshal(a.answer(r.Query))
			if err != nil {
				return Response{}, err
			}
			return parseResponse(answer)
		})
		start := time.Now()
		s, report, err := Introspect(t.Context(), caller, Rung{}, "test", Options{})
		if err != nil || s.Type("Book") == nil || report.Requests != 2 || time.Since(start) != 7*time.Second {
			t.Errorf("%v after %s: %+v", err, time.Since(start), report)
		}
	})
}

type callerFunc func(Request) (Response, error)

func (f callerFunc) Do(_ context.Context, r Request) (Response, error) { return f(r) }
