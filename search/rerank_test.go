package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek/search"
)

// preferring is a reranker that likes passages with some text in them.
type preferring struct {
	text     string
	err      error
	hangs    bool
	passages []string
}

func (p *preferring) Rerank(ctx context.Context, _ string, passages []string) ([]float64, error) {
	p.passages = passages
	if p.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("ask: %w", ctx.Err())
	}
	scores := make([]float64, len(passages))
	for i, text := range passages {
		if scores[i] = 0.2; strings.Contains(text, p.text) {
			scores[i] = 0.9
		}
	}
	return scores, p.err
}

// reranked is an engine on a source of nine pages about the same, the third of
// which is the one that the reranker likes.
func reranked(t *testing.T, r search.Reranker, change func(*search.Options)) *search.Engine {
	t.Helper()
	store := newMemory(clock)
	var pages []page
	for i := range 9 {
		pages = append(pages, one(fmt.Sprintf("%sp%d", base, i), fmt.Sprintf("Page %d", i), "transfer money"))
	}
	fill(t, store, "docs", meaning, pages...)
	opts := withModel(concepts{})
	opts.Reranker = r
	if change != nil {
		change(&opts)
	}
	return search.NewEngine(store, opts)
}

func TestRerankedOrder(t *testing.T) {
	r := &preferring{text: "Page 3"}
	a := ask(t, reranked(t, r, nil), search.Query{Text: "transfer money"})
	if !a.Reranked || a.Degraded || urls(a)[0] != base+"p3" || a.Results[0].Score != 0.9 || a.Results[1].Score != 0.2 {
		t.Errorf("reranked %v, degraded %v, order %v, scores %v %v", a.Reranked, a.Degraded, urls(a), a.Results[0].Score, a.Results[1].Score)
	}
	if len(r.passages) != 9 || !strings.Contains(r.passages[0], "Page") {
		t.Errorf("the reranker was given %q", r.passages)
	}
	if a := ask(t, reranked(t, r, nil), search.Query{Text: "transfer money", MinScore: 0.5}); len(a.Results) != 1 {
		t.Errorf("%d results of a score of 0.5 or more", len(a.Results))
	}
}

func TestOnlyTheTopIsReranked(t *testing.T) {
	r := &preferring{text: "no page has this"}
	plain := ask(t, reranked(t, nil, nil), search.Query{Text: "transfer money", Limit: 9})
	a := ask(t, reranked(t, r, func(o *search.Options) { o.RerankTop = 4 }), search.Query{Text: "transfer money", Limit: 9})
	if len(r.passages) != 4 {
		t.Errorf("%d passages were reranked, want 4", len(r.passages))
	}
	if !slices.Equal(urls(a), urls(plain)) {
		t.Errorf("equal scores changed the order: %v, was %v", urls(a), urls(plain))
	}
	for i := 1; i < len(a.Results); i++ {
		if a.Results[i].Score > a.Results[i-1].Score {
			t.Errorf("score %v follows %v", a.Results[i].Score, a.Results[i-1].Score)
		}
	}
}

func TestRerankerWithoutAnswer(t *testing.T) {
	plain := urls(ask(t, reranked(t, nil, nil), search.Query{Text: "transfer money"}))
	for name, test := range map[string]struct {
		reranker *preferring
		reason   string
	}{
		"fails":   {&preferring{err: errors.New("key s3cr3t is wrong")}, "The reranker failed"},
		"is slow": {&preferring{hangs: true}, "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			e := reranked(t, test.reranker, func(o *search.Options) { o.RerankTimeout = time.Millisecond })
			a := ask(t, e, search.Query{Text: "transfer money"})
			if a.Reranked || !a.Degraded || !strings.Contains(a.Reason, test.reason) || strings.Contains(a.Reason, "s3cr3t") {
				t.Errorf("reranked %v, degraded %v, reason %q", a.Reranked, a.Degraded, a.Reason)
			}
			if !slices.Equal(urls(a), plain) {
				t.Errorf("the order is %v, that of the search alone %v", urls(a), plain)
			}
		})
	}
}

func TestCursorOfARerankedAnswer(t *testing.T) {
	r := &preferring{text: "Page 3"}
	e := reranked(t, r, nil)
	q := search.Query{Text: "transfer money", Limit: 2}
	first := ask(t, e, q)
	q.Cursor = first.NextCursor
	second := ask(t, e, q)
	for _, u := range urls(second) {
		if slices.Contains(urls(first), u) {
			t.Errorf("%s is on both pages", u)
		}
	}
	r.err = errors.New("down")
	if _, err := e.Search(t.Context(), q); err == nil {
		t.Error("a reranked answer was continued in another order")
	} else if input := (*search.InputError)(nil); !errors.As(err, &input) {
		t.Error(err)
	}
}
