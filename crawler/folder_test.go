package crawler_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, body := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFolder(t *testing.T) {
	outside := t.TempDir()
	writeFiles(t, outside, map[string]string{"secret.html": "<h1>Secret</h1><p>Not for the index.</p>"})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"index.html":            "<h1>Home</h1><p>The first page.</p><a href=guide/a.html>a</a>",
		"guide/a.html":          "<h1>A</h1><p>Page A.</p>",
		"guide/Über uns.md":     "# About\n\nA page in Markdown.\n",
		"guide/same.htm":        "<h1>A</h1><p>Page A.</p>",
		"drafts/x.html":         "<h1>Draft</h1><p>Not yet.</p>",
		".git/y.html":           "<h1>Hidden</h1>",
		"node_modules/z/z.html": "<h1>Hidden</h1>",
		"style.css":             "body {}",
		"huge.html":             "<h1>Huge</h1>" + strings.Repeat(" ", 6<<20),
	})
	for link, target := range map[string]string{"out.html": filepath.Join(outside, "secret.html"), "in.html": "guide/a.html", "outdir": outside} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	const base = "https://docs.example/v1"
	src := docseek.Source{Start: dir, BaseURL: base, Exclude: []string{"/**/drafts/**"}, Version: docseek.Version{Label: "1"}}
	x := mustCrawl(t, src)
	wantPaths(t, "fetched", x.urls(base, crawler.Fetched, ""), "/guide/a.html", "/guide/%C3%9Cber%20uns.md", "/index.html")
	if diff := cmp.Diff(map[string]int{"excluded": 1, "symlink": 1, "too_large": 1, "duplicate": 2}, x.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if s := x.summary; s.Discovery != "folder" || !s.Complete || s.Requests != 0 {
		t.Errorf("summary %+v", s)
	}
	home := x.results[base+"/index.html"]
	if home.Document.Version != "1" || home.Page.Modified.IsZero() || len(home.Links) != 1 || home.Links[0] != base+"/guide/a.html" {
		t.Errorf("home %+v", home)
	}

	writeFiles(t, dir, map[string]string{"index.html": "<h1>Home</h1><p>Another first page.</p>"})
	again := crawl(t, newCrawler(t), src, x)
	wantPaths(t, "unchanged", again.urls(base, crawler.NotModified, ""), "/guide/a.html", "/guide/%C3%9Cber%20uns.md")
	wantPaths(t, "changed", again.urls(base, crawler.Fetched, ""), "/index.html")

	limited := crawl(t, newCrawler(t), docseek.Source{Start: dir, BaseURL: base, MaxPages: 1}, nil)
	if limited.summary.Complete || len(limited.urls(base, crawler.Fetched, "")) != 1 {
		t.Errorf("limited: %+v", limited.summary)
	}
}

func TestFolderWithoutBase(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a b.md": "# A\n\nPage A.\n"})
	x := mustCrawl(t, docseek.Source{Start: dir})
	want := "file://" + filepath.ToSlash(dir) + "/a%20b.md"
	if len(x.order) != 1 || x.order[0] != want || x.results[want].Fate != crawler.Fetched {
		t.Errorf("results %q", x.order)
	}
}

func TestBadSources(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"x.css": "body {}"})
	for name, tc := range map[string]struct {
		src  docseek.Source
		want error
	}{
		"no such folder": {docseek.Source{Start: filepath.Join(dir, "never")}, crawler.ErrSource},
		"a file":         {docseek.Source{Start: filepath.Join(dir, "x.css")}, crawler.ErrSource},
		"no page":        {docseek.Source{Start: dir}, crawler.ErrNothing},
		"bad base":       {docseek.Source{Start: dir, BaseURL: "ftp://x/"}, crawler.ErrSource},
		"bad scheme":     {docseek.Source{Start: "ftp://docs.example/"}, crawler.ErrSource},
		"no host":        {docseek.Source{Start: "https://"}, crawler.ErrSource},
		"bad selector":   {docseek.Source{Start: "https://docs.example/", Content: "main[["}, crawler.ErrSource},
		"bad pattern":    {docseek.Source{Start: "https://docs.example/", Exclude: []string{strings.Repeat("/a", 100)}}, crawler.ErrSource},
	} {
		if x := crawl(t, newCrawler(t), tc.src, nil); !errors.Is(x.err, tc.want) {
			t.Errorf("%s: %v", name, x.err)
		}
	}
	if _, err := crawler.New(crawler.Options{MaxPages: -1}); err == nil {
		t.Error("a negative bound is taken")
	}
}
