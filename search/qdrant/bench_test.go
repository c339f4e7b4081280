//go:build qdrant

package qdrant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

const (
	benchPages  = 100
	benchChunks = 10
	benchDim    = 384
)

// benchPage is a page of the size that documentation has, with Zipf's terms.
func benchPage(i int) (search.PageRecord, []search.Embedding) {
	record, list := testPage(i, 0, benchChunks, benchDim)
	rng := rand.New(rand.NewPCG(uint64(i), 9))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	for j := range list {
		terms := map[uint32]bool{}
		for range 60 {
			terms[uint32(zipf.Uint64())] = true
		}
		list[j].Lexical = lexical.Vector{}
		for term := range uint32(20_001) {
			if terms[term] {
				list[j].Lexical.Terms = append(list[j].Lexical.Terms, term)
				list[j].Lexical.Weights = append(list[j].Lexical.Weights, 0.5+rng.Float32())
			}
		}
		list[j].Text = fmt.Sprintf("revision %0700d", i)
	}
	return record, list
}

func benchQuery(i int) search.Request {
	rng := rand.New(rand.NewPCG(uint64(i), 10))
	return search.Request{
		Vectors: map[string][]float32{"model": randomUnit(rng, benchDim)},
		Lexical: lexical.Vector{Terms: []uint32{3 + rng.Uint32N(10), 50 + rng.Uint32N(100), 500 + rng.Uint32N(1000)}, Weights: []float32{1, 3, 5}},
		Limit:   50,
	}
}

// BenchmarkUpload writes the same points through a run and by the bare client in
// batches of the same size.
func BenchmarkUpload(b *testing.B) {
	ctx := context.Background()
	pages := make([]search.PageRecord, benchPages)
	chunks := make([][]search.Embedding, benchPages)
	for i := range pages {
		pages[i], chunks[i] = benchPage(i)
	}
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			o := Options{Collection: newPrefix()}
			s := open(b, o)
			w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
			if err != nil {
				b.Fatal(err)
			}
			for i := range pages {
				if err := w.Put(ctx, pages[i], chunks[i]); err != nil {
					b.Fatal(err)
				}
			}
			n := benchPages * benchChunks
			if err := w.Commit(ctx, search.Counts{Pages: benchPages, Chunks: n, Embedded: n}, search.Run{}); err != nil {
				b.Fatal(err)
			}
			closeStore(b, s)
			b.StopTimer()
			drop(b, o)
			b.StartTimer()
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			o := Options{Collection: newPrefix()}
			s := open(b, o)
			if err := s.ensure(ctx, collection{name: s.chunks("model"), role: roleChunks, fingerprint: "model", dim: benchDim}); err != nil {
				b.Fatal(err)
			}
			var points []*qdrant.PointStruct
			for i := range pages {
				for _, c := range chunks[i] {
					points = append(points, chunkPoint("docs", 1, pages[i], c))
				}
				if len(points) >= batchPoints || i == benchPages-1 {
					wait := true
					if _, err := s.remote.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: s.chunks("model"), Wait: &wait, Points: points}); err != nil {
						b.Fatal(err)
					}
					points = nil
				}
			}
			closeStore(b, s)
			b.StopTimer()
			drop(b, o)
			b.StartTimer()
		}
	})
}

// BenchmarkCandidates asks through a reader and by the bare client, which knows
// neither the state nor whether it was whole.
func BenchmarkCandidates(b *testing.B) {
	ctx := context.Background()
	o := Options{Collection: newPrefix()}
	defer drop(b, o)
	s := open(b, o)
	defer closeStore(b, s)
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if err != nil {
		b.Fatal(err)
	}
	for i := range benchPages {
		page, chunks := benchPage(i)
		if err := w.Put(ctx, page, chunks); err != nil {
			b.Fatal(err)
		}
	}
	n := benchPages * benchChunks
	if err := w.Commit(ctx, search.Counts{Pages: benchPages, Chunks: n, Embedded: n}, search.Run{}); err != nil {
		b.Fatal(err)
	}
	b.Run("reader", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			r, err := s.Reader(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if found, err := r.Candidates(ctx, benchQuery(i)); err != nil || len(found.Dense) != 50 {
				b.Fatal(len(found.Dense), err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		limit, dense, sparse := uint64(50), denseVector, lexicalVector
		for i := 0; b.Loop(); i++ {
			q := benchQuery(i)
			one := func(using *string, question *qdrant.Query) *qdrant.QueryPoints {
				return &qdrant.QueryPoints{
					CollectionName: s.chunks("model"), Query: question, Using: using, Limit: &limit, WithPayload: qdrant.NewWithPayload(true),
				}
			}
			answers, err := s.remote.QueryBatch(ctx, &qdrant.QueryBatchPoints{CollectionName: s.chunks("model"), QueryPoints: []*qdrant.QueryPoints{
				one(&dense, qdrant.NewQueryDense(q.Vectors["model"])), one(&sparse, qdrant.NewQuerySparse(q.Lexical.Terms, q.Lexical.Weights)),
			}})
			if err != nil || len(answers) != 2 {
				b.Fatal(len(answers), err)
			}
		}
	})
}
