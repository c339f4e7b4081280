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

// denseShare is what the cosine weighs in a hybrid score; the rest is the
// coverage's.
const denseShare = 0.5

// fuse ranks the candidates. A score is from 0 to 1 and means the same in every
// query:
//
//	lexical  coverage = BM25 / bound, the share of the query's words, weighed by
//	         rarity, that a chunk holds; 1 would be a chunk full of all of them
//	dense    the cosine, 0 where it is negative
//	hybrid   their mean
//
// A chunk that is not in the dense list has at most the last cosine of the
// list, which is taken in its place: so models whose cosines are all high do not
// outweigh words, and chunks that have no vector yet can still be found. Ties
// are broken by source and id.
//
// The sum of absolute values ranks as well as reciprocal rank fusion (k = 60)
// and as the sum of values that are scaled by each list's best, but unlike those
// it does not call the best of bad candidates a good one.
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
	var least float64
	for _, candidate := range c.Dense {
		cosine := round(candidate.Score)
		at(candidate.Chunk).cosine = &cosine
		least = max(0, cosine)
	}
	for _, candidate := range c.Lexical {
		at(candidate.Chunk).coverage = candidate.Score / bound
	}
	share := map[Mode]float64{Lexical: 0, Dense: 1, Hybrid: denseShare}[mode]
	ranked := make([]scored, 0, len(hits))
	for _, hit := range hits {
		cosine := least
		if hit.cosine != nil {
			cosine = max(0, *hit.cosine)
		}
		if hit.score = round(min(1, share*cosine+(1-share)*hit.coverage)); hit.score > 0 {
			ranked = append(ranked, *hit)
		}
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Source, b.Source), strings.Compare(a.ID, b.ID))
	})
	return ranked
}
