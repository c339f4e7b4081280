package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
	"github.com/docseek/docseek/server/middleware"
)

// Bounds on every tool call.
const (
	// defaultDeadline ends a call before the clients' own time-outs do (the
	// shortest known is 60 s), so that the model reads why.
	defaultDeadline = 25 * time.Second
	// maxAnswerBytes bounds the structured content and the text, each.
	maxAnswerBytes = 1 << 20
)

// tool is one MCP tool: what clients are shown and what a call does.
type tool struct {
	name        string
	title       string
	description string
	input       schema
	// output is the JSON Schema of the structured answer.
	output json.RawMessage
	// maxResultChars, where not 0, asks Claude Code to show answers up to that
	// size instead of writing them to a file.
	maxResultChars int
	// writes says that a call may change something, and openWorld that it asks
	// somebody else than this server.
	writes    bool
	openWorld bool
	call      func(context.Context, arguments) (answer, error)
	// callRaw, where not nil, is called instead of call, with the arguments as
	// they came: it holds them to inputSchema, which is shown instead of input.
	callRaw     func(context.Context, json.RawMessage) (answer, error)
	inputSchema json.RawMessage
	// endpoint is the GraphQL API that an operation's tool calls; empty for
	// other tools.
	endpoint string
	// scope is what a caller needs to see and call the tool; empty means docs:read.
	scope string
}

// answer is one result in its two forms, which hold the same facts.
type answer struct {
	// structured is nil where a call failed and the tool's output schema has no
	// room for why.
	structured any
	text       string
	// failed says that the call did what it was asked to, and what it asked
	// answered with errors. The structured form still conforms to the schema.
	failed bool
}

// registered are tools as mcp-go takes them. One that does not write answers the
// same to the same question while what it asks stays.
func (s *Server) registered(tools []tool) ([]mcpserver.ServerTool, error) {
	all := make([]mcpserver.ServerTool, len(tools))
	for i, t := range tools {
		described, err := t.described()
		if err != nil {
			return nil, err
		}
		all[i] = mcpserver.ServerTool{Tool: described, Handler: s.handler(t)}
	}
	return all, nil
}

// described is the tool as clients are shown it.
func (t tool) described() (mcp.Tool, error) {
	input := t.inputSchema
	if input == nil {
		var err error
		if input, err = t.input.MarshalJSON(); err != nil {
			return mcp.Tool{}, fmt.Errorf("encode the input schema of %s: %w", t.name, err)
		}
	}
	described := mcp.Tool{
		Name:            t.name,
		Title:           t.title,
		Description:     t.description,
		RawInputSchema:  input,
		RawOutputSchema: t.output,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint:    new(!t.writes),
			DestructiveHint: new(t.writes),
			IdempotentHint:  new(!t.writes),
			OpenWorldHint:   new(t.openWorld),
		},
	}
	if t.maxResultChars > 0 {
		described.Meta = mcp.NewMetaFromMap(map[string]any{"anthropic/maxResultSizeChars": t.maxResultChars})
	}
	return described, nil
}

// handler runs calls of the tool. Whatever goes wrong, a panic included, becomes
// a result that the model can act on; the log has the rest.
func (s *Server) handler(t tool) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		if middleware.RequestIDFrom(ctx) == "" {
			ctx = middleware.WithRequestID(ctx)
		}
		ctx, end := s.tracer.Start(s.tracer.Continue(ctx, traceContext(request)), "tools/call "+t.name,
			"mcp.method.name", string(mcp.MethodToolsCall), "gen_ai.tool.name", t.name)
		started := time.Now()
		caller := auth.CallerFrom(ctx)
		var outcome string
		defer func() {
			if p := recover(); p != nil {
				s.log.LogAttrs(ctx, slog.LevelError, "panic in a tool",
					slog.String("tool", t.name), slog.Any("panic", p),
					slog.String("request_id", middleware.RequestIDFrom(ctx)),
					slog.String("stack", string(debug.Stack())))
				outcome, result = "panic", failed(internalError(ctx))
			}
			s.metrics.Call(t.name, outcome, time.Since(started))
			end(outcome, outcome != outcomeOK)
			s.log.LogAttrs(ctx, slog.LevelInfo, "tool call",
				slog.String("caller", caller.Name), slog.String("tool", t.name), slog.String("outcome", outcome),
				slog.Duration("duration", time.Since(started)),
				slog.String("request_id", middleware.RequestIDFrom(ctx)))
		}()
		seen := t
		if own, ok := s.toolsOf(caller)[t.name]; ok && t.endpoint == "" {
			seen = own // it may name fewer endpoints
		}
		outcome, result = s.run(ctx, seen, request)
		return result, nil
	}
}

// traceContext returns what a call says of the trace it is part of: in its _meta
// on any transport (SEP-414), or in the header.
func traceContext(request mcp.CallToolRequest) func(key string) string {
	return func(key string) string {
		if meta := request.Params.Meta; meta != nil {
			if value, ok := meta.GetMetaField(key).(string); ok {
				return value
			}
		}
		return request.Header.Get(key)
	}
}

// outcomeOK is the outcome of a call that did what it was asked to.
const outcomeOK = "ok"

// run is one call: the arguments are put right and checked, the deadline is
// set, the answer bounded, and the last notification given time to leave.
func (s *Server) run(ctx context.Context, t tool, request mcp.CallToolRequest) (outcome string, _ *mcp.CallToolResult) {
	var raw any = request.Params.RawArguments
	if request.Params.RawArguments == nil {
		raw = request.Params.Arguments
	}
	call, err := t.prepare(raw)
	if err != nil {
		return "invalid", failed(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	progress := s.startProgress(ctx, request.Params.Meta)
	defer progress.stop(ctx)
	got, err := call(withCallerHeader(progress.context(ctx), request.Header))
	if err != nil {
		outcome, sentence := s.explain(ctx, t.name, err)
		return outcome, failed(sentence)
	}
	if got.structured == nil {
		return "failed", failed(got.text)
	}
	structured, err := json.Marshal(got.structured)
	if err != nil {
		outcome, sentence := s.explain(ctx, t.name, fmt.Errorf("encode the answer: %w", err))
		return outcome, failed(sentence)
	}
	if len(structured) > maxAnswerBytes || len(got.text) > maxAnswerBytes {
		return "too large", failed("the answer is larger than 1 MiB: ask for less with max_chars, limit or path_prefix")
	}
	outcome = outcomeOK
	if got.failed {
		outcome = "failed"
	}
	return outcome, &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(got.text)},
		StructuredContent: json.RawMessage(structured),
		IsError:           got.failed,
	}
}

// prepare is the call with its arguments, which are put right and checked.
func (t tool) prepare(raw any) (func(context.Context) (answer, error), error) {
	if t.callRaw == nil {
		args, err := parseArguments(t.input, raw)
		return func(ctx context.Context) (answer, error) { return t.call(ctx, args) }, err
	}
	value, err := decodeArguments(raw)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return func(ctx context.Context) (answer, error) { return t.callRaw(ctx, encoded) }, nil
}

// failed is an error that the model reads, of a call that has no answer. It has
// no structured content, since that would have to conform to the output schema.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(text)}, IsError: true}
}

// explain turns an error into its outcome for the log and a sentence for the
// model that tells nothing of the inside.
func (s *Server) explain(ctx context.Context, what string, err error) (outcome, sentence string) {
	var input *search.InputError
	var call *execute.Error
	switch {
	case errors.As(err, &call):
		return s.explainCall(ctx, what, call), call.Error()
	case errors.As(err, &input):
		return "invalid", input.Message
	case errors.Is(err, search.ErrNotFound):
		return "not found", "that is not in the index: find pages with search_docs, or list them with list_docs"
	case errors.Is(err, search.ErrStale):
		return "stale", "the index was renewed in between: ask again without the cursor"
	case errors.Is(ctx.Err(), context.Canceled):
		return "cancelled", "the call was cancelled"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return "timeout", fmt.Sprintf("no answer within %v: try again, or ask for less", s.deadline)
	}
	s.log.LogAttrs(ctx, slog.LevelError, "call failed",
		slog.String("call", what), slog.Any("error", err),
		slog.String("request_id", middleware.RequestIDFrom(ctx)))
	return "error", internalError(ctx)
}

// explainCall gives the outcome of a GraphQL call that has no answer.
func (s *Server) explainCall(ctx context.Context, what string, err *execute.Error) string {
	outcome := map[execute.Kind]string{
		execute.Refused: "refused", execute.Unreachable: "unreachable", execute.Unanswered: "unanswered", execute.Unknown: "unknown",
	}[err.Kind]
	if err.Kind != execute.Refused {
		s.log.LogAttrs(ctx, slog.LevelWarn, "an endpoint gave no answer",
			slog.String("call", what), slog.String("outcome", outcome), slog.Any("error", err),
			slog.String("request_id", middleware.RequestIDFrom(ctx)))
	}
	return outcome
}

func internalError(ctx context.Context) string {
	return "internal error (request id " + middleware.RequestIDFrom(ctx) + "): try again; the server's log has the cause"
}
