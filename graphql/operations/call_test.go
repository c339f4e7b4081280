package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/internal/demo/api"
)

// upstream is an endpoint that gives fixed answers and keeps what it was asked.
type upstream struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

// answering makes an endpoint that calls answer for each request.
func answering(tb testing.TB, answer http.HandlerFunc) *upstream {
	tb.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies, u.headers = append(u.bodies, string(body)), append(u.headers, r.Header.Clone())
		u.mu.Unlock()
		answer(w, r)
	}))
	tb.Cleanup(u.Close)
	return u
}

func saying(tb testing.TB, body string) *upstream {
	tb.Helper()
	return answering(tb, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
}

func (u *upstream) asked() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bodies
}

// host is the endpoint's host with its port.
func (u *upstream) host(tb testing.TB) string {
	tb.Helper()
	address, err := url.Parse(u.URL)
	if err != nil {
		tb.Fatal(err)
	}
	return address.Host
}

func runner(tb testing.TB, address string, change func(*operations.RunnerOptions)) *operations.Runner {
	tb.Helper()
	client, err := graphql.NewClient(graphql.ClientOptions{URL: address})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	o := operations.RunnerOptions{Caller: client, URL: address, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	r, err := operations.NewRunner(o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// only is the one operation of a file.
func only(tb testing.TB, o operations.Options, file operations.File) *operations.Operation {
	tb.Helper()
	o.Files = []operations.File{file}
	set := operations.Load(o)
	if len(set.Faults) > 0 || len(set.Published()) != 1 {
		tb.Fatalf("%s: %s", file.Path, told(set.Faults))
	}
	return set.Operations[0]
}

func call(tb testing.TB, r *operations.Runner, op *operations.Operation, input string) operations.Result {
	tb.Helper()
	result, err := r.Call(tb.Context(), op, json.RawMessage(input), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func errorsOf(r operations.Result) string {
	lines := make([]string, len(r.Errors))
	for i, f := range r.Errors {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// What the answers of an endpoint become, by the mapping that a file has.
func TestResults(t *testing.T) {
	const file = `
name: look
description: Looks.
operation_type: query
operation_name: Look
query_template: |
  query Look { __typename a { __typename b c { d e } userErrors { message field code } } x { __typename y z } }
`
	for name, tc := range map[string]struct {
		mapping string
		answer  string
		state   operations.State
		object  string
		errors  string
		hint    string
	}{
		"all of the data": {``, `{"data":{"a":1}}`, operations.Found, `{"a":1}`, ``, ``},
		"a value":         {`response_path: $.a.b`, `{"data":{"a":{"b":"x"}}}`, operations.Found, `{"result":"x"}`, ``, ``},
		"an object":       {`response_path: $.a`, `{"data":{"a":{"b":"x"}}}`, operations.Found, `{"b":"x"}`, ``, ``},
		"a false":         {`response_path: $.a.b`, `{"data":{"a":{"b":false}}}`, operations.Found, `{"result":false}`, ``, ``},

		"a missing path":             {`response_path: $.a.b`, `{"data":{"a":{}}}`, operations.Missing, ``, `path not found: the answer has nothing at $.a.b`, ``},
		"a path through a null":      {`response_path: $.a.b`, `{"data":{"a":null}}`, operations.Missing, ``, `path not found: the answer has nothing at $.a.b, since it has a null at $.a`, ``},
		"a null":                     {`response_path: $.a.b`, `{"data":{"a":{"b":null}}}`, operations.Null, `{"result":null}`, ``, ``},
		"an empty list":              {`response_path: $.x`, `{"data":{"x":[]}}`, operations.Empty, `{"result":[]}`, ``, ``},
		"a null that is an error":    {"response_path: $.a\nerror_policy: {null_is_error: true}", `{"data":{"a":null}}`, operations.Failed, `{"result":null}`, `the answer is null at $.a`, ``},
		"an empty list is no error":  {"response_path: $.x\nerror_policy: {null_is_error: true}", `{"data":{"x":[]}}`, operations.Empty, `{"result":[]}`, ``, ``},
		"several, of one":            {`response_path: $.x[*].y`, `{"data":{"x":[{"y":1}]}}`, operations.Found, `{"result":[1]}`, ``, ``},
		"several, of none":           {`response_path: $.x[*].y`, `{"data":{"x":[]}}`, operations.Empty, `{"result":[]}`, ``, ``},
		"several, with nulls":        {`response_path: $.x[*].y`, `{"data":{"x":[{"y":null},{},{"y":2}]}}`, operations.Found, `{"result":[null,2]}`, ``, ``},
		"several, within a null":     {`response_path: $.x[*].y`, `{"data":{"x":null}}`, operations.Null, `{"result":[]}`, ``, `The list is empty because the answer has a null at $.x.`},
		"several, within nothing":    {`response_path: $.x[*].y`, `{"data":{}}`, operations.Missing, `{"result":[]}`, ``, `The list is empty because the answer has nothing at $.x.`},
		"several, null is an error":  {"response_path: $.x[*].y\nerror_policy: {null_is_error: true}", `{"data":{"x":null}}`, operations.Failed, `{"result":[]}`, `the answer is null at $.x`, ``},
		"several, below a null":      {`response_path: $.a.c[*].d`, `{"data":{"a":null}}`, operations.Missing, `{"result":[]}`, ``, `The list is empty because the answer has a null at $.a.`},
		"below a null, as an error":  {"response_path: $.a.c[*].d\nerror_policy: {null_is_error: true}", `{"data":{"a":null}}`, operations.Failed, `{"result":[]}`, `the answer is null at $.a`, ``},
		"one below a null, an error": {"response_path: $.a.b\nerror_policy: {null_is_error: true}", `{"data":{"a":null}}`, operations.Failed, ``, `the answer is null at $.a`, ``},
		"a filter":                   {`response_path: $.x[?@.y > 1].z`, `{"data":{"x":[{"y":1,"z":"a"},{"y":2,"z":"b"}]}}`, operations.Found, `{"result":["b"]}`, ``, ``},
		"descendants":                {`response_path: $..y`, `{"data":{"x":[{"y":2}],"a":{"y":1}}}`, operations.Found, `{"result":[1,2]}`, ``, ``},
		"a slice, backwards":         {`response_path: $.x[::-1].y`, `{"data":{"x":[{"y":1},{"y":2}]}}`, operations.Found, `{"result":[2,1]}`, ``, ``},
		"the last":                   {`response_path: $.x[-1].y`, `{"data":{"x":[{"y":1},{"y":2}]}}`, operations.Found, `{"result":2}`, ``, ``},
		"members by name":            {`response_path: $.a.*`, `{"data":{"a":{"z":3,"b":1,"c":2}}}`, operations.Found, `{"result":[1,2,3]}`, ``, ``},
		"numbers keep their digits":  {`response_path: $.a`, `{"data":{"a":{"b":9007199254740993,"c":0.1000000000000000055,"d":1.0,"e":1e2}}}`, operations.Found, `{"b":9007199254740993,"c":0.1000000000000000055,"d":1.0,"e":1e2}`, ``, ``},
		"texts keep their letters":   {`response_path: $.a.b`, `{"data":{"a":{"b":"<é\u0026漢 "}}}`, operations.Found, `{"result":"<é&漢 "}`, ``, ``},
		"a path with letters quoted": {`response_path: $['a']['b']`, `{"data":{"a":{"b":1}}}`, operations.Found, `{"result":1}`, ``, ``},

		"a shape":                       {"response_path: $.a\noutput: {n: $.b, ds: '$.c[*].d'}", `{"data":{"a":{"b":1,"c":[{"d":1},{"d":2}]}}}`, operations.Found, `{"ds":[1,2],"n":1}`, ``, ``},
		"a shape with parts missing":    {"response_path: $.a\noutput: {n: $.b, d: $.c.d, es: '$.c[*].e'}", `{"data":{"a":{"b":null}}}`, operations.Found, `{"es":[],"n":null}`, ``, ``},
		"a shape of a null":             {"response_path: $.a\noutput: {n: $.b}", `{"data":{"a":null}}`, operations.Null, `{"result":null}`, ``, ``},
		"a shape of each":               {"response_path: '$.x[*]'\noutput: {n: $.y}", `{"data":{"x":[{"y":1,"z":0},{"y":2},null]}}`, operations.Found, `{"result":[{"n":1},{"n":2},null]}`, ``, ``},
		"a shape of all":                {"response_path: $.x\noutput: {ns: '$[*].y'}", `{"data":{"x":[{"y":1},{"y":2}]}}`, operations.Found, `{"ns":[1,2]}`, ``, ``},
		"a shape without anything":      {"response_path: $.a\noutput: {}", `{"data":{"a":{"b":1}}}`, operations.Found, `{}`, ``, ``},
		"a schema":                      {"response_path: $.a\noutput_schema: {type: object, required: [b]}", `{"data":{"a":{"b":1}}}`, operations.Found, `{"b":1}`, ``, ``},
		"a schema that does not match":  {"response_path: $.a\noutput_schema: {type: object, properties: {b: {type: string}}}", `{"data":{"a":{"b":1}}}`, operations.Failed, `{"b":1}`, `the answer does not match output_schema: b must be string, got number`, ``},
		"a schema of a list":            {"response_path: $.x\noutput_schema: {type: array}", `{"data":{"x":[]}}`, operations.Empty, `{"result":[]}`, ``, ``},
		"a schema of objects or null":   {"response_path: $.a\noutput_schema: {type: [object, 'null']}", `{"data":{"a":{"b":1}}}`, operations.Found, `{"result":{"b":1}}`, ``, ``},
		"a null where an object is due": {"response_path: $.a\noutput_schema: {type: object}", `{"data":{"a":null}}`, operations.Failed, `{"result":null}`, `the answer does not match output_schema: the value must be object, got null`, ``},

		"no data":                        {`response_path: $.a`, `{"data":null,"errors":[{"message":"gone","path":["a"],"extensions":{"code":"GONE"}}]}`, operations.Failed, ``, `gone [GONE] at a`, ``},
		"errors beside data":             {`response_path: $.a`, `{"data":{"a":{"b":1}},"errors":[{"message":"no c"}]}`, operations.Failed, `{"b":1}`, `no c`, `The data is partial: fields that failed are null.`},
		"errors that are accepted":       {"response_path: $.a\nerror_policy: {partial: accept}", `{"data":{"a":{"b":1}},"errors":[{"message":"no c"}]}`, operations.Found, `{"b":1}`, `no c`, `The data is partial: fields that failed are null.`},
		"errors that leave nothing":      {"response_path: $.a\nerror_policy: {partial: accept}", `{"data":{"a":null},"errors":[{"message":"no a"}]}`, operations.Failed, `{"result":null}`, `no a`, `The data is partial: fields that failed are null.`},
		"an empty list of errors":        {`response_path: $.a.b`, `{"data":{"a":{"b":1}},"errors":[]}`, operations.Found, `{"result":1}`, ``, ``},
		"user errors":                    {"response_path: $.a.b\nerror_policy: {failure_paths: [$.a.userErrors]}", `{"data":{"a":{"b":null,"userErrors":[{"message":"too late","field":["order","id"],"code":"LATE"},{"message":"no"}]}}}`, operations.Failed, `{"result":null}`, "$.a.userErrors: too late (field order.id) [LATE]\n$.a.userErrors: no", ``},
		"no user errors":                 {"response_path: $.a.b\nerror_policy: {failure_paths: [$.a.userErrors]}", `{"data":{"a":{"b":1,"userErrors":[]}}}`, operations.Found, `{"result":1}`, ``, ``},
		"user errors that are null":      {"response_path: $.a.b\nerror_policy: {failure_paths: [$.a.userErrors]}", `{"data":{"a":{"b":1,"userErrors":null}}}`, operations.Found, `{"result":1}`, ``, ``},
		"user errors that are texts":     {"error_policy: {failure_paths: ['$.a.userErrors[*].message']}", `{"data":{"a":{"userErrors":[{"message":"too late"}]}}}`, operations.Failed, `{"a":{"userErrors":[{"message":"too late"}]}}`, "$.a.userErrors[*].message: too late", ``},
		"a flag that says failure":       {"error_policy: {failure_paths: [$.a.b]}", `{"data":{"a":{"b":true}}}`, operations.Failed, `{"a":{"b":true}}`, `$.a.b: true`, ``},
		"a type that is a failure":       {"response_path: $.x\nerror_policy: {failure_typenames: ['*Rejection']}", `{"data":{"x":{"__typename":"NotFoundRejection","message":"no such y","code":"NONE"}}}`, operations.Failed, `{"__typename":"NotFoundRejection","code":"NONE","message":"no such y"}`, `NotFoundRejection: no such y [NONE] at x`, ``},
		"a type that is one in a list":   {"response_path: $.x\nerror_policy: {failure_typenames: [Gone]}", `{"data":{"x":[{"__typename":"Y"},{"__typename":"Gone"}]}}`, operations.Failed, `{"result":[{"__typename":"Y"},{"__typename":"Gone"}]}`, `Gone: {"__typename":"Gone"} at x.1`, ``},
		"a type that is none":            {"response_path: $.x\nerror_policy: {failure_typenames: ['*Rejection']}", `{"data":{"x":{"__typename":"Y","y":1}}}`, operations.Found, `{"__typename":"Y","y":1}`, ``, ``},
		"a failure that is accepted not": {"response_path: $.x\nerror_policy: {partial: accept, failure_typenames: [N]}", `{"data":{"x":{"__typename":"N"}},"errors":[{"message":"also"}]}`, operations.Failed, `{"__typename":"N"}`, "also\nN: {\"__typename\":\"N\"} at x", `The data is partial: fields that failed are null.`},
	} {
		t.Run(name, func(t *testing.T) {
			op := only(t, operations.Options{}, operations.File{Path: "look.yaml", Text: file + tc.mapping})
			u := saying(t, tc.answer)
			got := call(t, runner(t, u.URL, nil), op, `{}`)
			if got.State != tc.state || string(got.Object()) != tc.object {
				t.Errorf("got %s %s, want %s %s", got.State, got.Object(), tc.state, tc.object)
			}
			if errorsOf(got) != tc.errors || got.Hint != tc.hint {
				t.Errorf("got errors %q, hint %q", errorsOf(got), got.Hint)
			}
			if want := tc.state == operations.Failed || tc.state == operations.Missing && tc.object == ""; got.Failed() != want {
				t.Errorf("failed: %t", got.Failed())
			}
			if got.Errors == nil || len(u.asked()) != 1 {
				t.Errorf("errors %v, asked %v", got.Errors, u.asked())
			}
		})
	}
}

// What is sent for a call's arguments, and what is not sent at all.
func TestArgumentsOfFiles(t *testing.T) {
	const file = `
name: look
description: Looks.
operation_type: query
operation_name: Look
query_template: |
  query Look($id: ID!, $n: Int = 3, $ids: [ID!], $f: Float, $on: Boolean, $s: Sort, $r: Range, $long: Long, $fixed: String) {
    look(id: $id, n: $n, ids: $ids, f: $f, on: $on, s: $s, r: $r, long: $long, fixed: $fixed)
  }
variables_schema:
  properties:
    id: {type: string, maxLength: 60}
    n: {type: [integer, 'null'], default: 7}
    items: {type: array, items: {type: object, properties: {id: {type: string}}}}
    f: {type: number}
    on: {type: boolean}
    s: {type: string, enum: [NEWEST, OLDEST]}
    range: {type: object, properties: {from: {type: string, format: date}, limit: {type: integer}}}
    long: {}
  required: [id]
input_mapping: {id: $.id, n: $.n, ids: '$.items[*].id', f: $.f, on: $.on, s: $.s, r: $.range, long: $.long, fixed: {const: "a $ b"}}
`
	op := only(t, operations.Options{}, operations.File{Path: "look.yaml", Text: file})
	for name, tc := range map[string]struct{ input, sent, errors string }{
		"least":                      {`{"id":"a"}`, `{"fixed":"a $ b","id":"a","n":7}`, ``},
		"all":                        {`{"id":"a","n":1,"items":[{"id":"x"},{"id":"y"}],"f":1.5,"on":true,"s":"OLDEST","range":{"from":"2026-11-30","limit":2},"long":9223372036854775807}`, `{"f":1.5,"fixed":"a $ b","id":"a","ids":["x","y"],"long":9223372036854775807,"n":1,"on":true,"r":{"from":"2026-11-30","limit":2},"s":"OLDEST"}`, ``},
		"a null stays one":           {`{"id":"a","n":null}`, `{"fixed":"a $ b","id":"a","n":null}`, ``},
		"an empty list stays one":    {`{"id":"a","items":[]}`, `{"fixed":"a $ b","id":"a","ids":[],"n":7}`, ``},
		"numbers keep their digits":  {`{"id":"a","f":0.1000000000000000055,"long":[9007199254740993]}`, `{"f":0.1000000000000000055,"fixed":"a $ b","id":"a","long":[9007199254740993],"n":7}`, ``},
		"a number for a text":        {`{"id":9007199254740993}`, `{"fixed":"a $ b","id":"9007199254740993","n":7}`, ``},
		"numbers as texts":           {`{"id":"a","n":"4","f":"2.50"}`, `{"f":2.50,"fixed":"a $ b","id":"a","n":4}`, ``},
		"a boolean as a text":        {`{"id":"a","on":"True"}`, `{"fixed":"a $ b","id":"a","n":7,"on":true}`, ``},
		"one for a list":             {`{"id":"a","items":{"id":"x"}}`, `{"fixed":"a $ b","id":"a","ids":["x"],"n":7}`, ``},
		"an object as a text":        {`{"id":"a","range":"{\"limit\":\"2\"}"}`, `{"fixed":"a $ b","id":"a","n":7,"r":{"limit":2}}`, ``},
		"all as a text":              {`"{\"id\":\"a\"}"`, `{"fixed":"a $ b","id":"a","n":7}`, ``},
		"a text is data":             {`{"id":"\") { id } } mutation { x"}`, `{"fixed":"a $ b","id":"\") { id } } mutation { x","n":7}`, ``},
		"nothing":                    {``, ``, `arguments: id is missing`},
		"null":                       {`null`, ``, `arguments: id is missing`},
		"a list":                     {`[1]`, ``, `the arguments must be a JSON object, got [1]`},
		"no JSON":                    {`{`, ``, `the arguments must be a JSON object: unexpected EOF`},
		"unknown":                    {`{"id":"a","ids":[]}`, ``, `arguments: ids is not known: there is f, id, items, long, n, on, range, s`},
		"unknown, deep":              {`{"id":"a","range":{"form":"x"}}`, ``, `arguments: range.form is not known: there is from, limit`},
		"another type":               {`{"id":{},"on":"perhaps"}`, ``, "arguments: id must be string, got object\narguments: on must be boolean, got string"},
		"too long":                   {`{"id":"` + strings.Repeat("x", 61) + `"}`, ``, `arguments: id: maxLength: got 61, want 60`},
		"none of the values":         {`{"id":"a","s":"newest"}`, ``, `arguments: s must be one of "NEWEST", "OLDEST", got "newest"`},
		"no date":                    {`{"id":"a","range":{"from":"soon"}}`, ``, `arguments: range.from: 'soon' is not valid date: parsing time "soon" as "2006-01-02": cannot parse "soon" as "2006"`},
		"Int beyond 32 bits":         {`{"id":"a","n":3000000000}`, ``, `arguments: $.n must be Int, a whole number from -2147483648 to 2147483647, got 3000000000`},
		"a number beyond all bounds": {`{"id":"a","long":1e999999}`, ``, `arguments: the number 1e999999 is out of all proportion`},
		"one in a text":              {`{"id":"a","f":"1e999999"}`, ``, `arguments: f must be number, got string`},
	} {
		t.Run(name, func(t *testing.T) {
			u := saying(t, `{"data":{"look":true}}`)
			got := call(t, runner(t, u.URL, nil), op, tc.input)
			if errorsOf(got) != tc.errors {
				t.Errorf("got errors %s", errorsOf(got))
			}
			if tc.errors != "" {
				if len(u.asked()) > 0 || got.State != operations.Failed || got.Sent != nil || got.Hint != "Nothing was sent: correct the arguments and call again." {
					t.Errorf("asked %v, got %+v", u.asked(), got)
				}
				return
			}
			var body struct {
				Query, OperationName string
				Variables            json.RawMessage
			}
			if err := json.Unmarshal([]byte(u.asked()[0]), &body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.sent, string(body.Variables)); diff != "" {
				t.Error(diff)
			}
			if body.Query != op.Document || body.OperationName != "Look" {
				t.Errorf("sent %+v", body)
			}
		})
	}
}

// With a schema, values that the JSON Schema leaves open are held to its types.
func TestArgumentsAreHeldToTheSchema(t *testing.T) {
	op := only(t, operations.Options{Schema: schema(t, shopSchema), Scalars: map[string]json.RawMessage{"Date": []byte(`{"type":"string","format":"date"}`)}},
		operations.File{Path: "orders.yaml", Text: `
name: orders
description: Lists orders.
operation_type: query
operation_name: Orders
query_template: |
  query Orders($sort: Sort, $range: Range) { orders(sort: $sort, range: $range) { id } }
variables_schema: {type: object, properties: {sort: {}, range: {}}}
input_mapping: {sort: $.sort, range: $.range}
response_path: $.orders[*].id
`})
	for input, want := range map[string]string{
		`{"sort":"newest","range":{"from":"2026-01-02"}}`: ``,
		`{"sort":"LATEST"}`:           `arguments: $.sort must be one of Sort's values, got "LATEST". Nearest: NEWEST, OLDEST.`,
		`{"range":{"from":"soon"}}`:   `arguments: $.range.from must be Date: the value: 'soon' is not valid date`,
		`{"range":{"to":null}}`:       `arguments: $.range.from is missing: it must be Date!`,
		`{"range":{"and":[{"x":1}]}}`: "arguments: $.range.from is missing",
	} {
		u := saying(t, `{"data":{"orders":[]}}`)
		got := call(t, runner(t, u.URL, nil), op, input)
		if said := errorsOf(got); said != want && (want == "" || !strings.Contains(said, want)) {
			t.Errorf("%s: got %s", input, said)
		}
		if sent := len(u.asked()); (sent == 1) != (want == "") {
			t.Errorf("%s: %d requests", input, sent)
		}
	}
}

const cancelFile = `
name: cancel_order
description: Cancels an order.
operation_type: mutation
operation_name: Cancel
query_template: |
  mutation Cancel($id: ID!) { cancel(id: $id) { order { number } userErrors { message } } }
variables_schema: {type: object, properties: {id: {type: string}}, required: [id]}
input_mapping: {id: $.id}
response_path: $.cancel.order
error_policy: {failure_paths: [$.cancel.userErrors]}
`

const numberFile = `
name: order_number
description: The number of an order.
operation_type: query
operation_name: Number
query_template: |
  query Number { order(id: 1) { number } }
response_path: $.order.number
`

// A mutation is sent once, whatever happens; a query again while that may help.
func TestTries(t *testing.T) {
	failing := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	u := answering(t, failing)
	r := runner(t, u.URL, func(o *operations.RunnerOptions) { o.Tries = 2 })
	op := only(t, operations.Options{}, operations.File{Path: "c.yaml", Text: cancelFile})
	_, err := r.Call(t.Context(), op, []byte(`{"id":"1"}`), nil)
	if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Unknown || !strings.Contains(err.Error(), "outcome unknown") || len(u.asked()) != 1 {
		t.Errorf("a mutation: %v after %d requests", err, len(u.asked()))
	}
	u = answering(t, failing)
	r = runner(t, u.URL, func(o *operations.RunnerOptions) { o.Tries = 2 })
	_, err = r.Call(t.Context(), only(t, operations.Options{}, operations.File{Path: "n.yaml", Text: numberFile}), nil, nil)
	if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Unreachable || len(u.asked()) != 2 {
		t.Errorf("a query: %v after %d requests", err, len(u.asked()))
	}
	hanging := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r = runner(t, hanging.URL, func(o *operations.RunnerOptions) { o.Limits.Timeout = 50 * time.Millisecond })
	_, err = r.Call(t.Context(), op, []byte(`{"id":"1"}`), nil)
	if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Unknown {
		t.Errorf("a mutation without an answer: %v", err)
	}
}

// An endpoint is sent the text or the id, as it is set; one that does not know
// the id is not sent the text.
func TestPersisted(t *testing.T) {
	op := only(t, operations.Options{}, operations.File{Path: "n.yaml", Text: numberFile})
	for setting, want := range map[operations.Persisted]string{
		"":                        `{"query":"query Number {\n  order(id: 1) {\n    number\n  }\n}\n","operationName":"Number"}`,
		operations.SendDocumentID: `{"documentId":"` + op.ID + `","operationName":"Number"}`,
		operations.SendExtension:  `{"operationName":"Number","extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + op.ID + `"}}}`,
	} {
		u := saying(t, `{"data":{"order":{"number":"A1"}}}`)
		got := call(t, runner(t, u.URL, func(o *operations.RunnerOptions) { o.Persisted = setting }), op, ``)
		if string(got.Object()) != `{"result":"A1"}` {
			t.Errorf("%q: got %s", setting, got.Object())
		}
		if diff := cmp.Diff([]string{want}, u.asked()); diff != "" {
			t.Errorf("%q: %s", setting, diff)
		}
	}
	for _, answer := range []string{
		`{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`,
		`{"errors":[{"message":"Persisted document not found."}]}`,
		`{"errors":[{"message":"The specified persisted operation key is invalid.","extensions":{"code":"PERSISTED_OPERATION_NOT_FOUND"}}]}`,
		`{"errors":[{"message":"Unknown document id"}]}`,
		`{"errors":[{"message":"Must provide query string."}]}`,
		`{"errors":[{"message":"GraphQL query is missing"}]}`,
	} {
		u := saying(t, answer)
		got := call(t, runner(t, u.URL, func(o *operations.RunnerOptions) { o.Persisted = operations.SendDocumentID }), op, ``)
		if !got.Failed() || !strings.HasPrefix(errorsOf(got), "the manifest was not published: the endpoint does not know document "+op.ID) || len(u.asked()) != 1 {
			t.Errorf("%s: got %s after %d requests", answer, errorsOf(got), len(u.asked()))
		}
	}
	for _, answer := range []string{`{"errors":[{"message":"order not found"}]}`, `{"data":{"order":null},"errors":[{"message":"no such document"}]}`} {
		got := call(t, runner(t, saying(t, answer).URL, func(o *operations.RunnerOptions) { o.Persisted = operations.SendDocumentID }), op, ``)
		if strings.Contains(errorsOf(got), "manifest") {
			t.Errorf("%s: got %s", answer, errorsOf(got))
		}
	}
	u := answering(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "unknown document", http.StatusNotFound) })
	_, err := runner(t, u.URL, func(o *operations.RunnerOptions) { o.Persisted = operations.SendExtension }).Call(t.Context(), op, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "the manifest was not published") {
		t.Errorf("got %v", err)
	}
	client, _ := graphql.NewClient(graphql.ClientOptions{URL: u.URL})
	if _, err := operations.NewRunner(operations.RunnerOptions{Caller: client, Persisted: "hash", Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a setting that there is not was taken")
	}
}

// Credentials go to their host alone, and come back in nothing.
func TestCredentials(t *testing.T) {
	const token = "s3cret-t0ken"
	u := answering(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"data":   map[string]any{"order": map[string]any{"number": r.Header.Get("Authorization")}},
			"errors": []any{map[string]any{"message": "seen " + r.Header.Get("Authorization")}},
		})
	})
	file := operations.File{Path: "n.yaml", Text: numberFile + "auth_profile: shop\nheaders: {X-Channel: agents}\n"}
	options := operations.Options{URL: u.URL, AuthProfiles: map[string]string{"shop": u.host(t)}}
	op := only(t, options, file)
	profiles := func(host string, err error) func(*operations.RunnerOptions) {
		return func(o *operations.RunnerOptions) {
			o.AuthProfiles = map[string]operations.AuthProfile{"shop": {Host: host, Credentials: func() (http.Header, error) {
				return http.Header{"Authorization": {"Bearer " + token}}, err
			}}}
		}
	}
	caller := http.Header{"authorization": {"Bearer of-the-caller"}, "X-Tenant": {"one"}}
	got, err := runner(t, u.URL, profiles(u.host(t), nil)).Call(t.Context(), op, nil, caller)
	if err != nil {
		t.Fatal(err)
	}
	if h := u.headers[0]; h.Get("Authorization") != "Bearer "+token || h.Get("X-Channel") != "agents" || h.Get("X-Tenant") != "one" || len(h.Values("Authorization")) != 1 {
		t.Errorf("sent %v", h)
	}
	all, err := json.Marshal(map[string]any{"result": got, "object": got.Object(), "sent": got.Sent.Header})
	if err != nil || strings.Contains(string(all), token) || strings.Contains(string(all), "of-the-caller") {
		t.Errorf("shown: %s %v", all, err)
	}
	if want := `{"order":{"number":"*** ***"}}`; string(got.Data) != `{"order":{"number":"Bearer ***"}}` && string(got.Data) != want {
		t.Errorf("data: %s", got.Data)
	}
	for name, r := range map[string]*operations.Runner{
		"of another host": runner(t, u.URL, profiles("api.example.com", nil)),
		"of another port": runner(t, u.URL, profiles("127.0.0.1", nil)),
		"of no name":      runner(t, u.URL, nil),
		"that fail":       runner(t, u.URL, profiles(u.host(t), errors.New("no file"))),
	} {
		_, err := r.Call(t.Context(), op, nil, nil)
		if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Refused || !strings.HasPrefix(err.Error(), "order_number was not called: auth profile shop: ") {
			t.Errorf("credentials %s: %v", name, err)
		}
	}
	if len(u.asked()) != 1 {
		t.Errorf("%d requests", len(u.asked()))
	}

	// A redirect to another host is not followed.
	elsewhere := saying(t, `{"data":{"order":{"number":"x"}}}`)
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	moved := answering(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusTemporaryRedirect) })
	_, err = runner(t, moved.URL, profiles(moved.host(t), nil)).Call(t.Context(), op, nil, nil)
	if err == nil || len(elsewhere.asked()) > 0 || strings.Contains(err.Error(), token) {
		t.Errorf("redirected: %v", err)
	}
}

// A call ends when its context does.
func TestCallEndsWithItsContext(t *testing.T) {
	u := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := runner(t, u.URL, nil).Call(ctx, only(t, operations.Options{}, operations.File{Path: "n.yaml", Text: numberFile}), nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// demo is the API of the demo with its schema.
func demo(tb testing.TB) (*upstream, operations.Options) {
	tb.Helper()
	a, err := api.New()
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(a)
	tb.Cleanup(server.Close)
	text, err := os.ReadFile("../../internal/demo/api/schema.graphql")
	if err != nil {
		tb.Fatal(err)
	}
	return &upstream{Server: server}, operations.Options{Endpoint: "demo", URL: server.URL, Schema: schema(tb, string(text)), RequireTest: true}
}

// From a query to a tool: drafted, tested, published, called, over real HTTP.
func TestDraftTestPublishCall(t *testing.T) {
	u, o := demo(t)
	r := runner(t, u.URL, nil)
	for name, tc := range map[string]struct {
		query string
		calls map[string]string // input to state, object and errors
	}{
		"a query": {
			`query AccountBalance($id: ID!) { account(id: $id) { iban owner { name } balances { available { minor currency } } } }`,
			map[string]string{
				`{"id":"acc_seller1"}`: `found {"balances":{"currency":"EUR","minor":284110},"iban":"DE02120300000000202051","owner":"Harbour Books GmbH"} `,
				`{"id":"nobody"}`:      `failed {"result":null} the answer is null at $.account`,
				`{"id":["a","b"]}`:     `failed  arguments: id must be string, got array`,
			},
		},
		"a list": {
			`query Accounts($currency: Currency) { accounts(currency: $currency) { id currency } }`,
			map[string]string{`{"currency":"USD"}`: `empty {"result":[]} `},
		},
		"a field that fails": {
			`query Rate { exchangeRate(from: EUR, to: USD) }`,
			map[string]string{``: `failed {"exchangeRate":null} `},
		},
		"a mutation": {
			`mutation CancelPayout($id: ID!) { cancelPayout(id: $id) { __typename ... on PayoutCanceled { payout { id status } } ... on Rejection { code message } } }`,
			map[string]string{`{"id":"nothing"}`: `failed {"code":"not_found",`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, err := operations.Draft(operations.DraftOptions{Query: tc.query, Endpoint: "demo", Schema: o.Schema})
			if err != nil {
				t.Fatal(err)
			}
			o := o
			o.Files = []operations.File{{Path: "op.yaml", Text: string(text)}}
			set := operations.Load(o)
			if len(set.Faults) > 0 || len(set.Published()) > 0 {
				t.Fatalf("before its test: published %d, %s", len(set.Published()), told(set.Faults))
			}
			o.Lock = o.Lock.Record(set.Operations[0].Name, string(text), u.URL, "")
			published := operations.Load(o).Published()
			if len(published) != 1 {
				t.Fatal("it is not published after its test")
			}
			for input, want := range tc.calls {
				got := call(t, r, published[0], input)
				if shown := string(got.State) + " " + string(got.Object()) + " " + errorsOf(got); !strings.HasPrefix(shown, want) {
					t.Errorf("%s: got %s, want %s", input, shown, want)
				}
			}
		})
	}
}

// Annotated operations are called by the same runner.
func TestCallOfAnAnnotatedOperation(t *testing.T) {
	u, o := demo(t)
	op := only(t, o, operations.File{Path: "a.graphql", Text: `query Account($id: ID!) @mcpTool(description: "An account.") { account(id: $id) { iban } }`})
	got := call(t, runner(t, u.URL, nil), op, `{"id":"acc_seller1"}`)
	if got.State != operations.Found || string(got.Object()) != `{"account":{"iban":"DE02120300000000202051"}}` {
		t.Errorf("got %s %s", got.State, got.Object())
	}
	if got := call(t, runner(t, u.URL, nil), op, `{"nr":1}`); !got.Failed() || got.Sent != nil {
		t.Errorf("got %+v", got)
	}
}
