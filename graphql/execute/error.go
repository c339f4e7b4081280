package execute

import (
	"fmt"
	"time"
)

// Kind says why a call has no answer.
type Kind int

// The kinds of errors.
const (
	// Refused calls were not sent: the document, the variables or the policy
	// do not allow it.
	Refused Kind = iota
	// Unreachable endpoints could not be connected to, or did not answer in time.
	Unreachable
	// Unanswered calls got something that is no GraphQL answer.
	Unanswered
	// Unknown is the outcome of a mutation that was sent and whose answer is lost.
	Unknown
)

// Error is a call that has no answer. Its text is for whoever asked: it says
// what happened and what to do, and holds no secrets.
type Error struct {
	Kind    Kind
	Message string
	// RetryAfter is how long the endpoint asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Err is the cause; nil for a refusal.
	Err error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

func refuse(format string, args ...any) *Error {
	return &Error{Kind: Refused, Message: fmt.Sprintf(format, args...)}
}
