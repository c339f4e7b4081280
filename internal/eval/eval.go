// Package eval measures a search against questions whose right pages are known.
package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Depth is how many results of an answer are looked at.
const Depth = 10

// All is the name under which a report holds the scores over every question.
const All = "all"

// Options say how results and gold entries are compared.
type Options struct {
	// Base is the address that the source's pages stand under, such as
	// "https://docs.example.com/v2/": a gold entry that is a bare path may be
	// meant from there or from the root of the host. Empty means the root.
	Base string
	// Anchors compares sections instead of pages. Gold entries without an anchor
	// do not count, nor do questions that have no other.
	Anchors bool
}

// Scores are means over questions. A result is right when it is a gold entry; of
// several results of one page (with Options.Anchors, of one section) the first
// counts.
type Scores struct {
	// N is the number of questions.
	N int `json:"n"`
	// Hit1, Hit5 and Hit10 are the shares of questions with a right result among
	// the first so many.
	Hit1  float64 `json:"hit@1"`
	Hit5  float64 `json:"hit@5"`
	Hit10 float64 `json:"hit@10"`
	// Recall is the share of the gold entries that is among the first ten.
	Recall float64 `json:"recall@10"`
	// MRR is one over the rank of the first right result, 0 beyond the tenth.
	MRR float64 `json:"MRR@10"`
	// NDCG is the normalised discounted cumulative gain with binary relevance
	// (Järvelin and Kekäläinen, 2002), over the first ten.
	NDCG float64 `json:"nDCG@10"`
}

// Outcome is what became of one question.
type Outcome struct {
	ID string `json:"id"`
	// Rank of the first right result, from 1; 0 when none is among the first ten.
	Rank int `json:"rank"`
}

// Report is how a search did.
type Report struct {
	// Scores are by kind of question, and over All of them. A kind that no
	// question is of is missing.
	Scores map[string]Scores
	// Outcomes are in the order of the questions that counted.
	Outcomes []Outcome
}

// Ask answers a query with addresses, the best first.
type Ask func(ctx context.Context, query string) ([]string, error)

// Run asks every question, one after another.
func Run(ctx context.Context, questions []Question, ask Ask, o Options) (Report, error) {
	match, err := newMatcher(o)
	if err != nil {
		return Report{}, err
	}
	sums := map[string]*Scores{}
	report := Report{Scores: map[string]Scores{}}
	for _, q := range questions {
		gold := match.gold(q.Gold)
		if len(gold) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return Report{}, context.Cause(ctx)
		}
		results, err := ask(ctx, q.Query)
		if err != nil {
			return Report{}, fmt.Errorf("ask question %s: %w", q.ID, err)
		}
		one := score(match.right(results, gold), len(gold))
		for _, kind := range []string{q.Kind, All} {
			if sums[kind] == nil {
				sums[kind] = &Scores{}
			}
			sums[kind].add(one.Scores)
		}
		report.Outcomes = append(report.Outcomes, Outcome{ID: q.ID, Rank: one.rank})
	}
	for kind, sum := range sums {
		report.Scores[kind] = sum.mean()
	}
	return report, nil
}

type scored struct {
	Scores
	rank int
}

// score judges one answer: right says of each distinct result, best first,
// whether it is a gold entry, of which there are gold.
func score(right []bool, gold int) scored {
	right = right[:min(len(right), Depth)]
	s := scored{Scores: Scores{N: 1}, rank: slices.Index(right, true) + 1}
	var found int
	var gain, ideal float64
	for i, ok := range right {
		if ok {
			found++
			gain += discount(i)
		}
	}
	for i := range min(Depth, gold) {
		ideal += discount(i)
	}
	s.Recall = float64(found) / float64(gold)
	s.NDCG = gain / ideal
	if s.rank > 0 {
		s.MRR = 1 / float64(s.rank)
		s.Hit1, s.Hit5, s.Hit10 = within(s.rank, 1), within(s.rank, 5), within(s.rank, 10)
	}
	return s
}

// discount is the worth of a right result with i results before it.
func discount(i int) float64 { return 1 / math.Log2(float64(i)+2) }

func within(rank, k int) float64 {
	if rank <= k {
		return 1
	}
	return 0
}

func (s *Scores) add(o Scores) {
	s.N += o.N
	s.Hit1 += o.Hit1
	s.Hit5 += o.Hit5
	s.Hit10 += o.Hit10
	s.Recall += o.Recall
	s.MRR += o.MRR
	s.NDCG += o.NDCG
}

func (s *Scores) mean() Scores {
	n := float64(s.N)
	return Scores{
		N: s.N, Hit1: s.Hit1 / n, Hit5: s.Hit5 / n, Hit10: s.Hit10 / n,
		Recall: s.Recall / n, MRR: s.MRR / n, NDCG: s.NDCG / n,
	}
}
