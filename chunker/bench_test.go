package chunker_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
)

func megabyte(text string) string { return strings.Repeat(text, 1<<20/len(text)+1) }

func large(text string) string { return strings.Repeat(text, 1<<15/len(text)+1) }

// hostile are large texts that no author writes.
func hostile() map[string]string {
	return map[string]string{
		"one word":          large("0123456789abcdef"),
		"ideographs":        large("漢字"),
		"full stops":        large("漢。"),
		"one-letter items":  large("- a\n"),
		"empty items":       large("-\n"),
		"zero width":        large("\u200b"),
		"zero-width words":  large("\u200b "),
		"zero-width lines":  large("\u200b\n\n"),
		"combining marks":   "a" + large("\u0301"),
		"spaces":            "a" + large(" ") + "b",
		"blank lines":       "a" + large("\n") + "b",
		"quotes":            large("> "),
		"nested items":      large("- ") + "\n" + strings.Repeat("\n", 1<<14),
		"backticks":         large("`"),
		"fence marks":       large("```\n"),
		"open fences":       large("```go\n\n"),
		"bars":              "|a|\n|-|\n" + large("|"),
		"rows":              "|a|b|\n|-|-|\n" + large("|1|2|\n"),
		"delimiters":        large("|a|\n|-|\n"),
		"wide header":       large("|a") + "\n" + large("|-") + "\n|1|\n",
		"long info string":  "```" + large("go ") + "\ncode\n```",
		"long lines":        "```\n" + large("f(x);") + "\n```",
		"brackets":          large("[a]("),
		"links":             large("[a](/b)"),
		"links with spaces": large("[a b](/c)"),
		"links and spaces":  large("[a](/b) "),
		"links in words":    large("international[isation](/b)"),
		"long links":        large("[" + strings.Repeat("a word. ", 300) + "](/b) "),
		"long destinations": large("[a](/" + strings.Repeat("b", 5000) + ") "),
		"links in code":     large("`[a](https://docs.example.com/b). C` "),
		"open code spans":   large("[a](https://docs.example.com/b). ` "),
		"links with stops":  large("[漢。字](/b)"),
		"images in links":   large("[![a](/b) c](/d)"),
		"links in links":    large("[a ") + large("](/b)"),
		"links over blocks": large("[a\n- b](/c)\n"),
		"links in cells":    "|a|\n|-|\n" + large("|[b c](/d)"),
		"links in a header": "|" + strings.Repeat("[a b](/c) ", 200) + "|\n|-|\n" + large("|1|\n"),
		"emoji":             large("👩‍👩‍👧‍👦"),
		"emphasis":          large("**a _b"),
		"definitions":       large("[a]: b\n"),
		"numbers":           large("1. 1. "),
		"tabs":              large("\t- a\n"),
		"sentences":         large("A b. "),
		"abbreviations":     large("e.g. a "),
		"HTML":              large("<div>"),
		"carriage returns":  large("a\r\n"),
		"regional letters":  large("🇩🇪"),
		"nested with blank": strings.Join(staircase(700), "\n") + strings.Repeat("\n", 1<<14) + "end",
	}
}

// staircase are list items, each nested in the one before it.
func staircase(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = strings.Repeat("  ", i) + "- a"
	}
	return lines
}

func TestHostileText(t *testing.T) {
	tokenizer := wordPiece(t)
	for name, md := range hostile() {
		t.Run(name, func(t *testing.T) {
			check(t, tokenizer, doc(md))
		})
	}
}

// reference is a page of n entries of about forty words.
func reference(n int) docseek.Document {
	d := docseek.Document{URL: "https://docs.example.com/api", Title: "API reference"}
	for i := range n {
		name := fmt.Sprintf("client.fetch_%d", i)
		d.Sections = append(d.Sections, docseek.Section{
			Title: name + "(url, *, timeout=None)", Anchor: name, Level: 3, Entry: true,
			Path: []string{"API reference", "Functions", name},
			Markdown: "Fetch the resource number " + strconv.Itoa(i) + " and return its decoded body. The *timeout* is in seconds " +
				"and counts from the first byte that is sent; `None` waits for as long as the server keeps the connection open. " +
				"Raises `FetchError` if the answer is not a success.",
		})
	}
	return d
}

func BenchmarkSplit(b *testing.B) {
	tokenizer := wordPiece(b)
	a := author{rand.New(rand.NewPCG(3, 3))}
	var blocks []string
	for n := 0; n < 1<<20; {
		block := strings.Repeat("Each request carries a token, and the server answers with the state of the account. ", 1+a.IntN(12))
		if a.IntN(3) == 0 {
			block = a.fenced(20)
		}
		blocks = append(blocks, block)
		n += len(block)
	}
	docs := []struct {
		name string
		doc  docseek.Document
	}{
		{"page", doc(strings.Join(blocks, "\n\n"))},
		{"sections", doc(blocks...)},
		{"reference", reference(3000)},
		{"ideographs", doc(megabyte("今日は天気がいいから散歩に行きましょう。"))},
		{"word", doc(megabyte("0123456789abcdef"))},
	}
	for _, d := range docs {
		b.Run(d.name, func(b *testing.B) {
			size := 0
			for _, s := range d.doc.Sections {
				size += len(s.Markdown)
			}
			b.SetBytes(int64(size))
			c := chunker.New(tokenizer)
			for b.Loop() {
				c.Split(d.doc)
			}
		})
	}
}
