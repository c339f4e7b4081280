package main

import "strings"

// connectText says how agents are connected to the server at an address.
func connectText(address string) string {
	return strings.NewReplacer("URL", address+"/mcp").Replace(`
Connect an agent:
  Claude Code   claude mcp add --transport http docs URL
  Codex         codex mcp add docs --url URL
  Cursor        .cursor/mcp.json   {"mcpServers": {"docs": {"url": "URL"}}}
  VS Code       .vscode/mcp.json   {"servers": {"docs": {"type": "http", "url": "URL"}}}

`)
}
