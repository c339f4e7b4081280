package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

func TestSmoke(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := docseek.Source{Name: "docs", Start: "https://a.test/sitemap.xml"}
	w, err := s.Begin(ctx, src, "fp", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(ctx, src, "fp", false); !errors.Is(err, search.ErrLocked) {
		t.Fatalf("second run: %v", err)
	} else {
		t.Log(err)
	}
	h := sha256.Sum256([]byte("x"))
	err = w.Put(ctx, search.PageRecord{URL: "https://a.test/p", Title: "P", IndexedAt: time.Now()}, []search.Embedding{{
		Chunk:    docseek.Chunk{ID: "c1", URL: "https://a.test/p", Text: "text", Path: []string{"A"}},
		Vector:   []float32{1, 0},
		TextHash: hex.EncodeToString(h[:]),
		Lexical:  lexical.Vector{Terms: []uint32{5, 9}, Weights: []float32{1, 2}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Counts(ctx)
	if err != nil || c != (search.Counts{Pages: 1, Chunks: 1, Embedded: 1}) {
		t.Fatal(c, err)
	}
	if err := w.Commit(ctx, c, search.Run{Outcome: search.Published}); err != nil {
		t.Fatal(err)
	}
	r, _ := s.Reader(ctx)
	got, err := r.Candidates(ctx, search.Request{Vectors: map[string][]float32{"fp": {0.6, 0.8}}, Lexical: lexical.Vector{Terms: []uint32{9}, Weights: []float32{2}}, Limit: 5})
	if err != nil || len(got.Dense) != 1 || len(got.Lexical) != 1 || got.Lexical[0].Score != 4 {
		t.Fatal(got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ = s.Reader(ctx)
	infos, err := r.Sources(ctx)
	if err != nil || len(infos) != 1 || infos[0].Generation != 1 || infos[0].Embedded != 1 {
		t.Fatal(infos, err)
	}
	t.Logf("%+v", infos)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
