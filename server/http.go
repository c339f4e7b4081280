package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
	"github.com/docseek/docseek/server/middleware"
)

// Bounds on HTTP requests.
const (
	// maxMessageBytes bounds one message from a client.
	maxMessageBytes = 1 << 20
	maxHeaderBytes  = 64 << 10
	headerTimeout   = 10 * time.Second
	// bodyTimeout is how long a request's body may take to arrive.
	bodyTimeout = 20 * time.Second
	// writeTimeout bounds each write: a client that stopped reading does not
	// hold a call for ever.
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	// defaultCalls are answered at once, and defaultQueue wait for their turn, each
	// no longer than queuePatience.
	defaultCalls  = 64
	defaultQueue  = 128
	queuePatience = 10 * time.Second
	// readyTimeout bounds the question whether the index answers.
	readyTimeout = 2 * time.Second
)

// Handler serves MCP at /mcp, the health routes, and the web page.
func (s *Server) Handler() http.Handler { return s.http }

// Serve serves HTTP on the listener until the context is done; then calls under
// way are finished, within the deadline of a call, and Serve returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	// Calls outlive ctx while the server drains, and end with Serve.
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	server := &http.Server{
		Handler:           s.http,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(calls, s.deadline+time.Second)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("drain %s: %w", listener.Addr(), errors.Join(err, server.Close()))
	}
	return nil
}

// endpointHealth is how a GraphQL endpoint does.
type endpointHealth struct {
	Name  string        `json:"name"`
	State gateway.State `json:"state"`
	// Introspection is the way in which the endpoint tells its schema.
	Introspection string     `json:"introspection,omitempty"`
	LoadedAt      *time.Time `json:"loaded_at,omitempty"`
	// Operations are there where any are configured.
	Operations *operationsHealth `json:"operations,omitempty"`
}

// health says that the process answers and, to a caller that may use them, how
// the GraphQL endpoints do.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Status  string           `json:"status"`
		GraphQL []endpointHealth `json:"graphql,omitempty"`
	}{"ok", s.endpointHealth(auth.CallerFrom(r.Context()))})
}

func (s *Server) endpointHealth(caller auth.Caller) []endpointHealth {
	if s.graphql == nil || !caller.Has(auth.GraphQLRead) {
		return nil
	}
	var all []endpointHealth
	for _, e := range (seenBy{s.graphql, caller}).Endpoints() {
		health := endpointHealth{Name: e.Name, State: e.State, Introspection: e.Introspection, Operations: healthOf(e.Operations)}
		if !e.LoadedAt.IsZero() {
			health.LoadedAt = new(e.LoadedAt.UTC())
		}
		all = append(all, health)
	}
	return all
}

func (s *Server) endpoints() []gateway.Info {
	if s.graphql == nil {
		return nil
	}
	return s.graphql.Endpoints()
}

// readiness is what /readyz answers: the status to everybody, the rest to a
// caller that may see it.
type readiness struct {
	Status  string             `json:"status"`
	Sources []readinessOfIndex `json:"sources,omitempty"`
	GraphQL []endpointHealth   `json:"graphql,omitempty"`
	// Faults are what an operator should look at; the server answers nonetheless.
	Faults []string `json:"faults,omitempty"`
}

type readinessOfIndex struct {
	Name        string     `json:"name"`
	State       string     `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	Generation  uint64     `json:"generation"`
	Pages       int        `json:"pages"`
	Chunks      int        `json:"chunks"`
	LastSuccess *time.Time `json:"last_success,omitempty"`
	// LastRun is how the last run ended.
	LastRun string `json:"last_run,omitempty"`
}

// ready is 503 only when no answer can be given: the index cannot be read, or
// nothing is in it yet, unless there are only APIs to answer for and one is
// ready. access says what is wrong with the tokens.
func (s *Server) ready(access func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		listed, err := s.docs.List(auth.WithCaller(ctx, auth.Trusted("readiness")), search.ListQuery{})
		answer, code := readiness{Status: "ready"}, http.StatusOK
		switch {
		case err != nil:
			s.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.Any("error", err))
			answer.Status, code = "unavailable", http.StatusServiceUnavailable
		case len(listed.Sources) == 0 && slices.ContainsFunc(s.endpoints(), answersCalls):
		case !slices.ContainsFunc(listed.Sources, func(s search.SourceStatus) bool { return s.Pages > 0 }):
			answer.Status, code = "empty", http.StatusServiceUnavailable
		}
		caller := auth.CallerFrom(ctx)
		if caller.Has(auth.DocsRead) {
			answer.Sources = sourcesHealth(listed.Sources, caller)
			// It names a file of this machine: a caller limited to some sources is a guest.
			if access != nil && caller.Sources == nil {
				if err := access(); err != nil {
					answer.Faults = append(answer.Faults, err.Error())
				}
			}
		}
		answer.GraphQL = s.endpointHealth(caller)
		writeJSON(w, code, answer)
	}
}

func sourcesHealth(sources []search.SourceStatus, caller auth.Caller) []readinessOfIndex {
	var all []readinessOfIndex
	for _, source := range sources {
		if !caller.MayUseSource(source.Name) {
			continue
		}
		health := readinessOfIndex{
			Name: source.Name, State: source.State, Reason: source.Reason, Generation: source.Generation,
			Pages: source.Pages, Chunks: source.Chunks, LastSuccess: source.LastSuccess,
		}
		if source.LastRun != nil {
			health.LastRun = string(source.LastRun.Outcome)
		}
		all = append(all, health)
	}
	return all
}

// endpoint is /mcp.
type endpoint struct {
	server    *Server
	gate      *auth.Gate
	slots     *middleware.Slots
	page      http.Handler
	transport *mcpserver.StreamableHTTPServer

	cancellations cancellations
}

const allowedMethods = "POST, OPTIONS"

// ServeHTTP answers one message per POST. There are no sessions, so GET and
// DELETE have nothing to offer to a client; a browser gets the page on how to
// connect.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		e.post(w, r)
	case http.MethodOptions:
		w.Header().Set("Allow", allowedMethods)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet, http.MethodHead:
		w.Header().Set("Vary", "Accept")
		if wantsHTML(r) {
			e.page.ServeHTTP(w, r)
			return
		}
		fallthrough
	default:
		w.Header().Set("Allow", allowedMethods)
		http.Error(w, "method not allowed: MCP messages are sent by POST; this server keeps no sessions and has no stream to GET",
			http.StatusMethodNotAllowed)
	}
}

// scopeOf is what a caller needs for a message; empty where nothing special, or
// where there is, to this caller, no such tool.
func (s *Server) scopeOf(head messageHead, caller auth.Caller) string {
	switch mcp.MCPMethod(head.Method) {
	case mcp.MethodToolsCall:
		if t, ok := (*s.tools.Load())[head.Params.Name]; ok && (t.endpoint == "" || caller.MayUseEndpoint(t.endpoint)) {
			return cmp.Or(t.scope, auth.DocsRead)
		}
		return ""
	case mcp.MethodResourcesRead, mcp.MethodCompletionComplete:
		return auth.DocsRead
	default:
		return ""
	}
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	body, fault := readMessage(w, r)
	if fault != nil {
		writeJSON(w, fault.status, fault.message)
		return
	}
	head, wrong := readHead(body)
	if wrong != nil {
		writeJSON(w, http.StatusBadRequest, wrong)
		return
	}
	caller := auth.CallerFrom(r.Context())
	key := callKey{caller: caller.Name, session: r.Header.Get(sessionHeader)}
	if head.Method == string(mcp.MethodNotificationCancelled) {
		key.id = string(head.Params.RequestID)
		e.cancellations.cancel(key)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) &&
		head.Params.Meta.ProtocolVersion == "" && head.Method != string(mcp.MethodInitialize) {
		unsupported := mcp.UnsupportedProtocolVersionError{Version: version, Supported: mcp.ValidProtocolVersions}.JSONRPCError()
		unsupported.ID = mcp.NewRequestId(head.ID)
		writeJSON(w, http.StatusBadRequest, unsupported)
		return
	}

	if scope := e.server.scopeOf(head, caller); scope != "" && !caller.Has(scope) {
		e.gate.InsufficientScope(w, r, scope)
		return
	}
	ctx := r.Context()
	if !mcp.IsModernProtocol(head.Params.Meta.ProtocolVersion) {
		if head.Method == string(mcp.MethodInitialize) {
			w.Header().Set(sessionHeader, rand.Text())
		}
		key.id = string(head.RawID)
		var done func()
		ctx, done = e.cancellations.open(ctx, key)
		defer done()
	}
	if mcp.MCPMethod(head.Method) != mcp.MethodSubscriptionsListen { // it waits, and works little
		release, err := e.slots.Acquire(ctx)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			writeJSON(w, http.StatusServiceUnavailable, mcp.NewJSONRPCError(mcp.NewRequestId(head.ID), mcp.INTERNAL_ERROR, err.Error(), nil))
			return
		}
		defer release()
	}

	ctx, refused := withRefusal(ctx)
	request := &mcpserver.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: ctx}
	switch mcp.MCPMethod(head.Method) {
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodCompletionComplete:
		held := &heldResponse{header: http.Header{}}
		e.transport.Handle(held, request)
		if !refused.set {
			held.send(w)
			return
		}
		status := http.StatusOK
		if mcp.IsModernProtocol(head.Params.Meta.ProtocolVersion) && refused.code == mcp.INVALID_PARAMS {
			status = http.StatusBadRequest
		}
		writeJSON(w, status, refused.response(head.ID))
	default:
		ctx, delivered := withDelivery(ctx)
		request.Context = ctx
		streamed := &streamedResponse{w: w, control: control, delivered: delivered, log: e.server.log}
		e.transport.Handle(streamed, request)
		if !streamed.begun { // the call was cancelled: nobody waits for an answer
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// messageFault is why a body is no message.
type messageFault struct {
	status  int
	message mcp.JSONRPCError
}

// readMessage reads a request's body, within the bound of bytes.
func readMessage(w http.ResponseWriter, r *http.Request) ([]byte, *messageFault) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessageBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &messageFault{http.StatusRequestEntityTooLarge, noMessage(mcp.INVALID_REQUEST, errMessageTooLarge.Error())}
	case err != nil:
		return nil, &messageFault{http.StatusBadRequest, noMessage(mcp.PARSE_ERROR, "the message could not be read")}
	case isBatch(body):
		return nil, &messageFault{http.StatusBadRequest, noMessage(mcp.INVALID_REQUEST, batchRefused)}
	}
	return body, nil
}

// isBatch reports whether a message is a JSON-RPC batch, which only revision
// 2025-03-26 knew.
func isBatch(message []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("["))
}

const batchRefused = "batches are not supported: send one message at a time"

// noMessage answers something that is no message and so has no id.
func noMessage(code int, sentence string) mcp.JSONRPCError {
	return mcp.NewJSONRPCError(mcp.NewRequestId(nil), code, sentence, nil)
}

// streamedResponse hands an answer on as it comes.
type streamedResponse struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	delivered *delivery
	log       *slog.Logger
	begun     bool
}

func (s *streamedResponse) Header() http.Header { return s.w.Header() }

func (s *streamedResponse) WriteHeader(status int) {
	s.begun = true
	if s.w.Header().Get("Content-Type") == "text/event-stream" {
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	}
	s.w.WriteHeader(status)
}

// Write keeps to itself that the client has left: mcp-go would log it as an
// error. The request's context ends with the failed write, and the work with it.
func (s *streamedResponse) Write(p []byte) (int, error) {
	if _, err := s.w.Write(p); err != nil {
		s.log.LogAttrs(context.Background(), slog.LevelDebug, "the client left before its answer", slog.Any("error", err))
	}
	s.delivered.saw(p)
	return len(p), nil
}

func (s *streamedResponse) Flush()          { _ = s.control.Flush() }
func (s *streamedResponse) CanStream() bool { return true }

// heldResponse keeps an answer until it is known whether it is the right one.
type heldResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heldResponse) Header() http.Header         { return h.header }
func (h *heldResponse) WriteHeader(status int)      { h.status = status }
func (h *heldResponse) Write(p []byte) (int, error) { return h.body.Write(p) }
func (h *heldResponse) Flush()                      {}
func (h *heldResponse) CanStream() bool             { return false }

func (h *heldResponse) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), h.header)
	w.WriteHeader(cmp.Or(h.status, http.StatusAccepted))
	_, _ = h.body.WriteTo(w)
}

// writeJSON answers with what no cache keeps: it may depend on the caller's token.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
