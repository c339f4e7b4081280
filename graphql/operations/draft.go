package operations

import (
	"errors"

	"github.com/docseek/docseek/graphql"
)

// DraftOptions say what an operation file is drafted from.
type DraftOptions struct {
	// Query is a document with one operation.
	Query string
	// Name is the tool's name; empty means that of the operation in snake_case.
	Name string
	// Endpoint is the name of the API.
	Endpoint string
	// Schema says what the query takes and gives; nil where none is known.
	Schema *graphql.Schema
	// Sample is an answer of the endpoint to the query, or its data; empty
	// means none.
	Sample []byte
}

// Draft writes a first operation file for a query, and notes on what to look at
// before it is used. What only the sample says is marked in it as unconfirmed:
// the schema has the last word.
func Draft(DraftOptions) (file []byte, notes []string, err error) {
	return nil, nil, errors.New("draft an operation file: not possible yet")
}
