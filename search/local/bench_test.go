package local

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/storetest"
)

// The corpus of the benchmarks: 100,000 chunks of 384 dimensions and about 60
// terms, which are distributed as words are.
const (
	bigPages      = 10_000
	bigPageChunks = 10
	bigDim        = 384
	bigVocabulary = 60_000
)

// bigDir is where the corpus is, once a benchmark has asked for it; TestMain
// removes it.
var bigDir string

var bigIndex = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "docseek-bench")
	if err != nil {
		return err
	}
	bigDir = dir
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	words := rand.NewZipf(rng, 1.1, 4, bigVocabulary-1)
	for i := range bigPages {
		record, chunks := bigPage(rng, words, i, 0)
		if err := w.Put(ctx, record, chunks); err != nil {
			return err
		}
	}
	want := search.Counts{Pages: bigPages, Chunks: bigPages * bigPageChunks, Embedded: bigPages * bigPageChunks}
	return errors.Join(w.Commit(ctx, want, search.Run{Outcome: search.Published}), s.Close())
})

func bigPage(rng *rand.Rand, words *rand.Zipf, i, revision int) (search.PageRecord, []search.Embedding) {
	record, chunks := storetest.SitePage(i, revision, bigPageChunks, 1)
	for j := range chunks {
		terms := make([]uint32, 0, 80)
		for range 80 {
			terms = append(terms, uint32(words.Uint64())*7919)
		}
		slices.Sort(terms)
		terms = slices.Compact(terms)
		weights := make([]float32, len(terms))
		for k := range weights {
			weights[k] = 0.3 + rng.Float32()
		}
		chunks[j].Lexical = lexical.Vector{Terms: terms, Weights: weights}
		chunks[j].Vector = storetest.Direction(rng, bigDim)
		chunks[j].Text = strings.Repeat("All work and no play. ", 36)
	}
	return record, chunks
}

func bigStore(b *testing.B) *Store {
	b.Helper()
	if err := bigIndex(); err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), bigDir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closeStore(b, s) })
	return s
}

func BenchmarkOpen(b *testing.B) {
	if err := bigIndex(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(b.Context(), bigDir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "heap-MiB")
		closeStore(b, s)
		b.StartTimer()
	}
}

func BenchmarkCandidates(b *testing.B) {
	s := bigStore(b)
	rng := rand.New(rand.NewPCG(5, 6))
	words := rand.NewZipf(rng, 1.1, 4, bigVocabulary-1)
	for _, bench := range []struct {
		name           string
		dense, lexical bool
		limit          int
		filter         docseek.Filter
	}{
		{"hybrid/10", true, true, 10, docseek.Filter{}},
		{"hybrid/100", true, true, 100, docseek.Filter{}},
		{"dense/10", true, false, 10, docseek.Filter{}},
		{"lexical/10", false, true, 10, docseek.Filter{}},
		{"hybrid/filtered/10", true, true, 10, docseek.Filter{PathPrefix: "/p77"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := mustReader(b, s)
			var took []time.Duration
			for b.Loop() {
				request := search.Request{Filter: bench.filter, Limit: bench.limit}
				if bench.dense {
					request.Vectors = map[string][]float32{"model": storetest.Direction(rng, bigDim)}
				}
				if bench.lexical {
					for range 4 {
						request.Lexical.Terms = append(request.Lexical.Terms, uint32(20+words.Uint64())*7919)
						request.Lexical.Weights = append(request.Lexical.Weights, 3)
					}
				}
				start := time.Now()
				if _, err := r.Candidates(b.Context(), request); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkCommit changes one page of the corpus: from Begin until readers see it.
func BenchmarkCommit(b *testing.B) {
	s := bigStore(b)
	ctx := b.Context()
	rng := rand.New(rand.NewPCG(7, 8))
	words := rand.NewZipf(rng, 1.1, 4, bigVocabulary-1)
	revision := 0
	for b.Loop() {
		revision++
		record, chunks := bigPage(rng, words, revision%bigPages, revision)
		w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Put(ctx, record, chunks); err != nil {
			b.Fatal(err)
		}
		counts, err := w.Counts(ctx)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := w.Commit(ctx, counts, search.Run{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "last-commit-ms")
		page, err := mustReader(b, s).Page(ctx, "docs", record.URL)
		if err != nil || page.Hash != strconv.Itoa(revision) {
			b.Fatal(page.Hash, err)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	x, y := storetest.Direction(rng, bigDim), storetest.Direction(rng, bigDim)
	for name, f := range map[string]func(x, y []float32) float32{"plain": dot, "chosen": dotProduct()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(8 * bigDim)
			for b.Loop() {
				_ = f(x, y)
			}
		})
	}
}
