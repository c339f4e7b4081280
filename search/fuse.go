package search

import (
	"cmp"
	"slices"
	"strings"
)

// scored is a chunk and how well it matches a query.
type scored struct {
	Chunk
	score  float64
	cosine *float64
}

// denseShare is what the dense list weighs in a hybrid score.
const denseShare = 0.6

// fuse ranks the candidates. Scores are from 0 to 1.
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
	for _, candidate := range c.Dense {
		hit := at(candidate.Chunk)
		cosine := candidate.Score
		hit.cosine = &cosine
		share := denseShare
		if mode == Dense {
			share = 1
		}
		hit.score += share * max(0, cosine)
	}
	for _, candidate := range c.Lexical {
		share := 1 - denseShare
		if mode == Lexical {
			share = 1
		}
		at(candidate.Chunk).score += share * candidate.Score / bound
	}
	ranked := make([]scored, 0, len(hits))
	for _, hit := range hits {
		hit.score = round(min(hit.score, 1))
		ranked = append(ranked, *hit)
	}
	slices.SortFunc(ranked, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Source, b.Source), strings.Compare(a.ID, b.ID))
	})
	return ranked
}
