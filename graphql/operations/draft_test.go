package operations_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek/graphql/operations"
)

// What is drafted of a query: testdata/draft holds the query, perhaps a schema
// and a sample, and behind them the file and the notes.
func TestDraft(t *testing.T) {
	paths, err := filepath.Glob("testdata/draft/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			o := operations.DraftOptions{Endpoint: "shop"}
			var inputs, goldens []txtar.File
			for _, f := range archive.Files {
				switch f.Name {
				case "query.graphql":
					o.Query = string(f.Data)
				case "schema.graphql":
					o.Schema = schema(t, string(f.Data))
				case "sample.json":
					o.Sample = f.Data
				default:
					goldens = append(goldens, f)
					continue
				}
				inputs = append(inputs, f)
			}
			var got []txtar.File
			file, notes, err := operations.Draft(o)
			if err != nil {
				got = append(got, txtar.File{Name: "want/error", Data: []byte(err.Error() + "\n")})
			} else {
				got = append(got, txtar.File{Name: "want/file.yaml", Data: file})
				if len(notes) > 0 {
					got = append(got, txtar.File{Name: "want/notes", Data: []byte(strings.Join(notes, "\n") + "\n")})
				}
				loaded := operations.Load(operations.Options{
					Endpoint: "shop", Schema: o.Schema, Files: []operations.File{{Path: "draft.yaml", Text: string(file)}},
				})
				if len(loaded.Published()) != 1 {
					t.Errorf("the draft is no operation: %s", told(loaded.Faults))
				}
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

func TestDraftRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		o    operations.DraftOptions
		want string
	}{
		"no GraphQL":              {operations.DraftOptions{Query: `query A {`}, `1:10: Expected Name, found <EOF>`},
		"no name":                 {operations.DraftOptions{Query: `{ a }`}, `the operation has no name: write one after query`},
		"two operations":          {operations.DraftOptions{Query: `query A { a } query B { b }`}, `the query holds 2 operations: give one`},
		"a subscription":          {operations.DraftOptions{Query: `subscription S { a }`}, `a subscription is no tool`},
		"a bad name":              {operations.DraftOptions{Query: `query A { a }`, Name: "A-b"}, `the tool's name "A-b"`},
		"what the schema lacks":   {operations.DraftOptions{Query: `query A { nope }`, Schema: schema(t, shopSchema)}, `Cannot query field "nope" on type "Query"`},
		"a sample with errors":    {operations.DraftOptions{Query: `query A { a }`, Sample: []byte(`{"data":{"a":1},"errors":[{"message":"no a","extensions":{"code":"X"}}]}`)}, `the sample is a failure: give an answer that succeeded (errors: no a)`},
		"a sample without data":   {operations.DraftOptions{Query: `query A { a }`, Sample: []byte(`{"data":null}`)}, `the sample is a failure: it has no data`},
		"nothing but errors":      {operations.DraftOptions{Query: `query A { a }`, Sample: []byte(`{"errors":[]}`)}, `the sample is a failure: it has no data`},
		"a sample that is a list": {operations.DraftOptions{Query: `query A { a }`, Sample: []byte(`[1]`)}, `the sample is no answer: it must be a JSON object`},
		"no JSON":                 {operations.DraftOptions{Query: `query A { a }`, Sample: []byte(`{`)}, `the sample is no JSON: unexpected EOF`},
		"an alias unheeded":       {operations.DraftOptions{Query: `query A { b: a { c } }`, Sample: []byte(`{"data":{"a":{"c":1}}}`)}, `the sample has what the query does not select: $.a; is it an answer to this query?`},
		"more, deep":              {operations.DraftOptions{Query: `query A { a { b { c } } }`, Sample: []byte(`{"data":{"a":[{"b":{"c":1}},{"b":{"c":1,"d-e":2},"f":3}]}}`)}, `the sample has what the query does not select: $.a[*].b['d-e'], $.a[*].f`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := operations.Draft(tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
