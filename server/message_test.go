package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// request is a POST of a message to /mcp as the server sees it.
func request(tb testing.TB, header http.Header, message []byte) *http.Request {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "http://localhost/mcp", bytes.NewReader(message))
	r.Header = header
	return r
}

// Whatever a client sends, it gets an answer in the protocol's terms on both
// transports, and the server does not stumble.
func FuzzMessage(f *testing.F) {
	s, err := New(Options{Docs: &library{}, Log: discard()})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":["x"]}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"docs://docs/%zz"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"answer_from_docs","arguments":{"question":7}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"},"argument":{"name":"source"}}}`,
		`{"jsonrpc":"2.0","id":[],"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` +
			`"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{}}`, `[]`, `{"id":null}`, "\xff",
	} {
		f.Add("2026-07-28", []byte(seed))
		f.Add("2025-06-18", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, version string, message []byte) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request(t, http.Header{
			"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/list"},
		}, message))
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if body := w.Body.Bytes(); w.Header().Get("Content-Type") == "application/json" && !json.Valid(body) {
			t.Errorf("not JSON: %s", body)
		}
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(message), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
	})
}

// BenchmarkCall is what the server itself costs a search over HTTP.
func BenchmarkCall(b *testing.B) {
	s, err := New(Options{Docs: &library{}, Log: discard()})
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range []era{legacy, modern} {
		b.Run(string(e), func(b *testing.B) {
			params := map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x", "limit": 5}}
			header, message := e.headers("tools/call", params), e.message(b, 1, "tools/call", params)
			for b.Loop() {
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, request(b, header, message))
				if w.Code != http.StatusOK {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}

// An id comes back as it was sent, or is refused: never another one.
func TestRequestIDs(t *testing.T) {
	s, err := New(Options{Docs: &library{}, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	const (
		tooLarge = "the id is too large a number: use one up to 9007199254740991, or a string"
		noID     = "the id must be a string or a number"
	)
	for id, refusal := range map[string]string{
		`1`: "", `"a"`: "", `""`: "", `0`: "", `-7`: "", `9007199254740991`: "", `"9007199254740993"`: "", `1.5`: "",
		`9007199254740992`: tooLarge, `9007199254740993`: tooLarge, `-9007199254740993`: tooLarge, `18446744073709551616`: tooLarge, `1e400`: tooLarge,
		`{}`: noID, `true`: noID, `[1]`: noID,
	} {
		message := []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request(t, http.Header{"Content-Type": {"application/json"}}, message))
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(message), &out); err != nil {
			t.Fatal(err)
		}
		status := http.StatusOK
		if refusal != "" {
			status = http.StatusBadRequest
		}
		if w.Code != status {
			t.Errorf("id %s: status %d, want %d", id, w.Code, status)
		}
		for transport, body := range map[string][]byte{"HTTP": w.Body.Bytes(), "stdio": out.Bytes()} {
			var got struct {
				ID    json.RawMessage `json:"id"`
				Error struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("id %s over %s: %v in %s", id, transport, err, body)
			}
			want := id
			if refusal == noID {
				want = "null"
			}
			if string(got.ID) != want || got.Error.Message != refusal {
				t.Errorf("id %s over %s came back as %s, %q", id, transport, got.ID, got.Error.Message)
			}
		}
	}
}
