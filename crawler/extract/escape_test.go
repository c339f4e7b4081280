package extract_test

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"
	xhtml "golang.org/x/net/html"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// rendered is the text that a reader of Markdown sees.
func rendered(t *testing.T, markdown string) string {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList), goldmark.WithRendererOptions(renderhtml.WithUnsafe()))
	var b bytes.Buffer
	if err := md.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	root, err := xhtml.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for n := range root.Descendants() {
		if n.Type == xhtml.TextNode {
			text.WriteString(n.Data)
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// FuzzText says that text means the same after it was written as Markdown: it
// is not taken for emphasis, code, links, tags, entities, headings or lists.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"max_retries and __init__", "*args, **kwargs", "a * b * c", "*a*", "**a**", "_a_ b_c_", "~~x~~ ~/a ~b~", "`a` and ``b`",
		"<T> & &amp; &#35; <!-- x -->", "[a](b) [c][d] ![e](f)", "# a", "1. a", "2) b", "- a", "+ b", "> c", "```", "~~~", "***", "---", "===", "a\\*b \\\\ c\\",
		"[a]: b", "<https://x.test/a_b>", "*a_b*c_d", "a*b*c", "***a** b*", "<a", "</p", "- [ ] x", "|a|b|", "a_\"b\"_c", "`<b>`",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		page := docseek.Page{URL: address, Body: []byte("<main><p>" + html.EscapeString(s) + "</p></main>")}
		doc, _, err := extract.Extract(page, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// What the page shows, by the same measure: code is verbatim.
		page.Body = []byte("<main><pre>.\n" + html.EscapeString(s) + "</pre></main>")
		want, _, err := extract.Extract(page, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := rendered(t, join(doc))
		if shown := strings.TrimSpace(strings.TrimPrefix(rendered(t, join(want)), ".")); got != shown {
			t.Errorf("%q becomes %q, which reads %q", shown, join(doc), got)
		}
	})
}
