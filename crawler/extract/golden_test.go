package extract_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldens reads pages as each documentation generator writes them.
func TestGoldens(t *testing.T) {
	pages, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range pages {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		seen++
		t.Run(filepath.ToSlash(strings.TrimPrefix(name, "testdata/")), func(t *testing.T) {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			kind := "text/html"
			if strings.HasSuffix(name, ".md") {
				kind = "text/markdown"
			}
			page := docseek.Page{URL: "https://docs.example.com/docs/" + filepath.Base(name), Body: body, ContentType: kind}
			doc, signals, err := extract.Extract(page, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if kind == "text/html" {
				checkAnchors(t, doc, string(body))
			}
			got := dump(doc, signals)
			golden := strings.TrimSuffix(name, filepath.Ext(name)) + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("differs from %s (-want +got; -update rewrites):\n%s", golden, diff)
			}
		})
	}
	if seen < 10 {
		t.Errorf("only %d pages in testdata", seen)
	}
}

// dump writes a document so that a person can judge it.
func dump(doc docseek.Document, s extract.Signals) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\ngenerator: %s\nlanguage: %s\nversion: %s\n", doc.Title, doc.Generator, doc.Language, doc.Version)
	fmt.Fprintf(&b, "canonical: %s\n", s.Canonical)
	for _, lang := range slices.Sorted(maps.Keys(s.Alternates)) {
		fmt.Fprintf(&b, "alternate %s: %s\n", lang, s.Alternates[lang])
	}
	fmt.Fprintf(&b, "characters: %d of %d, %d in links\n", s.KeptChars, s.VisibleChars, s.LinkChars)
	for _, l := range doc.Links {
		fmt.Fprintf(&b, "link: %s\n", l)
	}
	for _, sec := range doc.Sections {
		kind := "heading"
		if sec.Entry {
			kind = "entry"
		}
		fmt.Fprintf(&b, "\n======== %d %s #%s %s\n%s\n", sec.Level, kind, sec.Anchor, strings.Join(sec.Path, " > "), sec.Markdown)
	}
	return b.String()
}

// checkAnchors fails when a section has an anchor that does not exist in the
// page as an id or as the name of an anchor.
func checkAnchors(t *testing.T, doc docseek.Document, body string) {
	t.Helper()
	ids := map[string]bool{}
	z := html.NewTokenizer(strings.NewReader(body))
	for z.Next() != html.ErrorToken {
		for _, a := range z.Token().Attr {
			if a.Key == "id" || a.Key == "name" {
				ids[a.Val] = true
			}
		}
	}
	for _, s := range doc.Sections {
		if s.Anchor != "" && !ids[s.Anchor] {
			t.Errorf("section %q has the anchor %q, which the page does not have", s.Title, s.Anchor)
		}
		if len(s.Path) > 0 && s.Path[len(s.Path)-1] != s.Title {
			t.Errorf("section %q has the path %q", s.Title, s.Path)
		}
	}
}
