package qdrant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

const (
	// keptTokens are the last writes that a record names: a writer finds its own
	// among them although others have written since.
	keptTokens = 64
	// late is how long after a run's remains were deleted a request of it may still
	// come. Each request has a deadline of seconds, and a run that has lost its
	// source sends none, by two clocks.
	late = time.Hour
)

// record is the one point that decides what is visible.
type record struct {
	// Name is the index's own, so that keys of two indexes differ.
	Name string `json:"name"`
	// Last is the last number given out.
	Last uint64 `json:"last"`
	// Numbers are those that are hidden, ascending.
	Numbers []hidden `json:"numbers,omitempty"`
	// Seq counts the changes of what is visible. A state before Floor misses points
	// that were deleted since.
	Seq   uint64 `json:"seq"`
	Floor uint64 `json:"floor"`
	// Sets are the collections of embedded chunks that runs of the index have named.
	Sets []set `json:"sets,omitempty"`
	// Drops counts by the first name of a fingerprint's collection how many were
	// dropped: a name is never used again.
	Drops map[string]uint64 `json:"drops,omitempty"`
	// Writes name the last changes of the record, the newest first.
	Writes []string `json:"writes"`

	rev uint64
}

// set is a collection of embedded chunks.
type set struct {
	Name string `json:"name"`
	// Retired says that no run will use it again and that it is to be dropped.
	Retired bool `json:"retired,omitempty"`
}

// hidden is a number that is not, or no longer, published.
type hidden struct {
	N      uint64 `json:"n"`
	Source string `json:"source"`
	// In are the collections of embedded chunks that it may have points in, or
	// marks on.
	In []string `json:"in"`
	// Open says that its run may still commit.
	Open bool `json:"open,omitempty"`
	// Seq is that of its rollback; 0 when nobody ever saw it.
	Seq uint64 `json:"seq,omitempty"`
	// Swept is when its remains were deleted, in Unix seconds; 0 before.
	Swept int64 `json:"swept,omitempty"`
	// Moving says that live points are being marked or unmarked, Moves how often
	// that was done before: see reader.steady.
	Moving bool   `json:"moving,omitempty"`
	Moves  uint64 `json:"moves,omitempty"`
}

func (r record) state() search.State {
	s := search.State{Last: r.Last}
	for _, h := range r.Numbers {
		s.Hidden = append(s.Hidden, h.N)
	}
	return s
}

// key names the state for a cursor.
func (r record) key() string { return fmt.Sprintf("%s.%d", r.Name, r.Seq) }

// of are the hidden numbers of a source.
func (r record) of(source string) []hidden {
	var list []hidden
	for _, h := range r.Numbers {
		if h.Source == source {
			list = append(list, h)
		}
	}
	return list
}

func (r record) find(n uint64) (hidden, bool) {
	i, ok := slices.BinarySearchFunc(r.Numbers, n, func(h hidden, n uint64) int { return int(h.N) - int(n) })
	if !ok {
		return hidden{}, false
	}
	return r.Numbers[i], true
}

func (r *record) hide(h hidden) {
	r.show(h.N)
	r.Numbers = append(r.Numbers, h)
	slices.SortFunc(r.Numbers, func(a, b hidden) int { return int(a.N) - int(b.N) })
}

func (r *record) show(n uint64) {
	r.Numbers = slices.DeleteFunc(slices.Clone(r.Numbers), func(h hidden) bool { return h.N == n })
}

// use names the collection of a fingerprint's embedded chunks for a run. first is
// what the first of them is called.
func (r *record) use(first string) string {
	name := first
	if n := r.Drops[first]; n > 0 {
		name += "_" + number(n)
	}
	if !slices.ContainsFunc(r.Sets, func(s set) bool { return s.Name == name }) {
		r.Sets = append(slices.Clone(r.Sets), set{Name: name})
	}
	return name
}

// retire takes collections out of use for ever. The next run of their fingerprint
// gets another name, so that a process that drops them late drops nothing else.
func (r *record) retire(names []string) {
	r.Sets, r.Drops = slices.Clone(r.Sets), maps.Clone(r.Drops)
	if r.Drops == nil {
		r.Drops = map[string]uint64{}
	}
	for i := range r.Sets {
		if s := &r.Sets[i]; slices.Contains(names, s.Name) && !s.Retired {
			s.Retired = true
			r.Drops[firstName(s.Name)]++
		}
	}
}

// moving notes that live points of a hidden number are about to be marked or
// unmarked, or were.
func (r *record) moving(begins bool, numbers ...uint64) {
	r.Numbers = slices.Clone(r.Numbers)
	for i := range r.Numbers {
		if h := &r.Numbers[i]; slices.Contains(numbers, h.N) {
			if h.Moving && !begins {
				h.Moves++
			}
			h.Moving = begins
		}
	}
}

// quiet reports that no live point was marked or unmarked between two readings of
// the record.
func quiet(before, after record) bool {
	if before.Name != after.Name || before.Seq != after.Seq {
		return false
	}
	for _, h := range before.Numbers {
		now, ok := after.find(h.N)
		if !ok || h.Moving || now.Moving || now.Moves != h.Moves {
			return false
		}
	}
	for n := before.Last + 1; n <= after.Last; n++ {
		if h, ok := after.find(n); !ok || h.Moving || h.Moves > 0 {
			return false
		}
	}
	return true
}

const (
	kindState   = "state"
	kindHistory = "history"
)

func stateID() *qdrant.PointId { return pointID(kindState) }

func historyID(key string) *qdrant.PointId { return pointID(kindHistory, key) }

func (r record) point(id *qdrant.PointId, kind string) (*qdrant.PointStruct, error) {
	encoded, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return bare(id, payload{fieldKind: text(kind), fieldRev: count(r.rev), fieldSeq: count(r.Seq), "record": encoded}), nil
}

// bare is a point without vectors.
func bare(id *qdrant.PointId, p payload) *qdrant.PointStruct {
	return &qdrant.PointStruct{Id: id, Payload: p, Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{})}
}

var errNoState = errors.New("the state record is missing: the index is damaged; delete its collections and reindex")

func (s *Store) readRecord(ctx context.Context, r remote) (record, error) {
	return s.readRecordAt(ctx, r, stateID())
}

func (s *Store) readRecordAt(ctx context.Context, r remote, id *qdrant.PointId) (record, error) {
	p, err := r.getOne(ctx, s.meta(), id)
	if err != nil {
		s.unprepare(err)
		return record{}, fmt.Errorf("read the state: %w", err)
	}
	if p == nil {
		return record{}, errNoState
	}
	var rec record
	if err := decode(p["record"], &rec); err != nil {
		return record{}, fmt.Errorf("read the state: %w", err)
	}
	rec.rev = uint64(p[fieldRev].GetIntegerValue())
	return rec, nil
}

// writeFirst makes the record of a new index, unless there is one.
func (s *Store) writeFirst(ctx context.Context) error {
	first := record{Name: strings.ReplaceAll(uuid.NewString(), "-", "")[:16], rev: 1}
	p, err := first.point(stateID(), kindState)
	if err != nil {
		return err
	}
	// An existing point is never at revision 0, so it stays.
	return s.remote.patient().upsert(ctx, s.meta(), []*qdrant.PointStruct{p}, qdrant.NewMatchInt(fieldRev, 0))
}

// change applies do to the record and writes the result, by comparing and
// setting: do is called again when another process has written meanwhile.
func (s *Store) change(ctx context.Context, do func(r *record) error) (record, error) {
	r := s.remote.patient()
	for {
		old, err := s.readRecord(ctx, r)
		if err != nil {
			return record{}, err
		}
		next, token := old, uuid.NewString()
		if err := do(&next); err != nil {
			return record{}, err
		}
		next.rev = old.rev + 1
		next.Writes = append([]string{token}, old.Writes[:min(len(old.Writes), keptTokens-1)]...)
		p, err := next.point(stateID(), kindState)
		if err != nil {
			return record{}, err
		}
		if err := r.upsert(ctx, s.meta(), []*qdrant.PointStruct{p}, qdrant.NewMatchInt(fieldRev, int64(old.rev))); err != nil {
			return record{}, fmt.Errorf("change the state: %w", err)
		}
		now, err := s.readRecord(ctx, r)
		if err != nil {
			return record{}, err
		}
		if slices.Contains(now.Writes, token) {
			if next.Seq != old.Seq {
				s.keepHistory(ctx, next)
			}
			return next, nil
		}
		if now.rev > old.rev+keptTokens {
			return record{}, errors.New("change the state: other processes have changed it so often meanwhile that it is not known who did: run it again")
		}
		if err := pause(ctx, rand.N(20*time.Millisecond)); err != nil { //nolint:gosec // spreads requests
			return record{}, err
		}
	}
}

// keepHistory lets other processes find a state by its key. It is only of use to
// cursors, so nothing fails without it.
func (s *Store) keepHistory(ctx context.Context, rec record) {
	rec.Writes = nil
	p, err := rec.point(historyID(rec.key()), kindHistory)
	if err == nil {
		err = s.remote.patient().upsert(ctx, s.meta(), []*qdrant.PointStruct{p})
	}
	if err != nil {
		s.warn(ctx, "state not kept for cursors", err)
	}
}

// raiseFloor tells readers of states before seq that points of theirs go.
func (s *Store) raiseFloor(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return nil
	}
	if _, err := s.change(ctx, func(r *record) error {
		r.Floor = max(r.Floor, seq)
		return nil
	}); err != nil {
		return err
	}
	below := float64(seq)
	return s.remote.patient().remove(ctx, s.meta(), ofKind(kindHistory), qdrant.NewRange(fieldSeq, &qdrant.Range{Lt: &below}))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
