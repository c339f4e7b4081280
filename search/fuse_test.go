package search

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/docseek/docseek"
)

func candidate(id string, score float64) Candidate {
	return Candidate{Score: score, Chunk: Chunk{Source: "docs", Chunk: docseek.Chunk{ID: id, URL: "https://a.test/" + id, Path: []string{id}}, PageChunks: 1}}
}

func TestFuse(t *testing.T) {
	lists := Candidates{
		Dense:   []Candidate{candidate("both", 0.8), candidate("near", 0.6), candidate("far", 0.4)},
		Lexical: []Candidate{candidate("word", 9), candidate("both", 6), candidate("b", 3), candidate("a", 3)},
	}
	const bound = 10
	tests := []struct {
		mode  Mode
		want  map[string]float64
		order []string
	}{
		{Lexical, map[string]float64{"word": 0.9, "both": 0.6, "a": 0.3, "b": 0.3}, []string{"word", "both", "a", "b"}},
		{Dense, map[string]float64{"both": 0.8, "near": 0.6, "far": 0.4}, []string{"both", "near", "far"}},
		// What is not in the dense list has its last cosine.
		{Hybrid, map[string]float64{"both": 0.72, "word": 0.6, "a": 0.36, "b": 0.36, "near": 0.36, "far": 0.24}, []string{"both", "word", "a", "b", "near", "far"}},
	}
	// Each page has one chunk, which is 16/31 of the page's evidence.
	const alone = 0.75 + 0.25*16/31
	for _, test := range tests {
		c := lists
		if test.mode == Lexical {
			c.Dense = nil
		}
		if test.mode == Dense {
			c.Lexical = nil
		}
		var order []string
		for _, hit := range fuse(test.mode, c, bound) {
			order = append(order, hit.ID)
			if want := test.want[hit.ID] * alone; math.Abs(hit.score-want) > 1e-4 {
				t.Errorf("%s: %s scores %v, want %v", test.mode, hit.ID, hit.score, want)
			}
			inDense := slices.ContainsFunc(c.Dense, func(d Candidate) bool { return d.ID == hit.ID })
			if (hit.cosine != nil) != inDense {
				t.Errorf("%s: %s has cosine %v", test.mode, hit.ID, hit.cosine)
			}
		}
		if !slices.Equal(order, test.order) {
			t.Errorf("%s: order %q, want %q", test.mode, order, test.order)
		}
	}
}

func TestFuseBounds(t *testing.T) {
	c := Candidates{
		Dense:   []Candidate{candidate("opposite", -0.5)},
		Lexical: []Candidate{candidate("full", 10.0001)},
	}
	for _, hit := range fuse(Hybrid, c, 10) {
		if hit.score < 0 || hit.score > 1 {
			t.Errorf("%s scores %v", hit.ID, hit.score)
		}
	}
	if hits := fuse(Dense, Candidates{Dense: c.Dense}, 0); len(hits) != 0 {
		t.Errorf("what is opposite was found: %+v", hits)
	}
}

func TestPagesWithMoreEvidence(t *testing.T) {
	of := func(page, id string, score float64) Candidate {
		c := candidate(id, score)
		c.URL = page
		return c
	}
	hits := fuse(Dense, Candidates{Dense: []Candidate{
		of("one", "1", 0.62), of("many", "2", 0.6), of("many", "3", 0.6), of("many", "4", 0.6),
	}}, 0)
	if hits[0].URL != "many" || hits[3].URL != "one" {
		t.Errorf("ranked %+v", hits)
	}
	hits = fuse(Dense, Candidates{Dense: []Candidate{
		of("one", "1", 0.9), of("many", "2", 0.6), of("many", "3", 0.6), of("many", "4", 0.6), of("many", "5", 0.6), of("many", "6", 0.6),
	}}, 0)
	if hits[0].URL != "one" {
		t.Errorf("ranked %+v", hits)
	}
}

func TestWhatAFullListLeavesOut(t *testing.T) {
	var c Candidates
	for i := range listLength {
		c.Lexical = append(c.Lexical, candidate(fmt.Sprintf("w%03d", i), 5))
	}
	c.Dense = []Candidate{candidate("v", 0.5)}
	hits := fuse(Hybrid, c, 10)
	if i := slices.IndexFunc(hits, func(s scored) bool { return s.ID == "v" }); i < 0 || hits[i].score != hits[0].score {
		t.Errorf("a chunk that may hold as many words as the last of the list is ranked %d", i)
	}
}

func BenchmarkRank(b *testing.B) {
	var c Candidates
	for i := range listLength {
		c.Dense = append(c.Dense, candidate(fmt.Sprintf("v%d/%03d", i%4, i), 1-float64(i)/400))
		c.Lexical = append(c.Lexical, candidate(fmt.Sprintf("v%d/%03d", i%4, i+100), 20-float64(i)/20))
	}
	b.ReportAllocs()
	for b.Loop() {
		group(preferVersions(fuse(Hybrid, c, 40), nil), false)
	}
}
