//go:build qdrant

package qdrant

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// TestChunksGone deletes the collection of the embedded chunks under an index of
// two sources. A run finds out, builds on nothing, and publishes all of its source.
func TestChunksGone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := prefixed(t)
	o.Keep = time.Nanosecond
	s := open(t, o)
	defer closeStore(t, s)
	sources := []string{"docs", "more"}
	for _, source := range sources {
		if err := publishAs(ctx, s, source, "old", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.remote.DeleteCollection(ctx, s.chunks("old")); err != nil {
		t.Fatal(err)
	}
	for i, source := range sources {
		w, err := s.Begin(ctx, docseek.Source{Name: source}, "old", false)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := storetest.SitePage(0, 0, storetest.SiteChunks, 8)
		if _, err := w.Live().Page(ctx, source, page.URL); !errors.Is(err, search.ErrNotFound) {
			t.Errorf("source %s: a run builds on a page without chunks: %v", source, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := publishAs(ctx, s, source, "old", 0); err != nil {
			t.Fatal(err)
		}
		if found, want := foundByOld(t, s), 2*storetest.SiteChunks*(i+1); found != want {
			t.Errorf("source %s: %d chunks are found, want %d", source, found, want)
		}
		if _, err := s.Rollback(ctx, source); !errors.Is(err, search.ErrNotFound) {
			t.Errorf("source %s: rolled back to what is gone: %v", source, err)
		}
	}
	// The next run builds on the whole again.
	if err := publishAs(ctx, s, "docs", "old", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rollback(ctx, "docs"); err != nil {
		t.Error(err)
	}
}

// TestAllGone deletes all collections of an open store: it goes on with an empty
// index.
func TestAllGone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, prefixed(t))
	defer closeStore(t, s)
	if err := publishAs(ctx, s, "docs", "old", 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{s.plain(), s.chunks("old"), s.meta()} {
		if err := s.remote.DeleteCollection(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := publishAs(ctx, s, "docs", "old", 1); !notFound(err) {
		t.Errorf("the first use finds out: %v", err)
	}
	if err := publishAs(ctx, s, "docs", "old", 1); err != nil {
		t.Fatal(err)
	}
	if found := foundByOld(t, s); found != 2*storetest.SiteChunks {
		t.Errorf("%d chunks are found", found)
	}
}

// TestStateGone deletes the collection of the state alone. A new state would show the
// chunks that are left, once their numbers are given out again: none is made.
func TestStateGone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, prefixed(t))
	defer closeStore(t, s)
	if err := publishAs(ctx, s, "docs", "old", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.remote.DeleteCollection(ctx, s.meta()); err != nil {
		t.Fatal(err)
	}
	if err := publishAs(ctx, s, "docs", "old", 1); !notFound(err) {
		t.Errorf("the first use finds out: %v", err)
	}
	for range 2 {
		if err := publishAs(ctx, s, "docs", "old", 1); err == nil || !strings.Contains(err.Error(), s.chunks("old")) {
			t.Errorf("error %v does not name what is left", err)
		}
	}
	if err := s.remote.DeleteCollection(ctx, s.chunks("old")); err != nil {
		t.Fatal(err)
	}
	if err := publishAs(ctx, s, "docs", "old", 1); err != nil {
		t.Error(err)
	}
}
