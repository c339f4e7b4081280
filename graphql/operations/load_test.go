package operations_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek/graphql/operations"
)

// What files of all kinds become: testdata/load holds a schema, the files, and
// behind them what is published, persisted, withheld and broken.
func TestLoad(t *testing.T) {
	goldens(t, "load", func(t *testing.T, files []txtar.File) []txtar.File {
		t.Helper()
		o := operations.Options{Endpoint: "api", Reserved: []string{"search_docs"}}
		for _, f := range files {
			switch text := string(f.Data); f.Name {
			case "schema.graphql":
				o.Schema = schema(t, text)
			case "scalars.json":
				if err := json.Unmarshal(f.Data, &o.Scalars); err != nil {
					t.Fatal(err)
				}
			default:
				o.Files = append(o.Files, operations.File{Path: f.Name, Text: text})
			}
		}
		got := show(operations.Load(o))
		slices.Reverse(o.Files)
		if diff := cmp.Diff(got, show(operations.Load(o))); diff != "" {
			t.Errorf("another order of the files gives another set (-in order +in reverse):\n%s", diff)
		}
		return got
	})
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
