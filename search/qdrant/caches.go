package qdrant

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

// caches hold what never changes and is read again and again: the addresses of
// the pages of live generations, and the statistics; and for a moment what runs
// noted of their sources.
type caches struct {
	mu     *sync.Mutex
	places map[uint64][]place     // by generation
	counts map[string]frequencies // by the part's id
	noted  *notes
}

type notes struct {
	list []noted
	at   time.Time // when they were read; zero when they are to be read again
	own  int       // how often this process has changed them
}

func newCaches() caches {
	return caches{mu: new(sync.Mutex), places: map[uint64][]place{}, counts: map[string]frequencies{}, noted: new(notes)}
}

// forgetNotes lets a note of this process be seen at once.
func (c caches) forgetNotes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.noted = notes{own: c.noted.own + 1}
}

// notes returns what runs noted of their sources, which may be as old as a state.
func (s *Store) notes(ctx context.Context) ([]noted, error) {
	s.caches.mu.Lock()
	known := *s.caches.noted
	s.caches.mu.Unlock()
	if time.Since(known.at) < refreshEvery {
		return known.list, nil
	}
	now := notes{at: time.Now(), own: known.own}
	err := s.remote.each(ctx, scroll{
		collection: s.meta(), must: []*qdrant.Condition{ofKind(kindSource)}, page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		n, err := readSource(p.GetPayload())
		now.list = append(now.list, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.caches.mu.Lock()
	defer s.caches.mu.Unlock()
	if s.caches.noted.own == now.own {
		*s.caches.noted = now
	}
	return now.list, nil
}

// keep drops what the state does not show.
func (c caches) keep(now *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	generations, parts := map[uint64]bool{}, map[string]bool{}
	for _, g := range now.generations {
		generations[g.N] = true
	}
	for _, list := range now.parts {
		for _, p := range list {
			parts[p.id.GetUuid()] = true
		}
	}
	for n := range c.places {
		if !generations[n] {
			delete(c.places, n)
		}
	}
	for id := range c.counts {
		if !parts[id] {
			delete(c.counts, id)
		}
	}
}

func (c caches) pages(generation uint64) ([]place, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pages, ok := c.places[generation]
	return pages, ok
}

func (c caches) putPages(generation uint64, pages []place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[generation] = pages
}

// frequencies reads the statistics of parts.
func (s *Store) frequencies(ctx context.Context, parts []part) ([]frequencies, error) {
	found := make([]frequencies, 0, len(parts))
	var missing []*qdrant.PointId
	s.caches.mu.Lock()
	for _, p := range parts {
		if f, ok := s.caches.counts[p.id.GetUuid()]; ok {
			found = append(found, f)
		} else {
			missing = append(missing, p.id)
		}
	}
	s.caches.mu.Unlock()
	for ids := range slices.Chunk(missing, partsPerRead) {
		points, err := s.remote.getPoints(ctx, s.meta(), ids)
		if err != nil {
			return nil, err
		}
		if len(points) != len(ids) {
			return nil, search.ErrStale
		}
		for _, p := range points {
			f, err := decodeFrequencies(p.GetPayload()["counts"])
			if err != nil {
				return nil, err
			}
			found = append(found, f)
			s.caches.mu.Lock()
			s.caches.counts[p.GetId().GetUuid()] = f
			s.caches.mu.Unlock()
		}
	}
	return found, nil
}
