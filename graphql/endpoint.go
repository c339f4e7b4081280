package graphql

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Loader gets an endpoint's schema: a [File] or an [Introspection].
type Loader interface {
	Load(ctx context.Context) (*Schema, Report, error)
}

// File loads a schema from SDL or introspection JSON on disk.
type File struct {
	Path    string
	Options Options
}

// Load reads the file.
func (f File) Load(context.Context) (*Schema, Report, error) {
	s, err := LoadFile(f.Path, f.Options)
	return s, Report{}, err
}

// Introspection loads a schema from the endpoint itself. The rung that worked
// is where the next time begins.
type Introspection struct {
	caller  Caller
	origin  string
	options Options
	known   atomic.Pointer[Rung]
}

// NewIntrospection asks by the caller, whose answers may have up to
// [IntrospectionMaxResponse] bytes. The origin is what the schema is called by,
// usually the endpoint's address.
func NewIntrospection(c Caller, origin string, o Options) *Introspection {
	return &Introspection{caller: c, origin: origin, options: o}
}

// Load introspects. Where the rung that worked before fails, all are tried.
func (i *Introspection) Load(ctx context.Context) (*Schema, Report, error) {
	from := Rung{}
	if known := i.known.Load(); known != nil {
		from = *known
	}
	s, report, err := Introspect(ctx, i.caller, from, i.origin, i.options)
	if err != nil {
		i.known.Store(nil)
		return nil, report, err
	}
	i.known.Store(report.Rung)
	return s, report, nil
}

// Snapshot is one state of an endpoint: the schema and all that was made of it.
// It does not change.
type Snapshot[T any] struct {
	Schema *Schema
	Report Report
	// Value is what the endpoint's build made of the schema.
	Value T
	// LoadedAt is when the schema was read that the snapshot is of.
	LoadedAt time.Time
}

// Status says how an endpoint does.
type Status struct {
	// LoadedAt is when the present snapshot was made; zero while there is none.
	LoadedAt time.Time
	// CheckedAt is when the last load ended, with or without success.
	CheckedAt time.Time
	// Err is why the last load failed; nil if it succeeded. The snapshot before it stays.
	Err error
	// Report is that of the last load.
	Report Report
}

// EndpointOptions say how an endpoint is kept fresh.
type EndpointOptions struct {
	// Name is the endpoint's name in the log.
	Name string
	// Poll is the time between loads; 0 means that only [Endpoint.Reload] loads.
	Poll time.Duration
	// Retry is the first wait after a failed load; it doubles up to Poll. 0 means five seconds.
	Retry time.Duration
	// Logger takes what happens; nil means nothing is logged.
	Logger *slog.Logger
	// Loaded is called after every load, whether or not it succeeded; it may be nil.
	Loaded func(context.Context)
}

// Endpoint holds the present snapshot of one API. Schema and what is made of it
// (an index, tools, documents) are swapped as one: who takes a snapshot sees one
// state for as long as it is held. It is safe for concurrent use.
type Endpoint[T any] struct {
	loader  Loader
	build   Build[T]
	options EndpointOptions
	current atomic.Pointer[Snapshot[T]]
	status  atomic.Pointer[Status]
	loading sync.Mutex
}

// Build makes of a schema what hangs on the snapshot. It is called on every
// load; before is the present snapshot or nil, and before.Schema is the same
// pointer as the schema where nothing changed in it, so that what depends on the
// schema alone can be taken over. An error keeps the present snapshot.
type Build[T any] func(ctx context.Context, schema *Schema, before *Snapshot[T]) (T, error)

// NewEndpoint makes an endpoint without a snapshot: see [Endpoint.Reload] and [Endpoint.Run].
func NewEndpoint[T any](l Loader, build Build[T], o EndpointOptions) *Endpoint[T] {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Retry <= 0 {
		o.Retry = 5 * time.Second
	}
	e := &Endpoint[T]{loader: l, build: build, options: o}
	e.status.Store(&Status{})
	return e
}

// Snapshot is the present state; nil while no load has succeeded.
func (e *Endpoint[T]) Snapshot() *Snapshot[T] { return e.current.Load() }

// Status says how the last load went.
func (e *Endpoint[T]) Status() Status { return *e.status.Load() }

// Reload loads the schema and swaps the snapshot. When it fails, the present
// snapshot stays. Loads are one after the other.
func (e *Endpoint[T]) Reload(ctx context.Context) error {
	if e.options.Loaded != nil {
		defer e.options.Loaded(ctx)
	}
	e.loading.Lock()
	defer e.loading.Unlock()
	before := e.current.Load()
	next, report, err := e.load(ctx, before)
	status := Status{CheckedAt: time.Now(), Report: report, Err: err}
	log := e.options.Logger.With(slog.String("endpoint", e.options.Name))
	if err != nil {
		if before != nil {
			status.LoadedAt = before.LoadedAt
		}
		e.status.Store(&status)
		log.LogAttrs(ctx, slog.LevelWarn, "schema not loaded", slog.Any("error", err), slog.Bool("previous_stays", before != nil))
		return err
	}
	status.LoadedAt = next.LoadedAt
	e.current.Store(next)
	e.status.Store(&status)
	if before == nil || before.Schema != next.Schema {
		log.LogAttrs(ctx, slog.LevelInfo, "schema loaded", attributes(next.Schema, report)...)
		for _, w := range next.Schema.Warnings() {
			log.LogAttrs(ctx, slog.LevelWarn, "schema has a fault", slog.String("fault", w.String()))
		}
	}
	return nil
}

func attributes(s *Schema, r Report) []slog.Attr {
	attrs := []slog.Attr{
		slog.Int("types", len(s.Names())), slog.Int("warnings", len(s.Warnings())), slog.String("hash", s.Hash()[:12]),
	}
	if r.Rung != nil {
		attrs = append(attrs, slog.String("introspection", r.Rung.String()), slog.Int("requests", r.Requests))
	}
	return attrs
}

func (e *Endpoint[T]) load(ctx context.Context, before *Snapshot[T]) (*Snapshot[T], Report, error) {
	schema, report, err := e.loader.Load(ctx)
	if err != nil {
		return nil, report, err
	}
	next := &Snapshot[T]{Schema: schema, Report: report, LoadedAt: time.Now()}
	if before != nil && before.Schema.Hash() == schema.Hash() && slices.Equal(before.Schema.Warnings(), schema.Warnings()) {
		next.Schema, next.LoadedAt = before.Schema, before.LoadedAt
	}
	if next.Value, err = e.build(ctx, next.Schema, before); err != nil {
		return nil, report, fmt.Errorf("use the schema of %s: %w", e.options.Name, err)
	}
	return next, report, nil
}

// Run loads at once if there is no snapshot yet, then every Poll, until ctx
// ends. After a failed load it tries again sooner.
func (e *Endpoint[T]) Run(ctx context.Context) {
	failures := 0
	for {
		wait := e.options.Poll
		switch {
		case failures > 0:
			wait = e.backoff(failures)
		case e.Snapshot() == nil:
			wait = 0
		case wait <= 0:
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if e.Reload(ctx) == nil {
			failures = 0
		} else {
			failures++
		}
	}
}

// backoff is the wait after a number of failures in a row.
func (e *Endpoint[T]) backoff(failures int) time.Duration {
	most := longest
	if e.options.Poll > 0 {
		most = e.options.Poll
	}
	return min(e.options.Retry<<min(failures-1, 10), most)
}
