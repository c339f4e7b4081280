package operations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/internal/demo/api"
)

const propertyTypes = `
scalar JSON
scalar Code
enum Sort { "up" ASC "down" DESC OTHER @deprecated }
enum Letter { A B }
input By @oneOf { id: ID email: String deep: By2 letters: [Letter!] }
input By2 @oneOf { a: Int b: By }
input Where { and: [Where!] or: [Where] not: Where text: Text range: Range = {} sort: Sort by: By code: Code json: JSON }
input Text { equals: String contains: [String!] length: Int! = 3 must: Letter! }
input Range { from: Int! = 0 to: Int ratio: Float flag: Boolean! = true ids: [[ID!]!] }
`

// What a variable can be declared as.
var propertyVariables = []string{
	"Int", "Int!", "Int! = 42", "Int = null", "Float", "Float!", "Float = 1.5", "Boolean", "Boolean!", "Boolean! = true", "String", "String! = \"x\"",
	"ID", "ID!", "Sort", "Sort!", "Sort! = DESC", "Letter = A", "[Int]", "[Int!]!", "[[ID!]!]", "[Sort!] = ASC", "[Letter]!", "By", "By!", "[By!]",
	"Where", "Where!", "[Where]", "[Where!]! = []", "Where = {text: {must: A}}", "Text", "Text!", "Range", "Range! = {to: 3}", "JSON", "JSON!", "Code", "Code!", "[Code!]",
}

// asked is an endpoint that takes everything and keeps what it was sent.
type asked struct{ variables json.RawMessage }

func (a *asked) Do(_ context.Context, r graphql.Request) (graphql.Response, error) {
	a.variables = r.Variables
	if len(a.variables) == 0 {
		a.variables = json.RawMessage(`{}`)
	}
	return graphql.Response{Status: http.StatusOK, Data: json.RawMessage(`{}`)}, nil
}

func sendingTo(tb testing.TB, caller execute.Caller) *operations.Runner {
	tb.Helper()
	r, err := operations.NewRunner(operations.RunnerOptions{Caller: caller, URL: "http://127.0.0.1/", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func compiled(tb testing.TB, text json.RawMessage) *jsonschema.Schema {
	tb.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:///input", decoded(tb, text)); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("mem:///input")
	if err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	return s
}

func decoded(tb testing.TB, text []byte) any {
	tb.Helper()
	value, err := execute.Decode(text)
	if err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return value
}

func encoded(tb testing.TB, value any) json.RawMessage {
	tb.Helper()
	text, err := execute.Encode(value)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// number makes one form of numbers that are equal.
var number = cmp.Transformer("number", func(n json.Number) string {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return "no number: " + n.String()
	}
	return r.String()
})

// A value is valid by an operation's JSON Schema exactly when coercion takes it
// as it is. What coercion puts right is valid afterwards, and an endpoint takes
// what is sent.
func TestInputIsWhatCoercionTakes(t *testing.T) {
	const count, values = 200, 20
	r := rand.New(rand.NewPCG(6, 11))
	var fields, documents strings.Builder
	for i := range count {
		var parameters, arguments, declared []string
		for j := range 1 + r.IntN(4) {
			of := propertyVariables[r.IntN(len(propertyVariables))]
			kind, _, _ := strings.Cut(of, " ")
			declared = append(declared, fmt.Sprintf("$v%d: %s", j, of))
			parameters = append(parameters, fmt.Sprintf("a%d: %s", j, kind))
			arguments = append(arguments, fmt.Sprintf("a%d: $v%d", j, j))
		}
		fmt.Fprintf(&fields, "  op%d(%s): Int\n", i, strings.Join(parameters, ", "))
		fmt.Fprintf(&documents, "query Op%d(%s) @mcpTool(description: \"x\") { op%d(%s) }\n", i, strings.Join(declared, ", "), i, strings.Join(arguments, ", "))
	}
	s := schema(t, propertyTypes+"type Query {\n"+fields.String()+"}\n")
	set := operations.Load(operations.Options{
		Endpoint: "api", Schema: s, Files: []operations.File{{Path: "all.graphql", Text: documents.String()}},
		Scalars: map[string]json.RawMessage{"Code": json.RawMessage(`{"type": "string", "pattern": "^[a-z]{2}$"}`)},
	})
	if len(set.Faults) > 0 || len(set.Published()) != count {
		t.Fatalf("%d operations; %v", len(set.Published()), set.Faults)
	}
	endpoint := &asked{}
	run := sendingTo(t, endpoint)
	var valid, mended, refused, agreed int
	for _, o := range set.Published() {
		input := compiled(t, o.Input)
		tree, err := parser.ParseQuery(&ast.Source{Input: o.Document})
		if err != nil {
			t.Fatal(err)
		}
		if errs := validator.ValidateWithRules(s.AST(), tree, rules.NewDefaultRules()); len(errs) > 0 {
			t.Fatal(errs)
		}
		for range values {
			g := generator{Rand: r, schema: s.AST(), slips: r.IntN(2) == 0}
			given := encoded(t, g.variables(tree.Operations[0]))
			isValid := input.Validate(decoded(t, given)) == nil
			result, err := run.Call(t.Context(), o, given, nil)
			if err != nil {
				t.Fatal(err)
			}
			taken := !result.Failed()
			asIs := taken && cmp.Equal(decoded(t, endpoint.variables), decoded(t, given), number)
			if isValid != asIs {
				t.Fatalf("%s\nvalue  %s\nschema %s\nby the schema valid: %v (%v); by coercion taken: %v, sent %s, %v", o.Document, given, o.Input,
					isValid, input.Validate(decoded(t, given)), taken, endpoint.variables, result.Errors)
			}
			takes := func(text []byte) bool {
				variables, _ := decoded(t, text).(map[string]any)
				_, err := validator.VariableValues(s.AST(), tree.Operations[0], variables)
				return err == nil
			}
			switch {
			case asIs:
				valid++
			case taken:
				mended++
				if err := input.Validate(decoded(t, endpoint.variables)); err != nil {
					t.Fatalf("%s becomes %s, and that is not valid by %s: %v", given, endpoint.variables, o.Input, err)
				}
			default:
				refused++
			}
			if taken && !takes(endpoint.variables) {
				t.Fatalf("%s\nthe endpoint refuses %s", o.Document, endpoint.variables)
			}
			if !g.slips {
				agreed++
				if takes(given) != isValid {
					t.Fatalf("%s\nvalue %s: by the schema valid: %v, by the endpoint: %v\n%s", o.Document, given, isValid, !isValid, o.Input)
				}
			}
		}
	}
	t.Logf("%d valid, %d put right, %d refused; %d compared with the endpoint both ways", valid, mended, refused, agreed)
	if min(valid, mended, refused, agreed) < 100 {
		t.Errorf("%d valid, %d put right, %d refused, %d compared: too few of a kind to say anything", valid, mended, refused, agreed)
	}
}

// A value is valid by the JSON Schema exactly when the demo API coerces it.
func TestInputIsWhatTheAPITakes(t *testing.T) {
	a, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	defer server.Close()
	client, err := graphql.NewClient(graphql.ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	text, err := os.ReadFile("../../internal/demo/api/schema.graphql")
	if err != nil {
		t.Fatal(err)
	}
	s := schema(t, string(text))
	set := operations.Load(operations.Options{Endpoint: "demo", Schema: s, Files: []operations.File{{Path: "demo.graphql", Text: `
		query Accounts($currency: Currency) @mcpTool(description: "x") { accounts(currency: $currency) { id } }
		query Account($id: ID!, $more: Boolean! = false) @mcpTool(description: "x") { account(id: $id) { id iban @include(if: $more) } }
		query Payments($id: ID!, $filter: PaymentFilter, $first: Int = 5, $after: String) @mcpTool(description: "x") {
			account(id: $id) { payments(filter: $filter, first: $first, after: $after) { totalCount } }
		}
		query Rate($from: Currency!, $to: Currency! = USD) @mcpTool(description: "x") { exchangeRate(from: $from, to: $to) }
		query Search($text: String!) @mcpTool(description: "x") { search(text: $text) { __typename } }
		query Payouts($status: PayoutStatus = PAID) @mcpTool(description: "x") { account(id: "acc_seller1") { payouts(status: $status) { id } } }
		mutation Pay($input: CreatePayoutInput!) @mcpTool(description: "x") { createPayout(input: $input) { __typename } }
	`}}})
	if len(set.Faults) > 0 {
		t.Fatal(set.Faults)
	}
	r := rand.New(rand.NewPCG(7, 12))
	var valid, refused int
	for _, o := range set.Published() {
		input := compiled(t, o.Input)
		tree, err := parser.ParseQuery(&ast.Source{Input: o.Document})
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			g := generator{Rand: r, schema: s.AST()}
			given := encoded(t, g.variables(tree.Operations[0]))
			isValid := input.Validate(decoded(t, given)) == nil
			response, err := client.Do(t.Context(), graphql.Request{Query: o.Document, OperationName: o.OperationName, Variables: given})
			if err != nil {
				t.Fatal(err)
			}
			if taken := response.Status == http.StatusOK; taken != isValid {
				t.Fatalf("%s\nvalue %s: by the schema valid: %v; the API answers %d %v\n%s", o.Document, given, isValid, response.Status, response.Errors, o.Input)
			}
			if isValid {
				valid++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d valid, %d refused", valid, refused)
	if min(valid, refused) < 40 {
		t.Errorf("%d valid, %d refused: too few of a kind to say anything", valid, refused)
	}
}

// generator makes values of types, some of them wrong.
type generator struct {
	*rand.Rand
	schema *ast.Schema
	// slips makes also wrong values that coercion puts right, and those that
	// gqlparser's coercion does not notice.
	slips bool
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) variables(o *ast.OperationDefinition) map[string]any {
	values := map[string]any{}
	for _, v := range o.VariableDefinitions {
		needed := v.Type.NonNull && v.DefaultValue == nil
		if needed && !g.chance(3) || !needed && g.chance(60) {
			values[v.Variable] = g.value(v.Type, 0)
		}
	}
	if g.slips && g.chance(3) {
		values["undeclared"] = true
	}
	return values
}

func pick[T any](g *generator, all ...T) T { return all[g.IntN(len(all))] }

func (g *generator) value(t *ast.Type, depth int) any {
	def := g.schema.Types[t.Name()]
	custom := def.Kind == ast.Scalar && !def.BuiltIn
	switch {
	case !t.NonNull && g.chance(12):
		return nil
	case t.NonNull && g.chance(2) && (!custom || t.Elem != nil):
		return nil // wrong
	case t.Elem != nil && g.slips && g.chance(8):
		return g.value(t.Elem, depth) // one for a list
	case t.Elem != nil:
		list := make([]any, g.IntN(3))
		for i := range list {
			list[i] = g.value(t.Elem, depth)
		}
		return list
	case !custom && g.chance(3):
		return []any{} // a list for what is none
	}
	switch def.Kind {
	case ast.Enum:
		return g.enum(def)
	case ast.InputObject:
		return g.input(def, depth+1)
	default:
		return g.scalar(def.Name)
	}
}

func (g *generator) enum(def *ast.Definition) any {
	name := def.EnumValues[g.IntN(len(def.EnumValues))].Name
	switch {
	case g.chance(4):
		return pick[any](g, "NOPE", "", true, map[string]any{}, json.Number("1.5"))
	case g.slips && g.chance(8):
		return strings.ToLower(name)
	}
	return name
}

func (g *generator) input(def *ast.Definition, depth int) any {
	if g.chance(3) {
		return pick[any](g, "x", true, json.Number("1"))
	}
	one := def.Directives.ForName("oneOf") != nil
	value := map[string]any{}
	if one {
		n := 1
		if g.slips && g.chance(15) {
			n = pick(g, 0, 2)
		}
		for _, i := range g.Perm(len(def.Fields))[:n] {
			f := def.Fields[i]
			if value[f.Name] = g.value(f.Type, depth); value[f.Name] == nil && !g.slips {
				return g.input(def, depth)
			}
		}
		return value
	}
	for _, f := range def.Fields {
		needed := f.Type.NonNull && f.DefaultValue == nil
		if needed && !g.chance(2) || !needed && g.chance(40/depth) {
			value[f.Name] = g.value(f.Type, depth)
		}
	}
	if g.chance(2) {
		value["unknown"] = nil
	}
	return value
}

func (g *generator) scalar(name string) any {
	wrong := g.chance(4)
	switch name {
	case "Int":
		switch {
		case wrong:
			return pick[any](g, true, "many", json.Number("1.5"), map[string]any{})
		case g.slips && g.chance(15):
			return pick[any](g, "7", json.Number("2147483648"), json.Number("-2147483649"), json.Number("9007199254740993"), json.Number("7.0"), json.Number("1e3"), json.Number("2.5e1"), json.Number("1e300"))
		}
		return json.Number(pick(g, "0", "-1", "7", "2147483647", "-2147483648"))
	case "Float":
		switch {
		case wrong:
			return pick[any](g, true, "many", map[string]any{})
		case g.slips && g.chance(10):
			return pick[any](g, "0.5", " 1e3 ", "NaN")
		}
		return json.Number(pick(g, "0", "1.5", "-2e10", "0.1000000000000000055", "9007199254740993"))
	case "Boolean":
		switch {
		case wrong:
			return pick[any](g, json.Number("1"), "yes", map[string]any{})
		case g.slips && g.chance(10):
			return pick[any](g, "true", "False")
		}
		return g.chance(50)
	case "String", "ID":
		switch {
		case wrong:
			return pick[any](g, true, map[string]any{})
		case g.slips && g.chance(10):
			return json.Number(pick(g, "42", "9007199254740993", "0.5"))
		}
		return pick(g, "", "a", "é漢 \"){id} mutation{x}", "null")
	case "Code":
		if g.slips && g.chance(30) {
			return pick[any](g, "abc", json.Number("1"), map[string]any{})
		}
		return "ab"
	default:
		return pick[any](g, true, "x", json.Number("9223372036854775807"), []any{nil}, map[string]any{"a": json.Number("1e400")})
	}
}
