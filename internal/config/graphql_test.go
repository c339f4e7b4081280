package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/internal/config"
)

func TestGraphQL(t *testing.T) {
	c, err := config.Parse("f.yaml", []byte(`
graphql:
  - name: api
    url: https://api.example.com/graphql
    schema: schema.graphql
    poll: 1m
    documents: write
    explore: false
    operations: ["operations/**/*.graphql"]
    persisted: document_id
    require_test: false
    strict: true
    scalars: {Date: {type: string, format: date}}
    headers: {Authorization: "Bearer ${TOKEN}"}
    forward: [x-tenant]
    limits: {timeout: 5s, response: 512KiB, depth: 20, aliases: 40}
  - {name: plain, url: "http://127.0.0.1:4000"}
  - {name: closed, url: "http://127.0.0.1:4000", documents: none}
`), []string{"TOKEN=s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.GraphQL{
		Name: "api", URL: "https://api.example.com/graphql", Schema: "schema.graphql", Poll: time.Minute,
		Documents: config.DocumentsWrite, Explore: new(false),
		Operations: []string{"operations/**/*.graphql"}, Persisted: config.PersistedDocumentID, RequireTest: new(false), Strict: true,
		Scalars: map[string]map[string]any{"Date": {"type": "string", "format": "date"}},
		Headers: map[string]string{"Authorization": "Bearer s3cret"}, Forward: []string{"x-tenant"},
		Limits: config.GraphQLLimits{Timeout: 5 * time.Second, Response: 512 << 10, Depth: 20, Aliases: 40},
	}
	if diff := cmp.Diff(want, c.GraphQL[0].WithDefaults()); diff != "" {
		t.Errorf("endpoint differs (-want +got):\n%s", diff)
	}
	plain := c.GraphQL[1].WithDefaults()
	if plain.Schema != config.Introspect || plain.Poll != config.DefaultPoll || plain.Documents != config.DocumentsRead || !*plain.Explore ||
		plain.Persisted != config.PersistedText || !*plain.RequireTest {
		t.Errorf("defaults %+v", plain)
	}
	if *c.GraphQL[2].WithDefaults().Explore {
		t.Error("a schema can be explored where documents is none and nothing else is said")
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if shown := string(text); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "response: 512KiB") {
		t.Errorf("printed as\n%s", shown)
	}
}

func TestGraphQLFaults(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte(`graphql:
  - name: Api
    url: ftp://api.example.com
    schema: https://api.example.com/schema
    poll: 1ms
    documents: all
    headers: {"Content-Type": a, "b c": d}
    forward: [Host, mcp-session-id, "x y"]
    limits: {timeout: 1h, depth: -1, aliases: 100000}
    operations: [x, "[/a.graphql"]
    persisted: hash
    scalars: {"a b": {}}
  - {name: b, url: "https://u:p@h/", limits: {response: 2MB}}
  - {name: b}
  - {name: c, url: "https://h/", fields: [x]}
max_operations: 0
`), nil)
	got := strings.Join(faultsOf(t, err), "\n")
	for _, want := range []string{
		`f.yaml:2:11: graphql[0].name: must be`,
		`f.yaml:3:10: graphql[0].url: must be an http or https URL`,
		`graphql[0].schema: must be introspect or the path`,
		`graphql[0].poll: must be 1s or more`,
		`graphql[0].documents: must be none or read or write`,
		`graphql[0].headers: Content-Type is set by docseek itself`,
		`graphql[0].headers: "b c" is no valid header`,
		`graphql[0].forward[0]: Host belongs to one connection`,
		`graphql[0].forward[1]: mcp-session-id belongs to one connection or to MCP`,
		`graphql[0].forward[2]: "x y" is no name of a header`,
		`graphql[0].limits.timeout: must be between`,
		`graphql[0].limits.depth: must be 0 (the default) to 200`,
		`graphql[0].limits.aliases: must be`,
		`graphql[1].url: must not hold a user or password`,
		`graphql[1].limits.response: `,
		`graphql[2].name: "b" is already the name of graphql[1]`,
		`graphql[2].url: is missing`,
		`graphql[3].fields: unknown field`,
		`f.yaml:10:18: graphql[0].operations[0]: must end in .graphql`,
		`graphql[0].operations[1]: is no glob`,
		`graphql[0].persisted: must be text or document_id or extension`,
		`graphql[0].scalars: "a b" is no name of a scalar`,
		`f.yaml:16:17: max_operations: must be 1 to 1000`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no fault %q in\n%s", want, got)
		}
	}
}

// A caller's bearer token is sent on only where it is not docseek's own.
func TestForwardAuthorization(t *testing.T) {
	const text = `graphql: [{name: a, url: "https://a.example/", forward: [x-tenant, AUTHORIZATION]}]
server: {auth: {tokens_file: %s}}
`
	if _, err := config.Parse("f.yaml", fmt.Appendf(nil, text, `""`), nil); err != nil {
		t.Error(err)
	}
	_, err := config.Parse("f.yaml", fmt.Appendf(nil, text, "tokens.yaml"), nil)
	if got := strings.Join(faultsOf(t, err), "\n"); !strings.Contains(got, "f.yaml:1:68: graphql[0].forward[1]: authorization holds the token for docseek itself") {
		t.Errorf("faults %s", got)
	}
}
