package search

import (
	"cmp"
	"slices"
	"strings"
)

// scored is a chunk and how well it matches a query.
type scored struct {
	Chunk
	score float64
	// cosine is nil for a chunk that is not in the dense list.
	cosine   *float64
	coverage float64
}

const (
	// denseShare is what the cosine weighs in a hybrid score; the rest is the
	// coverage's.
	denseShare = 0.6
	// pageShare is what the page of a chunk weighs in its score.
	pageShare = 0.25
	// pageChunks is how many chunks of a page tell for it.
	pageChunks = 5
)

// fuse ranks the candidates. A score is from 0 to 1 and means the same in every
// query. Three quarters of it are the chunk's own:
//
//	lexical  coverage = BM25 / bound, the share of the query's words, weighed by
//	         rarity, that a chunk holds; 1 would be a chunk full of all of them
//	dense    the cosine, 0 where it is negative
//	hybrid   0.6 · cosine + 0.4 · coverage
//
// and a quarter is its page's: the mean of its best five, each weighing half of
// the one before, since a page that says more on a matter is more likely the one
// that is looked for.
//
// What is not in a list has at most the last value of the list, which is taken
// in its place: so models whose cosines are all high do not outweigh words, and
// chunks that have no vector yet can still be found. Ties are broken by source
// and id.
//
// Sums of absolute values rank as well as reciprocal rank fusion (k = 60) and as
// values that are scaled by the best of each list, but unlike those they do not
// call the best of bad candidates a good one.
func fuse(mode Mode, c Candidates, bound float64) []scored {
	hits := make(map[string]*scored, len(c.Dense)+len(c.Lexical))
	at := func(chunk Chunk) *scored {
		key := chunk.Source + "\x00" + chunk.ID
		hit := hits[key]
		if hit == nil {
			hit = &scored{Chunk: chunk}
			hits[key] = hit
		}
		return hit
	}
	var leastCosine, leastCoverage float64
	for _, candidate := range c.Dense {
		cosine := round(candidate.Score)
		at(candidate.Chunk).cosine = &cosine
		leastCosine = max(0, cosine)
	}
	for _, candidate := range c.Lexical {
		at(candidate.Chunk).coverage = candidate.Score / bound
	}
	if n := len(c.Lexical); n >= listLength { // a shorter list has all that hold a word
		leastCoverage = c.Lexical[n-1].Score / bound
	}
	share := map[Mode]float64{Lexical: 0, Dense: 1, Hybrid: denseShare}[mode]
	pages := map[pageKey][]float64{}
	for _, hit := range hits {
		cosine := leastCosine
		if hit.cosine != nil {
			cosine = max(0, *hit.cosine)
		}
		hit.score = min(1, share*cosine+(1-share)*max(hit.coverage, leastCoverage))
		page := hit.key().section.page
		pages[page] = append(pages[page], hit.score)
	}
	standing := make(map[pageKey]float64, len(pages))
	for page, scores := range pages {
		standing[page] = halving(scores)
	}
	ranked := make([]scored, 0, len(hits))
	for _, hit := range hits {
		if hit.score == 0 {
			continue
		}
		hit.score = round((1-pageShare)*hit.score + pageShare*standing[hit.key().section.page])
		ranked = append(ranked, *hit)
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Source, b.Source), strings.Compare(a.ID, b.ID))
	})
	return ranked
}

// halving is the mean of the best of a page's scores, each weighing half of the
// one before. Those that a page lacks count as 0.
func halving(scores []float64) float64 {
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	var sum, weights float64
	for i, weight := 0, 1.0; i < pageChunks; i, weight = i+1, weight/2 {
		if weights += weight; i < len(scores) {
			sum += weight * scores[i]
		}
	}
	return sum / weights
}
