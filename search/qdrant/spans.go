package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

// spansPerRead and chunksPerRead bound one request.
const (
	spansPerRead  = 64
	chunksPerRead = 512
)

func (r *reader) Chunks(ctx context.Context, source, url string, first, last int) ([]search.Chunk, error) {
	lists, err := r.Spans(ctx, []search.Span{{Source: source, URL: url, First: first, Last: last}})
	if err != nil {
		return nil, err
	}
	return lists[0], nil
}

func (r *reader) Spans(ctx context.Context, spans []search.Span) ([][]search.Chunk, error) {
	var lists [][]search.Chunk
	if err := r.steady(ctx, func() (err error) {
		lists, err = r.readSpans(ctx, spans)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read chunks: %w", err)
	}
	return lists, nil
}

// piece is a part of the span with that index whose chunks one question gives.
type piece struct {
	span        int
	first, last int
}

func (r *reader) readSpans(ctx context.Context, spans []search.Span) ([][]search.Chunk, error) {
	lists := make([][]search.Chunk, len(spans))
	pieces := map[string][]piece{} // by collection
	for i, s := range spans {
		lists[i] = []search.Chunk{}
		for _, name := range r.chunkCollections(r.generations[s.Source]) {
			for first := max(s.First, 0); first <= min(s.Last, maxPageChunks-1); first += chunksPerRead {
				pieces[name] = append(pieces[name], piece{i, first, min(s.Last, first+chunksPerRead-1)})
			}
		}
	}
	for name, list := range pieces {
		for len(list) > 0 {
			n, chunks := 0, 0
			for n < min(len(list), spansPerRead) && (n == 0 || chunks+list[n].last-list[n].first < chunksPerRead) {
				chunks += list[n].last - list[n].first + 1
				n++
			}
			if err := r.readPieces(ctx, name, spans, list[:n], lists); err != nil {
				return nil, err
			}
			list = list[n:]
		}
	}
	for i, s := range spans {
		slices.SortFunc(lists[i], func(a, b search.Chunk) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
		if len(lists[i]) > 0 {
			continue
		}
		if _, err := r.readPage(ctx, s.Source, s.URL); err != nil {
			return nil, fmt.Errorf("page %s of source %s: %w", s.URL, s.Source, err)
		}
	}
	return lists, nil
}

// readPieces reads pieces with one request.
func (r *reader) readPieces(ctx context.Context, name string, spans []search.Span, pieces []piece, into [][]search.Chunk) error {
	batch := make([]*qdrant.QueryPoints, len(pieces))
	for i, p := range pieces {
		from, to, limit := float64(p.first), float64(p.last), uint64(p.last-p.first+1)
		batch[i] = &qdrant.QueryPoints{
			CollectionName: name, Limit: &limit, WithPayload: qdrant.NewWithPayloadInclude(chunkFields()...),
			Filter: &qdrant.Filter{Must: slices.Concat([]*qdrant.Condition{
				ofSource(spans[p.span].Source), ofPages(spans[p.span].URL), qdrant.NewRange(fieldOrdinal, &qdrant.Range{Gte: &from, Lte: &to}),
			}, r.visible)},
		}
	}
	answers, err := r.store.remote.queryBatch(ctx, name, batch)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		for _, p := range answer.GetResult() {
			into[pieces[i].span] = append(into[pieces[i].span], readChunk(p.GetPayload()))
		}
	}
	return nil
}
