package docseek_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/docseek/docseek"
)

func TestVisible(t *testing.T) {
	tests := []struct{ name, markdown, want string }{
		{"nothing", "", ""},
		{"text", "Call `f(x)` first.", "Call `f(x)` first."},
		{"link", "See [the guide](https://docs.example.com/guide#start).", "See the guide."},
		{"title", `[a](/b "c") [d](/e 'f') [g](/h (i))`, "a d g"},
		{"title over two lines", "[a](/b\n\"c\nd\")", "a"},
		{"no destination", "[a]() and [b](<>)", "a and b"},
		{"no text", "a [](/b) c", "a  c"},
		{"destination in angle brackets", "[a](<b c> \"d\")", "a"},
		{"spaces", "[a]( /b )", "a"},
		{"parentheses", "[a](https://en.example.org/wiki/Port_(ship)_(x(y))) b", "a b"},
		{"escapes", `[a\]b](/c\)d) \[e](/f) [g\](/h)`, `a\]b \[e](/f) [g\](/h)`},
		{"brackets in the text", "[a[0][1]](/b)", "a[0][1]"},
		{"marks in the text", "[**a** `b](c)`](/d)", "**a** `b](c)`"},
		{"text over two lines", "> [the\n> guide](/b)", "> the\n> guide"},
		{"image", "![a chart](https://docs.example.com/chart.png) b", "a chart b"},
		{"image without text", "a ![](/b.png)", "a "},
		{"image in a link", "[![a](/a.png) b](/c)", "a b"},
		{"link in a link", "[a [b](/c) d](/e)", "[a b d](/e)"},
		{"link in a link in a link", "[a [b [c](/d)](/e)](/f)", "[a [b c](/e)](/f)"},
		{"link in an image", "![a [b](/c)](/d)", "a b"},
		{"link after a link in brackets", "[[a](/b)] [c](/d)", "[a] c"},
		{"exclamation mark", "Stop![a](/b) !\\[c](/d)", "Stopa !\\[c](/d)"},
		{"within a word", "re[index](/a)ing", "reindexing"},
		{"autolink", "<https://docs.example.com/[a](b)> <ops@example.com>", "<https://docs.example.com/[a](b)> <ops@example.com>"},
		{"no autolink", "a < b and [c](/d) > e", "a < b and c > e"},
		{"address", "https://docs.example.com/a", "https://docs.example.com/a"},
		{"reference", "[a][b] [c]\n\n[d]: /e", "[a][b] [c]\n\n[d]: /e"},
		{"space before the parenthesis", "[a] (/b)", "[a] (/b)"},
		{"space in the destination", "[a](b c)", "[a](b c)"},
		{"open parenthesis", "[a](/b", "[a](/b"},
		{"open parentheses", "[a](/b(c) d", "[a](/b(c) d"},
		{"open title", `[a](/b "c)`, `[a](/b "c)`},
		{"open angle bracket", "[a](<b)", "[a](<b)"},
		{"open bracket", "[a [b](/c)", "[a b"},
		{"closing bracket", "a](/b) [c](/d)", "a](/b) c"},
		{"parenthesis behind an image's", "![a](/b))", "a)"},

		{"code span", "`a[i](x)` and ``b`[i](x)`` and [c](/d)", "`a[i](x)` and ``b`[i](x)`` and c"},
		{"code span over two lines", "`a\n[b](c)` [d](/e)", "`a\n[b](c)` d"},
		{"backtick that is no code span", "` [a](/b)", "` a"},
		{"backticks of different length", "``` [a](/b) `` [c](/d) `", "``` a `` c `"},
		{"escaped backtick", "\\`[a](/b)`", "\\`a`"},
		{"backslash in a code span", "`a\\` [b](/c) `d`", "`a\\` b `d`"},
		{"paragraphs", "a ` b\n\n[c](/d) ` e", "a ` b\n\nc ` e"},
		{"link over a blank line", "[a\n\nb](/c)", "[a\n\nb](/c)"},
		{"items", "- a ` b\n- [c](/d) ` e\n1. ` [f](/g)", "- a ` b\n- c ` e\n1. ` f"},
		{"quotes", "a `\n> [b](/c) `\n> d ` [e](/f)\n\n> # g\nh `\n> [i](/j) `", "a `\n> b `\n> d ` e\n\n> # g\nh `\n> i `"},
		{"headings", "# [a](/b) `\n[c](/d) `", "# a `\nc `"},
		{"rows", "| ` | [a](/b) |\n| --- | --- |\n| [c](/d) | ` |", "| ` | a |\n| --- | --- |\n| c | ` |"},

		{"fence", "[a](/b)\n```go\nx := f[i](y)\n\nz := f[i](y)\n```\n[c](/d)", "a\n```go\nx := f[i](y)\n\nz := f[i](y)\n```\nc"},
		{"tildes", "~~~\n```\nf[i](y)\n~~~~ \n[c](/d)", "~~~\n```\nf[i](y)\n~~~~ \nc"},
		{"longer fence", "````md\n```\n[a](/b)\n```\n[a](/b)\n````\n[c](/d)", "````md\n```\n[a](/b)\n```\n[a](/b)\n````\nc"},
		{"fence that is not closed", "```\n[a](/b)\n\n[c](/d)", "```\n[a](/b)\n\n[c](/d)"},
		{"fence with a link in its info string", "``` [a](/b)\n```\n[c](/d)", "``` [a](/b)\n```\nc"},
		{"no fence", "```a` [b](/c)", "```a` b"},
		{"end of a fence that is indented", "```\n    ```\n[a](/b)\n```\n[c](/d)", "```\n    ```\n[a](/b)\n```\nc"},
		{"fence in an item", "1. [a](/b)\n\n   ```\n   f[i](y)\n   ```\n   [c](/d)", "1. a\n\n   ```\n   f[i](y)\n   ```\n   c"},
		{"fence on the line of its item", "- ```\n  f[i](y)\n\n  f[i](y)\n  ```\n- [c](/d)", "- ```\n  f[i](y)\n\n  f[i](y)\n  ```\n- c"},
		{"fence that its item ends", "- ```\n  f[i](y)\n\n[c](/d)", "- ```\n  f[i](y)\n\nc"},
		{"fence in a quote", "> ```\n> > f[i](y)\n>\n> ```\n> [c](/d)", "> ```\n> > f[i](y)\n>\n> ```\n> c"},
		{"fence that its quote ends", "> ```\n> f[i](y)\n\n[c](/d)", "> ```\n> f[i](y)\n\nc"},
		{"fence behind a fence that its quote ends", "> ```\n> f[i](y)\n```\nf[i](y)\n```\n[c](/d)", "> ```\n> f[i](y)\n```\nf[i](y)\n```\nc"},
		{"quote in a fence", "```\n> ```\n[a](b)\n```", "```\n> ```\n[a](b)\n```"},
		{"carriage returns", "```\r\nf[i](y)\r\n```\r\n\r\n[c](/d)\r\n", "```\r\nf[i](y)\r\n```\r\n\r\nc\r\n"},
		{"tabs", "-\t```\n\tf[i](y)\n\t```\n\t[c](/d)", "-\t```\n\tf[i](y)\n\t```\n\tc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := docseek.Visible(test.markdown); got != test.want {
				t.Errorf("visible of %q is %q, want %q", test.markdown, got, test.want)
			}
			if got, want := links(docseek.Hidden(test.markdown)), parsedLinks(test.markdown); got != want {
				t.Errorf("%q has %d links and images, a parser finds %d", test.markdown, got, want)
			}
		})
	}
}

func TestEmbedded(t *testing.T) {
	c := docseek.Chunk{Text: "See [the limits](https://docs.example.com/limits)."}
	if got := c.Embedded(); got != "See the limits." {
		t.Errorf("without a context it is %q", got)
	}
	c.Context = "Cards > [Limits](daily)"
	if got := c.Embedded(); got != "Cards > [Limits](daily)\n\nSee the limits." {
		t.Errorf("with a context it is %q", got)
	}
}

// links is the number of links and images that hidden ranges are of.
func links(hidden []docseek.Range) int { return len(hidden) / 2 }

// parsedLinks is the number of inline links and images as a Markdown parser
// sees them.
func parsedLinks(markdown string) int {
	n := 0
	source := []byte(markdown)
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the visitor returns no error
		if entering && (node.Kind() == ast.KindLink || node.Kind() == ast.KindImage) {
			n++
		}
		return ast.WalkContinue, nil
	})
	return n
}

// checkHidden proves what holds for the hidden ranges of any text.
func checkHidden(t *testing.T, markdown string) {
	t.Helper()
	at, open := 0, 0
	for _, h := range docseek.Hidden(markdown) {
		if h.Start < at || h.Start >= h.End || h.End > len(markdown) {
			t.Fatalf("%v behind %d in %q", h, at, markdown)
		}
		at = h.End
		switch s := markdown[h.Start:h.End]; {
		case s == "[", s == "![":
			open++
		case strings.HasPrefix(s, "](") && strings.HasSuffix(s, ")") && open > 0:
			open--
		default:
			t.Fatalf("%q is hidden in %q", s, markdown)
		}
	}
	if open != 0 {
		t.Fatalf("%d links are not closed in %q", open, markdown)
	}
}

// TestAgainstParser compares random inline text.
func TestAgainstParser(t *testing.T) {
	pieces := []string{
		"[", "]", "](/p q)", ")", "![", "[a](/b)", "![a](/b)", "](/c)", "](<d e>)", "](/f 'g')", "](/h \" i)", "\"", "'", " ", "\n",
		"`", "``", "\\", "<https://i.example/", "<", ">", "j", "k l", "!", "\n\n", "[n", "/o", "é",
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var b strings.Builder
		b.WriteString("a")
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		markdown := b.String()
		checkHidden(t, markdown)
		if got, want := links(docseek.Hidden(markdown)), parsedLinks(markdown); got != want {
			t.Fatalf("%q has %d links and images, a parser finds %d", markdown, got, want)
		}
	}
}

func FuzzHidden(f *testing.F) {
	f.Add("[a](/b \"c\") ![d](<e>) `[f](g)`\n\n```\n[h](i)\n```\n> - [j](k)")
	f.Add("- ~~~\n  [a](b)\n\n[c [d](e)](f)\t\\[g](h)")
	f.Fuzz(checkHidden)
}

// hostile are texts that a careless scanner takes quadratic time for.
func hostile(size int) map[string]string {
	texts := make(map[string]string)
	for _, s := range []string{
		"[", "]", "![", "[a](", "[a](b", "[a](<b", "[a](b \"", "[a](b 'c \" (", "[a](b)", "[a](\\(", "](", "[](", "[[a](b)]",
		"`", "` ", "a`` `", "<a:", "<", "\\", "> ", "- ", "1. ", "```\n", "~~~ [a](b)\n", "|[a](b)|\n", "#\n", " [a](", "\n[a](\n",
	} {
		texts[s] = strings.Repeat(s, size/len(s)+1) + "[a](b)"
	}
	var runs strings.Builder
	for n := 1; runs.Len() < size; n++ {
		runs.WriteString(strings.Repeat("`", n) + " ")
	}
	texts["runs of backticks"] = runs.String() + "[a](b)"
	return texts
}

func TestHostileLinks(t *testing.T) {
	for _, markdown := range hostile(1 << 20) {
		checkHidden(t, markdown)
	}
}

func BenchmarkHidden(b *testing.B) {
	texts := hostile(1 << 20)
	texts["prose"] = strings.Repeat("Each request carries a [token](https://docs.example.com/token#about \"Tokens\"), and `f(x)` returns it.\n\n", 10_000)
	for name, markdown := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(markdown)))
			for b.Loop() {
				docseek.Hidden(markdown)
			}
		})
	}
}
