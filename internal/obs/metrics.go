package obs

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of what callers and sites can make the metrics hold.
const (
	// maxValues bounds the values of one label; what comes later counts as "other".
	maxValues = 200
	// scrapeTimeout bounds the look at the index with each scrape.
	scrapeTimeout = 2 * time.Second
)

// Metrics counts what the process does. Its methods may be called concurrently.
// On a nil *Metrics they do nothing.
type Metrics struct {
	registry *prometheus.Registry

	calls       *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	answers     *prometheus.CounterVec
	results     *prometheus.HistogramVec
	requests    *prometheus.CounterVec
	runs        *prometheus.CounterVec
	runSeconds  *prometheus.HistogramVec
	pages       *prometheus.CounterVec
	embedded    *prometheus.CounterVec
	fetches     *prometheus.CounterVec
	upstream    *prometheus.CounterVec
	upstreamSec *prometheus.HistogramVec

	tools, sources, endpoints values
}

// NewMetrics returns metrics without counts; version is the program's.
func NewMetrics(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "docseek", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "docseek", Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    counter("tool_calls_total", "Tool calls by outcome.", "tool", "outcome"),
		durations: histogram("tool_call_duration_seconds", "How long tool calls took.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}, "tool"),
		answers:  counter("searches_total", "Searches of the documentation that were answered, by mode and by whether the answer was degraded.", "mode", "degraded"),
		results:  histogram("search_results", "Results of an answered search.", []float64{0, 1, 2, 3, 5, 10, 20}, "mode"),
		requests: counter("http_requests_total", "HTTP requests by the status of their answer.", "status"),
		runs:     counter("runs_total", "Index runs by outcome.", "source", "outcome"),
		runSeconds: histogram("run_duration_seconds", "How long index runs took.",
			[]float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600}, "source"),
		pages:    counter("run_pages_total", "Pages of index runs by what became of them.", "source", "fate"),
		embedded: counter("embedded_texts_total", "Texts that index runs had embedded.", "source"),
		fetches:  counter("crawler_responses_total", "Answers of documentation sites by HTTP status; none where no answer came.", "status"),
		upstream: counter("upstream_requests_total", "Requests to GraphQL endpoints by HTTP status; none where no answer came.", "endpoint", "status"),
		upstreamSec: histogram("upstream_request_duration_seconds", "Time to the first byte of a GraphQL endpoint's answer.",
			prometheus.DefBuckets, "endpoint"),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "docseek", Name: "build_info", Help: "The running version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(info, m.calls, m.durations, m.answers, m.results, m.requests, m.runs, m.runSeconds, m.pages, m.embedded,
		m.fetches, m.upstream, m.upstreamSec,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers scrapes in the formats that Prometheus asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Call counts a call of a tool. The outcome is one of a few words.
func (m *Metrics) Call(tool, outcome string, took time.Duration) {
	if m == nil {
		return
	}
	tool = m.tools.bounded(tool)
	m.calls.WithLabelValues(tool, outcome).Inc()
	m.durations.WithLabelValues(tool).Observe(took.Seconds())
}

// Answer counts an answered search of the documentation.
func (m *Metrics) Answer(mode string, degraded bool, results int) {
	if m == nil {
		return
	}
	m.answers.WithLabelValues(mode, strconv.FormatBool(degraded)).Inc()
	m.results.WithLabelValues(mode).Observe(float64(results))
}

// Request counts an HTTP request that was answered.
func (m *Metrics) Request(status int) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(statusLabel(status)).Inc()
}

// Run is an index run that has ended.
type Run struct {
	Source   string
	Outcome  string
	Pages    map[string]int // by fate: new, changed, unchanged, kept, removed, refused
	Embedded int
	Seconds  float64
}

// Run counts an index run.
func (m *Metrics) Run(r Run) {
	if m == nil {
		return
	}
	source := m.sources.bounded(r.Source)
	m.runs.WithLabelValues(source, r.Outcome).Inc()
	m.runSeconds.WithLabelValues(source).Observe(r.Seconds)
	m.embedded.WithLabelValues(source).Add(float64(r.Embedded))
	for fate, n := range r.Pages {
		m.pages.WithLabelValues(source, fate).Add(float64(n))
	}
}

// Fetch counts an answer of a documentation site; status 0 means that none came.
func (m *Metrics) Fetch(status int) {
	if m == nil {
		return
	}
	m.fetches.WithLabelValues(statusLabel(status)).Inc()
}

// Upstream counts what goes to a GraphQL endpoint through next.
func (m *Metrics) Upstream(endpoint string, next http.RoundTripper) http.RoundTripper {
	if m == nil {
		return next
	}
	return roundTripper{next, func(r *http.Request) (*http.Response, error) {
		started := time.Now()
		res, err := next.RoundTrip(r)
		status := 0
		if err == nil {
			status = res.StatusCode
		}
		name := m.endpoints.bounded(endpoint)
		m.upstream.WithLabelValues(name, statusLabel(status)).Inc()
		m.upstreamSec.WithLabelValues(name).Observe(time.Since(started).Seconds())
		return res, err
	}}
}

// roundTripper puts something around another one.
type roundTripper struct {
	next http.RoundTripper
	do   func(*http.Request) (*http.Response, error)
}

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.do(r) }

// CloseIdleConnections closes those of what it stands around.
func (t roundTripper) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func statusLabel(status int) string {
	if status < 100 || status > 599 {
		return "none"
	}
	return strconv.Itoa(status)
}

// Source is what the index holds of one source.
type Source struct {
	Name                    string
	Generation              uint64
	Pages, Chunks, Embedded int
	// Made is when the live generation was made, Success when a run last ended
	// well; zero where there is none.
	Made, Success time.Time
	// State is ready, degraded, stale, empty or unconfigured.
	State string
}

// Index shows with each scrape what the index holds. sources gets a context
// of two seconds; when it fails docseek_index_up is 0 and the sources are absent.
func (m *Metrics) Index(sources func(context.Context) ([]Source, error)) {
	m.registry.MustRegister(&indexCollector{
		sources: sources, bounded: m.sources.bounded, now: time.Now,
		up:         description("index_up", "Whether the index could be read."),
		generation: description("generation", "The live generation.", "source"),
		age:        description("generation_age_seconds", "Time since the live generation was made.", "source"),
		success:    description("last_success_age_seconds", "Time since a run last ended well.", "source"),
		pages:      description("pages", "Pages in the index.", "source"),
		chunks:     description("chunks", "Chunks in the index.", "source"),
		embedded:   description("embedded_chunks", "Chunks that have a vector.", "source"),
		state:      description("source_state", "1 for the state that the source is in.", "source", "state"),
	})
}

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("docseek", "", name), help, labels, nil)
}

type indexCollector struct {
	sources func(context.Context) ([]Source, error)
	bounded func(string) string
	now     func() time.Time

	up, generation, age, success, pages, chunks, embedded, state *prometheus.Desc
}

func (c *indexCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.up, c.generation, c.age, c.success, c.pages, c.chunks, c.embedded, c.state} {
		to <- d
	}
}

func (c *indexCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	sources, err := c.sources(ctx)
	if err != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	for i, s := range sources {
		if i == maxValues {
			break
		}
		name := c.bounded(s.Name)
		if name == other {
			continue
		}
		gauge(c.generation, float64(s.Generation), name)
		gauge(c.pages, float64(s.Pages), name)
		gauge(c.chunks, float64(s.Chunks), name)
		gauge(c.embedded, float64(s.Embedded), name)
		gauge(c.state, 1, name, s.State)
		for d, at := range map[*prometheus.Desc]time.Time{c.age: s.Made, c.success: s.Success} {
			if !at.IsZero() {
				gauge(d, c.now().Sub(at).Seconds(), name)
			}
		}
	}
}

// other stands for the values of a label beyond those that are kept.
const other = "other"

// values bounds what a label can hold.
type values struct {
	mu   sync.Mutex
	seen map[string]bool
}

// bounded returns the value itself, or other once there are too many.
func (v *values) bounded(value string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	if !v.seen[value] {
		if len(v.seen) == maxValues {
			return other
		}
		v.seen[value] = true
	}
	return value
}
