package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/docseek/docseek"
)

// productName is the token that robots.txt knows the crawler by.
const productName = "docseek"

// Bounds of what no option is given for.
const (
	maxRedirects   = 10
	maxAttempts    = 3  // of a request that fails
	maxTimeouts    = 2  // of a request that is not answered in time
	maxRateLimited = 10 // of a request that is answered with a wish for a pause
	maxConcurrency = 32
	maxWarnings    = 50
	// listTimeout is how much longer a sitemap may take than a page.
	listTimeout = 4
)

// session is the network side of one crawl: connections, hosts, requests.
type session struct {
	opts Options
	log  *slog.Logger
	obey bool
	// accept is the Accept-Language of pages.
	accept string
	rate   docseek.Rate

	network   *network
	transport *transport
	collector *colly.Collector // for pages
	robots    *http.Client     // for robots.txt
	lists     *http.Client     // for sitemaps, which are read as streams and take longer

	// abort ends the requests under way.
	abort context.CancelFunc

	mu       sync.Mutex
	hosts    map[string]*host
	warnings []string
}

// host is what a session knows of one origin.
type host struct {
	gate *gate

	robotsOnce once[*robots]
	probeOnce  once[*missingPage]

	mu   sync.Mutex
	last string // the reason of the last failure
}

func (h *host) fail(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = reason
}

func (h *host) lastFailure() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.last, "host_given_up")
}

// once computes a value for all who ask; a computation that was cancelled is
// done again by the next who asks.
type once[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
}

func (o *once[T]) get(ctx context.Context, compute func(context.Context) T) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done {
		value := compute(ctx)
		if err := ctx.Err(); err != nil {
			return value, err
		}
		o.value, o.done = value, true
	}
	return o.value, nil
}

func newSession(ctx context.Context, opts Options, src docseek.Source, start *url.URL) *session {
	s := &session{
		opts:    opts,
		log:     opts.Logger.With(slog.String("source", src.Name)),
		obey:    src.Robots != "ignore",
		rate:    docseek.Rate{Concurrency: min(cmp.Or(src.Rate.Concurrency, 4), maxConcurrency), Delay: src.Rate.Delay},
		network: newNetwork(opts.Resolver),
		accept:  strings.Join(src.Languages, ", "),
		hosts:   map[string]*host{},
	}
	ctx, s.abort = context.WithCancel(ctx)
	s.network.trust(ctx, start)
	s.transport = &transport{
		base:      s.network,
		userAgent: productName + "/" + opts.Version + " (+https://github.com/docseek/docseek)",
		own:       src.Headers,
		origin:    originOf(start),
		limit:     opts.MaxPageBytes,
		answered:  opts.Answered,
	}
	// Each hop of a redirect is judged by us before it is made.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.robots = &http.Client{Transport: s.transport, CheckRedirect: stay, Timeout: opts.Timeout}
	s.lists = &http.Client{Transport: s.transport, CheckRedirect: stay, Timeout: listTimeout * opts.Timeout}
	s.collector = newCollector(ctx, &http.Client{Transport: s.transport, CheckRedirect: stay, Timeout: opts.Timeout})
	return s
}

func (s *session) close() {
	s.abort()
	s.network.close()
}

// warnf keeps a sentence for the summary, once.
func (s *session) warnf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := fmt.Sprintf(format, args...); len(s.warnings) < maxWarnings && !slices.Contains(s.warnings, w) {
		s.warnings = append(s.warnings, w)
	}
}

// newCollector sets colly up for single requests: which URLs, how often and how
// fast is decided by the crawl. Its own limits wait without a context and
// bound the compressed body, its robots.txt is read without a bound, and its
// options can be changed by the environment (NewCollector), so none is used.
func newCollector(ctx context.Context, client *http.Client) *colly.Collector {
	c := &colly.Collector{}
	c.Init()
	c.Context = ctx
	c.SetClient(client)
	c.AllowURLRevisit = true
	c.ParseHTTPErrorResponse = true
	c.MaxBodySize = 0 // bounded by the transport, decoded
	c.OnResponseHeaders(func(r *colly.Response) {
		a := answerOf(r.Ctx)
		a.status, a.header, a.at = r.StatusCode, r.Headers.Clone(), time.Now()
		// Without a charset colly hands the bytes over as they came.
		mediaType, _, _ := strings.Cut(r.Headers.Get("Content-Type"), ";")
		r.Headers.Set("Content-Type", mediaType)
		if a.refusal = a.refuse(r.Request.URL); a.refusal != "" {
			r.Request.Abort()
		}
	})
	c.OnResponse(func(r *colly.Response) { answerOf(r.Ctx).body = r.Body })
	return c
}

const answerKey = "answer"

func answerOf(c *colly.Context) *answer { return c.GetAny(answerKey).(*answer) }

// answer is what a host said to one request for a page.
type answer struct {
	status int
	header http.Header
	body   []byte
	at     time.Time
	// refusal is why the body was not read.
	refusal string
	limit   int64
}

// refuse judges by status and header whether a body is worth reading.
func (a *answer) refuse(u *url.URL) string {
	if a.status != http.StatusOK {
		return ""
	}
	if reason := refuseType(mediaType(a.header.Get("Content-Type")), u); reason != "" {
		return reason
	}
	if n := contentLength(a.header); n > a.limit {
		return ReasonTooLarge
	}
	return ""
}

// hostOf returns the session's memory of an origin.
func (s *session) hostOf(u *url.URL) *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := originOf(u)
	h, ok := s.hosts[key]
	if !ok {
		h = &host{gate: newGate(s.rate.Concurrency, s.rate.Delay)}
		s.hosts[key] = h
	}
	return h
}

// page asks for a page once, when it is its host's turn.
func (s *session) page(ctx context.Context, u *url.URL, known docseek.Validators) (*answer, error) {
	h := s.hostOf(u)
	if err := h.gate.enter(ctx); err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {"text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.5,*/*;q=0.1"}}
	if s.accept != "" {
		header.Set("Accept-Language", s.accept)
	}
	if known.ETag != "" {
		header.Set("If-None-Match", known.ETag)
	}
	if known.LastModified != "" {
		header.Set("If-Modified-Since", known.LastModified)
	}
	a := &answer{limit: s.opts.MaxPageBytes}
	cc := colly.NewContext()
	cc.Put(answerKey, a)
	err := s.collector.Request(http.MethodGet, u.String(), nil, cc, header)
	if errors.Is(err, colly.ErrAbortedAfterHeaders) || a.status != 0 && a.status != http.StatusOK {
		err = nil // the status says it all, however long or broken the body
	}
	s.settle(ctx, h, a.status, a.header, err)
	return a, err
}

// settle leaves the host's gate as the answer has it.
func (s *session) settle(ctx context.Context, h *host, status int, header http.Header, err error) {
	switch {
	case ctx.Err() != nil:
		h.gate.leave(neutral)
	case err != nil:
		reason := errorReason(err)
		if reason.fate == Unreachable {
			h.fail(reason.text)
			h.gate.leave(failing)
		} else {
			h.gate.leave(healthy)
		}
	case wantsPause(status, header):
		reason := fmt.Sprintf("http_%d", status)
		h.fail(reason)
		d := s.pauseFor(header, h.gate.pausesSoFar())
		s.log.Info("host asks for a pause", slog.String("reason", reason), slog.Duration("pause", d))
		h.gate.pause(d)
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		h.fail(fmt.Sprintf("http_%d", status))
		h.gate.leave(failing)
	default:
		h.gate.leave(healthy)
	}
}

// wantsPause reports whether a host asks not to be asked for a while (RFC 6585
// §4, RFC 9110 §15.6.4).
func wantsPause(status int, header http.Header) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && header.Get("Retry-After") != ""
}

// pauseFor is how long a host wants to be left alone: Retry-After in seconds or
// as a date (RFC 9110 §10.2.3), else longer each time, and MaxPause at most.
func (s *session) pauseFor(header http.Header, before int) time.Duration {
	if d, ok := retryAfter(header.Get("Retry-After"), time.Now()); ok {
		return min(d, s.opts.MaxPause)
	}
	return min(s.opts.Backoff<<min(before, 10), s.opts.MaxPause)
}

func retryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	seconds := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		seconds = min(seconds*10+int(c-'0'), 1<<24) // half a year: no longer wait is told apart
	}
	return time.Duration(seconds) * time.Second, true
}
