package server

import (
	"bytes"
	"context"
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
	"github.com/docseek/docseek/server/web"
)

// Bounds on HTTP requests.
const (
	// maxMessageBytes bounds one message from a client.
	maxMessageBytes = 1 << 20
	maxHeaderBytes  = 64 << 10
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 20 * time.Second
	// writeTimeout bounds each write: a client that stopped reading does not
	// hold a call for ever.
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
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

// routes lays out the server's paths.
func (s *Server) routes(opts Options) (http.Handler, error) {
	page, err := web.New(web.Options{
		Docs: opts.Docs, Tools: s.shownTools, Progress: opts.Progress,
		PublicURL: opts.PublicURL, Deadline: s.deadline, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	endpoint := &endpoint{
		page: http.HandlerFunc(page.Connect),
		transport: mcpserver.NewStreamableHTTPServer(s.mcp,
			mcpserver.WithStateLess(true),
			mcpserver.WithStreamableHTTPLogger(s.log)),
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	mux.Handle("/mcp/{$}", endpoint)
	for _, pattern := range web.Patterns() {
		mux.Handle(pattern, page)
	}
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	return mux, nil
}

// endpointHealth is how a GraphQL endpoint does.
type endpointHealth struct {
	Name  string        `json:"name"`
	State gateway.State `json:"state"`
	// Introspection is the way in which the endpoint tells its schema.
	Introspection string     `json:"introspection,omitempty"`
	LoadedAt      *time.Time `json:"loaded_at,omitempty"`
}

// health says that the process answers, and how the GraphQL endpoints do.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Status  string           `json:"status"`
		GraphQL []endpointHealth `json:"graphql,omitempty"`
	}{Status: "ok"}
	for _, e := range s.endpoints() {
		health := endpointHealth{Name: e.Name, State: e.State, Introspection: e.Introspection}
		if !e.LoadedAt.IsZero() {
			health.LoadedAt = new(e.LoadedAt.UTC())
		}
		answer.GraphQL = append(answer.GraphQL, health)
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) endpoints() []gateway.Info {
	if s.graphql == nil {
		return nil
	}
	return s.graphql.Endpoints()
}

// ready is 503 only when no answer can be given: the index cannot be read, or
// nothing is in it yet, unless there are only APIs to answer for and one is ready.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	listed, err := s.docs.List(ctx, search.ListQuery{})
	switch {
	case err != nil:
		s.log.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.Any("error", err))
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
	case len(listed.Sources) == 0 && slices.ContainsFunc(s.endpoints(), func(e gateway.Info) bool {
		return e.State == gateway.Ready || e.State == gateway.Stale
	}):
		writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	case !slices.ContainsFunc(listed.Sources, func(s search.SourceStatus) bool { return s.Pages > 0 }):
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "empty"})
	default:
		writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	}
}

// endpoint is /mcp.
type endpoint struct {
	page      http.Handler
	transport *mcpserver.StreamableHTTPServer
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

func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	body, fault := readMessage(w, r, control)
	if fault != nil {
		writeJSON(w, fault.status, fault.message)
		return
	}
	var head messageHead
	_ = json.Unmarshal(body, &head) // mcp-go says what is wrong with it
	if head.Method == string(mcp.MethodNotificationCancelled) {
		// Without sessions a request id does not say whose request it is: taking
		// the notification would let one client cancel another's call. A client
		// cancels by closing the connection.
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

	ctx, refused := withRefusal(r.Context())
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
		e.transport.Handle(&streamedResponse{w: w, control: control, delivered: delivered}, request)
	}
}

// messageFault is why a body is no message.
type messageFault struct {
	status  int
	message mcp.JSONRPCError
}

// readMessage reads a request's body, within the bounds of bytes and seconds.
func readMessage(w http.ResponseWriter, r *http.Request, control *http.ResponseController) ([]byte, *messageFault) {
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessageBytes))
	_ = control.SetReadDeadline(time.Time{})
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
}

func (s *streamedResponse) Header() http.Header { return s.w.Header() }

func (s *streamedResponse) WriteHeader(status int) {
	if s.w.Header().Get("Content-Type") == "text/event-stream" {
		s.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold the events back
	}
	s.w.WriteHeader(status)
}

func (s *streamedResponse) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.delivered.saw(p)
	return n, err
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
	if h.status != 0 {
		w.WriteHeader(h.status)
	}
	_, _ = h.body.WriteTo(w)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
