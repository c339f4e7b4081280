package chunker_test

import (
	"fmt"
	"testing"
	"unicode"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/embed/builtin"
)

// words counts as WordPiece's basic tokenizer divides a text, a token for each
// started six letters of a word.
type words struct{}

func (words) Count(text string) int {
	n, run := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			run = 0
		case unicode.IsPunct(r) || unicode.Is(unicode.Han, r) || r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			n++
			run = 0
		default:
			if run%6 == 0 {
				n++
			}
			run++
		}
	}
	return n
}

func doc(markdown ...string) docseek.Document {
	d := docseek.Document{URL: "https://docs.example.com/guide", Title: "Guide"}
	for i, md := range markdown {
		d.Sections = append(d.Sections, docseek.Section{
			Title: fmt.Sprintf("Part %d", i), Anchor: fmt.Sprintf("part-%d", i), Level: 2,
			Path: []string{"Guide", fmt.Sprintf("Part %d", i)}, Markdown: md,
		})
	}
	return d
}

// wordPiece is the tokenizer that sizes are counted with in earnest.
func wordPiece(t testing.TB) chunker.Counter {
	t.Helper()
	model, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return model.Tokenizer()
}
