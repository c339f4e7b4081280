package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
	"github.com/docseek/docseek/server/auth"
)

// keyring accepts tokens that are a caller's name.
type keyring map[string]auth.Caller

func (k keyring) Verify(_ context.Context, token string) (auth.Caller, error) {
	if token == "unchecked" {
		return auth.Caller{}, auth.ErrUnavailable
	}
	caller, ok := k[token]
	if !ok {
		return auth.Caller{}, auth.ErrUnknown
	}
	caller.Name = token
	return caller, nil
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
}

// protected serves a server that asks for tokens.
func protected(t *testing.T, opts Options, callers keyring) string {
	t.Helper()
	if opts.Docs == nil {
		opts.Docs = &library{}
	}
	if opts.Log == nil {
		opts.Log = discard()
	}
	opts.Access.Verifiers = append(opts.Access.Verifiers, callers)
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, s)
}

const listToolsMessage = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// Every route, with and without a token, where tokens are asked for and where
// they are not.
func TestRoutesAndTokens(t *testing.T) {
	const ok, see, challenged, refused = 200, 303, 401, 405
	callers := keyring{"reader": {Scopes: auth.ReadScopes()}}
	open, err := New(Options{Docs: &library{}, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	bases := map[string]string{"off": serve(t, open), "on": protected(t, Options{}, callers)}
	const browser = "text/html"
	for _, test := range []struct {
		method, path, accept, body string
		// off is without auth; the others are with it: no token, an unknown one, a
		// good one, and a good one as the page's cookie.
		off, none, unknown, good, cookie int
	}{
		{"POST", "/mcp", "", listToolsMessage, ok, challenged, challenged, ok, challenged},
		{"POST", "/mcp/", "", listToolsMessage, ok, challenged, challenged, ok, challenged},
		{"GET", "/mcp", "", "", refused, challenged, challenged, refused, challenged},
		{"GET", "/mcp", browser, "", ok, challenged, challenged, ok, challenged},
		{"DELETE", "/mcp", "", "", refused, challenged, challenged, refused, challenged},
		{"OPTIONS", "/mcp", "", "", 204, challenged, challenged, 204, challenged},
		{"GET", "/mcp/server-card", "", "", ok, challenged, challenged, ok, challenged},
		{"GET", "/", browser, "", ok, see, challenged, ok, ok},
		{"GET", "/", "", "", ok, challenged, challenged, ok, ok},
		{"GET", "/?q=limits", browser, "", ok, see, challenged, ok, ok},
		{"GET", "/sources", browser, "", ok, see, challenged, ok, ok},
		{"GET", "/tools", browser, "", ok, see, challenged, ok, ok},
		{"GET", "/connect", browser, "", ok, see, challenged, ok, ok},
		{"GET", "/assets/site.css", "", "", ok, challenged, challenged, ok, ok},
		{"POST", "/logout", "", "", see, challenged, challenged, see, see},
		{"GET", "/login", browser, "", ok, ok, ok, ok, ok},
		{"POST", "/login", "", "", 400, 400, 400, 400, 400},
		{"GET", "/healthz", "", "", ok, ok, ok, ok, ok},
		{"GET", "/readyz", "", "", ok, ok, ok, ok, ok},
		{"GET", "/.well-known/mcp/server-card.json", "", "", ok, ok, ok, ok, ok},
		{"GET", "/.well-known/ai-catalog.json", "", "", ok, ok, ok, ok, ok},
		{"GET", "/.well-known/oauth-protected-resource", "", "", 404, 404, 404, 404, 404},
		{"GET", "/.well-known/openid-configuration", "", "", 404, 404, 404, 404, 404},
		{"POST", "/runs", "", "", 404, challenged, challenged, 404, challenged},
		{"GET", "/metrics", "", "", 404, challenged, challenged, 404, challenged},
		{"GET", "/nowhere", "", "", 404, challenged, challenged, 404, challenged},
		{"GET", "/sources/../mcp", "", "", 307, challenged, challenged, 307, challenged},
		{"GET", "//mcp", "", "", 307, challenged, challenged, 307, challenged},
	} {
		for how, want := range map[string]int{"off": test.off, "none": test.none, "unknown": test.unknown, "good": test.good, "cookie": test.cookie} {
			header := map[string]string{"Accept": test.accept, "Content-Type": "application/json"}
			base := bases["on"]
			switch how {
			case "off":
				base = bases["off"]
			case "unknown":
				header["Authorization"] = "Bearer nobody"
			case "good":
				header["Authorization"] = "bearer reader"
			case "cookie":
				header["Cookie"] = "docseek_token=cmVhZGVy"
			}
			status, got := once(t, test.method, base+test.path, header, test.body)
			if status != want {
				t.Errorf("%s %s %q, token %s: status %d, want %d: %s", test.method, test.path, test.accept, how, status, want, got)
			}
			if status == challenged && !strings.Contains(got, `"message":"`) {
				t.Errorf("%s %s, token %s: the refusal has no sentence: %s", test.method, test.path, how, got)
			}
		}
	}
}

// once asks without following a redirect.
func once(t *testing.T, method, address string, header map[string]string, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(got)
}

// sentence is the message of a JSON-RPC error.
func sentence(t *testing.T, body string) string {
	t.Helper()
	var got struct {
		JSONRPC string `json:"jsonrpc"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.JSONRPC != "2.0" {
		t.Fatalf("%s is no JSON-RPC error: %v", body, err)
	}
	return got.Error.Message
}

func TestChallenges(t *testing.T) {
	callers := keyring{
		"reader": {Scopes: auth.ReadScopes()}, "graph": {Scopes: []string{auth.GraphQLRead}}, "nothing": {},
	}
	_, upstreamURL := upstream(t, nil)
	opts := Options{GraphQL: newGateway(t, bank(upstreamURL)), PublicURL: "https://mcp.example.com/"}
	tokens := protected(t, opts, callers)
	opts.Access.Issuers = []string{"https://login.example.com"}
	oauth := protected(t, opts, callers)
	const metadata = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`
	search := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"x"}}}`
	for _, test := range []struct {
		name, base, authorization, body string
		status                          int
		challenge, sentence             string
	}{
		{"no token", tokens, "", listToolsMessage, 401, `Bearer`, `a token is needed: send it as "Authorization: Bearer TOKEN"`},
		{"unknown token", tokens, "Bearer nobody", listToolsMessage, 401, `Bearer error="invalid_token"`, "the token is not accepted: it is unknown, has expired, or was issued for another server"},
		{"other scheme", tokens, "Basic cmVhZGVy", listToolsMessage, 400, `Bearer error="invalid_request"`, `the Authorization header cannot be read: send it once, as "Authorization: Bearer TOKEN"`},
		{"no value", tokens, "Bearer ", listToolsMessage, 400, `Bearer error="invalid_request"`, `the Authorization header cannot be read: send it once, as "Authorization: Bearer TOKEN"`},
		{"two values", tokens, "Bearer reader, Bearer graph", listToolsMessage, 400, `Bearer error="invalid_request"`, `the Authorization header cannot be read: send it once, as "Authorization: Bearer TOKEN"`},
		{"too long", tokens, "Bearer " + strings.Repeat("x", 17<<10), listToolsMessage, 401, `Bearer error="invalid_token"`, "the token is not accepted: it is unknown, has expired, or was issued for another server"},
		{"issuer down", tokens, "Bearer unchecked", listToolsMessage, 503, "", "the token cannot be checked now, since its issuer does not answer: try again in a few seconds"},
		{"scope", tokens, "Bearer graph", search, 403, `Bearer error="insufficient_scope", scope="docs:read"`, "the token has not the scope for this: docs:read"},
		{"no scope at all", tokens, "Bearer nothing", search, 403, `Bearer error="insufficient_scope", scope="docs:read"`, "the token has not the scope for this: docs:read"},
		{"resource", tokens, "Bearer graph", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://docs/guide/"}}`, 403, `Bearer error="insufficient_scope", scope="docs:read"`, "the token has not the scope for this: docs:read"},

		{"no token, OAuth", oauth, "", listToolsMessage, 401, `Bearer ` + metadata + `, scope="docs:read graphql:read"`, `a token is needed: send it as "Authorization: Bearer TOKEN"`},
		{"unknown token, OAuth", oauth, "Bearer nobody", listToolsMessage, 401, `Bearer error="invalid_token", ` + metadata + `, scope="docs:read graphql:read"`, "the token is not accepted: it is unknown, has expired, or was issued for another server"},
		{"scope, OAuth", oauth, "Bearer graph", search, 403, `Bearer error="insufficient_scope", scope="docs:read", ` + metadata, "the token has not the scope for this: docs:read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := map[string]string{"Content-Type": "application/json"}
			if test.authorization != "" {
				header["Authorization"] = test.authorization
			}
			response, body := exchange(t, "POST", test.base+"/mcp", header, test.body)
			if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != test.status || got != test.challenge {
				t.Errorf("status %d, challenge %s, want %d, %s", response.StatusCode, got, test.status, test.challenge)
			}
			if got := sentence(t, body); got != test.sentence {
				t.Errorf("sentence %q, want %q", got, test.sentence)
			}
			if test.status == 503 && response.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		})
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tokens+"/mcp?access_token=reader", strings.NewReader(listToolsMessage))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token in the query is answered with %d", response.StatusCode)
	}
}

func TestDiscoveryDocuments(t *testing.T) {
	base := protected(t, Options{
		PublicURL: "https://mcp.example.com/", Version: "1.2.3", Access: Access{Issuers: []string{"https://login.example.com"}},
	}, keyring{})
	get := func(path string) (*http.Response, map[string]any) {
		response, body := exchange(t, "GET", base+path, nil, "")
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, response.StatusCode, body)
		}
		var document map[string]any
		if err := json.Unmarshal([]byte(body), &document); err != nil {
			t.Fatal(err)
		}
		again, _ := exchange(t, "GET", base+path, map[string]string{"If-None-Match": response.Header.Get("ETag")}, "")
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: asked again with its tag: %d", path, again.StatusCode)
		}
		return response, document
	}
	want := map[string]any{
		"resource": "https://mcp.example.com", "authorization_servers": []any{"https://login.example.com"},
		"scopes_supported": []any{"docs:read"}, "bearer_methods_supported": []any{"header"}, "resource_name": "Documentation search",
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		if _, got := get(path); !cmp.Equal(want, got) {
			t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(want, got))
		}
	}
	response, card := get("/.well-known/mcp/server-card.json")
	if got := response.Header.Get("Content-Type"); got != "application/mcp-server-card+json" {
		t.Errorf("the card is %s", got)
	}
	remote, _ := card["remotes"].([]any)[0].(map[string]any)
	if card["name"] != "com.example.mcp/docseek" || card["version"] != "1.2.3" || remote["url"] != "https://mcp.example.com/mcp" ||
		remote["headers"] == nil || !slices.Contains(remote["supportedProtocolVersions"].([]any), any("2026-07-28")) {
		t.Errorf("card: %v", card)
	}
	response, catalog := get("/.well-known/ai-catalog.json")
	entry, _ := catalog["entries"].([]any)[0].(map[string]any)
	if response.Header.Get("Content-Type") != "application/ai-catalog+json" || entry["identifier"] != "urn:air:mcp.example.com:mcp:docseek" ||
		entry["url"] != "https://mcp.example.com/.well-known/mcp/server-card.json" {
		t.Errorf("catalogue: %v", catalog)
	}
}

// indexed is a real engine on two sources, whose pages say nearly the same.
func indexed(t *testing.T) *search.Engine {
	t.Helper()
	store, err := local.Open(t.Context(), t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	analyzer := lexical.New()
	for _, source := range []string{"handbook", "secret"} {
		w, err := store.Begin(t.Context(), docseek.Source{Name: source, Start: "https://" + source + ".test/sitemap.xml"}, "model", false)
		if err != nil {
			t.Fatal(err)
		}
		address := "https://" + source + ".test/keys"
		chunk := docseek.Chunk{
			ID: address + "/0", URL: address, Anchor: "keys", Title: "Keys", Path: []string{"Keys"}, Text: "Rotate the " + source + " key every thirty days.",
		}
		record := search.PageRecord{URL: address, Title: "Keys of the " + source, Hash: source, Chunks: 1, Outline: []docseek.Heading{{Title: "Keys", Anchor: "keys", Level: 1}}}
		weighed := search.Embedding{Chunk: chunk, TextHash: chunk.Embedded(), Lexical: analyzer.Chunk(chunk)}
		if err := w.Put(t.Context(), record, []search.Embedding{weighed}); err != nil {
			t.Fatal(err)
		}
		counts, err := w.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Commit(t.Context(), counts, search.Run{Source: source, Outcome: search.Published}), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return search.NewEngine(store, search.Options{Now: time.Now})
}

// A token that is limited to sources sees those and no trace of the others, by
// whatever way it asks.
func TestTokensLimitedToSources(t *testing.T) {
	base := protected(t, Options{Docs: indexed(t), ConnectorTools: true}, keyring{
		"narrow": {Scopes: []string{auth.DocsRead}, Sources: []string{"handbook"}},
		"none":   {Scopes: []string{auth.DocsRead}, Sources: []string{}},
		"wide":   {Scopes: []string{auth.DocsRead}},
	})
	asks := map[string]struct {
		method string
		params map[string]any
	}{
		"search":         {"tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "rotate key"}}},
		"search by name": {"tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "rotate key", "source": "secret"}}},
		"read":           {"tools/call", map[string]any{"name": "read_docs", "arguments": map[string]any{"url": "https://secret.test/keys"}}},
		"read by path":   {"tools/call", map[string]any{"name": "read_docs", "arguments": map[string]any{"url": "/keys"}}},
		"list":           {"tools/call", map[string]any{"name": "list_docs"}},
		"list pages":     {"tools/call", map[string]any{"name": "list_docs", "arguments": map[string]any{"source": "secret"}}},
		"connector":      {"tools/call", map[string]any{"name": "search", "arguments": map[string]any{"query": "rotate key"}}},
		"fetch":          {"tools/call", map[string]any{"name": "fetch", "arguments": map[string]any{"id": "https://secret.test/keys"}}},
		"resource":       {"resources/read", map[string]any{"uri": "docs://secret/keys"}},
		"completion": {"completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": "answer_from_docs"}, "argument": map[string]any{"name": "source", "value": ""},
		}},
		"tools":        {"tools/list", nil},
		"resources":    {"resources/list", nil},
		"instructions": {"server/discover", nil},
	}
	told := func(token, what string) string {
		e, ask := modern, asks[what]
		params := maps.Clone(ask.params)
		header := e.headers(ask.method, params)
		header.Set("Authorization", "Bearer "+token)
		got := post(t, base, header, e.message(t, 1, ask.method, params))
		text := string(got.Result)
		if got.Error != nil {
			text += got.Error.Message + string(got.Error.Data)
		}
		// What the caller wrote comes back in some errors.
		return strings.ReplaceAll(text, "docs://secret/keys", "")
	}
	for what := range asks {
		got := told("narrow", what)
		if strings.Contains(got, "secret") && !strings.Contains(got, "no source") && !strings.Contains(got, "is not in the index") ||
			strings.Contains(got, "secret key") || strings.Contains(got, "of the secret") {
			t.Errorf("%s tells of a source that the token may not see: %s", what, got)
		}
		if got := told("none", what); strings.Contains(got, "handbook") {
			t.Errorf("%s tells of a source to a token for none: %s", what, got)
		}
	}
	for what, want := range map[string]string{
		"search": "Rotate the handbook key", "read by path": "Rotate the handbook key", "list": "handbook", "connector": "handbook.test/keys",
		"completion": `"values":["handbook"]`, "search by name": "there is no source secret: the sources are handbook",
	} {
		if got := strings.ReplaceAll(told("narrow", what), `\"`, ""); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if got := told("wide", "search"); !strings.Contains(got, "secret key") || !strings.Contains(got, "handbook key") {
		t.Errorf("a token for all sources: %s", got)
	}

	for _, path := range []string{"/?q=rotate+key", "/sources", "/?q=rotate+key&source=secret", "/readyz", "/healthz"} {
		_, body := exchange(t, "GET", base+path, bearer("narrow"), "")
		if strings.Contains(body, "secret.test") || strings.Contains(body, "secret key") {
			t.Errorf("%s shows a source that the token may not see:\n%s", path, body)
		}
		if path == "/sources" && !strings.Contains(body, "handbook") {
			t.Errorf("%s does not show the source that it may see", path)
		}
	}
}

// names are the tools that a token is shown.
func toolNames(t *testing.T, base, token string) (names []string, whole string) {
	t.Helper()
	header := legacy.headers("tools/list", nil)
	header.Set("Authorization", "Bearer "+token)
	got := post(t, base, header, legacy.message(t, 1, "tools/list", nil))
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(got.Result, &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, string(got.Result)
}

// A caller is shown the tools that it may call, which name the endpoints that it
// may use, and may call no others.
func TestToolsFollowTheToken(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "bank.graphql")
	if err := os.WriteFile(file, []byte(`
query ListAccounts @mcpTool(name: "list_accounts", description: "Lists accounts.") { accounts { id } }
mutation StopPayout($id: ID!) @mcpTool(name: "stop_payout", description: "Stops a payout.") { cancelPayout(id: $id) { __typename } }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	seen, upstreamURL := upstream(t, nil)
	bankAPI, shop := bank(upstreamURL), bank(upstreamURL)
	bankAPI.Documents, bankAPI.Operations = execute.Write, []string{file}
	shop.Name = "shop"
	callers := keyring{
		"docs":   {Scopes: []string{auth.DocsRead}},
		"reader": {Scopes: []string{auth.GraphQLRead}},
		"writer": {Scopes: []string{auth.GraphQLWrite}},
		"shop":   {Scopes: []string{auth.DocsRead, auth.GraphQLWrite}, Endpoints: []string{"shop"}},
		"bank":   {Scopes: []string{auth.GraphQLRead}, Endpoints: []string{"bank"}},
		"none":   {Scopes: []string{auth.GraphQLWrite}, Endpoints: []string{}},
	}
	base := protected(t, Options{GraphQL: newGateway(t, bankAPI, shop)}, callers)
	schemaTools := []string{"execute_graphql", "inspect_graphql_type", "search_graphql_schema", "validate_graphql"}
	docsTools := []string{"list_docs", "read_docs", "search_docs"}
	sorted := func(lists ...[]string) []string { return slices.Sorted(slices.Values(slices.Concat(lists...))) }
	for token, want := range map[string][]string{
		"docs":   docsTools,
		"reader": sorted(schemaTools, []string{"list_accounts"}),
		"writer": sorted(schemaTools, []string{"list_accounts", "stop_payout"}),
		"shop":   sorted(docsTools, schemaTools),
		"bank":   sorted(schemaTools, []string{"list_accounts"}),
		"none":   nil,
	} {
		got, whole := toolNames(t, base, token)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools of %s (-want +got):\n%s", token, diff)
		}
		switch token {
		case "shop":
			if strings.Contains(whole, `"bank"`) || strings.Contains(whole, "bank ") {
				t.Errorf("%s is shown another endpoint: %s", token, whole)
			}
		case "reader", "bank":
			if strings.Contains(whole, `"shop"`) != (token == "reader") || strings.Contains(whole, "mutation too") {
				t.Errorf("%s is shown: %s", token, whole)
			}
		}
		header := modern.headers("server/discover", nil)
		header.Set("Authorization", "Bearer "+token)
		told := string(post(t, base, header, modern.message(t, 1, "server/discover", nil)).Result)
		for tool, sentence := range map[string]string{
			"search_docs": "Search this server first", "execute_graphql": "execute_graphql validates", "list_accounts": "one operation of the GraphQL API",
		} {
			if strings.Contains(told, sentence) != slices.Contains(want, tool) {
				t.Errorf("the instructions of %s speak of %s, or not: %s", token, tool, told)
			}
		}
		_, page := exchange(t, "GET", base+"/tools", bearer(token), "")
		for _, name := range []string{"list_accounts", "stop_payout", "search_docs", "execute_graphql"} {
			if strings.Contains(page, name) != slices.Contains(want, name) {
				t.Errorf("the page shows %s to %s, or not: %t", name, token, strings.Contains(page, name))
			}
		}
	}

	const mutation = `mutation { cancelPayout(id: \"x\") { __typename } }`
	for _, test := range []struct {
		token, tool, args string
		status            int
		want              string
		sent              bool
	}{
		{"reader", "list_accounts", `{}`, 200, "accounts", true},
		{"reader", "stop_payout", `{"id":"x"}`, 403, "the token has not the scope for this: graphql:write", false},
		{"writer", "stop_payout", `{"id":"x"}`, 200, "cancelPayout", true},
		{"docs", "list_accounts", `{}`, 403, "graphql:read", false},
		{"docs", "execute_graphql", `{"document":"{accounts{id}}","endpoint":"bank"}`, 403, "graphql:read", false},
		{"shop", "list_accounts", `{}`, 200, "tool 'list_accounts' not found", false},
		{"shop", "stop_payout", `{"id":"x"}`, 200, "tool 'stop_payout' not found", false},
		{"shop", "execute_graphql", `{"document":"{accounts{id}}"}`, 200, "accounts", true},
		{"shop", "execute_graphql", `{"document":"{accounts{id}}","endpoint":"bank"}`, 200, "endpoint must be one of shop", false},
		{"shop", "execute_graphql", `{"document":"` + mutation + `"}`, 200, "only queries are allowed here", false},
		{"none", "execute_graphql", `{"document":"{accounts{id}}"}`, 200, "not found", false},
		{"bank", "execute_graphql", `{"document":"{accounts{id}}"}`, 200, "accounts", true},
		{"bank", "execute_graphql", `{"document":"` + mutation + `"}`, 200, "the caller may run queries only", false},
		{"bank", "search_graphql_schema", `{"terms":["iban"],"endpoint":"shop"}`, 200, "endpoint must be one of bank", false},
		{"reader", "execute_graphql", `{"document":"` + mutation + `","endpoint":"bank"}`, 200, "the caller may run queries only", false},
		{"writer", "execute_graphql", `{"document":"` + mutation + `","endpoint":"bank"}`, 200, "cancelPayout", true},
		{"reader", "no_such_tool", `{}`, 200, "tool 'no_such_tool' not found", false},
	} {
		seen.reset()
		params := map[string]any{"name": test.tool, "arguments": json.RawMessage(test.args)}
		header := legacy.headers("tools/call", params)
		header.Set("Authorization", "Bearer "+test.token)
		got := post(t, base, header, legacy.message(t, 1, "tools/call", params))
		text := string(got.Result)
		if got.Error != nil {
			text = got.Error.Message
		}
		if got.Status != test.status || !strings.Contains(text, test.want) || len(seen.sent()) > 0 != test.sent {
			t.Errorf("%s calls %s(%s): status %d, %s; sent %q", test.token, test.tool, test.args, got.Status, text, seen.sent())
		}
	}
}

// The rate is that of the token, or else of the address that the trusted proxies
// tell; probes are not counted, nor programs on this machine without auth.
func TestRateLimits(t *testing.T) {
	access := Access{PerMinute: 1, Burst: 2, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	base := protected(t, Options{Access: access}, keyring{"one": {Scopes: auth.ReadScopes()}, "two": {Scopes: auth.ReadScopes()}})
	ask := func(base, token, client string) (*http.Response, string) {
		header := map[string]string{"Content-Type": "application/json"}
		if token != "" {
			header["Authorization"] = "Bearer " + token
		}
		if client != "" {
			header["X-Forwarded-For"] = client
		}
		return exchange(t, "POST", base+"/mcp", header, listToolsMessage)
	}
	status := func(base, token, client string) int {
		response, _ := ask(base, token, client)
		return response.StatusCode
	}
	for i, want := range []int{200, 200, 429, 429} {
		if got := status(base, "one", "203.0.113."+string(rune('1'+i))); got != want {
			t.Errorf("request %d of a token from changing addresses: %d, want %d", i, got, want)
		}
	}
	response, body := ask(base, "one", "")
	if wait := response.Header.Get("Retry-After"); wait == "" || wait == "0" || !strings.Contains(sentence(t, body), "too many requests: try again in "+wait+" s") {
		t.Errorf("Retry-After %q: %s", wait, body)
	}
	if got := status(base, "two", "203.0.113.1"); got != 200 {
		t.Errorf("another token from the same address: %d", got)
	}
	for i, want := range []int{401, 401, 429} {
		if got := status(base, "", "198.51.100.7, 203.0.113.9"); got != want {
			t.Errorf("request %d without a token: %d, want %d", i, got, want)
		}
	}
	if got := status(base, "guess", "1.1.1.1, 203.0.113.9"); got != 429 {
		t.Errorf("a spoofed hop to the left makes another caller: %d", got)
	}
	if got := status(base, "", "203.0.113.10"); got != 401 {
		t.Errorf("another address: %d", got)
	}
	for _, path := range []string{"/healthz", "/readyz", "/.well-known/ai-catalog.json"} {
		for range 5 {
			if response, _ := exchange(t, "GET", base+path, nil, ""); response.StatusCode != http.StatusOK {
				t.Fatalf("%s is limited: %d", path, response.StatusCode)
			}
		}
	}

	access.Proxies = nil
	open, err := New(Options{Docs: &library{}, Log: discard(), Access: access})
	if err != nil {
		t.Fatal(err)
	}
	unlimited := serve(t, open)
	for range 10 {
		if got := status(unlimited, "", "203.0.113.1"); got != 200 {
			t.Fatalf("a program on this machine is limited: %d", got)
		}
	}
}

// More calls than are answered at once wait, and those for which there is no
// room are told so; the others do not fail.
func TestCallsAtOnce(t *testing.T) {
	docs, started, ended := waiting()
	s, err := New(Options{Docs: docs, Log: discard(), Access: Access{Calls: 1, Queue: 1}})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	ctx, leave := context.WithCancel(t.Context())
	send := func() {
		params := map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", strings.NewReader(string(legacy.message(t, 1, "tools/call", params))))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header = legacy.headers("tools/call", params)
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}
	var clients sync.WaitGroup
	clients.Go(send)
	<-started
	clients.Go(send)
	for {
		response, body := exchange(t, "POST", base+"/mcp", map[string]string{"Content-Type": "application/json"}, listToolsMessage)
		if response.StatusCode == http.StatusOK {
			continue // this one was the one that waited
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" || sentence(t, body) != "the server is busy: try again in a moment" {
			t.Errorf("status %d: %s", response.StatusCode, body)
		}
		break
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call whose client left ended with %v", err)
	}
	clients.Wait()
}

// Each call is in the log with its caller and outcome, and neither a token nor
// what was asked.
func TestAudit(t *testing.T) {
	log := &lockedBuffer{}
	token := auth.NewToken()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	line, err := auth.NewEntry("ci", token).Line()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(log, nil))
	file, err := auth.OpenFile(path, time.Now, logger)
	if err != nil {
		t.Fatal(err)
	}
	_, upstreamURL := upstream(t, nil)
	s, err := New(Options{
		Docs: indexed(t), GraphQL: newGateway(t, bank(upstreamURL)), Log: logger,
		Access: Access{Verifiers: []auth.Verifier{file}, PerMinute: 600, Burst: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	header := bearer(token)
	header["X-Tenant"], header["User-Agent"], header["Cookie"] = "s3cret-tenant", "s3cret-agent", "other=s3cret-cookie"
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"s3cret question"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"limit":"s3cret"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_docs","arguments":{"url":"s3cret"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_graphql","arguments":{"document":"{ s3cret }"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_graphql","arguments":{"document":"query($s3cret:ID!){ account(id:$s3cret){ id } }","variables":{"s3cret":"s3cret"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s3cret"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://handbook/s3cret"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"s3cret"}`,
		`s3cret`,
	} {
		exchange(t, "POST", base+"/mcp", header, message)
	}
	exchange(t, "GET", base+"/?q=s3cret", header, "")
	exchange(t, "GET", base+"/s3cret", header, "")
	exchange(t, "POST", base+"/mcp", bearer("s3cret"), listToolsMessage)
	exchange(t, "POST", base+"/mcp", map[string]string{"Authorization": "s3cret"}, listToolsMessage)
	exchange(t, "POST", base+"/login", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "token=s3cret")
	text := log.String()
	if strings.Contains(text, "s3cret") || strings.Contains(text, token) || strings.Contains(text, token[len("docseek_"):]) {
		t.Errorf("the log has what a caller sent:\n%s", text)
	}
	for _, want := range []string{
		`msg="tool call" caller=ci tool=search_docs outcome=ok duration=`,
		`msg="tool call" caller=ci tool=search_docs outcome=invalid duration=`,
		`msg="tool call" caller=ci tool=execute_graphql outcome=failed duration=`,
		`msg="resource read" caller=ci outcome=failed duration=`,
		`msg="token refused"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no line with %s:\n%s", want, text)
		}
	}
}

// A person signs in with a token, which the browser keeps for the page alone.
func TestLogin(t *testing.T) {
	base := protected(t, Options{}, keyring{"reader": {Scopes: auth.ReadScopes()}})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	submit := func(path, token string) (*http.Response, string) {
		t.Helper()
		response, err := browser.PostForm(base+path, url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	for token, want := range map[string]struct {
		status   int
		sentence string
	}{
		"":                          {400, "Paste a token."},
		"nobody":                    {401, "The token is not accepted"},
		"unchecked":                 {503, "cannot be checked now"},
		strings.Repeat("x", 20<<10): {400, "Paste a token."},
	} {
		response, body := submit("/login", token)
		if response.StatusCode != want.status || !strings.Contains(body, want.sentence) || len(response.Cookies()) > 0 {
			t.Errorf("a login with %.10q: %d, cookies %v", token, response.StatusCode, response.Cookies())
		}
	}
	response, _ := submit("/login", "reader")
	cookies := response.Cookies()
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("login: %d to %q, cookies %v", response.StatusCode, response.Header.Get("Location"), cookies)
	}
	if c := cookies[0]; !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge <= 0 || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
	status := func(method, path string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(listToolsMessage))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if page, mcp := status("GET", "/"), status("POST", "/mcp"); page != 200 || mcp != 401 {
		t.Errorf("with the cookie the page gives %d and /mcp %d", page, mcp)
	}
	if response, _ := submit("/logout", ""); response.StatusCode != http.StatusSeeOther {
		t.Errorf("logout: %d", response.StatusCode)
	}
	if page := status("GET", "/"); page != 401 {
		t.Errorf("after the logout the page gives %d", page)
	}

	for name, test := range map[string]struct {
		opts   Options
		header map[string]string
		secure bool
	}{
		"public https":              {Options{PublicURL: "https://mcp.example.com"}, nil, true},
		"https before a proxy":      {Options{Access: Access{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}}, map[string]string{"X-Forwarded-Proto": "https"}, true},
		"https by anybody's word":   {Options{}, map[string]string{"X-Forwarded-Proto": "https"}, false},
		"https to the proxy before": {Options{Access: Access{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}}, map[string]string{"X-Forwarded-Proto": "https, http"}, false},
	} {
		header := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		maps.Copy(header, test.header)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, protected(t, test.opts, keyring{"reader": {}})+"/login", strings.NewReader("token=reader"))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if cookies := response.Cookies(); len(cookies) != 1 || cookies[0].Secure != test.secure {
			t.Errorf("%s: cookies %v", name, cookies)
		}
	}
}

// Pages of allowed origins are told what they may send, before a token is asked for.
func TestCORS(t *testing.T) {
	base := protected(t, Options{AllowedOrigins: []string{"https://app.example.com"}}, keyring{"reader": {Scopes: auth.ReadScopes()}})
	preflight := func(origin string) *http.Response {
		response, _ := exchange(t, "OPTIONS", base+"/mcp", map[string]string{
			"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type, mcp-protocol-version",
		}, "")
		return response
	}
	response := preflight("https://app.example.com")
	allowed := strings.ToLower(response.Header.Get("Access-Control-Allow-Headers"))
	for _, name := range []string{"authorization", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("%s may not be sent: %s", name, allowed)
		}
	}
	if response.StatusCode != http.StatusNoContent || response.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		response.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", response.StatusCode, response.Header)
	}
	if response := preflight("https://evil.example"); response.StatusCode != http.StatusForbidden || response.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("preflight of a foreign page: %d %v", response.StatusCode, response.Header)
	}
	header := bearer("nobody")
	header["Origin"] = "https://app.example.com"
	response, _ = exchange(t, "POST", base+"/mcp", header, listToolsMessage)
	if response.StatusCode != http.StatusUnauthorized || response.Header.Get("Access-Control-Allow-Origin") == "" ||
		!strings.Contains(response.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("a page cannot read the challenge: %v", response.Header)
	}
}

// A tokens file that cannot be read shows in the readiness of those who may see it.
func TestReadinessTellsOfTheTokensFile(t *testing.T) {
	base := protected(t, Options{Access: Access{Status: func() error { return errors.New("read the tokens: line 3") }}}, keyring{
		"reader": {Scopes: auth.ReadScopes()}, "graph": {Scopes: []string{auth.GraphQLRead}},
		"guest": {Scopes: auth.ReadScopes(), Sources: []string{"docs"}},
	})
	for token, want := range map[string]struct{ fault, sources bool }{
		"reader": {true, true}, "guest": {false, true}, "graph": {}, "nobody": {},
	} {
		response, body := exchange(t, "GET", base+"/readyz", bearer(token), "")
		if response.StatusCode != http.StatusOK || strings.Contains(body, "line 3") != want.fault || strings.Contains(body, `"generation":3`) != want.sources {
			t.Errorf("%s: %d %s", token, response.StatusCode, body)
		}
		if kept := response.Header.Get("Cache-Control"); kept != "no-store" {
			t.Errorf("%s: Cache-Control %q", token, kept)
		}
	}
}
