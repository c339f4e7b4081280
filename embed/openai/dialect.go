package openai

import "strings"

// dialect is where an API departs from what OpenAI documents.
type dialect struct {
	// inputType is the field that tells a query from a passage, and query and
	// passage what it says; empty for APIs that do not ask.
	inputType, query, passage string
	// dimensions is the field that asks for shortened vectors.
	dimensions string
	// format is the encoding_format that is asked for first.
	format string
}

// Fields of a request.
const (
	fieldInputType  = "input_type"
	fieldTask       = "task"
	fieldDimensions = "dimensions"
	fieldDimension  = "output_dimension"
	fieldFormat     = "encoding_format"
)

// Values of encoding_format.
const (
	formatFloat  = "float"
	formatBase64 = "base64"
)

// dialectOf knows an API by its host, and models that want to be told what a text
// is by their name, wherever they are served:
//
//   - Voyage (docs.voyageai.com/reference/embeddings-api) refuses the format float;
//   - Cohere (docs.cohere.com/reference/embed, input_type);
//   - Jina (api.jina.ai/redoc, task), from its third models on;
//   - NVIDIA NIM (docs.nvidia.com/nim, input_type) refuses without it;
//   - Mistral (docs.mistral.ai/api, output_dimension).
func dialectOf(host, model string) dialect {
	d := dialect{dimensions: fieldDimensions, format: formatFloat}
	host, model = strings.ToLower(host), strings.ToLower(model)
	name := model[strings.LastIndexByte(model, '/')+1:]
	at := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	begins := func(prefixes ...string) bool {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case at("voyageai.com"), at("ai.mongodb.com"), begins("voyage-"):
		d.inputType, d.query, d.passage, d.format = fieldInputType, "query", "document", formatBase64
	case at("cohere.ai"), at("cohere.com"), begins("embed-v4", "embed-english-", "embed-multilingual-"):
		d.inputType, d.query, d.passage = fieldInputType, "search_query", "search_document"
	case at("jina.ai") && begins("jina-embeddings-v") && !begins("jina-embeddings-v1", "jina-embeddings-v2"):
		d.inputType, d.query, d.passage = fieldTask, "retrieval.query", "retrieval.passage"
	case at("api.nvidia.com"), strings.Contains(name, "nv-embed"):
		d.inputType, d.query, d.passage = fieldInputType, "query", "passage"
	}
	if at("voyageai.com") || at("ai.mongodb.com") || at("mistral.ai") {
		d.dimensions = fieldDimension
	}
	return d
}
