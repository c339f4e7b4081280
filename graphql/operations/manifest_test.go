package operations_test

import (
	"crypto/md5"
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/operations"
)

func TestReadManifest(t *testing.T) {
	const a, b = "query A { a }", "query B {\n  b\n}\n"
	want := map[string]string{operations.IDOf(a): a, "short": b}
	for name, text := range map[string]string{
		"map":                  fmt.Sprintf(`{%q: %q, "short": %q}`, operations.IDOf(a), a, b),
		"map with prefixes":    fmt.Sprintf(`{"sha256:%s": %q, "sha256:short": %q}`, operations.IDOf(a), a, b),
		"byte order mark":      fmt.Sprintf("\ufeff{%q: %q, \"short\": %q}", operations.IDOf(a), a, b),
		"Apollo":               fmt.Sprintf(`{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [{"id": %q, "body": %q, "name": "A", "type": "query"}, {"id": "short", "body": %q}]}`, operations.IDOf(a), a, b),
		"the same entry twice": fmt.Sprintf(`{%q: %q, "short": %q, "sha256:short": %q}`, operations.IDOf(a), a, b, b),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := operations.ReadManifest([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for name, tc := range map[string]struct{ text, fault string }{
		"empty":          {``, "neither a map of id to text nor an Apollo manifest"},
		"half written":   {`{"a": "query`, "neither a map"},
		"a list":         {`[]`, "neither a map"},
		"no text":        {`{"a": 1}`, `what stands under "a" is no text`},
		"two texts":      {`{"sha256:a": "{a}", "a": "{b}"}`, `the id "a" stands for two texts`},
		"other Apollo's": {`{"format": "apollo-persisted-query-manifest", "operations": {}}`, "as an Apollo manifest"},
		"too large":      {`{"a": "` + strings.Repeat(" ", 16<<20) + `"}`, "bytes; at most"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := operations.ReadManifest([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%v, %v; want %q", got, err, tc.fault)
			}
		})
	}
}

const shop = `
type Query { order(id: ID!): Order orders(first: Int!): [Order!]! }
type Mutation { cancel(id: ID!): Order }
type Order { id: ID! number: Int }
`

func loadShop(tb testing.TB, schemaText string, files ...operations.File) operations.Set {
	tb.Helper()
	return operations.Load(operations.Options{Endpoint: "shop", Schema: schema(tb, schemaText), Files: files})
}

// Documents of others are held to the schema, and what is worth the same goes by
// their id.
func TestManifestsOfOthers(t *testing.T) {
	const written = "query GetOrder($id: ID!) { order(id: $id) { ...Parts } } fragment Parts on Order { id number }"
	const ours = `query GetOrder($id: ID!) @mcpTool(description: "x") { order(id: $id) { ...Parts } }
		fragment Parts on Order { id, number } # the same`
	md, sha := fmt.Sprintf("%x", md5.Sum([]byte(written))), fmt.Sprintf("%x", sha1.Sum([]byte(written)))
	for name, id := range map[string]string{"Relay": md, "codegen": sha, "SHA-256": operations.IDOf(written)} {
		t.Run(name, func(t *testing.T) {
			manifest := operations.File{Path: "relay.json", Text: fmt.Sprintf("{\n  %q: %q\n}", id, written)}
			set := loadShop(t, shop, operations.File{Path: "a.graphql", Text: ours}, manifest)
			if len(set.Faults)+len(set.Warnings) > 0 || len(set.Operations) != 1 {
				t.Fatalf("%v %v", set.Faults, set.Warnings)
			}
			if o := set.Operations[0]; o.ID != id || o.Document != written || set.Documents[id] != written {
				t.Errorf("id %s, document %s", o.ID, o.Document)
			}
		})
	}
	t.Run("tampered", func(t *testing.T) {
		manifest := operations.File{Path: "m.json", Text: fmt.Sprintf("{\n  %q: %q\n}", operations.IDOf("{other}"), written)}
		o := operations.Options{Schema: schema(t, shop), Files: []operations.File{manifest, {Path: "o.graphql", Text: orders}}}
		const place, message = "m.json:2:4", "is not the hash of its text"
		if set := operations.Load(o); len(set.Faults) > 0 || len(set.Warnings) != 1 ||
			set.Warnings[0].Place.String() != place || !strings.Contains(set.Warnings[0].Message, message) {
			t.Errorf("faults %v, warnings %v", set.Faults, set.Warnings)
		} else if faults := operations.Check(set, nil); len(faults) != 1 || faults[0] != set.Warnings[0] {
			t.Errorf("the check says %v", faults)
		}
		o.Strict = true
		if set := operations.Load(o); len(set.Warnings) > 0 || len(set.Faults) != 1 ||
			set.Faults[0].Place.String() != place || !strings.Contains(set.Faults[0].Message, message) {
			t.Errorf("strict: faults %v, warnings %v", set.Faults, set.Warnings)
		}
	})
	t.Run("not valid", func(t *testing.T) {
		const text = "query Old { ordr { id } }"
		set := loadShop(t, shop, operations.File{Path: "m.json", Text: fmt.Sprintf(`{%q: %q}`, operations.IDOf(text), text)})
		if len(set.Faults) != 1 || set.Faults[0].Operation != "Old" || !strings.Contains(set.Faults[0].String(), `m.json:1:3: persisted document `) ||
			!strings.Contains(set.Faults[0].String(), `1:13: Cannot query field "ordr"`) {
			t.Errorf("%v", set.Faults)
		}
	})
	t.Run("alone", func(t *testing.T) {
		set := loadShop(t, shop, operations.File{Path: "m.json", Text: `{}`})
		if len(set.Warnings) != 1 || !strings.Contains(set.Warnings[0].Message, "no operation in them is marked @mcpTool") {
			t.Errorf("%v", set.Warnings)
		}
	})
	t.Run("no manifest", func(t *testing.T) {
		set := loadShop(t, shop, operations.File{Path: "m.json", Text: `[1]`}, operations.File{Path: "x/operations.lock.json", Text: "{}"})
		if len(set.Faults) != 1 || set.Faults[0].File != "m.json" {
			t.Errorf("%v", set.Faults)
		}
	})
}
