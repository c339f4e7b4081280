// Package execute runs GraphQL documents that somebody else wrote, an agent
// above all, against one endpoint: held to the schema before anything is sent,
// within bounds, and never a mutation where only queries are allowed.
//
// Whether an operation reads or writes is decided on the syntax tree of what is
// sent, and what is sent is only what was looked at: the selected operation
// with its fragments.
package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
)

const (
	defaultTimeout = 20 * time.Second
	defaultTries   = 3
	// defaultWait is the time before the second try; it doubles from there.
	defaultWait = 300 * time.Millisecond
	// maxExtensions is how much is kept of what an endpoint says beside an
	// error, in bytes: some send whole stack traces.
	maxExtensions = 2 << 10
)

// Policy says which documents may be executed.
type Policy string

// The policies.
const (
	None  Policy = "none"
	Read  Policy = "read"  // queries
	Write Policy = "write" // queries and mutations
)

// Caller sends one request to the endpoint; [graphql.Client] is one.
type Caller interface {
	Do(context.Context, graphql.Request) (graphql.Response, error)
}

var _ Caller = (*graphql.Client)(nil)

// Options configure an executor.
type Options struct {
	// Caller is needed.
	Caller Caller
	// Policy says which documents may be executed; empty means none.
	Policy Policy
	// NoIntrospection refuses documents that ask for the schema, and keeps
	// names that a document does not have out of the faults.
	NoIntrospection bool
	Limits          Limits
	// Tries is how often a query is sent at most; 0 means 3. A mutation is sent once.
	Tries int
	// Wait is the time before the second try, about; 0 means 300 ms.
	Wait time.Duration
	// Log receives a line per retry, never a document or a variable. It is needed.
	Log *slog.Logger
}

// Executor runs documents. Its methods may be called concurrently.
type Executor struct {
	options Options
}

// New makes an executor.
func New(o Options) (*Executor, error) {
	if o.Caller == nil || o.Log == nil {
		return nil, errors.New("make an executor: Caller and Log are needed")
	}
	switch o.Policy {
	case "":
		o.Policy = None
	case None, Read, Write:
	default:
		return nil, fmt.Errorf("make an executor: there is no policy %q; use none, read or write", o.Policy)
	}
	o.Limits = o.Limits.withDefaults()
	if o.Tries <= 0 {
		o.Tries = defaultTries
	}
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	return &Executor{options: o}, nil
}

// Validation says whether a document is valid, and if not, why.
type Validation struct {
	Valid  bool    `json:"valid"`
	Errors []Fault `json:"errors"`
	// Note says what else keeps a valid document from being executed here.
	Note string `json:"note,omitempty"`
}

// Validate holds a document to the schema and to the limits. Nothing is sent.
func (e *Executor) Validate(schema *ast.Schema, text string) Validation {
	d, faults := e.check(schema, text)
	v := Validation{Valid: len(faults) == 0, Errors: e.shown(faults)}
	if !v.Valid || e.options.Policy == None {
		return v
	}
	for _, operation := range d.tree.Operations {
		if err := e.allow(d, operation, false); err != nil {
			v.Note = err.Error()
			break
		}
	}
	return v
}

// Check holds a document to a schema and to limits.
func Check(schema *ast.Schema, text string, limits Limits) []Fault {
	d, faults := parse(text, limits.withDefaults())
	if len(faults) > 0 {
		return faults
	}
	return d.validate(schema)
}

// CheckParsed is [Check] for a document that was parsed before, perhaps put
// together of several texts. Without a schema it is held to the limits, and to
// the rules that need none: those on fragments, variables and names.
func CheckParsed(schema *ast.Schema, tree *ast.QueryDocument, limits Limits) []Fault {
	d := document{tree: tree}
	if faults := bounded(tree, limits.withDefaults()); len(faults) > 0 {
		return faults
	}
	if schema == nil {
		return d.validateAlone()
	}
	return d.validate(schema)
}

// check parses and validates.
func (e *Executor) check(schema *ast.Schema, text string) (document, []Fault) {
	d, faults := parse(text, e.options.Limits)
	if len(faults) > 0 {
		return d, faults
	}
	return d, d.validate(schema)
}

// shown are the faults as a caller may see them, never nil.
func (e *Executor) shown(faults []Fault) []Fault {
	out := make([]Fault, len(faults))
	for i, f := range faults {
		if e.options.NoIntrospection {
			f.Suggestions = nil
		}
		out[i] = f
	}
	return out
}

// Query is one execution.
type Query struct {
	// Document is the text of the document.
	Document string
	// OperationName selects the operation; it may be empty where there is one.
	OperationName string
	// Variables is a JSON object, a JSON text of one, null or nothing.
	Variables json.RawMessage
	// Header is sent with the request; of a caller's headers, only those that
	// may be sent on belong in it.
	Header http.Header
	// ReadOnly refuses mutations whatever the policy says: this caller may not.
	ReadOnly bool
}

// Answer is what an execution gave.
type Answer struct {
	// Data is the result as the endpoint sent it; nil if there is none.
	Data json.RawMessage `json:"data,omitempty"`
	// Errors is never nil. It is empty where all of the operation succeeded.
	Errors []Fault `json:"errors"`
	// Hint says what the errors mean for the caller; empty if there is nothing to say.
	Hint string `json:"hint,omitempty"`
	// Sent says that the operation went to the endpoint.
	Sent bool `json:"-"`
}

// Failed reports whether the operation did not succeed in all its parts.
func (a Answer) Failed() bool { return len(a.Errors) > 0 }

// Execute runs one operation of a document. A document or variables that are
// not valid come back as the answer's errors, with nothing sent. The error is
// an [*Error], or the context's.
func (e *Executor) Execute(ctx context.Context, schema *ast.Schema, q Query) (Answer, error) {
	if e.options.Policy == None {
		return Answer{}, refuse("documents are not executed here (documents: none)")
	}
	d, faults := parse(q.Document, e.options.Limits)
	if len(faults) == 0 {
		faults = d.rootless(schema)
	}
	if len(faults) > 0 {
		return e.invalid(faults), nil
	}
	operation, err := d.operation(q.OperationName)
	if err != nil {
		return Answer{}, err
	}
	if err := e.allow(d, operation, q.ReadOnly); err != nil {
		return Answer{}, err
	}
	if faults := d.validate(schema); len(faults) > 0 {
		return e.invalid(faults), nil
	}
	variables, faults := Coerce(schema, operation, q.Variables, nil)
	if len(faults) > 0 {
		return e.invalid(faults), nil
	}
	text, err := d.textOf(operation)
	if err != nil {
		return Answer{}, err
	}
	return e.Send(ctx, operation.Operation == ast.Mutation, graphql.Request{
		Query: text, OperationName: operation.Name, Variables: variables, Header: q.Header,
	})
}

// allow holds a document to the policy. Where only queries are allowed, no
// other operation may stand in the document at all.
func (e *Executor) allow(d document, selected *ast.OperationDefinition, readOnly bool) error {
	if readOnly || e.options.Policy == Read {
		for _, operation := range d.tree.Operations {
			switch {
			case operation.Operation != ast.Mutation:
			case e.options.Policy == Read:
				return refuse("%s is not executed: only queries are allowed here (documents: read)", title(operation))
			default:
				return refuse("%s is not executed: the caller may run queries only", title(operation))
			}
		}
	}
	for _, operation := range d.tree.Operations {
		if operation.Operation == ast.Subscription {
			return refuse("%s is not executed: a call has one answer, and subscriptions go on", title(operation))
		}
	}
	if directive := d.incremental(selected); directive != "" {
		return refuse("incremental delivery is unsupported: leave @%s out", directive)
	}
	if e.options.NoIntrospection && d.introspects(selected) {
		return refuse("the schema is not shown here: leave __schema and __type out")
	}
	return nil
}

func (e *Executor) invalid(faults []Fault) Answer {
	return Answer{Errors: e.shown(faults), Hint: "Nothing was sent: correct the document or its variables and call again."}
}

// Send sends a request that was approved otherwise: neither the policy nor a
// schema is asked. A query is sent up to Tries times while that may help, a
// mutation once. The error is an [*Error], or the context's.
func (e *Executor) Send(ctx context.Context, mutation bool, request graphql.Request) (Answer, error) {
	if size := len(request.Query) + len(request.Variables); size > e.options.Limits.Request {
		return Answer{}, refuse("the request has %d bytes; at most %d are allowed", size, e.options.Limits.Request)
	}
	ctx, cancel := context.WithTimeout(ctx, e.options.Limits.Timeout)
	defer cancel()
	if mutation {
		response, err := e.options.Caller.Do(ctx, request)
		if err != nil {
			return Answer{}, explain(ctx, true, err)
		}
		return answerOf(response), nil
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier = e.options.Wait, 2
	var last graphql.Response
	var failure error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last, failure = e.options.Caller.Do(ctx, request)
		again, after := transient(ctx, last, failure)
		switch {
		case !again:
			return struct{}{}, nil
		case after > 0:
			return struct{}{}, &backoff.RetryAfterError{Duration: after}
		default:
			return struct{}{}, errTransient
		}
	},
		backoff.WithBackOff(wait),
		backoff.WithMaxTries(uint(e.options.Tries)),
		backoff.WithMaxElapsedTime(e.options.Limits.Timeout),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			e.options.Log.LogAttrs(ctx, slog.LevelWarn, "a query will be sent again",
				slog.Duration("wait", wait), slog.Int("status", status(last, failure)), slog.Any("error", failure))
		}),
	)
	if failure != nil {
		return Answer{}, explain(ctx, false, failure)
	}
	if err != nil && ctx.Err() != nil {
		return Answer{}, explain(ctx, false, ctx.Err())
	}
	return answerOf(last), nil
}
