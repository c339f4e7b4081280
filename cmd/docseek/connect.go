package main

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/server/web"
)

type connectFlags struct {
	url          string
	stdio, token bool
}

func (a *app) connectCommand() *cobra.Command {
	var flags connectFlags
	c := &cobra.Command{
		Use:   "connect [CLIENT] [URL…]",
		Short: "Print how an agent's client is connected to the server",
		Long: `Prints what to run, or what to write into which file, so that an agent's client
uses the server: the one of the configuration, or the one at --url. With --stdio
the client starts docseek by itself, on the given sites. CLIENT is claude-code,
codex, cursor, vscode or zed; without it all are shown.

With --json it prints [{"client","title","file","text","note"}]; what has no file
is a command to run.`,
		Example: `  docseek connect claude-code
  docseek connect cursor --url https://mcp.example.com --token
  docseek connect zed --stdio https://docs.example.com/sitemap.xml`,
		RunE: func(_ *cobra.Command, args []string) error { return a.connect(args, flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.url, "url", "", "`URL` of the server (default: the configured one)")
	f.BoolVar(&flags.stdio, "stdio", false, "the client starts docseek serve --stdio, on URL… if given")
	f.BoolVar(&flags.token, "token", false, "the server asks for an access token")
	c.MarkFlagsMutuallyExclusive("url", "stdio")
	return c
}

func (a *app) connect(args []string, flags connectFlags) error {
	var name string
	if len(args) > 0 && !config.IsURL(args[0]) {
		name, args = args[0], args[1:]
	}
	if len(args) > 0 && !flags.stdio {
		return usagef("the sites' URLs go with --stdio; the server's is given by --url")
	}
	c, err := a.configuration(args)
	if err != nil {
		return err
	}
	target := web.Target{Token: flags.token}
	switch {
	case flags.stdio:
		if target.Command, err = a.stdioCommand(args); err != nil {
			return err
		}
	case flags.url != "":
		if !config.IsURL(flags.url) {
			return usagef("--url must be an http or https URL (got %q)", flags.url)
		}
		target.URL = mcpAddress(flags.url)
	default:
		target.URL = mcpAddress(serverAddress(c.Server))
		target.Token = flags.token || c.Server.Auth.TokensFile != ""
	}
	clients := web.Clients(target)
	if name != "" {
		chosen := slices.IndexFunc(clients, func(c web.Client) bool { return c.Name == name })
		if chosen < 0 {
			return usagef("there is no client %q: the known ones are %s", name, clientNames(clients))
		}
		clients = clients[chosen : chosen+1]
	}
	switch {
	case a.json:
		return a.printJSON(clients)
	case name == "":
		return printClients(a.out, clients)
	}
	// The text alone, to be piped on.
	fmt.Fprintf(a.err, "%s: %s\n", clients[0].Title, toDo(clients[0]))
	_, err = fmt.Fprintln(a.out, clients[0].Text)
	return err
}

// stdioCommand is what a client runs to get the answers that this command line
// would give, from whatever folder it is in.
func (a *app) stdioCommand(urls []string) ([]string, error) {
	command := []string{"docseek"}
	for _, flag := range []struct{ name, path string }{{"--config", a.configFile}, {"--data-dir", a.dataDir}} {
		if flag.path == "" {
			continue
		}
		path, err := filepath.Abs(flag.path)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", flag.path, err)
		}
		command = append(command, flag.name, path)
	}
	return append(append(command, "serve", "--stdio"), urls...), nil
}

// serverAddress is where the clients of a configured server reach it.
func serverAddress(c config.Server) string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + c.Listen
}

// mcpAddress is the address of the MCP endpoint of a server.
func mcpAddress(server string) string {
	return strings.TrimSuffix(strings.TrimRight(server, "/"), "/mcp") + "/mcp"
}

func clientNames(clients []web.Client) string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// printClients prints all set-ups, each under its client's name.
func printClients(w io.Writer, clients []web.Client) error {
	var b strings.Builder
	for i, c := range clients {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s: %s\n%s\n", c.Title, toDo(c), c.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// toDo says what a client's text is for.
func toDo(c web.Client) string {
	what := "run this."
	if c.File != "" {
		what = "put this into " + c.File + "."
	}
	if c.Note != "" {
		what += " " + c.Note
	}
	return what
}

// welcome says where the web page of a server is, and how agents are connected.
func welcome(address string, token bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe web page is at %s/\nConnect an agent:\n", address)
	for _, c := range web.Clients(web.Target{URL: mcpAddress(address), Token: token}) {
		if c.File == "" {
			fmt.Fprintf(&b, "  %-13s %s\n", c.Title, c.Text)
		}
	}
	fmt.Fprintf(&b, "  other clients %s/connect, or: docseek connect\n\n", address)
	return b.String()
}
