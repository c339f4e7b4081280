package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
)

// talk sends lines to a stdio server, closes its input, and returns the answers by id.
func talk(t *testing.T, s *Server, lines ...string) map[any]reply {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	return replies(t, out.Bytes())
}

// replies reads a stream in which every line must be a JSON-RPC message.
func replies(t *testing.T, out []byte) map[any]reply {
	t.Helper()
	byID := map[any]reply{}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		t.Errorf("the last line is not whole: %q", out)
	}
	for line := range bytes.Lines(out) {
		var r struct {
			reply
			JSONRPC string `json:"jsonrpc"`
		}
		if err := json.Unmarshal(line, &r); err != nil || r.JSONRPC != "2.0" {
			t.Errorf("%q is no JSON-RPC message: %v", line, err)
		}
		byID[r.ID] = r.reply
	}
	return byID
}

// A client may write all its requests and close the stream: it is answered.
func TestStdioAnswersEverythingBeforeItEnds(t *testing.T) {
	s, _ := newServer(t, &library{})
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		got := talk(t, s,
			string(legacy.message(t, 0, "initialize", map[string]any{"protocolVersion": "2025-11-25"})),
			string(legacy.message(t, nil, "notifications/initialized", nil)),
			"",
			string(e.message(t, 1, "tools/list", nil)),
			string(e.message(t, "two", "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"q": "limits"}})),
			string(e.message(t, 3, "resources/read", map[string]any{"uri": "docs://docs/guide/limits"})),
			string(e.message(t, 4, "resources/read", map[string]any{"uri": "docs://docs/missing"})),
			string(e.message(t, 5, "no/such/method", nil)),
			`[{"jsonrpc":"2.0","id":8,"method":"ping"}]`, `{"jsonrpc":"2.0","id":6,"result":{}}`,
			string(e.message(t, 7, "tools/call", map[string]any{"name": "list_docs"})), // no line end
		)
		for id, want := range map[any]string{
			0.0: `"protocolVersion":"2025-11-25"`, 1.0: `"search_docs"`, "two": "Answer to limits", 3.0: "Second half.", 7.0: `"drafts"`,
		} {
			if got[id].Error != nil || !strings.Contains(string(got[id].Result), want) {
				t.Errorf("request %v: %s, %+v", id, got[id].Result, got[id].Error)
			}
		}
		missing := map[era]int{legacy: -32002, modern: -32602}[e]
		for id, code := range map[any]int{4.0: missing, 5.0: -32601, nil: -32600} {
			if got[id].Error == nil || got[id].Error.Code != code {
				t.Errorf("request %v: %+v, want %d", id, got[id].Error, code)
			}
		}
		if len(got) != 8 {
			t.Errorf("%d answers, want 8", len(got))
		}
	})
}

func TestStdioSaysWhatIsNoMessage(t *testing.T) {
	s, _ := newServer(t, &library{})
	for _, line := range []string{"not JSON", `"text"`, `{"jsonrpc":"2.0",`, "\x00\xff"} {
		got := talk(t, s, line, string(legacy.message(t, 2, "ping", nil)))
		if got[nil].Error == nil || got[nil].Error.Code != -32700 || got[2.0].Error != nil || len(got) != 2 {
			t.Errorf("%q: %+v", line, got)
		}
	}
	got := talk(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_docs","_meta":7}}`)
	if len(got) != 1 || got[1.0].Error == nil {
		t.Errorf("a request with a broken _meta: %+v", got)
	}
}

func TestStdioDiscover(t *testing.T) {
	s, _ := newServer(t, &library{})
	got := talk(t, s, string(modern.message(t, 1, "server/discover", nil)))[1.0]
	var result struct {
		ResultType        string
		SupportedVersions []string
		TTLMs             *int
	}
	if err := json.Unmarshal(got.Result, &result); err != nil {
		t.Fatal(err)
	}
	if result.ResultType != "complete" || result.TTLMs == nil || result.SupportedVersions[0] != "2026-07-28" {
		t.Errorf("discover: %s", got.Result)
	}
}

func TestStdioSkipsWhatIsTooLong(t *testing.T) {
	s, _ := newServer(t, &library{})
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 2*maxMessageBytes) + `"}}`
	got := talk(t, s, long, string(legacy.message(t, 2, "ping", nil)), long)
	if got[nil].Error == nil || got[nil].Error.Message != "the message is larger than 1 MiB" {
		t.Errorf("the long line: %+v", got[nil].Error)
	}
	if _, ok := got[1.0]; ok || got[2.0].Error != nil || len(got) != 2 {
		t.Errorf("answers %v", got)
	}
}

// On a pair of streams there is one client: it may cancel what it asked for.
func TestStdioCancel(t *testing.T) {
	docs, started, ended := waiting()
	s, _ := newServer(t, docs)
	toServer, in := io.Pipe()
	var out bytes.Buffer
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), toServer, &out) }()
	write := func(message []byte) {
		t.Helper()
		if _, err := in.Write(append(message, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	write(legacy.message(t, 1, "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}}))
	<-started
	write(legacy.message(t, nil, "notifications/cancelled", map[string]any{"requestId": 1}))
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the search ended with %v", err)
	}
	in.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	docs, started, ended := waiting()
	s, _ := newServer(t, docs)
	ctx, stop := context.WithCancel(t.Context())
	toServer, in := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(ctx, toServer, io.Discard) }()
	message := legacy.message(t, 1, "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}})
	if _, err := in.Write(append(message, '\n')); err != nil {
		t.Fatal(err)
	}
	<-started
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the search ended with %v", err)
	}
	if err := <-served; !errors.Is(err, context.Canceled) {
		t.Errorf("ServeStdio returned %v", err)
	}
	in.Close() // frees the read that was left behind
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStdioEndsWhenNobodyReads(t *testing.T) {
	s, _ := newServer(t, &library{})
	toServer, in := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), toServer, brokenPipe{}) }()
	if _, err := in.Write(append(legacy.message(t, 1, "ping", nil), '\n')); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ServeStdio returned %v", err)
	}
	in.Close()
}

// A client that neither reads nor goes away does not keep the process alive.
func TestStdioEndsThoughItsClientIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Docs: &library{}, Log: discard()})
		if err != nil {
			t.Fatal(err)
		}
		for end, want := range map[string]error{"context": context.Canceled, "input": nil} {
			ctx, stop := context.WithCancel(t.Context())
			toServer, in := io.Pipe()
			out, fromServer := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.ServeStdio(ctx, toServer, fromServer) }()
			if _, err := in.Write(append(legacy.message(t, 1, "ping", nil), '\n')); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the answer is being written, and nobody reads it
			start := time.Now()
			if end == "context" {
				stop()
			} else {
				in.Close()
			}
			if err := <-served; !errors.Is(err, want) {
				t.Errorf("%s: ServeStdio returned %v", end, err)
			}
			if took := time.Since(start); took > s.deadline+2*drainTimeout {
				t.Errorf("%s: it took %v", end, took)
			}
			stop()
			in.Close()
			out.Close()
		}
	})
}

func TestStdioReportsAFailedRead(t *testing.T) {
	s, _ := newServer(t, &library{})
	in := io.MultiReader(strings.NewReader("\n"), failingReader{})
	if err := s.ServeStdio(t.Context(), in, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ServeStdio returned %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A call that blows up outside a tool is answered, and the others go on.
func TestStdioPanic(t *testing.T) {
	docs := &library{list: func(context.Context, search.ListQuery) (search.Listing, error) { panic("secret") }}
	s, log := newServer(t, docs)
	got := talk(t, s,
		string(modern.message(t, 1, "completion/complete", map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": promptName}, "argument": map[string]any{"name": "source", "value": ""},
		})),
		string(modern.message(t, 2, "tools/list", nil)))
	if got[1.0].Error == nil || got[1.0].Error.Code != -32603 || strings.Contains(got[1.0].Error.Message, "secret") {
		t.Errorf("the panic was answered %+v", got[1.0].Error)
	}
	if got[2.0].Error != nil || !strings.Contains(log.String(), "secret") {
		t.Errorf("afterwards %+v, log %s", got[2.0].Error, log)
	}
}

// serveEnv makes the test binary a server of a small library instead of running
// the tests: on an address, or on "stdio". scripts/conformance can be run
// against it, too.
const serveEnv = "DOCSEEK_TEST_SERVE"

// In a process of its own, with a log at its most talkative and a tool that
// panics, nothing but the protocol comes out on stdout.
func TestStdoutCarriesNothingElse(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), serveEnv+"=stdio")
	var log bytes.Buffer
	command.Stderr = &log
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for i, message := range [][]byte{
		legacy.message(t, 1, "initialize", map[string]any{"protocolVersion": "2025-06-18"}),
		modern.message(t, 2, "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "panic"}}),
		modern.message(t, 3, "tools/call", map[string]any{"name": "search_docs", "arguments": map[string]any{"query": "x"}}),
	} {
		if _, err := in.Write(append(message, '\n')); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	in.Close()
	got, err := io.ReadAll(bufio.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	answers := replies(t, got)
	if len(answers) != 3 || !strings.Contains(string(answers[2.0].Result), "internal error") || !strings.Contains(string(answers[3.0].Result), "Answer to x") {
		t.Errorf("answers: %s", got)
	}
	if !strings.Contains(log.String(), "panic in a tool") {
		t.Errorf("the log on stderr is %s", &log)
	}
}

// serveLibrary is what the process does that serveEnv starts.
func serveLibrary(where string) error {
	docs := &library{}
	docs.search = func(ctx context.Context, q search.Query) (search.Answer, error) {
		if q.Text == "panic" {
			panic("as asked")
		}
		return (&library{}).Search(ctx, q)
	}
	opts := Options{Docs: docs, Log: talkative(os.Stderr)}
	if token := os.Getenv(tokenEnv); token != "" {
		opts.PublicURL = "http://" + where
		opts.Access = Access{
			Verifiers: []auth.Verifier{keyring{token: {Name: "client", Scopes: auth.ReadScopes()}}},
			Issuers:   []string{fixtureIssuer},
		}
	}
	s, err := New(opts)
	if err != nil {
		return err
	}
	if os.Getenv(fixtureEnv) != "" {
		if err := s.addFixtures(); err != nil {
			return err
		}
	}
	if where == "stdio" {
		return s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	}
	listener, err := net.Listen("tcp", where)
	if err != nil {
		return err
	}
	return s.Serve(context.Background(), listener)
}
