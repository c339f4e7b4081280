package qdrant

import (
	"context"
	"slices"
	"sync"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

// caches hold what never changes and is read again and again: the addresses of
// the pages of live generations, and the statistics.
type caches struct {
	mu     *sync.Mutex
	places map[uint64][]place     // by generation
	counts map[string]frequencies // by the part's id
}

func newCaches() caches {
	return caches{mu: new(sync.Mutex), places: map[uint64][]place{}, counts: map[string]frequencies{}}
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
