package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// Persisted says what is sent for an operation.
type Persisted string

// What can be sent for an operation.
const (
	// SendText sends the document's text.
	SendText Persisted = "text"
	// SendDocumentID sends the document's id as documentId.
	SendDocumentID Persisted = "document_id"
	// SendExtension sends the document's id as extensions.persistedQuery.
	SendExtension Persisted = "extension"
)

// AuthProfile are credentials for one host.
type AuthProfile struct {
	// Host is the only one that the credentials are sent to, with its port where
	// it is not the scheme's own.
	Host string
	// Credentials are the headers to send; it is called for each call.
	Credentials func() (http.Header, error)
}

// RunnerOptions configure a runner.
type RunnerOptions struct {
	// Caller sends requests to the endpoint. It is needed.
	Caller execute.Caller
	// URL is the endpoint's address, to whose host auth profiles are bound.
	URL string
	// Persisted says what is sent; empty means the text.
	Persisted Persisted
	// AuthProfiles are the credentials that operations may name.
	AuthProfiles map[string]AuthProfile
	Limits       execute.Limits
	// Tries is how often a query is sent at most; 0 means the default of
	// [execute.Options]. A mutation is sent once.
	Tries int
	// Log is needed.
	Log *slog.Logger
}

// Runner calls the operations of one endpoint. Its methods may be called
// concurrently.
type Runner struct {
	options  RunnerOptions
	executor *execute.Executor
}

// NewRunner makes a runner.
func NewRunner(o RunnerOptions) (*Runner, error) {
	switch o.Persisted {
	case "":
		o.Persisted = SendText
	case SendText, SendDocumentID, SendExtension:
	default:
		return nil, fmt.Errorf("make a runner: there is no setting persisted: %s; use text, document_id or extension", o.Persisted)
	}
	if o.Caller == nil || o.Log == nil {
		return nil, errors.New("make a runner: Caller and Log are needed")
	}
	executor, err := execute.New(execute.Options{Caller: o.Caller, Limits: o.Limits, Tries: o.Tries, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return &Runner{options: o, executor: executor}, nil
}

// Call runs an operation: it holds the arguments to the operation's input, maps
// them to variables, sends the request, and maps the answer. header is sent with
// it; of a caller's headers, only those that may be sent on belong in it.
//
// Arguments that do not fit and answers that are failures come back as a result.
// The error is an [*execute.Error] where nothing came back, or the context's.
func (r *Runner) Call(ctx context.Context, op *Operation, input json.RawMessage, header http.Header) (Result, error) {
	variables, faults := op.variables(input)
	if len(faults) > 0 {
		return Result{State: Failed, Errors: faults, Hint: "Nothing was sent: correct the arguments and call again."}, nil
	}
	request := graphql.Request{Query: op.Document, OperationName: op.OperationName, Variables: variables, Header: header.Clone()}
	answer, err := r.executor.Send(ctx, op.Type == Mutation, request)
	if err != nil {
		return Result{Sent: &request}, err
	}
	result := op.mapping.result(answer)
	result.Sent = &request
	return result, nil
}
