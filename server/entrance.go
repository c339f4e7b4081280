package server

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/server/auth"
	"github.com/docseek/docseek/server/middleware"
	"github.com/docseek/docseek/server/web"
)

// Access says who may use the server over HTTP, and how much. On stdio whoever
// started the process may use everything.
type Access struct {
	// Verifiers tell who a token belongs to; without any, no token is asked for.
	Verifiers []auth.Verifier
	// Issuers are the authorization servers that clients get tokens from; they need
	// PublicURL.
	Issuers []string
	// Scopes are those that clients are told to ask for; none means those of
	// the tools that are on.
	Scopes []string
	// Status says what is wrong with the access, for the operator; nil means never
	// anything.
	Status func() error
	// PerMinute and Burst bound the requests of one caller: the lasting rate, and
	// how many may come at once. With PerMinute 0 there is no bound.
	PerMinute, Burst int
	// Calls are those that are answered at once, and Queue those that wait for
	// their turn; 0 means 64 and 128, and a negative Queue none.
	Calls, Queue int
	// Proxies are the addresses of proxies that are believed who a caller is.
	Proxies []netip.Prefix
}

// entrance is what stands between the network and the routes.
type entrance struct {
	gate    *auth.Gate
	proxies middleware.Proxies
	// pages are the routes of the web page, and open those that need no token.
	pages, open *http.ServeMux
}

// access says how the route of a request may be entered.
func (e *entrance) access(r *http.Request) auth.Access {
	if _, pattern := e.open.Handler(r); pattern != "" {
		return auth.Open
	}
	if _, pattern := e.pages.Handler(r); pattern != "" {
		return auth.ByPage
	}
	return auth.ByToken
}

// key names the caller whose rate is limited: the token, or the address.
func (e *entrance) key(r *http.Request) string {
	path := r.URL.Path
	if e.access(r) == auth.Open && path != loginPath || strings.HasPrefix(path, "/assets/") {
		return ""
	}
	caller, address := auth.CallerFrom(r.Context()), e.proxies.Client(r)
	switch {
	case caller.Name != "" && !caller.Anonymous:
		return "token " + caller.Name
	case caller.Anonymous && address.IsLoopback():
		return "" // a program on this machine, which needs no token
	}
	return middleware.AddressKey(address)
}

const loginPath = "/login"

// entrance lays out the server's paths, and what every request passes before it
// gets to one.
func (s *Server) entrance(opts Options) (http.Handler, error) {
	e := &entrance{proxies: opts.Access.Proxies, pages: http.NewServeMux(), open: http.NewServeMux()}
	publicURL := strings.TrimRight(opts.PublicURL, "/")
	public, err := url.Parse(publicURL)
	if err != nil {
		return nil, fmt.Errorf("read the public URL: %w", err)
	}
	https := func(r *http.Request) bool { return public.Scheme == "https" || e.proxies.HTTPS(r) }
	documents := &discovery{
		publicURL: publicURL, version: cmp.Or(opts.Version, "unknown"), issuers: opts.Access.Issuers, scopes: opts.Access.Scopes,
		protected: len(opts.Access.Verifiers) > 0, https: https,
	}
	if len(documents.scopes) == 0 {
		documents.scopes = []string{auth.DocsRead}
		if s.graphql != nil {
			documents.scopes = auth.ReadScopes()
		}
	}
	gate := auth.Options{Verifiers: opts.Access.Verifiers, Access: e.access, Scopes: documents.scopes, Log: s.log}
	if len(documents.issuers) > 0 {
		gate.Metadata = documents.metadataURL
	}
	e.gate = auth.NewGate(gate)
	page, err := web.New(web.Options{
		Docs: opts.Docs, Tools: s.shownTools, Progress: opts.Progress,
		Protected: e.gate.On(), Token: len(opts.Access.Verifiers) > len(opts.Access.Issuers),
		Base: documents.base, Deadline: s.deadline, Log: s.log,
	})
	if err != nil {
		return nil, err
	}

	mux := http.NewServeMux()
	on := func(routes *http.ServeMux, pattern string, h http.Handler) {
		routes.Handle(pattern, h)
		mux.Handle(pattern, h)
	}
	on(e.open, "GET /healthz", http.HandlerFunc(s.health))
	on(e.open, "GET /readyz", s.ready(opts.Access.Status))
	on(e.open, "GET "+loginPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page.Login(w, r, http.StatusOK, "") }))
	on(e.open, "POST "+loginPath, e.gate.Login(https, page.Login))
	// What is not there is not: a client that looks for OAuth goes on without.
	on(e.open, "GET /.well-known/", http.NotFoundHandler())
	for pattern, document := range documents.wellKnown() {
		on(e.open, pattern, document)
	}
	for _, pattern := range web.Patterns() {
		on(e.pages, pattern, page)
	}
	on(e.pages, "POST /logout", auth.Logout(https))
	endpoint := &endpoint{
		server: s, gate: e.gate, page: http.HandlerFunc(page.Connect),
		slots: middleware.NewSlots(cmp.Or(opts.Access.Calls, defaultCalls), max(0, cmp.Or(opts.Access.Queue, defaultQueue)), queuePatience),
		transport: mcpserver.NewStreamableHTTPServer(s.mcp,
			mcpserver.WithStateLess(true),
			mcpserver.WithStreamableHTTPLogger(s.log)),
	}
	mux.Handle("/mcp", endpoint)
	mux.Handle("/mcp/{$}", endpoint)
	mux.HandleFunc("GET /mcp/server-card", documents.card)
	if opts.Runs != nil {
		mux.HandleFunc("POST /runs", s.startRuns(opts.Runs, e.gate))
	}

	guard := middleware.Guard{
		Hosts: opts.AllowedHosts, Public: public.Hostname(), Origins: opts.AllowedOrigins, Probes: []string{"/healthz", "/readyz"},
	}
	links := []func(http.Handler) http.Handler{
		middleware.RequestID, middleware.Statuses(opts.Metrics.Request), middleware.BodyTimeout(bodyTimeout), middleware.WriteTimeout(writeTimeout), middleware.Recover(s.log), guard.Wrap, middleware.CORS, e.gate.Identify,
	}
	if opts.Access.PerMinute > 0 {
		limit, err := middleware.NewRateLimit(opts.Access.PerMinute, max(1, opts.Access.Burst), e.key, s.log)
		if err != nil {
			return nil, err
		}
		links = append(links, limit.Wrap)
	}
	return middleware.Chain(mux, append(links, e.gate.Enforce)...), nil
}
