package local

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/docseek/docseek/search"
)

const (
	// pollEvery is how often the commits of other processes are looked for.
	pollEvery = 200 * time.Millisecond
	// recentStates are kept for cursors, as long as the segments that only they
	// still need stay within recentBytes.
	recentStates = 64
	recentBytes  = 32 << 20
	// mergeCount segments of about one size become one.
	mergeCount = 4
)

// snapshot is one state in memory. It never changes.
type snapshot struct {
	record
	views []*view
}

// count notes the snapshot's segments and returns what those take that were not
// noted yet.
func (s *snapshot) count(noted map[*segment]bool) (bytes int) {
	for _, v := range s.views {
		if !noted[v.segment] {
			noted[v.segment] = true
			bytes += v.bytes()
		}
	}
	return bytes
}

// refresh brings the snapshot in step with the file, at the cost of what changed.
func (s *Store) refresh(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	old := s.current.Load()
	var next *snapshot
	err := s.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil || (old != nil && old.seq == rec.seq) {
			return err
		}
		next, err = load(ctx, tx, old, rec)
		return err
	})
	if err != nil || next == nil {
		return err
	}
	s.current.Store(next)
	s.remember(next)
	return nil
}

// found is a page as a state has it.
type found struct {
	page
	fingerprint string
	visible     bool
}

const pageQuery = `SELECT p.id, p.first_chunk, p.chunks, p.embedded, s.name, p.url, p.version, p.language,
	p.gen_from, p.gen_to, p.indexed_at, p.modified, t.fingerprint, t.gen_from, t.gen_to
	FROM pages p JOIN sets t ON t.id = p.set_id JOIN sources s ON s.id = t.source_id `

// load makes the snapshot of rec from an earlier one, which may be nil.
func load(ctx context.Context, tx *sql.Tx, old *snapshot, rec record) (*snapshot, error) {
	next := &snapshot{record: rec}
	changed := make(map[int]*view) // the views that differ from the old snapshot's
	missing := make(map[string]map[int64]page)
	names := make(map[string]string)
	intern := func(s *string) {
		if have, ok := names[*s]; ok {
			*s = have
		} else {
			names[*s] = *s
		}
	}
	note := func(f found) {
		for i, v := range next.views {
			at, ok := v.find(f.id)
			if !ok {
				continue
			}
			if v.shown.has(at) != f.visible {
				if changed[i] == nil {
					changed[i] = &view{segment: v.segment, shown: slices.Clone(v.shown)}
					next.views[i] = changed[i]
				}
				next.views[i].shown.put(at, f.visible)
			}
			return
		}
		if !f.visible {
			return
		}
		for _, s := range []*string{&f.source, &f.version, &f.language, &f.fingerprint} {
			intern(s)
		}
		if missing[f.fingerprint] == nil {
			missing[f.fingerprint] = make(map[int64]page)
		}
		missing[f.fingerprint][f.id] = f.page
	}

	if old == nil || old.seq < rec.floor {
		if old != nil {
			for i, v := range old.views {
				changed[i] = &view{segment: v.segment, shown: newBitmap(len(v.pages))}
				next.views = append(next.views, changed[i])
			}
		}
		if err := findPages(ctx, tx, rec.State, "", nil, note); err != nil {
			return nil, err
		}
	} else {
		next.views = slices.Clone(old.views)
		for _, n := range turned(old.State, rec.State) {
			for _, where := range []string{
				"WHERE p.gen_from = ?", "WHERE p.gen_to = ?",
				"WHERE t.gen_from = ?", "WHERE t.gen_to = ?",
			} {
				if err := findPages(ctx, tx, rec.State, where, []any{n}, note); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, v := range changed {
		v.settle()
	}
	dims, err := readDims(ctx, tx)
	if err != nil {
		return nil, err
	}
	for fingerprint, pages := range missing {
		list := make([]page, 0, len(pages))
		for _, p := range pages {
			list = append(list, p)
		}
		views, err := readViews(ctx, tx, fingerprint, dims[fingerprint], list)
		if err != nil {
			return nil, err
		}
		next.views = append(next.views, views...)
	}
	next.views = slices.DeleteFunc(next.views, func(v *view) bool { return v.live == 0 })
	return next, nil
}

// turned are the numbers that one state hides and the other does not.
func turned(a, b search.State) []uint64 {
	numbers := slices.Concat(a.Hidden, b.Hidden)
	for n := min(a.Last, b.Last) + 1; n <= max(a.Last, b.Last); n++ {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	return slices.DeleteFunc(numbers, func(n uint64) bool { return a.Visible(n, 0) == b.Visible(n, 0) })
}

func findPages(ctx context.Context, tx *sql.Tx, state search.State, where string, args []any, note func(found)) error {
	rows, err := tx.QueryContext(ctx, pageQuery+where, args...)
	if err != nil {
		return fmt.Errorf("find the pages of the state: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var f found
		var to, setFrom, setTo uint64
		if err := rows.Scan(&f.id, &f.chunk, &f.n, &f.embedded, &f.source, &f.url, &f.version, &f.language,
			&f.generation, &to, &f.indexedAt, &f.modified, &f.fingerprint, &setFrom, &setTo); err != nil {
			return fmt.Errorf("read a page of the state: %w", err)
		}
		f.visible = state.Visible(setFrom, setTo) && state.Visible(f.generation, to)
		note(f)
	}
	return rows.Err()
}

// readDims returns the dimension of each fingerprint's vectors; 0 while it has none.
func readDims(ctx context.Context, tx *sql.Tx) (map[string]int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT fingerprint, max(dim) FROM sets GROUP BY fingerprint")
	if err != nil {
		return nil, fmt.Errorf("read the dimensions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	dims := make(map[string]int)
	for rows.Next() {
		var fingerprint string
		var dim int
		if err := rows.Scan(&fingerprint, &dim); err != nil {
			return nil, fmt.Errorf("read the dimensions: %w", err)
		}
		dims[fingerprint] = dim
	}
	return dims, rows.Err()
}

// readViews reads the pages into segments that show all of them.
func readViews(ctx context.Context, tx *sql.Tx, fingerprint string, dim int, pages []page) ([]*view, error) {
	slices.SortFunc(pages, func(a, b page) int { return int(a.id - b.id) })
	query, err := tx.PrepareContext(ctx, "SELECT key, lexical, dense FROM vectors WHERE chunk_id >= ? AND chunk_id < ? ORDER BY chunk_id")
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	defer func() { _ = query.Close() }()
	var spans [][]page
	for rest := pages; len(rest) > 0; {
		n, rows := 0, 0
		for n < len(rest) && rows < segmentRows {
			rows += rest[n].n
			n++
		}
		spans = append(spans, rest[:n])
		rest = rest[n:]
	}
	views := make([]*view, len(spans))
	var building sync.WaitGroup
	defer building.Wait()
	for i, span := range spans {
		b := newBuilder(fingerprint, dim, span)
		for _, p := range span {
			if err := readRows(ctx, query, p, b); err != nil {
				return nil, fmt.Errorf("read the vectors of %s: %w", p.url, err)
			}
		}
		building.Wait()
		building.Go(func() { views[i] = newView(b.build()) }) // the next one is read meanwhile
	}
	building.Wait()
	return views, nil
}

var errRows = fmt.Errorf("chunks of a page are missing: %w", errDamaged)

func readRows(ctx context.Context, query *sql.Stmt, p page, b *builder) error {
	rows, err := query.QueryContext(ctx, p.chunk, p.chunk+int64(p.n))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	n := 0
	var key, lexical, dense sql.RawBytes
	for ; rows.Next(); n++ {
		if err := rows.Scan(&key, &lexical, &dense); err != nil {
			return err
		}
		if err := b.addRow(key, lexical, dense); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n != p.n {
		return errRows
	}
	return nil
}

// remember keeps the snapshot for readers that come back with its key.
func (s *Store) remember(next *snapshot) {
	s.recentMu.Lock()
	defer s.recentMu.Unlock()
	kept := []*snapshot{next}
	noted := make(map[*segment]bool)
	next.count(noted)
	extra := 0
	for _, old := range s.recent {
		if old.seq == next.seq {
			continue
		}
		extra += old.count(noted)
		if len(kept) == recentStates || extra > recentBytes {
			break
		}
		kept = append(kept, old)
	}
	s.recent = kept
}

// watch looks for the commits of other processes and merges segments, until the
// store is closed.
func (s *Store) watch(ctx context.Context, conn *sql.Conn) {
	defer close(s.watched)
	defer func() { _ = conn.Close() }()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last, failing, seen := int64(-1), "", s.current.Load()
	for {
		// The number changes when another connection has written
		// (https://www.sqlite.org/pragma.html#pragma_data_version).
		var version int64
		err := s.db.present()
		if err == nil {
			err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
		}
		if err == nil && version != last {
			if err = s.refresh(ctx); err == nil {
				last = version
			}
		}
		if err == nil {
			err = s.merge(ctx)
		}
		if err == nil || ctx.Err() != nil {
			failing = ""
		} else if err.Error() != failing { // said once, not at every look
			failing = err.Error()
			s.log.LogAttrs(ctx, slog.LevelWarn, "index not refreshed", slog.Any("error", err))
		}
		// Vectors are not of the heap: that many were dropped is no reason for the
		// collector to run.
		now := s.current.Load()
		noted := make(map[*segment]bool)
		now.count(noted)
		dropped := seen.count(noted)
		if seen = now; dropped > recentBytes {
			runtime.GC()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.kick:
		}
	}
}

// merge replaces small and mostly dead segments by new ones. Searches and
// commits go on meanwhile; when a commit comes in between, the next call tries
// again.
func (s *Store) merge(ctx context.Context) error {
	old := s.current.Load()
	victims := mergeable(old.views)
	if len(victims) == 0 {
		return nil
	}
	next := &snapshot{record: old.record}
	pages := make(map[string][]page)
	for _, v := range old.views {
		if !slices.Contains(victims, v) {
			next.views = append(next.views, v)
			continue
		}
		for i, p := range v.pages {
			if v.shown.has(i) {
				pages[v.fingerprint] = append(pages[v.fingerprint], p)
			}
		}
	}
	err := s.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil || old.seq < rec.floor {
			next = nil // a newer state is about to come
			return err
		}
		dims, err := readDims(ctx, tx)
		if err != nil {
			return err
		}
		for fingerprint, list := range pages {
			views, err := readViews(ctx, tx, fingerprint, dims[fingerprint], list)
			if err != nil {
				return err
			}
			next.views = append(next.views, views...)
		}
		return nil
	})
	if err != nil || next == nil {
		return err
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.current.CompareAndSwap(old, next) {
		s.remember(next)
	}
	return nil
}

// mergeable are the views whose pages should be read into new segments: those
// that hide more than they show, and mergeCount or more of about one size.
func mergeable(views []*view) []*view {
	type class struct {
		fingerprint string
		size        int
	}
	var victims []*view
	classes := make(map[class][]*view)
	for _, v := range views {
		switch {
		case v.size() > 2*v.live:
			victims = append(victims, v)
		case v.live < segmentRows/2:
			c := class{v.fingerprint, bits.Len(uint(v.live)) / 2}
			classes[c] = append(classes[c], v)
		}
	}
	for _, same := range classes {
		if len(same) >= mergeCount {
			victims = append(victims, same...)
		}
	}
	return victims
}
