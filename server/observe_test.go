package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/docseek/docseek/internal/obs"
)

func TestCallsAreCounted(t *testing.T) {
	metrics := obs.NewMetrics("test")
	s, err := New(Options{Docs: &library{}, Log: discard(), Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		callTool(t, base, e, "search_docs", `{"query":"limits"}`)
		callTool(t, base, e, "search_docs", `{"query":"limits","limit":"many"}`)
		callTool(t, base, e, "read_docs", `{"url":"https://docs.example.com/guide/limits"}`)
	})
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`docseek_tool_calls_total{outcome="ok",tool="search_docs"} 2`,
		`docseek_tool_calls_total{outcome="invalid",tool="search_docs"} 2`,
		`docseek_tool_calls_total{outcome="ok",tool="read_docs"} 2`,
		`docseek_tool_call_duration_seconds_count{tool="search_docs"} 4`,
		`docseek_searches_total{degraded="false",mode="hybrid"} 2`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

func TestCallsAreTraced(t *testing.T) {
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	const traceparent = "00-" + parent + "-00f067aa0ba902b7-01"
	var mu sync.Mutex
	var spans []string
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Errorf("read the spans: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, span := range ss.GetSpans() {
					spans = append(spans, span.String())
				}
			}
		}
	}))
	t.Cleanup(sink.Close)
	tracer, err := obs.NewTracer(t.Context(), obs.TraceOptions{Endpoint: sink.URL, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Docs: &library{}, Log: discard(), Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)

	params := map[string]any{"name": "search_docs", "arguments": json.RawMessage(`{"query":"my secret question"}`)}
	header := legacy.headers("tools/call", params)
	header.Set("Traceparent", traceparent)
	post(t, base, header, legacy.message(t, 1, "tools/call", params))
	params["_meta"] = map[string]any{"traceparent": traceparent}
	post(t, base, modern.headers("tools/call", params), modern.message(t, 2, "tools/call", params))
	callTool(t, base, legacy, "list_docs", `{}`) // in no trace, and none is begun here
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	mu.Lock()
	defer mu.Unlock()
	if len(spans) != 2 {
		t.Fatalf("%d spans: %v", len(spans), spans)
	}
	for _, span := range spans {
		if !strings.Contains(span, "tools/call search_docs") || strings.Contains(span, "secret") {
			t.Errorf("span %s", span)
		}
	}
}
