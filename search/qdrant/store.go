// Package qdrant is the store on a Qdrant server, for an index that one machine
// does not hold or that several servers answer from.
//
// Chunks stand in one collection for each fingerprint, with a dense vector and
// the lexical one; those that are not embedded (yet) stand in a collection that
// has no dense vectors. Everything else is in one small collection without
// vectors: page records, generations, statistics, sources, leases, and the
// record that says which generations are visible. That record changes by
// comparing and setting (a conditional write, Qdrant 1.16), so that publishing
// is one write, and whoever holds one sees one index.
//
// Nothing that a process writes late can be seen: what it writes carries its
// run's number, which is published by that run's commit or never.
package qdrant

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

const (
	defaultCollection = "docseek"
	// defaultKeep is long enough for an agent to ask for the next page of an answer.
	defaultKeep = 10 * time.Minute
	// defaultTerm is how long a source stays taken when its run is killed. A server
	// that is overloaded may take seconds to renew a lease.
	defaultTerm     = 30 * time.Second
	defaultPatience = time.Minute
	// defaultOversampling is enough for a byte per dimension, and for a bit where
	// there are many of them.
	defaultOversampling = 3
)

// Quantization is how vectors are kept in memory beside their exact form, which
// the best are compared by again.
type Quantization string

// The kinds of quantization.
const (
	None   Quantization = "none"
	Scalar Quantization = "scalar" // a byte for each dimension
	Binary Quantization = "binary" // a bit for each dimension
)

// ReadConsistency is how many replicas of a shard a search asks, by Qdrant's names.
type ReadConsistency string

// The kinds of read consistency.
const (
	// AnyReplica takes one replica's word: searches go on while each shard has one.
	AnyReplica ReadConsistency = "any"
	// QuorumReplicas finds what more than half of the replicas agree on.
	QuorumReplicas ReadConsistency = "quorum"
	// MajorityReplicas asks all of them, and finds what more than half have.
	MajorityReplicas ReadConsistency = "majority"
	// AllReplicas finds what all of them have.
	AllReplicas ReadConsistency = "all"
)

// Options are what a store can be told.
type Options struct {
	// URL is http://host:port or https://host:port of the server's gRPC interface;
	// without a port it is 6334.
	URL string
	// APIKey is sent with every request.
	APIKey string
	// TLS is used for https; nil means the system's certificates.
	TLS *tls.Config
	// Collection begins the names of all collections; empty means docseek.
	Collection string
	// Shards and Replicas are those of collections that are made; 0 leaves them to
	// the server. With replicas, what decides on runs and commits has three of its
	// own or more, see docs/adr/0014.
	Shards, Replicas uint32
	// WriteConsistency is how many replicas have to have written before a write
	// counts, in collections that are made; 0 leaves it to the server.
	WriteConsistency uint32
	// ReadConsistency is how many replicas have to agree on what a search finds;
	// empty means AnyReplica.
	ReadConsistency ReadConsistency
	// Quantization is that of collections that are made; empty means None.
	Quantization Quantization
	// Oversampling is how many times more candidates than asked for are taken by
	// their quantized vectors, to be compared by the exact ones; 0 means 3.
	Oversampling float64
	// OnDisk keeps vectors and texts of collections that are made on disk.
	OnDisk bool
	// Logger hears of what goes wrong in the background. Nil means nobody.
	Logger *slog.Logger
	// Keep is how long readers of an earlier state can go on after commits have
	// replaced what they see; 0 means ten minutes. What the live generation itself
	// replaced is kept anyway.
	Keep time.Duration
	// Term is after how long a run that is not heard of loses its source; 0 means
	// 30 s.
	Term time.Duration
	// Patience is how long a run waits for a server that is down before it fails;
	// 0 means a minute.
	Patience time.Duration
}

// Store is a search.Store on a Qdrant server. Several processes may open one.
type Store struct {
	options Options
	remote  remote
	now     func() time.Time

	preparing gate
	prepared  atomic.Bool

	current atomic.Pointer[sighting]
	loading gate // held to replace current

	seenMu sync.Mutex
	seen   record             // as it was looked at last
	moving map[step]time.Time // since when a step is seen

	recentMu sync.Mutex
	recent   []*snapshot // newest first
	caches   caches
}

var _ search.Store = (*Store)(nil)

// Open prepares a store. The server is asked with the first use: while it is
// down, that fails with ErrUnreachable, and works once it is up.
func Open(o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Collection == "" {
		o.Collection = defaultCollection
	}
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	if o.Term == 0 {
		o.Term = defaultTerm
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Oversampling == 0 {
		o.Oversampling = defaultOversampling
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`).MatchString(o.Collection) {
		return nil, fmt.Errorf("the prefix of collections must be 1 to 100 of A-Z, a-z, 0-9, '_', '.' and '-' (got %q)", o.Collection)
	}
	r, err := dial(o)
	if err != nil {
		return nil, err
	}
	return &Store{options: o, remote: r, now: time.Now, preparing: newGate(), loading: newGate(), caches: newCaches()}, nil
}

// gate lets one through at a time; who waits for a slow server before it can give
// up.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the Qdrant server: %w", whyEnded(ctx))
	}
}

func (g gate) leave() { <-g }

// prepare makes sure, once, that the server can do what is needed and that the
// collections are ours.
func (s *Store) prepare(ctx context.Context) error {
	if s.prepared.Load() {
		return nil
	}
	if err := s.preparing.enter(ctx); err != nil {
		return err
	}
	defer s.preparing.leave()
	if s.prepared.Load() {
		return nil
	}
	if err := s.remote.checkVersion(ctx); err != nil {
		return err
	}
	for _, c := range []collection{{name: s.meta(), role: roleMeta}, {name: s.plain(), role: rolePlain}} {
		if err := s.ensure(ctx, c); err != nil {
			return err
		}
	}
	if _, err := s.readRecord(ctx, s.remote); errors.Is(err, errNoState) {
		if err := s.checkUnused(ctx); err != nil {
			return err
		}
		if err := s.writeFirst(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	s.prepared.Store(true)
	return nil
}

// checkUnused fails when there are chunks without a state: of an index whose small
// collection was deleted. A new state would give their numbers out again, and show
// them.
func (s *Store) checkUnused(ctx context.Context) error {
	names, err := call(ctx, s.remote, "list the collections", s.remote.ListCollections)
	if err != nil {
		return err
	}
	set := regexp.MustCompile(`^` + regexp.QuoteMeta(s.options.Collection) + `_[0-9a-f]{16}(_[0-9]+)?$`)
	for _, name := range names {
		if name != s.plain() && !set.MatchString(name) {
			continue
		}
		found, err := s.remote.count(ctx, name, nil)
		if err != nil {
			return err
		}
		if found == 0 {
			continue
		}
		if _, err := s.readRecord(ctx, s.remote); err == nil { // another process has just begun
			return nil
		}
		return fmt.Errorf("collection %s has %d chunks of an index whose collection %s was deleted: restore that from a snapshot, or delete %s and reindex, or set another store.collection", name, found, s.meta(), name)
	}
	return nil
}

// unprepare lets the next use make the collections anew, when an error says that
// they were deleted meanwhile.
func (s *Store) unprepare(err error) {
	if notFound(err) {
		s.prepared.Store(false)
	}
}

// Close ends the store. Writers that are still open lose what they wrote.
func (s *Store) Close() error {
	if err := s.remote.Close(); err != nil {
		return fmt.Errorf("close the connections to %s: %w", s.remote.address, err)
	}
	return nil
}

// Reader implements search.Store.
func (s *Store) Reader(ctx context.Context) (search.Reader, error) {
	now, err := s.fresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	return &reader{store: s, snapshot: now}, nil
}

// ReaderAt implements search.Store for the present state and recent ones.
func (s *Store) ReaderAt(ctx context.Context, key string) (search.Reader, error) {
	found, err := s.recall(ctx, key)
	if err != nil {
		return nil, err
	}
	r := &reader{store: s, snapshot: found}
	if now, err := s.look(ctx); err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	} else if found.Name != now.Name || found.Seq < now.Floor {
		return nil, fmt.Errorf("read state %.80q: %w", key, search.ErrStale)
	}
	return r, nil
}

// Begin implements search.Store.
func (s *Store) Begin(ctx context.Context, source docseek.Source, fingerprint string, wait bool) (search.Writer, error) {
	if err := search.CheckSourceName(source.Name); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("begin a run of source %s: %w", source.Name, err)
	}
	lease, err := s.acquire(ctx, source.Name, wait)
	if err != nil {
		return nil, err
	}
	w, err := s.begin(ctx, lease, source, fingerprint)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin a run of source %s: %w", source.Name, err), lease.release(ctx))
	}
	return w, nil
}

// Rollback implements search.Store. It fails with a LockedError while a run
// holds the source.
func (s *Store) Rollback(ctx context.Context, source string) (previous uint64, err error) {
	if err := search.CheckSourceName(source); err != nil {
		return 0, err
	}
	if err := s.prepare(ctx); err != nil {
		return 0, err
	}
	lease, err := s.acquire(ctx, source, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lease.release(ctx)) }()
	now, err := s.refresh(ctx)
	if err != nil {
		return 0, err
	}
	live := now.generations[source]
	kept, err := s.published(ctx, source, now.visible)
	if err != nil {
		return 0, err
	}
	if live.Previous == 0 || len(kept) < 2 || kept[len(kept)-2].N != live.Previous {
		return 0, fmt.Errorf("roll back source %s: no generation is kept before the live one: %w", source, search.ErrNotFound)
	}
	// What the one before replaced need not be there any more.
	before := kept[len(kept)-2]
	before.Previous = 0
	if err := s.writeGeneration(ctx, before); err != nil {
		return 0, fmt.Errorf("roll back source %s: %w", source, err)
	}
	if err := lease.check(); err != nil {
		return 0, fmt.Errorf("roll back source %s: %w", source, err)
	}
	if _, err := s.change(ctx, func(r *record) error {
		r.close(source)
		r.Seq++
		r.hide(hidden{N: live.N, Source: source, In: collections(live.Set, before.Set), Seq: r.Seq})
		return nil
	}); err != nil {
		return 0, fmt.Errorf("roll back source %s: %w", source, err)
	}
	s.announce(ctx)
	return before.N, nil
}

// announce shows a change of the state to the readers of this process at once.
func (s *Store) announce(ctx context.Context) {
	if _, err := s.refresh(context.WithoutCancel(ctx)); err != nil {
		s.warn(ctx, "index not refreshed", err)
	}
}

func (s *Store) warn(ctx context.Context, message string, err error) {
	s.options.Logger.LogAttrs(ctx, slog.LevelWarn, message, slog.Any("error", err)) //nolint:sloglint // the callers' messages are constant
}

func generationID(n uint64) *qdrant.PointId { return pointID(kindGeneration, number(n)) }

// writeGeneration writes a generation's point.
func (s *Store) writeGeneration(ctx context.Context, g generation) error {
	encoded, err := encode(g)
	if err != nil {
		return fmt.Errorf("encode generation %d: %w", g.N, err)
	}
	return s.remote.patient().upsert(ctx, s.meta(), []*qdrant.PointStruct{bare(generationID(g.N), payload{
		fieldKind: text(kindGeneration), fieldSource: text(g.Info.Source.Name), fieldFrom: count(g.N), fieldTo: count(0),
		"generation": encoded,
	})})
}
