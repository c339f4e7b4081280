package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

// spansPerRead bounds the conditions of one request.
const spansPerRead = 64

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

func (r *reader) readSpans(ctx context.Context, spans []search.Span) ([][]search.Chunk, error) {
	lists := make([][]search.Chunk, len(spans))
	asked := map[string][]int{} // the spans that a collection may have chunks of
	for i, s := range spans {
		lists[i] = []search.Chunk{}
		if s.First > s.Last {
			continue
		}
		for _, name := range r.chunkCollections(r.generations[s.Source]) {
			asked[name] = append(asked[name], i)
		}
	}
	for name, all := range asked {
		for some := range slices.Chunk(all, spansPerRead) {
			if err := r.store.remote.each(ctx, scroll{
				collection: name, must: append(ofSpans(spans, some), r.visible...), payload: chunkFields(), page: scrollPage,
			}, func(p *qdrant.RetrievedPoint) error {
				c, ok := readChunk(p.GetPayload())
				if !ok {
					return nil
				}
				for _, i := range some {
					if s := spans[i]; s.Source == c.Source && s.URL == c.URL && s.First <= c.Ordinal && c.Ordinal <= s.Last {
						lists[i] = append(lists[i], c)
					}
				}
				return nil
			}); err != nil {
				return nil, err
			}
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

// ofSpans are the conditions on the chunks of some of the spans. The first two name
// what the server has an index of, the third what is wanted of it.
func ofSpans(spans []search.Span, some []int) []*qdrant.Condition {
	var sources, urls []string
	var wanted []*qdrant.Condition
	for _, i := range some {
		s := spans[i]
		sources, urls = append(sources, s.Source), append(urls, s.URL)
		from, to := float64(s.First), float64(s.Last)
		wanted = append(wanted, qdrant.NewFilterAsCondition(&qdrant.Filter{Must: []*qdrant.Condition{
			ofPages(s.URL), qdrant.NewRange(fieldOrdinal, &qdrant.Range{Gte: &from, Lte: &to}),
		}}))
	}
	return []*qdrant.Condition{qdrant.NewMatchKeywords(fieldSource, unique(sources)...), ofPages(unique(urls)...), either(wanted...)}
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
