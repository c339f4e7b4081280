package qdrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/qdrant/go-client/qdrant"
)

// errNoNumber keeps a deletion from meaning what nothing has replaced.
var errNoNumber = errors.New("delete from the index: number 0 is nobody's")

// collections are the names of a source's collections of embedded chunks, each once.
func collections(names ...string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// erase undoes a hidden number: what it wrote goes, what it marked as replaced is
// unmarked.
func (s *Store) erase(ctx context.Context, h hidden) error {
	if h.N == 0 {
		return errNoNumber
	}
	r := s.remote.patient()
	for _, name := range append([]string{s.plain(), s.meta()}, h.In...) {
		if err := r.remove(ctx, name, ofSource(h.Source), isFrom(h.N)); err != nil {
			return fmt.Errorf("delete the remains of run %d: %w", h.N, err)
		}
		if err := r.setPayload(ctx, name, payload{fieldTo: count(0)}, []*qdrant.Condition{ofSource(h.Source), isTo(h.N)}); err != nil {
			return fmt.Errorf("undo the marks of run %d: %w", h.N, err)
		}
	}
	return nil
}

// close takes from the runs of a source that have not committed the right to.
func (r *record) close(source string) {
	r.Numbers = slices.Clone(r.Numbers)
	for i := range r.Numbers {
		if h := &r.Numbers[i]; h.Source == source {
			h.Open = false
		}
	}
}

// unswept are the hidden numbers of a source whose remains are still there.
func (r *record) unswept(source string) []uint64 {
	var numbers []uint64
	for _, h := range r.of(source) {
		if h.Swept == 0 {
			numbers = append(numbers, h.N)
		}
	}
	return numbers
}

// sweep deletes what no state shows any more of a source: the remains of crashed
// and rolled back runs, and what generations before the live one replaced. The
// caller holds the source. A number stays hidden for a while after that, and what
// may have come late is deleted with it.
func (s *Store) sweep(ctx context.Context, source string) error {
	rec, err := s.readRecord(ctx, s.remote.patient())
	if err != nil {
		return err
	}
	if len(rec.of(source)) > 0 {
		if rec, err = s.change(ctx, func(r *record) error {
			r.close(source)
			r.moving(true, r.unswept(source)...)
			return nil
		}); err != nil {
			return err
		}
	}
	now := s.now()
	var swept, dropped []uint64
	for _, h := range rec.of(source) {
		switch {
		case h.Swept == 0:
			if err := s.raiseFloor(ctx, h.Seq); err != nil {
				return err
			}
			swept = append(swept, h.N)
		case now.Sub(time.Unix(h.Swept, 0)) > late:
			dropped = append(dropped, h.N)
		default:
			continue
		}
		if err := s.erase(ctx, h); err != nil {
			return err
		}
	}
	if len(swept)+len(dropped) > 0 {
		if _, err := s.change(ctx, func(r *record) error {
			r.Numbers = slices.Clone(r.Numbers)
			for i := range r.Numbers {
				if slices.Contains(swept, r.Numbers[i].N) {
					r.Numbers[i].Swept = now.Unix()
				}
			}
			r.moving(false, swept...)
			for _, n := range dropped {
				r.show(n)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if err := s.purge(ctx, source); err != nil {
		return err
	}
	if err := s.dropUnused(ctx); err != nil {
		s.warn(ctx, "collections that nothing needs not dropped", err)
	}
	return nil
}

// published are the generations of a source that a state shows, the live one last.
func (s *Store) published(ctx context.Context, source string, visible []*qdrant.Condition) ([]generation, error) {
	var list []generation
	err := s.remote.patient().each(ctx, scroll{
		collection: s.meta(), must: append([]*qdrant.Condition{ofKind(kindGeneration), ofSource(source)}, visible...), page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		var g generation
		if err := decode(p.GetPayload()["generation"], &g); err != nil {
			return fmt.Errorf("read a generation of source %s: %w", source, err)
		}
		list = append(list, g)
		return nil
	})
	slices.SortFunc(list, func(a, b generation) int { return cmp.Compare(a.N, b.N) })
	return list, err
}

// purge deletes what the generations before the live one replaced, once nobody
// is expected to read on in a state from before them.
func (s *Store) purge(ctx context.Context, source string) error {
	rec, err := s.readRecord(ctx, s.remote.patient())
	if err != nil {
		return err
	}
	kept, err := s.published(ctx, source, visible(rec.state()))
	if err != nil {
		return err
	}
	// The first replaced nothing that is still there, and what the live one
	// replaced is what a rollback shows.
	for i := 1; i < len(kept)-1; i++ {
		g := kept[i]
		if s.now().Sub(g.Info.IndexedAt) < s.options.Keep {
			continue
		}
		if err := s.eraseReplaced(ctx, source, g, kept[i-1].Set); err != nil {
			return fmt.Errorf("delete what generation %d replaced: %w", g.N, err)
		}
	}
	return nil
}

// eraseReplaced deletes what a published generation that is not the live one has
// replaced, and the entries of those before it.
func (s *Store) eraseReplaced(ctx context.Context, source string, g generation, before string) error {
	if g.N == 0 {
		return errNoNumber
	}
	if err := s.raiseFloor(ctx, g.Seq); err != nil {
		return err
	}
	r := s.remote.patient()
	for _, name := range append([]string{s.plain(), s.meta()}, collections(g.Set, before)...) {
		if err := r.remove(ctx, name, ofSource(source), isTo(g.N)); err != nil {
			return err
		}
	}
	below := float64(g.N)
	return r.remove(ctx, s.meta(), ofSource(source), ofKind(kindGeneration), qdrant.NewRange(fieldFrom, &qdrant.Range{Lt: &below}))
}

// errMovedOn ends a change that is only right while nothing else has changed.
var errMovedOn = errors.New("the state has changed meanwhile")

// dropUnused drops the collections of embedded chunks that are empty and that no
// generation or run needs.
func (s *Store) dropUnused(ctx context.Context) error {
	r := s.remote.patient()
	rec, err := s.readRecord(ctx, r)
	if err != nil {
		return err
	}
	if len(rec.Sets) < 2 { // one model, as almost always
		return nil
	}
	if rec, err = s.retireUnused(ctx, rec); err != nil {
		return err
	}
	var dropped []string
	for _, set := range rec.Sets {
		if !set.Retired {
			continue
		}
		if _, err := call(ctx, r, "drop collection "+set.Name, func(ctx context.Context) (struct{}, error) {
			there, err := s.remote.CollectionExists(ctx, set.Name)
			if err == nil && there {
				err = s.remote.DeleteCollection(ctx, set.Name)
			}
			return struct{}{}, err
		}); err != nil {
			return err
		}
		dropped = append(dropped, set.Name)
	}
	if len(dropped) == 0 {
		return nil
	}
	_, err = s.change(ctx, func(r *record) error {
		r.Sets = slices.DeleteFunc(slices.Clone(r.Sets), func(s set) bool { return slices.Contains(dropped, s.Name) })
		return nil
	})
	return err
}

// retireUnused takes collections that nothing needs out of use. The record is
// changed only if it is still the one that this was found by; otherwise a later run
// does it.
func (s *Store) retireUnused(ctx context.Context, rec record) (record, error) {
	unused, err := s.unused(ctx, rec)
	if err != nil || len(unused) == 0 {
		return rec, err
	}
	next, err := s.change(ctx, func(r *record) error {
		if r.rev != rec.rev {
			return errMovedOn
		}
		r.retire(unused)
		return nil
	})
	if errors.Is(err, errMovedOn) {
		return rec, nil
	}
	return next, err
}

// unused are the collections in use that are empty, that no generation has its
// chunks in, and that no hidden number has touched.
func (s *Store) unused(ctx context.Context, rec record) ([]string, error) {
	needed := map[string]bool{}
	for _, h := range rec.Numbers {
		for _, name := range h.In {
			needed[name] = true
		}
	}
	if now := s.current.Load(); now != nil {
		for _, g := range now.generations {
			needed[g.Set] = true
		}
	}
	if !slices.ContainsFunc(rec.Sets, func(set set) bool { return !set.Retired && !needed[set.Name] }) {
		return nil, nil
	}
	// What was published is on more than half of the replicas. All are asked, so this
	// fails while a node is down: a later run finds out then.
	r := s.remote
	r.consistency = MajorityReplicas.value()
	if err := r.each(ctx, scroll{
		collection: s.meta(), must: []*qdrant.Condition{ofKind(kindGeneration)}, payload: []string{"generation"}, page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		var g generation
		if err := decode(p.GetPayload()["generation"], &g); err != nil {
			return fmt.Errorf("read a generation: %w", err)
		}
		needed[g.Set] = true
		return nil
	}); err != nil {
		return nil, err
	}
	var names []string
	for _, set := range rec.Sets {
		if set.Retired || needed[set.Name] {
			continue
		}
		n, err := s.remote.count(ctx, set.Name, nil)
		if err != nil && !notFound(err) {
			return nil, err
		}
		if n == 0 {
			names = append(names, set.Name)
		}
	}
	return names, nil
}
