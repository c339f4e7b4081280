package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/docseek/docseek/graphql"
)

var errTransient = errors.New("the endpoint may answer later")

// transient reports whether a query may get an answer when it is sent again,
// and how long the endpoint asks to wait. An endpoint that says it is asked too
// much is left alone.
func transient(ctx context.Context, r graphql.Response, failure error) (again bool, after time.Duration) {
	if ctx.Err() != nil {
		return false, 0
	}
	code, after := r.Status, r.RetryAfter
	if failure != nil {
		call, ok := errors.AsType[*graphql.CallError](failure)
		switch {
		case !ok, errors.Is(failure, graphql.ErrTooLarge), errors.Is(failure, graphql.ErrIncremental),
			errors.Is(failure, context.DeadlineExceeded):
			return false, 0
		case call.Status == 0:
			return true, 0
		}
		code, after = call.Status, call.RetryAfter
	}
	return code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout, after
}

func status(r graphql.Response, failure error) int {
	if call, ok := errors.AsType[*graphql.CallError](failure); ok {
		return call.Status
	}
	return r.Status
}

// explain turns a call that gave no answer into an [*Error].
func explain(ctx context.Context, mutation bool, failure error) error {
	call, ok := errors.AsType[*graphql.CallError](failure)
	switch {
	case !ok && ctx.Err() == nil:
		return fmt.Errorf("send the request: %w", failure)
	case !ok:
		return &Error{Kind: Unreachable, Message: "the endpoint did not answer in time: ask for less, or try again later", Err: failure}
	}
	e := &Error{Kind: Unanswered, Message: failure.Error(), RetryAfter: call.RetryAfter, Err: failure}
	refused := call.Status >= 300 && call.Status < 500 && call.Status != http.StatusRequestTimeout
	switch {
	case mutation && call.Sent && !refused:
		e.Kind = Unknown
		e.Message = "outcome unknown: the mutation was sent and its answer is lost (" + failure.Error() +
			"). It may have been executed: look at what it changes before sending it again"
	case mutation && !call.Sent:
		e.Kind = Unreachable
		e.Message = failure.Error() + " (the mutation was not sent)"
	case call.Status == 0 || call.Status == http.StatusBadGateway || call.Status == http.StatusServiceUnavailable || call.Status == http.StatusGatewayTimeout:
		if !errors.Is(failure, graphql.ErrTooLarge) {
			e.Kind = Unreachable
		}
	case call.Status == http.StatusTooManyRequests:
		e.Message = rateLimited(call.RetryAfter) + " (" + failure.Error() + ")"
	}
	return e
}

// answerOf is an endpoint's answer for the caller.
func answerOf(r graphql.Response) Answer {
	a := Answer{Data: r.Data, Errors: make([]Fault, 0, len(r.Errors)), Sent: true}
	throttled := r.Status == http.StatusTooManyRequests
	for _, e := range r.Errors {
		f := Fault{Message: Cut(e.Message, maxMessage), Path: e.Path, Code: Cut(e.Code(), 80), Extensions: kept(e.Extensions)}
		if len(e.Locations) > 0 {
			f.Line, f.Column = e.Locations[0].Line, e.Locations[0].Column
		}
		switch strings.ToUpper(f.Code) {
		case "THROTTLED", "RATE_LIMITED", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS":
			throttled = true
		}
		a.Errors = append(a.Errors, f)
	}
	a.Errors = shorten(a.Errors)
	if len(r.Errors) == 0 && r.Status >= 400 {
		a.Errors = append(a.Errors, Fault{Message: fmt.Sprintf("the endpoint answered with HTTP status %d", r.Status)})
	}
	switch {
	case throttled:
		a.Hint = rateLimited(max(r.RetryAfter, costWait(r.Extensions)))
	case a.Failed() && a.Data != nil:
		a.Hint = "The data is partial: fields that failed are null."
	}
	return a
}

func rateLimited(wait time.Duration) string {
	if wait <= 0 {
		return "rate limited: this is transient; wait before calling again, or ask for less"
	}
	return fmt.Sprintf("rate limited: this is transient; call again in %d s, or ask for less", int(math.Ceil(wait.Seconds())))
}

// costWait is how long it takes until an endpoint that counts the cost of a
// query, in the form that Shopify's APIs made known, allows this one.
func costWait(extensions json.RawMessage) time.Duration {
	var e struct {
		Cost struct {
			Requested float64 `json:"requestedQueryCost"`
			Throttle  struct {
				Available float64 `json:"currentlyAvailable"`
				Rate      float64 `json:"restoreRate"`
			} `json:"throttleStatus"`
		} `json:"cost"`
	}
	if json.Unmarshal(extensions, &e) != nil || e.Cost.Throttle.Rate <= 0 {
		return 0
	}
	seconds := math.Ceil((e.Cost.Requested - e.Cost.Throttle.Available) / e.Cost.Throttle.Rate)
	return time.Duration(min(max(seconds, 0), (24*time.Hour).Seconds())) * time.Second
}

// kept is what is shown of an error's extensions: not the code, which stands by
// itself, nor what servers leave in for their developers.
func kept(extensions json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(extensions, &members) != nil {
		return nil
	}
	for _, name := range []string{"code", "stacktrace", "exception", "debug", "debugMessage", "trace"} {
		delete(members, name)
	}
	if len(members) == 0 {
		return nil
	}
	encoded, err := Encode(members)
	if err != nil || len(encoded) > maxExtensions {
		return nil
	}
	return encoded
}
