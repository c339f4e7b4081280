package execute_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

const schemaText = `
"The ways to sort."
enum Sort { ASC DESC NEWEST_FIRST }
scalar Decimal
scalar JSON
input By @oneOf { id: ID email: String }
input Range { from: Int! = 0 to: Int }
input Where { and: [Where!] name: String sort: Sort range: Range tags: [String!] }
interface Node { id: ID! }
type Account implements Node { id: ID! iban: String! balance: Decimal owner: Person friends(first: Int): [Account!]! }
type Person implements Node { id: ID! name: String email: String }
union Party = Account | Person
type Query {
  account(id: ID!): Account
  accounts(where: Where, sort: Sort = ASC, first: Int, ratio: Float): [Account!]!
  by(by: By!): Party
  echo(json: JSON, long: Decimal, flag: Boolean, ids: [[ID!]!]): String
}
type Mutation { createAccount(name: String!): Account deleteAccount(id: ID!): Boolean }
type Subscription { accountChanged: Account }
`

func load(tb testing.TB, text string) *ast.Schema {
	tb.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: text})
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// request is what reached the upstream.
type request struct {
	Query         string          `json:"query"`
	OperationName *string         `json:"operationName"`
	Variables     json.RawMessage `json:"variables"`
	Header        http.Header     `json:"-"`
}

// upstream is a GraphQL endpoint that records what it is sent.
type upstream struct {
	*httptest.Server
	mu  sync.Mutex
	got []request
}

func (u *upstream) requests() []request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]request(nil), u.got...)
}

// serve starts an endpoint whose nth request, from 1, is answered by answer.
func serve(tb testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *upstream {
	tb.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Error(err)
		}
		one := request{Header: r.Header}
		if err := json.Unmarshal(body, &one); err != nil {
			tb.Errorf("the upstream got %q: %v", body, err)
		}
		u.mu.Lock()
		u.got = append(u.got, one)
		n := len(u.got)
		u.mu.Unlock()
		answer(w, r, n)
	}))
	tb.Cleanup(u.Close)
	return u
}

func reply(status int, body string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func executor(tb testing.TB, address string, change func(*execute.Options)) *execute.Executor {
	tb.Helper()
	client, err := graphql.NewClient(graphql.ClientOptions{URL: address})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	o := execute.Options{Caller: client, Policy: execute.Read, Wait: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	e, err := execute.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func write(o *execute.Options) { o.Policy = execute.Write }

// asError holds an error to a kind and a text, and gives how long it asks to wait.
func asError(t *testing.T, err error, kind execute.Kind, contains string) (retryAfter time.Duration) {
	t.Helper()
	e, ok := errors.AsType[*execute.Error](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Error(), contains) {
		t.Fatalf("error %v (%T), want kind %d with %q", err, err, kind, contains)
	}
	return e.RetryAfter
}

func TestExecuteSendsWhatWasLookedAt(t *testing.T) {
	u := serve(t, reply(200, `{"data":{"account":{"iban":"DE89"}},"errors":[]}`))
	e := executor(t, u.URL, nil)
	document := "\ufeff# a comment\n\"\"\"Described\"\"\"\nquery A(\"the id\" $id: ID! = \"x\", \"b\" $first: Int) { account(id: $id) { ...F friends(first: $first) { id } } }\n" +
		"query B { accounts { id } }\nfragment G on Account { id }\nfragment F on Account { iban # why\n }\nfragment H on Account { ...G }\nquery C { accounts { ...H } }"
	answer, err := e.Execute(t.Context(), load(t, schemaText), execute.Query{Document: document, OperationName: "A", Variables: json.RawMessage(`{"id":42}`)})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Failed() || string(answer.Data) != `{"account":{"iban":"DE89"}}` {
		t.Errorf("answer %+v", answer)
	}
	got := u.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	want := "\n\nquery A(         $id: ID! = \"x\"      $first: Int) { account(id: $id) { ...F friends(first: $first) { id } } }\n" +
		"\n\nfragment F on Account { iban\n }"
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), strings.TrimLeft(got[0].Query, " \n")); diff != "" {
		t.Errorf("document sent (-want +got):\n%s", diff)
	}
	if before, _, _ := strings.Cut(got[0].Query, "query"); strings.Count(before, "\n") != 2 {
		t.Errorf("the operation stands elsewhere than it did: %q", got[0].Query)
	}
	if got[0].OperationName == nil || *got[0].OperationName != "A" {
		t.Errorf("operationName %v", got[0].OperationName)
	}
	if string(got[0].Variables) != `{"id":"42"}` {
		t.Errorf("variables %s", got[0].Variables)
	}
}

func TestMutationsAreSentOnce(t *testing.T) {
	const mutation = `mutation M { deleteAccount(id: "1") }`
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, n int)
		kind   execute.Kind
		text   string
	}{
		"bad gateway": {reply(502, "<h1>Bad gateway</h1>"), execute.Unknown, "outcome unknown"},
		"hung up": {func(_ http.ResponseWriter, _ *http.Request, _ int) {
			panic(http.ErrAbortHandler)
		}, execute.Unknown, "outcome unknown"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data":`)
		}, execute.Unknown, "outcome unknown"},
		"not a GraphQL answer": {reply(200, `"done"`), execute.Unknown, "outcome unknown"},
		"forbidden":            {reply(403, "no"), execute.Unanswered, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, tc.answer)
			_, err := executor(t, u.URL, write).Execute(t.Context(), load(t, schemaText), execute.Query{Document: mutation})
			asError(t, err, tc.kind, tc.text)
			if n := len(u.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		u := serve(t, nil)
		u.Close()
		_, err := executor(t, u.URL, write).Execute(t.Context(), load(t, schemaText), execute.Query{Document: mutation})
		asError(t, err, execute.Unreachable, "the mutation was not sent")
	})
}

func TestQueriesAreSentAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		fails []int
		want  int
		ok    bool
	}{
		"once":            {[]int{502}, 2, true},
		"twice":           {[]int{503, 504}, 3, true},
		"always":          {[]int{502, 502, 502, 502}, 3, false},
		"not a 500":       {[]int{500}, 1, false},
		"not a 404":       {[]int{404}, 1, false},
		"not a 429":       {[]int{429}, 1, false},
		"nothing to mend": {nil, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if n <= len(tc.fails) {
					reply(tc.fails[n-1], "down")(w, r, n)
					return
				}
				reply(200, `{"data":{"accounts":[]}}`)(w, r, n)
			})
			answer, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: `{accounts{id}}`})
			if n := len(u.requests()); n != tc.want {
				t.Errorf("%d requests, want %d", n, tc.want)
			}
			if ok := err == nil && !answer.Failed(); ok != tc.ok {
				t.Errorf("answer %+v, error %v", answer, err)
			}
			if !tc.ok && !strings.Contains(fmt.Sprint(err), strconv.Itoa(tc.fails[0])) {
				t.Errorf("the error does not say the status: %v", err)
			}
		})
	}
}

// Go's HTTP library sends a request with an idempotency key again by itself
// when a connection that was used before breaks; not so here.
func TestIdempotencyKeyIsNoLeaveToRepeat(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			reply(200, `{"data":{"accounts":[]}}`)(w, r, n)
			return
		}
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = connection.Close()
	})
	e, schema := executor(t, u.URL, write), load(t, schemaText)
	if _, err := e.Execute(t.Context(), schema, execute.Query{Document: `{ accounts { id } }`}); err != nil {
		t.Fatal(err)
	}
	_, err := e.Execute(t.Context(), schema, execute.Query{
		Document: `mutation { deleteAccount(id: "1") }`, Header: http.Header{"Idempotency-Key": {"k"}},
	})
	asError(t, err, execute.Unknown, "outcome unknown")
	if n := len(u.requests()); n != 2 {
		t.Errorf("the mutation was sent %d times", n-1)
	}
}
