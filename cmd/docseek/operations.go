package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/server"
)

// Names of the files that operations build writes.
const (
	persistedName = "persisted-documents.json"
	toolsName     = "tools.json"
	apolloName    = "persisted-query-manifest.json"
)

// Bounds on what is read.
const (
	maxBuiltBytes  = 16 << 20
	maxSampleBytes = 4 << 20
)

func (a *app) operationsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "operations",
		Short: "List, check, build, draft and test the approved operations of GraphQL APIs",
		Long: `Works on the files that the configuration names under operations: annotated
documents and operation files, which serve publishes as tools (docs/operations.md).`,
		Example: `  docseek --config docseek.yaml operations check
  docseek --config docseek.yaml operations list --stats`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: cobra.NoArgs,
	}
	var endpoint string
	c.PersistentFlags().StringVar(&endpoint, "endpoint", "", "`NAME` of a configured endpoint (default: all with operations)")
	c.AddCommand(a.operationsList(&endpoint), a.operationsCheck(&endpoint), a.operationsBuild(&endpoint),
		a.operationsDraft(&endpoint), a.operationsTest(&endpoint))
	return c
}

// approving are the endpoints that a command is about: those that have
// operations, or of them the one that is named.
func approving(c config.Config, name string) ([]config.GraphQL, error) {
	var all []config.GraphQL
	for _, g := range c.GraphQL {
		if len(g.Operations) > 0 && (name == "" || g.Name == name) {
			all = append(all, g)
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case name != "":
		return nil, usagef("there is no GraphQL endpoint %q with operations in the configuration", name)
	}
	return nil, usagef("no operations are configured: name their files under graphql, operations, and give --config FILE")
}

// approved are the endpoints that a command is about, with their operations.
type approved struct {
	*gateway.Gateway
	config    config.Config
	endpoints []config.GraphQL
	// failure is why a schema or files could not be loaded; nil if all were.
	failure error
}

// approved loads the operations of the endpoint of a name, or of all. What is
// broken in them stands in the inventories.
func (a *app) approved(ctx context.Context, endpoint string, change func([]config.GraphQL) error) (*approved, error) {
	c, err := a.configuration(nil)
	if err != nil {
		return nil, err
	}
	endpoints, err := approving(c, endpoint)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if err := change(endpoints); err != nil {
			return nil, err
		}
	}
	g, err := newGateway(c, slog.New(slog.DiscardHandler), nil, endpoints...)
	if err != nil {
		return nil, err
	}
	return &approved{g, c, endpoints, g.Reload(ctx)}, nil
}

// listed is an operation as operations list prints it.
type listed struct {
	Name      string          `json:"name"`
	Kind      operations.Kind `json:"kind"`
	Type      operations.Type `json:"type"`
	Endpoint  string          `json:"endpoint"`
	Revision  string          `json:"revision"`
	Tested    bool            `json:"tested"`
	Published bool            `json:"published"`
	Reason    string          `json:"reason"`
	File      string          `json:"file"`
	// Tokens is what the tool costs an agent in tools/list; only with --stats.
	Tokens int `json:"tokens,omitempty"`
}

func (a *app) operationsList(endpoint *string) *cobra.Command {
	var stats bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the operations, which of them are tools, and why the others are not",
		Long: `Shows name, kind (annotated or file), endpoint, revision, whether that revision
was tested and is published, and if not, why. With --json it prints
{"operations":[{"name","kind","type","endpoint","revision","tested","published",
"reason","file","tokens"}],"faults":[{"file","line","column","operation",
"message"}],"tokens"}; tokens are there with --stats.`,
		Example: `  docseek --config docseek.yaml operations list --stats`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.approved(cmd.Context(), *endpoint, nil)
			if err != nil {
				return err
			}
			defer all.Close()
			if all.failure != nil {
				a.complain(all.failure) // the list says what that means for each operation
			}
			return a.printOperations(all, stats)
		},
	}
	c.Flags().BoolVar(&stats, "stats", false, "show what each tool costs an agent, in tokens of tools/list (o200k_base)")
	return c
}

func (a *app) printOperations(all *approved, stats bool) error {
	published, most := all.Operations(), all.config.MaxOperations
	rows, faults := []listed{}, []operations.Fault{}
	total := 0
	count := func(string) (int, error) { return 0, nil }
	if stats {
		count = codec.NewO200kBase().Count
	}
	for _, inventory := range all.Inventories() {
		faults = slices.Concat(faults, inventory.Set.Faults, inventory.Clashes)
		for _, o := range inventory.Set.Operations {
			row := listed{
				Name: o.Name, Kind: o.Kind, Type: o.Type, Endpoint: o.Endpoint, Revision: o.Revision, Tested: o.Tested,
				Published: slices.Contains(published, o), Reason: o.Withheld, File: o.Place.String(),
			}
			if !row.Published && row.Reason == "" {
				row.Reason = withheldBy(inventory, o)
			}
			if row.Published {
				described, err := server.DescribeOperation(o)
				if err != nil {
					return err
				}
				if row.Tokens, err = count(string(described)); err != nil {
					return fmt.Errorf("count the tokens of %s: %w", o.Name, err)
				}
				total += row.Tokens
			}
			rows = append(rows, row)
		}
	}
	if len(published) > most {
		fmt.Fprintf(a.err, "docseek: %d operations are published, more than max_operations (%d): clients cope badly with many tools; "+
			"mark some exclude: true or narrow the globs, and leave the rest to schema search\n", len(published), most)
	}
	if a.json {
		out := map[string]any{"operations": rows, "faults": faults}
		if stats {
			out["tokens"] = total
		}
		return a.printJSON(out)
	}
	for _, f := range faults {
		fmt.Fprintln(a.err, "docseek: "+f.String())
	}
	return a.printTable(rows, stats, total)
}

// withheldBy is why an operation that is fine by itself is not published.
func withheldBy(inventory gateway.Inventory, o *operations.Operation) string {
	for _, f := range inventory.Clashes {
		if f.Place == o.Place {
			return f.Message
		}
	}
	if inventory.Refusal != nil {
		return inventory.Refusal.Error()
	}
	return ""
}

func (a *app) printTable(rows []listed, stats bool, total int) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	head := "NAME\tKIND\tTYPE\tENDPOINT\tREVISION\tTESTED\tPUBLISHED\t"
	if stats {
		head += "TOKENS\t"
	}
	fmt.Fprintln(w, head+"WHY NOT")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, r := range rows {
		tested := yes[r.Tested]
		if r.Kind == operations.Annotated {
			tested = "-"
		}
		revision := "-"
		if r.Revision != "" {
			revision = r.Revision[:12]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t", r.Name, r.Kind, r.Type, r.Endpoint, revision, tested, yes[r.Published])
		if stats {
			fmt.Fprintf(w, "%d\t", r.Tokens)
		}
		fmt.Fprintln(w, r.Reason)
	}
	if stats {
		fmt.Fprintf(w, "all together\t\t\t\t\t\t\t%d\t\n", total)
	}
	return w.Flush()
}

func (a *app) operationsCheck(endpoint *string) *cobra.Command {
	var schema, format, built string
	var introspect bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Hold every operation and every persisted document to the schema",
		Long: `Checks the operations against the schema, and what operations build wrote to
the folder of --built, where it is there, against the operations; with several
endpoints to the folders of their names in it. Every fault has its place, and the
exit code is 1 where there is one. With --json it prints
{"ok","faults":[{"file","line","column","operation","message"}]}.`,
		Example: `  docseek --config docseek.yaml operations check --schema schema.graphql
  docseek --config docseek.yaml operations check --introspect --format github`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "github" {
				return usagef("--format must be text or github (got %q)", format)
			}
			if schema != "" && introspect {
				return usagef("give one of --schema and --introspect")
			}
			all, err := a.approved(cmd.Context(), *endpoint, func(endpoints []config.GraphQL) error {
				return heldTo(endpoints, schema, introspect)
			})
			if err != nil {
				return err
			}
			defer all.Close()
			faults, err := a.check(all, built)
			if err != nil {
				return err
			}
			return a.printFaults(faults, format == "github")
		},
	}
	c.Flags().StringVar(&schema, "schema", "", "`FILE` with SDL or introspection JSON (default: what the configuration says)")
	c.Flags().BoolVar(&introspect, "introspect", false, "ask the endpoint for its schema")
	c.Flags().StringVar(&built, "built", ".", "`DIR` that operations build wrote to")
	c.Flags().StringVar(&format, "format", "text", "`FORMAT`: text, or github for annotations of a workflow run")
	return c
}

// heldTo lets endpoints be held to the schema of a file, or to what they say of
// themselves.
func heldTo(endpoints []config.GraphQL, schema string, introspect bool) error {
	if schema != "" && len(endpoints) > 1 {
		return usagef("--schema is that of one endpoint: choose it with --endpoint")
	}
	for i := range endpoints {
		endpoints[i].Strict = false // all faults are asked for, not whether to go on
		switch {
		case introspect:
			endpoints[i].Schema = config.Introspect
		case schema != "":
			path, err := filepath.Abs(schema)
			if err != nil {
				return fmt.Errorf("find %s: %w", schema, err)
			}
			endpoints[i].Schema = path
		}
	}
	return nil
}

// check are the faults of the operations and of what was built of them into a
// folder.
func (a *app) check(all *approved, folder string) ([]operations.Fault, error) {
	if all.failure != nil {
		return nil, all.failure
	}
	faults := []operations.Fault{}
	for _, inventory := range all.Inventories() {
		var written []operations.File
		for _, name := range []string{persistedName, toolsName, apolloName} {
			name = filepath.Join(outFolder(folder, inventory, len(all.endpoints)), name)
			text, err := a.readFile(name, maxBuiltBytes)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			written = append(written, operations.File{Path: filepath.ToSlash(name), Text: text})
		}
		faults = slices.Concat(faults, operations.Check(inventory.Set, written), inventory.Clashes)
	}
	return faults, nil
}

// outFolder is where an endpoint's built files are: a folder of its own where
// there are several endpoints.
func outFolder(dir string, inventory gateway.Inventory, endpoints int) string {
	if endpoints > 1 {
		return filepath.Join(dir, inventory.Endpoint)
	}
	return dir
}

func (a *app) printFaults(faults []operations.Fault, github bool) error {
	switch {
	case a.json:
		if err := a.printJSON(map[string]any{"ok": len(faults) == 0, "faults": faults}); err != nil {
			return err
		}
	case len(faults) == 0:
		fmt.Fprintln(a.out, "all operations are fine")
	}
	for _, f := range faults {
		switch {
		case a.json:
		case github:
			fmt.Fprintln(a.out, annotation(f))
		default:
			fmt.Fprintln(a.out, f.Place.String()+": "+inOperation(f))
		}
	}
	if len(faults) > 0 {
		return &reportedError{errors.New("operations are broken")}
	}
	return nil
}

// annotation is a fault as a workflow command (GitHub Docs, "Workflow commands
// for GitHub Actions").
func annotation(f operations.Fault) string {
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	place := "file=" + property.Replace(f.File)
	if f.Line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", f.Line, f.Column)
	}
	return "::error " + place + "::" + message.Replace(inOperation(f))
}

// inOperation is a fault's message with the operation that it breaks: a fragment
// breaks all that need it.
func inOperation(f operations.Fault) string {
	if f.Operation == "" {
		return f.Message
	}
	return f.Message + " (" + f.Operation + ")"
}

func (a *app) operationsBuild(endpoint *string) *cobra.Command {
	var out, format string
	c := &cobra.Command{
		Use:   "build",
		Short: "Write the persisted documents and the tools down",
		Long: `Writes persisted-documents.json (the SHA-256 of each document's exact text, and
the text), for the API to register, and tools.json (name, description,
operationType, operationName, documentId, inputSchema of each tool). With
--format apollo it writes persisted-query-manifest.json instead. With several
endpoints each has a folder of its name. The files are the same on every machine.
Nothing is written while an operation is broken.`,
		Example: `  docseek --config docseek.yaml operations build --out build`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "docseek" && format != "apollo" {
				return usagef("--format must be docseek or apollo (got %q)", format)
			}
			return a.build(cmd.Context(), *endpoint, out, format == "apollo")
		},
	}
	c.Flags().StringVar(&out, "out", ".", "`DIR` to write to")
	c.Flags().StringVar(&format, "format", "docseek", "`FORMAT`: docseek or apollo")
	return c
}

func (a *app) build(ctx context.Context, endpoint, out string, apollo bool) error {
	all, err := a.approved(ctx, endpoint, nil)
	if err != nil {
		return err
	}
	defer all.Close()
	var faults []operations.Fault
	for _, inventory := range all.Inventories() {
		faults = slices.Concat(faults, inventory.Set.Faults, inventory.Clashes)
	}
	switch {
	case len(faults) > 0:
		return a.printFaults(faults, false)
	case all.failure != nil:
		return all.failure
	}
	for _, inventory := range all.Inventories() {
		folder := outFolder(out, inventory, len(all.endpoints))
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return fmt.Errorf("make a folder for what is built: %w", err)
		}
		files := map[string][]byte{}
		if apollo {
			files[apolloName] = operations.ApolloManifest(inventory.Set)
		} else {
			files[persistedName], files[toolsName] = operations.Build(inventory.Set)
		}
		for name, text := range files {
			if err := writeFile(filepath.Join(folder, name), text); err != nil {
				return err
			}
		}
		fmt.Fprintf(a.err, "wrote %d documents and %d tools of %s to %s\n",
			len(inventory.Set.Documents), len(inventory.Set.Published()), inventory.Endpoint, folder)
	}
	return nil
}

// writeFile replaces a file as a whole: who reads it sees the old or the new one.
func writeFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".docseek-")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func (a *app) operationsDraft(endpoint *string) *cobra.Command {
	var o operations.DraftOptions
	var query, sample string
	c := &cobra.Command{
		Use:   "draft --query FILE",
		Short: "Write a first operation file from a query, on standard output",
		Long: `Takes what the tool's arguments and its result are from the query and the
schema, and from a sample answer where the schema says nothing. What only the
sample says is marked as unconfirmed. Notes on what to look at go to standard
error. The file is published once docseek operations test has recorded it.`,
		Example: `  docseek operations draft --endpoint https://api.example.com/graphql --query order.graphql >operations/get_order.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if query == "" {
				return usagef("give --query FILE")
			}
			c, err := a.configuration(nil)
			if err != nil {
				return err
			}
			chosen, err := chooseEndpoint(c.GraphQL, *endpoint)
			if err != nil {
				return err
			}
			if o.Query, err = a.readDocument(query); err != nil {
				return err
			}
			if sample != "" {
				text, err := a.readFile(sample, maxSampleBytes)
				if err != nil {
					return err
				}
				o.Sample = []byte(text)
			}
			return a.draft(cmd.Context(), c, chosen, o)
		},
	}
	c.Flags().StringVar(&query, "query", "", "`FILE` with a document of one operation (- is standard input)")
	c.Flags().StringVar(&sample, "sample", "", "`FILE` with the endpoint's answer to it, JSON")
	c.Flags().StringVar(&o.Name, "name", "", "`NAME` of the tool (default: the operation's in snake_case)")
	return c
}

func (a *app) draft(ctx context.Context, c config.Config, chosen config.GraphQL, o operations.DraftOptions) error {
	chosen.Operations = nil
	g, err := newGateway(c, slog.New(slog.DiscardHandler), nil, chosen)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Reload(ctx); err != nil {
		fmt.Fprintf(a.err, "docseek: drafted without the schema: %v\n", err)
	}
	o.Endpoint, o.Schema = chosen.Name, g.Inventories()[0].Schema
	if o.Scalars, err = scalarsOf(chosen); err != nil {
		return err
	}
	file, notes, err := operations.Draft(o)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(a.err, "docseek: "+note)
	}
	_, err = a.out.Write(file)
	return err
}

func (a *app) operationsTest(endpoint *string) *cobra.Command {
	var input string
	var confirm bool
	c := &cobra.Command{
		Use:   "test FILE --input JSON",
		Short: "Call an operation file once, show what happens, and record it as tested",
		Long: `Makes one real call, prints the request (secrets hidden), the raw answer and the
mapped result, and records the revision of the file in operations.lock.json beside
it. serve publishes the file while that revision stands there: test it again after
a change. A mutation changes real data and needs --confirm. With --json it prints
{"operation","endpoint","request":{"url","headers","body"},"data","errors","state",
"result","revision","recorded"}.`,
		Example: `  docseek --config docseek.yaml operations test operations/get_order.yaml --input '{"number": "A-1"}'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := json.RawMessage(input)
			if file, ok := strings.CutPrefix(input, "@"); ok {
				text, err := a.readDocument(file)
				if err != nil {
					return err
				}
				given = json.RawMessage(text)
			}
			if !json.Valid(given) {
				return usagef("--input must be a JSON object")
			}
			return a.test(cmd.Context(), args[0], *endpoint, given, confirm)
		},
	}
	c.Flags().StringVar(&input, "input", "{}", "the tool's arguments: a `JSON` object, or @FILE with one")
	c.Flags().BoolVar(&confirm, "confirm", false, "call a mutation, which changes real data")
	return c
}

func (a *app) test(ctx context.Context, name, endpoint string, input json.RawMessage, confirm bool) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext != ".yaml" && ext != ".yml" {
		return usagef("%s is no operation file (.yaml): annotated documents are published without a test", name)
	}
	all, err := a.approved(ctx, endpoint, nil)
	if err != nil {
		return err
	}
	defer all.Close()
	// A schema that cannot be had is no obstacle to a call.
	op, file, faults, err := all.LoadFile(endpoint, path)
	if errors.Is(err, os.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if op == nil {
		return a.printFaults(faults, false)
	}
	if op.Type == operations.Mutation && !confirm {
		return usagef("%s is a mutation and changes real data: give --confirm to call it", op.Name)
	}
	result, err := all.Try(ctx, op, input)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all.endpoints, func(g config.GraphQL) bool { return g.Name == op.Endpoint })
	tried := trial{
		Operation: op.Name, Endpoint: op.Endpoint, Data: result.Data, Errors: result.Errors, State: result.State,
		Result: result.Object(), Revision: op.Revision, Recorded: !result.Failed(),
		Request: sentRequest(all.endpoints[at], all.config.AuthProfiles, op, result),
	}
	if tried.Recorded {
		if err := record(ctx, path, op, file.Text, all.endpoints[at].URL); err != nil {
			return err
		}
	}
	return a.printTrial(tried, result.Hint)
}

// record adds a test to the lock beside an operation file. Tests that end at the
// same time wait for one another.
func record(ctx context.Context, path string, op *operations.Operation, text, url string) (err error) {
	name, err := filepath.Abs(filepath.Join(filepath.Dir(path), operations.LockName))
	if err != nil {
		return fmt.Errorf("record the test: %w", err)
	}
	// Not beside the file, where it would be committed.
	turn := flock.New(filepath.Join(os.TempDir(), fmt.Sprintf("docseek-%x.lock", sha256.Sum256([]byte(name)))))
	if _, err := turn.TryLockContext(ctx, recordPause); err != nil {
		return fmt.Errorf("record the test: wait for another one: %w", err)
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	before, err := os.ReadFile(name) //nolint:gosec // it stands beside a file that the user names
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("record the test: %w", err)
	}
	lock, err := operations.ReadLock(before)
	if err != nil {
		return fmt.Errorf("record the test: %w", err)
	}
	return writeFile(name, lock.Record(op.Name, text, url, op.AuthProfile).Text())
}

// recordPause is the time between two looks whether another test is recorded.
const recordPause = 5 * time.Millisecond

// trial is a test call as it is printed.
type trial struct {
	Operation string           `json:"operation"`
	Endpoint  string           `json:"endpoint"`
	Request   *request         `json:"request"`
	Data      json.RawMessage  `json:"data,omitempty"`
	Errors    []execute.Fault  `json:"errors"`
	State     operations.State `json:"state"`
	Result    json.RawMessage  `json:"result,omitempty"`
	Revision  string           `json:"revision"`
	Recorded  bool             `json:"recorded"`
}

// request is what was sent, credentials hidden.
type request struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
}

// sentRequest is the request of a result; nil if nothing was sent. Of the headers
// that the configuration adds only the names are told.
func sentRequest(g config.GraphQL, profiles map[string]config.AuthProfile, op *operations.Operation, result operations.Result) *request {
	if result.Sent == nil {
		return nil
	}
	const hidden = "(hidden)"
	address, _, query := strings.Cut(g.URL, "?")
	if query {
		address += "?" + hidden
	}
	r := &request{URL: address, Headers: map[string]string{}, Body: result.Sent}
	for name := range g.Headers {
		r.Headers[name] = hidden
	}
	if op.AuthProfile != "" {
		r.Headers[profiles[op.AuthProfile].HeaderName()] = hidden
	}
	for name, values := range result.Sent.Header {
		r.Headers[name] = strings.Join(values, ", ")
	}
	return r
}

func (a *app) printTrial(t trial, hint string) error {
	if a.json {
		if err := a.printJSON(t); err != nil {
			return err
		}
	} else if err := a.printTrialText(t, hint); err != nil {
		return err
	}
	if !t.Recorded {
		return &reportedError{errors.New("the operation failed")}
	}
	return nil
}

func (a *app) printTrialText(t trial, hint string) error {
	var b bytes.Buffer
	part := func(title string, value any) error {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("print the %s: %w", title, err)
		}
		b.WriteString(title + "\n")
		if err := json.Indent(&b, encoded, "", "  "); err != nil {
			return fmt.Errorf("print the %s: %w", title, err)
		}
		b.WriteString("\n")
		return nil
	}
	if t.Request != nil {
		if err := part("request", t.Request); err != nil {
			return err
		}
	}
	if t.Data != nil {
		if err := part("answer", t.Data); err != nil {
			return err
		}
	}
	if t.Result != nil {
		if err := part("result: "+string(t.State), t.Result); err != nil {
			return err
		}
	}
	if _, err := b.WriteTo(a.out); err != nil {
		return err
	}
	for _, f := range t.Errors {
		fmt.Fprintln(a.err, "docseek: "+f.String())
	}
	if hint != "" {
		fmt.Fprintln(a.err, "docseek: "+hint)
	}
	if t.Recorded {
		fmt.Fprintf(a.err, "recorded the revision %s of %s in %s\n", t.Revision[:12], t.Operation, operations.LockName)
	} else {
		fmt.Fprintf(a.err, "docseek: %s failed (%s) and is not recorded as tested\n", t.Operation, t.State)
	}
	return nil
}
