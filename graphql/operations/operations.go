// Package operations makes tools of fixed GraphQL operations that a team has
// approved: annotated operation documents and operation files. An agent can call
// exactly these, each with a typed input, and no text of the agent's ever becomes
// part of a document.
package operations

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/docseek/docseek/graphql/execute"
)

// Kind says what an operation was written as.
type Kind string

// The kinds of operations.
const (
	// Annotated operations stand in an operation document, marked @mcpTool.
	Annotated Kind = "annotated"
	// Mapped operations are operation files, with input and response mapping.
	Mapped Kind = "file"
)

// Type is what an operation does to the data.
type Type string

// The types of operations that can be published.
const (
	Query    Type = "query"
	Mutation Type = "mutation"
)

// Place is where something was written. Line and Column count from 1 and are 0
// where only the file is known.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Fault is one thing that keeps an operation from being published.
type Fault struct {
	Place
	// Operation is the name of the operation or of the tool; empty where the
	// fault is the file's.
	Operation string `json:"operation,omitempty"`
	Message   string `json:"message"`
}

func (f Fault) String() string { return f.Place.String() + ": " + f.Message }

// Operation is one fixed query or mutation and the tool that it becomes. It is
// immutable.
type Operation struct {
	// Name is the tool's name.
	Name        string
	Description string
	Kind        Kind
	// Endpoint is the name of the API it is for.
	Endpoint string
	Type     Type
	// OperationName is the name inside the document.
	OperationName string
	// Document is the exact text that is sent.
	Document string
	// ID is the SHA-256 of Document in lower-case hexadecimal digits, or what the
	// manifest calls it that the document is from.
	ID string
	// Input is the JSON Schema of the tool's arguments: an object that is closed.
	Input json.RawMessage
	// Output is the JSON Schema of the result; nil where none is published.
	Output json.RawMessage
	// Place is where the operation is written.
	Place Place
	// Revision is that of an operation file, see Revision; empty for annotated ones.
	Revision string
	// Tested says that the present revision stands in the lock.
	Tested bool
	// Withheld is why the operation is no tool; empty where it is published.
	Withheld string
	// AuthProfile is the name of the credentials that it is called with; empty
	// means those of the endpoint.
	AuthProfile string

	// variables turns arguments into the variables to send, or says why not.
	variables func(input json.RawMessage) (json.RawMessage, []execute.Fault)
	// headers are sent with each call.
	headers http.Header
	mapping mapping
}
