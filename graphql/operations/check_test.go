package operations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
)

const orders = `query GetOrder($id: ID!) @mcpTool(description: "One order.") { order(id: $id) { id } }
query Hidden @mcpTool(exclude: true) { orders(first: 1) { id } }
mutation Cancel($id: ID!) @mcpTool(description: "Cancels.") { cancel(id: $id) { id number } }
`

func messages(faults []operations.Fault) []string {
	all := []string{}
	for _, f := range faults {
		all = append(all, f.String())
	}
	return all
}

func TestBuildIsWhatCheckWants(t *testing.T) {
	set := loadShop(t, shop, operations.File{Path: "o.graphql", Text: orders})
	documents, tools := operations.Build(set)
	apollo := operations.ApolloManifest(set)
	faults := operations.Check(set, []operations.File{
		{Path: "persisted-documents.json", Text: string(documents)}, {Path: "tools.json", Text: string(tools)}, {Path: "apollo.json", Text: string(apollo)},
	})
	if len(faults) > 0 {
		t.Error(faults)
	}
	for _, text := range [][]byte{documents, apollo} {
		read, err := operations.ReadManifest(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set.Documents, read); diff != "" || len(read) != 3 {
			t.Errorf("what is written is not what is read (-set +read):\n%s", diff)
		}
	}
	want := `    {
      "id": "` + set.Operations[1].ID + `",
      "name": "GetOrder",
      "type": "query",
      "body": "query GetOrder($id: ID!) {\n  order(id: $id) {\n    id\n  }\n}\n"
    },`
	if !strings.HasPrefix(string(apollo), "{\n  \"format\": \"apollo-persisted-query-manifest\",\n  \"version\": 1,\n  \"operations\": [\n") || !strings.Contains(string(apollo), want) {
		t.Errorf("the manifest is\n%s", apollo)
	}
}

// The sources, the schema or the files that were built have changed.
func TestCheckFindsDrift(t *testing.T) {
	before := loadShop(t, shop, operations.File{Path: "o.graphql", Text: orders})
	documents, tools := operations.Build(before)
	built := []operations.File{{Path: "docs.json", Text: string(documents)}, {Path: "tools.json", Text: string(tools)}}
	hidden := before.Operations[2]
	cancel := before.Operations[0]
	for name, tc := range map[string]struct {
		schema, source string
		built          []operations.File
		want           []string
	}{
		"another description": {shop, strings.Replace(orders, "One order.", "An order.", 1), built, []string{
			"o.graphql:1:1: the tool get_order is another one in tools.json: run docseek operations build",
		}},
		"another document": {shop, strings.Replace(orders, "{ orders(first: 1)", "{ orders(first: 2)", 1), built, []string{
			"docs.json:4:4: the document " + hidden.ID + " is that of no operation any more: run docseek operations build",
			"o.graphql:2:1: the document of the operation is not in docs.json: run docseek operations build",
		}},
		"one more": {shop, orders + `query More @mcpTool(description: "x") { orders(first: 3) { id } }`, built, []string{
			"o.graphql:4:1: the document of the operation is not in docs.json: run docseek operations build",
			"o.graphql:4:1: the tool more is not in tools.json: run docseek operations build",
		}},
		"one less": {shop, strings.Replace(orders, "@mcpTool(description: \"One order.\")", "", 1), built[1:], []string{
			"tools.json:22:14: the tool get_order is that of no operation any more: run docseek operations build",
		}},
		"another schema": {strings.Replace(shop, "number: Int", "no: Int", 1), orders, built, []string{
			"docs.json:3:4: persisted document " + cancel.ID[:12] + `…: 4:5: Cannot query field "number" on type "Order". Nearest: no, id.`,
			`o.graphql:3:84: Cannot query field "number" on type "Order". Nearest: no, id.`,
		}},
		"no description": {shop, strings.Replace(orders, `(description: "Cancels.")`, "", 1), built, []string{
			"o.graphql:3:1: the tool has no description: set description in @mcpTool",
		}},
		"tampered": {shop, orders, []operations.File{{Path: "docs.json", Text: strings.Replace(string(documents), "first: 1", "first: 9", 1)}}, []string{
			"docs.json:4:4: the text of " + hidden.ID + " is not the one it is the hash of: run docseek operations build",
		}},
		"half written": {shop, orders, []operations.File{{Path: "docs.json", Text: string(documents[:40])}, {Path: "tools.json", Text: string(tools[:40])}}, []string{
			"docs.json: read persisted documents: it is neither a map of id to text nor an Apollo manifest: unexpected end of JSON input: run docseek operations build",
			"tools.json: it is no list of tools: unexpected end of JSON input: run docseek operations build",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			set := loadShop(t, tc.schema, operations.File{Path: "o.graphql", Text: tc.source})
			if diff := cmp.Diff(tc.want, messages(operations.Check(set, tc.built))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What is broken takes nothing else with it.
func TestOneBrokenAmongTen(t *testing.T) {
	var text strings.Builder
	for i := range 10 {
		field := "id"
		if i == 4 {
			field = "nope"
		}
		fmt.Fprintf(&text, "query Get%d($id: ID!) @mcpTool(description: \"x\") { order(id: $id) { %s } }\n", i, field)
	}
	set := loadShop(t, shop, operations.File{Path: "o.graphql", Text: text.String()})
	if len(set.Published()) != 9 || len(set.Documents) != 9 || len(set.Operations) != 10 || len(set.Faults) != 1 {
		t.Fatalf("%d published, %d documents, %d operations, %v", len(set.Published()), len(set.Documents), len(set.Operations), set.Faults)
	}
	if f := set.Faults[0]; f.Line != 5 || f.Operation != "Get4" || set.Operations[4].Withheld != f.Message {
		t.Errorf("%v, withheld because of %q", f, set.Operations[4].Withheld)
	}
}

func TestWithoutSchema(t *testing.T) {
	set := operations.Load(operations.Options{Endpoint: "shop", Files: []operations.File{{Path: "o.graphql", Text: orders}}})
	if len(set.Published()) > 0 || len(set.Faults) != 3 || !strings.Contains(set.Faults[0].Message, "schema of the endpoint shop is not known") {
		t.Errorf("%v", set.Faults)
	}
}

// Two loads in a row know nothing of one another.
func TestLoadAgain(t *testing.T) {
	o := operations.Options{Endpoint: "shop", Schema: schema(t, shop), Files: []operations.File{{Path: "o.graphql", Text: orders}}}
	first := show(operations.Load(o))
	if diff := cmp.Diff(first, show(operations.Load(o))); diff != "" {
		t.Error(diff)
	}
	o.Reserved = []string{"cancel"}
	if set := operations.Load(o); len(set.Published()) != 1 {
		t.Errorf("%v", set.Faults)
	}
	o.Reserved, o.MaxName = nil, 6
	if set := operations.Load(o); len(set.Published()) != 1 || !strings.Contains(fmt.Sprint(set.Faults), `"get_order" has 9 characters; at most 6`) {
		t.Errorf("%v", set.Faults)
	}
}

// A checkout with other line ends and an editor's byte order mark build the same.
func TestBuildIsTheSameEverywhere(t *testing.T) {
	const text = "# one\n" + `query GetOrder(
		"""
		Which
		  one.
		"""
		$id: ID! = """
		a
		  b
		"""
	) @mcpTool(description: """
		One order,
		by its number.
		""") {
		order(id: $id) { ...Parts }
	}
	fragment Parts on Order {
		id, number
	}
`
	documents, tools := operations.Build(loadShop(t, shop, operations.File{Path: "a.graphql", Text: text}))
	if !strings.Contains(string(tools), `"One order,\nby its number."`) || strings.Contains(string(documents)+string(tools), `\r`) {
		t.Errorf("%s\n%s", documents, tools)
	}
	for name, other := range map[string]string{
		"CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "CR": strings.ReplaceAll(text, "\n", "\r"), "byte order mark": "\ufeff" + text,
	} {
		t.Run(name, func(t *testing.T) {
			d, o := operations.Build(loadShop(t, shop, operations.File{Path: "a.graphql", Text: other}))
			if diff := cmp.Diff(string(documents), string(d)); diff != "" {
				t.Errorf("documents:\n%s", diff)
			}
			if diff := cmp.Diff(string(tools), string(o)); diff != "" {
				t.Errorf("tools:\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	many := make([]operations.File, 10_001)
	for i := range many {
		many[i] = operations.File{Path: fmt.Sprintf("%05d.graphql", i)}
	}
	deep := operations.File{Path: "o.graphql", Text: orders}
	for name, tc := range map[string]struct {
		o    operations.Options
		want string
	}{
		"depth":       {operations.Options{Limits: execute.Limits{Depth: 1}, Files: []operations.File{deep}}, "o.graphql:1:1: query GetOrder has 2 levels of fields, fragments included; at most 1 are allowed"},
		"bytes":       {operations.Options{Files: []operations.File{{Path: "large.gql", Text: strings.Repeat(" ", 1<<20+1)}}}, "large.gql: the file has 1048577 bytes; at most 1048576 are read"},
		"tokens":      {operations.Options{Files: []operations.File{{Path: "many.gql", Text: strings.Repeat("{a}", 40_000)}}}, "many.gql: exceeded token limit of 100000"},
		"files":       {operations.Options{Files: many}, "10000.graphql: more than 10000 files are not read"},
		"nesting":     {operations.Options{Files: []operations.File{{Path: "deep.gql", Text: "query A @mcpTool " + strings.Repeat("{a", 45_000)}}}, "deep.gql"},
		"description": {operations.Options{Files: []operations.File{{Path: "long.gql", Text: `query A @mcpTool(description: "` + strings.Repeat("é", 513) + `") { orders(first: 1) { id } }`}}}, "long.gql:1:1: the description has 1026 bytes; at most 1024 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Schema = schema(t, shop)
			set := operations.Load(tc.o)
			if len(set.Published()) > 0 || len(set.Faults) == 0 || !strings.HasPrefix(set.Faults[0].String(), tc.want) {
				t.Errorf("%v, want %s", messages(set.Faults), tc.want)
			}
		})
	}
	t.Run("input", func(t *testing.T) {
		var types strings.Builder
		for i := range 300 {
			fmt.Fprintf(&types, "input T%d { self: T%d next: T%d\n", i, i, (i+1)%300)
			for j := range 80 {
				fmt.Fprintf(&types, "a%d: Int\n", j)
			}
			types.WriteString("}\n")
		}
		set := loadShop(t, types.String()+"type Query { x(t: T0): Int }", operations.File{Path: "x.graphql", Text: `query X($t: T0) @mcpTool(description: "x") { x(t: $t) }`})
		if len(set.Faults) != 1 || !strings.Contains(set.Faults[0].Message, "at most 1048576 are allowed: give the operation plain variables") {
			t.Errorf("%v", messages(set.Faults))
		}
	})
}
