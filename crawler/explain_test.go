package crawler_test

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/fakesite"
)

func TestExplain(t *testing.T) {
	site := fakesite.Start(t, `
-- /robots.txt --
User-agent: *
Disallow: /docs/private/
Allow: /docs/
-- /docs status=301 location=/docs/en/intro.html --
-- /docs/en/intro.html --
<html lang=en><h1>Intro</h1><p>Where it begins.</p><a href="next.html">next</a></html>
-- /docs/en/old.html status=302 location=intro.html?utm_source=old --
-- /docs/en/ja.html --
<html lang=ja><h1>日本</h1><p>日本語のページです。</p></html>
-- /docs/en/list.json --
{}
`)
	src := docseek.Source{Name: "docs", Start: site.URL("/docs"), Exclude: []string{"/docs/en/drafts/**"}, Languages: []string{"en"}}
	for _, tc := range []struct{ url, fate, reason, scope, robots string }{
		{"/docs/en/intro.html#top", "fetched", "", "start directory /docs/en/", "Allow: /docs/"},
		{"/docs/en/old.html", "fetched", "", "start directory /docs/en/", "Allow: /docs/"},
		{"/docs", "fetched", "", "start directory /docs/en/", "Allow: /docs/"},
		{"/docs/en/drafts/x.html", "refused", "excluded", "exclude /docs/en/drafts/**", ""},
		{"/blog/x.html", "refused", "out_of_scope", "start directory /docs/en/", ""},
		{"/docs/en/ja.html", "refused", "language", "start directory /docs/en/", "Allow: /docs/"},
		{"/docs/en/list.json", "refused", "content_type application/json", "start directory /docs/en/", "Allow: /docs/"},
		{"/docs/en/gone.html", "gone", "http_404", "start directory /docs/en/", "Allow: /docs/"},
	} {
		t.Run(tc.url, func(t *testing.T) {
			x, err := newCrawler(t).Explain(t.Context(), src, site.URL(tc.url))
			if err != nil {
				t.Fatal(err)
			}
			if x.Fate != tc.fate || x.Reason != tc.reason || x.Scope.Rule != tc.scope || x.Robots.Rule != tc.robots {
				t.Errorf("%+v", x)
			}
			if x.Fate == "fetched" && (x.Document == nil || x.Document.Title == "" || len(x.Links) != 1 || x.Charset != "utf-8" || x.Status != 200) {
				t.Errorf("%+v", x)
			}
			if strings.HasSuffix(tc.url, "old.html") && (len(x.Hops) != 1 || x.Hops[0] != site.URL("/docs/en/intro.html")) {
				t.Errorf("hops %q", x.Hops)
			}
		})
	}
	if n := site.Count("/docs/en/drafts/x.html"); n != 0 {
		t.Errorf("an excluded page was asked for %d times", n)
	}
	src.Include = []string{"/docs/**"}
	x, err := newCrawler(t).Explain(t.Context(), src, site.URL("/docs/private/x.html"))
	if err != nil || x.Robots.Allowed || x.Robots.Rule != "Disallow: /docs/private/" || x.Reason != "robots" {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestExplainFile(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.html": "<h1>A</h1><p>Page A.</p>", "b.md": "# B\n\nPage B.\n"})
	src := docseek.Source{Name: "docs", Start: dir, BaseURL: "https://docs.example/"}
	x, err := newCrawler(t).Explain(t.Context(), src, "https://docs.example/b.md#x")
	if err != nil || x.Fate != "fetched" || x.ContentType != "text/markdown" || x.Document == nil {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := newCrawler(t).Explain(t.Context(), src, "https://docs.example/never.html"); err == nil {
		t.Error("a file that is not there is explained")
	}
}
