package middleware

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func TestGuard(t *testing.T) {
	const loopback, public = "127.0.0.1:8080", "203.0.113.7:443"
	open := Guard{}
	published := Guard{Public: "mcp.example.com"}
	listed := Guard{Hosts: []string{"mcp.example.com"}, Origins: []string{"https://app.example.com"}}
	for _, test := range []struct {
		name        string
		guard       Guard
		local, host string
		origins     []string
		want        int
	}{
		{"program on loopback", open, loopback, "127.0.0.1:8080", nil, 200},
		{"localhost", open, loopback, "LOCALHOST:8080", nil, 200},
		{"IPv6 loopback", open, "[::1]:8080", "[::1]:8080", nil, 200},
		{"IPv6 loopback without port", open, "[::1]:80", "[::1]", nil, 200},
		{"mapped loopback", open, loopback, "[::ffff:127.0.0.1]:8080", nil, 200},
		{"rebound name", open, loopback, "evil.example:8080", nil, 403},
		{"name that begins like loopback", open, loopback, "127.0.0.1.evil.example", nil, 403},
		{"name that begins like localhost", open, loopback, "localhost.evil.example", nil, 403},
		{"empty host", open, loopback, "", nil, 403},
		{"local page", open, loopback, "localhost:8080", []string{"http://localhost:6274"}, 200},
		{"foreign page", open, loopback, "localhost:8080", []string{"https://evil.example"}, 403},
		{"sandboxed page", open, loopback, "localhost:8080", []string{"null"}, 403},
		{"empty origin", open, loopback, "localhost:8080", []string{""}, 403},
		{"origin of another scheme", open, loopback, "localhost:8080", []string{"file://localhost"}, 403},
		{"good and bad origin", open, loopback, "localhost:8080", []string{"http://localhost", "https://evil.example"}, 403},
		{"unknown connection counts as loopback", open, "", "evil.example", nil, 403},
		{"public without a list", open, public, "anything.example", nil, 200},
		{"page on public without a list", open, public, "evil.example", []string{"http://evil.example"}, 403},
		{"loopback page on public", open, public, "mcp.example.com", []string{"http://localhost"}, 403},
		{"public host through a local proxy", published, loopback, "MCP.example.com", nil, 200},
		{"page of the public host", published, loopback, "mcp.example.com", []string{"https://mcp.example.com"}, 200},
		{"rebound name beside the public host", published, loopback, "evil.example", nil, 403},
		{"a probe by address beside the public host", published, public, "203.0.113.7:443", nil, 200},
		{"listed host", listed, public, "MCP.example.com:443", nil, 200},
		{"unlisted host", listed, public, "203.0.113.7", nil, 403},
		{"loopback host on public", listed, public, "localhost", nil, 403},
		{"listed host through a local proxy", listed, loopback, "mcp.example.com", nil, 200},
		{"page of the listed host", listed, public, "mcp.example.com", []string{"https://mcp.example.com"}, 200},
		{"listed origin", listed, public, "mcp.example.com", []string{"https://app.example.com"}, 200},
		{"listed origin, other scheme", listed, public, "mcp.example.com", []string{"http://app.example.com"}, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Host = test.host
			if test.origins != nil {
				r.Header["Origin"] = test.origins
			}
			if test.local != "" {
				r = onAddress(t, r, test.local)
			}
			w := httptest.NewRecorder()
			test.guard.Wrap(http.HandlerFunc(ok)).ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("status %d, want %d: %s", w.Code, test.want, w.Body)
			}
			if w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "an operator can add it to server.allowed_") {
				t.Errorf("the refusal does not say what to do: %s", w.Body)
			}
		})
	}
}

// onAddress is a request that came in on an address of the server.
func onAddress(t *testing.T, r *http.Request, local string) *http.Request {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr)))
}

func TestRequestID(t *testing.T) {
	var inside []string
	h := RequestID(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		inside = append(inside, RequestIDFrom(r.Context()))
	}))
	for i := range 2 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set(RequestIDHeader, "chosen by the client")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get(RequestIDHeader); got != inside[i] || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(got) {
			t.Errorf("the client was told %q, the handler %q", got, inside[i])
		}
	}
	if inside[0] == inside[1] {
		t.Errorf("two requests have the id %s", inside[0])
	}
	if id := RequestIDFrom(t.Context()); id != "" {
		t.Errorf("a context without an id has %q", id)
	}
}

func TestRecover(t *testing.T) {
	var log bytes.Buffer
	serve := func(h http.HandlerFunc) *httptest.Server {
		return httptest.NewServer(Chain(h, RequestID, Recover(slog.New(slog.NewTextHandler(&log, nil)))))
	}
	before := serve(func(http.ResponseWriter, *http.Request) { panic("secret") })
	response, err := http.Get(before.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	before.Close() // the handler has ended
	id := response.Header.Get(RequestIDHeader)
	if want := "internal error (request id " + id + ")\n"; response.StatusCode != http.StatusInternalServerError || string(body) != want {
		t.Errorf("status %d, %q, want 500, %q", response.StatusCode, body, want)
	}
	for _, part := range []string{"secret", id, "middleware_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not have %s: %s", part, &log)
		}
	}

	halfway := serve(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		panic("secret")
	})
	response, err = http.Get(halfway.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("half an answer looks whole: %q", body)
	}
	halfway.Close()

	aborted := serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	length := log.Len()
	if response, err := http.Get(aborted.URL); err == nil {
		response.Body.Close()
		t.Errorf("an aborted request was answered with %d", response.StatusCode)
	}
	aborted.Close()
	if log.Len() != length {
		t.Errorf("an aborted request is logged: %s", log.String()[length:])
	}
}

// deadlines records the write deadlines that it is given.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		h := WriteTimeout(30 * time.Second)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Minute)
			w.WriteHeader(http.StatusOK)
			<-time.After(time.Minute)
			_, _ = io.WriteString(w, "late but alive")
		}))
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		var got []time.Duration
		for _, at := range w.set {
			got = append(got, at.Sub(start))
		}
		if want := []time.Duration{30 * time.Second, 90 * time.Second, 150 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("deadlines after %v, want %v", got, want)
		}
	})
}

func TestChainOrder(t *testing.T) {
	var order []string
	link := func(name string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				order = append(order, name)
				next.ServeHTTP(w, r)
			})
		}
	}
	Chain(http.HandlerFunc(ok), link("outer"), link("inner")).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	if got := strings.Join(order, " "); got != "outer inner" {
		t.Errorf("order %q", got)
	}
}
