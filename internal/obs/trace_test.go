package obs_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/docseek/docseek/internal/obs"
)

// traceCollector takes spans as an OpenTelemetry collector does.
func traceCollector(t *testing.T) (address string, spans func() []*tracepb.Span) {
	t.Helper()
	var got []*tracepb.Span
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				got = append(got, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/traces", func() []*tracepb.Span { return got }
}

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

func TestTraceGoesFromTheCallerToTheUpstream(t *testing.T) {
	address, spans := traceCollector(t)
	tracer, err := obs.NewTracer(t.Context(), obs.TraceOptions{Endpoint: address, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var passedOn string
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		passedOn = r.Header.Get("Traceparent")
	}))
	t.Cleanup(upstream.Close)

	// The ratio is 0: only what the caller records is recorded.
	header := http.Header{"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"}}
	ctx, end := tracer.Start(tracer.Continue(t.Context(), header.Get), "tools/call search_docs", "gen_ai.tool.name", "search_docs")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL+"/secret?token=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: tracer.Transport(http.DefaultTransport)}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	end("timeout", true)
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(passedOn, callersTrace) {
		t.Errorf("the upstream was told %q", passedOn)
	}
	got := spans()
	if len(got) != 2 {
		t.Fatalf("%d spans, want those of the call and of the request", len(got))
	}
	request, call := got[0], got[1]
	if string(request.GetParentSpanId()) != string(call.GetSpanId()) {
		t.Error("the request's span is not under the call's")
	}
	if call.GetName() != "tools/call search_docs" || call.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the call's span: %v", call)
	}
	if text := request.String() + call.String(); strings.Contains(text, "secret") || strings.Contains(text, "token") {
		t.Errorf("a span shows the request's path or query: %s", text)
	}
}

func TestCallersThatAreNotRecordedStayUnrecorded(t *testing.T) {
	address, spans := traceCollector(t)
	tracer, err := obs.NewTracer(t.Context(), obs.TraceOptions{Endpoint: address, Ratio: 1, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	_, end := tracer.Start(tracer.Continue(t.Context(), func(key string) string {
		return map[string]string{"traceparent": "00-" + callersTrace + "-" + callersSpan + "-00"}[key]
	}), "tools/call")
	end("ok", false)
	_, end = tracer.Start(tracer.Continue(t.Context(), func(string) string { return "nonsense" }), "begun here")
	end("ok", false)
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := spans(); len(got) != 1 || got[0].GetName() != "begun here" {
		t.Errorf("spans: %v", got)
	}
}

func TestSpansThatAreNotTakenAreLogged(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(refusing.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, address := range []string{refusing.URL, gone.URL} {
		var log bytes.Buffer
		tracer, err := obs.NewTracer(t.Context(), obs.TraceOptions{
			Endpoint: strings.Replace(address, "//", "//user:secret@", 1) + "/v1/traces?key=secret", Ratio: 1, Version: "test", Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, end := tracer.Start(t.Context(), "tools/call")
		end("ok", false)
		if err := tracer.Close(t.Context()); err != nil {
			t.Errorf("the tracer ended with %v", err)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "traces were not sent") || strings.Contains(got, "secret") {
			t.Errorf("log %q", got)
		}
	}
}

func TestNilTracerDoesNothing(t *testing.T) {
	var tracer *obs.Tracer
	ctx, end := tracer.Start(tracer.Continue(t.Context(), nil), "call")
	end("failed", true)
	if ctx != t.Context() || tracer.Transport(http.DefaultTransport) != http.DefaultTransport || tracer.Close(ctx) != nil {
		t.Error("something was done")
	}
}
