package web

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Client is a program that agents run in, and how it is connected to a server.
type Client struct {
	// Name is what docseek connect takes.
	Name  string `json:"client"`
	Title string `json:"title"`
	// File is where Text belongs; without it Text is a command to run.
	File string `json:"file,omitempty"`
	Text string `json:"text"`
	// Note says what else is to be done, in a sentence; empty if nothing is.
	Note string `json:"note,omitempty"`
}

// Target is the server that a client is connected to.
type Target struct {
	// URL is the address of the MCP endpoint. Without it the client starts Command.
	URL string
	// Command is the program, with its arguments, that speaks MCP on standard
	// input and output.
	Command []string
	// Token says that the server at URL asks for an access token.
	Token bool
}

const (
	// serverName is what the server is called in a client's configuration.
	serverName = "docs"
	// TokenVariable is the environment variable that a set-up takes the token from.
	TokenVariable = "DOCSEEK_TOKEN" //nolint:gosec // the name of a variable
)

// Clients are the set-ups of all clients that are known, by how common they are.
func Clients(t Target) []Client {
	clients := []Client{
		{Name: "claude-code", Title: "Claude Code", Text: claudeCode(t)},
		{Name: "codex", Title: "Codex", Text: codex(t)},
		{Name: "cursor", Title: "Cursor", File: ".cursor/mcp.json", Text: cursor(t)},
		{Name: "vscode", Title: "VS Code", File: ".vscode/mcp.json", Text: vsCode(t)},
		{Name: "zed", Title: "Zed", File: "~/.config/zed/settings.json", Text: zed(t)},
	}
	if t.Token && t.URL != "" {
		const variable = "Set the environment variable " + TokenVariable + " to your access token first."
		for i, note := range []string{
			variable, variable, variable,
			"VS Code asks for your access token once.",
			"Put your access token in the place of TOKEN.",
		} {
			clients[i].Note = note
		}
	}
	return clients
}

func claudeCode(t Target) string {
	switch {
	case t.URL == "":
		return "claude mcp add " + serverName + " -- " + shell(t.Command)
	case t.Token:
		return "claude mcp add --transport http " + serverName + " " + shell([]string{t.URL}) +
			` --header "Authorization: Bearer $` + TokenVariable + `"`
	default:
		return "claude mcp add --transport http " + serverName + " " + shell([]string{t.URL})
	}
}

func codex(t Target) string {
	switch {
	case t.URL == "":
		return "codex mcp add " + serverName + " -- " + shell(t.Command)
	case t.Token:
		return "codex mcp add " + serverName + " --url " + shell([]string{t.URL}) + " --bearer-token-env-var " + TokenVariable
	default:
		return "codex mcp add " + serverName + " --url " + shell([]string{t.URL})
	}
}

// entry is one server in a client's JSON configuration.
type entry struct {
	Type    string   `json:"type,omitempty"`
	URL     string   `json:"url,omitempty"`
	Headers *headers `json:"headers,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}

type headers struct {
	Authorization string `json:"Authorization"`
}

// entry is the target as most clients write it; token stands where the access
// token belongs.
func (t Target) entry(token string) entry {
	if t.URL == "" {
		e := entry{}
		if len(t.Command) > 0 {
			e.Command, e.Args = t.Command[0], t.Command[1:]
		}
		return e
	}
	e := entry{URL: t.URL}
	if t.Token {
		e.Headers = &headers{"Bearer " + token}
	}
	return e
}

func cursor(t Target) string {
	return document(map[string]any{"mcpServers": servers(t.entry("${env:" + TokenVariable + "}"))})
}

func vsCode(t Target) string {
	const input = "docseek-token"
	e := t.entry("${input:" + input + "}")
	e.Type = "http"
	if t.URL == "" {
		e.Type = "stdio"
	}
	root := map[string]any{"servers": servers(e)}
	if e.Headers != nil {
		type prompt struct {
			Type        string `json:"type"`
			ID          string `json:"id"`
			Description string `json:"description"`
			Password    bool   `json:"password"`
		}
		root["inputs"] = []prompt{{"promptString", input, "Access token of the documentation server", true}}
	}
	return document(root)
}

func zed(t Target) string {
	return document(map[string]any{"context_servers": servers(t.entry("TOKEN"))})
}

func servers(e entry) map[string]entry { return map[string]entry{serverName: e} }

// document is a value as a client's JSON file. The values here can be encoded.
func document(root any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(root)
	return strings.TrimSpace(b.String())
}

// shell writes arguments as a POSIX shell takes them apart.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool {
			plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !plain && !strings.ContainsRune("-_./:=@%+,", r)
		}) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
