package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
)

// BuiltinTools are the names of the tools that the server has by itself, or can
// have: no operation may be called so.
func BuiltinTools() []string {
	everything := slices.Concat(docsTools(nil), connectorTools(nil), []tool{
		searchSchemaTool(nil, nil), inspectTypeTool(nil, nil), validateTool(nil, nil), executeTool(nil, nil, nil),
	})
	names := make([]string, len(everything))
	for i, t := range everything {
		names[i] = t.name
	}
	return names
}

// publish replaces the tools: the built-in ones with those of the operations
// that are published now. Calls under way keep the tool that they are of.
func (s *Server) publish() error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	tools := slices.Clone(s.builtin)
	if s.graphql != nil {
		for _, o := range s.graphql.Operations() {
			t := operationTool(s.graphql, o)
			if err := t.takeable(); err != nil {
				s.log.Error("operation is no tool", slog.String("operation", o.Name),
					slog.String("place", o.Place.String()), slog.Any("error", err))
				continue
			}
			tools = append(tools, t)
		}
	}
	all, err := s.registered(tools)
	if err != nil {
		return err
	}
	byName := make(map[string]tool, len(tools))
	for _, t := range tools {
		byName[t.name] = t
	}
	s.tools.Store(&byName)
	s.mcp.SetTools(all...)
	return nil
}

// takeable says what the library would panic on.
func (t tool) takeable() error {
	described, err := t.described()
	if err != nil {
		return err
	}
	return mcp.ValidateParamHeaderAnnotations(&described)
}

// republish is publish for operations that changed.
func (s *Server) republish() {
	if err := s.publish(); err != nil {
		s.log.Error("tools not replaced", slog.Any("error", err))
	}
}

// hasOperations reports whether operations are configured; there may be none yet.
func (s *Server) hasOperations() bool {
	return slices.ContainsFunc(s.endpoints(), func(e gateway.Info) bool { return e.Operations != nil })
}

func (s *Server) hooks() *mcpserver.Hooks {
	h := &mcpserver.Hooks{}
	h.AddBeforeListTools(s.settle)
	h.AddAfterInitialize(s.initialized)
	return h
}

// initialized takes the promise to announce changes back where it cannot be
// kept: over HTTP, clients of revisions before 2026-07-28 would be told by a
// session, and there are none.
func (s *Server) initialized(ctx context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
	if _, lasting := mcpserver.ClientSessionFromContext(ctx).(*stdioSession); !lasting && result.Capabilities.Tools != nil {
		result.Capabilities.Tools.ListChanged = false
	}
}

// operationsHealth is how the operations of an endpoint do.
type operationsHealth struct {
	Published int `json:"published"`
	Withheld  int `json:"withheld,omitempty"`
	// Faults are what is broken, the first of them with their places.
	Faults []string `json:"faults,omitempty"`
	// Refusal is why the files as they are now are not used.
	Refusal string `json:"refusal,omitempty"`
}

// maxHealthFaults bounds the faults that are told.
const maxHealthFaults = 20

func healthOf(info *gateway.OperationsInfo) *operationsHealth {
	if info == nil {
		return nil
	}
	health := &operationsHealth{Published: info.Published, Withheld: info.Withheld}
	for i, f := range info.Faults {
		if i == maxHealthFaults {
			health.Faults = append(health.Faults, fmt.Sprintf("and %d more", len(info.Faults)-i))
			break
		}
		health.Faults = append(health.Faults, f.String())
	}
	if info.Refusal != nil {
		health.Refusal = info.Refusal.Error()
	}
	return health
}

// answersCalls reports whether something can be called on an endpoint: it has a
// schema, or operations that need none.
func answersCalls(e gateway.Info) bool {
	return e.State == gateway.Ready || e.State == gateway.Stale || e.Operations != nil && e.Operations.Published > 0
}

// settle lets a client that asks for the tools right after the start see those
// of the operations too.
func (s *Server) settle(ctx context.Context, _ any, _ *mcp.ListToolsRequest) {
	if s.graphql != nil {
		_ = s.graphql.Settle(ctx) // whoever does not wait any more gets what there is
	}
}

func operationTool(api GraphQL, o *operations.Operation) tool {
	return tool{
		name: o.Name, title: operationTitle(o.Name), description: o.Description,
		inputSchema: o.Input, output: o.Output,
		writes: o.Type == operations.Mutation, openWorld: true,
		endpoint: o.Endpoint, scope: operationScope(o),
		callRaw: func(ctx context.Context, input json.RawMessage) (answer, error) {
			got, err := api.Call(ctx, gateway.OperationCall{Name: o.Name, Input: input, Header: callerHeader(ctx)})
			if err != nil {
				return answer{}, err
			}
			return operationAnswer(o, got)
		},
	}
}

// DescribeOperation is an operation's tool as a client is told of it: one entry of
// tools/list, JSON.
func DescribeOperation(o *operations.Operation) ([]byte, error) {
	described, err := operationTool(nil, o).described()
	if err != nil {
		return nil, err
	}
	return json.Marshal(described)
}

// operationTitle makes a title of a tool's name.
func operationTitle(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// operationAnswer is a result in both forms. Where the operation has no output
// schema, the structured one holds what is wrong too.
func operationAnswer(o *operations.Operation, got operations.Result) (answer, error) {
	object := got.Object()
	if size := len(object); size > maxDataBytes {
		object = nil
		got.State = operations.Failed
		got.Errors = append(slices.Clip(got.Errors), execute.Fault{Message: fmt.Sprintf(
			"the operation was executed, and its result has %d bytes, more than fits an answer: ask for smaller pages", size)})
	}
	a := answer{text: operationText(object, got), failed: got.Failed()}
	switch {
	case a.failed && o.Output != nil: // no structured form: see answer
	case !a.failed && (o.Output != nil || len(got.Errors) == 0 && got.Hint == ""):
		a.structured = object
	default:
		var err error
		if a.structured, err = withErrors(object, got); err != nil {
			return answer{}, fmt.Errorf("put the result of %s beside what is wrong: %w", o.Name, err)
		}
	}
	return a, nil
}

// withErrors is a result with "errors" and "hint" beside its members. One that
// has such members itself stands under "result".
func withErrors(object json.RawMessage, got operations.Result) (map[string]any, error) {
	members := map[string]json.RawMessage{}
	if object != nil {
		if err := json.Unmarshal(object, &members); err != nil {
			return nil, err
		}
	}
	_, errors := members["errors"]
	_, hint := members["hint"]
	all := make(map[string]any, len(members)+2)
	if errors || hint {
		all["result"] = object
	} else {
		for name, value := range members {
			all[name] = value
		}
	}
	if len(got.Errors) > 0 {
		all["errors"] = got.Errors
	}
	if got.Hint != "" {
		all["hint"] = got.Hint
	}
	return all, nil
}

// operationText has the result as JSON, and what is wrong.
func operationText(object json.RawMessage, got operations.Result) string {
	var b strings.Builder
	if object != nil {
		var compact bytes.Buffer
		if json.Compact(&compact, object) == nil {
			b.Write(compact.Bytes())
			b.WriteByte('\n')
		}
	}
	if len(got.Errors) > 0 {
		b.WriteString("errors:\n")
		faultsText(&b, got.Errors)
	}
	if got.Hint != "" {
		b.WriteString(got.Hint + "\n")
	}
	return b.String()
}
