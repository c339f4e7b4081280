package operations

import (
	"bytes"
	"encoding/json"
)

// tool is one entry of tools.json.
type tool struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	OperationType Type            `json:"operationType"`
	OperationName string          `json:"operationName"`
	DocumentID    string          `json:"documentId"`
	InputSchema   json.RawMessage `json:"inputSchema"`
}

// Build writes a set down: the exact texts of its documents by their ids, and
// what it publishes. The texts are the same on every machine and for every order
// of the files.
func Build(set Set) (persistedDocuments, tools []byte) {
	list := []tool{}
	for _, o := range set.Published() {
		list = append(list, toolOf(o))
	}
	return indented(set.Documents), indented(list)
}

func toolOf(o *Operation) tool {
	return tool{o.Name, o.Description, o.Type, o.OperationName, o.ID, o.Input}
}

// ApolloManifest writes the documents of a set down in the form of Apollo's
// persisted query manifests.
func ApolloManifest(set Set) []byte {
	m := apolloManifest{Format: apolloFormat, Version: 1, Operations: []apolloOperation{}}
	written := map[string]bool{}
	for _, o := range set.Operations {
		if _, ours := set.Documents[o.ID]; ours && !written[o.ID] {
			written[o.ID] = true
			m.Operations = append(m.Operations, apolloOperation{o.ID, o.OperationName, o.Type, o.Document})
		}
	}
	return indented(m)
}

// apolloFormat names the form of a manifest that Apollo's tools publish.
const apolloFormat = "apollo-persisted-query-manifest"

type apolloManifest struct {
	Format     string            `json:"format"`
	Version    int               `json:"version"`
	Operations []apolloOperation `json:"operations"`
}

type apolloOperation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type Type   `json:"type"`
	Body string `json:"body"`
}

// indented is JSON to be read and compared, letters as they are.
func indented(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(value) // maps of strings and texts that are JSON already
	return b.Bytes()
}
