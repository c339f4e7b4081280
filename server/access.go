package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
)

// callerDocs answers from what the caller of the context may see.
type callerDocs struct{ Docs }

func (d callerDocs) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	ctx, err := docsContext(ctx)
	if err != nil {
		return search.Answer{}, err
	}
	return d.Docs.Search(ctx, q)
}

func (d callerDocs) Read(ctx context.Context, q search.ReadQuery) (search.Reading, error) {
	ctx, err := docsContext(ctx)
	if err != nil {
		return search.Reading{}, err
	}
	return d.Docs.Read(ctx, q)
}

func (d callerDocs) List(ctx context.Context, q search.ListQuery) (search.Listing, error) {
	ctx, err := docsContext(ctx)
	if err != nil {
		return search.Listing{}, err
	}
	return d.Docs.List(ctx, q)
}

// docsContext is narrowed to the sources that the caller may see.
func docsContext(ctx context.Context) (context.Context, error) {
	caller := auth.CallerFrom(ctx)
	if !caller.Has(auth.DocsRead) {
		return nil, &search.InputError{Message: lacking(auth.DocsRead)}
	}
	if caller.Sources == nil {
		return ctx, nil
	}
	return search.Within(ctx, caller.Sources), nil
}

func lacking(scope string) string {
	return "the caller's token has not the scope " + scope + ", which this needs"
}

// callerGraphQL answers from the endpoints that the caller of the context may use.
type callerGraphQL struct{ GraphQL }

func (g callerGraphQL) SearchSchema(ctx context.Context, q gateway.SearchQuery) (_ gateway.SearchAnswer, err error) {
	if q.Endpoint, err = g.endpoint(ctx, q.Endpoint, explores); err != nil {
		return gateway.SearchAnswer{}, err
	}
	return g.GraphQL.SearchSchema(ctx, q)
}

func (g callerGraphQL) InspectType(ctx context.Context, q gateway.InspectQuery) (_ gateway.InspectAnswer, err error) {
	if q.Endpoint, err = g.endpoint(ctx, q.Endpoint, explores); err != nil {
		return gateway.InspectAnswer{}, err
	}
	return g.GraphQL.InspectType(ctx, q)
}

func (g callerGraphQL) Validate(ctx context.Context, q gateway.ValidateQuery) (_ gateway.ValidateAnswer, err error) {
	if q.Endpoint, err = g.endpoint(ctx, q.Endpoint, validates); err != nil {
		return gateway.ValidateAnswer{}, err
	}
	return g.GraphQL.Validate(ctx, q)
}

func (g callerGraphQL) Execute(ctx context.Context, q gateway.ExecuteQuery) (_ gateway.ExecuteAnswer, err error) {
	if q.Endpoint, err = g.endpoint(ctx, q.Endpoint, executes); err != nil {
		return gateway.ExecuteAnswer{}, err
	}
	q.ReadOnly = q.ReadOnly || !auth.CallerFrom(ctx).Has(auth.GraphQLWrite)
	return g.GraphQL.Execute(ctx, q)
}

func (g callerGraphQL) Call(ctx context.Context, c gateway.OperationCall) (operations.Result, error) {
	caller := auth.CallerFrom(ctx)
	all := g.Operations()
	i := slices.IndexFunc(all, func(o *operations.Operation) bool { return o.Name == c.Name && caller.MayUseEndpoint(o.Endpoint) })
	if i < 0 {
		return operations.Result{}, refused("there is no operation %q: list the tools again", c.Name)
	}
	if scope := operationScope(all[i]); !caller.Has(scope) {
		return operations.Result{}, refused("%s", lacking(scope))
	}
	return g.GraphQL.Call(ctx, c)
}

func operationScope(o *operations.Operation) string {
	if o.Type == operations.Mutation {
		return auth.GraphQLWrite
	}
	return auth.GraphQLRead
}

// endpoint is the name of the endpoint that the caller means. A caller that may
// use all is left to the gateway, which knows why an endpoint does not allow
// something; to one that may not, the others are not there. The caller is told
// where the call will wait for a schema.
func (g callerGraphQL) endpoint(ctx context.Context, name string, allows func(gateway.Info) bool) (string, error) {
	caller := auth.CallerFrom(ctx)
	if !caller.Has(auth.GraphQLRead) {
		return "", refused("%s", lacking(auth.GraphQLRead))
	}
	var names []string
	for _, e := range g.Endpoints() {
		if !caller.MayUseEndpoint(e.Name) || !allows(e) {
			continue
		}
		names = append(names, e.Name)
		if e.State == gateway.Loading && (name == "" || name == e.Name) {
			reportProgress(ctx, "waiting for the schema of "+e.Name)
		}
	}
	switch {
	case caller.Endpoints == nil:
		return name, nil
	case slices.Contains(names, name):
		return name, nil
	case len(names) == 0:
		return "", refused("no GraphQL endpoint allows this caller to do that")
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", refused("name the endpoint: one of %s", strings.Join(names, ", "))
	}
	return "", refused("there is no endpoint %q to do that on: use %s", name, strings.Join(names, ", "))
}

func refused(format string, args ...any) error {
	return &execute.Error{Kind: execute.Refused, Message: fmt.Sprintf(format, args...)}
}

// What an endpoint allows.
func explores(e gateway.Info) bool { return e.Explore }

func executes(e gateway.Info) bool {
	return e.Documents == execute.Read || e.Documents == execute.Write
}

func validates(e gateway.Info) bool { return explores(e) || executes(e) }

// seenBy are the endpoints as a caller sees them: those it may use, for what it
// may do.
type seenBy struct {
	GraphQL
	caller auth.Caller
}

func (g seenBy) Endpoints() []gateway.Info {
	var seen []gateway.Info
	for _, e := range g.GraphQL.Endpoints() {
		if !g.caller.MayUseEndpoint(e.Name) {
			continue
		}
		if e.Documents == execute.Write && !g.caller.Has(auth.GraphQLWrite) {
			e.Documents = execute.Read
		}
		seen = append(seen, e)
	}
	return seen
}

// toolsOf are the tools that a caller may use, as it sees them.
func (s *Server) toolsOf(caller auth.Caller) map[string]tool {
	all := *s.tools.Load()
	seen := make(map[string]tool, len(all))
	for name, t := range all {
		if caller.Has(cmp.Or(t.scope, auth.DocsRead)) && (t.endpoint == "" || caller.MayUseEndpoint(t.endpoint)) {
			seen[name] = t
		}
	}
	if s.graphql == nil || caller.Endpoints == nil && caller.Has(auth.GraphQLWrite) {
		return seen
	}
	// Those over all endpoints name the endpoints.
	maps.DeleteFunc(seen, func(_ string, t tool) bool { return t.endpoint == "" && t.scope == auth.GraphQLRead })
	if caller.Has(auth.GraphQLRead) {
		for _, t := range graphqlTools(seenBy{s.graphql, caller}) {
			seen[t.name] = t
		}
	}
	return seen
}

// shownTo is what of some tools the caller of the context is shown and may call.
func (s *Server) shownTo(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	seen := s.toolsOf(auth.CallerFrom(ctx))
	shown := make([]mcp.Tool, 0, len(tools))
	for _, t := range tools {
		own, ok := seen[t.Name]
		if !ok {
			continue
		}
		described, err := own.described()
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "tool not shown", slog.Any("error", err))
			continue
		}
		shown = append(shown, described)
	}
	return shown
}

// instructCallers lets the instructions speak of what a caller may use alone.
func (s *Server) instructCallers() {
	hooks := s.mcp.GetHooks()
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, result *mcp.InitializeResult) {
		result.Instructions = s.instructionsFor(auth.CallerFrom(ctx))
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		result.Instructions = s.instructionsFor(auth.CallerFrom(ctx))
	})
}

func (s *Server) instructionsFor(caller auth.Caller) string {
	var builtin []tool
	for _, t := range s.toolsOf(caller) {
		if t.endpoint == "" {
			builtin = append(builtin, t)
		}
	}
	approved := s.graphql != nil && caller.Has(auth.GraphQLRead) &&
		slices.ContainsFunc(seenBy{s.graphql, caller}.Endpoints(), func(e gateway.Info) bool { return e.Operations != nil })
	return instructions(builtin, approved)
}
