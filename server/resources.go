package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
	"github.com/docseek/docseek/server/middleware"
)

const (
	pageTemplate = "docs://{source}/{+path}"
	promptName   = "answer_from_docs"
	// maxPageBytes is the size from which a page that is read without a cursor is
	// cut.
	maxPageBytes = 256 << 10
	// maxCompletions is the protocol's bound on one completion.
	maxCompletions = 100
)

func (s *Server) addResources() {
	// mcp-go refuses an address that no template matches by itself, but leaves
	// out the address, which clients want to see.
	s.mcp.GetHooks().AddBeforeReadResource(func(ctx context.Context, _ any, request *mcp.ReadResourceRequest) {
		if _, err := parsePageAddress(request.Params.URI); err != nil {
			_ = s.refuse(ctx, mcp.MethodResourcesRead, err, map[string]any{"uri": request.Params.URI})
		}
	})
	s.mcp.AddResourceTemplate(
		mcp.NewResourceTemplate(pageTemplate, "page",
			mcp.WithTemplateTitle("Documentation page"),
			mcp.WithTemplateDescription("A page of an indexed source as Markdown: the source's name and the path of the page's URL"),
			mcp.WithTemplateMIMEType("text/markdown")),
		func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			ctx, cancel := context.WithTimeout(ctx, s.deadline)
			defer cancel()
			started, outcome := time.Now(), outcomeOK
			text, err := s.readResource(ctx, request.Params.URI)
			if err != nil {
				outcome = "failed"
			}
			s.log.LogAttrs(ctx, slog.LevelInfo, "resource read",
				slog.String("caller", auth.CallerFrom(ctx).Name), slog.String("outcome", outcome),
				slog.Duration("duration", time.Since(started)),
				slog.String("request_id", middleware.RequestIDFrom(ctx)))
			if err != nil {
				return nil, s.refuse(ctx, mcp.MethodResourcesRead, err, map[string]any{"uri": request.Params.URI})
			}
			return []mcp.ResourceContents{
				mcp.TextResourceContents{URI: request.Params.URI, MIMEType: "text/markdown", Text: text},
			}, nil
		})
}

// parsePageAddress parses docs://source/path.
func parsePageAddress(uri string) (*url.URL, error) {
	address, err := url.Parse(uri)
	if err != nil || address.Scheme != "docs" || address.Host == "" || address.Path == "" {
		return nil, &search.InputError{Message: "there is no such resource: a page is named docs://source/path"}
	}
	return address, nil
}

// readResource reads the page that an address names.
func (s *Server) readResource(ctx context.Context, uri string) (string, error) {
	address, err := parsePageAddress(uri)
	if err != nil {
		return "", err
	}
	read, err := readWhole(ctx, s.docs, search.ReadQuery{
		URL:    (&url.URL{Path: address.Path, RawPath: address.RawPath, RawQuery: address.RawQuery}).String(),
		Source: address.Host,
	})
	return read.Text, err
}

// readWhole reads a page or section to its end, within maxPageBytes.
func readWhole(ctx context.Context, docs Docs, query search.ReadQuery) (search.Reading, error) {
	query.MaxChars = search.MaxMaxChars
	whole, err := docs.Read(ctx, query)
	if err != nil {
		return search.Reading{}, err
	}
	var text strings.Builder
	text.WriteString(whole.Text)
	for query.Cursor = whole.NextCursor; query.Cursor != ""; {
		if text.Len() >= maxPageBytes {
			text.WriteString("\n\n(The page goes on: read_docs reads it in parts.)\n")
			break
		}
		part, err := docs.Read(ctx, query)
		if err != nil {
			return search.Reading{}, err
		}
		text.WriteString(part.Text)
		query.Cursor = part.NextCursor
	}
	whole.Text = text.String()
	return whole, nil
}

func (s *Server) addPrompt() {
	s.mcp.AddPrompt(
		mcp.NewPrompt(promptName,
			mcp.WithPromptTitle("Answer from the documentation"),
			mcp.WithPromptDescription("Answer a question from the indexed documentation, with citations"),
			mcp.WithArgument("question", mcp.ArgumentDescription("What to answer"), mcp.RequiredArgument()),
			mcp.WithArgument("source", mcp.ArgumentDescription("Source to look in; all when left out"))),
		func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			question := strings.TrimSpace(request.Params.Arguments["question"])
			if question == "" {
				return nil, s.refuse(ctx, mcp.MethodPromptsGet, &search.InputError{Message: "question is missing: it must be a string"}, nil)
			}
			where := "the indexed documentation"
			if source := strings.TrimSpace(request.Params.Arguments["source"]); source != "" {
				where = fmt.Sprintf("the documentation source %q", source)
			}
			return mcp.NewGetPromptResult("Answer from "+where, []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(fmt.Sprintf(
					"Answer the question below from %s. Search with search_docs, more than once if needed, and read whole pages with read_docs "+
						"where a passage is not enough. Cite the URL of every passage you rely on. If the documentation does not "+
						"answer it, say so.\n\nQuestion: %s", where, question))),
			}), nil
		})
}

// completions complete the names of sources.
type completions struct{ s *Server }

// CompletePromptArgument completes the prompt's source argument.
func (c completions) CompletePromptArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, argument)
}

// CompleteResourceArgument completes the resource template's source variable.
func (c completions) CompleteResourceArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, argument)
}

func (c completions) complete(ctx context.Context, argument mcp.CompleteArgument) (*mcp.Completion, error) {
	completion := &mcp.Completion{Values: []string{}}
	if argument.Name != "source" {
		return completion, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.deadline)
	defer cancel()
	listed, err := c.s.docs.List(ctx, search.ListQuery{})
	if err != nil {
		return nil, c.s.refuse(ctx, mcp.MethodCompletionComplete, err, nil)
	}
	for _, source := range listed.Sources {
		if strings.HasPrefix(source.Name, argument.Value) {
			completion.Values = append(completion.Values, source.Name)
		}
	}
	slices.Sort(completion.Values)
	completion.Total = len(completion.Values)
	if completion.HasMore = completion.Total > maxCompletions; completion.HasMore {
		completion.Values = completion.Values[:maxCompletions]
	}
	return completion, nil
}

// refusal is the JSON-RPC error that a request shall be answered with. mcp-go
// answers every error of a resource, prompt or completion with -32603, so the
// handler leaves the right one here and the transport puts it in place.
type refusal struct {
	code    int
	message string
	data    any
	set     bool
}

type refusalKey struct{}

// withRefusal gives the context of one request a place for its refusal.
func withRefusal(ctx context.Context) (context.Context, *refusal) {
	r := &refusal{}
	return context.WithValue(ctx, refusalKey{}, r), r
}

// refuse leaves the refusal for an error and returns it as an error.
func (s *Server) refuse(ctx context.Context, method mcp.MCPMethod, err error, data any) error {
	_, sentence := s.explain(ctx, string(method), err)
	var input *search.InputError
	code := mcp.INTERNAL_ERROR
	if errors.As(err, &input) || errors.Is(err, search.ErrNotFound) {
		code = mcp.INVALID_PARAMS
		// The only input of a read is the address. Before 2026-07-28 a wrong one
		// had a code of its own.
		if method == mcp.MethodResourcesRead && !mcpserver.IsModernRequest(ctx) {
			code = mcp.RESOURCE_NOT_FOUND
		}
	}
	if r, ok := ctx.Value(refusalKey{}).(*refusal); ok {
		*r = refusal{code: code, message: sentence, data: data, set: true}
	}
	return errors.New(sentence)
}

// response is the JSON-RPC error message of the refusal.
func (r *refusal) response(id any) mcp.JSONRPCError {
	return mcp.NewJSONRPCError(mcp.NewRequestId(id), r.code, r.message, r.data)
}
