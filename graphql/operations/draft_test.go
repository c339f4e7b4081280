package operations_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek/graphql/operations"
)

// What is drafted of a query: testdata/draft holds the query, perhaps a schema
// and a sample, and behind them the file and the notes.
func TestDraft(t *testing.T) {
	goldens(t, "draft", func(t *testing.T, files []txtar.File) []txtar.File {
		t.Helper()
		o := operations.DraftOptions{Endpoint: "shop"}
		for _, f := range files {
			switch f.Name {
			case "query.graphql":
				o.Query = string(f.Data)
			case "schema.graphql":
				o.Schema = schema(t, string(f.Data))
			case "sample.json":
				o.Sample = f.Data
			default:
				t.Fatalf("%s is no file of a draft", f.Name)
			}
		}
		file, notes, err := operations.Draft(o)
		if err != nil {
			return []txtar.File{{Name: "want/error", Data: []byte(err.Error() + "\n")}}
		}
		got := []txtar.File{{Name: "want/file.yaml", Data: file}}
		if len(notes) > 0 {
			got = append(got, txtar.File{Name: "want/notes", Data: []byte(strings.Join(notes, "\n") + "\n")})
		}
		loaded := operations.Load(operations.Options{
			Endpoint: "shop", Schema: o.Schema, Files: []operations.File{{Path: "draft.yaml", Text: string(file)}},
		})
		if len(loaded.Published()) != 1 {
			t.Errorf("the draft is no operation: %s", told(loaded.Faults))
		}
		return got
	})
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
