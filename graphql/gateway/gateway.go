// Package gateway puts the GraphQL rooms together: it holds the endpoints that
// are configured, keeps the schema and the operations of each fresh, and answers
// what agents and the command line ask of them, within what each endpoint's
// policy allows.
package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/graphql/schemasearch"
)

// Config is one GraphQL API.
type Config struct {
	// Name identifies the endpoint.
	Name string
	// URL is its address.
	URL string
	// SchemaFile is the path of SDL or introspection JSON; empty means that the
	// endpoint is asked.
	SchemaFile string
	// Poll is the time between two looks at the schema; 0 means never again.
	Poll time.Duration
	// Documents says which documents may be executed; empty means none.
	Documents execute.Policy
	// Explore allows searching and inspecting the schema.
	Explore bool
	// Headers are sent with every request. They may hold secrets.
	Headers http.Header
	// Forward names the headers of a caller's request that are sent on.
	Forward []string
	// Limits bound a call.
	Limits execute.Limits
	// MaxResponse bounds an answer, in decoded bytes; 0 means the client's default.
	MaxResponse int64
	// Operations are patterns of the files that the approved operations are in.
	// "*", "?" and "[…]" stand for characters of a file's or folder's name, "**"
	// for any number of folders.
	Operations []string
	// Persisted says what is sent for an operation.
	Persisted operations.Persisted
	// RequireTest publishes an operation file only when its present revision
	// stands in the lock beside it.
	RequireTest bool
	// Strict lets a broken operation refuse the whole reload.
	Strict bool
	// Scalars are the JSON Schemas of custom scalars, by their names.
	Scalars map[string]json.RawMessage
}

// Options are what all endpoints share.
type Options struct {
	// Log is needed.
	Log *slog.Logger
	// Transport carries the requests; nil means the proxy and certificates of
	// the environment.
	Transport http.RoundTripper
	// Wrap, where there is one, puts something around what carries the requests
	// of an endpoint.
	Wrap func(endpoint string, next http.RoundTripper) http.RoundTripper
	// Patience is how long a call waits for a schema that is being loaded for
	// the first time; 0 means 10 s.
	Patience time.Duration
	// AuthProfiles are the credentials that operations may name.
	AuthProfiles map[string]operations.AuthProfile
	// Reserved are names that no operation may have: those of other tools.
	Reserved []string
	// Base is a folder whose files are called by their path from there; empty
	// means that all files are called by their whole path.
	Base string
	// MaxOperations is how many published operations are warned of; 0 means never.
	MaxOperations int
}

// Gateway answers for its endpoints. Its methods may be called concurrently.
type Gateway struct {
	endpoints []*endpoint
	options   Options

	updating  sync.Mutex // held while a snapshot is swapped and what is published with it
	published atomic.Pointer[catalogue]
	changed   func()
}

// endpoint is one API at work.
type endpoint struct {
	Config
	schema   *graphql.Endpoint[*schemasearch.Index]
	executor *execute.Executor
	runner   *operations.Runner
	clients  []*graphql.Client
	tried    chan struct{} // closed when schema and files were read once
	first    sync.Once

	current    atomic.Pointer[snapshot]
	report     atomic.Pointer[report]
	schemaFile atomic.Pointer[os.FileInfo] // as it was looked at last
}

// New makes a gateway. No schema is loaded until it runs: see [Gateway.Run] and
// [Gateway.Reload].
func New(configs []Config, o Options) (*Gateway, error) {
	if o.Log == nil {
		return nil, errors.New("make a gateway: Log is needed")
	}
	o.Patience = cmp.Or(max(o.Patience, 0), 10*time.Second)
	g := &Gateway{options: o}
	g.published.Store(&catalogue{})
	for _, c := range configs {
		e, err := g.newEndpoint(c)
		if err != nil {
			return nil, fmt.Errorf("endpoint %s: %w", c.Name, err)
		}
		g.endpoints = append(g.endpoints, e)
	}
	return g, nil
}

func (g *Gateway) newEndpoint(c Config) (*endpoint, error) {
	o := g.options
	e := &endpoint{Config: c, tried: make(chan struct{})}
	e.report.Store(&report{})
	client := graphql.ClientOptions{
		URL: c.URL, Headers: c.Headers, Timeout: c.Limits.Timeout, MaxResponse: c.MaxResponse, Transport: o.Transport,
	}
	if o.Wrap != nil {
		client.Wrap = func(next http.RoundTripper) http.RoundTripper { return o.Wrap(c.Name, next) }
	}
	caller, err := graphql.NewClient(client)
	if err != nil {
		return nil, err
	}
	e.clients = append(e.clients, caller)
	var loader graphql.Loader = graphql.File{Path: c.SchemaFile}
	if c.SchemaFile == "" {
		client.Timeout, client.MaxResponse = graphql.IntrospectionTimeout, graphql.IntrospectionMaxResponse
		reader, err := graphql.NewClient(client)
		if err != nil {
			return nil, err
		}
		e.clients = append(e.clients, reader)
		loader = graphql.NewIntrospection(reader, reader.URL(), graphql.Options{})
	}
	e.executor, err = execute.New(execute.Options{
		Caller: caller, Policy: c.Documents, NoIntrospection: !c.Explore, Limits: c.Limits, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	e.runner, err = operations.NewRunner(operations.RunnerOptions{
		Caller: caller, URL: c.URL, Persisted: c.Persisted, AuthProfiles: o.AuthProfiles, Limits: c.Limits, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	shown := schemasearch.Options{Mutations: schemasearch.MutationsMarked}
	if c.Documents == execute.Write {
		shown.Mutations = schemasearch.MutationsPlain
	}
	build := func(_ context.Context, s *graphql.Schema, before *graphql.Snapshot[*schemasearch.Index]) (*schemasearch.Index, error) {
		if before != nil && before.Schema == s {
			return before.Value, nil
		}
		return schemasearch.New(s, shown), nil
	}
	e.schema = graphql.NewEndpoint(loader, build, graphql.EndpointOptions{Name: c.Name, Poll: c.Poll, Logger: o.Log, Loaded: func(ctx context.Context) {
		_ = g.update(ctx, e) // it is logged, and stands in the report
		e.first.Do(func() { close(e.tried) })
	}})
	return e, nil
}

// Run loads the schemas and keeps them fresh until ctx ends. Changes of files
// are looked for by [Gateway.Refresh].
func (g *Gateway) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, e := range g.endpoints {
		group.Go(func() {
			_ = e.reload(ctx) // the endpoint logs it, and tries again
			e.schema.Run(ctx)
		})
	}
	group.Wait()
}

// Close closes the connections that are idle.
func (g *Gateway) Close() {
	for _, e := range g.endpoints {
		for _, c := range e.clients {
			c.Close()
		}
	}
}

// Reload loads all schemas and operations now. What cannot be loaded stays as it was.
func (g *Gateway) Reload(ctx context.Context) error {
	return g.each(func(e *endpoint) error { return e.reload(ctx) })
}

// each does something on all endpoints at once.
func (g *Gateway) each(do func(*endpoint) error) error {
	errs := make([]error, len(g.endpoints))
	var group sync.WaitGroup
	for i, e := range g.endpoints {
		group.Go(func() { errs[i] = do(e) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (e *endpoint) reload(ctx context.Context) error {
	e.schemaFileChanged() // what is loaded now is no change any more
	return errors.Join(e.schema.Reload(ctx), e.report.Load().refusal)
}

// State says whether an endpoint has a schema.
type State string

// The states of an endpoint.
const (
	Loading     State = "loading"     // the schema is read for the first time
	Ready       State = "ready"       // the last load succeeded
	Stale       State = "stale"       // the last load failed, the schema before it is used
	Unavailable State = "unavailable" // there is no schema
)

// Info is what is known of an endpoint without asking it.
type Info struct {
	Name string
	// Documents says which documents may be executed.
	Documents execute.Policy
	// Explore says whether the schema may be searched and inspected.
	Explore bool
	State   State
	// Introspection says how the schema was asked for; empty where it is from a file.
	Introspection string
	// LoadedAt is when the schema was read; zero where there is none.
	LoadedAt time.Time
	// Operations says how its operations do; nil where none are configured.
	Operations *OperationsInfo
}

// Endpoints are the endpoints in the order of their configuration.
func (g *Gateway) Endpoints() []Info {
	all := make([]Info, len(g.endpoints))
	for i, e := range g.endpoints {
		all[i] = g.info(e)
	}
	return all
}

func (g *Gateway) info(e *endpoint) Info {
	info := Info{Name: e.Name, Documents: cmp.Or(e.Documents, execute.None), Explore: e.Explore, State: Ready}
	if len(e.Operations) > 0 {
		info.Operations = g.operationsInfo(e)
	}
	status, schema := e.schema.Status(), e.current.Load().schemaOf()
	switch {
	case schema == nil && status.Err == nil:
		info.State = Loading
		return info
	case schema == nil:
		info.State = Unavailable
		return info
	case status.Err != nil:
		info.State = Stale
	}
	info.LoadedAt = schema.LoadedAt
	if rung := schema.Report.Rung; rung != nil {
		info.Introspection = rung.String()
	}
	return info
}

// find selects an endpoint for something that not all may allow: by its name,
// or without one the only one that does.
func (g *Gateway) find(name string, allows func(*endpoint) bool, what string) (*endpoint, error) {
	var names []string
	var allowing []*endpoint
	for _, e := range g.endpoints {
		if allows(e) {
			allowing = append(allowing, e)
			names = append(names, e.Name)
		}
	}
	switch {
	case len(allowing) == 0:
		return nil, refuse("no GraphQL endpoint is configured that allows to %s", what)
	case name == "" && len(allowing) == 1:
		return allowing[0], nil
	case name == "":
		return nil, refuse("name the endpoint: one of %s", strings.Join(names, ", "))
	}
	if i := slices.Index(names, name); i >= 0 {
		return allowing[i], nil
	}
	return nil, refuse("there is no endpoint %q to %s on: use %s", name, what, strings.Join(names, ", "))
}

func refuse(format string, args ...any) error {
	return &execute.Error{Kind: execute.Refused, Message: fmt.Sprintf(format, args...)}
}

// explored is an endpoint's schema. While it is loaded for the first time, it
// is waited for.
func (g *Gateway) explored(ctx context.Context, e *endpoint) (*graphql.Snapshot[*schemasearch.Index], error) {
	if err := e.settle(ctx, g.options.Patience); err != nil {
		return nil, err
	}
	if s := e.current.Load().schemaOf(); s != nil {
		return s, nil
	}
	err := e.schema.Status().Err
	if err == nil {
		return nil, &execute.Error{Kind: execute.Unreachable, Message: fmt.Sprintf("the schema of %s is being loaded: call again in a few seconds", e.Name)}
	}
	return nil, &execute.Error{Kind: execute.Unreachable, Message: fmt.Sprintf("the schema of %s is not loaded: %v", e.Name, err), Err: err}
}

// settle waits until schema and files were read once, but no longer than patience.
func (e *endpoint) settle(ctx context.Context, patience time.Duration) error {
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-e.tried:
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
	}
	return nil
}
