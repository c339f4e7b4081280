package qdrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

const (
	// refreshEvery is how old the state that a reader gets may be.
	refreshEvery = time.Second
	// recentStates are kept for cursors.
	recentStates = 64
	// stuckAfter is how long a run may take to mark the live points of one request.
	stuckAfter = 5 * time.Second

	kindGeneration = "generation"
	scrollPage     = 512
)

// generation is a point that a run writes before its commit. It is visible by
// the same rule as all else.
type generation struct {
	N        uint64 `json:"n"`
	Previous uint64 `json:"previous"` // what a rollback leads to; 0 for nothing
	Seq      uint64 `json:"seq"`      // of the commit
	Set      string `json:"set"`      // the collection of its embedded chunks
	Dim      int    `json:"dim"`      // of their vectors; 0 when none is embedded
	// Info is what the state says of the source; its newest run is the one that
	// made the generation.
	Info search.SourceInfo `json:"info"`
}

// part is a point of statistics, without what it counts.
type part struct {
	id       *qdrant.PointId
	from, to uint64
	terms    int
}

// snapshot is a state with what it shows of each source. It never changes.
type snapshot struct {
	record
	// visible are the conditions on what the state shows.
	visible []*qdrant.Condition
	// generations are the live ones by source, parts the visible statistics.
	generations map[string]generation
	parts       map[string][]part
}

// without is the state as if it had no generation of the source.
func (s *snapshot) without(source string) *snapshot {
	other := *s
	other.generations, other.parts = maps.Clone(s.generations), maps.Clone(s.parts)
	delete(other.generations, source)
	delete(other.parts, source)
	return &other
}

// sighting is a snapshot and when the store last said that it is the present one.
type sighting struct {
	*snapshot
	at time.Time
}

// fresh returns the present state, or one that was the present one a moment ago.
func (s *Store) fresh(ctx context.Context) (*snapshot, error) {
	if cur := s.current.Load(); cur != nil && s.now().Sub(cur.at) < refreshEvery {
		return cur.snapshot, nil
	}
	return s.refresh(ctx)
}

// look reads the record and notes it for latest. A run that was killed while it
// marked live points says so until it is swept: after a while it is not believed.
func (s *Store) look(ctx context.Context) (record, error) {
	rec, err := s.readRecord(ctx, s.remote)
	if err != nil {
		return rec, err
	}
	s.seenMu.Lock()
	defer s.seenMu.Unlock()
	since := make(map[step]time.Time)
	for i := range rec.Numbers {
		h := &rec.Numbers[i]
		if !h.Moving {
			continue
		}
		this := step{h.N, h.Moves}
		since[this] = s.now()
		if first, ok := s.moving[this]; ok {
			since[this] = first
		}
		h.Moving = s.now().Sub(since[this]) < stuckAfter
	}
	s.seen, s.moving = rec, since
	return rec, nil
}

// step is one time that a run marks live points.
type step struct{ n, moves uint64 }

// latest is the record as it was looked at last.
func (s *Store) latest() record {
	s.seenMu.Lock()
	defer s.seenMu.Unlock()
	return s.seen
}

// refresh reads the present state.
func (s *Store) refresh(ctx context.Context) (*snapshot, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	if err := s.loading.enter(ctx); err != nil {
		return nil, err
	}
	defer s.loading.leave()
	at := s.now()
	rec, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	cur := s.current.Load()
	var next *snapshot
	switch {
	case cur != nil && cur.Name == rec.Name && cur.Seq == rec.Seq:
		// Numbers that were drawn or swept since change nothing that is visible.
		next = cur.snapshot
	case cur != nil && cur.Name == rec.Name && cur.Seq > rec.Seq:
		return cur.snapshot, nil
	default:
		if next, err = s.load(ctx, rec); err != nil {
			return nil, err
		}
		s.remember(next)
	}
	s.current.Store(&sighting{next, at})
	return next, nil
}

// load reads what a state shows of its sources: a small point or two for each.
func (s *Store) load(ctx context.Context, rec record) (*snapshot, error) {
	next := &snapshot{
		record: rec, visible: visible(rec.state()),
		generations: map[string]generation{}, parts: map[string][]part{},
	}
	if err := s.remote.each(ctx, scroll{
		collection: s.meta(), must: append([]*qdrant.Condition{ofKind(kindGeneration)}, next.visible...), page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		var g generation
		if err := decode(p.GetPayload()["generation"], &g); err != nil {
			return fmt.Errorf("read a generation: %w", err)
		}
		if name := g.Info.Source.Name; g.N > next.generations[name].N {
			next.generations[name] = g
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if err := s.remote.each(ctx, scroll{
		collection: s.meta(), must: append([]*qdrant.Condition{ofKind(kindStats)}, next.visible...), page: scrollPage,
		payload: []string{fieldSource, fieldFrom, fieldTo, "terms"},
	}, func(p *qdrant.RetrievedPoint) error {
		fields := p.GetPayload()
		name := fields[fieldSource].GetStringValue()
		next.parts[name] = append(next.parts[name], part{
			id: p.GetId(), from: uint64(fields[fieldFrom].GetIntegerValue()), to: uint64(fields[fieldTo].GetIntegerValue()),
			terms: int(fields["terms"].GetIntegerValue()),
		})
		return nil
	}); err != nil {
		return nil, err
	}
	for _, parts := range next.parts {
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	}
	return next, nil
}

// remember keeps the snapshot for readers that come back with its key.
func (s *Store) remember(next *snapshot) {
	s.recentMu.Lock()
	defer s.recentMu.Unlock()
	recent := []*snapshot{next}
	for _, old := range s.recent {
		if old.key() != next.key() && len(recent) < recentStates {
			recent = append(recent, old)
		}
	}
	s.recent = recent
	s.caches.keep(next)
}

// recall finds a state by its key: of this process, or one that another noted.
func (s *Store) recall(ctx context.Context, key string) (*snapshot, error) {
	s.recentMu.Lock()
	i := slices.IndexFunc(s.recent, func(r *snapshot) bool { return r.key() == key })
	var found *snapshot
	if i >= 0 {
		found = s.recent[i]
	}
	s.recentMu.Unlock()
	if found != nil {
		return found, nil
	}
	if len(key) > 64 {
		return nil, fmt.Errorf("read state %.80q: %w", key, search.ErrStale)
	}
	now, err := s.fresh(ctx)
	if err != nil {
		return nil, err
	}
	if now.key() == key {
		return now, nil
	}
	rec, err := s.readRecordAt(ctx, s.remote, historyID(key))
	if err != nil && !errors.Is(err, errNoState) {
		return nil, err
	}
	if err != nil || rec.key() != key {
		return nil, fmt.Errorf("read state %.80q: %w", key, search.ErrStale)
	}
	found, err = s.load(ctx, rec)
	if err != nil {
		return nil, err
	}
	s.remember(found)
	return found, nil
}
