package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
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

// TestOddDirectories opens indexes where a URI or a pattern would trip.
func TestOddDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a b?c=d#e%20f&mode=memory", "päth/new/deep", "."} {
		for revision := range 2 { // made, then found again
			s := open(t, dir, Options{})
			if err := publishRevision(t.Context(), s, revision); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
		}
		if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
			t.Error(err)
		}
		s := open(t, dir, Options{})
		if shown, err := storetest.RevisionShown(t.Context(), mustReader(t, s)); err != nil || shown != 1 {
			t.Errorf("%s: revision %d is shown: %v", dir, shown, err)
		}
		closeStore(t, s)
	}
}

// TestHolderIsNamed reads who holds a source, also when the note is damaged.
func TestHolderIsNamed(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s := open(t, dir, Options{})
	defer closeStore(t, s)
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	_, err = s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if want := "process " + strconv.Itoa(os.Getpid()) + " on "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v does not say %q", err, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "locks", "docs.holder"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if held, ok := errors.AsType[*search.LockedError](err); !ok || held.Holder != "unknown process" {
		t.Errorf("error %v names another holder than an unknown one", err)
	}
}

// open opens a store that the test closes.
func open(tb testing.TB, dir string, opts Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
