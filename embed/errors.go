package embed

import (
	"fmt"
	"strings"
	"time"
)

// Error is why an embedder gave no vectors.
type Error struct {
	// Op is what was tried: "embed 32 texts with NAME at URL".
	Op string
	// Status is the HTTP status of the answer; 0 where there was none.
	Status int
	// Temporary means that the same request may succeed later.
	Temporary bool
	// RetryAfter is how long the other side asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// TooLarge means that the batch, or a single text of it, is more than the
	// model takes: a smaller batch may succeed.
	TooLarge bool
	// Hint is the remedy, for people; empty if there is none.
	Hint string
	// Err is what went wrong.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (")
		b.WriteString(e.Hint)
		b.WriteByte(')')
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Unreachable reports whether the other side cannot be had now, rather than
// having refused: it gives no answer, or one to come again.
func (e *Error) Unreachable() bool { return e.Temporary || e.Status == 0 }

// TextError is a text that the model gives no vector of, whatever stands beside it.
type TextError struct {
	// Index is the text's place in the call.
	Index int
	Err   error
}

func (e *TextError) Error() string { return fmt.Sprintf("text %d: %v", e.Index, e.Err) }

func (e *TextError) Unwrap() error { return e.Err }

// VectorError is an embedder that broke its contract.
type VectorError struct {
	// Fingerprint is the embedder's.
	Fingerprint string
	Problem     string
}

func (e *VectorError) Error() string {
	return fmt.Sprintf("the embedder %s gave %s", e.Fingerprint, e.Problem)
}
