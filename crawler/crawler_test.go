package crawler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
