package graphql

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// answerOf is the JSON answer to an introspection query with the given types.
func answerOf(types string) string {
	return `{"data":{"__schema":{"queryType":{"name":"Query"},"types":[` + types + `]}}}`
}

const (
	intRef   = `{"kind":"SCALAR","name":"Int"}`
	sortEnum = `{"kind":"ENUM","name":"Sort","enumValues":[{"name":"ASC"},{"name":"DESC"}]}`
)

// queryWith is a Query type whose field takes an argument of the type.
func queryWith(ref, defaultValue string) string {
	return `{"kind":"OBJECT","name":"Query","fields":[{"name":"f","args":[{"name":"a","type":` + ref + `,"defaultValue":` + defaultValue + `}],"type":` + intRef + `}]}`
}

func warnings(s *Schema) string {
	var all []string
	for _, w := range s.Warnings() {
		all = append(all, w.String())
	}
	return strings.Join(all, "\n")
}

func TestLoadForms(t *testing.T) {
	schema := `{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","fields":[{"name":"a","type":` + intRef + `}]}]}`
	for name, text := range map[string]string{
		"wrapped":           `{"data":{"__schema":` + schema + `}}`,
		"errors beside":     `{"errors":[],"data":{"__schema":` + schema + `}}`,
		"bare":              `{"__schema":` + schema + `}`,
		"the schema alone":  schema,
		"byte order mark":   "\ufeff {\"__schema\":" + schema + "}",
		"SDL":               `type Query { a: Int }`,
		"SDL with BOM":      "\ufefftype Query { a: Int }",
		"SDL with a schema": "schema { query: Query } type Query { a: Int }",
		"extension alone":   "extend type Query { a: Int }",
	} {
		s, err := Load([]byte(text), "test", Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := s.SDL(); got != "type Query {\n  a: Int\n}\n" || len(s.Warnings()) > 0 {
			t.Errorf("%s: it is\n%s%s", name, got, warnings(s))
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:              "read schema test: it defines no types",
		`{`:             "as JSON: unexpected end of JSON input",
		`{"data":null}`: "it has no __schema",
		`{"data":{"__schema":null},"errors":[{"message":"Introspection is off"}]}`: "it is an answer that failed: Introspection is off",
		`{"errors":[{"message":"nope"}]}`:                                          "it is an answer that failed: nope",
		`{"hello":1}`:                                                              "it has no __schema",
		`{"__schema":{"types":[]}}`:                                                "it defines no types",
		"type Query {\n  a: }":                                                     "as SDL: line 2, column 6: expected Name",
		"query { a }":                                                              "as SDL: line 1, column 1: unexpected Name",
		`<html>`:                                                                   "as SDL: line 1, column 1:",
	} {
		if _, err := Load([]byte(text), "test", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the failure is %v, want %q", text, err, want)
		}
	}
	if _, err := Load(make([]byte, MaxSchemaBytes+1), "test", Options{}); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("the failure is %v", err)
	}
	if _, err := LoadFile(filepath.Join(t.TempDir(), "none.graphql"), Options{}); err == nil || !strings.Contains(err.Error(), "none.graphql") {
		t.Errorf("the failure is %v", err)
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schema.graphql")
	if err := os.WriteFile(path, []byte(library), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := LoadFile(path, Options{})
	if err != nil || s.Origin() != path || s.Hash() != mustLoad(t, library).Hash() {
		t.Errorf("%v, %v", s, err)
	}
}

func TestDefaultValues(t *testing.T) {
	where := `{"kind":"INPUT_OBJECT","name":"Where","inputFields":[{"name":"sort","type":{"kind":"ENUM","name":"Sort"}},{"name":"n","type":` + intRef + `}]}`
	scalar := func(name string) string { return `{"kind":"SCALAR","name":"` + name + `"}` }
	list := func(of string) string { return `{"kind":"LIST","ofType":` + of + `}` }
	enum := `{"kind":"ENUM","name":"Sort"}`
	input := `{"kind":"INPUT_OBJECT","name":"Where"}`
	tests := []struct {
		ref, value string
		want       string // as printed; empty for none
		warning    string // in the only warning; empty for no warning
	}{
		{enum, `"ASC"`, " = ASC", ""},
		{enum, `"\"ASC\""`, " = ASC", "is written for another type; it is read as ASC"},
		{enum, `"NOPE"`, "", "its default NOPE is no value of Sort; it is left out"},
		{enum, `"ASC) { x"`, "", `its default "ASC) { x" is no value of Sort`},
		{enum, `"null"`, " = null", ""},
		{enum, `null`, "", ""},
		{list(enum), `"[ASC, DESC]"`, " = [ASC,DESC]", ""},
		{list(enum), `"[\"ASC\"]"`, " = [ASC]", "read as [ASC]"},
		{list(enum), `"ASC"`, " = ASC", ""},
		{list(enum), `"[ASC, NOPE]"`, "", "is no value of [Sort]"},
		{intRef, `"10"`, " = 10", ""},
		{intRef, `"\"10\""`, " = 10", "read as 10"},
		{intRef, `"ten"`, "", "is no value of Int"},
		{intRef, `"$x"`, "", "is no value of Int"},
		{scalar("Float"), `"1"`, " = 1", ""},
		{scalar("Float"), `"123456789.123"`, " = 123456789.123", ""},
		{scalar("Boolean"), `"true"`, " = true", ""},
		{scalar("Boolean"), `"\"false\""`, " = false", "read as false"},
		{scalar("String"), `"\"a b\""`, ` = "a b"`, ""},
		{scalar("String"), `"a"`, ` = "a"`, `read as "a"`},
		{scalar("String"), `"a b"`, ` = "a b"`, `is no GraphQL literal; it is read as "a b"`},
		{scalar("ID"), `"7"`, ` = 7`, ""},
		{scalar("JSON"), `"{a: [1, {b: 2}]}"`, ` = {a:[1,{b:2}]}`, ""},
		{scalar("JSON"), `"{\"a\": 1.5e3}"`, ` = {a:1.5e3}`, "is no GraphQL literal; it is read as {a:1.5e3}"},
		{input, `"{sort: ASC, n: 1}"`, " = {sort:ASC,n:1}", ""},
		{input, `"{\"sort\": \"DESC\", \"n\": 1}"`, " = {sort:DESC,n:1}", "is no GraphQL literal"},
		{input, `"{nope: 1}"`, "", "is no value of Where"},
		{`{"kind":"NON_NULL","ofType":` + enum + `}`, `"null"`, "", "is no value of Sort!"},
	}
	for _, test := range tests {
		s, err := Load([]byte(answerOf(queryWith(test.ref, test.value)+","+sortEnum+","+where+`,{"kind":"SCALAR","name":"JSON"}`)), "test", Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, printed, _ := strings.Cut(s.SDL(), "  f(a: ")
		printed, _, _ = strings.Cut(printed, "): Int\n")
		if i := strings.Index(printed, " = "); i >= 0 {
			printed = printed[i:]
		} else {
			printed = ""
		}
		got := warnings(s)
		if printed != test.want || (test.warning == "") != (got == "") || !strings.Contains(got, test.warning) || len(s.Warnings()) > 1 {
			t.Errorf("%s of %s: %q, want %q; warnings: %s; want %q", test.value, test.ref, printed, test.want, got, test.warning)
		}
		if got != "" && !strings.HasPrefix(got, "Query.f(a:): ") {
			t.Errorf("%s: the warning does not name the place: %s", test.value, got)
		}
	}
}

// What real servers answer, and what becomes of it.
func TestIntrospectionFaults(t *testing.T) {
	query := queryWith(intRef, "null")
	tests := []struct {
		name, text string
		has        string // in the SDL
		warning    string // in the only warning; empty for none
	}{
		{
			"a directive whose isRepeatable is null",
			`{"__schema":{"queryType":{"name":"Query"},"types":[` + query + `],"directives":[{"name":"d","isRepeatable":null,"locations":["FIELD"],"args":[]}]}}`,
			"directive @d on FIELD\n", "",
		},
		{
			"interfaces of an interface",
			answerOf(query + `,{"kind":"INTERFACE","name":"A","interfaces":[],"fields":[{"name":"x","type":` + intRef + `}]},{"kind":"INTERFACE","name":"B","interfaces":[{"name":"A"}],"fields":[{"name":"x","type":` + intRef + `}]}`),
			"interface B implements A {", "",
		},
		{
			"a deprecated argument",
			answerOf(`{"kind":"OBJECT","name":"Query","fields":[{"name":"f","args":[{"name":"a","type":` + intRef + `,"isDeprecated":true,"deprecationReason":"use x"}],"type":` + intRef + `}]}`),
			`f(a: Int @deprecated(reason: "use x")): Int`, "",
		},
		{
			"only the reason of a deprecation",
			answerOf(`{"kind":"OBJECT","name":"Query","fields":[{"name":"f","deprecationReason":"use x","type":` + intRef + `}]}`),
			`f: Int @deprecated(reason: "use x")`, "",
		},
		{
			"a type that is cut off",
			answerOf(`{"kind":"OBJECT","name":"Query","fields":[{"name":"f","type":` + intRef + `},{"name":"g","type":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":null}}}]}`),
			"f: Int\n}", "Query.g: is left out: its type is cut off; the introspection was too shallow",
		},
		{
			"an argument without a type",
			answerOf(`{"kind":"OBJECT","name":"Query","fields":[{"name":"f","args":[{"name":"a"}],"type":` + intRef + `}]}`),
			"f: Int\n", "Query.f(a:): is left out: it has no type",
		},
		{
			"a type of another JSON type",
			answerOf(query + `,{"kind":"OBJECT","name":"O","description":7,"fields":[{"name":"f","type":` + intRef + `}]}`),
			"type O {\n  f: Int\n}", "is left out: it is a JSON number",
		},
		{
			"an unknown kind",
			answerOf(query + `,{"kind":"TUPLE","name":"T"}`),
			"type Query", `T: is left out: its kind is "TUPLE"`,
		},
		{
			"a type that nobody defines",
			answerOf(`{"kind":"OBJECT","name":"Query","fields":[{"name":"f","type":{"kind":"OBJECT","name":"Gone"}}]}`),
			"scalar Gone\n", "Query.f: its type Gone is not defined; it is taken for a scalar",
		},
		{
			"duplicate enum values",
			answerOf(query + `,{"kind":"ENUM","name":"E","enumValues":[{"name":"A"},{"name":"A"},{"name":"B"}]}`),
			"enum E {\n  A\n  B\n}", "E.A: is defined twice; the first definition stays",
		},
		{
			"a name that is none",
			answerOf(query + `,{"kind":"OBJECT","name":"My Type","fields":[]}`),
			"type Query", `"My Type": is left out: the name is no GraphQL name`,
		},
		{
			"built-in and introspection types",
			answerOf(query + `,{"kind":"SCALAR","name":"Int"},{"kind":"OBJECT","name":"__Type","fields":[]}`),
			"type Query", "",
		},
		{
			"an interface that knows its types better",
			answerOf(query + `,{"kind":"INTERFACE","name":"A","fields":[{"name":"x","type":` + intRef + `}],"possibleTypes":[{"name":"O"}]},{"kind":"OBJECT","name":"O","interfaces":null,"fields":[{"name":"x","type":` + intRef + `}]}`),
			"type O implements A {", "type O: does not say that it implements A, which says it of it",
		},
		{
			"a mutation type that does not exist",
			`{"__schema":{"queryType":{"name":"Query"},"mutationType":{"name":"Gone"},"types":[` + query + `]}}`,
			"type Query", `schema: its mutation type "Gone" is no object type; it is left out`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Load([]byte(test.text), "test", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := warnings(s); (test.warning == "") != (got == "") || !strings.Contains(got, test.warning) || len(s.Warnings()) > 1 {
				t.Errorf("the warnings are %q, want %q", got, test.warning)
			}
			if sdl := s.SDL(); !strings.Contains(sdl, test.has) {
				t.Errorf("it lacks %q:\n%s", test.has, sdl)
			}
		})
	}
}

func TestSDLFaults(t *testing.T) {
	tests := []struct {
		name, text string
		has        string
		warning    string
	}{
		{
			"a field defined twice",
			"type Query { a: Int }\ntype O {\n  x: Int\n  y: Int\n  x: String\n  y: String\n}",
			"type O {\n  x: Int\n  y: Int\n}", "O.x, O.y: is defined twice; the first definition stays (line 5)",
		},
		{
			"a type defined twice",
			"type Query { a: Int }\ntype Query { b: Int }",
			"type Query {\n  a: Int\n}", "Query: is defined twice; the first definition stays (line 2)",
		},
		{
			"directives that nobody defines",
			`type Query @auth(role: "x") { a: Int @cost(weight: 3) @deprecated(reason: "b") }`,
			`a: Int @deprecated(reason: "b")`, "",
		},
		{
			"built-in scalars and directives",
			"scalar Int scalar ID directive @deprecated(reason: String) on FIELD_DEFINITION directive @skip(if: Boolean!) on FIELD type Query { a: Int }",
			"type Query {\n  a: Int\n}\n", "",
		},
		{
			"an interface that is not implemented",
			"type Query { a: Int } interface I { x: Int y: Int } type O implements I { x: Int }",
			"type O implements I {", "O: lacks the field y of the interface I",
		},
		{
			"interfaces that are not what they should be",
			"type Query { a: Int } type O implements Query & Gone & O { x: Int }",
			"type O {\n", `O: implements "Query", which is no interface it could; that is left out`,
		},
		{
			"an interface by way of another",
			"type Query { a: Int } interface A { x: Int } interface B implements A { x: Int } type O implements B { x: Int }",
			"type O implements B & A {", "O: implements A by way of B without saying so",
		},
		{
			"a union of anything",
			"type Query { u: U } union U = Query | Int | Gone | Query",
			"union U = Query\n", `union U: names "Int", which is no object type; it is left out`,
		},
		{
			"input where output stands",
			"type Query { a(q: Query): Int b: I } input I { x: Int }",
			"  a: Int\n", "Query.a(q:): is left out: its type Query is for output only",
		},
		{
			"an empty type",
			"type Query { a: Int e: E } type E",
			"type E\n", "E: is empty",
		},
		{
			"an input that requires itself",
			"type Query { f(a: A): Int } input A { b: B! } input B { a: A! x: Int }",
			"input A {", "input A: can never be filled: A.b requires B, B.a requires A",
		},
		{
			"an extension of another kind",
			"type Query { a: Int } extend enum Query { A }",
			"type Query", "Query: is extended as another kind of type",
		},
		{
			"true as an enum value",
			"type Query { e: E } enum E { A B }\nextend enum E { C }",
			"enum E {\n  A\n  B\n  C\n}", "",
		},
		{
			"braces around nothing",
			"\"é\"\ntype Query { a: E }\ntype E { # to come\n}\ntype F {}",
			"type F\n", "has braces around nothing (line 3)\nhas braces around nothing (line 5)\nE: is empty (line 3)",
		},
		{
			"interfaces as they once were written",
			"interface A { x: Int } interface B { y: Int } type Query implements A, B { x: Int y: Int } type O implements A B @d { x: Int y: Int } interface type { z: Int }",
			"type Query implements A & B {", "has lists of interfaces as they were written before 2018",
		},
		{
			"no query",
			"type Subscription { a: Int }",
			"type Subscription", "has no query type",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Load([]byte(test.text), "test", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := warnings(s); (test.warning == "") != (got == "") || !strings.Contains(got, test.warning) {
				t.Errorf("the warnings are %q, want %q", got, test.warning)
			}
			if sdl := s.SDL(); !strings.Contains(sdl, test.has) {
				t.Errorf("it lacks %q:\n%s", test.has, sdl)
			}
		})
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("type Query { a: Int }\n")
	for range 500 {
		b.WriteString("type Query { a: Int }\n")
	}
	s, err := Load([]byte(b.String()), "test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Warnings()); n != maxWarnings+1 || s.Warnings()[n-1].Problem != "400 more warnings" {
		t.Errorf("%d warnings, the last %v", n, s.Warnings()[n-1])
	}
}

// A chain of interfaces, each of which has all that follow, costs what its
// length costs and not the square of it.
func TestInterfacesAreBounded(t *testing.T) {
	const length = 1500
	var b strings.Builder
	b.WriteString("type Query { a: I0 }\n")
	for i := range length {
		fmt.Fprintf(&b, "interface I%d implements I%d { x: Int }\n", i, i+1)
	}
	fmt.Fprintf(&b, "interface I%d { x: Int }\ntype T implements I0 { x: Int }", length)
	s, err := Load([]byte(b.String()), "test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, def := range s.AST().Types {
		if len(def.Interfaces) > maxInterfaces {
			t.Fatalf("%s implements %d interfaces", name, len(def.Interfaces))
		}
	}
	if !slices.ContainsFunc(s.Warnings(), func(w Warning) bool { return strings.Contains(w.Problem, "by way of") }) {
		t.Errorf("the warnings are %v", s.Warnings())
	}
}

func TestUnfillable(t *testing.T) {
	s, err := Load([]byte(`
		type Query { f(a: Self, b: Pair, c: List, d: Defaulted, e: Either, g: Trap, h: Outer): Int }
		input Self { self: Self! }
		input Pair { other: Other! }
		input Other { pair: Pair! }
		input List { lists: [List!]! }
		input Defaulted { d: Defaulted! = {} }
		input Either @oneOf { e: Either x: Int }
		input Trap @oneOf { t: Trap }
		input Outer { self: Self! x: Int }
	`), "test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Self": "Self.self requires Self", "Pair": "Pair.other requires Other, Other.pair requires Pair", "Other": "Other.pair requires Pair, Pair.other requires Other",
		"List": "", "Defaulted": "", "Either": "", "Trap": "Trap.t requires Trap", "Outer": "Outer.self requires Self, Self.self requires Self", "Query": "", "Gone": "",
	} {
		if why, _ := s.Unfillable(name); why != want {
			t.Errorf("%s: %q, want %q", name, why, want)
		}
	}
}

// supergraph is what a composed graph looks like to its router.
const supergraph = `
schema
  @link(url: "https://specs.apollo.dev/link/v1.0")
  @link(url: "https://specs.apollo.dev/join/v0.3", for: EXECUTION)
  @link(url: "https://specs.apollo.dev/inaccessible/v0.2", as: "hidden", for: SECURITY)
  @link(url: "https://specs.example.com/tenant/v1.2", import: ["@tenant", {name: "@scope", as: "@tenantScope"}, "TenantKind"])
{
  query: Query
  mutation: Mutation
}
directive @join__enumValue(graph: join__Graph!) repeatable on ENUM_VALUE
directive @join__field(graph: join__Graph, requires: join__FieldSet, external: Boolean) repeatable on FIELD_DEFINITION | INPUT_FIELD_DEFINITION
directive @join__type(graph: join__Graph!, key: join__FieldSet) repeatable on OBJECT | INTERFACE
directive @link(url: String, as: String, for: link__Purpose, import: [link__Import]) repeatable on SCHEMA
directive @hidden on FIELD_DEFINITION | OBJECT | ENUM_VALUE | ARGUMENT_DEFINITION
directive @tenant on FIELD_DEFINITION
directive @tenantScope on FIELD_DEFINITION
directive @inContext(lang: Lang) on QUERY
scalar join__FieldSet
scalar link__Import
enum join__Graph { A @join__graph(name: "a", url: "http://a") }
enum link__Purpose { SECURITY EXECUTION }
enum TenantKind { ONE }
enum Lang { EN @join__enumValue(graph: A) XX @hidden }
input Filter @join__type(graph: A) { name: String @join__field(graph: A) }
type Query @join__type(graph: A) {
  user(id: ID!, secret: String @hidden): User @join__field(graph: A)
  users(filter: Filter): [User!]!
  audit: Audit
}
type Mutation { rename(id: ID!): User @tenant }
type User @join__type(graph: A, key: "id") { id: ID! joined: String ssn: String @hidden lang: Lang kind: TenantKind }
type Audit @hidden { x: Int }
`

func TestSupergraph(t *testing.T) {
	s := mustLoad(t, supergraph)
	want := `directive @inContext(lang: Lang) on QUERY
input Filter {
  name: String
}
enum Lang {
  EN
}
type Mutation {
  rename(id: ID!): User
}
type Query {
  user(id: ID!): User
  users(filter: Filter): [User!]!
}
type User {
  id: ID!
  joined: String
  lang: Lang
}
`
	if got := s.SDL(); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	if _, errs := gqlparser.LoadQueryWithRules(s.AST(), `query @inContext(lang: EN) { users(filter: {name: "a"}) { id joined } }`, rules.NewDefaultRules()); errs != nil {
		t.Error(errs)
	}
	all, err := Load([]byte(supergraph), "test", Options{Federation: true})
	if err != nil || all.Type("join__Graph") == nil || all.Type("User").Fields.ForName("ssn") == nil {
		t.Errorf("with the option it lacks what it should keep: %v", err)
	}
}

func TestSubgraph(t *testing.T) {
	text := `
		extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "FieldSet"])
		directive @key(fields: FieldSet!) repeatable on OBJECT
		scalar FieldSet
		scalar _Any
		union _Entity = User
		type _Service { sdl: String }
		type Query { me: User _entities(representations: [_Any!]!): [_Entity]! _service: _Service! _internal: Int }
		type User @key(fields: "id") { id: ID! }
	`
	s := mustLoad(t, text)
	if want := "type Query {\n  me: User\n  _internal: Int\n}\ntype User {\n  id: ID!\n}\n"; s.SDL() != want {
		t.Errorf("it is\n%s\nwant\n%s", s.SDL(), want)
	}
	shown, err := Load([]byte(text), "test", Options{Federation: true})
	if err != nil || shown.Type("Query").Fields.ForName("_entities") == nil {
		t.Errorf("with the option it lacks _entities: %v", err)
	}
	plain := mustLoad(t, "directive @tag(name: String!) on FIELD type Query { a: FieldSet } scalar FieldSet")
	if !strings.Contains(plain.SDL(), "@tag") || plain.Type("FieldSet") == nil {
		t.Errorf("a schema without federation loses its own names:\n%s", plain.SDL())
	}
}

func TestRoots(t *testing.T) {
	tests := []struct{ text, query, mutation string }{
		{"type Query { a: Int } type Mutation { b: Int }", "Query", "Mutation"},
		{"schema { query: Q } type Q { a: Int } type Query { b: Int } type Mutation { c: Int }", "Q", ""},
		{"schema { query: QueryRoot mutation: M } type QueryRoot { a: Int } type M { c: Int }", "QueryRoot", "M"},
		{"extend schema { query: Q } type Q { a: Int }", "Q", ""},
		{"type Mutation { b: Int }", "", "Mutation"},
	}
	for _, test := range tests {
		s, err := Load([]byte(test.text), "test", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got := [2]string{}
			if s.AST().Query != nil {
				got[0] = s.AST().Query.Name
			}
			if s.AST().Mutation != nil {
				got[1] = s.AST().Mutation.Name
			}
			if got != [2]string{test.query, test.mutation} {
				t.Errorf("%s: the roots are %q", test.text, got)
			}
			if s, err = Load([]byte(s.SDL()), "again", Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestHashIgnoresOrder(t *testing.T) {
	a := mustLoad(t, "type Query { a(x: Int, y: Int): E b: U } enum E { A B } union U = O | P type O { x: Int } type P { y: Int }")
	b := mustLoad(t, "type P { y: Int } union U = P | O type O { x: Int } enum E { B A } type Query { b: U a(y: Int, x: Int): E }")
	c := mustLoad(t, "type P { y: Int! } union U = P | O type O { x: Int } enum E { B A } type Query { b: U a(y: Int, x: Int): E }")
	if a.Hash() != b.Hash() || a.Hash() == c.Hash() {
		t.Errorf("the hashes are %s, %s, %s", a.Hash(), b.Hash(), c.Hash())
	}
}

func TestDescriptionsComeBack(t *testing.T) {
	for _, text := range []string{
		`a\`, `say "hi"`, `"""`, `ends"`, "\n x\n  y", "héé漢", " a", "a\n", "a\n\n  b\nc", "\ta\n\tb", `\"""`, `a """ b` + "\nc", "a\n b\n", "x\n\"", "tab\there",
		"line\n\\", "ends in a space \nb ", "#\n", "a\r\nb",
	} {
		first := mustLoad(t, `{"__schema":{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","description":`+quoted(t, text)+
			`,"fields":[{"name":"f","description":`+quoted(t, text)+`,"args":[{"name":"a","description":`+quoted(t, text)+`,"type":`+intRef+`}],"type":`+intRef+`}]}]}}`)
		second := mustLoad(t, first.SDL())
		want := strings.ReplaceAll(text, "\r\n", "\n")
		field := second.Type("Query").Fields.ForName("f")
		for _, got := range []string{second.Type("Query").Description, field.Description, field.Arguments[0].Description} {
			if got != want {
				t.Errorf("%q comes back as %q:\n%s", text, got, first.SDL())
			}
		}
	}
	for _, text := range []string{"   ", "\r\n", "\t", "\u200b"} {
		s := mustLoad(t, `{"__schema":{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","description":`+quoted(t, text)+`,"fields":[{"name":"f","type":`+intRef+`}]}]}}`)
		if s.Type("Query").Description != "" {
			t.Errorf("%q is not blank", text)
		}
	}
}

func TestHiddenCharactersAreDropped(t *testing.T) {
	for text, want := range map[string]string{
		"a\u200bb\u202ec\u2066d\ufeff": "abcd",
		"e\U000e0041\U000e0042f":       "ef",
		"nul\x00 esc\x1b del\x7f":      "nul esc del",
		"क्\u200dष می\u200cخواهم":      "क्\u200dष می\u200cخواهم",
	} {
		if got := cleanDescription(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestNamesAreOfTheAPIAlone(t *testing.T) {
	s := mustLoad(t, library)
	want := []string{"Author", "Book", "BookInput", "Date", "Format", "Found", "Group", "Mutation", "Node", "Query", "Titled", "Where"}
	if !slices.Equal(s.Names(), want) {
		t.Errorf("the names are %q", s.Names())
	}
}

// A schema without faults is what the parser's library makes of it, so that its
// rules for documents find what they expect.
func TestSameAsTheLibrary(t *testing.T) {
	want, err := gqlparser.LoadSchema(&ast.Source{Input: library})
	if err != nil {
		t.Fatal(err)
	}
	got := mustLoad(t, library).AST()
	names := func(table map[string][]*ast.Definition) map[string][]string {
		all := map[string][]string{}
		for name, defs := range table {
			for _, def := range defs {
				all[name] = append(all[name], def.Name)
			}
			slices.Sort(all[name])
		}
		return all
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want.Types)), slices.Sorted(maps.Keys(got.Types))); diff != "" {
		t.Errorf("types: %s", diff)
	}
	// The library's input types and introspection types stand for themselves too.
	for _, tables := range [][2]map[string][]*ast.Definition{{want.PossibleTypes, got.PossibleTypes}, {want.Implements, got.Implements}} {
		if diff := cmp.Diff(names(tables[0]), names(tables[1])); diff != "" {
			t.Errorf("tables: %s", diff)
		}
	}
	for name, def := range want.Types {
		if len(def.Fields) != len(got.Types[name].Fields) || def.BuiltIn != got.Types[name].BuiltIn {
			t.Errorf("%s has %d fields, want %d", name, len(got.Types[name].Fields), len(def.Fields))
		}
	}
}

func TestWithoutLinks(t *testing.T) {
	for text, want := range map[string]string{
		"Creates a [product](https://a.test/x) and a [set](/y).": "Creates a product and a set.",
		"no links [here] (or there)":                             "no links [here] (or there)",
		"[[a](b)":                                                "[a",
		"[a](b c) [d](e":                                         "[a](b c) [d](e",
		"an array[0](x)[":                                        "an array0[",
		"":                                                       "",
	} {
		if got := withoutLinks(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
