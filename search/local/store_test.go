package local

import (
	"testing"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func(t *testing.T) search.Store {
		t.Helper()
		dir := t.TempDir()
		return func(t *testing.T) search.Store {
			t.Helper()
			return open(t, dir, Options{})
		}
	})
}

// open opens a store that the test closes.
func open(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
