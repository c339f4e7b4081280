package embed_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/builtin"
)

func TestTheBuiltinModelThroughAService(t *testing.T) {
	m, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cache := openCache(t, filepath.Join(t.TempDir(), "vectors"), 0)
	s := embed.NewService(m, embed.Options{Cache: cache})
	texts := []string{
		"To rotate a signing key, create the new key first and revoke the old one a day later.",
		strings.Repeat("far more words than the model reads ", 100),
		"The invoice is sent on the first day of the month.",
	}
	got, err := s.EmbedPassages(t.Context(), texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tooLong *builtin.TooLongError
	if len(got.Refused) != 1 || got.Refused[0].Index != 1 || !errors.As(got.Refused[0], &tooLong) {
		t.Errorf("refused %v, want the long one", got.Refused)
	}
	query, err := s.EmbedQuery(t.Context(), "how do I exchange a key that signs?")
	if err != nil {
		t.Fatal(err)
	}
	if right, wrong := dot(query, got.Vectors[0]), dot(query, got.Vectors[2]); right < wrong+0.2 {
		t.Errorf("cosine to the passage about keys %.3f, to the other %.3f", right, wrong)
	}
	for _, v := range [][]float32{query, got.Vectors[0], got.Vectors[2]} {
		if length := dot(v, v); math.Abs(length-1) > 1e-5 {
			t.Errorf("squared length %v, want 1", length)
		}
	}
	again, err := s.EmbedPassages(t.Context(), texts[2:], nil)
	if err != nil || again.Embedded != 0 {
		t.Fatalf("Embedded %d again, error %v", again.Embedded, err)
	}
	if dot(again.Vectors[0], got.Vectors[2]) < 1-1e-6 {
		t.Error("the cache gave another vector back")
	}
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
