// Package fakesite serves a documentation site from a txtar archive, for tests:
// real HTTP on loopback, with what sites do on the wire.
//
// Each file of the archive is one address. Its name is a path, with a query if
// wanted, and after it options as key=value:
//
//	-- /robots.txt --
//	User-agent: *
//	Disallow: /private/
//	-- /sitemap.xml --
//	<urlset><url><loc>{{base}}/guide/</loc></url></urlset>
//	-- /guide/index.html --
//	<h1>Guide</h1>
//	-- /old status=301 location=/guide/ --
//	-- /notes type=text/plain modified=2026-01-31 etag=none --
//	-- /big.html coding=gzip --
//
// The options are status (200), location, type (by the suffix, else
// text/html; ";" is followed by "_" for a space), etag ("none" for none, else
// by content), modified (a date; "none" for none), coding (gzip: sent with
// Content-Encoding), pack (gzip: the file itself is compressed, as sitemap.xml.gz
// is) and retry-after. {{base}} in a body or location stands for the site's
// address without a slash at the end. A path ending in "/" is answered by its
// index.html. Conditional requests are answered with 304, what is not there with 404.
package fakesite

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// Modified is the Last-Modified of files that give none of their own.
const Modified = "2026-03-14"

// Site is a site that is being served. Its methods may be called while it is.
type Site struct {
	// Base is the site's address without a slash at the end.
	Base string

	server *httptest.Server

	mu       sync.Mutex
	files    map[string]*file
	handlers map[string]http.Handler
	fallback http.Handler
	held     map[string]chan struct{}
	waiting  map[string]int
	log      []Request
	limit    *limiter
}

// Request is a request as it arrived, and what it was answered with.
type Request struct {
	At     time.Time
	Path   string // with the query
	Host   string
	Header http.Header
	Status int
}

type file struct {
	status     int
	location   string
	mediaType  string
	etag       string
	modified   time.Time
	coding     string
	retryAfter string
	body       []byte
}

// limiter answers 429 to the request after every n.
type limiter struct {
	every, left int
	retryAfter  []string
	hook        func(http.ResponseWriter)
}

// Start serves an archive until the test ends.
func Start(tb testing.TB, archive string) *Site {
	tb.Helper()
	s, err := New(archive)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New serves an archive until Close.
func New(archive string) (*Site, error) {
	s := &Site{
		files: map[string]*file{}, handlers: map[string]http.Handler{}, held: map[string]chan struct{}{},
		waiting: map[string]int{},
	}
	s.server = httptest.NewServer(s)
	s.Base = s.server.URL
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if err := s.Set(f.Name, string(f.Data)); err != nil {
			s.server.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close releases what is held and stops serving.
func (s *Site) Close() {
	s.mu.Lock()
	for p, c := range s.held {
		close(c)
		delete(s.held, p)
	}
	s.mu.Unlock()
	s.server.Close()
}

// URL is the address of a path.
func (s *Site) URL(p string) string { return s.Base + p }

// Set puts an address in place, replacing what was there. The name is as in an
// archive, with its options.
func (s *Site) Set(name, body string) error {
	f, p, err := parseFile(name, strings.ReplaceAll(body, "{{base}}", s.Base), s.Base)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[p] = f
	return nil
}

// Remove takes an address away: it is answered with 404.
func (s *Site) Remove(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, p)
	delete(s.handlers, p)
}

// Handle answers a path, whatever its query, by a handler. Nil takes it away.
func (s *Site) Handle(p string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(s.handlers, p)
		return
	}
	s.handlers[p] = h
}

// Fallback answers what is not there by a handler instead of 404.
func (s *Site) Fallback(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = h
}

// Hold lets requests for a path wait until release is called (or their client
// gives up).
func (s *Site) Hold(p string) (release func()) {
	c := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[p] = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[p] == c {
			close(c)
			delete(s.held, p)
		}
	}
}

// RateLimit lets every requests pass and answers the next with 429, then lets
// as many pass again, as often as there are values of Retry-After ("" sends
// none, "date+2s" a date that far ahead). robots.txt is not counted.
func (s *Site) RateLimit(every int, retryAfter ...string) {
	s.limitWith(every, retryAfter, func(w http.ResponseWriter) {
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	})
}

// SoftRateLimit is like RateLimit, but the limiter answers 200 with its message
// as the page.
func (s *Site) SoftRateLimit(every, times int) {
	s.limitWith(every, make([]string, times), func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html><body><p>Rate limit exceeded</p></body></html>"))
	})
}

func (s *Site) limitWith(every int, retryAfter []string, answer func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = &limiter{every: every, left: every, retryAfter: retryAfter, hook: answer}
}

// Count is the number of requests for a path with exactly this query.
func (s *Site) Count(p string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Path == p {
			n++
		}
	}
	return n
}

// Requests are the requests so far, in the order in which they were answered.
func (s *Site) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// Reset forgets the requests so far.
func (s *Site) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// ServeHTTP answers a request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	at := time.Now()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, Request{At: at, Path: r.URL.RequestURI(), Host: r.Host, Header: r.Header.Clone(), Status: rec.status})
	}()
	s.mu.Lock()
	held := s.held[r.URL.Path]
	if held != nil {
		s.waiting[r.URL.Path]++
	}
	s.mu.Unlock()
	if held != nil {
		defer s.leave(r.URL.Path)
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	if s.limited(rec, r) {
		return
	}
	s.mu.Lock()
	h, f, fallback := s.handlers[r.URL.Path], s.find(r), s.fallback
	s.mu.Unlock()
	switch {
	case h != nil:
		h.ServeHTTP(rec, r)
	case f != nil:
		f.serve(rec, r)
	case fallback != nil:
		fallback.ServeHTTP(rec, r)
	default:
		http.NotFound(rec, r)
	}
}

func (s *Site) leave(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[p]--
}

// Waiting is the number of requests for a path that are held at the moment.
func (s *Site) Waiting(p string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting[p]
}

func (s *Site) find(r *http.Request) *file {
	for _, p := range []string{r.URL.RequestURI(), r.URL.Path, r.URL.Path + "index.html"} {
		if f := s.files[p]; f != nil && (p != r.URL.Path+"index.html" || strings.HasSuffix(r.URL.Path, "/")) {
			return f
		}
	}
	return nil
}

func (s *Site) limited(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	l := s.limit
	if l == nil || r.URL.Path == "/robots.txt" || len(l.retryAfter) == 0 {
		s.mu.Unlock()
		return false
	}
	if l.left > 0 {
		l.left--
		s.mu.Unlock()
		return false
	}
	value := l.retryAfter[0]
	l.retryAfter, l.left = l.retryAfter[1:], l.every
	s.mu.Unlock()
	if ahead, ok := strings.CutPrefix(value, "date+"); ok {
		if d, err := time.ParseDuration(ahead); err == nil {
			value = time.Now().Add(d).UTC().Format(http.TimeFormat)
		}
	}
	if value != "" {
		w.Header().Set("Retry-After", value)
	}
	l.hook(w)
	return true
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if f.etag != "" {
		h.Set("ETag", f.etag)
	}
	if !f.modified.IsZero() {
		h.Set("Last-Modified", f.modified.Format(http.TimeFormat))
	}
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
	}
	if f.location != "" {
		h.Set("Location", f.location)
	}
	if f.status == http.StatusOK && f.unchanged(r) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.mediaType)
	body := f.body
	if f.coding == "gzip" {
		h.Set("Content-Encoding", "gzip")
		body = Gzip(body)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.status)
	_, _ = w.Write(body)
}

// unchanged evaluates the preconditions (RFC 9110 §13.2.2).
func (f *file) unchanged(r *http.Request) bool {
	if match := r.Header.Get("If-None-Match"); match != "" {
		return f.etag != "" && match == f.etag
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !f.modified.IsZero() && !f.modified.After(since)
}

func parseFile(name, body, base string) (*file, string, error) {
	fields := strings.Fields(name)
	if len(fields) == 0 || !strings.HasPrefix(fields[0], "/") {
		return nil, "", fmt.Errorf("fake site: the name %q is no path", name)
	}
	p := fields[0]
	f := &file{status: http.StatusOK, body: []byte(body)}
	etag, modified := "", Modified
	for _, option := range fields[1:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "status":
			status, err := strconv.Atoi(value)
			if err != nil {
				return nil, "", fmt.Errorf("fake site: %s: status %q: %w", p, value, err)
			}
			f.status = status
		case "location":
			f.location = strings.ReplaceAll(value, "{{base}}", base)
		case "type":
			f.mediaType = strings.ReplaceAll(value, ";_", "; ")
		case "etag":
			etag = value
		case "modified":
			modified = value
		case "coding":
			f.coding = value
		case "pack":
			f.body = Gzip(f.body)
		case "retry-after":
			f.retryAfter = value
		default:
			return nil, "", fmt.Errorf("fake site: %s: unknown option %q", p, option)
		}
	}
	if f.mediaType == "" {
		plain, _, _ := strings.Cut(p, "?")
		f.mediaType = typeOf(plain)
	}
	switch etag {
	case "none":
	case "":
		sum := sha256.Sum256(f.body)
		f.etag = `"` + hex.EncodeToString(sum[:8]) + `"`
	default:
		f.etag = `"` + etag + `"`
	}
	if modified != "none" {
		at, err := time.Parse(time.DateOnly, modified)
		if err != nil {
			return nil, "", fmt.Errorf("fake site: %s: modified %q: %w", p, modified, err)
		}
		f.modified = at
	}
	return f, p, nil
}

func typeOf(p string) string {
	switch ext := path.Ext(p); ext {
	case "", ".html":
		return "text/html; charset=utf-8"
	case ".md":
		return "text/markdown; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".gz":
		return "application/gzip"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}

// Gzip compresses.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a bytes.Buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
