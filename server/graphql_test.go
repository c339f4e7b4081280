package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/internal/demo/api"
	"github.com/docseek/docseek/search"
)

// recorder passes requests on to a handler and keeps their bodies and headers.
type recorder struct {
	http.Handler
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	r.headers = append(r.headers, request.Header.Clone())
	r.mu.Unlock()
	request.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, request)
}

// reset forgets what was sent so far: the introspection.
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.headers = nil, nil
}

func (r *recorder) sent() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// upstream serves the demo's API, or another handler, and records.
func upstream(t *testing.T, handler http.Handler) (*recorder, string) {
	t.Helper()
	if handler == nil {
		demo, err := api.New()
		if err != nil {
			t.Fatal(err)
		}
		handler = demo
	}
	r := &recorder{Handler: handler}
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	return r, web.URL
}

// bank is the demo's API as an endpoint that may be read and explored.
func bank(url string) gateway.Config {
	return gateway.Config{Name: "bank", URL: url, Documents: execute.Read, Explore: true, Forward: []string{"X-Tenant"}}
}

func newGateway(t *testing.T, configs ...gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(configs, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// serveGraphQL serves a server with GraphQL tools and returns its address.
func serveGraphQL(t *testing.T, api GraphQL) string {
	t.Helper()
	s, err := New(Options{Docs: &library{}, GraphQL: api, Version: "1.2.3", Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, s)
}

// What agents see of the GraphQL tools and of their answers, byte by byte.
func TestGraphQLWire(t *testing.T) {
	_, url := upstream(t, nil)
	base := serveGraphQL(t, newGateway(t, bank(url)))
	golden(t, "graphql_tools_list.json", indented(t, call(t, base, modern, "tools/list", nil).Result))
	golden(t, "graphql_discover.json", indented(t, call(t, base, modern, "server/discover", nil).Result))
	for name, test := range map[string]struct {
		tool string
		args map[string]any
	}{
		"search":          {"search_graphql_schema", map[string]any{"terms": []string{"payout", "iban"}, "max_chars": 1500}},
		"search_little":   {"search_graphql_schema", map[string]any{"terms": "available balance", "max_chars": 100}},
		"search_nothing":  {"search_graphql_schema", map[string]any{"terms": []string{"the", "*("}}},
		"search_mutation": {"search_graphql_schema", map[string]any{"terms": []string{"create", "payout"}, "max_chars": 2000}},
		"inspect":         {"inspect_graphql_type", map[string]any{"names": []string{"Rejection", "@deprecated", "Query.search"}}},
		"inspect_miss":    {"inspect_graphql_type", map[string]any{"names": "Acount"}},
		"validate":        {"validate_graphql", map[string]any{"document": "{\n  account(id: 1) { ibam }\n}"}},
		"execute":         {"execute_graphql", map[string]any{"document": "{ accounts(currency: GBP) { id balances { available { minor currency } } } }"}},
		"execute_partial": {"execute_graphql", map[string]any{"document": "{ exchangeRate(from: EUR, to: GBP) accounts(currency: GBP) { id } }"}},
		"execute_invalid": {"execute_graphql", map[string]any{"document": "query($id: ID!) { account(id: $id) { ibam } }", "variables": map[string]any{"id": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := call(t, base, modern, "tools/call", map[string]any{"name": test.tool, "arguments": test.args})
			if got.Error != nil || got.Status != http.StatusOK {
				t.Fatalf("status %d, error %+v", got.Status, got.Error)
			}
			golden(t, "graphql_"+name+".json", indented(t, got.Result))
			var result toolResult
			if err := json.Unmarshal(got.Result, &result); err != nil {
				t.Fatal(err)
			}
			golden(t, "graphql_"+name+".txt", []byte(result.text()))
		})
	}
}

// What tools there are follows from what the endpoints allow.
func TestGraphQLToolsFollowThePolicy(t *testing.T) {
	_, url := upstream(t, nil)
	docs := []string{"list_docs", "read_docs", "search_docs"}
	for _, test := range []struct {
		documents execute.Policy
		explore   bool
		want      []string
		readOnly  bool
	}{
		{execute.None, false, nil, true},
		{execute.None, true, []string{"inspect_graphql_type", "search_graphql_schema", "validate_graphql"}, true},
		{execute.Read, false, []string{"execute_graphql", "validate_graphql"}, true},
		{execute.Read, true, []string{"execute_graphql", "inspect_graphql_type", "search_graphql_schema", "validate_graphql"}, true},
		{execute.Write, true, []string{"execute_graphql", "inspect_graphql_type", "search_graphql_schema", "validate_graphql"}, false},
	} {
		t.Run(fmt.Sprintf("%s explore=%t", test.documents, test.explore), func(t *testing.T) {
			config := bank(url)
			config.Documents, config.Explore = test.documents, test.explore
			tools := listTools(t, serveGraphQL(t, newGateway(t, config)))
			want := slices.Sorted(slices.Values(append(slices.Clone(docs), test.want...)))
			if got := slices.Sorted(maps.Keys(tools)); !slices.Equal(got, want) {
				t.Fatalf("tools %v, want %v", got, want)
			}
			for name, tool := range tools {
				reads := name != "execute_graphql" || test.readOnly
				for hint, want := range map[string]bool{
					"readOnlyHint": reads, "destructiveHint": !reads, "idempotentHint": reads, "openWorldHint": name == "execute_graphql",
				} {
					if tool.Annotations[hint] != want {
						t.Errorf("%s: %s is %v", name, hint, tool.Annotations[hint])
					}
				}
				compile(t, tool.InputSchema)
				compile(t, tool.OutputSchema)
			}
		})
	}
}

// hostile are documents that try to get a mutation past a guard for queries.
func hostile() map[string]map[string]any {
	const harm = `createPayout(input:{accountId:"acc_seller1",amount:1,beneficiary:"x"}){__typename}`
	return map[string]map[string]any{
		"plain":               {"document": "mutation{" + harm + "}"},
		"comma":               {"document": ",mutation{" + harm + "}"},
		"comment":             {"document": "#c\nmutation{" + harm + "}"},
		"byte order mark":     {"document": "\ufeffmutation{" + harm + "}"},
		"description":         {"document": `"query" mutation M{` + harm + "}"},
		"selected":            {"document": "query A{accounts{id}} mutation B{" + harm + "}", "operation_name": "B"},
		"beside the selected": {"document": "query A{accounts{id}} mutation B{" + harm + "}", "operation_name": "A"},
		"none selected":       {"document": "query A{accounts{id}} mutation B{" + harm + "}"},
		"fragment":            {"document": "mutation{...F} fragment F on Mutation{" + harm + "}"},
		"in a query":          {"document": "query{...on Mutation{" + harm + "}}"},
		"variable": {
			"document":  "query($id:ID!){account(id:$id){id}}",
			"variables": map[string]any{"id": `"){id} mutation{` + harm + `}`},
		},
		"variables as text": {
			"document":  "query($id:ID!){account(id:$id){id}}",
			"variables": `{"id":"x\"){id}} mutation{` + strings.ReplaceAll(harm, `"`, `\"`) + `}"}`,
		},
		"another name":       {"query": "mutation{" + harm + "}"},
		"both names":         {"document": "{accounts{id}}", "mutation": "mutation{" + harm + "}"},
		"name of operation":  {"document": "query A{accounts{id}}", "operation_name": "A} mutation{" + harm + "}"},
		"subscription":       {"document": "subscription{accounts{id}}"},
		"upper case":         {"document": "MUTATION{" + harm + "}"},
		"semicolon":          {"document": "{accounts{id}};mutation{" + harm + "}"},
		"line separator":     {"document": "{accounts{id}}#\u2028mutation{" + harm + "}"},
		"as a list":          {"document": []string{"mutation{" + harm + "}"}},
		"as an object":       {"document": map[string]any{"mutation": harm}},
		"words for a search": {"terms": []string{"mutation{" + harm + "}", harm}, "names": []string{"Mutation", "mutation{" + harm + "}"}},
	}
}

// No tool sends a mutation where only queries are allowed, whatever it is given:
// each of them gets each hostile argument, and the upstream has recorded.
func TestReadOnlySendsNoMutation(t *testing.T) {
	record, url := upstream(t, nil)
	s, err := New(Options{Docs: &library{}, GraphQL: newGateway(t, bank(url)), ConnectorTools: true, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	record.reset()
	tools := slices.Sorted(maps.Keys(listTools(t, base)))
	if len(tools) != 9 {
		t.Fatalf("tools %v", tools)
	}
	for _, name := range tools {
		for what, given := range hostile() {
			args := maps.Clone(given)
			document, _ := args["document"].(string)
			for _, key := range []string{"url", "id", "source"} { // what the documentation tools take
				args[key] = document
			}
			if args["query"] == nil && !strings.Contains(name, "graphql") {
				args["query"] = document
			}
			encoded, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name+" "+what, func(t *testing.T) {
				for _, e := range []era{legacy, modern} {
					callTool(t, base, e, name, string(encoded))
				}
			})
		}
	}
	sent := record.sent()
	if len(sent) == 0 {
		t.Error("nothing was sent at all, so nothing is proved")
	}
	for _, body := range sent {
		var request struct{ Query, OperationName string }
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(request.Query, "mutation") || strings.Contains(request.Query, "createPayout") || strings.Contains(request.OperationName, "mutation") {
			t.Errorf("sent: %s", body)
		}
	}
	// What was to be changed is as it was.
	got := callTool(t, base, modern, "execute_graphql", `{"document":"{ account(id: \"acc_seller1\") { payouts { id } } }"}`)
	if want := `{"account":{"payouts":[{"id":"pyt_13f"},{"id":"pyt_11a"}]}}`; !strings.Contains(got.text(), want) {
		t.Errorf("the payouts are %s", got.text())
	}
}

func TestExecuteGraphQL(t *testing.T) {
	record, url := upstream(t, nil)
	base := serveGraphQL(t, newGateway(t, bank(url)))
	output := listTools(t, base)["execute_graphql"].OutputSchema
	for name, test := range map[string]struct {
		args, structured, text string
		isError                bool
		requests               int
	}{
		"data": {
			args:       `{"document":"query A($id: ID!) { account(id: $id) { ledger(first: 1) { sequence } } }","variables":{"id":"acc_seller2"},"operation_name":"A"}`,
			structured: `{"endpoint":"bank","data":{"account":{"ledger":[{"sequence":9007199254740994}]}},"errors":[]}`,
			text:       `{"account":{"ledger":[{"sequence":9007199254740994}]}}` + "\n",
			requests:   1,
		},
		"slips": {
			args:       `{"query":"query A($id: ID!) { account(id: $id) { id } }","variables":"{\"id\":\"acc_seller2\"}","operationName":"A","endpoint":""}`,
			structured: `{"endpoint":"bank","data":{"account":{"id":"acc_seller2"}},"errors":[]}`,
			text:       `{"account":{"id":"acc_seller2"}}` + "\n",
			requests:   1,
		},
		"partial": {
			args:       `{"document":"{ exchangeRate(from: EUR, to: USD) accounts(currency: GBP) { id } }"}`,
			structured: `{"endpoint":"bank","data":{"exchangeRate":null,"accounts":[{"id":"acc_seller2"}]},"errors":[{"message":"the source of exchange rates does not answer","line":1,"column":3,"path":["exchangeRate"]}],"hint":"The data is partial: fields that failed are null."}`,
			text: `{"exchangeRate":null,"accounts":[{"id":"acc_seller2"}]}` +
				"\nerrors:\n- 1:3: the source of exchange rates does not answer at exchangeRate\nThe data is partial: fields that failed are null.\n",
			isError: true, requests: 1,
		},
		"refused": {
			args: `{"document":"mutation { cancelPayout(id: \"x\") { __typename } }"}`,
			text: "the mutation is not executed: only queries are allowed here (documents: read)", isError: true,
		},
		"no such operation": {
			args: `{"document":"query A { accounts { id } }","operation_name":"B"}`,
			text: "the document has no operation B; it has A", isError: true,
		},
		"no such endpoint": {
			args: `{"document":"{ accounts { id } }","endpoint":"shop"}`,
			text: `endpoint must be one of bank, got "shop"`, isError: true,
		},
		"variables of another type": {
			args: `{"document":"{ accounts { id } }","variables":[1]}`,
			text: "variables must be an object, got a list", isError: true,
		},
		"no document": {args: `{}`, text: "document is missing: it must be a string", isError: true},
	} {
		t.Run(name, func(t *testing.T) {
			record.reset()
			eachEra(t, func(t *testing.T, e era) {
				t.Helper()
				got := callTool(t, base, e, "execute_graphql", test.args)
				if got.IsError != test.isError || got.text() != test.text || string(got.Structured) != test.structured {
					t.Errorf("isError %t, text\n%s\nstructured\n%s", got.IsError, got.text(), got.Structured)
				}
				if got.Structured != nil {
					conforms(t, output, got.Structured)
				}
			})
			if n := len(record.sent()); n != 2*test.requests {
				t.Errorf("%d requests in two calls, want %d", n, 2*test.requests)
			}
		})
	}
}

// Where a document does not fit the schema, nothing is sent, and the answer has
// what is needed to put it right.
func TestExecuteInvalid(t *testing.T) {
	record, url := upstream(t, nil)
	base := serveGraphQL(t, newGateway(t, bank(url)))
	record.reset()
	got := callTool(t, base, modern, "execute_graphql", `{"document":"{ account(id: 1) { balances { avail { minor } } } }"}`)
	var answer gateway.ExecuteAnswer
	if err := json.Unmarshal(got.Structured, &answer); err != nil {
		t.Fatal(err)
	}
	if !got.IsError || len(answer.Errors) != 1 || !slices.Contains(answer.Errors[0].Suggestions, "available") {
		t.Errorf("errors %+v", answer.Errors)
	}
	for _, form := range []string{answer.SDL, got.text()} {
		if !strings.Contains(form, "type Balances {") || !strings.Contains(form, "inTransit: Money!") {
			t.Errorf("the type is not shown:\n%s", form)
		}
	}
	if len(record.sent()) > 0 {
		t.Error("an invalid document was sent")
	}
}

func TestWriteSendsMutations(t *testing.T) {
	record, url := upstream(t, nil)
	config := bank(url)
	config.Documents = execute.Write
	base := serveGraphQL(t, newGateway(t, config))
	record.reset()
	got := callTool(t, base, modern, "execute_graphql",
		`{"document":"mutation P($in: CreatePayoutInput!) { createPayout(input: $in) { __typename ... on Rejection { code } } }","variables":{"in":{"accountId":"acc_seller3","amount":1,"beneficiary":"x"}}}`)
	if got.IsError || got.text() != `{"createPayout":{"__typename":"AccountRestrictedRejection","code":"account_restricted"}}`+"\n" {
		t.Errorf("answer %s", got.text())
	}
	if len(record.sent()) != 1 {
		t.Errorf("sent %v", record.sent())
	}
}

func TestValidateGraphQL(t *testing.T) {
	record, url := upstream(t, nil)
	base := serveGraphQL(t, newGateway(t, bank(url)))
	record.reset()
	output := listTools(t, base)["validate_graphql"].OutputSchema
	for args, want := range map[string][2]string{
		`{"document":"{ accounts { id } }"}`: {
			`{"endpoint":"bank","valid":true,"errors":[]}`, "valid\n",
		},
		`{"document":"{\n  acounts { id }\n}"}`: {
			`{"endpoint":"bank","valid":false,"errors":[{"message":"Cannot query field \"acounts\" on type \"Query\".","line":2,"column":3,"suggestions":["accounts","account"]}]}`,
			"not valid:\n- 2:3: Cannot query field \"acounts\" on type \"Query\". Nearest: accounts, account.\n",
		},
		`{"document":"mutation M { cancelPayout(id: 1) { __typename } }"}`: {
			`{"endpoint":"bank","valid":true,"errors":[],"note":"mutation M is not executed: only queries are allowed here (documents: read)"}`,
			"valid\nmutation M is not executed: only queries are allowed here (documents: read)\n",
		},
	} {
		got := callTool(t, base, modern, "validate_graphql", args)
		if got.IsError || string(got.Structured) != want[0] || got.text() != want[1] {
			t.Errorf("%s: isError %t\n%s\n%s", args, got.IsError, got.Structured, got.text())
		}
		conforms(t, output, got.Structured)
	}
	if len(record.sent()) > 0 {
		t.Error("validation sends something")
	}
}

// Only the headers that are named are sent on, and those of one endpoint to no other.
func TestForwardedHeaders(t *testing.T) {
	record, url := upstream(t, nil)
	other, otherURL := upstream(t, nil)
	shop := bank(otherURL)
	shop.Name, shop.Forward = "shop", nil
	config := bank(url)
	config.Headers = http.Header{"Authorization": {"Bearer configured"}}
	base := serveGraphQL(t, newGateway(t, config, shop))
	record.reset()
	other.reset()
	for _, name := range []string{"bank", "shop"} {
		params := map[string]any{"name": "execute_graphql", "arguments": map[string]any{"document": "{ accounts { id } }", "endpoint": name}}
		header := modern.headers("tools/call", params)
		for name, value := range map[string]string{
			"x-tenant": "t1", "Cookie": "session=1", "Authorization": "Bearer caller", "Mcp-Session-Id": "1", "X-Other": "2", "Accept-Language": "de",
		} {
			header.Set(name, value)
		}
		if got := post(t, base, header, modern.message(t, 1, "tools/call", params)); got.Error != nil || bytes.Contains(got.Result, []byte(`"isError":true`)) {
			t.Fatalf("%s: %+v %s", name, got.Error, got.Result)
		}
	}
	own := http.Header{
		"Content-Type": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"docseek"},
		"Accept": {"application/graphql-response+json, application/json;q=0.9"},
	}
	want := maps.Clone(own)
	want["X-Tenant"], want["Authorization"] = []string{"t1"}, []string{"Bearer configured"}
	for name, check := range map[string]struct {
		record *recorder
		want   http.Header
	}{"bank": {record, want}, "shop": {other, own}} {
		if len(check.record.headers) != 1 {
			t.Fatalf("%s got %d requests", name, len(check.record.headers))
		}
		got := check.record.headers[0]
		got.Del("Content-Length")
		if !maps.EqualFunc(got, check.want, slices.Equal[[]string]) {
			t.Errorf("%s got the headers %v", name, got)
		}
	}
}

// A call that waits for the first schema says so.
func TestWaitForTheSchemaIsReported(t *testing.T) {
	_, address := upstream(t, nil)
	api, err := gateway.New([]gateway.Config{bank(address)}, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	base := serveGraphQL(t, api)
	params := map[string]any{
		"name": "execute_graphql", "arguments": map[string]any{"document": "{accounts{id}}"}, "_meta": map[string]any{"progressToken": "t"},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", bytes.NewReader(legacy.message(t, 1, "tools/call", params)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = legacy.headers("tools/call", params)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	for events.Scan() && !strings.Contains(events.Text(), "waiting for the schema of bank") {
		if strings.Contains(events.Text(), `"result"`) {
			t.Fatalf("answered without a word: %s", events.Text())
		}
	}
	if err := api.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for events.Scan() {
		if strings.Contains(events.Text(), `"accounts"`) {
			return
		}
	}
	t.Errorf("no answer: %v", events.Err())
}

// With several endpoints, one has to be named, and a tool knows only those that
// allow what it does.
func TestSeveralEndpoints(t *testing.T) {
	_, url := upstream(t, nil)
	closed := bank(url)
	closed.Name, closed.Documents = "closed", execute.None
	shop := bank(url)
	shop.Name, shop.Explore = "shop", false
	base := serveGraphQL(t, newGateway(t, bank(url), closed, shop))
	for _, test := range []struct{ tool, args, want string }{
		{"execute_graphql", `{"document":"{accounts{id}}"}`, "endpoint is missing"},
		{"execute_graphql", `{"document":"{accounts{id}}","endpoint":"closed"}`, "endpoint must be one of bank, shop"},
		{"execute_graphql", `{"document":"{__schema{types{name}}}","endpoint":"shop"}`, "leave __schema and __type out"},
		{"search_graphql_schema", `{"terms":["iban"],"endpoint":"shop"}`, "endpoint must be one of bank, closed"},
		{"inspect_graphql_type", `{"names":["Account"],"endpoint":"shop"}`, "endpoint must be one of bank, closed"},
	} {
		if got := callTool(t, base, modern, test.tool, test.args); !got.IsError || !strings.Contains(got.text(), test.want) {
			t.Errorf("%s(%s): %s", test.tool, test.args, got.text())
		}
	}
	got := callTool(t, base, modern, "execute_graphql", `{"document":"{ acounts { id } }","endpoint":"shop"}`)
	if !got.IsError || strings.Contains(got.text(), "accounts") || strings.Contains(got.text(), "{") {
		t.Errorf("an endpoint that is not to be explored tells its schema: %s", got.text())
	}
}

// A call that the client gives up is given up upstream.
func TestExecuteIsCancelled(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	_, url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Tenant") == "" {
			demo.ServeHTTP(w, r) // the introspection
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}))
	base := serveGraphQL(t, newGateway(t, bank(url)))
	ctx, cancel := context.WithCancel(t.Context())
	params := map[string]any{"name": "execute_graphql", "arguments": map[string]any{"document": "{ accounts { id } }"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", bytes.NewReader(modern.message(t, 1, "tools/call", params)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = modern.headers("tools/call", params)
	request.Header.Set("X-Tenant", "t")
	go func() {
		<-arrived
		cancel()
	}()
	if response, err := http.DefaultClient.Do(request); !errors.Is(err, context.Canceled) {
		if err == nil {
			_ = response.Body.Close()
		}
		t.Errorf("error %v", err)
	}
	<-gone
}

// Data that does not fit an answer is left out, and the answer says so.
func TestLargeData(t *testing.T) {
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	_, url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Tenant") == "" {
			demo.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":{"accounts":"`+strings.Repeat("x", maxAnswerBytes)+`"}}`)
	}))
	base := serveGraphQL(t, newGateway(t, bank(url)))
	params := map[string]any{"name": "execute_graphql", "arguments": map[string]any{"document": "{ accounts { id } }"}}
	header := modern.headers("tools/call", params)
	header.Set("X-Tenant", "t")
	got := post(t, base, header, modern.message(t, 1, "tools/call", params))
	if text := string(got.Result); len(text) > 4096 || !strings.Contains(text, "the operation was executed, and its data has 1048591 bytes") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// The health route says how an endpoint tells its schema, and a server of APIs
// alone is ready when one has its schema.
func TestHealthOfEndpoints(t *testing.T) {
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	var down atomic.Bool
	_, url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case down.Load():
			w.WriteHeader(http.StatusForbidden)
		case bytes.Contains(body, []byte("isOneOf")):
			_, _ = io.WriteString(w, `{"errors":[{"message":"Cannot query field \"isOneOf\" on type \"__Type\"."}]}`)
		default:
			demo.ServeHTTP(w, r)
		}
	}))
	g, err := gateway.New([]gateway.Config{bank(url)}, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	empty := &library{list: func(context.Context, search.ListQuery) (search.Listing, error) { return search.Listing{}, nil }}
	s, err := New(Options{Docs: empty, GraphQL: g, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	check := func(when string, readyStatus int, want ...string) {
		t.Helper()
		if response, _ := exchange(t, "GET", base+"/readyz", nil, ""); response.StatusCode != readyStatus {
			t.Errorf("%s: /readyz is %d", when, response.StatusCode)
		}
		_, health := exchange(t, "GET", base+"/healthz", nil, "")
		for _, part := range want {
			if !strings.Contains(health, part) {
				t.Errorf("%s: no %s in %s", when, part, health)
			}
		}
	}
	check("before", 503, `"status":"ok"`, `"name":"bank","state":"loading"`)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("loaded", 200, `"state":"ready","introspection":"full, without isOneOf","loaded_at":"20`)
	down.Store(true)
	if g.Reload(t.Context()) == nil {
		t.Error("the schema was loaded")
	}
	check("failed", 200, `"state":"stale","introspection":"full, without isOneOf"`)
	other, err := gateway.New([]gateway.Config{bank(url)}, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	if other.Reload(t.Context()) == nil || other.Endpoints()[0].State != gateway.Unavailable {
		t.Errorf("an endpoint that never answered is %+v", other.Endpoints())
	}
}

func TestSchemaThatIsNotThere(t *testing.T) {
	_, url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"errors":[{"message":"GraphQL introspection is not allowed","extensions":{"code":"INTROSPECTION_DISABLED"}}]}`)
	}))
	g, err := gateway.New([]gateway.Config{bank(url)}, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Reload(t.Context()); err == nil {
		t.Error("a schema was loaded")
	}
	base := serveGraphQL(t, g)
	for tool, args := range map[string]string{
		"search_graphql_schema": `{"terms":["iban"]}`, "inspect_graphql_type": `{"names":["Account"]}`,
		"validate_graphql": `{"document":"{a}"}`, "execute_graphql": `{"document":"{a}"}`,
	} {
		if got := callTool(t, base, modern, tool, args); !got.IsError || !strings.Contains(got.text(), "give an SDL file") {
			t.Errorf("%s: %s", tool, got.text())
		}
	}
}

// All tools that are on by default cost an agent little.
func TestWholeCatalogueIsCheap(t *testing.T) {
	const most = 1800
	_, url := upstream(t, nil)
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []execute.Policy{execute.Read, execute.Write} {
		config := bank(url)
		config.Documents = policy
		listed := call(t, serveGraphQL(t, newGateway(t, config)), modern, "tools/list", nil).Result
		n, err := codec.Count(string(listed))
		if err != nil {
			t.Fatal(err)
		}
		if n > most {
			t.Errorf("documents %s: tools/list costs %d tokens, want at most %d", policy, n, most)
		}
	}
	if text := instructions(append(docsTools(&library{}), graphqlTools(newGateway(t, bank(url)))...), true); len(text) > 2048 {
		t.Errorf("the instructions have %d bytes, clients cut them at 2048", len(text))
	}
}

func conforms(t *testing.T, output, structured json.RawMessage) {
	t.Helper()
	if err := compile(t, output).Validate(decodeJSON(structured)); err != nil {
		t.Errorf("%s does not conform: %v", structured, err)
	}
}
