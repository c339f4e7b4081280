package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/graphql/schemasearch"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/server"
)

// maxDocumentBytes bounds a document or variables that are read from a file.
const maxDocumentBytes = 1 << 20

func (a *app) graphqlCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "graphql",
		Short: "Search a GraphQL API's schema, validate and execute documents, as the tools do",
		Long: `Gives the same answers as the tools search_graphql_schema, inspect_graphql_type,
validate_graphql and execute_graphql, within the same policy. With --json each
prints its tool's structured answer (docs/tools.md).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: cobra.NoArgs,
	}
	var endpoint string
	c.PersistentFlags().StringVar(&endpoint, "endpoint", "", "`NAME` of a configured endpoint, or the URL of any; needed unless one is configured")
	c.AddCommand(a.graphqlSearch(&endpoint), a.graphqlInspect(&endpoint), a.graphqlValidate(&endpoint), a.graphqlExecute(&endpoint))
	return c
}

func (a *app) graphqlSearch(endpoint *string) *cobra.Command {
	var q gateway.SearchQuery
	c := &cobra.Command{
		Use:     "search TERM…",
		Short:   "Find fields, with the path to each as SDL",
		Example: `  docseek graphql search --endpoint https://api.example.com/graphql account iban`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Terms = args
			return a.ask(cmd.Context(), *endpoint, func(ctx context.Context, g *gateway.Gateway) error {
				found, err := g.SearchSchema(ctx, q)
				if err != nil {
					return err
				}
				return a.printSDL(found, found.Text())
			})
		},
	}
	maxChars(c, &q.MaxChars)
	return c
}

func (a *app) graphqlInspect(endpoint *string) *cobra.Command {
	var q gateway.InspectQuery
	c := &cobra.Command{
		Use:     "inspect TYPE…",
		Short:   "Print types, or directives as @name, as SDL",
		Example: `  docseek graphql inspect Account @deprecated`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Names = args
			return a.ask(cmd.Context(), *endpoint, func(ctx context.Context, g *gateway.Gateway) error {
				found, err := g.InspectType(ctx, q)
				if err != nil {
					return err
				}
				if err := a.printSDL(found, found.Text()); err != nil {
					return err
				}
				if found.SDL == "" && len(found.Unknown) > 0 {
					return &reportedError{errors.New("the schema has none of the names")}
				}
				return nil
			})
		},
	}
	maxChars(c, &q.MaxChars)
	return c
}

func maxChars(c *cobra.Command, to *int) {
	c.Flags().IntVar(to, "max-chars", schemasearch.DefaultMaxChars,
		fmt.Sprintf("most characters of the answer, up to %d", schemasearch.MaxMaxChars))
}

// printSDL prints an answer as JSON, or its SDL.
func (a *app) printSDL(answer any, sdl string) error {
	if a.json {
		return a.printJSON(answer)
	}
	_, err := fmt.Fprintln(a.out, strings.TrimRight(sdl, "\n"))
	return err
}

func (a *app) graphqlValidate(endpoint *string) *cobra.Command {
	return &cobra.Command{
		Use:     "validate FILE",
		Short:   "Hold a document to the schema, without sending it (- is standard input)",
		Example: `  docseek graphql validate accounts.graphql`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := a.readDocument(args[0])
			if err != nil {
				return err
			}
			return a.ask(cmd.Context(), *endpoint, func(ctx context.Context, g *gateway.Gateway) error {
				checked, err := g.Validate(ctx, gateway.ValidateQuery{Document: document})
				if err != nil {
					return err
				}
				if err := a.printValidation(args[0], checked); err != nil {
					return err
				}
				if !checked.Valid {
					return &reportedError{errors.New("the document is not valid")}
				}
				return nil
			})
		},
	}
}

func (a *app) printValidation(file string, checked gateway.ValidateAnswer) error {
	if a.json {
		return a.printJSON(checked)
	}
	var b strings.Builder
	if checked.Valid {
		fmt.Fprintf(&b, "%s is valid\n", file)
	}
	for _, fault := range checked.Errors {
		separator := ": "
		if fault.Line > 0 {
			separator = ":"
		}
		b.WriteString(file + separator + fault.String() + "\n")
	}
	if checked.Note != "" {
		b.WriteString(checked.Note + "\n")
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

func (a *app) graphqlExecute(endpoint *string) *cobra.Command {
	var q gateway.ExecuteQuery
	var variables string
	c := &cobra.Command{
		Use:   "execute FILE",
		Short: "Run an operation of a document (- is standard input)",
		Long: `Validates a document and runs one of its operations: a query, or where the
endpoint's documents setting is write, a mutation. Prints the data; errors go to
standard error, and make the exit code 1.`,
		Example: `  docseek graphql execute accounts.graphql --operation Balance --variables '{"id":"acc_1"}'
  docseek graphql execute accounts.graphql --variables @variables.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if q.Document, err = a.readDocument(args[0]); err != nil {
				return err
			}
			q.Variables = json.RawMessage(variables)
			if file, ok := strings.CutPrefix(variables, "@"); ok {
				text, err := a.readDocument(file)
				if err != nil {
					return err
				}
				q.Variables = json.RawMessage(text)
			}
			return a.ask(cmd.Context(), *endpoint, func(ctx context.Context, g *gateway.Gateway) error {
				got, err := g.Execute(ctx, q)
				if err != nil {
					return err
				}
				return a.printExecution(got)
			})
		},
	}
	c.Flags().StringVar(&variables, "variables", "", "a `JSON` object, or @FILE with one")
	c.Flags().StringVar(&q.OperationName, "operation", "", "`NAME` of the operation, where the document holds several")
	return c
}

func (a *app) printExecution(got gateway.ExecuteAnswer) error {
	if a.json {
		if err := a.printJSON(got); err != nil {
			return err
		}
	} else {
		if got.Data != nil {
			var b bytes.Buffer
			if err := json.Indent(&b, got.Data, "", "  "); err != nil {
				return fmt.Errorf("print the data: %w", err)
			}
			b.WriteByte('\n')
			if _, err := b.WriteTo(a.out); err != nil {
				return err
			}
		}
		for _, fault := range got.Errors {
			fmt.Fprintln(a.err, "docseek: "+fault.String())
		}
		if got.Hint != "" {
			fmt.Fprintln(a.err, "docseek: "+got.Hint)
		}
	}
	if got.Failed() {
		return &reportedError{errors.New("the operation failed")}
	}
	return nil
}

// readDocument reads a document or variables from a file; - is standard input.
func (a *app) readDocument(name string) (string, error) { return a.readFile(name, maxDocumentBytes) }

// readFile reads a file of bounded size; - is standard input.
func (a *app) readFile(name string, most int) (string, error) {
	in := a.in
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names the file
		if err != nil {
			return "", usageError{err}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > most {
		return "", usagef("%s is larger than %d bytes", name, most)
	}
	return string(text), nil
}

// ask runs a command on one endpoint, with its schema loaded.
func (a *app) ask(ctx context.Context, endpoint string, do func(context.Context, *gateway.Gateway) error) error {
	c, err := a.configuration(nil)
	if err != nil {
		return err
	}
	chosen, err := chooseEndpoint(c.GraphQL, endpoint)
	if err != nil {
		return err
	}
	chosen.Operations = nil                                             // they are none of this command's business
	g, err := newGateway(c, slog.New(slog.DiscardHandler), nil, chosen) // what goes wrong is said once, at the end
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Reload(ctx); err != nil {
		return err
	}
	return do(ctx, g)
}

// chooseEndpoint finds the endpoint that a command is about: by its name or its
// URL, or the only one. A URL that is not configured is an endpoint of its own.
func chooseEndpoint(all []config.GraphQL, name string) (config.GraphQL, error) {
	names := make([]string, len(all))
	for i, g := range all {
		if name != "" && (g.Name == name || g.URL == name) {
			return g, nil
		}
		names[i] = g.Name
	}
	switch {
	case config.IsURL(name):
		return endpointOf(name)
	case name == "" && len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return config.GraphQL{}, usagef("no GraphQL endpoint is configured: name one with --endpoint URL")
	case name == "":
		return config.GraphQL{}, usagef("several GraphQL endpoints are configured: choose with --endpoint %s", strings.Join(names, " or "))
	}
	return config.GraphQL{}, usagef("there is no GraphQL endpoint %q; there is %s", name, strings.Join(names, ", "))
}

// endpointOf is an endpoint that only its URL is known of: queries are allowed.
func endpointOf(url string) (config.GraphQL, error) {
	g := config.GraphQL{Name: sourceName(url), URL: url}
	c := config.Default()
	c.GraphQL = []config.GraphQL{g}
	if err := c.Validate(); err != nil {
		return config.GraphQL{}, usageError{err}
	}
	return g, nil
}

// withEndpoint adds the endpoint at a URL to those that are configured, unless
// it is one of them.
func withEndpoint(all []config.GraphQL, url string) ([]config.GraphQL, error) {
	if url == "" || slices.ContainsFunc(all, func(g config.GraphQL) bool { return g.URL == url }) {
		return all, nil
	}
	if !config.IsURL(url) {
		return nil, usagef("--graphql %q is no http or https URL", url)
	}
	g, err := endpointOf(url)
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(all), g), nil
}

// newGateway puts together what answers for some endpoints of a configuration.
func newGateway(c config.Config, log *slog.Logger, wrap func(string, http.RoundTripper) http.RoundTripper, endpoints ...config.GraphQL) (*gateway.Gateway, error) {
	configs := make([]gateway.Config, len(endpoints))
	for i, g := range endpoints {
		g = g.WithDefaults()
		headers := http.Header{}
		for name, value := range g.Headers {
			headers.Set(name, value)
		}
		scalars, err := scalarsOf(g)
		if err != nil {
			return nil, err
		}
		configs[i] = gateway.Config{
			Name: g.Name, URL: g.URL, Poll: g.Poll, Documents: execute.Policy(g.Documents), Explore: *g.Explore,
			Headers: headers, Forward: g.Forward, MaxResponse: int64(g.Limits.Response),
			Limits:     execute.Limits{Timeout: g.Limits.Timeout, Depth: g.Limits.Depth, Aliases: g.Limits.Aliases},
			Operations: g.Operations, Persisted: operations.Persisted(g.Persisted),
			RequireTest: *g.RequireTest, Strict: g.Strict, Scalars: scalars,
		}
		if g.Schema != config.Introspect {
			configs[i].SchemaFile = g.Schema
		}
	}
	profiles := make(map[string]operations.AuthProfile, len(c.AuthProfiles))
	for name, p := range c.AuthProfiles {
		profiles[name] = operations.AuthProfile{Host: p.Host, Credentials: p.Credentials}
	}
	base, err := os.Getwd()
	if err != nil || base == filepath.Dir(base) {
		base = "" // below the root, whole paths say more
	}
	return gateway.New(configs, gateway.Options{
		Log: log, AuthProfiles: profiles, Reserved: server.BuiltinTools(), MaxOperations: c.MaxOperations, Base: base, Wrap: wrap,
	})
}

// scalarsOf are the JSON Schemas of an endpoint's custom scalars.
func scalarsOf(g config.GraphQL) (map[string]json.RawMessage, error) {
	scalars := make(map[string]json.RawMessage, len(g.Scalars))
	for name, schema := range g.Scalars {
		encoded, err := json.Marshal(schema)
		if err != nil {
			return nil, fmt.Errorf("endpoint %s: scalar %s: %w", g.Name, name, err)
		}
		scalars[name] = encoded
	}
	return scalars, nil
}

// callDeadline is the time for one call: enough for the endpoint that is given
// the most, and no less than the server's own.
func callDeadline(all []config.GraphQL) time.Duration {
	const usual, margin = 25 * time.Second, 5 * time.Second
	longest := usual
	for _, g := range all {
		if g.Limits.Timeout > 0 {
			longest = max(longest, g.Limits.Timeout+margin)
		}
	}
	return longest
}
