package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

func TestListSources(t *testing.T) {
	store := newMemory(clock)
	fill(t, store, "docs", meaning, one(base+"a", "A", "text"), one(base+"b", "B", "text"))
	fill(t, store, "gone", meaning, one("https://gone.test/", "G", "text"))
	embedded := 0
	fill(t, store, "partly", func(s string) []float32 {
		if embedded++; embedded > 1 {
			return nil
		}
		return meaning(s)
	}, one("https://partly.test/a", "A", "text"), one("https://partly.test/b", "B", "text"))

	clockNow := now
	opts := withModel(concepts{})
	opts.Now = func() time.Time { return clockNow }
	opts.Interval = 6 * time.Hour
	opts.NextRun = func(string) time.Time { return now.Add(time.Hour) }
	opts.Sources = func() []docseek.Source {
		return []docseek.Source{{Name: "docs"}, {Name: "partly"}, {Name: "fresh", Start: "https://fresh.test/"}}
	}
	e := search.NewEngine(store, opts)

	states := func() map[string]search.SourceStatus {
		listing, err := e.List(t.Context(), search.ListQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(listing.Sources, func(a, b search.SourceStatus) int { return strings.Compare(a.Name, b.Name) }) {
			t.Error("the sources are not sorted")
		}
		byName := map[string]search.SourceStatus{}
		for _, s := range listing.Sources {
			byName[s.Name] = s
			if s.State != search.Ready && s.Reason == "" {
				t.Errorf("%s is %s without a reason", s.Name, s.State)
			}
			if s.Versions == nil || s.Languages == nil {
				t.Errorf("%s: versions or languages are null", s.Name)
			}
		}
		return byName
	}
	got := states()
	for name, want := range map[string]string{
		"docs": search.Ready, "partly": search.Degraded, "fresh": search.Empty, "gone": search.Unconfigured,
	} {
		if got[name].State != want {
			t.Errorf("%s is %s, want %s", name, got[name].State, want)
		}
	}
	docs := got["docs"]
	if docs.Pages != 2 || docs.Chunks != 2 || docs.Generation == 0 || docs.Start != "https://docs.test/sitemap.xml" {
		t.Errorf("docs: %+v", docs)
	}
	if docs.IndexedAt == nil || !docs.IndexedAt.Equal(now) || docs.NextRun == nil || docs.LastRun == nil {
		t.Errorf("docs: times %+v", docs)
	}
	if got["gone"].NextRun != nil || got["fresh"].IndexedAt != nil {
		t.Error("a source tells a time that it has not")
	}
	clockNow = now.Add(13 * time.Hour)
	if s := states()["docs"]; s.State != search.Stale {
		t.Errorf("after two intervals docs is %s", s.State)
	}
}

func TestFailedRunIsTold(t *testing.T) {
	e, store := site(t, one(base+"a", "A", "text"))
	w, err := store.Begin(t.Context(), docseek.Source{Name: "docs"}, model, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(t.Context(), search.Run{Source: "docs", Outcome: search.Refused, Error: "half of the pages would go"}); err != nil {
		t.Fatal(err)
	}
	listing, err := e.List(t.Context(), search.ListQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if s := listing.Sources[0]; s.State != search.Ready || !strings.Contains(s.Reason, "half of the pages") {
		t.Errorf("after a refused run: %s, %q", s.State, s.Reason)
	}
}

func TestListPages(t *testing.T) {
	var pages []page
	for i := range 250 {
		pages = append(pages, one(fmt.Sprintf("%sdocs/p%03d", base, i), fmt.Sprintf("Page %d", i), "text"))
	}
	pages = append(pages, one(base+"docs-old/x", "Old", "text"))
	e, store := site(t, pages...)
	for _, q := range []search.ListQuery{{Source: "docs", PathPrefix: "/docs"}, {PathPrefix: "/docs"}} {
		var all []string
		for range 10 {
			listing, err := e.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range listing.Pages {
				all = append(all, p.URL)
			}
			if q.Cursor = listing.NextCursor; q.Cursor == "" {
				break
			}
		}
		if len(all) != 250 || !slices.IsSorted(all) || len(slices.Compact(all)) != 250 {
			t.Errorf("%+v listed %d pages", q, len(all))
		}
	}
	first, err := e.List(t.Context(), search.ListQuery{Source: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, store, "other", meaning, one("https://other.test/", "O", "text"))
	for name, q := range map[string]search.ListQuery{
		"unknown source":     {Source: "wiki"},
		"prefix of what":     {PathPrefix: "/docs"},
		"cursor of another":  {Source: "other", Cursor: first.NextCursor},
		"cursor without any": {Cursor: first.NextCursor},
	} {
		_, err := e.List(t.Context(), q)
		if input := (*search.InputError)(nil); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The list that was asked for is there in JSON, if empty, and the other is not.
func TestEmptyListsInJSON(t *testing.T) {
	store := newMemory(clock)
	e := search.NewEngine(store, withModel(concepts{}))
	wantJSON := func(q search.ListQuery, want string) {
		t.Helper()
		listing, err := e.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(listing); err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v; want %s", q, got, err, want)
		}
	}
	wantJSON(search.ListQuery{}, `{"sources":[]}`)
	fill(t, store, "docs", meaning, one(base+"a", "A", "text"))
	wantJSON(search.ListQuery{Source: "docs", PathPrefix: "/nowhere"}, `{"pages":[]}`)
}
