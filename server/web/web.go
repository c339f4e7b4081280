// Package web is the page that people see of a server: search, the state of the
// sources and their runs, the tools, and how an agent is connected.
//
// It is made on the server and works without JavaScript; a small script adds
// copying and a live view of runs. Nothing is loaded from another host, and what
// was crawled is shown as text, whatever it holds.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// Docs is what the page searches and lists; [search.Engine] is one. What a
// caller may see is decided by whoever answers, from the context.
type Docs interface {
	Search(context.Context, search.Query) (search.Answer, error)
	List(context.Context, search.ListQuery) (search.Listing, error)
}

// Tool is an MCP tool as the page shows it.
type Tool struct {
	Name, Title, Description string
	// InputSchema is a JSON Schema of type object.
	InputSchema json.RawMessage
}

// Options configure the page.
type Options struct {
	// Docs is needed.
	Docs Docs
	// Tools are those that the caller may use; nil shows none.
	Tools func(context.Context) []Tool
	// Progress is how far the runs are that are on; nil where none ever is.
	Progress func() []Running
	// Base is the address that clients reach the server under, without /mcp; nil
	// means that of the request.
	Base func(*http.Request) string
	// Protected says that callers sign in, so that the page offers to sign out;
	// Token that they were handed a token, which the set-ups then carry.
	Protected, Token bool
	// Deadline ends a search; 0 means 25 s.
	Deadline time.Duration
	// Log receives the causes of internal errors, never a query's text. It is needed.
	Log *slog.Logger
	// Now is the clock; time.Now without it.
	Now func() time.Time
}

const defaultDeadline = 25 * time.Second

//go:embed assets pages
var files embed.FS

// Page serves the web page. Its methods may be called concurrently.
type Page struct {
	opts     Options
	mux      *http.ServeMux
	pages    map[string]*template.Template
	analyzer *lexical.Analyzer
	// style is the style sheet, for the page that may fetch nothing.
	style  template.CSS
	inline string
}

// New makes the page.
func New(opts Options) (*Page, error) {
	if opts.Docs == nil || opts.Log == nil {
		return nil, errors.New("make the web page: Docs and Log are needed")
	}
	if opts.Deadline == 0 {
		opts.Deadline = defaultDeadline
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Tools == nil {
		opts.Tools = func(context.Context) []Tool { return nil }
	}
	if opts.Progress == nil {
		opts.Progress = func() []Running { return nil }
	}
	if opts.Base == nil {
		opts.Base = func(r *http.Request) string { return "http://" + r.Host }
	}
	p := &Page{opts: opts, mux: http.NewServeMux(), pages: map[string]*template.Template{}, analyzer: lexical.New()}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("make the web page: %w", err)
	}
	p.mux.HandleFunc("GET /{$}", p.search)
	p.mux.HandleFunc("GET /sources", p.sources)
	p.mux.HandleFunc("GET /tools", p.tools)
	p.mux.HandleFunc("GET /connect", p.Connect)
	return p, nil
}

// load reads templates and assets.
func (p *Page) load() error {
	layout, err := template.New("layout.html").Funcs(p.functions()).ParseFS(files, "pages/layout.html")
	if err != nil {
		return err
	}
	for _, name := range []string{"search", "sources", "tools", "connect", "message", "login"} {
		page, err := layout.Clone()
		if err != nil {
			return err
		}
		if p.pages[name], err = page.ParseFS(files, "pages/"+name+".html"); err != nil {
			return err
		}
	}
	for name, contentType := range map[string]string{
		"site.css": "text/css; charset=utf-8", "site.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		content, err := files.ReadFile(path.Join("assets", name))
		if err != nil {
			return err
		}
		p.mux.Handle("GET /assets/"+name, asset(content, contentType))
		if name == "site.css" {
			p.style = template.CSS(content) //nolint:gosec // our own style sheet
			sum := sha256.Sum256(content)
			p.inline = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	return nil
}

// asset serves a file that changes with the program only.
func asset(content []byte, contentType string) http.Handler {
	sum := sha256.Sum256(content)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}

// Patterns are the routes that a Page serves, for an http.ServeMux.
func Patterns() []string {
	return []string{"GET /{$}", "GET /sources", "GET /tools", "GET /connect", "GET /assets/"}
}

// ServeHTTP serves the routes of [Patterns].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// frame is what every page has.
type frame struct {
	Name, Title string
	Protected   bool
	// Refresh is after how many seconds a browser without scripts asks again; 0 never.
	Refresh int
	// Style is the style sheet of a page that may not fetch it.
	Style template.CSS
	Data  any
}

// message is a page that says one thing.
type message struct{ Title, Text string }

// refreshing is data of a page that changes by itself.
type refreshing interface{ refresh() (seconds int) }

// policy allows what the page has: its own style sheet, script and icon.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// show answers with a page. It is made before the first byte goes out.
func (p *Page) show(w http.ResponseWriter, r *http.Request, status int, name, title string, data any) {
	f := frame{Name: name, Title: title, Protected: p.opts.Protected, Data: data}
	if live, ok := data.(refreshing); ok {
		f.Refresh = live.refresh()
	}
	p.write(w, r, status, f, policy)
}

func (p *Page) write(w http.ResponseWriter, r *http.Request, status int, f frame, policy string) {
	var b bytes.Buffer
	if err := p.pages[f.Name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		p.opts.Log.LogAttrs(r.Context(), slog.LevelError, "cannot make a page",
			slog.String("page", f.Name), slog.Any("error", err), slog.String("request_id", requestID(w)))
		http.Error(w, internalError(w), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// Another origin is told nothing. With no-referrer a form would be posted with
	// the origin null, which the server turns away.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w)
}

// requestID is the id that the middleware gave the request.
func requestID(w http.ResponseWriter) string { return w.Header().Get("X-Request-Id") }

func internalError(w http.ResponseWriter) string {
	return "internal error (request id " + requestID(w) + "): try again; the server's log has the cause"
}

// Login asks for a token, with what was wrong with the one before in a sentence,
// if there was one. The form is posted to /login as the field token. The page
// fetches nothing, since nothing is given out without a token.
func (p *Page) Login(w http.ResponseWriter, r *http.Request, status int, sentence string) {
	p.write(w, r, status, frame{Name: "login", Title: "Sign in", Style: p.style, Data: sentence},
		"default-src 'none'; style-src "+p.inline+"; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
}

// Connect shows how agents are connected; also to a browser that opens /mcp.
func (p *Page) Connect(w http.ResponseWriter, r *http.Request) {
	address := p.opts.Base(r) + "/mcp"
	p.show(w, r, http.StatusOK, "connect", "Connect an agent", struct {
		URL     string
		Clients []Client
	}{address, Clients(Target{URL: address, Token: p.opts.Token})})
}
