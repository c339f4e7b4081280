package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/internal/fakesite"
)

// index is what a crawl leaves behind, as an index would keep it.
type index struct {
	order   []string
	results map[string]crawler.Result
	summary crawler.Summary
	err     error
}

func (x *index) known(url string) (crawler.Known, bool) {
	r, ok := x.results[url]
	if !ok || r.Fate != crawler.Fetched && r.Fate != crawler.NotModified {
		return crawler.Known{}, false
	}
	return crawler.Known{Validators: r.Page.Validators, Hash: r.Hash, Links: r.Links}, true
}

// urls are those with a fate, and with a reason where one is given, as paths in order.
func (x *index) urls(base string, fate crawler.Fate, reason string) []string {
	var paths []string
	for _, u := range x.order {
		if r := x.results[u]; r.Fate == fate && (reason == "" || r.Reason == reason) {
			paths = append(paths, strings.TrimPrefix(u, base))
		}
	}
	return paths
}

func (x *index) reasons() map[string]int {
	n := map[string]int{}
	for _, r := range x.results {
		if r.Fate != crawler.Fetched {
			n[r.Reason]++
		}
	}
	return n
}

func newCrawler(t *testing.T, change ...func(*crawler.Options)) *crawler.Crawler {
	t.Helper()
	opts := crawler.Options{Version: "1.2.3", Backoff: time.Millisecond}
	for _, f := range change {
		f(&opts)
	}
	c, err := crawler.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// crawl crawls a source, building on an earlier index where one is given.
func crawl(t *testing.T, c *crawler.Crawler, src docseek.Source, before *index) *index {
	t.Helper()
	x := &index{results: map[string]crawler.Result{}}
	var known func(string) (crawler.Known, bool)
	if before != nil {
		known = before.known
	}
	src.Name = "docs"
	x.summary, x.err = c.Crawl(t.Context(), src, known, func(_ context.Context, r crawler.Result) error {
		if _, twice := x.results[r.URL]; twice {
			t.Errorf("%s was handed over twice", r.URL)
		}
		if r.Done != len(x.order)+1 {
			t.Errorf("%s: done is %d after %d results", r.URL, r.Done, len(x.order))
		}
		x.order = append(x.order, r.URL)
		x.results[r.URL] = r
		return nil
	})
	return x
}

func mustCrawl(t *testing.T, src docseek.Source) *index {
	t.Helper()
	x := crawl(t, newCrawler(t), src, nil)
	if x.err != nil {
		t.Fatal(x.err)
	}
	return x
}

func wantPaths(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func article(title, text string) string {
	return fmt.Sprintf("<!doctype html><html lang=en><head><title>%s</title></head><body><nav><a href=/>Home</a></nav>"+
		"<main><h1>%s</h1><p>%s</p></main></body></html>", title, title, text)
}

func TestSitemapThatRedirects(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml status=302 location=/sm/index.xml --
-- /sm/index.xml --
<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>{{base}}/sm/a.xml</loc></sitemap><sitemap><loc>/sm/b.xml</loc></sitemap></sitemapindex>
-- /sm/a.xml --
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{{base}}/one.html</loc></url></urlset>
-- /sm/b.xml status=301 location=/sm/b2.xml --
-- /sm/b2.xml --
<urlset><url><loc>{{base}}/two.html</loc></url><url><loc>three.html</loc><lastmod>2026-02-03</lastmod></url></urlset>
`)
	for _, p := range []string{"/one.html", "/two.html", "/sm/three.html"} {
		if err := site.Set(p, article("Page "+p, "What "+p+" is about.")); err != nil {
			t.Fatal(err)
		}
	}
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/one.html", "/two.html", "/sm/three.html")
	if s := x.summary; s.Sitemaps != 3 || s.Redirects != 2 || s.Discovery != "sitemap" || !s.Complete {
		t.Errorf("summary %+v", s)
	}
}

func TestSitemapWithoutPagesFails(t *testing.T) {
	for name, tc := range map[string]struct {
		archive string
		want    error
	}{
		"empty":        {"-- /sitemap.xml --\n<urlset/>\n", crawler.ErrNothing},
		"not there":    {"-- /x --\n", crawler.ErrUnreachable},
		"a page":       {"-- /sitemap.xml type=text/html --\n<!doctype html><p>Welcome</p>\n", crawler.ErrNothing},
		"failing":      {"-- /sitemap.xml status=500 --\n", crawler.ErrUnreachable},
		"other host":   {"-- /sitemap.xml --\n<urlset><url><loc>https://other.example/a</loc></url></urlset>\n", crawler.ErrNothing},
		"forbidden":    {"-- /robots.txt --\nUser-agent: docseek\nDisallow: /\n-- /sitemap.xml --\n<urlset/>\n", crawler.ErrNothing},
		"in a circle":  {"-- /sitemap.xml status=302 location=/sitemap.xml --\n", crawler.ErrUnreachable},
		"robots fails": {"-- /robots.txt status=503 --\n-- /sitemap.xml --\n<urlset><url><loc>/a</loc></url></urlset>\n-- /a --\n<h1>A</h1>\n", crawler.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			site := fakesite.Start(t, tc.archive)
			x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/sitemap.xml")}, nil)
			if !errors.Is(x.err, tc.want) || x.summary.Complete && len(x.order) > 0 {
				t.Errorf("error %v, %d results", x.err, len(x.order))
			}
			if name == "robots fails" && !strings.Contains(x.err.Error(), "cannot be reached (robots.txt: http_503), so nothing is fetched in this run") {
				t.Errorf("error %v", x.err)
			}
			if n := site.Count("/a"); n != 0 {
				t.Errorf("the page was asked for %d times", n)
			}
		})
	}
}

func TestSitemapBomb(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<sitemapindex>
<sitemap><loc>/bomb.xml.gz</loc></sitemap>
<sitemap><loc>/a.xml</loc></sitemap>
<sitemap><loc>/chain?n=1</loc></sitemap>
<sitemap><loc>/good.xml</loc></sitemap>
</sitemapindex>
-- /a.xml --
<sitemapindex><sitemap><loc>/b.xml</loc></sitemap></sitemapindex>
-- /b.xml --
<sitemapindex><sitemap><loc>/a.xml</loc></sitemap></sitemapindex>
-- /good.xml --
<urlset><url><loc>/one.html</loc></url></urlset>
-- /one.html --
<h1>One</h1><p>The first page of this site.</p>
`)
	if err := site.Set("/bomb.xml.gz pack=gzip", "<urlset>"+strings.Repeat(" ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	site.Handle("/chain", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		_, _ = fmt.Fprintf(w, "<sitemapindex><sitemap><loc>/chain?n=%d</loc></sitemap></sitemapindex>", n+1)
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/one.html")
	chain := 0
	for _, r := range site.Requests() {
		if strings.HasPrefix(r.Path, "/chain") {
			chain++
		}
	}
	if chain != 5 || site.Count("/a.xml") != 1 || site.Count("/b.xml") != 1 {
		t.Errorf("chain %d, a %d, b %d requests", chain, site.Count("/a.xml"), site.Count("/b.xml"))
	}
	if x.summary.Complete || len(x.summary.Warnings) < 2 {
		t.Errorf("summary %+v", x.summary)
	}
}

func TestBodiesAreBoundedDecoded(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/big.html</loc></url><url><loc>/plain.html</loc></url><url><loc>/brotli.html</loc></url><url><loc>/ok.html</loc></url></urlset>
-- /ok.html coding=gzip --
<h1>Fine</h1><p>This page is small enough.</p>
`)
	if err := site.Set("/big.html coding=gzip", "<h1>Big</h1>"+strings.Repeat(" ", 6<<20)); err != nil {
		t.Fatal(err)
	}
	site.Handle("/plain.html", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for range 1 << 10 { // chunked: no length is promised
			if _, err := w.Write(make([]byte, 1<<13)); err != nil {
				return
			}
		}
	}))
	site.Handle("/brotli.html", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("whatever"))
	}))
	cut := make(chan int, 1)
	site.Handle("/robots.txt", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent := 0
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /plain.html\n"))
		for sent < 64<<20 {
			n, err := w.Write([]byte(strings.Repeat("Disallow: /never\n", 1000)))
			if sent += n; err != nil {
				break
			}
		}
		cut <- sent
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	want := map[string]int{"too_large": 1, "robots": 1, "content_encoding br": 1}
	if diff := cmp.Diff(want, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/ok.html")
	if n := <-cut; n >= 64<<20 {
		t.Errorf("robots.txt was read for %d bytes", n)
	}
	for _, r := range site.Requests() {
		if e := r.Header.Get("Accept-Encoding"); e != "gzip" {
			t.Errorf("%s: Accept-Encoding %q", r.Path, e)
		}
		if ua := r.Header.Get("User-Agent"); ua != "docseek/1.2.3 (+https://github.com/docseek/docseek)" {
			t.Errorf("%s: User-Agent %q", r.Path, ua)
		}
	}
}

func TestTraps(t *testing.T) {
	site := fakesite.Start(t, "-- /x --\n")
	page := func(n int) string {
		var links strings.Builder
		for i := range 20 {
			fmt.Fprintf(&links, "<a href='/page%d.html'>page %d</a> ", i, i)
		}
		return article(fmt.Sprintf("Page %d", n), fmt.Sprintf("The text of page %d is its own. %s <a href='docs/next'>next</a> <a href='/calendar?page=1&amp;sort=a'>calendar</a>", n, links.String()))
	}
	for i := range 20 {
		if err := site.Set(fmt.Sprintf("/page%d.html", i), page(i)); err != nil {
			t.Fatal(err)
		}
	}
	endless := 0
	var mu sync.Mutex
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		endless++
		return endless
	}
	site.Handle("/calendar", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, article(fmt.Sprintf("Week %d", n), fmt.Sprintf(
			"Nothing happens in week %d (%d). <a href='?page=%d&sort=a'>on</a> <a href='?page=%d&sort=b'>turned</a>", n, count(), n+1, n)))
	}))
	site.Fallback(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		words := strings.Repeat(fmt.Sprintf("word%d ", count()), 30)
		_, _ = fmt.Fprint(w, article("Deep "+r.URL.Path, words+"<a href='docs/next'>next</a>"))
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/page0.html")})
	for i := range 20 {
		if r := x.results[site.URL(fmt.Sprintf("/page%d.html", i))]; r.Fate != crawler.Fetched {
			t.Errorf("page %d: %v %q", i, r.Fate, r.Reason)
		}
	}
	if endless >= 100 || x.reasons()["trap"] == 0 {
		t.Errorf("%d requests into the traps, reasons %v", endless, x.reasons())
	}
}

func TestQueriesThatSayTheSame(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/p</loc></url><url><loc>/p?utm_source=a</loc></url><url><loc>/p?b=2&amp;a=1</loc></url><url><loc>/p?a=1&amp;b=2</loc></url><url><loc>/p?tab=go</loc></url></urlset>
-- /p --
<h1>Plain</h1><p>The plain page.</p>
-- /p?a=1&b=2 --
<h1>Pair</h1><p>The page of the pair.</p>
-- /p?tab=go --
<h1>Go</h1><p>The page about Go.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/p", "/p?a=1&b=2", "/p?tab=go")
	n := 0
	for _, r := range site.Requests() {
		if strings.HasPrefix(r.Path, "/p") {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d requests for pages", n)
	}
}

func TestDuplicates(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/a.html</loc></url><url><loc>/b.html</loc></url><url><loc>/print.html</loc></url><url><loc>/real.html</loc></url><url><loc>/orphan.html</loc></url><url><loc>/one.html</loc></url><url><loc>/two.html</loc></url></urlset>
-- /a.html --
<h1>Same</h1><p>The very same text.</p>
-- /b.html --
<h1>Same</h1><p>The very same text.</p>
-- /print.html --
<link rel=canonical href="/real.html"><h1>Print</h1><p>A version for paper.</p>
-- /real.html --
<link rel=canonical href="{{base}}/real.html"><h1>Real</h1><p>A version for the screen.</p>
-- /orphan.html --
<link rel=canonical href="/never-was.html"><h1>Orphan</h1><p>It names an address that is gone.</p>
-- /one.html --
<link rel=canonical href="/two.html"><h1>One</h1><p>The first of a circle.</p>
-- /two.html --
<link rel=canonical href="/one.html"><h1>Two</h1><p>The second of a circle.</p>
`)
	src := docseek.Source{Start: site.URL("/sitemap.xml")}
	x := mustCrawl(t, src)
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/a.html", "/real.html", "/orphan.html", "/one.html")
	wantPaths(t, "duplicates", x.urls(site.Base, crawler.Refused, "duplicate"), "/b.html", "/print.html", "/two.html")

	again := crawl(t, newCrawler(t), src, x)
	wantPaths(t, "unchanged", again.urls(site.Base, crawler.NotModified, ""), "/a.html", "/real.html", "/orphan.html", "/one.html")
	wantPaths(t, "still duplicates", again.urls(site.Base, crawler.Refused, "duplicate"), "/b.html", "/print.html", "/two.html")
}

func TestLanguages(t *testing.T) {
	var list strings.Builder
	site := fakesite.Start(t, "-- /x --\n")
	for i := range 10 {
		for _, lang := range []string{"en", "es", "zh-hant"} {
			path := fmt.Sprintf("/%s/%d.html", lang, i)
			fmt.Fprintf(&list, "<url><loc>%s</loc>", path)
			if i < 5 {
				for _, l := range []string{"en", "es", "zh-Hant"} {
					fmt.Fprintf(&list, `<xhtml:link rel="alternate" hreflang="%s" href="/%s/%d.html"/>`, l, strings.ToLower(l), i)
				}
			}
			list.WriteString("</url>")
			if err := site.Set(path, fmt.Sprintf("<html lang=%s><body><h1>%s %d</h1><p>Text number %d in %s.</p></body></html>", lang, lang, i, i, lang)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml"), Languages: []string{"en"}})
	if n := len(x.urls(site.Base, crawler.Fetched, "")); n != 10 {
		t.Errorf("%d pages", n)
	}
	if diff := cmp.Diff(map[string]int{"language": 20}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if site.Count("/es/0.html") != 0 || site.Count("/es/9.html") != 1 {
		t.Error("a translation that the sitemap declares was asked for, or an undeclared one was not")
	}
}

func TestStartThatMoves(t *testing.T) {
	site := fakesite.Start(t, `
-- /docs status=301 location=/docs/en/intro --
-- /docs/en/intro --
<html lang=en><h1>Intro</h1><p>Where it begins.</p></html>
-- /docs/en/b --
<h1>B</h1><p>The second page.</p>
-- /docs/en/c --
<h1>C</h1><p>The third page.</p>
-- /docs-old/x --
<h1>Old</h1><p>The old page.</p>
-- /sitemap.xml --
<urlset><url><loc>/docs/en/intro</loc></url><url><loc>/docs/en/b</loc></url><url><loc>/docs/en/c</loc></url>
<url><loc>/docs-old/x</loc></url><url><loc>/docs-old/y</loc></url><url><loc>/blog/1</loc></url><url><loc>/blog/2</loc></url>
<url><loc>https://www.docs.example/docs/en/d</loc></url></urlset>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/docs")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/docs/en/intro", "/docs/en/b", "/docs/en/c")
	if diff := cmp.Diff(map[string]int{"redirect": 1, "out_of_scope": 5}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if len(x.summary.Warnings) != 1 || !strings.Contains(x.summary.Warnings[0], "/docs-old/x") {
		t.Errorf("warnings %q", x.summary.Warnings)
	}
}

func TestDiscoveryByLinks(t *testing.T) {
	site := fakesite.Start(t, `
-- /guide/index.html --
<h1>Guide</h1><p>Start here.</p><a href="a.html#x">a</a> <a href="/guide/b.html?utm_source=x">b</a> <a href="/blog/">blog</a>
<a href="logo.png">logo</a> <a href="secret/x.html">secret</a> <a href="mailto:a@b.example">mail</a> <a href="old.html">old</a>
-- /guide/a.html --
<h1>A</h1><p>Page A.</p><a href="./">up</a> <a href="c.html">c</a>
-- /guide/b.html --
<meta name=robots content="noindex"><h1>B</h1><p>Page B.</p><a href="d.html">d</a>
-- /guide/c.html --
<h1>C</h1><p>Page C.</p>
-- /guide/d.html --
<h1>D</h1><p>Page D.</p>
-- /guide/old.html status=308 location=/guide/c.html --
-- /robots.txt --
User-agent: *
Disallow: /guide/secret/
`)
	src := docseek.Source{Start: site.URL("/guide/")}
	x := mustCrawl(t, src)
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/guide/", "/guide/a.html", "/guide/c.html", "/guide/d.html")
	if diff := cmp.Diff(map[string]int{"robots": 1, "redirect": 1, "noindex": 1}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if x.summary.Discovery != "links" || !x.summary.Complete {
		t.Errorf("summary %+v", x.summary)
	}
	if n := site.Count("/guide/secret/x.html"); n != 0 {
		t.Errorf("a forbidden page was asked for %d times", n)
	}

	// Unchanged pages are not read again, and their links lead on all the same.
	site.Reset()
	again := crawl(t, newCrawler(t), src, x)
	if again.err != nil {
		t.Fatal(again.err)
	}
	wantPaths(t, "unchanged", again.urls(site.Base, crawler.NotModified, ""), "/guide/", "/guide/a.html", "/guide/c.html", "/guide/d.html")
	for _, r := range site.Requests() {
		if r.Path == "/guide/a.html" && (r.Header.Get("If-None-Match") == "" || r.Header.Get("If-Modified-Since") == "") {
			t.Errorf("no validators in %v", r.Header)
		}
	}
}

func TestDiscoveryByLLMs(t *testing.T) {
	site := fakesite.Start(t, `
-- /llms.txt --
# Acme
- [A](/guide/a.md)
- [Elsewhere](https://other.example/x)
-- /guide/index.html --
<h1>Guide</h1><p>Start here.</p>
-- /guide/a.md --
# A

A page in Markdown.
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/guide/", "/guide/a.md")
	if x.summary.Discovery != "llms.txt" {
		t.Errorf("discovery %q", x.summary.Discovery)
	}
	x = mustCrawl(t, docseek.Source{Start: site.URL("/llms.txt")})
	wantPaths(t, "fetched from the list itself", x.urls(site.Base, crawler.Fetched, ""), "/guide/a.md")
	site.Remove("/llms.txt")
	if x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/llms.txt")}, nil); !errors.Is(x.err, crawler.ErrNothing) {
		t.Errorf("without one: %v", x.err)
	}
}

func TestDiscoveryByRobots(t *testing.T) {
	site := fakesite.Start(t, `
-- /robots.txt --
Sitemap: {{base}}/maps/all.txt
-- /maps/all.txt --
{{base}}/guide/a.html
-- /guide/index.html --
<h1>Guide</h1><p>Start here.</p>
-- /guide/a.html --
<h1>A</h1><p>Page A.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/guide/", "/guide/a.html")
	if x.summary.Discovery != "sitemap" || site.Count("/sitemap.xml") != 0 {
		t.Errorf("summary %+v", x.summary)
	}
}

func TestRateLimit(t *testing.T) {
	var list strings.Builder
	site := fakesite.Start(t, "-- /x --\n")
	for i := range 20 {
		path := fmt.Sprintf("/%d.html", i)
		list.WriteString("<url><loc>" + path + "</loc></url>")
		if err := site.Set(path, article(fmt.Sprintf("Page %d", i), fmt.Sprintf("The text of page %d.", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	t.Run("told so", func(t *testing.T) {
		site.Reset()
		site.RateLimit(5, "1", "date+2s", "")
		x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml"), Rate: docseek.Rate{Concurrency: 1}})
		if n := len(x.urls(site.Base, crawler.Fetched, "")); n != 20 {
			t.Errorf("%d pages, reasons %v", n, x.reasons())
		}
		// Nothing arrives between a 429 and the end of the pause that it asked for.
		log := site.Requests()
		var limits []int
		for i, r := range log {
			if r.Status == http.StatusTooManyRequests {
				limits = append(limits, i)
			}
		}
		if len(limits) != 3 {
			t.Fatalf("%d answers of 429", len(limits))
		}
		for k, least := range []time.Duration{time.Second, time.Second} {
			i := limits[k]
			if gap := log[i+1].At.Sub(log[i].At); gap < least {
				t.Errorf("the request after pause %d came after %v", k+1, gap)
			}
		}
	})
	t.Run("as a page", func(t *testing.T) {
		site.SoftRateLimit(5, 2)
		x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
		if n := len(x.urls(site.Base, crawler.Fetched, "")); n != 20 {
			t.Errorf("%d pages, reasons %v", n, x.reasons())
		}
		for u, r := range x.results {
			if strings.Contains(string(r.Page.Body), "Rate limit") {
				t.Errorf("%s is a limiter's page", u)
			}
		}
	})
}

func TestFailuresKeepPages(t *testing.T) {
	var list strings.Builder
	site := fakesite.Start(t, "-- /x --\n")
	for i := range 12 {
		path := fmt.Sprintf("/%d.html", i)
		list.WriteString("<url><loc>" + path + "</loc></url>")
		if err := site.Set(path, article(fmt.Sprintf("Page %d", i), fmt.Sprintf("The text of page %d.", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	c := newCrawler(t, func(o *crawler.Options) { o.Timeout = time.Second })
	src := docseek.Source{Start: site.URL("/sitemap.xml")}
	x := crawl(t, c, src, nil)
	if x.err != nil || len(x.urls(site.Base, crawler.Fetched, "")) != 12 {
		t.Fatal(x.err, x.reasons())
	}
	for name, body := range map[string]string{
		"/0.html status=500":                 "<h1>Oops</h1>",
		"/1.html status=403":                 "<h1>Access denied</h1>",
		"/2.html status=404":                 "<h1>Not found</h1>",
		"/3.html status=410":                 "",
		"/4.html status=401":                 "",
		"/5.html status=302 location=/login": "",
		"/6.html":                            "<h1>Access Denied</h1><p>You don't have permission to access this page.</p>",
	} {
		if err := site.Set(name, body); err != nil {
			t.Fatal(err)
		}
	}
	release := site.Hold("/7.html")
	defer release()
	site.Reset()
	again := crawl(t, c, src, x)
	if again.err != nil {
		t.Fatal(again.err)
	}
	got := map[string]string{}
	for u, r := range again.results {
		if r.Fate != crawler.NotModified {
			got[strings.TrimPrefix(u, site.Base)] = r.Fate.String() + " " + r.Reason
		}
	}
	want := map[string]string{
		"/0.html": "unreachable http_500", "/1.html": "unreachable http_403", "/2.html": "gone http_404", "/3.html": "gone http_410",
		"/4.html": "unreachable http_401", "/5.html": "unreachable auth_required", "/6.html": "unreachable access_denied",
		"/7.html": "unreachable timeout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if n := site.Count("/0.html"); n != 3 {
		t.Errorf("a failing page was asked for %d times", n)
	}
}

func TestErrorPages(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/1.html</loc></url><url><loc>/2.html</loc></url><url><loc>/3.html</loc></url>
<url><loc>/removed-a.html</loc></url><url><loc>/removed-b.html</loc></url><url><loc>/members.html</loc></url><url><loc>/app.html</loc></url></urlset>
-- /1.html --
<h1>One</h1><p>The first real page.</p>
-- /2.html --
<h1>Two</h1><p>The second real page.</p>
-- /3.html --
<h1>Three</h1><p>The third real page.</p>
-- /members.html status=302 location=/login?next=/members.html --
`)
	site.Fallback(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, article("Page not found", "We looked for "+r.URL.Path+" everywhere, without success."))
	}))
	if err := site.Set("/app.html", "<html><head>"+strings.Repeat("<script>var x = 'a long program';</script>", 8000)+
		"</head><body><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>"); err != nil {
		t.Fatal(err)
	}
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/1.html", "/2.html", "/3.html")
	if diff := cmp.Diff(map[string]int{"soft_404": 2, "auth_required": 1, "needs_js": 1}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestMissingPagesThatLeadHome(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/</loc></url><url><loc>/1.html</loc></url><url><loc>/removed.html</loc></url></urlset>
-- /index.html --
<h1>Home</h1><p>Welcome to the documentation.</p>
-- /1.html --
<h1>One</h1><p>The first real page.</p>
`)
	site.Fallback(http.RedirectHandler("/", http.StatusFound))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/", "/1.html")
	wantPaths(t, "missing", x.urls(site.Base, crawler.Refused, "soft_404"), "/removed.html")
}

func TestPrivateAddresses(t *testing.T) {
	other := fakesite.Start(t, "-- /secret --\n<h1>Secret</h1>\n-- /sitemap.xml --\n<urlset><url><loc>/secret</loc></url></urlset>\n")
	site := fakesite.Start(t, `
-- /sitemap.xml --
<sitemapindex><sitemap><loc>/pages.xml</loc></sitemap><sitemap><loc>`+other.URL("/sitemap.xml")+`</loc></sitemap></sitemapindex>
-- /pages.xml --
<urlset><url><loc>`+other.URL("/secret")+`</loc></url><url><loc>/hop</loc></url><url><loc>/1.html</loc></url></urlset>
-- /hop status=302 location=`+other.URL("/secret")+` --
-- /start status=302 location=`+other.URL("/secret")+` --
-- /1.html --
<h1>One</h1><p>The first real page.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/1.html")
	if diff := cmp.Diff(map[string]int{"out_of_scope": 2}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/start")}, nil); x.err == nil {
		t.Error("a start that leads to another private address was followed")
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d requests reached the other server", n)
	}
}

func TestHeadersStayAtHome(t *testing.T) {
	other := fakesite.Start(t, "-- /x --\n")
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/1.html</loc></url><url><loc>`+other.URL("/x")+`</loc></url></urlset>
-- /1.html --
<h1>One</h1><p>The first real page.</p>
`)
	mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml"), Headers: map[string]string{"Authorization": "Bearer s3cret"}})
	for _, r := range site.Requests() {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s without the source's header", r.Path)
		}
	}
}

func TestContentTypes(t *testing.T) {
	read := make(chan int64, 1)
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/a.html</loc></url><url><loc>/b.pdf</loc></url><url><loc>/c.png</loc></url><url><loc>/d.json</loc></url>
<url><loc>/mistyped</loc></url><url><loc>/notes.txt</loc></url><url><loc>/e.md</loc></url><url><loc>/untyped</loc></url></urlset>
-- /a.html --
<h1>A</h1><p>The page in HTML.</p>
-- /c.png --
PNG
-- /d.json type=application/json --
{}
-- /mistyped type=text/plain --
<!DOCTYPE html><html><body><h1>Mistyped</h1><p>HTML all the same.</p></body></html>
-- /notes.txt --
Just some notes.
-- /e.md --
# E

The page in Markdown.
`)
	site.Handle("/b.pdf", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		n, _ := io.CopyN(w, neverEnding{}, 64<<20)
		read <- n
	}))
	site.Handle("/untyped", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("<!DOCTYPE html><h1>Untyped</h1><p>It says nothing of itself.</p>"))
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/a.html", "/mistyped", "/e.md", "/untyped")
	want := map[string]int{"content_type application/pdf": 1, "content_type image/png": 1, "content_type application/json": 1, "content_type text/plain": 1}
	if diff := cmp.Diff(want, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if n := <-read; n == 64<<20 {
		t.Error("the PDF was read to its end")
	}
	if typ := x.results[site.URL("/e.md")].Page.ContentType; typ != "text/markdown" {
		t.Errorf("Markdown is handed over as %q", typ)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

func TestMetaRefresh(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/old.html</loc></url><url><loc>/new.html</loc></url></urlset>
-- /old.html --
<html><head><meta http-equiv="refresh" content="0; url=new.html"></head><body><p>This page has moved.</p></body></html>
-- /new.html --
<h1>New</h1><p>The page under its new name.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/new.html")
	wantPaths(t, "redirects", x.urls(site.Base, crawler.Refused, "redirect"), "/old.html")
}

func TestMaxPages(t *testing.T) {
	site := fakesite.Start(t, "-- /x --\n")
	var list strings.Builder
	for i := range 30 {
		path := fmt.Sprintf("/%02d.html", i)
		list.WriteString("<url><loc>" + path + "</loc></url>")
		if err := site.Set(path, article(fmt.Sprintf("Page %d", i), fmt.Sprintf("The text of page %d.", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	// However long the first page takes, the same pages are handed over.
	release := site.Hold("/00.html")
	defer site.Hold("/04.html")() // and what is under way at the end is not waited for
	var x *index
	done := make(chan struct{})
	go func() {
		defer close(done)
		patient := newCrawler(t, func(o *crawler.Options) { o.Timeout = time.Hour })
		x = crawl(t, patient, docseek.Source{Start: site.URL("/sitemap.xml"), MaxPages: 3}, nil)
	}()
	for site.Count("/01.html") == 0 {
		time.Sleep(time.Millisecond)
	}
	release()
	<-done
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/00.html", "/01.html", "/02.html")
	if x.err != nil || x.summary.Complete || len(x.summary.Warnings) != 1 {
		t.Errorf("error %v, summary %+v", x.err, x.summary)
	}
}

func TestCrawlEnds(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/1.html</loc></url><url><loc>/2.html</loc></url></urlset>
-- /1.html --
<h1>One</h1><p>The first page.</p>
-- /2.html --
<h1>Two</h1><p>The second page.</p>
`)
	src := docseek.Source{Name: "docs", Start: site.URL("/sitemap.xml")}
	t.Run("when visit fails", func(t *testing.T) {
		full := errors.New("disk full")
		_, err := newCrawler(t).Crawl(t.Context(), src, nil, func(context.Context, crawler.Result) error { return full })
		if !errors.Is(err, full) {
			t.Error(err)
		}
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		defer site.Hold("/1.html")()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for site.Count("/2.html") == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		_, err := newCrawler(t).Crawl(ctx, src, nil, func(context.Context, crawler.Result) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestEncodingsOfPages(t *testing.T) {
	site := fakesite.Start(t, "-- /sitemap.xml --\n<urlset><url><loc>/latin</loc></url><url><loc>/utf16</loc></url></urlset>\n")
	serve := func(path, contentType, body string) {
		site.Handle(path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(body))
		}))
	}
	serve("/latin", "text/html; charset=ISO-8859-1", "<h1>Latin</h1><p>caf\xe9 na\xefve</p>")
	wide := []byte{0xff, 0xfe}
	for _, r := range "<h1>Wide</h1><p>café naïve 日本</p>" {
		wide = append(wide, byte(r), byte(r>>8))
	}
	serve("/utf16", "text/html; charset=utf-8", string(wide))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	for path, want := range map[string]string{"/latin": "café naïve", "/utf16": "café naïve 日本"} {
		if body := string(x.results[site.URL(path)].Page.Body); !strings.Contains(body, want) || strings.Contains(body, "\ufffd") {
			t.Errorf("%s: %q", path, body)
		}
	}
}

func TestSiteInTrouble(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml status=500 --
-- /guide/index.html --
<h1>Guide</h1><p>Start here.</p><a href=a.html>a</a>
-- /guide/a.html --
<h1>A</h1><p>Page A.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/")})
	if x.summary.Complete || len(x.summary.Warnings) != 1 || len(x.urls(site.Base, crawler.Fetched, "")) != 2 {
		t.Errorf("a sitemap that fails: %+v", x.summary)
	}
	site.Remove("/sitemap.xml")
	if err := site.Set("/guide/a.html status=500", ""); err != nil {
		t.Fatal(err)
	}
	if x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/")}); x.summary.Complete {
		t.Errorf("a page whose links nobody knows: %+v", x.summary)
	}
	if err := site.Set("/guide/index.html status=500", ""); err != nil {
		t.Fatal(err)
	}
	if x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/guide/")}, nil); !errors.Is(x.err, crawler.ErrUnreachable) || len(x.order) != 0 {
		t.Errorf("a start that fails: %v", x.err)
	}
	site.Close()
	if x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/guide/")}, nil); !errors.Is(x.err, crawler.ErrUnreachable) {
		t.Errorf("a site that is down: %v", x.err)
	}
}

func TestDeadHostIsGivenUp(t *testing.T) {
	site := fakesite.Start(t, "-- /x --\n")
	var list strings.Builder
	for i := range 60 {
		fmt.Fprintf(&list, "<url><loc>/%d.html</loc></url>", i)
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	site.Fallback(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml")})
	if diff := cmp.Diff(map[string]int{"connection": 60}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if n := len(site.Requests()); n > 40 {
		t.Errorf("%d requests to a host that answers none", n)
	}
}

func TestVersionsAreNoDuplicates(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/docs/1.0/a.html</loc></url><url><loc>/docs/2.0/a.html</loc></url><url><loc>/docs/a.html</loc></url></urlset>
-- /docs/1.0/a.html --
<h1>A</h1><p>Page A.</p>
-- /docs/2.0/a.html --
<link rel=canonical href=/docs/a.html><h1>A</h1><p>Page A.</p>
-- /docs/a.html --
<h1>A</h1><p>Page A.</p>
`)
	src := docseek.Source{Start: site.URL("/sitemap.xml")}
	wantPaths(t, "one product", mustCrawl(t, src).urls(site.Base, crawler.Fetched, ""), "/docs/a.html")
	src.Version = docseek.Version{FromPath: "/docs/{version}/*", Current: "latest"}
	x := mustCrawl(t, src)
	wantPaths(t, "three versions of it", x.urls(site.Base, crawler.Fetched, ""), "/docs/a.html", "/docs/1.0/a.html", "/docs/2.0/a.html")
	if v := x.results[site.URL("/docs/2.0/a.html")].Document.Version; v != "2.0" {
		t.Errorf("version %q", v)
	}
}

func TestCredentialsInTheStartAreRefused(t *testing.T) {
	x := crawl(t, newCrawler(t), docseek.Source{Start: "https://me:s3cret@docs.example/"}, nil)
	if !errors.Is(x.err, crawler.ErrSource) || strings.Contains(x.err.Error(), "s3cret") {
		t.Error(x.err)
	}
}

func TestStartWithoutWords(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/a.html</loc></url></urlset>
-- /a.html --
<h1>A</h1><p>Page A.</p>
`)
	if err := site.Set("/index.html", "<html><head>"+strings.Repeat("<script>var x = 'a long program';</script>", 8000)+
		"</head><body><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript></body></html>"); err != nil {
		t.Fatal(err)
	}
	x := mustCrawl(t, docseek.Source{Start: site.URL("/")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/a.html")
	wantPaths(t, "empty", x.urls(site.Base, crawler.Refused, "needs_js"), "/")
}

func TestQueriesOfOnePageEnd(t *testing.T) {
	site := fakesite.Start(t, "-- /guide/index.html --\n<h1>Guide</h1><p>Start here.</p><a href='list'>list</a>\n")
	n := 0
	var mu sync.Mutex
	site.Handle("/guide/list", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<h1>List</h1><p>The same list however it is sorted.</p><nav><a href='list?sort=%d'>sort</a></nav>", n)
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/")})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/guide/", "/guide/list")
	if diff := cmp.Diff(map[string]int{"duplicate": 3, "trap": 1}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestTranslationsThatPagesDeclare(t *testing.T) {
	site := fakesite.Start(t, `
-- /guide/index.html --
<html lang=en><head><link rel=alternate hreflang=en href=/guide/><link rel=alternate hreflang=de href=/guide/de/></head>
<body><h1>Guide</h1><p>Start here.</p><a href=/guide/de/>Deutsch</a> <a href=/guide/fr/>Français</a></body></html>
-- /guide/de/index.html --
<html lang=de><h1>Handbuch</h1><p>Hier geht es los.</p></html>
-- /guide/fr/index.html --
<html lang=fr><h1>Guide</h1><p>Commencez ici.</p><a href=/guide/fr/b.html>b</a></html>
-- /guide/fr/b.html --
<html lang=fr><h1>B</h1><p>La page B.</p></html>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/"), Languages: []string{"en"}})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/guide/")
	wantPaths(t, "refused", x.urls(site.Base, crawler.Refused, "language"), "/guide/de/", "/guide/fr/")
	if site.Count("/guide/de/") != 0 || site.Count("/guide/fr/b.html") != 0 {
		t.Error("a declared translation, or what only a translation links to, was asked for")
	}
	if x := mustCrawl(t, docseek.Source{Start: site.URL("/guide/fr/"), Languages: []string{"en"}}); len(x.urls(site.Base, crawler.Refused, "language")) != 2 {
		t.Errorf("a start in another language leads nowhere: %v", x.reasons())
	}
}

func TestMuchOutOfScopeTakesNoRoom(t *testing.T) {
	site := fakesite.Start(t, "-- /docs/index.html --\n<h1>Docs</h1><p>Start here.</p>\n-- /docs/a.html --\n<h1>A</h1><p>Page A.</p>\n")
	var list strings.Builder
	for i := range 500 {
		fmt.Fprintf(&list, "<url><loc>/shop/%d</loc></url>", i)
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"<url><loc>/shop/1</loc></url><url><loc>http://</loc></url><url><loc>/docs/a.html</loc></url></urlset>"); err != nil {
		t.Fatal(err)
	}
	c := newCrawler(t, func(o *crawler.Options) { o.MaxURLs = 5 })
	x := crawl(t, c, docseek.Source{Start: site.URL("/docs/")}, nil)
	if x.err != nil || !x.summary.Complete || x.reasons()["out_of_scope"] != 500 {
		t.Errorf("%v %+v %v", x.err, x.summary, x.reasons())
	}
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/docs/", "/docs/a.html")
	if w := x.summary.Warnings; len(w) != 1 || !strings.HasPrefix(w[0], "502 of the 503 URLs") {
		t.Errorf("warnings %q", w)
	}
}

func TestRedirects(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/ok</loc></url><url><loc>/self</loc></url><url><loc>/a</loc></url><url><loc>/hop?n=1</loc></url>
<url><loc>/nowhere</loc></url><url><loc>/script</loc></url><url><loc>/secret</loc></url><url><loc>/blog</loc></url></urlset>
-- /robots.txt --
User-agent: *
Disallow: /private/
-- /ok status=307 location=/page.html#part --
-- /page.html --
<h1>Page</h1><p>Where it all leads.</p>
-- /self status=301 location=/self?utm_source=self --
-- /a status=302 location=/b --
-- /b status=302 location=/a --
-- /nowhere status=301 --
-- /script status=301 location=javascript:alert(1) --
-- /secret status=302 location=/private/x.html --
-- /blog status=302 location=/news/x.html --
`)
	site.Handle("/hop", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		http.Redirect(w, r, fmt.Sprintf("/hop?n=%d", n+1), http.StatusFound)
	}))
	x := mustCrawl(t, docseek.Source{Start: site.URL("/sitemap.xml"), Exclude: []string{"/news/**"}})
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/page.html")
	got := map[string]string{}
	for u, r := range x.results {
		if path := strings.TrimPrefix(u, site.Base); !strings.HasPrefix(path, "/hop") && r.Fate == crawler.Refused {
			got[path] = r.Reason
		}
	}
	want := map[string]string{
		"/ok": "redirect", "/self": "redirect_loop", "/a": "redirect", "/b": "redirect", "/nowhere": "bad_redirect",
		"/script": "bad_redirect", "/secret": "redirect", "/private/x.html": "robots", "/blog": "excluded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if n := x.reasons()["redirect_limit"]; n != 1 || site.Count("/hop?n=11") != 1 || site.Count("/hop?n=12") != 0 {
		t.Errorf("an endless chain: %v", x.reasons())
	}
}

func TestSitemapOfEntrances(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/en/latest/</loc></url><url><loc>/en/stable/</loc></url></urlset>
-- /en/latest/index.html --
<h1>Latest</h1><p>Start here.</p><a href=a.html>a</a> <a href=b.html>b</a> <a href=c.html>c</a> <a href=_sources/a.rst.txt>source</a>
-- /en/stable/index.html --
<h1>Stable</h1><p>Or here.</p><a href=a.html>a</a> <a href=b.html>b</a>
-- /en/latest/a.html --
<h1>A</h1><p>Page A.</p><a href=d.html>d</a>
-- /en/latest/b.html --
<h1>B</h1><p>Page B.</p>
-- /en/latest/c.html --
<h1>C</h1><p>Page C.</p>
-- /en/latest/d.html --
<h1>D</h1><p>Page D.</p>
-- /en/stable/a.html --
<h1>A</h1><p>Page A, as it was.</p>
-- /en/stable/b.html --
<h1>B</h1><p>Page B, as it was.</p>
`)
	src := docseek.Source{Start: site.URL("/en/latest/"), Include: []string{"/en/**"}}
	x := mustCrawl(t, src)
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/en/latest/", "/en/stable/",
		"/en/latest/a.html", "/en/latest/b.html", "/en/latest/c.html", "/en/stable/a.html", "/en/stable/b.html", "/en/latest/d.html")
	if s := x.summary; s.Discovery != "links" || !s.Complete || len(s.Warnings) != 1 {
		t.Errorf("summary %+v", s)
	}
	src.Start = site.URL("/sitemap.xml")
	x = mustCrawl(t, src)
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/en/latest/", "/en/stable/")
	if s := x.summary; s.Discovery != "sitemap" || len(s.Warnings) != 1 {
		t.Errorf("summary %+v", s)
	}
}

func TestProbeWaitsForTheLimiter(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/1.html</loc></url><url><loc>/removed.html</loc></url></urlset>
-- /1.html --
<h1>One</h1><p>The first real page.</p>
`)
	site.Fallback(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, article("Nothing", "We looked for "+r.URL.Path+" everywhere, without success."))
	}))
	// The sitemap and one page pass; the probe is the next.
	site.RateLimit(2, "", "")
	x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/sitemap.xml"), Rate: docseek.Rate{Concurrency: 1}}, nil)
	wantPaths(t, "fetched", x.urls(site.Base, crawler.Fetched, ""), "/1.html")
	wantPaths(t, "missing", x.urls(site.Base, crawler.Refused, "soft_404"), "/removed.html")
}

// Many sites have nothing at their root and a sitemap all the same.
func TestAStartThatIsGone(t *testing.T) {
	site := fakesite.Start(t, `
-- /robots.txt --
Sitemap: {{base}}/map.xml
-- /map.xml --
<urlset><url><loc>{{base}}/guide</loc></url></urlset>
-- /guide --
<h1>Guide</h1><p>A page that the sitemap names.</p>
`)
	x := mustCrawl(t, docseek.Source{Start: site.URL("/")})
	if got := x.urls(site.Base, crawler.Fetched, ""); len(got) != 1 || x.summary.Discovery != "sitemap" {
		t.Errorf("fetched %v by %s", got, x.summary.Discovery)
	}
	site.Remove("/robots.txt")
	if x := crawl(t, newCrawler(t), docseek.Source{Start: site.URL("/")}, nil); !errors.Is(x.err, crawler.ErrUnreachable) || !strings.Contains(x.err.Error(), "no sitemap") {
		t.Errorf("without a sitemap: %v", x.err)
	}
}

func TestAnsweredHearsEachStatus(t *testing.T) {
	site := fakesite.Start(t, `
-- /robots.txt status=404 --
-- /sitemap.xml --
<urlset><url><loc>/1.html</loc></url><url><loc>/old</loc></url><url><loc>/gone</loc></url></urlset>
-- /old status=301 location=/1.html --
`)
	if err := site.Set("/1.html", article("One", "The first page.")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	heard := map[int]int{}
	c := newCrawler(t, func(o *crawler.Options) {
		o.Answered = func(status int) {
			mu.Lock()
			defer mu.Unlock()
			heard[status]++
		}
	})
	before := crawl(t, c, docseek.Source{Start: site.URL("/sitemap.xml")}, nil)
	crawl(t, c, docseek.Source{Start: site.URL("/sitemap.xml")}, before)
	// Not found in each crawl: robots.txt, /gone, and what tells soft 404s.
	if want := map[int]int{200: 3, 301: 2, 304: 1, 404: 6}; !maps.Equal(heard, want) {
		t.Errorf("heard %v, want %v", heard, want)
	}
}
