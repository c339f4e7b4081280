package middleware

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestClient(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, test := range []struct {
		name, remote string
		header       http.Header
		want         string
	}{
		{"direct", "203.0.113.1:4711", nil, "203.0.113.1"},
		{"direct, spoofing", "203.0.113.1:4711", http.Header{"X-Forwarded-For": {"1.1.1.1"}}, "203.0.113.1"},
		{"through a proxy", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"203.0.113.1"}}, "203.0.113.1"},
		{"through two", "10.0.0.2:80", http.Header{"X-Forwarded-For": {"203.0.113.1, 10.0.0.1"}}, "203.0.113.1"},
		{"through two, two lines", "10.0.0.2:80", http.Header{"X-Forwarded-For": {"203.0.113.1", "10.0.0.1"}}, "203.0.113.1"},
		{"spoofed before the proxy", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"1.1.1.1, 203.0.113.1"}}, "203.0.113.1"},
		{"a trusted address, spoofed", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"10.9.9.9, 203.0.113.1"}}, "203.0.113.1"},
		{"proxies alone", "10.0.0.2:80", http.Header{"X-Forwarded-For": {"10.0.0.1"}}, "10.0.0.1"},
		{"no word of the proxy", "10.0.0.1:80", nil, "10.0.0.1"},
		{"junk", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"203.0.113.1, unknown"}}, "10.0.0.1"},
		{"junk to the left", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"<script>, 203.0.113.1"}}, "203.0.113.1"},
		{"empty", "10.0.0.1:80", http.Header{"X-Forwarded-For": {""}}, "10.0.0.1"},
		{"with port", "10.0.0.1:80", http.Header{"X-Forwarded-For": {"203.0.113.1:55"}}, "203.0.113.1"},
		{"IPv6", "[2001:db8::1]:80", http.Header{"X-Forwarded-For": {"2001:4860::7"}}, "2001:4860::7"},
		{"IPv6 with port", "[2001:db8::1]:80", http.Header{"X-Forwarded-For": {"[2001:4860::7]:99"}}, "2001:4860::7"},
		{"mapped IPv4", "[::ffff:10.0.0.1]:80", http.Header{"X-Forwarded-For": {"::ffff:203.0.113.1"}}, "203.0.113.1"},
		{"Forwarded", "10.0.0.1:80", http.Header{"Forwarded": {`for=1.1.1.1, for="203.0.113.1:99";proto=https;by=10.0.0.1`}}, "203.0.113.1"},
		{"Forwarded, IPv6", "10.0.0.1:80", http.Header{"Forwarded": {`For="[2001:4860::7]:4711"`}}, "2001:4860::7"},
		{"Forwarded, obfuscated", "10.0.0.1:80", http.Header{"Forwarded": {`for=203.0.113.1, for=_hidden`}}, "10.0.0.1"},
		{"Forwarded beside the other", "10.0.0.1:80", http.Header{"Forwarded": {"for=1.1.1.1"}, "X-Forwarded-For": {"203.0.113.1"}}, "203.0.113.1"},
		{"Forwarded, direct", "203.0.113.1:1", http.Header{"Forwarded": {"for=1.1.1.1"}}, "203.0.113.1"},
		{"no address", "@", nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: test.header}
		if got := proxies.Client(r).String(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// FuzzClient shows that what a client writes to the left changes nothing, and
// that without a trusted proxy nothing it writes does.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{"1.1.1.1", "[::1]:1", `for="_x"`, ",,,", "10.0.0.3", "fe80::1%eth0"} {
		f.Add(seed)
	}
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, written string) {
		behind := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {written, "203.0.113.1"}}}
		if got := proxies.Client(behind).String(); got != "203.0.113.1" {
			t.Errorf("%q made the client %s", written, got)
		}
		direct := &http.Request{RemoteAddr: "203.0.113.2:1", Header: http.Header{"X-Forwarded-For": {written}, "Forwarded": {written}}}
		if got := proxies.Client(direct).String(); got != "203.0.113.2" {
			t.Errorf("%q made a direct client %s", written, got)
		}
	})
}

func TestAddressKey(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.1": "203.0.113.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::1": "2001:db8:1:2::/64",
	} {
		if got := AddressKey(netip.MustParseAddr(address)); got != want {
			t.Errorf("the key of %s is %s, want %s", address, got, want)
		}
	}
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		limit, err := NewRateLimit(60, 3, func(r *http.Request) string { return r.Header.Get("Caller") }, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		h := limit.Wrap(http.HandlerFunc(ok))
		ask := func(caller string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Caller", caller)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		codes := func(caller string, n int) (codes []int) {
			for range n {
				codes = append(codes, ask(caller).Code)
			}
			return codes
		}
		expect := func(when string, got []int, want ...int) {
			t.Helper()
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: %v, want %v", when, got, want)
					return
				}
			}
		}
		expect("a burst", codes("a", 5), 200, 200, 200, 429, 429)
		if w := ask("a"); w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "too many requests: try again in 1 s") {
			t.Errorf("refusal: %v %s", w.Header(), w.Body)
		}
		expect("another caller", codes("b", 1), 200)
		expect("nobody to limit", codes("", 9), 200, 200, 200, 200, 200, 200, 200, 200, 200)
		time.Sleep(time.Second)
		expect("after a second", codes("a", 2), 200, 429)
		time.Sleep(time.Minute)
		expect("after a minute", codes("a", 4), 200, 200, 200, 429)
		if n := strings.Count(log.String(), `msg="rate limit reached" caller=a`); n != 3 {
			t.Errorf("the log says %d times that a limit was reached:\n%s", n, &log)
		}
	})
}

// Many callers do not take more memory than a few.
func TestRateLimitForgets(t *testing.T) {
	limit, err := NewRateLimit(1, 1, func(r *http.Request) string { return r.RemoteAddr }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxCallers + 100 {
		limit.take(strconv.Itoa(i), time.Now())
	}
	if n := limit.callers.Len(); n != maxCallers {
		t.Errorf("%d callers are remembered", n)
	}
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 1, 10*time.Second)
		release, err := s.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			again, err := s.Acquire(t.Context())
			if err == nil {
				again()
			}
			got <- err
		}()
		synctest.Wait()
		if _, err := s.Acquire(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("beside a full queue: %v", err)
		}
		release()
		if err := <-got; err != nil {
			t.Errorf("the one that waited: %v", err)
		}

		release, err = s.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := s.Acquire(t.Context()); !errors.Is(err, ErrBusy) || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := s.Acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left: %v", err)
		}
		release()
		if release, err = s.Acquire(t.Context()); err != nil {
			t.Errorf("all have left, and there is no slot: %v", err)
		}
		release()
		if _, err := NewSlots(1, 0, time.Second).Acquire(t.Context()); err != nil {
			t.Errorf("without a queue: %v", err)
		}
	})
}

func TestCORS(t *testing.T) {
	asked := 0
	h := CORS(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, "ok")
	}))
	for _, test := range []struct {
		name, method string
		header       http.Header
		origin       string
		through      bool
	}{
		{"program", "POST", nil, "", true},
		{"page", "POST", http.Header{"Origin": {"https://app.example.com"}}, "https://app.example.com", true},
		{"preflight", "OPTIONS", http.Header{"Origin": {"https://app.example.com"}, "Access-Control-Request-Method": {"POST"}}, "https://app.example.com", false},
		{"options of a page", "OPTIONS", http.Header{"Origin": {"https://app.example.com"}}, "https://app.example.com", true},
		{"options of a program", "OPTIONS", http.Header{"Access-Control-Request-Method": {"POST"}}, "", true},
	} {
		before := asked
		r := httptest.NewRequest(test.method, "/mcp", nil)
		maps.Copy(r.Header, test.header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != test.origin || (asked > before) != test.through || w.Header().Get("Vary") != "Origin" {
			t.Errorf("%s: origin %q, passed on %t, %v", test.name, got, asked > before, w.Header())
		}
	}
}

// An orchestrator asks for the health under the machine's address, whatever
// names the server has; a web page on this machine does not.
func TestProbesUnderAnyName(t *testing.T) {
	guard := Guard{Hosts: []string{"mcp.example.com"}, Probes: []string{"/healthz", "/readyz"}}
	for _, test := range []struct {
		local, path string
		want        int
	}{
		{"203.0.113.7:443", "/healthz", 200},
		{"203.0.113.7:443", "/readyz", 200},
		{"203.0.113.7:443", "/mcp", 403},
		{"203.0.113.7:443", "/healthz/../mcp", 403},
		{"127.0.0.1:8080", "/healthz", 403},
	} {
		r := onAddress(t, httptest.NewRequest(http.MethodGet, test.path, nil), test.local)
		r.Host = "10.1.2.3:8080"
		w := httptest.NewRecorder()
		guard.Wrap(http.HandlerFunc(ok)).ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s on %s: %d, want %d", test.path, test.local, w.Code, test.want)
		}
	}
}
