// Package local is the store on disk: one directory, no server.
//
// The truth is one SQLite database in WAL mode. What a search needs is held in
// memory beside it: segments with a flat matrix of vectors and an inverted
// index, and for the state that readers get, which of their pages are visible.
// A commit adds a segment with the new rows only; texts stay on disk and are
// read for the winners. Vectors are compared one and all, so the dense list is
// exact and so are the filters.
//
// Memory per chunk is 4 bytes per dimension, 6 per lexical term and about 50
// beside.
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// defaultKeep is long enough for an agent to ask for the next page of an answer.
const defaultKeep = 10 * time.Minute

// Options are what a store can be told. The zero value is good.
type Options struct {
	// Logger hears of what goes wrong in the background. Nil means nobody.
	Logger *slog.Logger
	// Keep is how long readers of an earlier state can go on after commits have
	// replaced what they see; 0 means ten minutes. What the live generation
	// itself replaced is kept anyway.
	Keep time.Duration
}

// Store is a search.Store on one directory. Several processes may open one.
type Store struct {
	dir  string
	db   *database
	log  *slog.Logger
	keep time.Duration
	dot  func(x, y []float32) float32
	sums sync.Pool // of *[1 << 16]float64: a zero per row of a segment

	current atomic.Pointer[snapshot]
	loading sync.Mutex // held to replace current

	recentMu sync.Mutex
	recent   []*snapshot // newest first

	kick    chan struct{} // wakes the watcher
	stop    context.CancelFunc
	watched chan struct{} // closed when the watcher has ended
}

var _ search.Store = (*Store)(nil)

// Open opens the store in a directory, which it creates if need be, and loads
// its present state.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir:     dir,
		db:      db,
		log:     opts.Logger,
		keep:    opts.Keep,
		dot:     dotProduct(),
		sums:    sync.Pool{New: func() any { return new([1 << 16]float64) }},
		kick:    make(chan struct{}, 1),
		watched: make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.keep == 0 {
		s.keep = defaultKeep
	}
	if err := s.refresh(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("load the index: %w", err), db.close())
	}
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return nil, errors.Join(db.explain("watch", err), db.close())
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.watch(watching, conn)
	return s, nil
}

// Close ends the store. Writers that are still open lose what they wrote.
func (s *Store) Close() error {
	s.stop()
	<-s.watched
	return s.db.close()
}

// Reader implements search.Store. It costs one atomic load.
func (s *Store) Reader(context.Context) (search.Reader, error) {
	return &reader{store: s, snapshot: s.current.Load()}, nil
}

// ReaderAt implements search.Store for the present state and for recent ones of
// this process.
func (s *Store) ReaderAt(_ context.Context, key string) (search.Reader, error) {
	s.recentMu.Lock()
	defer s.recentMu.Unlock()
	i := slices.IndexFunc(s.recent, func(r *snapshot) bool { return r.key() == key })
	if i < 0 {
		return nil, fmt.Errorf("read state %.80q: %w", key, search.ErrStale)
	}
	return &reader{store: s, snapshot: s.recent[i]}, nil
}

// Rollback implements search.Store. It fails with a LockedError while a run
// holds the source.
func (s *Store) Rollback(ctx context.Context, source string) (previous uint64, err error) {
	if err := search.CheckSourceName(source); err != nil {
		return 0, err
	}
	lock, err := lockSource(ctx, s.dir, source, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	err = s.db.update(ctx, true, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil {
			return err
		}
		live, err := liveGeneration(ctx, tx, source, rec.State)
		if err != nil {
			return err
		}
		if live.previous == 0 {
			return fmt.Errorf("roll back source %s: no generation is kept before the live one: %w", source, search.ErrNotFound)
		}
		previous = live.previous
		rec.hide(live.num)
		rec.seq++
		if _, err := tx.ExecContext(ctx, "UPDATE generations SET hidden_seq = ? WHERE num = ?", rec.seq, live.num); err != nil {
			return fmt.Errorf("roll back source %s: %w", source, err)
		}
		return rec.write(ctx, tx)
	})
	if err != nil {
		return 0, err
	}
	s.published(ctx)
	return previous, nil
}

// published shows a change of the state to the readers of this process at once.
func (s *Store) published(ctx context.Context) {
	if err := s.refresh(context.WithoutCancel(ctx)); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "index not refreshed", slog.Any("error", err))
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// generation is a committed generation of a source.
type generation struct {
	num, previous, set uint64
	fingerprint        string
}

// liveGeneration finds what a state shows of a source, or ErrNotFound.
func liveGeneration(ctx context.Context, tx *sql.Tx, source string, state search.State) (generation, error) {
	rows, err := tx.QueryContext(ctx, `SELECT g.num, g.previous, g.set_id, t.fingerprint
		FROM generations g JOIN sources s ON s.id = g.source_id JOIN sets t ON t.id = g.set_id
		WHERE s.name = ? AND g.seq > 0 ORDER BY g.num DESC`, source)
	if err != nil {
		return generation{}, fmt.Errorf("find the live generation of %s: %w", source, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var g generation
		if err := rows.Scan(&g.num, &g.previous, &g.set, &g.fingerprint); err != nil {
			return generation{}, fmt.Errorf("find the live generation of %s: %w", source, err)
		}
		if state.Visible(g.num, 0) {
			return g, nil
		}
	}
	if err := rows.Err(); err != nil {
		return generation{}, fmt.Errorf("find the live generation of %s: %w", source, err)
	}
	return generation{}, fmt.Errorf("find the live generation of %s: %w", source, search.ErrNotFound)
}

// encodeTime and decodeTime keep times as Unix nanoseconds, 0 for the zero time.
func encodeTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func decodeTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// begin is the part of Begin that runs under the source's lock.
func (s *Store) begin(ctx context.Context, source docseek.Source, fingerprint string) (*writer, error) {
	if err := s.sweep(ctx, source.Name); err != nil {
		return nil, err
	}
	w := &writer{store: s, source: source, fingerprint: fingerprint, checks: make(map[string]search.PageCheck), touched: make(map[string]bool)}
	if err := s.db.update(ctx, true, func(tx *sql.Tx) error { return w.draw(ctx, tx) }); err != nil {
		return nil, err
	}
	// Another process may have made the live generation a moment ago.
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	w.live = &reader{store: s, snapshot: s.current.Load(), held: true}
	return w, nil
}

// Begin implements search.Store.
func (s *Store) Begin(ctx context.Context, source docseek.Source, fingerprint string, wait bool) (search.Writer, error) {
	if err := search.CheckSourceName(source.Name); err != nil {
		return nil, err
	}
	lock, err := lockSource(ctx, s.dir, source.Name, wait)
	if err != nil {
		return nil, err
	}
	w, err := s.begin(ctx, source, fingerprint)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin a run of source %s: %w", source.Name, err), lock.release())
	}
	w.lock = lock
	return w, nil
}
