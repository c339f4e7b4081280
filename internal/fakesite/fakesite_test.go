package fakesite_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/docseek/docseek/internal/fakesite"
)

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestSite(t *testing.T) {
	site := fakesite.Start(t, `
-- /guide/index.html --
<a href="{{base}}/x">x</a>
-- /q?a=1 type=text/plain;_charset=latin1 etag=v1 modified=none --
query
-- /old status=301 location={{base}}/guide/ --
-- /packed.xml.gz pack=gzip --
packed
-- /coded.html coding=gzip --
coded
-- /busy status=503 retry-after=7 --
`)
	res, body := get(t, site.URL("/guide/"))
	tag, date := res.Header.Get("ETag"), res.Header.Get("Last-Modified")
	if body != `<a href="`+site.Base+`/x">x</a>`+"\n" || tag == "" || date != "Sat, 14 Mar 2026 00:00:00 GMT" {
		t.Errorf("%q %q %q", body, tag, date)
	}
	for _, c := range [][]string{{"If-None-Match", tag}, {"If-Modified-Since", date}, {"If-None-Match", tag, "If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"}} {
		if res, body := get(t, site.URL("/guide/"), c...); res.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%q: %d %q", c, res.StatusCode, body)
		}
	}
	if res, _ := get(t, site.URL("/guide/"), "If-None-Match", `"other"`, "If-Modified-Since", date); res.StatusCode != http.StatusOK {
		t.Errorf("another tag: %d", res.StatusCode)
	}
	res, body = get(t, site.URL("/q?a=1"))
	if body != "query\n" || res.Header.Get("ETag") != `"v1"` || res.Header.Get("Last-Modified") != "" || res.Header.Get("Content-Type") != "text/plain; charset=latin1" {
		t.Errorf("%q %v", body, res.Header)
	}
	for path, want := range map[string]int{"/q": 404, "/guide": 404, "/old": 301, "/busy": 503, "/packed.xml.gz": 200} {
		if res, _ := get(t, site.URL(path)); res.StatusCode != want {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if res, body := get(t, site.URL("/coded.html"), "Accept-Encoding", "gzip"); body != string(fakesite.Gzip([]byte("coded\n"))) || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%q", body)
	}
	if n := site.Count("/guide/"); n != 5 {
		t.Errorf("%d requests", n)
	}
	if err := site.Set("/guide/index.html", "new"); err != nil {
		t.Fatal(err)
	}
	if _, body := get(t, site.URL("/guide/"), "If-None-Match", tag); body != "new" {
		t.Errorf("%q", body)
	}
	site.Remove("/guide/index.html")
	if res, _ := get(t, site.URL("/guide/")); res.StatusCode != http.StatusNotFound {
		t.Errorf("removed: %d", res.StatusCode)
	}
	site.Reset()
	if n := len(site.Requests()); n != 0 {
		t.Errorf("%d requests after a reset", n)
	}
}

func TestHold(t *testing.T) {
	site := fakesite.Start(t, "-- /a --\nA\n")
	release := site.Hold("/a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, site.URL("/a"), http.NoBody)
		if err == nil {
			_, err = http.DefaultTransport.RoundTrip(req)
		}
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("a held request was answered")
	}
	release()
	release()
	if _, body := get(t, site.URL("/a")); body != "A\n" {
		t.Errorf("%q", body)
	}
}

func TestRateLimit(t *testing.T) {
	site := fakesite.Start(t, "-- /a --\nA\n-- /robots.txt --\n")
	site.RateLimit(1, "3", "")
	var got []int
	for range 6 {
		res, _ := get(t, site.URL("/a"))
		got = append(got, res.StatusCode)
		if len(got) == 2 && res.Header.Get("Retry-After") != "3" {
			t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
		}
		_, _ = get(t, site.URL("/robots.txt"))
	}
	want := []int{200, 429, 200, 429, 200, 200}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, archive := range []string{"-- a --\n", "-- /a status=x --\n", "-- /a colour=red --\n", "-- /a modified=soon --\n"} {
		if site, err := fakesite.New(archive); err == nil {
			site.Close()
			t.Errorf("%q is taken", archive)
		}
	}
}
