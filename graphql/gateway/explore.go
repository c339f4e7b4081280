package gateway

import (
	"context"

	"github.com/docseek/docseek/graphql/schemasearch"
)

// SearchQuery asks for the fields that some words are about.
type SearchQuery struct {
	// Endpoint is a name; it may be empty where there is one.
	Endpoint string
	Terms    []string
	// MaxChars bounds the SDL; 0 means 10,000.
	MaxChars int
}

// SearchAnswer is SDL of the fields that were found, with their paths.
type SearchAnswer struct {
	Endpoint string `json:"endpoint"`
	schemasearch.Answer
}

// SearchSchema finds fields of an endpoint's schema.
func (g *Gateway) SearchSchema(ctx context.Context, q SearchQuery) (SearchAnswer, error) {
	e, err := g.find(q.Endpoint, explores, "search the schema")
	if err != nil {
		return SearchAnswer{}, err
	}
	s, err := g.explored(ctx, e)
	if err != nil {
		return SearchAnswer{}, err
	}
	return SearchAnswer{Endpoint: e.Name, Answer: s.Value.Search(q.Terms, q.MaxChars)}, nil
}

func explores(e *endpoint) bool { return e.Explore }

// InspectQuery asks for types and directives by their names.
type InspectQuery struct {
	// Endpoint is a name; it may be empty where there is one.
	Endpoint string
	Names    []string
	// MaxChars bounds the SDL; 0 means 10,000.
	MaxChars int
}

// InspectAnswer is the SDL of what was asked for.
type InspectAnswer struct {
	Endpoint string `json:"endpoint"`
	schemasearch.Inspection
}

// InspectType prints types of an endpoint's schema.
func (g *Gateway) InspectType(ctx context.Context, q InspectQuery) (InspectAnswer, error) {
	e, err := g.find(q.Endpoint, explores, "inspect types")
	if err != nil {
		return InspectAnswer{}, err
	}
	s, err := g.explored(ctx, e)
	if err != nil {
		return InspectAnswer{}, err
	}
	return InspectAnswer{Endpoint: e.Name, Inspection: s.Value.Inspect(q.Names, q.MaxChars)}, nil
}
