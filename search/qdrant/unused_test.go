//go:build qdrant

package qdrant

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// publishAs publishes a source of two pages whose chunks a model has embedded.
func publishAs(ctx context.Context, s *Store, source, model string, revision int) error {
	w, err := s.Begin(ctx, docseek.Source{Name: source}, model, true)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	for i := range 2 {
		record, chunks := storetest.SitePage(i, revision, storetest.SiteChunks, 8)
		if err := w.Put(ctx, record, chunks); err != nil {
			return err
		}
	}
	return w.Commit(ctx, search.Counts{Pages: 2, Chunks: 2 * storetest.SiteChunks, Embedded: 2 * storetest.SiteChunks}, search.Run{Outcome: search.Published})
}

// foundByOld is how many chunks the old model's vectors find.
func foundByOld(t *testing.T, s *Store) int {
	t.Helper()
	found, err := mustReader(t, s).Candidates(t.Context(), search.Request{Vectors: map[string][]float32{"old": {1, 0, 0, 0, 0, 0, 0, 0}}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Dense)
}

func hasCollection(t *testing.T, s *Store, name string) bool {
	t.Helper()
	names, err := s.remote.ListCollections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(names, name)
}

// TestUnusedDropped changes the model. The old one's collection stays as long as a
// generation that is kept, or a run, needs it, and goes then; a reader of the old
// state is told so; and the old model gets a collection of another name.
func TestUnusedDropped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, prefixed(t))
	defer closeStore(t, s)
	publish := func(source, model string, revision int) {
		t.Helper()
		if err := publishAs(ctx, s, source, model, revision); err != nil {
			t.Fatal(err)
		}
	}
	old := s.chunks("old")
	publish("docs", "old", 0)
	before := mustReader(t, s)
	publish("docs", "new", 1)
	if _, err := s.Rollback(ctx, "docs"); err != nil {
		t.Fatal(err)
	}
	if n := foundByOld(t, s); n != 2*storetest.SiteChunks {
		t.Errorf("%d chunks are found after going back", n)
	}
	publish("docs", "new", 2)
	if !hasCollection(t, s, old) {
		t.Fatal("the collection of the generation before is gone")
	}

	// A run of another source is about to use it. Nothing can come late any more of
	// what was taken back.
	s.now = func() time.Time { return time.Now().Add(2 * late) }
	begun, err := s.Begin(ctx, docseek.Source{Name: "other"}, "old", false)
	if err != nil {
		t.Fatal(err)
	}
	publish("docs", "new", 3)
	if !hasCollection(t, s, old) {
		t.Fatal("the collection of a run is gone")
	}
	if err := begun.Finish(ctx, search.Run{Outcome: search.Failed}); err != nil {
		t.Fatal(err)
	}

	// One comes between the look at what is needed and the decision.
	seen, err := s.readRecord(ctx, s.remote.patient())
	if err != nil {
		t.Fatal(err)
	}
	if unused, err := s.unused(ctx, seen); err != nil || !slices.Equal(unused, []string{old}) {
		t.Fatalf("unused are %q, %v", unused, err)
	}
	publish("other", "old", 4) // which drops the empty collection and makes another
	if rec, err := s.retireUnused(ctx, seen); err != nil || slices.ContainsFunc(rec.Sets, func(s set) bool { return s.Retired }) {
		t.Fatalf("sets are %+v, %v", rec.Sets, err)
	}
	if n := foundByOld(t, s); n != 2*storetest.SiteChunks {
		t.Errorf("%d chunks of the other source are found", n)
	}

	publish("other", "new", 5)
	publish("other", "new", 6)
	if hasCollection(t, s, old) || hasCollection(t, s, old+"_1") {
		t.Fatal("a collection that nothing needs is still there")
	}
	if _, err := before.Candidates(ctx, search.Request{Vectors: map[string][]float32{"old": {1, 0, 0, 0, 0, 0, 0, 0}}, Limit: 100}); !errors.Is(err, search.ErrStale) {
		t.Errorf("a reader of the old state: %v", err)
	}

	// A process that was about to drop it does so when the model is back.
	publish("docs", "old", 7)
	if err := s.remote.DeleteCollection(ctx, old); err == nil {
		t.Error("there was something to drop")
	}
	if n := foundByOld(t, s); n != 2*storetest.SiteChunks {
		t.Errorf("%d chunks are found by the old model", n)
	}
	if !hasCollection(t, s, old+"_2") || hasCollection(t, s, old) {
		t.Error("the name of a dropped collection is used again")
	}
	another := open(t, s.options)
	defer closeStore(t, another)
	if n := foundByOld(t, another); n != 2*storetest.SiteChunks {
		t.Errorf("another process finds %d chunks", n)
	}
}
