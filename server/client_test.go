package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
)

// connected is a Go client that speaks the revisions of an era.
func connected(t *testing.T, e era, base string, headers map[string]string) *client.Client {
	t.Helper()
	way, err := transport.NewStreamableHTTP(base+"/mcp", transport.WithHTTPHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(way, client.WithProtocolVersion(string(e)))
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: string(e), ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
	}}); err != nil {
		t.Fatal(err)
	}
	if got := c.ProtocolVersion(); got != string(e) {
		t.Fatalf("the client speaks %s", got)
	}
	return c
}

func toolCall(name string, args map[string]any) mcp.CallToolRequest {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = name, args
	return request
}

// structured calls a tool, which has to succeed, and decodes its answer.
func structured[T any](t *testing.T, c *client.Client, name string, args map[string]any) (decoded T) {
	t.Helper()
	got, err := c.CallTool(t.Context(), toolCall(name, args))
	if err != nil || got.IsError {
		t.Fatalf("%s(%v): %+v, error %v", name, args, got, err)
	}
	encoded, err := json.Marshal(got.StructuredContent)
	if err == nil {
		err = json.Unmarshal(encoded, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// The client of mcp-go lists, calls, pages and cancels, with a token.
func TestGoClient(t *testing.T) {
	docs, started, ended := waiting()
	base := protected(t, Options{Docs: docs}, keyring{"reader": {Name: "reader", Scopes: []string{auth.DocsRead}}})
	eachEra(t, func(t *testing.T, e era) {
		t.Helper()
		c := connected(t, e, base, map[string]string{"Authorization": "Bearer reader"})
		var names []string
		for tool, err := range c.IterTools(t.Context(), mcp.ListToolsRequest{}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		if want := []string{"list_docs", "read_docs", "search_docs"}; !slices.Equal(names, want) {
			t.Errorf("the tools are %q, want %q", names, want)
		}

		type pages struct {
			Pages      []struct{ URL string }
			NextCursor string `json:"next_cursor"`
		}
		first := structured[pages](t, c, "list_docs", map[string]any{"source": "docs"})
		second := structured[pages](t, c, "list_docs", map[string]any{"source": "docs", "cursor": first.NextCursor})
		if len(first.Pages) != 1 || first.Pages[0].URL != guidePage || len(second.Pages) != 1 || second.Pages[0].URL != limitsPage || second.NextCursor != "" {
			t.Errorf("the pages are %+v and %+v", first, second)
		}

		templates, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{})
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Fatalf("templates %+v, error %v", templates, err)
		}
		completed, err := c.Complete(t.Context(), mcp.CompleteRequest{Params: mcp.CompleteParams{
			Ref:      mcp.ResourceReference{Type: "ref/resource", URI: templates.ResourceTemplates[0].URITemplate.Raw()},
			Argument: mcp.CompleteArgument{Name: "source", Value: "do"},
		}})
		if err != nil || !slices.Equal(completed.Completion.Values, []string{"docs"}) {
			t.Errorf("completed to %+v, error %v", completed, err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if got, err := c.CallTool(ctx, toolCall("search_docs", map[string]any{"query": "x"})); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %+v, error %v", got, err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the search ended with %v", err)
		}
		structured[pages](t, c, "list_docs", map[string]any{"source": "docs"}) // the client goes on
	})

	way, err := transport.NewStreamableHTTP(base + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	stranger := client.NewClient(way)
	defer stranger.Close()
	if err := stranger.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: string(legacy)}})
	if _, refused := errors.AsType[*transport.AuthorizationRequiredError](err); !refused {
		t.Errorf("without a token: %v", err)
	}
}

// On stdio every note comes before the answer, however busy the machine is.
func TestProgressOnStdio(t *testing.T) {
	s, _ := newServer(t, &library{search: func(ctx context.Context, _ search.Query) (search.Answer, error) {
		reportProgress(ctx, "begun")
		reportProgress(ctx, "nearly there")
		return search.Answer{}, nil
	}})
	var in, out bytes.Buffer
	for id := range 50 {
		in.Write(append(modern.message(t, id, "tools/call", map[string]any{
			"name": "search_docs", "arguments": map[string]any{"query": "x"}, "_meta": map[string]any{"progressToken": id},
		}), '\n'))
	}
	if err := s.ServeStdio(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	notes := map[int]int{}
	for line := range bytes.Lines(out.Bytes()) {
		var message struct {
			ID     *int
			Params struct{ ProgressToken, Progress int }
		}
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatal(err)
		}
		if message.ID == nil {
			notes[message.Params.ProgressToken]++
		} else if got := notes[*message.ID]; got != 2 {
			t.Errorf("call %d was answered after %d notes of 2", *message.ID, got)
		}
	}
	if len(notes) != 50 {
		t.Errorf("%d calls of 50 had notes", len(notes))
	}
}
