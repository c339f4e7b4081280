//go:build qdrant

package qdrant

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/storetest"
)

// benchSize is the number of chunks of the benchmarks' index, of benchDim
// dimensions: DOCSEEK_BENCH_CHUNKS, or 100,000.
func benchSize(b *testing.B) int {
	b.Helper()
	n := 100_000
	if s := os.Getenv("DOCSEEK_BENCH_CHUNKS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < storetest.CorpusPageChunks {
			b.Fatalf("DOCSEEK_BENCH_CHUNKS is %q, not a number of chunks", s)
		}
	}
	return n
}

const benchDim = 384

// counts are those of a generation of n chunks.
func counts(n int) search.Counts {
	return search.Counts{Pages: n / storetest.CorpusPageChunks, Chunks: n, Embedded: n}
}

// page is a page as it is written.
type page struct {
	record search.PageRecord
	chunks []search.Embedding
}

// upload writes pages through a run.
func upload(b *testing.B, s *Store, source string, pages []page) {
	b.Helper()
	ctx := b.Context()
	w, err := s.Begin(ctx, docseek.Source{Name: source}, "model", false)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pages {
		if err := w.Put(ctx, p.record, p.chunks); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Commit(ctx, counts(len(pages)*storetest.CorpusPageChunks), search.Run{}); err != nil {
		b.Fatal(err)
	}
}

// bareUpload writes the chunks of the same pages as the library's documentation
// shows it: one request after the other.
func bareUpload(b *testing.B, s *Store, source string, pages []page) {
	b.Helper()
	wait, name := true, s.chunks("model")
	var points []*qdrant.PointStruct
	for i, p := range pages {
		for _, c := range p.chunks {
			points = append(points, chunkPoint(source, 1, p.record, c))
		}
		if len(points) >= batchPoints || i == len(pages)-1 {
			if _, err := s.remote.Upsert(b.Context(), &qdrant.UpsertPoints{CollectionName: name, Wait: &wait, Points: points}); err != nil {
				b.Fatal(err)
			}
			points = nil
		}
	}
}

// benchPages makes the pages of an index of n chunks.
func benchPages(n int) []page {
	corpus := storetest.NewCorpus(benchDim)
	pages := make([]page, n/storetest.CorpusPageChunks)
	for i := range pages {
		pages[i].record, pages[i].chunks = corpus.Page(i, 0)
	}
	return pages
}

// prepare makes the collections, which is done once for an index.
func prepare(b *testing.B, s *Store) {
	b.Helper()
	err := s.prepare(b.Context())
	if err == nil {
		err = s.ensure(b.Context(), collection{name: s.chunks("model"), role: roleChunks, fingerprint: "model", dim: benchDim})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkUpload writes the same points through a run, from Begin to Commit, and
// by the bare client, in turn: every second round begins with the other.
func BenchmarkUpload(b *testing.B) {
	pages := benchPages(benchSize(b))
	var run, bare time.Duration
	rounds := 0
	for b.Loop() {
		inRun := func() {
			o := Options{Collection: newPrefix()}
			s := open(b, o)
			prepare(b, s)
			start := time.Now()
			upload(b, s, "docs", pages)
			run += time.Since(start)
			closeStore(b, s)
			drop(b, o)
		}
		byHand := func() {
			o := Options{Collection: newPrefix()}
			s := open(b, o)
			prepare(b, s)
			start := time.Now()
			bareUpload(b, s, "docs", pages)
			bare += time.Since(start)
			closeStore(b, s)
			drop(b, o)
		}
		if rounds++; rounds%2 == 1 {
			inRun()
			byHand()
		} else {
			byHand()
			inRun()
		}
	}
	b.ReportMetric(run.Seconds()/float64(rounds), "run-s")
	b.ReportMetric(bare.Seconds()/float64(rounds), "bare-s")
	b.ReportMetric(run.Seconds()/bare.Seconds(), "run/bare")
}

// questioner is an embedder that knows the vectors of the corpus's questions.
type questioner map[string][]float32

func (q questioner) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return q[text], nil
}

// question asks the corpus's i-th question in one way, and returns how long it took.
type question func(i int) (time.Duration, error)

const benchQuestions = 500

// benchEngine answers the corpus's questions from a store.
func benchEngine(s *Store) (engine *search.Engine, texts []string, vectors questioner) {
	corpus, vectors := storetest.NewCorpus(benchDim), questioner{}
	for i := range benchQuestions {
		text, vector := corpus.Query(i)
		texts = append(texts, text)
		vectors[text] = vector
	}
	return search.NewEngine(s, search.Options{Embedder: func(string) search.QueryEmbedder { return vectors }}), texts, vectors
}

// throughEngine is a hybrid search for ten results.
func throughEngine(ctx context.Context, s *Store, sources ...string) question {
	engine, texts, _ := benchEngine(s)
	return func(i int) (time.Duration, error) {
		start := time.Now()
		answer, err := engine.Search(ctx, search.Query{
			Text: texts[i%len(texts)], Limit: 10, MaxChars: search.MaxMaxChars, Filter: docseek.Filter{Sources: sources},
		})
		if err == nil && (answer.Mode != search.Hybrid || len(answer.Results) == 0) {
			err = fmt.Errorf("%d results by %s", len(answer.Results), answer.Mode)
		}
		return time.Since(start), err
	}
}

// byHand is the same search by the bare client, which has to weigh the query's
// terms, too: both lists with their texts in one request. It knows no sources, no
// state and no neighbours, and joins nothing.
func byHand(ctx context.Context, s *Store, filter *qdrant.Filter, fuse bool) (question, error) {
	_, texts, vectors := benchEngine(s)
	r, err := s.refresh(ctx)
	if err != nil {
		return nil, err
	}
	ask := make([]search.Request, len(texts))
	for i, text := range texts {
		if ask[i], err = request(ctx, &reader{store: s, snapshot: r}, text, vectors[text]); err != nil {
			return nil, err
		}
	}
	name, limit, ten := r.generations[sourceName(0)].Set, uint64(200), uint64(10)
	dense, sparse := denseVector, lexicalVector
	payload := qdrant.NewWithPayload(true)
	return func(i int) (time.Duration, error) {
		q := ask[i%len(ask)]
		start := time.Now()
		if fuse {
			points, err := s.remote.Query(ctx, &qdrant.QueryPoints{
				CollectionName: name, Query: qdrant.NewQueryFusion(qdrant.Fusion_RRF), Limit: &ten, WithPayload: payload,
				Prefetch: []*qdrant.PrefetchQuery{
					{Query: qdrant.NewQueryDense(q.Vectors["model"]), Using: &dense, Limit: &limit, Filter: filter},
					{Query: qdrant.NewQuerySparse(q.Lexical.Terms, q.Lexical.Weights), Using: &sparse, Limit: &limit, Filter: filter},
				},
			})
			if err == nil && len(points) != 10 {
				err = fmt.Errorf("%d results", len(points))
			}
			return time.Since(start), err
		}
		lists, err := s.remote.QueryBatch(ctx, &qdrant.QueryBatchPoints{CollectionName: name, QueryPoints: []*qdrant.QueryPoints{
			{CollectionName: name, Query: qdrant.NewQueryDense(q.Vectors["model"]), Using: &dense, Limit: &limit, Filter: filter, WithPayload: payload},
			{CollectionName: name, Query: qdrant.NewQuerySparse(q.Lexical.Terms, q.Lexical.Weights), Using: &sparse, Limit: &limit, Filter: filter, WithPayload: payload},
		}})
		if err == nil && len(lists) != 2 {
			err = fmt.Errorf("%d lists", len(lists))
		}
		return time.Since(start), err
	}, nil
}

// request is what the engine asks a store for a question.
func request(ctx context.Context, r search.Reader, text string, vector []float32) (search.Request, error) {
	terms := lexical.New().Query("", text)
	hashes := make([]uint32, len(terms))
	for i, term := range terms {
		hashes[i] = term.Hash
	}
	stats, err := r.Stats(ctx, nil, hashes)
	if err != nil {
		return search.Request{}, err
	}
	return search.Request{
		Vectors: map[string][]float32{"model": vector}, Lexical: lexical.Vectorize(terms, stats.Chunks, stats.Frequency),
	}, nil
}

// way is a question that is asked in turn with others.
type way struct {
	name string
	ask  question
}

// compare asks each question in every way, in turn, and reports the percentiles
// of each and the medians by that of the first.
func compare(b *testing.B, ways []way) {
	b.Helper()
	took := make([][]time.Duration, len(ways))
	rounds := 0
	for b.Loop() {
		for k := range ways {
			k = (k + rounds) % len(ways)
			t, err := ways[k].ask(rounds)
			if err != nil {
				b.Fatal(ways[k].name, err)
			}
			took[k] = append(took[k], t)
		}
		rounds++
	}
	var first time.Duration
	for k, w := range ways {
		p50, p99 := percentiles(took[k])
		if k == 0 {
			first = p50
		}
		b.ReportMetric(milliseconds(p50), w.name+"-p50-ms")
		b.ReportMetric(milliseconds(p99), w.name+"-p99-ms")
		if k > 0 {
			b.ReportMetric(float64(first)/float64(p50), ways[0].name+"/"+w.name)
		}
	}
}

func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// settle waits until the server has indexed all that was written.
func settle(b *testing.B, s *Store) {
	b.Helper()
	for {
		info, err := s.describe(b.Context(), chunksOf(b, s))
		if err != nil {
			b.Fatal(err)
		}
		if info.GetStatus() == qdrant.CollectionStatus_Green {
			return
		}
		if err := pause(b.Context(), 200*time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
}

// chunksOf is the collection of the chunks of the first source.
func chunksOf(b *testing.B, s *Store) string {
	b.Helper()
	now, err := s.refresh(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return now.generations[sourceName(0)].Set
}

// benchIndex is an index of pages that are spread over sources.
func benchIndex(b *testing.B, pages []page, sources int) *Store {
	b.Helper()
	o := Options{Collection: newPrefix()}
	s := open(b, o)
	b.Cleanup(func() {
		closeStore(b, s)
		drop(b, o)
	})
	each := len(pages) / sources
	for i := range sources {
		upload(b, s, sourceName(i), pages[i*each:(i+1)*each])
	}
	settle(b, s)
	return s
}

func sourceName(i int) string { return fmt.Sprintf("source-%d", i) }

// BenchmarkSearch asks for the ten best of an index with one source, through the
// engine and by the bare client: with the same two lists in one request, and
// letting the server fuse them. The filter of the same lists is what visibility
// costs.
func BenchmarkSearch(b *testing.B) {
	ctx := b.Context()
	s := benchIndex(b, benchPages(benchSize(b)), 1)
	r, err := s.refresh(ctx)
	if err != nil {
		b.Fatal(err)
	}
	hidden := r.state()
	hidden.Hidden = []uint64{hidden.Last + 1, hidden.Last + 3, hidden.Last + 5}
	hidden.Last += 6
	ways := []way{{"engine", throughEngine(ctx, s)}}
	for _, hand := range []struct {
		name   string
		filter []*qdrant.Condition
		fuse   bool
	}{
		{"bare", nil, false},
		{"visible", r.visible, false},
		{"3-hidden", visible(hidden), false},
		{"one-source", append([]*qdrant.Condition{ofSource(sourceName(0))}, r.visible...), false},
		{"bare-fused", nil, true},
	} {
		var filter *qdrant.Filter
		if hand.filter != nil {
			filter = &qdrant.Filter{Must: hand.filter}
		}
		ask, err := byHand(ctx, s, filter, hand.fuse)
		if err != nil {
			b.Fatal(err)
		}
		ways = append(ways, way{hand.name, ask})
	}
	compare(b, ways)
}

// BenchmarkSources asks an index with as many chunks in 500 sources: all of them,
// ten, and one, beside the index with one.
func BenchmarkSources(b *testing.B) {
	ctx := b.Context()
	const sources = 500
	pages := benchPages(benchSize(b))
	one, many := benchIndex(b, pages, 1), benchIndex(b, pages, sources)
	var ten []string
	for i := range 10 {
		ten = append(ten, sourceName(i*sources/10))
	}
	compare(b, []way{
		{"500-of-500", throughEngine(ctx, many)},
		{"10-of-500", throughEngine(ctx, many, ten...)},
		{"1-of-500", throughEngine(ctx, many, ten[1])},
		{"1-of-1", throughEngine(ctx, one)},
	})
}

// BenchmarkChange changes one page of an index: from its embedding, which is when
// a run begins to write it, until another process shows it.
func BenchmarkChange(b *testing.B) {
	ctx := b.Context()
	n := benchSize(b)
	pages := benchPages(n)
	s := benchIndex(b, pages, 1)
	other := open(b, s.options)
	defer closeStore(b, other)
	corpus := storetest.NewCorpus(benchDim)
	var own, others []time.Duration
	for revision := 1; b.Loop(); revision++ {
		record, chunks := corpus.Page(revision%len(pages), revision)
		w, err := s.Begin(ctx, docseek.Source{Name: sourceName(0)}, "model", false)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := w.Put(ctx, record, chunks); err != nil {
			b.Fatal(err)
		}
		if err := w.Commit(ctx, counts(n), search.Run{}); err != nil {
			b.Fatal(err)
		}
		own = append(own, time.Since(start))
		for {
			r, err := other.Reader(ctx)
			if err != nil {
				b.Fatal(err)
			}
			found, err := r.Page(ctx, sourceName(0), record.URL)
			if err != nil {
				b.Fatal(err)
			}
			if found.Hash == record.Hash {
				break
			}
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				b.Fatal(err)
			}
		}
		others = append(others, time.Since(start))
	}
	for name, took := range map[string][]time.Duration{"commit": own, "elsewhere": others} {
		p50, p99 := percentiles(took)
		b.ReportMetric(p50.Seconds(), name+"-p50-s")
		b.ReportMetric(p99.Seconds(), name+"-p99-s")
	}
}
