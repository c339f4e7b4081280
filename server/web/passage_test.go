package web

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/docseek/docseek"
)

func newPassages(tb testing.TB) *Page {
	tb.Helper()
	p, err := New(Options{Docs: &library{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestPassage(t *testing.T) {
	p := newPassages(t)
	for _, test := range []struct {
		name, text, query string
		matched           [2]int
		want              string
	}{
		{"part of a text", "Über alles. Then this. End.", "", [2]int{12, 22}, "<p>Über alles. <mark>Then this.</mark> End.</p>\n"},
		{"nothing", "Only text.", "", [2]int{0, 0}, "<p>Only text.</p>\n"},
		{"beyond the end", "Only text.", "", [2]int{5, 500}, "<p>Only <mark>text.</mark></p>\n"},
		{"backwards", "Only text.", "", [2]int{7, 2}, "<p>Only text.</p>\n"},
		{"words in their forms", "Rotated keys, rotating a key-ring.", "how do I rotate keys", [2]int{0, 13}, "<p><mark><b>Rotated</b> <b>keys</b>,</mark> <b>rotating</b> a <b>key-ring</b>.</p>\n"},
		{"identifiers", "Set `max_retries` to 3.", "max_retries", [2]int{0, 23}, "<p><mark>Set </mark><code><mark><b>max_retries</b></mark></code><mark> to 3.</mark></p>\n"},
		{"code", "```go\nkey := a\nb < c\n```", "key", [2]int{6, 15}, "<pre tabindex=\"0\"><code><mark><b>key</b> := a\n</mark>b &lt; c\n</code></pre>\n"},
		{"over blocks", "# Keys\n\n- one\n- two", "", [2]int{2, 13}, "<p class=\"heading\"><mark>Keys</mark></p>\n<ul>\n<li><mark>one</mark></li>\n<li>two</li>\n</ul>\n"},
		{"links", "See [the *guide*](https://a.example/?x=1&y=2 \"t\") and [this](mailto:a@b.example).", "", [2]int{0, 3}, "<p><mark>See</mark> <a rel=\"noopener noreferrer nofollow\" href=\"https://a.example/?x=1&amp;y=2\">the <em>guide</em></a> and this.</p>\n"},
		{"images", "![a *chart*](https://a.example/x.png)", "", [2]int{0, 0}, "<p><span class=\"image\">a <em>chart</em></span></p>\n"},
		{"markup", "a <b>bold</b> <!-- x --> &lt; List<T>", "", [2]int{0, 0}, "<p>a &lt;b&gt;bold&lt;/b&gt; &lt;!-- x --&gt; &lt; List&lt;T&gt;</p>\n"},
		{"a table", "| a | b |\n|---|---|\n| 1 | 2 |", "", [2]int{22, 25}, "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><mark>1</mark></td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n"},
		{"definitions stay", "[a]: https://a.example/", "", [2]int{0, 0}, "<p>[a]: https://a.example/</p>\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			hit := docseek.Hit{Text: test.text, Language: "en", Matched: docseek.Span{Start: test.matched[0], End: test.matched[1]}}
			if got := string(p.passage(hit, test.query)); got != test.want {
				t.Errorf("got\n%q\nwant\n%q", got, test.want)
			}
		})
	}
}

// A row that names one cell has as many as the head of its table.
func TestPassageDoesNotGrow(t *testing.T) {
	p := newPassages(t)
	for name, text := range map[string]string{
		"a table":   "|" + strings.Repeat("a|", 2000) + "\n|" + strings.Repeat("-|", 2000) + strings.Repeat("\n|", 6000),
		"quotes":    strings.Repeat("> ", 8000),
		"lists":     strings.Repeat("1. ", 5000),
		"emphasis":  strings.Repeat("**a__b", 2700),
		"links":     strings.Repeat("[a](", 4000),
		"ampersand": strings.Repeat("&", 16000),
	} {
		out := p.passage(docseek.Hit{Text: text, Matched: docseek.Span{End: len(text)}}, "a")
		if len(out) > 16*len(text) {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(out))
		}
	}
}

// FuzzPassage looks for text that becomes markup of its own.
func FuzzPassage(f *testing.F) {
	for _, seed := range []string{
		"a [b](c) `d`", "<script>x</script>", "```\n<a\n```", "[x](https://a.example/\"onload=y)", "![<b>](javascript:x)", "<https://a.example/'\"<>>",
		"| <i> | b |\n|--|--|\n| [a](http://b.example) | x |", "- a\n  > b\n\n    c\n", "&lt;script&gt; &#60; \\<", "\x00\xff<\n====",
	} {
		f.Add(seed, 1, 5, "a script")
	}
	p := newPassages(f)
	elements := []string{
		"p", "mark", "b", "code", "pre", "a", "em", "strong", "span", "br", "hr", "ul", "ol", "li", "blockquote",
		"table", "thead", "tbody", "tr", "th", "td",
	}
	attributes := map[string]string{"class": "heading image", "rel": "noopener noreferrer nofollow", "tabindex": "0", "start": "", "align": "left right center", "href": ""}
	f.Fuzz(func(t *testing.T, text string, start, end int, query string) {
		if len(text) > 4000 || len(query) > 200 || !utf8.ValidString(text) {
			return
		}
		out := string(p.passage(docseek.Hit{Text: text, Matched: docseek.Span{Start: start, End: end}}, query))
		for tokens := html.NewTokenizer(strings.NewReader(out)); tokens.Next() != html.ErrorToken; {
			token := tokens.Token()
			if token.Type == html.TextToken {
				continue
			}
			if token.Type == html.CommentToken || token.Type == html.DoctypeToken || !slices.Contains(elements, token.Data) {
				t.Fatalf("%q became %s in %q", text, token, out)
			}
			for _, a := range token.Attr {
				values, allowed := attributes[a.Key]
				if !allowed || values != "" && !strings.Contains(values, a.Val) || a.Key == "href" && !isWeb(a.Val) {
					t.Fatalf("%q became %s in %q", text, token, out)
				}
			}
		}
	})
}

func BenchmarkPassage(b *testing.B) {
	p := newPassages(b)
	text := strings.Repeat("A key that is `rotated` stays [valid](https://a.example/) for 48 hours.\n\n```go\nkeys.Rotate(ctx, id)\n```\n\n", 15)
	hit := docseek.Hit{Text: text, Language: "en", Matched: docseek.Span{Start: 100, End: 900}}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.passage(hit, "how do I rotate a key")
	}
}
