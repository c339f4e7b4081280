package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/internal/demo/api"
)

// recorder keeps what an endpoint was sent.
type recorder struct {
	http.Handler
	mu     sync.Mutex
	bodies []string
	header http.Header // of the last request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	r.header = request.Header.Clone()
	r.mu.Unlock()
	request.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, request)
}

// sent are the bodies since it was asked last.
func (r *recorder) sent() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	bodies := r.bodies
	r.bodies = nil
	return bodies
}

// recorded serves the demo's API and records what it is sent.
func recorded(t *testing.T) (*recorder, string) {
	t.Helper()
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Handler: demo}
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	return r, web.URL
}

// folder is a folder of operations, which can be written to.
type folder struct {
	t    *testing.T
	path string
}

func newFolder(t *testing.T, files map[string]string) folder {
	t.Helper()
	f := folder{t, t.TempDir()}
	for name, text := range files {
		f.write(name, text)
	}
	return f
}

func (f folder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.path, name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) patterns() []string {
	return []string{filepath.Join(f.path, "ops", "**", "*.graphql"), filepath.Join(f.path, "ops", "**", "*.yaml")}
}

// bankOf is the demo's API with operations and nothing else.
func bankOf(url string, f folder) gateway.Config {
	return gateway.Config{Name: "bank", URL: url, Documents: execute.None, Operations: f.patterns()}
}

func names(g *gateway.Gateway) string {
	var all []string
	for _, o := range g.Operations() {
		all = append(all, o.Name)
	}
	return strings.Join(all, " ")
}

const (
	getAccount  = `query GetAccount($id: ID!) @mcpTool(description: "One account.") { account(id: $id) { id iban } }`
	getOwner    = `query GetOwner($id: ID!) @mcpTool(description: "One owner.") { owner(id: $id) { name } }`
	cancel      = `mutation CancelPayout($id: ID!) @mcpTool(description: "Takes a payout back.") { cancelPayout(id: $id) { __typename } }`
	payoutsFile = `name: payouts
description: What was paid out of an account.
operation_type: query
operation_name: Payouts
query_template: |
  query Payouts($id: ID!) { account(id: $id) { payouts { id status } } }
variables_schema: {type: object, properties: {account: {type: string}}, required: [account]}
input_mapping: {id: $.account}
response_path: $.account.payouts
`
)

// With documents: none, an operation's own document is all that ever goes up,
// whatever is asked and however.
func TestOnlyApprovedDocuments(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/deep/b.graphql": cancel, "ops/c.yaml": payoutsFile})
	upstream, url := recorded(t)
	g := open(t, quiet(), bankOf(url, f))
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(g); got != "cancel_payout get_account payouts" {
		t.Fatalf("published are %s", got)
	}
	info := g.Endpoints()[0]
	if info.Explore || info.Documents != execute.None || info.Operations.Published != 3 || len(info.Operations.Faults) != 0 {
		t.Errorf("the endpoint is %+v, its operations %+v", info, info.Operations)
	}
	upstream.sent()
	documents := map[string]bool{}
	for _, o := range g.Operations() {
		documents[o.Document] = true
	}
	const other = "{ accounts { id } }"
	_, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: other})
	refused(t, err, "no GraphQL endpoint is configured that allows to execute documents")
	_, err = g.Validate(t.Context(), gateway.ValidateQuery{Document: other})
	refused(t, err, "allows to validate documents")
	_, err = g.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"iban"}})
	refused(t, err, "allows to search the schema")
	for _, name := range []string{"", "accounts", "GetAccount", other, "get_account ", "__proto__"} {
		_, err := g.Call(t.Context(), gateway.OperationCall{Name: name})
		refused(t, err, "is not published")
	}
	for name, inputs := range map[string][]string{
		"get_account": {
			`{"id":"acc_seller1"}`, `{"id":") { id } accounts { iban } x: account(id: \"1\""}`, `{"id":"x","query":"{ accounts { id } }"}`,
			`{"id":"x","documentId":"1","extensions":{}}`, `{}`, `[]`, `"{ accounts { id } }"`, `{"id":{"document":"{ a }"}}`,
		},
		"payouts":       {`{"account":"acc_seller1"}`, `{"account":"x","operationName":"Other"}`, `{"id":"x"}`},
		"cancel_payout": {`{"id":"pyt_12c"}`},
	} {
		for _, input := range inputs {
			if _, err := g.Call(t.Context(), gateway.OperationCall{Name: name, Input: json.RawMessage(input)}); err != nil {
				t.Errorf("%s with %s: %v", name, input, err)
			}
		}
	}
	sent := upstream.sent()
	if len(sent) < 4 {
		t.Errorf("%d requests went up", len(sent))
	}
	for _, body := range sent {
		var request struct {
			Query, DocumentID string
			Extensions        json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil {
			t.Fatal(err)
		}
		if !documents[request.Query] || request.DocumentID != "" || request.Extensions != nil {
			t.Errorf("sent was %s", body)
		}
	}
}

func TestCall(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/c.yaml": payoutsFile})
	upstream, url := recorded(t)
	config := bankOf(url, f)
	config.Forward = []string{"X-Tenant"}
	g := open(t, quiet(), config)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, input, want string }{
		{"get_account", `{"id":"acc_seller1"}`, `{"account":{"iban":"DE02120300000000202051","id":"acc_seller1"}}`},
		{"get_account", `{"id":"none"}`, `{"account":null}`},
		{"payouts", `{"account":"acc_seller2"}`, `{"result":[{"id":"pyt_12c","status":"RETURNED"}]}`},
	} {
		got, err := g.Call(t.Context(), gateway.OperationCall{
			Name: test.name, Input: json.RawMessage(test.input),
			Header: http.Header{"X-Tenant": {"t1"}, "Cookie": {"c"}, "Authorization": {"Bearer caller"}},
		})
		if err != nil || got.Failed() {
			t.Errorf("%s: %+v, error %v", test.name, got, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got.Object())); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", test.name, diff)
		}
		if upstream.header.Get("X-Tenant") != "t1" || upstream.header.Get("Cookie") != "" || upstream.header.Get("Authorization") != "" {
			t.Errorf("%s was sent with %v", test.name, upstream.header)
		}
	}
}

// Without a schema, operation files are published and annotated documents are
// not: what their arguments are, only the schema says.
func TestWithoutSchema(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/c.yaml": payoutsFile})
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	var asked bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("__schema")) && !asked || bytes.Contains(body, []byte("__type")) && !asked {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"errors":[{"message":"introspection is not allowed","extensions":{"code":"INTROSPECTION_DISABLED"}}]}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		demo.ServeHTTP(w, r)
	}))
	defer web.Close()
	config := bankOf(web.URL, f)
	config.Strict = true // what cannot be looked at is not broken
	g := open(t, quiet(), config)
	if err := g.Reload(t.Context()); err == nil {
		t.Error("a schema was loaded")
	}
	if got := names(g); got != "payouts" {
		t.Fatalf("published are %q: %+v", got, g.Endpoints()[0].Operations)
	}
	if info := g.Endpoints()[0]; info.State != gateway.Unavailable || info.Operations.Published != 1 || info.Operations.Withheld != 1 {
		t.Errorf("the endpoint is %+v, its operations %+v", info, info.Operations)
	}
	got, err := g.Call(t.Context(), gateway.OperationCall{Name: "payouts", Input: json.RawMessage(`{"account":"acc_seller2"}`)})
	if err != nil || got.Failed() {
		t.Errorf("call: %+v, error %v", got, err)
	}
	asked = true
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(g); got != "get_account payouts" {
		t.Errorf("with the schema, published are %q", got)
	}
}

// What changes in the files changes what is published; what is broken is left
// out by itself, and said with its place.
func TestRefresh(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount})
	var log bytes.Buffer
	_, url := recorded(t)
	g := open(t, slog.New(slog.NewTextHandler(&log, nil)), bankOf(url, f))
	changes := 0
	g.OnChange(func() { changes++ })
	if err := g.Refresh(t.Context()); err != nil || names(g) != "" {
		t.Errorf("before the first load there are %q, error %v", names(g), err)
	}
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what    string
		do      func()
		want    string
		changes int
		failure string
	}{
		{"nothing", func() {}, "get_account", 0, ""},
		{"a new file", func() { f.write("ops/new/b.graphql", getOwner) }, "get_account get_owner", 1, ""},
		{"a broken file", func() { f.write("ops/new/b.graphql", "query GetOwner @mcpTool(description: \"x\") { nobody { id } }") }, "get_account", 1, ""},
		{"a file that is mended", func() { f.write("ops/new/b.graphql", getOwner) }, "get_account get_owner", 1, ""},
		{"a name that clashes", func() { f.write("ops/c.graphql", strings.Replace(getOwner, "GetOwner", "get_owner", 1)) }, "get_account", 1, ""},
		{"a name that clashes no more", func() { f.remove("ops/c.graphql") }, "get_account get_owner", 1, ""},
		{"a comment", func() { f.write("ops/a.graphql", "# What an account is.\n"+getAccount) }, "get_account get_owner", 0, ""},
		{"another selection", func() { f.write("ops/a.graphql", strings.Replace(getAccount, "iban", "currency", 1)) }, "get_account get_owner", 0, ""},
		{"another description", func() { f.write("ops/a.graphql", strings.Replace(getAccount, "One", "An", 1)) }, "get_account get_owner", 1, ""},
		{"as it was", func() { f.write("ops/a.graphql", getAccount) }, "get_account get_owner", 1, ""},
		{"the same again", func() { f.write("ops/a.graphql", getAccount) }, "get_account get_owner", 0, ""},
		{"a folder that is away", func() { f.remove("ops") }, "get_account get_owner", 0, "ops: no such file"},
		{"a folder that is back, empty", func() { f.write("ops/README.md", "none yet") }, "", 1, ""},
		{"an operation file", func() { f.write("ops/c.yaml", payoutsFile) }, "payouts", 1, ""},
		{"a broken lock", func() { f.write("ops/"+operations.LockName, "{") }, "payouts", 0, "read operations.lock.json"},
		{"a lock that is mended", func() { f.remove("ops/" + operations.LockName) }, "payouts", 0, ""},
	} {
		step.do()
		before := changes
		err := g.Refresh(t.Context())
		if step.failure == "" && err != nil || step.failure != "" && (err == nil || !strings.Contains(err.Error(), step.failure)) {
			t.Errorf("%s: error %v, want %q", step.what, err, step.failure)
		}
		if got := names(g); got != step.want || changes-before != step.changes {
			t.Errorf("%s: published are %q after %d changes, want %q after %d", step.what, got, changes-before, step.want, step.changes)
		}
		if refusal := g.Endpoints()[0].Operations.Refusal; (refusal != nil) != (step.failure != "") {
			t.Errorf("%s: the refusal is %v", step.what, refusal)
		}
	}
	for _, want := range []string{
		`level=ERROR msg="operation is broken" endpoint=bank`, `b.graphql:1:`, `operation=GetOwner`, `nobody`,
		`level=ERROR msg="operations not reloaded"`, "previous_stay=true",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
}

// A file that cannot be read is broken alone, and so is a lock at the start: what
// needs neither is served.
func TestUnreadableFiles(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/c.yaml": payoutsFile, "ops/large.graphql": ""})
	if err := os.Truncate(filepath.Join(f.path, "ops", "large.graphql"), 2<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("self.graphql", filepath.Join(f.path, "ops", "self.graphql")); err != nil {
		t.Fatal(err)
	}
	f.write("ops/"+operations.LockName, "<<<<<<< HEAD\n{}\n")
	_, url := recorded(t)
	config := bankOf(url, f)
	config.RequireTest = true
	g := open(t, quiet(), config)
	if err := g.Reload(t.Context()); err != nil || names(g) != "get_account" {
		t.Errorf("published are %q, error %v", names(g), err)
	}
	faults := fmt.Sprint(g.Endpoints()[0].Operations.Faults)
	for _, want := range []string{"large.graphql: the file cannot be read", "self.graphql: the file cannot be read", operations.LockName + ": the file cannot be read"} {
		if !strings.Contains(faults, want) {
			t.Errorf("the faults do not say %q: %s", want, faults)
		}
	}
}

// With strict, one broken operation keeps all as it was, the schema too.
func TestStrict(t *testing.T) {
	f := newFolder(t, map[string]string{
		"ops/a.graphql":  `query A @mcpTool(description: "x") { a }`,
		"schema.graphql": "type Query { a: String }",
	})
	config := gateway.Config{
		Name: "a", URL: "http://127.0.0.1:1/", SchemaFile: filepath.Join(f.path, "schema.graphql"),
		Explore: true, Strict: true, Operations: f.patterns(),
	}
	g := open(t, quiet(), config)
	reload := func(want string) {
		t.Helper()
		err := g.Refresh(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	valid := func(document string) bool {
		t.Helper()
		got, err := g.Validate(t.Context(), gateway.ValidateQuery{Document: document})
		return err == nil && got.Valid
	}
	if err := g.Reload(t.Context()); err != nil || names(g) != "a" {
		t.Fatalf("published are %q, error %v", names(g), err)
	}
	f.write("ops/b.graphql", `query B @mcpTool(description: "x") { b }`)
	reload("the operations of a are not reloaded (strict): 1 broken, the first is " + filepath.Join(f.path, "ops", "b.graphql"))
	if names(g) != "a" || g.Endpoints()[0].Operations.Refusal == nil {
		t.Errorf("published are %q", names(g))
	}
	f.write("schema.graphql", "type Query { a: String b: String }")
	reload("")
	if names(g) != "a b" || !valid("{ b }") || g.Endpoints()[0].Operations.Refusal != nil {
		t.Errorf("published are %q", names(g))
	}
	f.write("schema.graphql", "type Query { b: String }")
	reload("strict")
	if names(g) != "a b" || !valid("{ a }") {
		t.Errorf("published are %q; a is valid: %t", names(g), valid("{ a }"))
	}

	// Where there never were operations, the schema is there without them.
	fresh := open(t, quiet(), config)
	if err := fresh.Reload(t.Context()); err == nil || names(fresh) != "" {
		t.Errorf("published are %q, error %v", names(fresh), err)
	}
	if _, err := fresh.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"b"}}); err != nil {
		t.Error(err)
	}
	f.remove("ops/a.graphql")
	if err := fresh.Refresh(t.Context()); err != nil || names(fresh) != "b" {
		t.Errorf("published are %q, error %v", names(fresh), err)
	}
}

// A schema that moves on takes only those operations away that it breaks.
func TestDrift(t *testing.T) {
	f := newFolder(t, map[string]string{
		"ops/a.graphql":  `query A @mcpTool(description: "x") { a }`,
		"ops/b.graphql":  `query B @mcpTool(description: "x") { b }`,
		"schema.graphql": "type Query { a: String b: String }",
	})
	g := open(t, quiet(), gateway.Config{
		Name: "a", URL: "http://127.0.0.1:1/", SchemaFile: filepath.Join(f.path, "schema.graphql"), Operations: f.patterns(),
	})
	if err := g.Reload(t.Context()); err != nil || names(g) != "a b" {
		t.Fatalf("published are %q, error %v", names(g), err)
	}
	f.write("schema.graphql", "type Query { a: String c: String }")
	if err := g.Refresh(t.Context()); err != nil || names(g) != "a" {
		t.Errorf("published are %q, error %v", names(g), err)
	}
	faults := g.Endpoints()[0].Operations.Faults
	if len(faults) != 1 || faults[0].Operation != "B" || !strings.Contains(faults[0].Message, "b") || faults[0].Line == 0 {
		t.Errorf("faults %v", faults)
	}
	f.write("schema.graphql", "type Query {")
	if err := g.Refresh(t.Context()); err == nil || names(g) != "a" {
		t.Errorf("with a broken schema published are %q, error %v", names(g), err)
	}
}

// A name that operations of two endpoints have is that of neither's tool, and
// both are told.
func TestClashBetweenEndpoints(t *testing.T) {
	one := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/b.graphql": getOwner})
	other := newFolder(t, map[string]string{"ops/x.graphql": getAccount})
	_, url := recorded(t)
	shop := bankOf(url, other)
	shop.Name = "shop"
	g := open(t, quiet(), bankOf(url, one), shop)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(g); got != "get_owner" {
		t.Errorf("published are %q", got)
	}
	for i, info := range g.Endpoints() {
		faults := info.Operations.Faults
		if len(faults) != 1 || faults[0].Operation != "get_account" || !strings.Contains(faults[0].Message, []string{"shop", "bank"}[i]) {
			t.Errorf("%s is told %v", info.Name, faults)
		}
	}
	_, err := g.Call(t.Context(), gateway.OperationCall{Name: "get_account"})
	refused(t, err, "is not published")
	other.write("ops/x.graphql", strings.Replace(getAccount, "GetAccount", "GetShop", 1))
	if err := g.Refresh(t.Context()); err != nil || names(g) != "get_account get_owner get_shop" {
		t.Errorf("published are %q, error %v", names(g), err)
	}
	for _, info := range g.Endpoints() {
		if len(info.Operations.Faults) != 0 {
			t.Errorf("%s is told %v", info.Name, info.Operations.Faults)
		}
	}
}

// An operation file is held back until its present revision was tested; what is
// tried is not what is published.
func TestRequireTest(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/c.yaml": payoutsFile})
	_, url := recorded(t)
	config := bankOf(url, f)
	config.RequireTest = true
	g := open(t, quiet(), config)
	if err := g.Reload(t.Context()); err != nil || names(g) != "" {
		t.Fatalf("published are %q, error %v", names(g), err)
	}
	path := filepath.Join(f.path, "ops", "c.yaml")
	op, file, faults, err := g.LoadFile("", path)
	if err != nil || op == nil || file.Path != path {
		t.Fatalf("file %+v, faults %v, error %v", file, faults, err)
	}
	if got, err := g.Try(t.Context(), op, json.RawMessage(`{"account":"acc_seller1"}`)); err != nil || got.Failed() || names(g) != "" {
		t.Errorf("the trial gave %+v, error %v; published are %q", got, err, names(g))
	}
	f.write("ops/"+operations.LockName, string(operations.Lock{}.Record(op.Name, file.Text, url, op.AuthProfile).Text()))
	if err := g.Refresh(t.Context()); err != nil || names(g) != "payouts" {
		t.Errorf("once tested, published are %q, error %v", names(g), err)
	}
	f.write("ops/c.yaml", payoutsFile+"headers: {X-Channel: agents}\n")
	if err := g.Refresh(t.Context()); err != nil || names(g) != "" {
		t.Errorf("after a change, published are %q, error %v", names(g), err)
	}
	f.write("ops/c.yaml", "name: payouts\n")
	if op, _, faults, err := g.LoadFile("bank", path); op != nil || len(faults) == 0 || err != nil {
		t.Errorf("a broken file gives %v, %v, %v", op, faults, err)
	}
	if _, _, _, err := g.LoadFile("", filepath.Join(f.path, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// More operations than agents cope with are published, and warned of once.
func TestManyOperations(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount + "\n" + getOwner})
	var log bytes.Buffer
	_, url := recorded(t)
	g, err := gateway.New([]gateway.Config{bankOf(url, f)}, gateway.Options{
		Log: slog.New(slog.NewTextHandler(&log, nil)), MaxOperations: 1, Reserved: []string{"cancel_payout"}, Base: f.path,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.write("ops/b.graphql", cancel)
	if err := g.Refresh(t.Context()); err != nil || names(g) != "get_account get_owner" {
		t.Errorf("published are %q, error %v", names(g), err)
	}
	if n := strings.Count(log.String(), "many operations are published"); n != 1 || !strings.Contains(log.String(), "raise max_operations") {
		t.Errorf("warned of %d times:\n%s", n, log.String())
	}
	if faults := g.Inventories()[0].Set.Faults; len(faults) != 1 || faults[0].File != "ops/b.graphql" {
		t.Errorf("faults %v", faults)
	}
}

// Documents that another tool has built are sent as it has written them.
func TestDocumentsOfOthers(t *testing.T) {
	const theirs = "query GetAccount($id: ID!) {\n    account(id: $id) { id\n iban }\n}"
	manifest, err := json.Marshal(map[string]string{operations.IDOf(theirs): theirs})
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount, "ops/manifest.json": string(manifest)})
	upstream, url := recorded(t)
	config := bankOf(url, f)
	config.Operations = append(config.Operations, filepath.Join(f.path, "ops", "*.json"))
	g := open(t, quiet(), config)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	upstream.sent()
	if _, err := g.Call(t.Context(), gateway.OperationCall{Name: "get_account", Input: json.RawMessage(`{"id":"acc_seller1"}`)}); err != nil {
		t.Fatal(err)
	}
	var request struct{ Query string }
	if sent := upstream.sent(); len(sent) != 1 || json.Unmarshal([]byte(sent[0]), &request) != nil || request.Query != theirs {
		t.Errorf("sent was %q; the operations have the faults %v", sent, g.Endpoints()[0].Operations.Faults)
	}
}

func TestFolders(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/deep/a.graphql": getAccount, "schema.graphql": "type Query { a: Int }"})
	config := bankOf("http://127.0.0.1:1/", f)
	config.SchemaFile = filepath.Join(f.path, "schema.graphql")
	want := []string{f.path, filepath.Join(f.path, "ops"), filepath.Join(f.path, "ops", "deep")}
	if got := open(t, quiet(), config).Folders(); !slices.Equal(got, want) {
		t.Errorf("folders %q, want %q", got, want)
	}
}

// Calls while the operations are reloaded get an answer or are told that the
// operation is gone; nobody sees half of a state.
func TestReloadUnderLoad(t *testing.T) {
	f := newFolder(t, map[string]string{"ops/a.graphql": getAccount})
	_, url := recorded(t)
	g := open(t, quiet(), bankOf(url, f))
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := g.Call(t.Context(), gateway.OperationCall{Name: "get_account", Input: json.RawMessage(`{"id":"acc_seller1"}`)})
				if err != nil || got.Failed() {
					t.Errorf("%+v, error %v", got, err)
					return
				}
				if n := names(g); n != "get_account" && n != "get_account get_owner" {
					t.Errorf("published are %q", n)
				}
			}
		})
	}
	for i := range 20 {
		if i%2 == 0 {
			f.write("ops/b.graphql", getOwner)
		} else {
			f.remove("ops/b.graphql")
		}
		if err := g.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
}
