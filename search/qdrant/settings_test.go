//go:build qdrant

package qdrant

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// layout is what a server says of how a collection was made.
type layout struct {
	Shards, Replicas, Written     uint32
	Quantization                  string
	VectorsOnDisk, TermsOnDisk    bool
	PayloadOnDisk, QuantizedInRAM bool
}

func readBack(t *testing.T, s *Store, name string) layout {
	t.Helper()
	info, err := s.describe(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	params := info.GetConfig().GetParams()
	m := layout{
		Shards: params.GetShardNumber(), Replicas: params.GetReplicationFactor(), Written: params.GetWriteConsistencyFactor(),
		VectorsOnDisk: params.GetVectorsConfig().GetParamsMap().GetMap()[denseVector].GetOnDisk(),
		TermsOnDisk:   params.GetSparseVectorsConfig().GetMap()[lexicalVector].GetIndex().GetOnDisk(),
		PayloadOnDisk: params.GetOnDiskPayload(),
	}
	switch q := info.GetConfig().GetQuantizationConfig(); {
	case q.GetScalar() != nil:
		m.Quantization, m.QuantizedInRAM = q.GetScalar().GetType().String(), q.GetScalar().GetAlwaysRam()
	case q.GetBinary() != nil:
		m.Quantization, m.QuantizedInRAM = "Binary", q.GetBinary().GetAlwaysRam()
	}
	return m
}

// TestSettings reads the settings of the collections back from the server.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options      Options
		meta, chunks layout
	}{
		"left to the server": {
			Options{},
			layout{Shards: 1, Replicas: 1, Written: 1, PayloadOnDisk: true},
			layout{Shards: 1, Replicas: 1, Written: 1},
		},
		"a cluster's": {
			Options{Shards: 3, Replicas: 2, WriteConsistency: 2},
			layout{Shards: 1, Replicas: 3, Written: 2, PayloadOnDisk: true},
			layout{Shards: 3, Replicas: 2, Written: 2},
		},
		"all replicas write": {
			Options{Replicas: 5, WriteConsistency: 5},
			layout{Shards: 1, Replicas: 5, Written: 5, PayloadOnDisk: true},
			layout{Shards: 1, Replicas: 5, Written: 5},
		},
		"scalar": {
			Options{Quantization: Scalar},
			layout{Shards: 1, Replicas: 1, Written: 1, PayloadOnDisk: true},
			layout{Shards: 1, Replicas: 1, Written: 1, Quantization: "Int8", QuantizedInRAM: true},
		},
		"binary on disk": {
			Options{Quantization: Binary, OnDisk: true},
			layout{Shards: 1, Replicas: 1, Written: 1, PayloadOnDisk: true},
			layout{Shards: 1, Replicas: 1, Written: 1, Quantization: "Binary", QuantizedInRAM: true, VectorsOnDisk: true, TermsOnDisk: true, PayloadOnDisk: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := test.options
			o.Collection = newPrefix()
			t.Cleanup(func() { drop(t, o) })
			s := open(t, o)
			defer closeStore(t, s)
			if err := s.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.ensure(t.Context(), collection{name: s.chunks("model"), role: roleChunks, fingerprint: "model", dim: 8}); err != nil {
				t.Fatal(err)
			}
			for collection, want := range map[string]layout{s.meta(): test.meta, s.chunks("model"): test.chunks} {
				if diff := cmp.Diff(want, readBack(t, s, collection)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", collection, diff)
				}
			}
		})
	}
}

// TestLinkedByCommit asks the server how it keeps the vectors of a collection: not
// linked until the first commit, which may be another run's than the one that made
// it, and from then on as the server is set.
func TestLinkedByCommit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, prefixed(t))
	defer closeStore(t, s)
	demand := func(when string, linked bool, wantSegments uint64) {
		t.Helper()
		info, err := s.describe(ctx, s.chunks("model"))
		if err != nil {
			t.Fatal(err)
		}
		config := info.GetConfig()
		want := uint64(0)
		if linked {
			want = config.GetHnswConfig().GetM()
		}
		links := config.GetParams().GetVectorsConfig().GetParamsMap().GetMap()[denseVector].GetHnswConfig().GetM()
		segments := config.GetOptimizerConfig().GetDefaultSegmentNumber()
		if links != want || segments != wantSegments || linked && links == 0 {
			t.Errorf("%s a vector has %d links and a shard %d segments, not %d and %d", when, links, segments, want, wantSegments)
		}
	}
	w, err := s.Begin(ctx, docseek.Source{Name: "given-up"}, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		record, chunks := storetest.SitePage(i, 0, storetest.SiteChunks, 8)
		if err := w.Put(ctx, record, chunks); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	demand("before the first commit", false, segmentsWhileFilled)
	for _, when := range []string{"after the first commit", "after the second"} {
		if err := publishAs(ctx, s, "docs", "model", 0); err != nil {
			t.Fatal(err)
		}
		demand(when, true, 0)
	}
}

// indexed is a store whose collections are optimized before they are read: small
// ones would be compared one and all, and never quantized.
type indexed struct{ *Store }

func (s indexed) Reader(ctx context.Context) (search.Reader, error) {
	if err := s.optimize(ctx); err != nil {
		return nil, err
	}
	return s.Store.Reader(ctx)
}

func (s indexed) optimize(ctx context.Context) error {
	now, err := s.fresh(ctx)
	if err != nil {
		return err
	}
	for _, g := range now.generations {
		if g.Info.Embedded == 0 {
			continue
		}
		little, seconds := uint64(1), uint64(30)
		if err := s.remote.UpdateCollection(ctx, &qdrant.UpdateCollection{
			CollectionName: g.Set, Timeout: &seconds, OptimizersConfig: &qdrant.OptimizersConfigDiff{IndexingThreshold: &little},
		}); err != nil {
			return fmt.Errorf("index all of %s: %w", g.Set, err)
		}
		for {
			info, err := s.describe(ctx, g.Set)
			if err != nil {
				return err
			}
			if info.GetStatus() == qdrant.CollectionStatus_Green && info.GetIndexedVectorsCount() > 0 {
				break
			}
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("wait until %s is indexed: %w", g.Set, err)
			}
		}
	}
	return nil
}

// TestQuantized demands of quantized vectors the candidates and scores of
// comparing everything with everything, which only rescoring gives.
func TestQuantized(t *testing.T) {
	for name, o := range map[string]Options{
		"scalar":         {Quantization: Scalar},
		"binary":         {Quantization: Binary, Oversampling: 100}, // 16 bits tell little apart
		"scalar on disk": {Quantization: Scalar, OnDisk: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := newIndex(o)
			storetest.Ranking(t, func(t *testing.T) func(t *testing.T) search.Store {
				t.Helper()
				open := plain(t)
				return func(t *testing.T) search.Store {
					t.Helper()
					return indexed{open(t).(*Store)}
				}
			})
		})
	}
}
