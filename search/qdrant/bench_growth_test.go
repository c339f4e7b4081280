//go:build qdrant

package qdrant

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// BenchmarkGrowth is an index as large ones are set up: vectors and texts on disk,
// quantized vectors in memory. DOCSEEK_BENCH_CHUNKS says how large, and what is in
// DOCSEEK_BENCH_DIR from an earlier time is used again.
func BenchmarkGrowth(b *testing.B) {
	ctx := b.Context()
	n := benchSize(b)
	dir := os.Getenv("DOCSEEK_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	server, err := startServer(ctx, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { server.stop() }()
	o := Options{
		Collection: "growth", URL: "http://" + server.address, Quantization: Scalar, OnDisk: true,
		Term: time.Hour, Patience: time.Hour, // the machine may have other work
	}
	s := open(b, o)
	defer closeStore(b, s)
	g := growth{server, s, n, map[string]float64{}}
	if now, err := s.refresh(ctx); err != nil {
		b.Fatal(err)
	} else if now.generations[sourceName(0)].Info.Chunks != n {
		g.grow(b)
	}
	stop := time.Now()
	server.stop()
	if err := server.start(ctx); err != nil {
		b.Fatal(err)
	}
	g.figures["restart-s"] = time.Since(stop).Seconds()
	g.weigh(b, "restarted")
	g.change(b)
	g.figures["recall@10"] = g.recall(b)

	ways := []way{{"engine", throughEngine(ctx, s)}}
	for name, fuse := range map[string]bool{"bare": false, "bare-fused": true} {
		ask, err := byHand(ctx, s, nil, fuse)
		if err != nil {
			b.Fatal(err)
		}
		ways = append(ways, way{name, ask})
	}
	compare(b, ways)
	g.weigh(b, "searched")
	for name, figure := range g.figures { // those from before a loop would be forgotten
		b.ReportMetric(figure, name)
	}
}

// growth is an index of so many chunks on a server of its own, and what was
// measured of it.
type growth struct {
	*server
	store   *Store
	chunks  int
	figures map[string]float64
}

// grow uploads the chunks and waits until they are indexed.
func (g growth) grow(b *testing.B) {
	b.Helper()
	ctx := b.Context()
	made := make(chan page, 64) // what is embedded while the one before is written
	go func() {
		defer close(made)
		corpus := storetest.NewCorpus(benchDim)
		for i := range g.chunks / storetest.CorpusPageChunks {
			var p page
			p.record, p.chunks = corpus.Page(i, 0)
			select {
			case made <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	w, err := g.store.Begin(ctx, docseek.Source{Name: sourceName(0)}, "model", false)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	begin, writing, done := time.Now(), time.Duration(0), 0
	for p := range made {
		start := time.Now()
		if err := w.Put(ctx, p.record, p.chunks); err != nil {
			b.Fatal(err)
		}
		writing += time.Since(start)
		if done += len(p.chunks); done%50_000 == 0 {
			b.Logf("%d chunks after %.0f s, %.0f s of them to write", done, time.Since(begin).Seconds(), writing.Seconds())
			g.weigh(b, "")
		}
	}
	start := time.Now()
	if err := w.Commit(ctx, counts(g.chunks), search.Run{}); err != nil {
		b.Fatal(err)
	}
	writing += time.Since(start)
	g.figures["commit-s"] = time.Since(start).Seconds()
	g.figures["upload-s"] = writing.Seconds()
	g.weigh(b, "uploaded")
	begin = time.Now()
	settle(b, g.store)
	g.figures["index-s"] = time.Since(begin).Seconds()
	g.weigh(b, "indexed")
}

// change publishes one changed page, a few times.
func (g growth) change(b *testing.B) {
	b.Helper()
	ctx := b.Context()
	corpus := storetest.NewCorpus(benchDim)
	var took []time.Duration
	for i := range 10 {
		record, chunks := corpus.Page(i, int(time.Now().Unix()))
		w, err := g.store.Begin(ctx, docseek.Source{Name: sourceName(0)}, "model", false)
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := w.Put(ctx, record, chunks); err != nil {
			b.Fatal(err)
		}
		if err := w.Commit(ctx, counts(g.chunks), search.Run{}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
		b.Logf("change %d took %v", i, took[i])
	}
	p50, most := percentiles(took)
	g.figures["change-p50-s"] = p50.Seconds()
	g.figures["change-max-s"] = most.Seconds()
}

// recall is the share of the ten nearest that the store finds.
func (g growth) recall(b *testing.B) float64 {
	b.Helper()
	ctx, s := b.Context(), g.store
	r, err := s.Reader(ctx)
	if err != nil {
		b.Fatal(err)
	}
	_, texts, vectors := benchEngine(s)
	const questions, limit = 50, 10
	exact, top, dense, found := true, uint64(limit), denseVector, 0
	for _, text := range texts[:questions] {
		got, err := r.Candidates(ctx, search.Request{Vectors: map[string][]float32{"model": vectors[text]}, Limit: limit})
		if err != nil {
			b.Fatal(err)
		}
		answer, err := call(ctx, s.remote.patient(), "search", func(ctx context.Context) ([]*qdrant.ScoredPoint, error) {
			return s.remote.Query(ctx, &qdrant.QueryPoints{
				CollectionName: chunksOf(b, s), Query: qdrant.NewQueryDense(vectors[text]), Using: &dense, Limit: &top,
				Filter: &qdrant.Filter{Must: s.current.Load().visible}, Params: &qdrant.SearchParams{Exact: &exact},
				WithPayload: qdrant.NewWithPayloadInclude("id"),
			})
		})
		if err != nil {
			b.Fatal(err)
		}
		nearest := map[string]bool{}
		for _, p := range answer {
			nearest[p.GetPayload()["id"].GetStringValue()] = true
		}
		for _, c := range got.Dense {
			if nearest[c.ID] {
				found++
			}
		}
	}
	return float64(found) / (questions * limit)
}

// weigh notes what the server takes.
func (g growth) weigh(b *testing.B, name string) {
	b.Helper()
	memory, err := g.memory()
	if err != nil {
		b.Fatal(err)
	}
	disk := int64(0)
	if err := filepath.WalkDir(filepath.Join(g.dir, "storage"), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // the server tidies up meanwhile
			return nil
		}
		disk += onDisk(info)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: server memory %v MiB, disk %d MiB", name, memory, disk>>20)
	if name != "" {
		g.figures[name+"-anon-MiB"] = memory["RssAnon"]
		g.figures[name+"-mapped-MiB"] = memory["RssFile"]
		g.figures[name+"-disk-MiB"] = float64(disk >> 20)
	}
}

// memory is what the kernel says of the process, in MiB: RssAnon is its own,
// RssFile are files that it has mapped, VmHWM is the most of both so far.
func (s *server) memory() (map[string]float64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	memory := map[string]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "RssAnon", "RssFile", "VmHWM":
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				return nil, err
			}
			memory[key] = float64(kib >> 10)
		}
	}
	return memory, nil
}

// onDisk is what a file takes; it may have holes.
func onDisk(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
