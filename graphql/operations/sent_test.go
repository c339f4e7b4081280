package operations_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/operations"
)

// What an endpoint is sent for an annotated operation: its own text alone, with
// its name, and what an agent gives as data.
func TestWhatIsSent(t *testing.T) {
	bodies := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":{"order":null}}`))
	}))
	defer server.Close()
	client, err := graphql.NewClient(graphql.ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const document = `# secret plans
	"""Described here."""
	query GetOrder("and here" $id: ID! @mcpToolVariable(description: "which"), $more: Boolean! = false) @inContext(country: "DE") @mcpTool {
		order(id: $id) { id number @include(if: $more) } # and there
	}
	mutation Cancel @mcpTool(description: "x") { cancel(id: 1) { id } }`
	set := loadShop(t, "directive @inContext(country: String) on QUERY\n"+shop, operations.File{Path: "o.graphql", Text: document})
	if len(set.Published()) != 2 {
		t.Fatal(set.Faults)
	}
	const evil = `"){id} mutation Cancel{cancel(id:1){id}} query GetOrder{order(id:"`
	input, err := json.Marshal(map[string]any{"id": evil})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sendingTo(t, client).Call(t.Context(), set.Published()[1], input, nil); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Query, OperationName string
		Variables            map[string]string
	}
	if err := json.Unmarshal([]byte(<-bodies), &sent); err != nil {
		t.Fatal(err)
	}
	const want = `query GetOrder($id: ID!, $more: Boolean! = false) @inContext(country: "DE") {
  order(id: $id) {
    id
    number @include(if: $more)
  }
}
`
	if sent.Query != want || sent.OperationName != "GetOrder" || sent.Variables["id"] != evil {
		t.Errorf("%+v", sent)
	}
	for _, word := range []string{"mcpTool", "#", "here", "which", "mutation"} {
		if strings.Contains(sent.Query, word) {
			t.Errorf("%q is sent: %s", word, sent.Query)
		}
	}
}
