package search_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the answers as clients read them.
func TestGolden(t *testing.T) {
	store := newMemory(clock)
	guide(t, store)
	opts := withModel(concepts{})
	opts.Sources = func() []docseek.Source {
		return []docseek.Source{{Name: "docs"}, {Name: "wiki", Start: "https://wiki.test/"}}
	}
	e := search.NewEngine(store, opts)
	ctx := t.Context()
	for name, ask := range map[string]func() (any, error){
		"search": func() (any, error) {
			return e.Search(ctx, search.Query{Text: "limit of the gold card", Limit: 2})
		},
		"search_lexical": func() (any, error) {
			return e.Search(ctx, search.Query{Text: "gold", Mode: search.Lexical, Limit: 40})
		},
		"search_empty": func() (any, error) {
			return e.Search(ctx, search.Query{Text: "frobnicate", Mode: search.Lexical})
		},
		"read_section": func() (any, error) {
			return e.Read(ctx, search.ReadQuery{URL: base + "guide#cards"})
		},
		"read_page": func() (any, error) {
			return e.Read(ctx, search.ReadQuery{URL: base + "guide"})
		},
		"list_sources": func() (any, error) { return e.List(ctx, search.ListQuery{}) },
		"list_pages": func() (any, error) {
			return e.List(ctx, search.ListQuery{Source: "docs", PathPrefix: "/guide"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(answer, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
