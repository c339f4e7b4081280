package docseek_test

import (
	"math/rand/v2"
	"slices"
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
			if got, want := links(test.markdown), parsedLinks(test.markdown); got != want {
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

// links is the number of inline links and images that something is hidden of.
func links(markdown string) int {
	_, hidden := docseek.Inlines(markdown)
	return len(hidden) / 2
}

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

// checkInlines proves what holds for the inlines of any text.
func checkInlines(t *testing.T, markdown string) {
	t.Helper()
	whole, hidden := docseek.Inlines(markdown)
	for _, ranges := range [][]docseek.Range{whole, hidden} {
		at := 0
		for _, r := range ranges {
			if r.Start < at || r.Start >= r.End || r.End > len(markdown) {
				t.Fatalf("%v behind %d in %q", r, at, markdown)
			}
			at = r.End
		}
	}
	open := 0
	for _, h := range hidden {
		for len(whole) > 0 && whole[0].End <= h.Start {
			whole = whole[1:]
		}
		if len(whole) == 0 || whole[0].Start > h.Start || whole[0].End < h.End {
			t.Fatalf("%v is in no link of %q", h, markdown)
		}
		switch s := markdown[h.Start:h.End]; {
		case s == "[", s == "![":
			open++
		case strings.HasPrefix(s, "](") && strings.HasSuffix(s, ")") && open > 0:
			open--
		default:
			t.Fatalf("%q is hidden in %q", s, markdown)
		}
		if (open == 0) != (h.End == whole[0].End) {
			t.Fatalf("%v does not end at %d in %q", whole[0], h.End, markdown)
		}
	}
}

func TestInlines(t *testing.T) {
	const markdown = "a `b` [c `d` ![e `f`](/g)](/h) ``i ` [j](/k)`` ![l](/m)\n\n```\n`n`\n```\n[o `p` q"
	var got []string
	whole, _ := docseek.Inlines(markdown)
	for _, r := range whole {
		got = append(got, markdown[r.Start:r.End])
	}
	want := []string{"`b`", "[c `d` ![e `f`](/g)](/h)", "``i ` [j](/k)``", "![l](/m)", "`p`"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
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
		checkInlines(t, markdown)
		if got, want := links(markdown), parsedLinks(markdown); got != want {
			t.Fatalf("%q has %d links and images, a parser finds %d", markdown, got, want)
		}
	}
}

func FuzzInlines(f *testing.F) {
	f.Add("[a](/b \"c\") ![d](<e>) `[f](g)`\n\n```\n[h](i)\n```\n> - [j](k)")
	f.Add("- ~~~\n  [a](b)\n\n[c [d](e)](f)\t\\[g](h)")
	f.Fuzz(checkInlines)
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
		checkInlines(t, markdown)
	}
}

func BenchmarkInlines(b *testing.B) {
	texts := hostile(1 << 20)
	texts["prose"] = strings.Repeat("Each request carries a [token](https://docs.example.com/token#about \"Tokens\"), and `f(x)` returns it.\n\n", 10_000)
	for name, markdown := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(markdown)))
			for b.Loop() {
				docseek.Inlines(markdown)
			}
		})
	}
}
