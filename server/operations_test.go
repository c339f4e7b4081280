package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
)

const (
	accountOperation = `query GetAccount($id: ID! @mcpToolVariable(description: "Begins with acc_")) @mcpTool(description: "One account.") {
  account(id: $id) { id currency balances { available { minor } } ledger(first: 1) { sequence } }
}`
	cancelOperation = `mutation CancelPayout($id: ID!) @mcpTool(description: "Takes a payout back.") {
  cancelPayout(id: $id) { __typename ... on Rejection { code message } }
}`
	rateOperation = `query Rate($to: Currency = USD) @mcpTool(description: "What a euro costs, and the accounts in pounds.") {
  exchangeRate(from: EUR, to: $to)
  accounts(currency: GBP) { id }
}`
	payoutsOperation = `name: payouts
description: What was paid out of an account.
operation_type: query
operation_name: Payouts
query_template: |
  query Payouts($id: ID!) { account(id: $id) { payouts { id status } } }
variables_schema: {type: object, properties: {account: {type: string}}, required: [account]}
input_mapping: {id: $.account}
response_path: $.account.payouts
`
	ownerOperation = `name: owner_name
description: Whose account it is.
operation_type: query
operation_name: Owner
query_template: |
  query Owner($id: ID!) { account(id: $id) { owner { name } iban } }
variables_schema: {type: object, properties: {account: {type: string}}, required: [account]}
input_mapping: {id: $.account}
response_path: $.account
output: {name: $.owner.name, iban: $.iban}
output_schema:
  type: object
  properties: {name: {type: string, minLength: 1}, iban: {type: [string, "null"]}}
  required: [name]
`
)

// operationsFolder is a folder with operations, and the demo's API as an
// endpoint that allows nothing but them.
func operationsFolder(t *testing.T, url string, files map[string]string) (gateway.Config, func(name, text string)) {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(name, text)
	}
	return gateway.Config{
		Name: "bank", URL: url, Documents: execute.None,
		Operations: []string{filepath.Join(folder, "*.graphql"), filepath.Join(folder, "*.yaml")},
	}, write
}

// What agents see of operations and of their answers, byte by byte.
func TestOperationsWire(t *testing.T) {
	_, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{
		"a.graphql": accountOperation + "\n" + cancelOperation + "\n" + rateOperation, "b.yaml": payoutsOperation, "c.yaml": ownerOperation,
	})
	base := serveGraphQL(t, newGateway(t, config))
	golden(t, "operations_tools_list.json", indented(t, call(t, base, modern, "tools/list", nil).Result))
	golden(t, "operations_discover.json", indented(t, call(t, base, modern, "server/discover", nil).Result))
	for name, test := range map[string]struct{ tool, args string }{
		"object":   {"get_account", `{"id":"acc_seller1"}`},
		"nothing":  {"get_account", `{"id":"none"}`},
		"list":     {"payouts", `{"account":"acc_seller2"}`},
		"empty":    {"payouts", `{"account":"acc_seller3"}`},
		"missing":  {"payouts", `{"account":"none"}`},
		"shaped":   {"owner_name", `{"account":"acc_seller2"}`},
		"partial":  {"rate", `{}`},
		"invalid":  {"get_account", `{"ID":"x","limit":3}`},
		"mutation": {"cancel_payout", `{"id":"pyt_13f"}`},
	} {
		eachEra(t, func(t *testing.T, e era) {
			t.Helper()
			got := call(t, base, e, "tools/call", map[string]any{"name": test.tool, "arguments": json.RawMessage(test.args)})
			if got.Error != nil {
				t.Fatalf("%s: %+v", name, got.Error)
			}
			if e == modern {
				golden(t, "operations_call_"+name+".json", indented(t, got.Result))
			}
		})
	}
}

// A published output schema holds for every answer that has a structured form,
// and one that fails has none.
func TestOperationOutputSchema(t *testing.T) {
	_, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{"c.yaml": ownerOperation})
	base := serveGraphQL(t, newGateway(t, config))
	schema := listTools(t, base)["owner_name"].OutputSchema
	if schema == nil {
		t.Fatal("no output schema is published")
	}
	got := callTool(t, base, modern, "owner_name", `{"account":"acc_seller1"}`)
	if got.IsError {
		t.Errorf("answer %s", got.text())
	}
	conforms(t, schema, got.Structured)
	failing := callTool(t, base, modern, "owner_name", `{"account":"none"}`)
	if !failing.IsError || failing.Structured != nil || failing.text() == "" {
		t.Errorf("a failure is %+v", failing)
	}
}

// Nothing that a caller writes becomes part of a document, and arguments that
// the operation does not take are refused with nothing sent.
func TestOperationArguments(t *testing.T) {
	up, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation, "b.yaml": payoutsOperation})
	base := serveGraphQL(t, newGateway(t, config))
	for _, test := range []struct{ tool, args, want string }{
		{"get_account", `{}`, "id is missing"},
		{"get_account", `null`, "id is missing"},
		{"get_account", `{"id":null}`, "null"},
		{"get_account", `{"id":["a"]}`, "id must be"},
		{"get_account", `{"id":"x","first":3}`, "first"},
		{"payouts", `{}`, "account is missing"},
		{"payouts", `{"account":{}}`, "account must be"},
		{"payouts", `{"acount":"x"}`, "acount"},
	} {
		up.reset()
		got := callTool(t, base, modern, test.tool, test.args)
		if !got.IsError || !strings.Contains(got.text(), test.want) || len(up.sent()) != 0 {
			t.Errorf("%s(%s): %s, and %d requests went up; want %q", test.tool, test.args, got.text(), len(up.sent()), test.want)
		}
	}
	const bold = `") { id } accounts { iban } x: account(id: "1`
	up.reset()
	encoded, err := json.Marshal(map[string]string{"id": bold})
	if err != nil {
		t.Fatal(err)
	}
	callTool(t, base, modern, "get_account", string(encoded))
	var sent struct {
		Query     string
		Variables map[string]string
	}
	if all := up.sent(); len(all) != 1 || json.Unmarshal([]byte(all[0]), &sent) != nil || strings.Contains(sent.Query, "accounts") || sent.Variables["id"] != bold {
		t.Errorf("sent was %q", all)
	}
	// An id that was given as a number keeps all its digits.
	up.reset()
	callTool(t, base, modern, "get_account", `{"id":9007199254740993}`)
	if all := up.sent(); len(all) != 1 || !strings.Contains(all[0], `"id":"9007199254740993"`) {
		t.Errorf("sent was %q", all)
	}
}

// Annotations say what an operation does, and every name that docseek has or can
// have is taken.
func TestOperationTools(t *testing.T) {
	_, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{
		"a.graphql": accountOperation + "\n" + cancelOperation,
		"b.graphql": `query Search($text: String!) @mcpTool(description: "x") { search(text: $text) { __typename } }` + "\n" +
			strings.Replace(accountOperation, "GetAccount", "SearchDocs", 1),
	})
	g, err := gateway.New([]gateway.Config{config}, gateway.Options{Log: discard(), Reserved: BuiltinTools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools := listTools(t, serveGraphQL(t, g))
	for name, want := range map[string][4]bool{ // readOnly, destructive, idempotent, openWorld
		"get_account": {true, false, true, true}, "cancel_payout": {false, true, false, true},
	} {
		a := tools[name].Annotations
		if got := [4]bool{a["readOnlyHint"] == true, a["destructiveHint"] == true, a["idempotentHint"] == true, a["openWorldHint"] == true}; got != want {
			t.Errorf("%s has the annotations %v", name, a)
		}
	}
	if _, there := tools["search"]; there || tools["search_docs"].Description == "One account." {
		t.Error("an operation has the name of a built-in tool")
	}
	faults := g.Endpoints()[0].Operations.Faults
	if len(faults) != 2 || !strings.Contains(faults[0].Message, "search") {
		t.Errorf("faults %v", faults)
	}
	for _, name := range []string{"search_docs", "search", "fetch", "execute_graphql", "validate_graphql", "inspect_graphql_type"} {
		if !slices.Contains(BuiltinTools(), name) {
			t.Errorf("%s is not reserved", name)
		}
	}
}

// Over HTTP every request sees the tools of the moment; a client that listens,
// which only the revision of 2026-07-28 knows, is told of changes.
func TestToolsChangeOverHTTP(t *testing.T) {
	_, url := upstream(t, nil)
	config, write := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation})
	g := newGateway(t, config)
	base := serveGraphQL(t, g)
	if result := string(call(t, base, legacy, "initialize", map[string]any{"protocolVersion": string(legacy)}).Result); strings.Contains(result, `"listChanged":true`) {
		t.Errorf("initialize promises what it cannot keep: %s", result)
	}
	if result := string(call(t, base, modern, "server/discover", nil).Result); !strings.Contains(result, `"listChanged":true`) {
		t.Errorf("discover says %s", result)
	}

	params := map[string]any{"notifications": map[string]any{"toolsListChanged": true}}
	body := modern.message(t, 7, "subscriptions/listen", params)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = modern.headers("subscriptions/listen", params)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	until := func(method string) {
		t.Helper()
		for events.Scan() {
			if strings.Contains(events.Text(), method) {
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", method, events.Err())
	}
	until("subscriptions/acknowledged")
	write("b.graphql", cancelOperation)
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("notifications/tools/list_changed")
	if _, there := listTools(t, base)["cancel_payout"]; !there {
		t.Error("the new tool is not listed")
	}
	if got := callTool(t, base, legacy, "cancel_payout", `{"id":"pyt_13f"}`); !strings.Contains(got.text(), "PayoutSubmittedRejection") {
		t.Errorf("the new tool answers %s", got.text())
	}
	write("b.graphql", "")
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := call(t, base, modern, "tools/call", map[string]any{"name": "cancel_payout"}); got.Error == nil || got.Error.Code != mcp.INVALID_PARAMS {
		t.Errorf("a tool that is gone answers %+v", got)
	}
}

// On stdio, the client is told.
func TestToolsChangeOnStdio(t *testing.T) {
	_, url := upstream(t, nil)
	config, write := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation})
	g := newGateway(t, config)
	s, err := New(Options{Docs: &library{}, GraphQL: g, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), in, out) }()
	lines := bufio.NewScanner(fromServer)
	until := func(what string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), what) {
				return lines.Text()
			}
		}
		t.Fatalf("the stream ended before %s: %v", what, lines.Err())
		return ""
	}
	send := func(message []byte) {
		t.Helper()
		if _, err := toServer.Write(append(message, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	send(legacy.message(t, 1, "initialize", map[string]any{"protocolVersion": string(legacy)}))
	if got := until(`"id":1`); !strings.Contains(got, `"listChanged":true`) {
		t.Errorf("initialize says %s", got)
	}
	send(legacy.message(t, nil, "notifications/initialized", nil))
	send(legacy.message(t, 2, "tools/list", nil))
	if got := until(`"id":2`); strings.Contains(got, "cancel_payout") || !strings.Contains(got, "get_account") {
		t.Errorf("the tools are %s", got)
	}
	write("b.graphql", cancelOperation)
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("notifications/tools/list_changed")
	send(legacy.message(t, 3, "tools/list", nil))
	if got := until(`"id":3`); !strings.Contains(got, "cancel_payout") {
		t.Errorf("the tools are %s", got)
	}
	toServer.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A client that asks for the tools while the schema is loaded for the first time
// gets those of the operations too.
func TestToolsWaitForTheFirstLoad(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	demo, _ := upstream(t, nil)
	_, url := upstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			close(asked)
			<-release
		})
		demo.Handler.ServeHTTP(w, r)
	}))
	config, _ := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation})
	g, err := gateway.New([]gateway.Config{config}, gateway.Options{Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	base := serveGraphQL(t, g)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	<-asked
	listed := make(chan map[string]listedTool)
	go func() { listed <- listTools(t, base) }()
	close(release)
	if _, there := (<-listed)["get_account"]; !there {
		t.Error("the tool is not listed")
	}
	stop()
	running.Wait()
}

// A client of the library itself, as agents in Go use it: it lists and calls.
func TestOperationsWithAClient(t *testing.T) {
	_, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation, "b.yaml": payoutsOperation})
	base := serveGraphQL(t, newGateway(t, config))
	c, err := client.NewStreamableHttpClient(base + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	hello, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(hello.Instructions, "one operation of the GraphQL API") {
		t.Errorf("the instructions are %q", hello.Instructions)
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"get_account", "list_docs", "payouts", "read_docs", "search_docs"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "payouts", map[string]any{"account": "acc_seller2"}
	got, err := c.CallTool(ctx, request)
	if err != nil || got.IsError {
		t.Fatalf("%+v, error %v", got, err)
	}
	structured, err := json.Marshal(got.StructuredContent)
	if want := `{"result":[{"id":"pyt_12c","status":"RETURNED"}]}`; err != nil || string(structured) != want {
		t.Errorf("the answer is %s, error %v", structured, err)
	}
}

// What readiness tells of operations that are broken.
func TestOperationsHealth(t *testing.T) {
	_, url := upstream(t, nil)
	config, _ := operationsFolder(t, url, map[string]string{"a.graphql": accountOperation, "b.graphql": "query B @mcpTool(description: \"x\") { nobody }"})
	base := serveGraphQL(t, newGateway(t, config))
	for _, path := range []string{"/healthz", "/readyz"} {
		_, body := exchange(t, http.MethodGet, base+path, nil, "")
		if !strings.Contains(body, `"operations":{"published":1,"withheld":1,"faults":["`) || !strings.Contains(body, "b.graphql:1:") {
			t.Errorf("%s says %s", path, body)
		}
	}
}

// A result that has members of the names that errors stand under keeps them.
func TestOperationAnswerKeepsMembers(t *testing.T) {
	o := &operations.Operation{Name: "x"}
	fault := []execute.Fault{{Message: "late"}}
	for value, want := range map[string]string{
		`{"a":1}`:      `{"a":1,"errors":[{"message":"late"}]}`,
		`{"errors":1}`: `{"errors":[{"message":"late"}],"result":{"errors":1}}`,
		`[1]`:          `{"errors":[{"message":"late"}],"result":[1]}`,
	} {
		got, err := operationAnswer(o, operations.Result{State: operations.Found, Value: json.RawMessage(value), Errors: fault})
		if err != nil {
			t.Fatal(err)
		}
		structured, err := json.Marshal(got.structured)
		if err != nil || string(structured) != want || !strings.Contains(got.text, "late") {
			t.Errorf("%s becomes %s and %q, error %v", value, structured, got.text, err)
		}
	}
}
