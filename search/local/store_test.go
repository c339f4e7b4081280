package local

import (
	"testing"
	"time"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

func index(opts Options) storetest.Index {
	return func(t *testing.T) func(t *testing.T) search.Store {
		t.Helper()
		dir := t.TempDir()
		return func(t *testing.T) search.Store {
			t.Helper()
			return open(t, dir, opts)
		}
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, index(Options{})) }

// TestNothingKept deletes what was replaced at once: what is visible is the same,
// and readers of earlier states are told.
func TestNothingKept(t *testing.T) { storetest.RandomLives(t, index(Options{Keep: time.Nanosecond})) }

// open opens a store that the test closes.
func open(tb testing.TB, dir string, opts Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
