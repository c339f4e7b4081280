package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// fixtureEnv adds to the server that serveEnv starts what the conformance suite
// asks every server under test for: its tools, resources and prompts. They stand
// on the same handler as those for users.
const fixtureEnv = "DOCSEEK_TEST_FIXTURES"

// tokenEnv is the token that this server asks for, and the issuer that it names
// to who has none; without it, it asks for none.
const (
	tokenEnv      = "DOCSEEK_TEST_TOKEN"
	fixtureIssuer = "https://issuer.example.com"
)

// The smallest picture and sound.
const (
	fixtureImage = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	fixtureSound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func (s *Server) addFixtures() error {
	// The one that reports progress is a tool like those for users.
	s.builtin = append(s.builtin, tool{
		name: "test_tool_with_progress", title: "Progress", description: "Reports progress",
		input: schema{Type: kindObject}, output: json.RawMessage(`{"type":"object"}`),
		call: func(ctx context.Context, _ arguments) (answer, error) {
			for _, step := range []string{"begun", "half done", "done"} {
				reportProgress(ctx, step)
			}
			return answer{structured: struct{}{}, text: "done"}, nil
		},
	})
	s.addWaitingFixtures()
	if err := s.publish(); err != nil {
		return err
	}
	text := func(text string) mcp.Content { return mcp.NewTextContent(text) }
	embedded := func(uri, kind, text string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: text})
	}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {mcp.NewImageContent(fixtureImage, "image/png")},
		"test_audio_content":     {mcp.NewAudioContent(fixtureSound, "audio/wav")},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			text("Multiple content types test:"), mcp.NewImageContent(fixtureImage, "image/png"),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
		"test_error_handling": {text("This tool intentionally returns an error for testing")},
	} {
		s.showFixture(name)
		s.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription("For the conformance suite")),
			func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: content, IsError: name == "test_error_handling"}, nil
			})
	}
	s.addFixtureResources()
	s.addFixturePrompts()
	return nil
}

// addWaitingFixtures adds a tool that works until its call is cancelled, and one
// that waits until such a call was. The first says when it has begun.
func (s *Server) addWaitingFixtures() {
	cancelled := make(chan struct{}, 64)
	s.builtin = append(s.builtin, tool{
		name: "test_waiting", description: "Waits until it is cancelled",
		input: schema{Type: kindObject}, output: json.RawMessage(`{"type":"object"}`),
		call: func(ctx context.Context, _ arguments) (answer, error) {
			reportProgress(ctx, "begun")
			<-ctx.Done()
			if errors.Is(ctx.Err(), context.Canceled) {
				cancelled <- struct{}{}
			}
			return answer{}, ctx.Err()
		},
	}, tool{
		name: "test_cancelled", description: "Waits until a call of test_waiting was cancelled",
		input: schema{Type: kindObject}, output: json.RawMessage(`{"type":"object"}`),
		call: func(ctx context.Context, _ arguments) (answer, error) {
			select {
			case <-cancelled:
				return answer{structured: struct{}{}, text: "cancelled"}, nil
			case <-ctx.Done():
				return answer{}, ctx.Err()
			}
		},
	})
}

// showFixture lets callers see a tool that only the library knows.
func (s *Server) showFixture(name string) {
	all := maps.Clone(*s.tools.Load())
	all[name] = tool{name: name, description: "For the conformance suite", input: schema{Type: kindObject}}
	s.tools.Store(&all)
}

func (s *Server) addFixtureResources() {
	// Addresses of the suite's own resources are not turned away as none of a page.
	hooks := s.mcp.GetHooks()
	refusing := hooks.OnBeforeReadResource
	hooks.OnBeforeReadResource = []mcpserver.OnBeforeReadResourceFunc{func(ctx context.Context, id any, r *mcp.ReadResourceRequest) {
		for _, prefix := range []string{"test://static-", "test://template/"} {
			if strings.HasPrefix(r.Params.URI, prefix) {
				return
			}
		}
		for _, refuse := range refusing {
			refuse(ctx, id, r)
		}
	}}

	s.mcp.AddResource(mcp.NewResource("test://static-text", "static-text", mcp.WithMIMEType("text/plain")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource.",
			}}, nil
		})
	s.mcp.AddResource(mcp.NewResource("test://static-binary", "static-binary", mcp.WithMIMEType("image/png")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: fixtureImage}}, nil
		})
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: r.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id),
			}}, nil
		})
}

func (s *Server) addFixturePrompts() {
	add := func(name string, messages func(arguments map[string]string) []mcp.Content, arguments ...string) {
		options := []mcp.PromptOption{mcp.WithPromptDescription("For the conformance suite")}
		for _, argument := range arguments {
			options = append(options, mcp.WithArgument(argument, mcp.RequiredArgument()))
		}
		s.mcp.AddPrompt(mcp.NewPrompt(name, options...), func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			var result mcp.GetPromptResult
			for _, content := range messages(r.Params.Arguments) {
				result.Messages = append(result.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: content})
			}
			return &result, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", func(a map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(a map[string]string) []mcp.Content {
		return []mcp.Content{
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
			mcp.NewTextContent("Please process the embedded resource above."),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(fixtureImage, "image/png"), mcp.NewTextContent("Please analyze the image above.")}
	})
}
