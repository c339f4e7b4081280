package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// exchange sends a request and returns the answer with its body read.
func exchange(t *testing.T, method, url string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(got)
}

func TestMethods(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	const browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	for _, test := range []struct {
		method, path, accept string
		status               int
		allow, body          string
	}{
		{"GET", "/mcp", "text/event-stream", 405, "POST, OPTIONS", "method not allowed"},
		{"GET", "/mcp", "", 405, "POST, OPTIONS", "method not allowed"},
		{"GET", "/mcp", browser, 200, "", "claude mcp add --transport http docs " + base + "/mcp"},
		{"GET", "/mcp/", browser, 200, "", "codex mcp add docs --url " + base + "/mcp"},
		{"GET", "/", "", 200, "", "Search the documentation"},
		{"HEAD", "/mcp", browser, 200, "", ""},
		{"HEAD", "/mcp", "", 405, "POST, OPTIONS", ""},
		{"DELETE", "/mcp", "", 405, "POST, OPTIONS", "method not allowed"},
		{"PUT", "/mcp", "", 405, "POST, OPTIONS", "method not allowed"},
		{"OPTIONS", "/mcp", "", 204, "POST, OPTIONS", ""},
		{"GET", "/nowhere", "", 404, "", ""},
		{"POST", "/healthz", "", 405, "GET, HEAD", ""},
	} {
		t.Run(test.method+" "+test.path+" "+test.accept, func(t *testing.T) {
			response, body := exchange(t, test.method, base+test.path, map[string]string{"Accept": test.accept, "Mcp-Session-Id": "old"}, "")
			if response.StatusCode != test.status || response.Header.Get("Allow") != test.allow || !strings.Contains(body, test.body) {
				t.Errorf("status %d, Allow %q, want %d, %q; body %s",
					response.StatusCode, response.Header.Get("Allow"), test.status, test.allow, body)
			}
			if response.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("another origin's pages may read the answer")
			}
		})
	}
}

func TestPageNamesThePublicURL(t *testing.T) {
	s, err := New(Options{Docs: &library{}, Log: discard(), PublicURL: "https://mcp.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	response, body := exchange(t, "GET", serve(t, s)+"/connect", map[string]string{"Host": "mcp.example.com"}, "")
	if !strings.Contains(body, "https://mcp.example.com/mcp") || strings.Contains(body, "127.0.0.1") {
		t.Errorf("the page names another address:\n%s", body)
	}
	if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("Content-Security-Policy %q", policy)
	}
}

func TestHealth(t *testing.T) {
	docs := &library{}
	s, log := newServer(t, docs)
	base := serve(t, s)
	check := func(path string, status int, want string) {
		t.Helper()
		response, body := exchange(t, "GET", base+path, nil, "")
		if response.StatusCode != status || !strings.HasPrefix(body, `{"status":"`+want+`"`) {
			t.Errorf("%s: %d %s, want %d %s", path, response.StatusCode, body, status, want)
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz", 200, "ready")
	docs.list = func(context.Context, search.ListQuery) (search.Listing, error) {
		return search.Listing{Sources: []search.SourceStatus{{Name: "docs"}}}, nil
	}
	check("/readyz", 503, "empty")
	docs.list = func(context.Context, search.ListQuery) (search.Listing, error) {
		return search.Listing{}, errors.New("the disk is gone")
	}
	check("/readyz", 503, "unavailable")
	check("/healthz", 200, "ok")
	if !strings.Contains(log.String(), "the disk is gone") {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

// Every route is behind the guard.
func TestForeignHostsAndOrigins(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	for _, path := range []string{"/mcp", "/", "/healthz", "/readyz", "/nowhere"} {
		for name, header := range map[string]map[string]string{
			"rebound host": {"Host": "evil.example:8080"}, "foreign page": {"Origin": "https://evil.example"}, "sandbox": {"Origin": "null"},
		} {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				if response, _ := exchange(t, method, base+path, header, "{}"); response.StatusCode != http.StatusForbidden {
					t.Errorf("%s %s with %s: %d", method, path, name, response.StatusCode)
				}
			}
		}
	}
	if response, body := exchange(t, "GET", base+"/healthz", map[string]string{"Origin": "http://localhost:6274"}, ""); response.StatusCode != http.StatusOK {
		t.Errorf("a local page: %d %s", response.StatusCode, body)
	}
}

// What clients of every revision ask for, and what they are given.
func TestVersionNegotiation(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "": "2025-03-26",
	} {
		body := legacy.message(t, 1, "initialize", map[string]any{
			"protocolVersion": asked, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
		})
		got := post(t, base, http.Header{"Content-Type": {"application/json"}}, body)
		var result struct{ ProtocolVersion string }
		if err := json.Unmarshal(got.Result, &result); err != nil || result.ProtocolVersion != want {
			t.Errorf("initialize with %q: %q, %v, want %q", asked, result.ProtocolVersion, err, want)
		}
	}

	supported := `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`
	list := func(header string, meta map[string]any) reply {
		params := map[string]any{}
		if meta != nil {
			params["_meta"] = meta
		}
		h := http.Header{"Content-Type": {"application/json"}, "Mcp-Method": {"tools/list"}}
		if header != "" {
			h.Set("MCP-Protocol-Version", header)
		}
		return post(t, base, h, legacy.message(t, 7, "tools/list", params))
	}
	meta := func(version string) map[string]any {
		return map[string]any{
			"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	for _, test := range []struct {
		name   string
		got    reply
		status int
		code   int
	}{
		{"no header", list("", nil), 200, 0},
		{"every legacy version", list("2024-11-05", nil), 200, 0},
		{"unknown old version", list("1999-01-01", nil), 400, -32022},
		{"unknown new version", list("2099-01-01", nil), 400, -32022},
		{"not a version", list("latest", nil), 400, -32022},
		{"modern", list("2026-07-28", meta("2026-07-28")), 200, 0},
		{"modern, unknown", list("2099-01-01", meta("2099-01-01")), 400, -32022},
		{"modern header alone", list("2026-07-28", nil), 400, -32602},
		{"modern body alone", list("", meta("2026-07-28")), 400, -32020},
		{"header and body differ", list("2025-11-25", meta("2026-07-28")), 400, -32020},
	} {
		code := 0
		if test.got.Error != nil {
			code = test.got.Error.Code
		}
		if test.got.Status != test.status || code != test.code {
			t.Errorf("%s: status %d, code %d, want %d, %d", test.name, test.got.Status, code, test.status, test.code)
		}
		if code == -32022 && (!strings.Contains(string(test.got.Error.Data), supported) || test.got.ID != 7.0) {
			t.Errorf("%s: id %v, data %s, want 7, the supported versions", test.name, test.got.ID, test.got.Error.Data)
		}
	}
}

// Since 2026-07-28 headers repeat the body, so that proxies can route by them.
func TestHeadersMustMatchTheBody(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	params := map[string]any{"name": "list_docs", "arguments": map[string]any{}}
	for _, test := range []struct {
		name, header, value string
		status              int
	}{
		{"as they are", "Mcp-Name", "list_docs", 200},
		{"encoded", "Mcp-Name", "=?base64?bGlzdF9kb2Nz?=", 200},
		{"another tool", "Mcp-Name", "search_docs", 400},
		{"another method", "Mcp-Method", "tools/list", 400},
	} {
		h := modern.headers("tools/call", params)
		h.Set(test.header, test.value)
		got := post(t, base, h, modern.message(t, 1, "tools/call", params))
		if got.Status != test.status || test.status == 400 && got.Error.Code != -32020 {
			t.Errorf("%s: status %d, error %+v", test.name, got.Status, got.Error)
		}
	}
}

// What clients probe for is answered, and nothing they send harms the server.
func TestProbes(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	for _, test := range []struct {
		method, want string
	}{
		{"resources/list", `"resources":[]`},
		{"resources/templates/list", `"docs://{source}/{+path}"`},
		{"prompts/list", `"answer_from_docs"`},
		{"ping", `{}`},
	} {
		if got := call(t, base, legacy, test.method, nil); got.Error != nil || !strings.Contains(string(got.Result), test.want) {
			t.Errorf("%s: %s, %+v", test.method, got.Result, got.Error)
		}
	}
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		for _, method := range []string{"logging/setLevel", "tasks/list", "no/such/method"} {
			if got := call(t, base, e, method, nil); got.Error == nil || got.Error.Code != -32601 {
				t.Errorf("%s: %s, %+v, want -32601", method, got.Result, got.Error)
			}
		}
		if got := post(t, base, e.headers("notifications/no/such", nil), e.message(t, nil, "notifications/no/such", nil)); got.Status != 202 {
			t.Errorf("unknown notification: %d", got.Status)
		}
		got := call(t, base, e, "tools/call", map[string]any{"name": "no_such_tool"})
		if got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("unknown tool: %s, %+v, want -32602", got.Result, got.Error)
		}
		got = call(t, base, e, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": promptName}, "argument": map[string]any{"name": "source", "value": "dr"},
		})
		if !strings.Contains(string(got.Result), `"values":["drafts"]`) {
			t.Errorf("completion: %s, %+v", got.Result, got.Error)
		}
		got = call(t, base, e, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": promptName}, "argument": map[string]any{"name": "question", "value": "x"},
		})
		if !strings.Contains(string(got.Result), `"values":[]`) {
			t.Errorf("completion of a free argument: %s, %+v", got.Result, got.Error)
		}
	})
	for name, body := range map[string]string{
		"no JSON": `{"jsonrpc"`, "batch": `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "text": `"x"`, "nothing": ``,
		"deep": strings.Repeat(`{"a":`, 20000), "another JSON-RPC": `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	} {
		got := post(t, base, http.Header{"Content-Type": {"application/json"}}, []byte(body))
		if got.Error == nil || got.Error.Code != -32700 && got.Error.Code != -32600 {
			t.Errorf("%s: %d %s %+v", name, got.Status, got.Result, got.Error)
		}
	}
	if got := call(t, base, legacy, "tools/list", nil); got.Error != nil {
		t.Errorf("afterwards: %+v", got.Error)
	}
}

func TestRefusalsBesideTools(t *testing.T) {
	docs := &library{}
	s, _ := newServer(t, docs)
	base := serve(t, s)
	missing := map[string]any{"uri": "docs://docs/missing"}
	for _, test := range []struct {
		era          era
		method       string
		params       map[string]any
		status, code int
	}{
		{legacy, "resources/read", missing, 200, -32002},
		{modern, "resources/read", missing, 400, -32602},
		{legacy, "resources/read", map[string]any{"uri": "file:///etc/passwd"}, 200, -32002},
		{modern, "resources/read", map[string]any{"uri": "file:///etc/passwd"}, 400, -32602},
		{legacy, "prompts/get", map[string]any{"name": promptName}, 200, -32602},
		{modern, "prompts/get", map[string]any{"name": promptName}, 400, -32602},
		{modern, "prompts/get", map[string]any{"name": "missing"}, 400, -32602},
	} {
		got := call(t, base, test.era, test.method, test.params)
		if got.Error == nil || got.Status != test.status || got.Error.Code != test.code {
			t.Errorf("%s %s(%v): status %d, error %+v, want %d, %d",
				test.era, test.method, test.params, got.Status, got.Error, test.status, test.code)
		}
	}
	for _, uri := range []string{"test://elsewhere", "docs://docs", "%"} {
		got := call(t, base, modern, "resources/read", map[string]any{"uri": uri})
		if want := `{"uri":"` + uri + `"}`; got.Error == nil || got.Error.Code != -32602 || string(got.Error.Data) != want {
			t.Errorf("resources/read of %s: %+v, want -32602, %s", uri, got.Error, want)
		}
	}
	got := call(t, base, modern, "resources/read", missing)
	if want := `{"uri":"docs://docs/missing"}`; string(got.Error.Data) != want || !strings.Contains(got.Error.Message, limitsPage) {
		t.Errorf("message %q, data %s, want the nearest page, %s", got.Error.Message, got.Error.Data, want)
	}
	docs.list = func(context.Context, search.ListQuery) (search.Listing, error) {
		return search.Listing{}, errors.New("secret")
	}
	got = call(t, base, modern, "completion/complete", map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": promptName}, "argument": map[string]any{"name": "source", "value": ""},
	})
	if got.Error == nil || got.Error.Code != -32603 || strings.Contains(got.Error.Message, "secret") {
		t.Errorf("completion without an index: %+v", got.Error)
	}
}

// A page read as a resource is read to its end, unless that is too far away.
func TestLongPages(t *testing.T) {
	docs := &library{}
	s, _ := newServer(t, docs)
	base := serve(t, s)
	part := strings.Repeat("x", search.MaxMaxChars-1) + "\n"
	parts := 0
	docs.read = func(_ context.Context, q search.ReadQuery) (search.Reading, error) {
		if q.MaxChars != search.MaxMaxChars || q.Source != "docs" || q.URL != "/long" || (q.Cursor == "") != (parts == 0) {
			t.Errorf("part %d was asked for with %+v", parts, q)
		}
		parts++
		return search.Reading{Text: part, Truncated: true, NextCursor: "more"}, nil
	}
	got := call(t, base, modern, "resources/read", map[string]any{"uri": "docs://docs/long"})
	var result struct{ Contents []struct{ Text string } }
	if err := json.Unmarshal(got.Result, &result); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat(part, parts) + "\n\n(The page goes on: read_docs reads it in parts.)\n"
	if text := result.Contents[0].Text; text != want || len(text) > maxPageBytes+2*len(part) {
		t.Errorf("%d parts, %d bytes, ending in %q", parts, len(text), text[max(0, len(text)-100):])
	}

	parts = 0
	docs.read = func(_ context.Context, q search.ReadQuery) (search.Reading, error) {
		if q.Cursor != "" {
			return search.Reading{}, fmt.Errorf("read: %w", search.ErrStale)
		}
		return search.Reading{Text: part, Truncated: true, NextCursor: "more"}, nil
	}
	if got := call(t, base, modern, "resources/read", map[string]any{"uri": "docs://docs/long"}); got.Error == nil || got.Result != nil {
		t.Errorf("half a page was given: %.100s", got.Result)
	}
}

func TestLargeMessages(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	params := func(size int) map[string]any {
		return map[string]any{"name": "search_docs", "arguments": map[string]any{"query": strings.Repeat("x", size)}}
	}
	if got := call(t, base, modern, "tools/call", params(500_000)); got.Error != nil {
		t.Errorf("half a megabyte: %+v", got.Error)
	}
	got := call(t, base, modern, "tools/call", params(maxMessageBytes))
	if got.Status != 413 || got.Error == nil || got.Error.Message != "the message is larger than 1 MiB" {
		t.Errorf("more than a megabyte: %d, %+v", got.Status, got.Error)
	}
}

// Requests carry equal ids, and old session ids that mean nothing any more.
func TestConcurrentClients(t *testing.T) {
	s, _ := newServer(t, &library{})
	base := serve(t, s)
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var clients sync.WaitGroup
	for c := range 50 {
		clients.Go(func() {
			e := legacy
			if c%2 == 0 {
				e = modern
			}
			for i := range 100 {
				marker := fmt.Sprintf("marker-%d-%d", c, i)
				params := map[string]any{"name": "search_docs", "arguments": map[string]any{"query": marker}}
				h := e.headers("tools/call", params)
				h.Set("Mcp-Session-Id", "same")
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(string(e.message(t, i, "tools/call", params))))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header = h
				response, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || strings.Count(string(body), "Answer to "+marker+`\n`) != 2 || strings.Count(string(body), "marker-") != 2 {
					t.Errorf("client %d was answered %s, %v", c, body, err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// A restarted server goes on with a client as if nothing had happened: there is
// no session to lose, nor to leave behind.
func TestRestart(t *testing.T) {
	first, _ := newServer(t, &library{})
	got := call(t, serve(t, first), legacy, "initialize", map[string]any{"protocolVersion": "2025-11-25"})
	if got.Error != nil {
		t.Fatalf("initialize: %+v", got.Error)
	}
	second, _ := newServer(t, &library{})
	base := serve(t, second)
	params := map[string]any{"name": "list_docs"}
	h := legacy.headers("tools/call", params)
	h.Set("Mcp-Session-Id", got.Header.Get("Mcp-Session-Id"))
	if got := post(t, base, h, legacy.message(t, 2, "tools/call", params)); got.Error != nil || got.Status != http.StatusOK {
		t.Errorf("after a restart: %d, %+v", got.Status, got.Error)
	}
}

// Ten thousand clients that never said goodbye leave nothing behind.
func TestInitializeKeepsNothing(t *testing.T) {
	s, _ := newServer(t, &library{})
	body := legacy.message(t, 1, "initialize", map[string]any{"protocolVersion": "2025-11-25"})
	initialize := func(times int) uint64 {
		for range times {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, request(t, http.Header{"Content-Type": {"application/json"}}, body))
			if w.Code != http.StatusOK {
				t.Fatalf("initialize: %d %s", w.Code, w.Body)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	before := initialize(100)
	if after := initialize(10_000); after > before+10_000/2 {
		t.Errorf("10,000 clients left %d objects behind", after-before)
	}
}

// waiting is a Docs whose searches end with their context.
func waiting() (docs *library, started chan struct{}, ended chan error) {
	started, ended = make(chan struct{}, 8), make(chan error, 8)
	return &library{search: func(ctx context.Context, _ search.Query) (search.Answer, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return search.Answer{}, ctx.Err()
	}}, started, ended
}

// A client that goes away stops the work done for it.
func TestGoneClientStopsTheWork(t *testing.T) {
	docs, started, ended := waiting()
	s, _ := newServer(t, docs)
	base := serve(t, s)
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		params := map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", strings.NewReader(string(e.message(t, 1, "tools/call", params))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = e.headers("tools/call", params)
		done := make(chan error, 1)
		go func() {
			_, err := http.DefaultClient.Do(r)
			done <- err
		}()
		<-started
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the search ended with %v", err)
		}
		if err := <-done; err == nil {
			t.Error("the client was answered")
		}
	})
}

// Ids of requests are the clients' own: one cannot cancel another's call.
func TestClientsCannotCancelEachOther(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	docs := &library{search: func(ctx context.Context, q search.Query) (search.Answer, error) {
		close(started)
		select {
		case <-ctx.Done():
			return search.Answer{}, ctx.Err()
		case <-release:
			return search.Answer{Results: []docseek.Hit{{Text: "Answer to " + q.Text}}}, nil
		}
	}}
	s, _ := newServer(t, docs)
	base := serve(t, s)
	answered := make(chan toolResult, 1)
	go func() { answered <- callTool(t, base, legacy, "search_docs", `{"query":"x"}`) }()
	<-started
	params := map[string]any{"requestId": 1}
	if got := post(t, base, legacy.headers("notifications/cancelled", params), legacy.message(t, nil, "notifications/cancelled", params)); got.Status != 202 {
		t.Errorf("the notification was answered with %d", got.Status)
	}
	close(release)
	if got := <-answered; got.IsError {
		t.Errorf("the call was cancelled: %s", got.text())
	}
}

// A slow call ends with a sentence, and says that it is at work to who asked.
func TestDeadlineAndHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs, _, ended := waiting()
		s, err := New(Options{Docs: docs, Log: discard()})
		if err != nil {
			t.Fatal(err)
		}
		toServer, in := io.Pipe()
		out, fromServer := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), toServer, fromServer) }()
		start := time.Now()
		go func() {
			_, _ = in.Write(append(modern.message(t, 1, "tools/call", map[string]any{
				"name": "search_docs", "arguments": map[string]any{"query": "x"}, "_meta": map[string]any{"progressToken": "t"},
			}), '\n'))
		}()
		lines := bufio.NewScanner(out)
		for n := 1; n <= 4; n++ {
			if !lines.Scan() {
				t.Fatal(lines.Err())
			}
			var note struct {
				Method string
				Params struct {
					ProgressToken string
					Progress      int
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &note); err != nil {
				t.Fatal(err)
			}
			if note.Method != "notifications/progress" || note.Params.ProgressToken != "t" || note.Params.Progress != n {
				t.Errorf("note %d is %s", n, lines.Bytes())
			}
			if at, want := time.Since(start), time.Duration(n)*heartbeat; at != want {
				t.Errorf("note %d came after %v, want %v", n, at, want)
			}
		}
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the search ended with %v", err)
		}
		for lines.Scan() && !strings.Contains(lines.Text(), `"result"`) { //nolint:revive // the last note may come with the deadline
		}
		if !strings.Contains(lines.Text(), "no answer within 25s: try again, or ask for less") || !strings.Contains(lines.Text(), `"isError":true`) {
			t.Errorf("answer %s", lines.Text())
		}
		in.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// Over HTTP a call that reports progress is answered as an event stream, and
// no note before the answer is lost.
func TestProgressOverHTTP(t *testing.T) {
	s, _ := newServer(t, &library{})
	work := tool{name: "work", input: schema{Type: kindObject}, output: json.RawMessage(`{"type":"object"}`)}
	work.call = func(ctx context.Context, _ arguments) (answer, error) {
		reportProgress(ctx, "begun")
		reportProgress(ctx, "nearly there")
		return answer{structured: struct{}{}, text: "done"}, nil
	}
	s.builtin = append(s.builtin, work)
	if err := s.publish(); err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	post := func(t *testing.T, e era, params map[string]any) (http.Header, string) {
		t.Helper()
		h := map[string]string{}
		for name, values := range e.headers("tools/call", params) {
			h[name] = values[0]
		}
		response, body := exchange(t, "POST", base+"/mcp", h, string(e.message(t, 1, "tools/call", params)))
		return response.Header, body
	}
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		for range 100 {
			header, body := post(t, e, map[string]any{"name": "work", "_meta": map[string]any{"progressToken": "t"}})
			if header.Get("Content-Type") != "text/event-stream" || header.Get("X-Accel-Buffering") != "no" {
				t.Fatalf("headers %v", header)
			}
			begun, nearly, done := strings.Index(body, `"begun"`), strings.Index(body, `"nearly there"`), strings.Index(body, `"done"`)
			if begun < 0 || nearly < begun || done < nearly {
				t.Fatalf("the events are %s", body)
			}
		}
		if header, body := post(t, e, map[string]any{"name": "work"}); header.Get("Content-Type") != "application/json" || strings.Contains(body, "begun") {
			t.Errorf("without a token: %v, %s", header, body)
		}
	})
}

// A server that is told to stop finishes the calls under way.
func TestServeDrains(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	docs := &library{search: func(_ context.Context, q search.Query) (search.Answer, error) {
		close(started)
		<-release
		return search.Answer{Results: []docseek.Hit{{Text: "Answer to " + q.Text}}}, nil
	}}
	s, _ := newServer(t, docs)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	answered := make(chan toolResult, 1)
	go func() {
		answered <- callTool(t, "http://"+listener.Addr().String(), modern, "search_docs", `{"query":"x"}`)
	}()
	<-started
	stop()
	for { // new connections are refused from here on
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		conn.Close()
	}
	close(release)
	if got := <-answered; got.IsError {
		t.Errorf("the call under way was answered %s", got.text())
	}
	if err := <-served; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

func TestServeReportsALostListener(t *testing.T) {
	s, _ := newServer(t, &library{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := s.Serve(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v", err)
	}
}

func TestNewNeedsDocsAndLog(t *testing.T) {
	for _, opts := range []Options{{Log: discard()}, {Docs: &library{}}} {
		if _, err := New(opts); err == nil {
			t.Errorf("New(%+v) is no error", opts)
		}
	}
}
