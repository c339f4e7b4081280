package operations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
)

// Whatever stands in a document, what is published is valid, is sent without
// marks, is the same when it is loaded again, and has an input that clients read.
func FuzzLoad(f *testing.F) {
	s := schema(f, propertyTypes+`
		directive @kept(s: String) repeatable on QUERY | FIELD | VARIABLE_DEFINITION | FRAGMENT_DEFINITION | FRAGMENT_SPREAD | INLINE_FRAGMENT
		type Query { where(w: Where, i: Int! = 1, s: [Sort!], t: String, by: By, j: JSON): Query id: ID old: Int @deprecated }
		type Mutation { set(t: String): Query }
	`)
	f.Add(`query A($w: Where = {not: {sort: DESC}}, "d" $i: Int! = 3 @mcpToolVariable(description: "n")) @mcpTool(description: "x") { where(w: $w, i: $i) { ...P } }`,
		`fragment P on Query @kept { id @include(if: true) old ... @kept(s: """a "b" \""" """) { a: id } }`)
	f.Add(`"d" mutation M($t: String, $u: [[String!]] @kept) @mcpTool { set(t: $t) { where(t: "\u00e9\"", j: {a: [1, 1.50, $u, null, E, true]}) { id } } }`, `directive @mcpTool on QUERY`)
	for _, archive := range archives(f, "load") {
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".graphql") {
				f.Add(string(file.Data), "")
			}
		}
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		o := operations.Options{Endpoint: "api", Schema: s, Files: []operations.File{{Path: "one.graphql", Text: one}, {Path: "other.gql", Text: other}}}
		set := operations.Load(o)
		o.Files[0], o.Files[1] = o.Files[1], o.Files[0]
		if diff := cmp.Diff(show(set), show(operations.Load(o))); diff != "" {
			t.Fatalf("another order of the files gives another set:\n%s", diff)
		}
		for _, op := range set.Published() {
			if op.ID != operations.IDOf(op.Document) || set.Documents[op.ID] != op.Document {
				t.Errorf("%s is not in the documents by its hash", op.Name)
			}
			if faults := execute.Check(s.AST(), op.Document, execute.Limits{}); len(faults) > 0 {
				t.Errorf("%v: %s", faults, op.Document)
			}
			text := strings.Replace(op.Document, op.OperationName, op.OperationName+` @mcpTool(description: "x")`, 1)
			if !strings.Contains(op.Document, "(") {
				again := operations.Load(operations.Options{Schema: s, Files: []operations.File{{Path: "a.graphql", Text: text}}})
				if len(again.Operations) != 1 || again.Operations[0].Document != op.Document {
					t.Errorf("%v\n%s becomes %s", again.Faults, op.Document, show(again))
				}
			}
			compiled(t, op.Input)
			var top map[string]json.RawMessage
			if err := json.Unmarshal(op.Input, &top); err != nil || string(top["type"]) != `"object"` || top["properties"] == nil {
				t.Errorf("%v: %s", err, op.Input)
			}
			for _, keyword := range []string{"oneOf", "anyOf", "allOf", "not", "enum", "$ref"} {
				if top[keyword] != nil {
					t.Errorf("%s at the top of %s", keyword, op.Input)
				}
			}
		}
	})
}

func FuzzReadManifest(f *testing.F) {
	f.Add([]byte(`{"a": "query A { a }"}`))
	f.Add([]byte(`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id": "sha256:a", "body": "{a}"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := operations.ReadManifest(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(documents)
		if err != nil {
			t.Fatal(err)
		}
		again, err := operations.ReadManifest(written)
		if err != nil || len(again) > len(documents) {
			t.Errorf("%s becomes %s: %v", text, written, err)
		}
	})
}
