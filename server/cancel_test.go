package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
)

// initialize makes a client of the revisions before 2026-07-28 known, and
// returns its headers.
func initialize(t *testing.T, base, token string) http.Header {
	t.Helper()
	h := legacy.headers("initialize", nil)
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	got := post(t, base, h, legacy.message(t, 0, "initialize", map[string]any{"protocolVersion": string(legacy)}))
	session := got.Header.Get("Mcp-Session-Id")
	if got.Error != nil || len(session) < 26 {
		t.Fatalf("initialize: %+v, session %q", got.Error, session)
	}
	h.Set("Mcp-Session-Id", session)
	return h
}

// Two clients put a call of the same id; one notifies that it cancels its own.
func TestCancelByNotification(t *testing.T) {
	const one, other = "one", "other"
	started, ended := make(chan string, 2), make(chan error, 1)
	release := make(chan struct{})
	docs := &library{search: func(ctx context.Context, q search.Query) (search.Answer, error) {
		started <- q.Text
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
			return search.Answer{}, ctx.Err()
		case <-release:
			return search.Answer{Results: []docseek.Hit{{Text: "Answer to " + q.Text}}}, nil
		}
	}}
	base := protected(t, Options{Docs: docs}, keyring{
		one:   {Name: one, Scopes: []string{auth.DocsRead}},
		other: {Name: other, Scopes: []string{auth.DocsRead}},
	})
	mine, same, foreign := initialize(t, base, one), initialize(t, base, one), initialize(t, base, other)
	if mine.Get("Mcp-Session-Id") == same.Get("Mcp-Session-Id") {
		t.Fatal("two clients are told apart by nothing")
	}
	ask := func(h http.Header, query string) <-chan reply {
		answered := make(chan reply, 1)
		body := legacy.message(t, 1, "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": query}})
		go func() { answered <- post(t, base, h, body) }()
		<-started
		return answered
	}
	cancel := func(h http.Header, id any) {
		t.Helper()
		body := legacy.message(t, nil, "notifications/cancelled", map[string]any{"requestId": id})
		if got := post(t, base, h, body); got.Status != http.StatusAccepted {
			t.Errorf("the notification was answered with %d", got.Status)
		}
	}
	first, second := ask(mine, "first"), ask(same, "second")

	cancel(mine, 2)    // no such call
	cancel(foreign, 1) // of another caller, and of another client
	stolen := foreign.Clone()
	stolen.Set("Mcp-Session-Id", mine.Get("Mcp-Session-Id"))
	cancel(stolen, 1) // the client's id without its token
	cancel(mine, 1)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the search ended with %v", err)
	}
	if got := <-first; got.Status != http.StatusAccepted || got.Result != nil {
		t.Errorf("the cancelled call was answered %+v", got)
	}
	cancel(mine, 1) // it is over
	close(release)
	if got := <-second; !strings.Contains(string(got.Result), "Answer to second") {
		t.Errorf("the other client was answered %s", got.Result)
	}
}

// Only its own caller, with its own session, cancels a call; and no call leaves
// anything behind.
func TestCancellations(t *testing.T) {
	var c cancellations
	key := callKey{caller: "c", session: "s", id: "1"}
	first, firstDone := c.open(t.Context(), key)
	second, secondDone := c.open(t.Context(), key) // the client uses an id twice
	for _, foreign := range []callKey{{"other", "s", "1"}, {"c", "other", "1"}, {"c", "s", "2"}, {"c", "", "1"}} {
		if c.cancel(foreign); second.Err() != nil {
			t.Fatalf("%+v cancels the call %+v", foreign, key)
		}
	}
	firstDone()
	c.cancel(key)
	if first.Err() == nil || second.Err() == nil {
		t.Errorf("contexts end with %v, %v", first.Err(), second.Err())
	}
	secondDone()
	_, done := c.open(t.Context(), callKey{id: "1"})
	defer done()
	c.calls.Range(func(key, _ any) bool {
		t.Errorf("%+v is left behind", key)
		return true
	})
}

// leftClient is a response whose client has left.
type leftClient struct{ *httptest.ResponseRecorder }

func (leftClient) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Clients leave all the time: it is no error that they cannot be answered.
func TestGoneClientIsNoError(t *testing.T) {
	s, log := newServer(t, &library{search: func(ctx context.Context, _ search.Query) (search.Answer, error) {
		reportProgress(ctx, "begun")
		return search.Answer{}, nil
	}})
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		for _, meta := range []map[string]any{{}, {"progressToken": "t"}} {
			params := map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}, "_meta": meta}
			r := request(t, e.headers("tools/call", params), e.message(t, 1, "tools/call", params))
			s.Handler().ServeHTTP(leftClient{httptest.NewRecorder()}, r)
		}
	})
	got := log.String()
	if strings.Contains(got, "level=ERROR") || strings.Contains(got, "level=WARN") {
		t.Errorf("the log is %s", got)
	}
	if strings.Count(got, "the client left before its answer") < 4 || !strings.Contains(got, "broken pipe") {
		t.Errorf("the log does not say that the clients left: %s", got)
	}
}
