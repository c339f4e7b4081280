package embed

import "strings"

// Prefixes are what the authors of a model tell to put before a query and
// before a passage, by the model's name as servers write it ("BAAI/bge-small-en-v1.5",
// "nomic-embed-text:latest"); empty for models that want none or are not known.
func Prefixes(model string) (query, passage string) {
	const (
		represent = "Represent this sentence for searching relevant passages: "
		instruct  = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	)
	name := strings.ToLower(model)
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case (has("bge-small") || has("bge-base") || has("bge-large")) && !has("-zh"), has("mxbai-embed"):
		return represent, ""
	case has("qwen3-embedding"):
		return instruct, ""
	case has("e5-") && has("instruct"), has("gte-qwen2"):
		return instruct + " ", ""
	case has("e5-small"), has("e5-base"), has("e5-large"):
		return "query: ", "passage: "
	case has("nomic-embed-text"), has("modernbert-embed"):
		return "search_query: ", "search_document: "
	case has("arctic-embed") && (has("v2") || has("embed2")):
		return "query: ", ""
	case has("arctic-embed"):
		return represent, ""
	case has("embeddinggemma"), has("embedding-gemma"):
		return "task: search result | query: ", "title: none | text: "
	default:
		return "", ""
	}
}
