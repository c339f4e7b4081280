package search_test

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// A source that a context leaves out is, to whoever asks with it, not there: no
// answer, list, hint or error names it.
func TestWithin(t *testing.T) {
	store := newMemory(clock)
	fill(t, store, "open", meaning, one(base+"rotate", "Rotate", "rotate the key with care"))
	fill(t, store, "hidden", meaning, one("https://hidden.test/rotate", "Rotate", "rotate the secret key"))
	e := search.NewEngine(store, withModel(concepts{}))
	narrow := search.Within(t.Context(), []string{"open", "absent"})

	found, err := e.Search(narrow, search.Query{Text: "rotate key"})
	if err != nil || len(found.Results) != 1 || found.Results[0].Source != "open" {
		t.Errorf("search: %+v, %v", found.Results, err)
	}
	listed, err := e.List(narrow, search.ListQuery{})
	if err != nil || len(listed.Sources) != 1 || listed.Sources[0].Name != "open" {
		t.Errorf("list: %+v, %v", listed.Sources, err)
	}
	if _, err := e.Read(narrow, search.ReadQuery{URL: base + "rotate"}); err != nil {
		t.Errorf("read what is there: %v", err)
	}
	refusals := map[string]error{}
	_, refusals["search by name"] = e.Search(narrow, search.Query{Text: "key", Filter: docseek.Filter{Sources: []string{"hidden"}}})
	_, refusals["pages"] = e.List(narrow, search.ListQuery{Source: "hidden"})
	_, refusals["read by address"] = e.Read(narrow, search.ReadQuery{URL: "https://hidden.test/rotate"})
	_, refusals["read by name"] = e.Read(narrow, search.ReadQuery{URL: "/rotate", Source: "hidden"})
	for what, err := range refusals {
		if err == nil || !strings.HasSuffix(err.Error(), "the sources are open") && !strings.HasSuffix(err.Error(), "the nearest pages are "+base+"rotate") {
			t.Errorf("%s: %v", what, err)
		}
	}

	wide, err := e.List(search.Within(narrow, []string{"open", "hidden"}), search.ListQuery{})
	if err != nil || len(wide.Sources) != 1 {
		t.Errorf("a narrowed context was widened: %+v, %v", wide.Sources, err)
	}
	none, err := e.Search(search.Within(t.Context(), nil), search.Query{Text: "rotate key"})
	if err != nil || len(none.Results) != 0 {
		t.Errorf("with no source at all: %+v, %v", none.Results, err)
	}
}
