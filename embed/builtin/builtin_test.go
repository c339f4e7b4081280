package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/docseek/docseek/embed"
)

func TestPassageOverTheLimitIsRefusedAndAQueryIsCut(t *testing.T) {
	m, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"short", strings.Repeat("word ", 300)}
	_, err = m.Embed(context.Background(), texts, embed.Passage)
	var text *embed.TextError
	var tooLong *TooLongError
	if !errors.As(err, &text) || text.Index != 1 || !errors.As(err, &tooLong) || tooLong.Tokens != 302 || tooLong.Limit != 256 {
		t.Errorf("passage of 300 words: got error %v", err)
	}
	vectors, err := m.Embed(context.Background(), texts, embed.Query)
	if err != nil || len(vectors) != 2 || len(vectors[1]) != m.Dimension() {
		t.Errorf("query of 300 words: got %d vectors, error %v", len(vectors), err)
	}
}
