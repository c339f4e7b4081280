package server

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/docseek/docseek/server/web"
)

// shownTools are the tools as the web page shows them, by name.
func (s *Server) shownTools(ctx context.Context) []web.Tool {
	var all []mcp.Tool
	for _, t := range s.mcp.ListTools() {
		all = append(all, t.Tool)
	}
	var tools []web.Tool
	for _, t := range s.shownTo(ctx, all) {
		tools = append(tools, web.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.RawInputSchema})
	}
	slices.SortFunc(tools, func(a, b web.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
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
