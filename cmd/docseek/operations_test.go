package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/graphql/operations"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// connected is an MCP client of the server at $ADDR.
func connected(ctx context.Context, ts *testscript.TestScript) *client.Client {
	c, err := client.NewStreamableHttpClient("http://" + ts.Getenv("ADDR") + "/mcp")
	ts.Check(err)
	ts.Check(c.Start(ctx))
	_, err = c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "script", Version: "1"},
	}})
	ts.Check(err)
	return c
}

// operationTools are the names of the tools that are not docseek's own, in order.
func operationTools(ctx context.Context, ts *testscript.TestScript) []string {
	c := connected(ctx, ts)
	defer c.Close()
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	ts.Check(err)
	var names []string
	for _, t := range listed.Tools {
		if !strings.HasSuffix(t.Name, "_docs") && !strings.Contains(t.Name, "graphql") {
			names = append(names, t.Name)
		}
	}
	return names
}

func cmdTools(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: tools NAME…")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	wait(ts, fmt.Sprintf("the tools never were %q", args), func() bool {
		return slices.Equal(operationTools(ctx, ts), args)
	})
}

func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3, "call FILE NAME ARGUMENTS")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := connected(ctx, ts)
	defer c.Close()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = args[1], json.RawMessage(args[2])
	got, err := c.CallTool(ctx, request)
	ts.Check(err)
	structured, err := json.Marshal(got.StructuredContent)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), structured, 0o600))
	text := ""
	if first, ok := got.Content[0].(mcp.TextContent); ok && got.IsError {
		text = first.Text
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".error"), []byte(text), 0o600))
}

// introspected answers introspection: a schema whose Query has one field.
func introspected(field string) string {
	return `{"data":{"__schema":{"queryType":{"name":"Query"},"mutationType":null,"subscriptionType":null,"directives":[],"types":[` +
		`{"kind":"SCALAR","name":"String","description":null},` +
		`{"kind":"OBJECT","name":"Query","description":null,"interfaces":[],"fields":[{"name":"` + field + `","description":null,"args":[],` +
		`"type":{"kind":"SCALAR","name":"String","ofType":null},"isDeprecated":false,"deprecationReason":null}]}]}}}`
}

// A server is told by SIGHUP that an API has a new schema, and tells its client
// of the tool that this makes possible.
func TestHangupReloads(t *testing.T) {
	var field atomic.Value
	field.Store("before")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, introspected(field.Load().(string)))
	}))
	defer web.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"docseek.yaml": `graphql: [{name: a, url: "` + web.URL + `", poll: 24h, documents: none, operations: ["*.graphql"]}]`,
		"a.graphql":    `query After @mcpTool(description: "x") { after }`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, in, out := stdioServer(t, "--config", filepath.Join(folder, "docseek.yaml"))
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	ask := func(message, until string) string {
		t.Helper()
		if message != "" {
			if _, err := io.WriteString(in, message+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		for lines.Scan() {
			if strings.Contains(lines.Text(), until) {
				return lines.Text()
			}
		}
		t.Fatalf("the server ended without %s: %v", until, lines.Err())
		return ""
	}
	const list = `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"id":1`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if got := ask(fmt.Sprintf(list, 2), `"id":2`); strings.Contains(got, `"after"`) {
		t.Errorf("the tools are %s", got)
	}
	field.Store("after")
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	ask("", "notifications/tools/list_changed")
	if got := ask(fmt.Sprintf(list, 3), `"id":3`); !strings.Contains(got, `"after"`) {
		t.Errorf("the tools are %s", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// Tests that end at the same time are all recorded.
func TestRecordsOfOneMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "order.yaml")
	var group errgroup.Group
	const tests = 20
	for i := range tests {
		group.Go(func() error {
			op := &operations.Operation{Name: fmt.Sprintf("op_%d", i)}
			return record(t.Context(), path, op, fmt.Sprintf("text %d", i), "https://api.example.com/graphql")
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), operations.LockName))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := operations.ReadLock(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tests {
		name := fmt.Sprintf("op_%d", i)
		if !lock.Tested(name, operations.Revision(fmt.Sprintf("text %d", i), "https://api.example.com/graphql", "")) {
			t.Errorf("%s is not recorded", name)
		}
	}
}
