package extract_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

var token = regexp.MustCompile(`w\d+x`)

// TestNoTextIsLost builds pages at random, valid ones and others, and looks for
// each of their words in the document, in the page's order.
func TestNoTextIsLost(t *testing.T) {
	tags := strings.Fields("div p ul ol li dl dt dd table thead tbody tr td th caption b i a code pre h1 h2 h3 h6 blockquote span details summary section article figure figcaption sup sub q del kbd ruby rt address center font fieldset legend")
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		words := 0
		var build func(depth int)
		build = func(depth int) {
			for range 1 + r.IntN(4) {
				if depth == 0 || r.IntN(3) == 0 {
					fmt.Fprintf(&b, "w%dx ", words)
					words++
					continue
				}
				tag := tags[r.IntN(len(tags))]
				b.WriteString("<" + tag)
				switch r.IntN(6) {
				case 0:
					fmt.Fprintf(&b, ` id="i%d"`, r.IntN(50))
				case 1:
					if tag == "a" {
						b.WriteString(` href="/x"`)
					}
				}
				b.WriteString(">")
				build(depth - 1)
				if r.IntN(10) > 0 {
					b.WriteString("</" + tag + ">")
				}
			}
		}
		b.WriteString("<main>")
		build(7)
		body := b.String()
		doc, _, err := extract.Extract(docseek.Page{URL: address, Body: []byte(body)}, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkAnchors(t, doc, body)
		var out strings.Builder
		for _, s := range doc.Sections {
			out.WriteString(s.Title + "\n" + s.Markdown + "\n")
		}
		want := wordsOf(t, body)
		var got []string
		for _, w := range token.FindAllString(out.String(), -1) {
			// A term may be a title by itself and in the title of its group.
			if !slices.Contains(got, w) {
				got = append(got, w)
			}
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("seed %d: %s is lost\n%s\n----\n%s", seed, w, body, out.String())
				break
			}
		}
		if t.Failed() {
			break
		}
	}
}

// wordsOf are the words of a page in the order of its tree.
func wordsOf(t *testing.T, body string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			words = append(words, token.FindAllString(n.Data, -1)...)
		}
	}
	return words
}
