// Package server speaks the Model Context Protocol: tools, resources and a
// prompt over the documentation index, and tools over GraphQL APIs, on
// Streamable HTTP and on stdio, to clients of every revision from 2024-11-05 to
// 2026-07-28.
//
// The server keeps nothing between two requests: any replica answers any of
// them, and a restart is not noticed.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/internal/obs"
	"github.com/docseek/docseek/server/web"
)

// Options configure a server.
type Options struct {
	// Docs answers the documentation tools. It is needed.
	Docs Docs
	// GraphQL answers the GraphQL tools; nil leaves them out.
	GraphQL GraphQL
	// Version is the program's version, shown to clients.
	Version string
	// Log receives a line per call and the causes of internal errors, never a
	// caller's query text. It is needed.
	Log *slog.Logger
	// PublicURL is the address that clients reach the server under, without
	// /mcp; empty means the address of the request. Its host is allowed.
	PublicURL string
	// AllowedHosts and AllowedOrigins are the host names (without port) and the
	// web origins that may be asked for, beside loopback on loopback
	// connections: see [middleware.Guard].
	AllowedHosts   []string
	AllowedOrigins []string
	// ConnectorTools adds the tools search and fetch, which ChatGPT's connectors
	// and its deep research need.
	ConnectorTools bool
	// Access says who may use the server over HTTP.
	Access Access
	// Deadline ends a call; 0 means 25 s.
	Deadline time.Duration
	// Metrics counts calls and searches, and Tracer makes a span of each call; nil
	// leaves them out.
	Metrics *obs.Metrics
	Tracer  *obs.Tracer
	// Runs starts runs for POST /runs; nil leaves the route out.
	Runs Runs
	// Progress tells the web page of the runs that are on; nil where none ever is.
	Progress func() []web.Running
}

// Server is the MCP server. Its methods may be called concurrently.
type Server struct {
	docs     Docs
	graphql  GraphQL
	log      *slog.Logger
	deadline time.Duration
	metrics  *obs.Metrics
	tracer   *obs.Tracer
	mcp      *mcpserver.MCPServer
	http     http.Handler
	// builtin are the tools that are always there, tools all of the moment.
	builtin    []tool
	tools      atomic.Pointer[map[string]tool]
	publishing sync.Mutex // held while tools is replaced
}

// cacheFor is how long a client may keep a list or a page without asking
// again (2026-07-28, ttlMs).
const cacheFor = time.Minute

// New makes a server. It does nothing until it is served.
func New(opts Options) (*Server, error) {
	if opts.Docs == nil || opts.Log == nil {
		return nil, errors.New("make the server: Docs and Log are needed")
	}
	opts.Docs = measured{opts.Docs, opts.Metrics}
	opts.Docs = callerDocs{opts.Docs}
	if opts.GraphQL != nil {
		opts.GraphQL = callerGraphQL{opts.GraphQL}
	}
	s := &Server{
		docs: opts.Docs, graphql: opts.GraphQL, log: opts.Log, deadline: opts.Deadline,
		metrics: opts.Metrics, tracer: opts.Tracer,
	}
	if s.deadline == 0 {
		s.deadline = defaultDeadline
	}
	s.builtin = docsTools(opts.Docs)
	if opts.GraphQL != nil {
		s.builtin = append(s.builtin, graphqlTools(opts.GraphQL)...)
	}
	if opts.ConnectorTools {
		s.builtin = append(s.builtin, connectorTools(opts.Docs)...)
	}
	s.mcp = mcpserver.NewMCPServer("docseek", cmp.Or(opts.Version, "unknown"),
		mcpserver.WithHooks(s.hooks()),
		mcpserver.WithTitle("Documentation search"),
		mcpserver.WithInstructions(instructions(s.builtin, s.hasOperations())),
		// Only the tools of operations change while the server runs.
		mcpserver.WithToolCapabilities(s.hasOperations()),
		mcpserver.WithResourceCapabilities(false, false),
		mcpserver.WithPromptCapabilities(false),
		mcpserver.WithCompletions(),
		mcpserver.WithPromptCompletionProvider(completions{s}),
		mcpserver.WithResourceCompletionProvider(completions{s}),
		mcpserver.WithToolFilter(s.shownTo),
		mcpserver.WithCacheHints(cacheFor.Milliseconds(), mcp.CacheScopePrivate),
	)
	if s.hasOperations() {
		s.graphql.OnChange(s.republish)
	}
	if err := s.publish(); err != nil {
		return nil, err
	}
	s.addResources()
	s.addPrompt()
	s.instructCallers()

	var err error
	if s.http, err = s.entrance(opts); err != nil {
		return nil, fmt.Errorf("lay out the routes: %w", err)
	}
	return s, nil
}
