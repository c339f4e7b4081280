package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

func TestMain(m *testing.M) {
	if where := os.Getenv(serveEnv); where != "" {
		if err := serveLibrary(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// library is a small Docs whose answers are made from the question.
type library struct {
	search func(context.Context, search.Query) (search.Answer, error) // replaces the answer below
	read   func(context.Context, search.ReadQuery) (search.Reading, error)
	list   func(context.Context, search.ListQuery) (search.Listing, error)

	mu      sync.Mutex
	queries []search.Query
}

func (l *library) asked() search.Query {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queries[len(l.queries)-1]
}

const (
	guidePage  = "https://docs.example.com/guide/"
	limitsPage = "https://docs.example.com/guide/limits"
)

var (
	indexedAt = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)
	modified  = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
)

func (l *library) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	l.mu.Lock()
	l.queries = append(l.queries, q)
	l.mu.Unlock()
	if l.search != nil {
		return l.search(ctx, q)
	}
	cosine := 0.71
	switch {
	case q.MinScore > 0.9 || strings.Contains(q.Text, "nothing"):
		return search.Answer{Mode: search.Hybrid, Hint: "No passage matched. Try other words, or leave a filter out."}, nil
	case strings.Contains(q.Text, "lexical"):
		return search.Answer{
			Mode: search.Lexical, Degraded: true, Reason: "the embedder does not answer",
			Results: []docseek.Hit{{
				Rank: 1, URL: limitsPage, Title: "Limits", Source: "docs", Generation: 3,
				Text: "Answer to " + q.Text, Matched: docseek.Span{End: 9}, Score: 0.4, IndexedAt: indexedAt,
			}},
		}, nil
	}
	return search.Answer{
		Mode: search.Hybrid,
		Results: []docseek.Hit{{
			Rank: 1, URL: limitsPage + "#daily", Title: "Limits",
			Path: []string{"Limits", "Daily limits"}, Source: "docs", Generation: 3, Version: "2.1", Language: "en",
			Text: "Answer to " + q.Text + "\n\n```go\nx := 1\n```", Matched: docseek.Span{Start: 0, End: 9},
			Truncated: true, Score: 0.83, Cosine: &cosine, IndexedAt: indexedAt, LastModified: &modified,
		}},
		Omitted: 2, NextCursor: "c2",
	}, nil
}

func (l *library) Read(ctx context.Context, q search.ReadQuery) (search.Reading, error) {
	if l.read != nil {
		return l.read(ctx, q)
	}
	page, _, _ := strings.Cut(q.URL, "#")
	switch {
	case page == guidePage, q.Source == "docs" && page == "/guide/":
		return search.Reading{URL: guidePage, Title: "Guide", Text: "# Guide\n\nAll of it.\n"}, nil
	case page != limitsPage && (q.Source != "docs" || page != "/guide/limits"):
		return search.Reading{}, &search.InputError{Message: fmt.Sprintf("%q is not in the index; the nearest pages are %s", q.URL, limitsPage)}
	}
	read := search.Reading{
		URL: limitsPage, Title: "Limits", Text: "# Limits\n\nFirst half.\n",
		Sections: []search.SectionLink{
			{Title: "Limits", Anchor: "limits", Level: 1}, {Title: "Daily limits", Anchor: "daily", Level: 2},
		},
		Truncated: true, NextCursor: "half",
	}
	if q.Cursor == "half" {
		read.Text, read.Sections, read.Truncated, read.NextCursor = "Second half.\n", nil, false, ""
	}
	return read, nil
}

func (l *library) List(ctx context.Context, q search.ListQuery) (search.Listing, error) {
	if l.list != nil {
		return l.list(ctx, q)
	}
	switch q.Source {
	case "":
		return search.Listing{Sources: []search.SourceStatus{
			{
				Name: "docs", Start: "https://docs.example.com/sitemap.xml", Pages: 2, Chunks: 9, Embedded: 9, Generation: 3,
				IndexedAt: &indexedAt, LastSuccess: &indexedAt, Versions: []string{"2.1"}, Languages: []string{"en"},
				State: "ready", LastRun: &search.Run{Source: "docs", Error: "secret path /var/lib/docseek"},
			},
			{Name: "drafts", Start: "/srv/drafts", State: "empty"},
		}}, nil
	case "docs":
		if q.Cursor == "" {
			return search.Listing{Pages: []search.PageLink{{URL: guidePage, Title: "Guide"}}, NextCursor: "p2"}, nil
		}
		return search.Listing{Pages: []search.PageLink{{URL: limitsPage, Title: "Limits"}}}, nil
	}
	return search.Listing{}, &search.InputError{Message: fmt.Sprintf("there is no source %q: list_docs names them", q.Source)}
}

// newServer makes a server whose log goes to the returned buffer.
func newServer(t *testing.T, docs Docs) (*Server, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	s, err := New(Options{Docs: docs, Version: "1.2.3", Log: talkative(log)})
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// serve serves the server on loopback and returns its address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return web.URL
}

// talkative logs everything.
func talkative(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// era is a way to put a request: the revisions before 2026-07-28, or since.
type era string

const (
	legacy era = "2025-11-25"
	modern era = "2026-07-28"
)

// message builds a JSON-RPC request as a client of the era sends it.
func (e era) message(tb testing.TB, id any, method string, params map[string]any) []byte {
	tb.Helper()
	if params == nil {
		params = map[string]any{}
	}
	if e == modern {
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["io.modelcontextprotocol/protocolVersion"] = string(modern)
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		params["_meta"] = meta
	}
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		message["id"] = id
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// headers are the HTTP headers that go with a message.
func (e era) headers(method string, params map[string]any) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	h.Set("MCP-Protocol-Version", string(e))
	if e == modern {
		h.Set("Mcp-Method", method)
		for _, key := range []string{"name", "uri"} {
			if name, ok := params[key].(string); ok {
				h.Set("Mcp-Name", name)
			}
		}
	}
	return h
}

// reply is a JSON-RPC answer with the HTTP status it came with.
type reply struct {
	Status int
	Header http.Header
	ID     any             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// call posts a request and reads its answer.
func call(t *testing.T, base string, e era, method string, params map[string]any) reply {
	t.Helper()
	body := e.message(t, 1, method, params)
	return post(t, base, e.headers(method, params), body)
}

func post(t *testing.T, base string, header http.Header, body []byte) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := reply{Status: response.StatusCode, Header: response.Header}
	if len(bytes.TrimSpace(got)) > 0 {
		if err := json.Unmarshal(got, &r); err != nil {
			t.Fatalf("%s is not a JSON-RPC message: %v", got, err)
		}
	}
	return r
}

// toolResult is the result of tools/call.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	ResultType string          `json:"resultType"`
}

func (r toolResult) text() string { return r.Content[0].Text }

// callTool calls a tool with arguments given as JSON.
func callTool(t *testing.T, base string, e era, name, args string) toolResult {
	t.Helper()
	got := call(t, base, e, "tools/call", map[string]any{"name": name, "arguments": json.RawMessage(args)})
	if got.Error != nil {
		t.Fatalf("%s(%s): %+v", name, args, got.Error)
	}
	var result toolResult
	if err := json.Unmarshal(got.Result, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Content) == 0 {
		t.Fatalf("%s(%s): no content in %s", name, args, got.Result)
	}
	return result
}

func eachEra(t *testing.T, test func(*testing.T, era)) {
	t.Helper()
	for _, e := range []era{legacy, modern} {
		t.Run(string(e), func(t *testing.T) { test(t, e) })
	}
}
