package search

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// Reranker reads passages together with the query, which says more about how
// well they answer it than vectors that were made apart.
type Reranker interface {
	// Rerank returns a score from 0 to 1 for each passage.
	Rerank(ctx context.Context, query string, passages []string) ([]float64, error)
}

// Defaults of reranking.
const (
	DefaultRerankTop     = 50
	DefaultRerankTimeout = 2 * time.Second
)

// rerank puts the best hits into the order that the reranker finds, within its
// time. What stands below them keeps its order, and scores below the least of
// them. Without an answer the hits stay as they are, and the reason says so.
func (e *Engine) rerank(ctx context.Context, query string, hits []scored) (_ []scored, reason string) {
	top := min(e.opts.RerankTop, len(hits))
	if top == 0 {
		return hits, ""
	}
	within, cancel := context.WithTimeout(ctx, e.opts.RerankTimeout)
	defer cancel()
	passages := make([]string, top)
	for i, hit := range hits[:top] {
		passages[i] = hit.Embedded()
	}
	scores, err := e.opts.Reranker.Rerank(within, query, passages)
	switch {
	case err == nil && len(scores) == top:
	case ctx.Err() != nil: // nobody waits for the answer any more
		return hits, ""
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return hits, "The reranker did not answer in time: the order is that of the search alone."
	default:
		e.opts.Log.WarnContext(ctx, "reranking failed", slog.Any("error", err))
		return hits, "The reranker failed: the order is that of the search alone."
	}
	ranked := slices.Clone(hits)
	least := 1.0
	for i := range ranked[:top] {
		ranked[i].score = round(scores[i])
		least = min(least, ranked[i].score)
	}
	slices.SortStableFunc(ranked[:top], func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for i := range ranked[top:] {
		ranked[top+i].score = round(least * ranked[top+i].score)
	}
	return ranked, ""
}
