package gateway

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/docseek/docseek/graphql/execute"
)

// maxErrorSDL is how much of the schema goes with an error, in characters.
const maxErrorSDL = 4000

// ValidateQuery asks whether a document is valid.
type ValidateQuery struct {
	// Endpoint is a name; it may be empty where there is one.
	Endpoint string
	Document string
}

// ValidateAnswer says whether a document is valid.
type ValidateAnswer struct {
	Endpoint string `json:"endpoint"`
	execute.Validation
}

// Validate holds a document to the schema of an endpoint. Nothing is sent.
func (g *Gateway) Validate(ctx context.Context, q ValidateQuery) (ValidateAnswer, error) {
	e, err := g.find(q.Endpoint, func(e *endpoint) bool { return e.Explore || executes(e) }, "validate documents")
	if err != nil {
		return ValidateAnswer{}, err
	}
	s, err := g.explored(ctx, e)
	if err != nil {
		return ValidateAnswer{}, err
	}
	return ValidateAnswer{Endpoint: e.Name, Validation: e.executor.Validate(s.Schema.AST(), q.Document)}, nil
}

func executes(e *endpoint) bool {
	return e.Documents == execute.Read || e.Documents == execute.Write
}

// ExecuteQuery is one execution of a document.
type ExecuteQuery struct {
	// Endpoint is a name; it may be empty where there is one.
	Endpoint      string
	Document      string
	OperationName string
	// Variables is a JSON object, a JSON text of one, null or nothing.
	Variables json.RawMessage
	// Header is that of the caller's request; what of it is sent on, the
	// endpoint's configuration says.
	Header http.Header
	// ReadOnly refuses mutations whatever the endpoint allows.
	ReadOnly bool
}

// ExecuteAnswer is what an execution gave.
type ExecuteAnswer struct {
	Endpoint string `json:"endpoint"`
	execute.Answer
	// SDL defines the types that the errors name, where they are about the
	// schema; it may be cut.
	SDL string `json:"sdl,omitempty"`
}

// Execute runs one operation of a document on an endpoint: see [execute.Executor.Execute].
func (g *Gateway) Execute(ctx context.Context, q ExecuteQuery) (ExecuteAnswer, error) {
	e, err := g.find(q.Endpoint, executes, "execute documents")
	if err != nil {
		return ExecuteAnswer{}, err
	}
	s, err := g.explored(ctx, e)
	if err != nil {
		return ExecuteAnswer{}, err
	}
	answer, err := e.executor.Execute(ctx, s.Schema.AST(), execute.Query{
		Document: q.Document, OperationName: q.OperationName, Variables: q.Variables, Header: e.forwarded(q.Header),
		ReadOnly: q.ReadOnly,
	})
	if err != nil {
		return ExecuteAnswer{}, err
	}
	out := ExecuteAnswer{Endpoint: e.Name, Answer: answer}
	if e.Explore && answer.Failed() && answer.Data == nil {
		if names := execute.NamesIn(s.Schema.AST(), answer.Errors); len(names) > 0 {
			out.SDL = s.Value.Inspect(names, maxErrorSDL).SDL
		}
	}
	return out, nil
}

// forwarded are the headers of a caller that the configuration names.
func (e *endpoint) forwarded(given http.Header) http.Header {
	sent := http.Header{}
	for _, name := range e.Forward {
		if values := given.Values(name); len(values) > 0 {
			sent[http.CanonicalHeaderKey(name)] = values
		}
	}
	return sent
}
