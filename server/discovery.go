package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// discovery serves the documents that a client reads before it has a token:
// how to get one, and what this server is.
type discovery struct {
	publicURL string
	version   string
	issuers   []string
	protected bool
	scopes    []string
	https     func(*http.Request) bool
}

// Paths of the documents.
const (
	metadataPath = "/.well-known/oauth-protected-resource"
	catalogPath  = "/.well-known/ai-catalog.json"
	// cardPath is where tools for readiness look; MCP reserves /mcp/server-card,
	// which needs a token as all of /mcp does.
	cardPath = "/.well-known/mcp/server-card.json"
)

// wellKnown are the documents that need no token, by the patterns of their routes.
func (d *discovery) wellKnown() map[string]http.Handler {
	documents := map[string]http.Handler{
		"GET " + cardPath:    http.HandlerFunc(d.card),
		"GET " + catalogPath: http.HandlerFunc(d.catalog),
	}
	if len(d.issuers) > 0 {
		documents["GET "+metadataPath] = http.HandlerFunc(d.metadata)
		documents["GET "+metadataPath+"/mcp"] = http.HandlerFunc(d.metadata)
	}
	return documents
}

// base is the address of the server as clients know it, without a slash at its end.
func (d *discovery) base(r *http.Request) string {
	if d.publicURL != "" {
		return d.publicURL
	}
	if d.https(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// metadataURL is what a challenge names (RFC 9728 §5.1).
func (d *discovery) metadataURL(r *http.Request) string { return d.base(r) + metadataPath }

// metadata is the protected resource metadata (RFC 9728 §2), the same at both
// paths that clients try.
func (d *discovery) metadata(w http.ResponseWriter, r *http.Request) {
	d.write(w, r, "application/json", map[string]any{
		"resource":                 d.base(r),
		"authorization_servers":    d.issuers,
		"scopes_supported":         d.scopes,
		"bearer_methods_supported": []string{"header"},
		"resource_name":            serverTitle,
	})
}

const (
	serverTitle       = "Documentation search"
	serverDescription = "Search a team's documentation and use its GraphQL API."
)

// card is the server card (MCP SEP-2127).
func (d *discovery) card(w http.ResponseWriter, r *http.Request) {
	remote := map[string]any{
		"type": "streamable-http", "url": d.base(r) + "/mcp", "supportedProtocolVersions": mcp.ValidProtocolVersions,
	}
	if d.protected {
		remote["headers"] = []map[string]any{{
			"name": "Authorization", "description": "Bearer and a token of this server", "isRequired": true, "isSecret": true,
		}}
	}
	d.write(w, r, "application/mcp-server-card+json", map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
		"name":    reverseDNS(d.host(r)) + "/docseek", "version": d.version,
		"title": serverTitle, "description": serverDescription,
		"remotes": []any{remote},
	})
}

// catalog lists the one server of this site (AI Catalog 0.9).
func (d *discovery) catalog(w http.ResponseWriter, r *http.Request) {
	d.write(w, r, "application/ai-catalog+json", map[string]any{
		"specVersion": "0.9",
		"entries": []map[string]any{{
			"identifier":  "urn:air:" + d.host(r) + ":mcp:docseek",
			"type":        "application/mcp-server-card+json",
			"displayName": serverTitle,
			"description": serverDescription,
			"url":         d.base(r) + cardPath,
		}},
	})
}

func (d *discovery) host(r *http.Request) string {
	if base, err := url.Parse(d.base(r)); err == nil && base.Hostname() != "" {
		return base.Hostname()
	}
	return "localhost"
}

// reverseDNS turns mcp.example.com into com.example.mcp, and leaves what is no
// name of a host's as it can be written in one.
func reverseDNS(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return strings.NewReplacer(":", "-", "%", "-").Replace(addr.String())
	}
	labels := strings.Split(strings.ToLower(host), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// write answers with a document that may be kept for a while.
func (d *discovery) write(w http.ResponseWriter, r *http.Request, contentType string, document map[string]any) {
	text, err := json.Marshal(document)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(text)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("ETag", tag)
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(append(text, '\n'))
}
