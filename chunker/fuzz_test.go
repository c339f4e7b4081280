package chunker_test

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/docseek/docseek"
)

func FuzzSplit(f *testing.F) {
	a := author{rand.New(rand.NewPCG(7, 7))}
	for range 20 {
		f.Add("Title", "Heading", a.block(3), a.prose(5))
	}
	f.Add("", "", "```", "after an open fence")
	f.Add("t", "h", "|a|\n|-|\n|"+string(make([]byte, 5000))+"|", "")
	tokenizer := wordPiece(f)
	f.Fuzz(func(t *testing.T, title, heading, first, second string) {
		if !utf8.ValidString(title + heading + first + second) {
			return // extraction yields valid UTF-8
		}
		check(t, tokenizer, docseek.Document{
			URL: "https://docs.example.com/", Title: title,
			Sections: []docseek.Section{
				{Markdown: first},
				{Title: "A", Level: 2, Path: []string{heading, "A"}, Markdown: second},
				{Title: "B", Level: 3, Path: []string{heading, "A", "B"}, Markdown: first},
			},
		})
	})
}
