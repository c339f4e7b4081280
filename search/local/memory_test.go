package local

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/storetest"
)

func TestDot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	chosen := dotProduct()
	for n := 1; n <= 1100; n++ {
		x, y := storetest.Direction(rng, n), storetest.Direction(rng, n)
		want := 0.0
		for i := range x {
			want += float64(x[i]) * float64(y[i])
		}
		for name, got := range map[string]float32{"plain": dot(x, y), "chosen": chosen(x, y)} {
			if math.Abs(float64(got)-want) > 1e-5 {
				t.Fatalf("%s product of %d values is %v, want %v", name, n, got, want)
			}
		}
	}
}

func TestMatcher(t *testing.T) {
	p := page{source: "docs", url: "https://a.test/docs/api/users?x=/no#y", version: "2", language: "pt-BR"}
	for _, test := range []struct {
		filter docseek.Filter
		want   bool
	}{
		{docseek.Filter{}, true},
		{docseek.Filter{Sources: []string{"other", "docs"}}, true},
		{docseek.Filter{Sources: []string{"doc"}}, false},
		{docseek.Filter{Version: "2"}, true},
		{docseek.Filter{Version: "2.1"}, false},
		{docseek.Filter{Language: "pt"}, true},
		{docseek.Filter{Language: "PT-br"}, true},
		{docseek.Filter{Language: "p"}, false},
		{docseek.Filter{Language: "pt-BR-x"}, false},
		{docseek.Filter{PathPrefix: "/docs"}, true},
		{docseek.Filter{PathPrefix: "docs/api/"}, true},
		{docseek.Filter{PathPrefix: "/docs/api/users"}, true},
		{docseek.Filter{PathPrefix: "/docs/api/users/x"}, false},
		{docseek.Filter{PathPrefix: "/docs/ap"}, false},
		{docseek.Filter{PathPrefix: "//"}, true},
	} {
		if got := newMatcher(test.filter).matches(&p); got != test.want {
			t.Errorf("%+v: %v, want %v", test.filter, got, test.want)
		}
	}
	for url, want := range map[string]string{
		"https://a.test": "/", "https://a.test?x": "/", "https://a.test/b/#c": "/b/", "/b": "/b", "": "",
	} {
		if got := search.URLPath(url); got != want {
			t.Errorf("path of %q is %q, want %q", url, got, want)
		}
	}
}

func FuzzLexicalCodec(f *testing.F) {
	f.Add(encodeLexical(lexical.Vector{Terms: []uint32{0, 1, math.MaxUint32}, Weights: []float32{1, -2, 0.5}}))
	f.Add(encodeLexical(lexical.Vector{}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var v lexical.Vector
		if decodeLexical(data, func(term uint32, weight float32) {
			v.Terms = append(v.Terms, term)
			v.Weights = append(v.Weights, weight)
		}) != nil {
			return
		}
		if !slices.IsSorted(v.Terms) || len(slices.Compact(slices.Clone(v.Terms))) != len(v.Terms) {
			t.Fatalf("terms %v are not ascending", v.Terms)
		}
		var again lexical.Vector
		if err := decodeLexical(encodeLexical(v), func(term uint32, weight float32) {
			again.Terms = append(again.Terms, term)
			again.Weights = append(again.Weights, weight)
		}); err != nil {
			t.Fatal(err)
		}
		bits := func(v lexical.Vector) []uint32 {
			all := slices.Clone(v.Terms)
			for _, w := range v.Weights {
				all = append(all, math.Float32bits(w))
			}
			return all
		}
		if !slices.Equal(bits(v), bits(again)) {
			t.Fatalf("%v became %v", v, again)
		}
	})
}

// TestTopK offers rows in random order, many of them tied, and compares with sorting.
func TestTopK(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	b := newBuilder("model", 0, []page{{source: "docs", n: 300}})
	for range 300 {
		key := []byte{byte('a' + rng.IntN(26)), byte('a' + rng.IntN(26)), byte('a' + rng.IntN(26))}
		if err := b.addRow(key, encodeLexical(lexical.Vector{}), nil); err != nil {
			t.Fatal(err)
		}
	}
	v := newView(b.build())
	for _, k := range []int{0, 1, 2, 7, 50, 299, 300, 1000} {
		all := make([]scored, v.size())
		for i := range all {
			all[i] = scored{float64(rng.IntN(5)), v, i}
		}
		top := topK{k: k}
		for _, s := range all {
			top.offer(s)
		}
		slices.SortFunc(all, scored.compare)
		got, want := top.best(), all[:min(k, len(all))]
		for i := range want {
			if got[i].compare(want[i]) != 0 {
				t.Fatalf("k %d: place %d is (%v, %s), want (%v, %s)", k, i,
					got[i].score, v.key(got[i].row), want[i].score, v.key(want[i].row))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("k %d: %d rows", k, len(got))
		}
	}
}

func TestTurned(t *testing.T) {
	for name, test := range map[string]struct {
		a, b search.State
		want []uint64
	}{
		"same":                {search.State{Last: 5, Hidden: []uint64{3}}, search.State{Last: 5, Hidden: []uint64{3}}, nil},
		"drawn":               {search.State{Last: 5}, search.State{Last: 7, Hidden: []uint64{6, 7}}, nil},
		"published":           {search.State{Last: 5, Hidden: []uint64{4, 5}}, search.State{Last: 5, Hidden: []uint64{4}}, []uint64{5}},
		"drawn and published": {search.State{Last: 5}, search.State{Last: 7, Hidden: []uint64{6}}, []uint64{7}},
		"rolled back":         {search.State{Last: 7}, search.State{Last: 7, Hidden: []uint64{7}}, []uint64{7}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, turned(test.a, test.b), cmp.Transformer("", func(s []uint64) []uint64 { return append([]uint64{}, s...) })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMerge makes many small commits: the segments stay few, and what is shown
// is what was committed.
func TestMerge(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir(), Options{})
	defer closeStore(t, s)
	for revision := range 40 {
		if err := publishRevision(ctx, s, revision); err != nil {
			t.Fatal(err)
		}
		for len(mergeable(s.current.Load().views)) > 0 {
			if err := s.merge(ctx); err != nil {
				t.Fatal(err)
			}
		}
		views := s.current.Load().views
		rows := 0
		for _, v := range views {
			rows += v.size()
		}
		if len(views) > 2*mergeCount || rows > 3*(storetest.SitePages+1)*storetest.SiteChunks {
			t.Fatalf("revision %d: %d segments with %d rows", revision, len(views), rows)
		}
		shown, err := storetest.RevisionShown(ctx, mustReader(t, s))
		if err != nil || shown != revision {
			t.Fatalf("revision %d is shown, want %d: %v", shown, revision, err)
		}
	}
	// The state of each revision can still be read, though its segments were merged.
	for seq := range uint64(40) {
		rec := s.current.Load().record
		rec.seq = seq + 1
		r, err := s.ReaderAt(ctx, rec.key())
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := storetest.RevisionShown(ctx, r); err != nil || shown != int(seq) {
			t.Errorf("state %d shows revision %d: %v", rec.seq, shown, err)
		}
	}
}

// TestRecentIsBounded remembers states only as long as what they alone need is small.
func TestRecentIsBounded(t *testing.T) {
	s := &Store{}
	for seq := range uint64(20) {
		big := &segment{matrix: make([]float32, recentBytes/4/4)} // a quarter
		s.remember(&snapshot{record: record{seq: seq}, views: []*view{newView(big)}})
	}
	if n := len(s.recent); n < 2 || n > 5 {
		t.Errorf("%d states are remembered", n)
	}
	same := newView(&segment{})
	for seq := range uint64(2 * recentStates) {
		s.remember(&snapshot{record: record{seq: 100 + seq}, views: []*view{same}})
	}
	if n := len(s.recent); n != recentStates {
		t.Errorf("%d states are remembered, want %d", n, recentStates)
	}
}

// TestParallelScan searches enough rows for several workers.
func TestParallelScan(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	const pages, chunks = 60, 400
	ctx := t.Context()
	s := open(t, t.TempDir(), Options{})
	defer closeStore(t, s)
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	query := search.Request{
		Vectors: map[string][]float32{"model": {0, 1, 0, 0}}, Lexical: lexical.Vector{Terms: []uint32{1, 10}, Weights: []float32{1, 2}}, Limit: 25,
	}
	var scores []float64
	for i := range pages {
		record, list := storetest.SitePage(i, 0, chunks, 4)
		for _, e := range list {
			scores = append(scores, float64(e.Vector[1]))
		}
		if err := w.Put(ctx, record, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(ctx, search.Counts{Pages: pages, Chunks: pages * chunks, Embedded: pages * chunks}, search.Run{}); err != nil {
		t.Fatal(err)
	}
	if len(s.current.Load().views) < 2 || pages*chunks < parallelRows {
		t.Fatal("the corpus is too small for the test")
	}
	slices.Sort(scores)
	slices.Reverse(scores)
	var searches sync.WaitGroup
	for range 4 {
		searches.Go(func() {
			found, err := mustReader(t, s).Candidates(ctx, query)
			if err != nil || len(found.Dense) != 25 || len(found.Lexical) != 25 {
				t.Errorf("%d and %d candidates: %v", len(found.Dense), len(found.Lexical), err)
				return
			}
			for i := range 25 {
				if math.Abs(found.Dense[i].Score-scores[i]) > 1e-6 {
					t.Errorf("place %d has score %v, want %v", i, found.Dense[i].Score, scores[i])
				}
				if found.Lexical[i].URL != storetest.SiteURL(0) || found.Lexical[i].Score != 2 { // the page with both terms
					t.Errorf("place %d is %s with %v", i, found.Lexical[i].URL, found.Lexical[i].Score)
				}
			}
		})
	}
	searches.Wait()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := mustReader(t, s).Candidates(cancelled, query); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was given up: %v", err)
	}
}

// TestStale reads on in a state whose rows were deleted: it is told, not lied to.
func TestStale(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir(), Options{Keep: 1})
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0); err != nil {
		t.Fatal(err)
	}
	old := mustReader(t, s)
	for revision := 1; revision <= 2; revision++ {
		if shown, err := storetest.RevisionShown(ctx, old); err != nil || shown != 0 {
			t.Fatalf("revision %d is shown: %v", shown, err) // the one before the live one is kept
		}
		if err := publishRevision(ctx, s, revision); err != nil {
			t.Fatal(err)
		}
	}
	_, candidates := storetest.RevisionShown(ctx, old)
	_, page := old.Page(ctx, "docs", storetest.SiteURL(1))
	_, pages := old.Pages(ctx, "docs", "", "", 9)
	_, chunks := old.Chunks(ctx, "docs", storetest.SiteURL(1), 0, 9)
	_, sources := old.Sources(ctx)
	for name, err := range map[string]error{"candidates": candidates, "page": page, "pages": pages, "chunks": chunks, "sources": sources} {
		if !errors.Is(err, search.ErrStale) {
			t.Errorf("%s: %v, want %v", name, err, search.ErrStale)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := open(t, t.TempDir(), Options{})
	if err := publishRevision(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	goleak.VerifyNone(t, before)
}
