package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/server"
	"github.com/docseek/docseek/server/auth"
)

func (a *app) tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make access tokens for the server",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  cobra.NoArgs,
	}
	var entry auth.Entry
	create := &cobra.Command{
		Use:   "new --name NAME",
		Short: "Make a token, and the line of the tokens file that lets it in",
		Long: `Makes a token and prints it once, with the line to add to the file that
server.auth.tokens_file names. The file holds only the token's hash. A running
server sees a change of the file within a second; whose line is taken out is not
let in any more.

With --json it prints {"token","line"}.`,
		Example: `  docseek token new --name ci
  docseek token new --name partner --scope docs:read --source handbook --expires 90d`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.newToken(entry) },
	}
	f := create.Flags()
	f.StringVar(&entry.Name, "name", "", "`NAME` of whom it is for: what the log calls the caller")
	f.StringArrayVar(&entry.Scopes, "scope", nil, "`SCOPE` it has: "+strings.Join(auth.Scopes(), ", ")+" (repeatable; default "+strings.Join(auth.ReadScopes(), " and ")+")")
	f.StringArrayVar(&entry.Sources, "source", nil, "`NAME` of a source it may use (repeatable; default all)")
	f.StringArrayVar(&entry.Endpoints, "endpoint", nil, "`NAME` of a GraphQL endpoint it may use (repeatable; default all)")
	f.StringVar(&entry.Expires, "expires", "", "`WHEN` it ends: a day (2027-01-31), a time (2027-01-31T12:00:00Z) or a number of days (90d)")
	c.AddCommand(create)
	return c
}

func (a *app) newToken(entry auth.Entry) error {
	if entry.Name == "" {
		return usagef("token new needs --name: who the token is for")
	}
	if days, ok := strings.CutSuffix(entry.Expires, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 36500 {
			return usagef("--expires %q is no number of days", entry.Expires)
		}
		entry.Expires = time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly)
	}
	token := auth.NewToken()
	entry.SHA256 = auth.NewEntry(entry.Name, token).SHA256
	if err := entry.Check(); err != nil {
		return usageError{err}
	}
	line, err := entry.Line()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"token": token, "line": line})
	}
	_, err = fmt.Fprintf(a.out, "The token, shown this once:\n  %s\n\nThe line for the tokens file:\n%s\n", token, line)
	return err
}

// access is who may use the server, as the configuration says.
func (a *app) access(c config.Server) (server.Access, error) {
	c = c.WithDefaults()
	access := server.Access{
		PerMinute: max(0, c.RateLimit.PerMinute), Burst: c.RateLimit.Burst,
		Calls: c.Concurrency.Calls, Queue: c.Concurrency.Queue,
		Proxies: c.Proxies(), Scopes: c.Auth.OAuth.Scopes,
	}
	if path := c.Auth.TokensFile; path != "" {
		tokens, err := auth.OpenFile(path, time.Now, a.log)
		if err != nil {
			return access, &config.FaultsError{Faults: []config.Fault{{
				Field: "server.auth.tokens_file", Message: err.Error() + " (docseek token new makes its lines)",
			}}}
		}
		access.Verifiers = append(access.Verifiers, tokens)
		access.Status = tokens.Status
	}
	if o := c.Auth.OAuth; o.Issuer != "" {
		audiences := []string{o.Audience}
		if o.Audience == "" {
			base := strings.TrimRight(c.PublicURL, "/")
			audiences = []string{base, base + "/mcp"}
		}
		access.Issuers = []string{o.Issuer}
		access.Verifiers = append(access.Verifiers, auth.NewOAuth(auth.OAuthOptions{
			Issuer: o.Issuer, Audiences: audiences, Now: time.Now, Log: a.log, Transport: http.DefaultTransport,
		}))
	}
	return access, nil
}
