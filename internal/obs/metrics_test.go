package obs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/docseek/docseek/internal/obs"
)

// scrape returns the metrics as a scraper reads them, and holds them to the
// naming rules of Prometheus.
func scrape(t *testing.T, m *obs.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	text := w.Body.String()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	return text
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

func TestCounts(t *testing.T) {
	m := obs.NewMetrics("1.2.3")
	m.Call("search_docs", "ok", 30*time.Millisecond)
	m.Call("search_docs", "timeout", 25*time.Second)
	m.Answer("lexical", true, 4)
	m.Request(429)
	m.Fetch(200)
	m.Fetch(0)
	m.Fetch(304)
	m.Run(obs.Run{Source: "docs", Outcome: "published", Pages: map[string]int{"new": 7, "kept": 1}, Embedded: 42, Seconds: 3})
	has(t, scrape(t, m),
		`docseek_build_info{version="1.2.3"} 1`,
		`docseek_tool_calls_total{outcome="ok",tool="search_docs"} 1`,
		`docseek_tool_calls_total{outcome="timeout",tool="search_docs"} 1`,
		`docseek_tool_call_duration_seconds_bucket{tool="search_docs",le="0.05"} 1`,
		`docseek_tool_call_duration_seconds_count{tool="search_docs"} 2`,
		`docseek_searches_total{degraded="true",mode="lexical"} 1`,
		`docseek_search_results_sum{mode="lexical"} 4`,
		`docseek_http_requests_total{status="429"} 1`,
		`docseek_crawler_responses_total{status="200"} 1`,
		`docseek_crawler_responses_total{status="304"} 1`,
		`docseek_crawler_responses_total{status="none"} 1`,
		`docseek_runs_total{outcome="published",source="docs"} 1`,
		`docseek_run_pages_total{fate="new",source="docs"} 7`,
		`docseek_embedded_texts_total{source="docs"} 42`,
	)
}

func TestUpstream(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	m := obs.NewMetrics("test")
	client := &http.Client{Transport: m.Upstream("api", http.DefaultTransport)}
	get := func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Body.Close()
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	api.Close()
	if get() == nil {
		t.Fatal("a closed server answered")
	}
	has(t, scrape(t, m),
		`docseek_upstream_requests_total{endpoint="api",status="418"} 1`,
		`docseek_upstream_requests_total{endpoint="api",status="none"} 1`,
		`docseek_upstream_request_duration_seconds_count{endpoint="api"} 2`)
}

func TestIndex(t *testing.T) {
	m := obs.NewMetrics("test")
	var err error
	m.Index(func(ctx context.Context) ([]obs.Source, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the look at the index has no deadline")
		}
		return []obs.Source{
			{Name: "docs", Generation: 7, Pages: 10, Chunks: 50, Embedded: 49, Made: time.Now().Add(-time.Hour), State: "degraded"},
			{Name: "new", State: "empty"},
		}, err
	})
	text := scrape(t, m)
	has(t, text, `docseek_index_up 1`, `docseek_generation{source="docs"} 7`, `docseek_pages{source="docs"} 10`,
		`docseek_chunks{source="docs"} 50`, `docseek_embedded_chunks{source="docs"} 49`,
		`docseek_source_state{source="docs",state="degraded"} 1`, `docseek_source_state{source="new",state="empty"} 1`)
	if !strings.Contains(text, `docseek_generation_age_seconds{source="docs"} 3`) {
		t.Error("no age of an hour")
	}
	if strings.Contains(text, `age_seconds{source="new"}`) {
		t.Error("what was never made has an age")
	}
	err = errors.New("the store is down")
	text = scrape(t, m)
	has(t, text, `docseek_index_up 0`)
	if strings.Contains(text, "docseek_generation{") {
		t.Error("an index that cannot be read is reported")
	}
}

func TestLabelsAreBounded(t *testing.T) {
	m := obs.NewMetrics("test")
	for i := range 500 {
		m.Call(fmt.Sprintf("tool_%d", i), "ok", 0)
	}
	text := scrape(t, m)
	if n := strings.Count(text, "\ndocseek_tool_calls_total{"); n != 201 {
		t.Errorf("%d series, want 200 and the others together", n)
	}
	has(t, text, `docseek_tool_calls_total{outcome="ok",tool="other"} 300`)
}

func TestNilMetricsDoNothing(t *testing.T) {
	var m *obs.Metrics
	m.Call("a", "ok", 0)
	m.Answer("hybrid", false, 1)
	m.Request(200)
	m.Fetch(200)
	m.Run(obs.Run{})
	if m.Upstream("api", http.DefaultTransport) != http.DefaultTransport {
		t.Error("the transport is wrapped")
	}
}
