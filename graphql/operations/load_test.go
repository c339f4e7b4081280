package operations_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/operations"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func schema(tb testing.TB, text string) *graphql.Schema {
	tb.Helper()
	s, err := graphql.Load([]byte(text), "schema.graphql", graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// What files of all kinds become: testdata/load holds a schema, the files, and
// behind them what is published, persisted, withheld and broken.
func TestLoad(t *testing.T) {
	paths, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := operations.Options{Endpoint: "api", Reserved: []string{"search_docs"}}
			var inputs, goldens []txtar.File
			for _, f := range archive.Files {
				switch text := string(f.Data); {
				case strings.HasPrefix(f.Name, "want/"):
					goldens = append(goldens, f)
					continue
				case f.Name == "schema.graphql":
					o.Schema = schema(t, text)
				case f.Name == "scalars.json":
					if err := json.Unmarshal(f.Data, &o.Scalars); err != nil {
						t.Fatal(err)
					}
				default:
					o.Files = append(o.Files, operations.File{Path: f.Name, Text: text})
				}
				inputs = append(inputs, f)
			}
			got := show(operations.Load(o))
			slices.Reverse(o.Files)
			if diff := cmp.Diff(got, show(operations.Load(o))); diff != "" {
				t.Errorf("another order of the files gives another set (-in order +in reverse):\n%s", diff)
			}
			if *update {
				archive.Files = slices.Concat(inputs, got)
				write(t, path, txtar.Format(archive))
				return
			}
			if diff := cmp.Diff(goldens, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// show is a set as the goldens have it.
func show(set operations.Set) []txtar.File {
	documents, tools := operations.Build(set)
	var withheld strings.Builder
	for _, o := range set.Operations {
		if o.Withheld != "" {
			fmt.Fprintf(&withheld, "%s: %s\n", o.Name, o.Withheld)
		}
	}
	lines := func(faults []operations.Fault) []byte {
		var b strings.Builder
		for _, f := range faults {
			fmt.Fprintf(&b, "%s [%s]\n", f, f.Operation)
		}
		return []byte(b.String())
	}
	var texts strings.Builder
	for _, o := range set.Operations {
		if text, ours := set.Documents[o.ID]; ours {
			fmt.Fprintf(&texts, "# %s\n%s\n", o.Name, text)
		}
	}
	return []txtar.File{
		{Name: "want/faults", Data: lines(set.Faults)},
		{Name: "want/warnings", Data: lines(set.Warnings)},
		{Name: "want/withheld", Data: []byte(withheld.String())},
		{Name: "want/documents.graphql", Data: []byte(texts.String())},
		{Name: "want/persisted-documents.json", Data: documents},
		{Name: "want/tools.json", Data: tools},
	}
}
