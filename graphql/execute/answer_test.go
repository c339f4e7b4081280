package execute_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   execute.Answer
	}{
		"data": {200, `{"data":{"a":1},"errors":[]}`, execute.Answer{Data: json.RawMessage(`{"a":1}`), Errors: []execute.Fault{}}},
		"errors are null": {200, `{"data":{"a":1},"errors":null}`, execute.Answer{
			Data: json.RawMessage(`{"a":1}`), Errors: []execute.Fault{},
		}},
		"digits stay": {200, `{"data":{"a":9007199254740993,"b":9223372036854775807,"c":0.1000000000000000055,"d":1.0}}`, execute.Answer{
			Data: json.RawMessage(`{"a":9007199254740993,"b":9223372036854775807,"c":0.1000000000000000055,"d":1.0}`), Errors: []execute.Fault{},
		}},
		"errors in a 200": {200, `{"errors":[{"message":"x","path":["a",0],"locations":[{"line":2,"column":3}],"extensions":{"code":"BAD","stacktrace":["at f"],"why":1.50}}]}`, execute.Answer{
			Errors: []execute.Fault{{
				Message: "x", Line: 2, Column: 3, Path: []any{"a", json.Number("0")}, Code: "BAD", Extensions: json.RawMessage(`{"why":1.50}`),
			}},
		}},
		"partial": {200, `{"data":{"a":1,"b":null},"errors":[{"message":"b failed","path":["b"]}]}`, execute.Answer{
			Data:   json.RawMessage(`{"a":1,"b":null}`),
			Errors: []execute.Fault{{Message: "b failed", Path: []any{"b"}}},
			Hint:   "The data is partial: fields that failed are null.",
		}},
		"a GraphQL answer in a 400": {400, `{"errors":[{"message":"depth limit of 8 exceeded"}]}`, execute.Answer{
			Errors: []execute.Fault{{Message: "depth limit of 8 exceeded"}},
		}},
		"a status without a reason": {500, `{"data":{"accounts":null},"errors":[]}`, execute.Answer{
			Data:   json.RawMessage(`{"accounts":null}`),
			Errors: []execute.Fault{{Message: "the endpoint answered with HTTP status 500"}},
			Hint:   "The data is partial: fields that failed are null.",
		}},
		"cost": {200, `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":502,"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":402,"restoreRate":50}}}}`, execute.Answer{
			Errors: []execute.Fault{{Message: "Throttled", Code: "THROTTLED"}},
			Hint:   "rate limited: this is transient; call again in 2 s, or ask for less",
		}},
		"throttled, until when is not said": {200, `{"errors":[{"message":"slow down","extensions":{"code":"RATE_LIMITED"}}]}`, execute.Answer{
			Errors: []execute.Fault{{Message: "slow down", Code: "RATE_LIMITED"}},
			Hint:   "rate limited: this is transient; wait before calling again, or ask for less",
		}},
		"stack traces": {200, `{"errors":[{"message":"x","extensions":{"detail":"` + strings.Repeat("y", 4000) + `"}}]}`, execute.Answer{
			Errors: []execute.Fault{{Message: "x"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, reply(tc.status, tc.body))
			got, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: `{ accounts { id } }`})
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Sent = true
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if n := len(u.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestManyErrors(t *testing.T) {
	u := serve(t, reply(200, `{"errors":[`+strings.TrimSuffix(strings.Repeat(`{"message":"`+strings.Repeat("z", 5000)+`"},`, 300), ",")+`]}`))
	got, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: `{ accounts { id } }`})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(got)
	if err != nil || len(got.Errors) != 21 || len(encoded) > 20_000 {
		t.Errorf("%d errors in %d bytes", len(got.Errors), len(encoded))
	}
}

func TestNoAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request, int)
		kind   execute.Kind
		want   string
	}{
		"a page":       {reply(200, "<html>Log in</html>"), execute.Unanswered, "Log in"},
		"unauthorized": {reply(401, "no token"), execute.Unanswered, "401"},
		"asked too much": {func(w http.ResponseWriter, r *http.Request, n int) {
			w.Header().Set("Retry-After", "7")
			reply(429, "slow down")(w, r, n)
		}, execute.Unanswered, "call again in 7 s"},
		"in parts": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", "multipart/mixed; boundary=-")
			_, _ = io.WriteString(w, "---\r\n\r\n{}\r\n-----")
		}, execute.Unanswered, "incremental delivery is unsupported"},
		"too large": {reply(200, `{"data":"`+strings.Repeat("x", 3<<20)+`"}`), execute.Unanswered, "too large"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, "https://other.example/graphql?token=s3cret", http.StatusTemporaryRedirect)
		}, execute.Unreachable, "redirects to https://other.example/graphql"},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, tc.answer)
			_, err := executor(t, u.URL, func(o *execute.Options) { o.Tries = 1 }).Execute(t.Context(), load(t, schemaText), execute.Query{Document: `{ accounts { id } }`})
			asError(t, err, tc.kind, tc.want)
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
}

// A call that is given up is given up upstream too.
func TestCancel(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	u := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := executor(t, u.URL, nil).Execute(ctx, load(t, schemaText), execute.Query{Document: `{ accounts { id } }`})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-gone
	if n := len(u.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestTimeout(t *testing.T) {
	u := serve(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	for _, document := range []string{`{ accounts { id } }`, `mutation { deleteAccount(id: "1") }`} {
		before := len(u.requests())
		e := executor(t, u.URL, func(o *execute.Options) {
			o.Policy = execute.Write
			o.Limits.Timeout = 50 * time.Millisecond
		})
		_, err := e.Execute(t.Context(), load(t, schemaText), execute.Query{Document: document})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if strings.HasPrefix(document, "mutation") {
			asError(t, err, execute.Unknown, "outcome unknown")
		} else {
			asError(t, err, execute.Unreachable, "")
		}
		if n := len(u.requests()) - before; n != 1 {
			t.Errorf("%d requests", n)
		}
	}
}

// An endpoint that asks for more patience than a call has is not waited for.
func TestRetryAfterTooLong(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Retry-After", "3600")
		reply(503, "down for the night")(w, r, n)
	})
	_, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: `{ accounts { id } }`})
	if after := asError(t, err, execute.Unreachable, "down for the night"); after != time.Hour {
		t.Errorf("retry after %s", after)
	}
	if n := len(u.requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestDefer(t *testing.T) {
	schema := load(t, schemaText+` directive @defer(if: Boolean, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT directive @live on FIELD`)
	u := serve(t, reply(200, `{"data":{}}`))
	_, err := executor(t, u.URL, nil).Execute(t.Context(), schema, execute.Query{Document: `{ accounts { ... @defer { id } } }`})
	asError(t, err, execute.Refused, "leave @defer out")
	answer, err := executor(t, u.URL, nil).Execute(t.Context(), schema, execute.Query{Document: `{ accounts { id @live @include(if: true) } }`})
	if err != nil || answer.Failed() {
		t.Fatalf("%+v %v", answer, err)
	}
	if got := u.requests()[0].Query; got != `{ accounts { id @live @include(if: true) } }` {
		t.Errorf("sent %s", got)
	}
}

var _ execute.Caller = (*graphql.Client)(nil)
