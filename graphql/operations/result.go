package operations

import (
	"encoding/json"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// State says what kind of answer a call gave.
type State string

// The states of a result.
const (
	// Found is a value.
	Found State = "found"
	// Null is a null, or a list from a path that leads into a null.
	Null State = "null"
	// Empty is an empty list.
	Empty State = "empty"
	// Missing means that the response path leads to nothing in the answer.
	Missing State = "missing"
	// Failed means that the operation did not do what it is for.
	Failed State = "failed"
)

// Result is what a call of an operation gave.
type Result struct {
	State State
	// Value is what the mapping made of the answer: nil where it is missing. A
	// failure may have one too, from an answer that is partial.
	Value json.RawMessage
	// Errors say what failed. Where the error policy accepts partial answers,
	// they stand beside a result that is none.
	Errors []execute.Fault
	// Hint says what the result means for the caller; empty if there is nothing to say.
	Hint string
	// Sent is the request without credentials; nil if nothing was sent.
	Sent *graphql.Request
	// Data is all that the endpoint answered; nil if it answered none.
	Data json.RawMessage

	wrapped bool // objects stand under "result" too
}

// Failed reports whether the call is an error for the caller.
func (r Result) Failed() bool { return r.State == Failed || r.State == Missing && r.Value == nil }

// Object is the value as a tool answers it, a JSON object: what is none stands
// under "result". It is nil where there is no value.
func (r Result) Object() json.RawMessage {
	if r.Value == nil || r.Value[0] == '{' && !r.wrapped {
		return r.Value
	}
	return append(append(json.RawMessage(`{"result":`), r.Value...), '}')
}

// present is the result that an answer has.
func (o *Operation) present(a execute.Answer) Result {
	r := Result{State: Found, Value: a.Data, Errors: a.Errors, Hint: a.Hint}
	if a.Failed() {
		r.State = Failed
	}
	return r
}
