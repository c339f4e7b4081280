package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/docseek/docseek/search"
)

// connectorLimit is how many results the connector's search gives: it shows
// addresses only, and fetch follows.
const connectorLimit = 10

// The answers that ChatGPT's connectors and its deep research ask for: one text
// item that is the JSON of the structured content (OpenAI, "Building MCP
// servers for ChatGPT").
const (
	connectorSearchOutput = `{"type":"object","properties":{"results":{"type":"array","items":{"type":"object",` +
		`"properties":{"id":{"type":"string"},"title":{"type":"string"},"url":{"type":"string"}},` +
		`"required":["id","title","url"]}}},"required":["results"]}`
	connectorFetchOutput = `{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"},` +
		`"text":{"type":"string"},"url":{"type":"string"},"metadata":{"type":"object"}},` +
		`"required":["id","title","text","url"]}`
)

type connectorResults struct {
	Results []connectorResult `json:"results"`
}

type connectorResult struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type connectorDocument struct {
	connectorResult
	Text     string            `json:"text"`
	Metadata map[string]string `json:"metadata"`
}

// connectorTools are search_docs and read_docs under the names and in the shape
// that ChatGPT's connectors need. The id of a result is its address.
func connectorTools(docs Docs) []tool {
	return []tool{{
		name:        "search",
		title:       "Search documentation",
		description: "Search the indexed product documentation. Returns the addresses of the best passages; fetch reads them.",
		input: schema{Type: kindObject, Properties: []property{
			{Name: "query", Required: true, schema: schema{Type: kindString, Description: "Question or identifiers"}},
		}},
		output: json.RawMessage(connectorSearchOutput),
		call: func(ctx context.Context, args arguments) (answer, error) {
			found, err := docs.Search(ctx, search.Query{
				Text: args.text("query"), Limit: connectorLimit, MaxChars: search.MaxMaxChars,
			})
			if err != nil {
				return answer{}, err
			}
			out := connectorResults{Results: make([]connectorResult, len(found.Results))}
			for i, hit := range found.Results {
				out.Results[i] = connectorResult{ID: hit.URL, Title: oneLine(breadcrumb(hit.Title, hit.Path)), URL: hit.URL}
			}
			return connectorAnswer(out)
		},
	}, {
		name:        "fetch",
		title:       "Read documentation page",
		description: "Read a result of search as Markdown.",
		input: schema{Type: kindObject, Properties: []property{
			{Name: "id", Required: true, schema: schema{Type: kindString, Description: "The id of a result"}, Aliases: []string{"url"}},
		}},
		output:         json.RawMessage(connectorFetchOutput),
		maxResultChars: 2 * maxPageBytes,
		call: func(ctx context.Context, args arguments) (answer, error) {
			read, err := readWhole(ctx, docs, search.ReadQuery{URL: args.text("id")})
			if err != nil {
				return answer{}, err
			}
			return connectorAnswer(connectorDocument{
				connectorResult: connectorResult{ID: args.text("id"), Title: read.Title, URL: read.URL},
				Text:            read.Text,
				Metadata:        map[string]string{"notice": notice},
			})
		},
	}}
}

func connectorAnswer(structured any) (answer, error) {
	encoded, err := json.Marshal(structured)
	if err != nil {
		return answer{}, fmt.Errorf("encode the answer: %w", err)
	}
	return answer{structured: json.RawMessage(encoded), text: string(encoded)}, nil
}
