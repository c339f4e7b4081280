package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/demo/api"
)

// TestServeGraphQL runs the server as an agent does, on an API and without any
// documentation, and uses it. On SIGHUP it looks at the schema again.
func TestServeGraphQL(t *testing.T) {
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	introspected := make(chan struct{}, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), "__schema") {
			introspected <- struct{}{}
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		demo.ServeHTTP(w, r)
	}))
	defer web.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// testscript runs the command that the program is called by.
	server := exec.CommandContext(t.Context(), self)
	server.Args = []string{"docseek", "--data-dir", t.TempDir(), "serve", "--stdio", "--graphql", web.URL}
	server.Env = append(os.Environ(), "NO_PROXY=127.0.0.1")
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	call := func(tool, arguments string) string {
		t.Helper()
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("the server ended: %v", lines.Err())
		}
		var answer struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil || len(answer.Result.Content) == 0 {
			t.Fatalf("answer %s: %v", lines.Bytes(), err)
		}
		return answer.Result.Content[0].Text
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"); err != nil || !lines.Scan() {
		t.Fatalf("initialize: %v %v", err, lines.Err())
	}
	if got := call("search_graphql_schema", `{"terms":["iban"]}`); !strings.Contains(got, "Query.accounts.iban") {
		t.Errorf("search: %s", got)
	}
	if got := call("execute_graphql", `{"document":"{ account(id: \"acc_seller2\") { currency } }"}`); got != `{"account":{"currency":"GBP"}}`+"\n" {
		t.Errorf("execute: %s", got)
	}
	if got := call("execute_graphql", `{"document":"mutation { cancelPayout(id: 1) { __typename } }"}`); !strings.Contains(got, "only queries are allowed") {
		t.Errorf("a mutation on an endpoint that is only named: %s", got)
	}
	<-introspected
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-introspected
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("standard output has the line %q", lines.Text())
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestEndpointsOfTheCommandLine(t *testing.T) {
	configured := []config.GraphQL{{Name: "api", URL: "https://api.example.com/graphql", Documents: config.DocumentsNone}}
	for url, want := range map[string]string{
		"":                                "api",
		"https://api.example.com/graphql": "api",
		"https://other.example/graphql":   "api other.example_graphql",
	} {
		all, err := withEndpoint(configured, url)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, g := range all {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("--graphql %q: %s, want %s", url, got, want)
		}
	}
	for _, url := range []string{"ftp://a.example", "schema.graphql", "https://u:p@a.example/"} {
		if _, err := withEndpoint(nil, url); exitCode(err) != exitUsage {
			t.Errorf("--graphql %q: %v", url, err)
		}
	}
}
