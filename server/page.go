package server

import (
	_ "embed"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"strings"
)

//go:embed connect.html
var connectHTML string

// connectPage tells a person who opened the server in a browser how to connect
// an agent.
type connectPage struct {
	template  *template.Template
	publicURL string
}

func newConnectPage(publicURL string) (*connectPage, error) {
	parsed, err := template.New("connect").Parse(connectHTML)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	return &connectPage{template: parsed, publicURL: strings.TrimRight(publicURL, "/")}, nil
}

func (p *connectPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	base := p.publicURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_ = p.template.Execute(w, struct{ URL string }{base + "/mcp"})
}

// wantsHTML reports whether the Accept header asks for a page, as browsers do
// and MCP clients do not.
func wantsHTML(r *http.Request) bool {
	for accept := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if media, _, err := mime.ParseMediaType(accept); err == nil && media == "text/html" {
			return true
		}
	}
	return false
}
