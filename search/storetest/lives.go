package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// generation is one in the model: the pages that it shows.
type generation struct {
	num         uint64
	fingerprint string
	pages       map[string]content
	wrote       map[string]uint64 // by page, who wrote it
}

func (g *generation) clone() *generation {
	return &generation{g.num, g.fingerprint, maps.Clone(g.pages), maps.Clone(g.wrote)}
}

// model is the index in plain maps. Generations in it never change.
type model map[string]struct{ live, previous *generation }

// RandomLives takes indexes through random sequences of runs that end in every
// way, and compares what is visible with plain maps after each step. It is part
// of [Run]; a store with settings that matter here runs it again with them.
func RandomLives(t *testing.T, index Index) {
	t.Helper()
	for i := range 4 {
		t.Run(fmt.Sprint("random life ", i), func(t *testing.T) {
			t.Parallel()
			l := &life{must: newMust(t), rng: seed("life", i), open: index(t), model: model{}}
			l.store = l.must.open(l.open)
			for range 40 {
				l.step()
			}
		})
	}
}

type life struct {
	must
	rng   *rand.Rand
	open  func(t *testing.T) search.Store
	store search.Store
	model model
	last  uint64
	// A reader of some earlier state with what it has to show.
	old      search.Reader
	oldModel model
}

func (l *life) step() {
	l.Helper()
	name := []string{"one", "two", "three"}[l.rng.IntN(3)]
	switch l.rng.IntN(12) {
	case 0:
		l.rollback(name)
	case 1:
		l.ok(l.store.Close())
		l.store = l.must.open(l.open)
		l.old = nil
	case 2:
		l.old, l.oldModel = l.reader(l.store), maps.Clone(l.model)
	default:
		l.run(name)
	}
	l.compare(l.reader(l.store), l.model)
	if l.old != nil {
		if _, err := l.old.Page(l.ctx, "one", pageURL("one", 0)); errors.Is(err, search.ErrStale) {
			l.old = nil
		} else {
			l.compare(l.old, l.oldModel)
		}
	}
}

func (l *life) rollback(name string) {
	l.Helper()
	had := l.model[name]
	num, err := l.store.Rollback(l.ctx, name)
	if had.previous == nil {
		l.fails(err, search.ErrNotFound)
		return
	}
	l.ok(err)
	l.same(num, had.previous.num)
	had.live, had.previous = had.previous, nil
	l.model[name] = had
}

func (l *life) run(name string) {
	l.Helper()
	had := l.model[name]
	next := &generation{fingerprint: fingerprint, pages: map[string]content{}, wrote: map[string]uint64{}}
	if l.rng.IntN(6) == 0 {
		next.fingerprint = "model-b"
	}
	if had.live != nil && had.live.fingerprint == next.fingerprint {
		next = had.live.clone()
	}
	w := l.begin(l.store, name, next.fingerprint)
	next.num = w.Generation()
	if next.num <= l.last {
		l.Fatalf("number %d was given out after %d", next.num, l.last)
	}
	l.last = next.num
	for range l.rng.IntN(6) {
		url := pageURL(name, l.rng.IntN(8))
		if l.rng.IntN(4) == 0 {
			l.ok(w.Remove(l.ctx, url))
			delete(next.pages, url)
			continue
		}
		c := content{
			url: url, revision: l.rng.IntN(1000), chunks: l.rng.IntN(4), plain: l.rng.IntN(5) == 0,
			language: []string{"", "en", "de"}[l.rng.IntN(3)], version: []string{"", "1"}[l.rng.IntN(2)],
		}
		l.put(w, next.fingerprint, c)
		next.pages[url], next.wrote[url] = c, next.num
	}
	var want search.Counts
	for _, c := range next.pages {
		want.Pages++
		want.Chunks += c.chunks
		if !c.plain {
			want.Embedded += c.chunks
		}
	}
	got, err := w.Counts(l.ctx)
	l.ok(err)
	l.same(got, want)
	if had.live != nil {
		l.compareSource(w.Live(), name, had.live)
	}
	switch l.rng.IntN(5) {
	case 0: // a crash, as far as the store can tell
		l.ok(w.Close())
	case 1:
		l.ok(w.Finish(l.ctx, search.Run{Outcome: search.Refused}))
	default:
		l.ok(w.Commit(l.ctx, want, search.Run{Outcome: search.Published}))
		had.previous, had.live = had.live, next
		l.model[name] = had
	}
}

func (l *life) compare(r search.Reader, want model) {
	l.Helper()
	live := map[string]*generation{}
	infos, err := r.Sources(l.ctx)
	l.ok(err)
	for _, info := range infos {
		if info.Generation > 0 {
			live[info.Source.Name] = want[info.Source.Name].live
			if live[info.Source.Name] == nil {
				l.Fatalf("source %s has generation %d, and none in the model", info.Source.Name, info.Generation)
			}
			l.same(info.Generation, live[info.Source.Name].num)
			l.same(info.Fingerprint, live[info.Source.Name].fingerprint)
		}
	}
	wantTexts, wantDense, gotDense := []string{}, []string{}, []string{}
	for name, source := range want {
		if source.live == nil {
			continue
		}
		if live[name] == nil {
			l.Fatalf("source %s has no generation, and %d in the model", name, source.live.num)
		}
		l.compareSource(r, name, source.live)
		for _, c := range source.live.pages {
			for _, e := range c.embeddings(source.live.fingerprint) {
				wantTexts = append(wantTexts, e.Text)
				if e.Vector != nil {
					wantDense = append(wantDense, source.live.fingerprint+" "+e.Text)
				}
			}
		}
	}
	slices.Sort(wantTexts)
	l.same(l.texts(r, docseek.Filter{}), wantTexts)
	for _, f := range []string{fingerprint, "model-b"} {
		found, err := r.Candidates(l.ctx, search.Request{Vectors: map[string][]float32{f: unit(l.rng)}, Limit: 1000})
		l.ok(err)
		for _, c := range found.Dense {
			gotDense = append(gotDense, f+" "+c.Text)
		}
	}
	slices.Sort(wantDense)
	slices.Sort(gotDense)
	l.same(gotDense, wantDense)
	stats, err := r.Stats(l.ctx, nil, []uint32{common})
	l.ok(err)
	l.same(stats, search.Stats{Chunks: len(wantTexts), Frequency: []int{len(wantTexts)}})
}

func (l *life) compareSource(r search.Reader, name string, want *generation) {
	l.Helper()
	pages, err := r.Pages(l.ctx, name, "", "", 1000)
	l.ok(err)
	got := map[string]string{}
	for _, p := range pages {
		got[p.URL] = fmt.Sprint(p.Hash, " by ", p.Generation)
		chunks, err := r.Chunks(l.ctx, name, p.URL, 0, 99)
		l.ok(err)
		c := want.pages[p.URL]
		texts := []string{}
		for _, chunk := range chunks {
			texts = append(texts, chunk.Text)
		}
		l.same(texts, textsInOrder(c))
	}
	expected := map[string]string{}
	for url, c := range want.pages {
		expected[url] = fmt.Sprint(c.record().Hash, " by ", want.wrote[url])
	}
	l.same(got, expected)
}

func textsInOrder(c content) []string {
	texts := []string{}
	for _, e := range c.embeddings(fingerprint) {
		texts = append(texts, e.Text)
	}
	return texts
}

// testReadersAcrossCommits searches while two sources are committed again and
// again: each answer is of exactly one generation of each source.
func testReadersAcrossCommits(m must, open opener) {
	const (
		pages   = 6
		commits = 25
	)
	s := m.open(open)
	names := []string{"one", "two"}
	site := func(name string, revision int) []content {
		list := make([]content, pages)
		for i := range list {
			list[i] = content{url: pageURL(name, i), revision: revision, chunks: 2}
		}
		return list
	}
	for _, name := range names {
		m.publish(s, name, site(name, 0)...)
	}
	var done atomic.Bool
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			last := map[string]int{}
			for first := true; first || !done.Load(); first = false {
				if err := readOnce(m, s, last, pages); err != nil {
					m.Error(err)
					return
				}
			}
		})
	}
	errs := make(chan error, len(names))
	for _, name := range names {
		writers.Go(func() {
			for revision := 1; revision <= commits; revision++ {
				if err := republish(m, s, name, site(name, revision)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	close(errs)
	m.ok(<-errs)
	for _, name := range names {
		m.same(m.texts(m.reader(s), docseek.Filter{Sources: []string{name}}), textsOf(site(name, commits)...))
	}
}

func republish(m must, s search.Store, name string, pages []content) error {
	w, err := s.Begin(m.ctx, source(name), fingerprint, false)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	for _, c := range pages {
		if err := w.Put(m.ctx, c.record(), c.embeddings(fingerprint)); err != nil {
			return err
		}
	}
	want := search.Counts{Pages: len(pages), Chunks: 2 * len(pages), Embedded: 2 * len(pages)}
	return w.Commit(m.ctx, want, search.Run{Outcome: search.Published})
}

// readOnce takes a reader and makes sure that everything it says is of one state.
func readOnce(m must, s search.Store, last map[string]int, pages int) error {
	r, err := s.Reader(m.ctx)
	if err != nil {
		return err
	}
	request := search.Request{
		Vectors: map[string][]float32{fingerprint: unit(seed("any"))}, Lexical: commonQuery(), Limit: 1000,
	}
	found, err := r.Candidates(m.ctx, request)
	if err != nil {
		return err
	}
	for _, list := range [][]search.Candidate{found.Dense, found.Lexical} {
		revisions, chunks := map[string]int{}, map[string]int{}
		for _, c := range list {
			var revision, chunk int
			if _, err := fmt.Sscanf(c.Body(), c.URL+" revision %d chunk %d", &revision, &chunk); err != nil {
				return fmt.Errorf("read the text %q: %w", c.Text, err)
			}
			if had, ok := revisions[c.Source]; ok && had != revision {
				return fmt.Errorf("source %s: revisions %d and %d in one answer", c.Source, had, revision)
			}
			revisions[c.Source] = revision
			chunks[c.Source]++
		}
		for _, name := range []string{"one", "two"} {
			if chunks[name] != 2*pages {
				return fmt.Errorf("source %s: %d chunks in the answer, want %d", name, chunks[name], 2*pages)
			}
			if revisions[name] < last[name] {
				return fmt.Errorf("source %s: revision %d after %d", name, revisions[name], last[name])
			}
			last[name] = revisions[name]
		}
	}
	for _, name := range []string{"one", "two"} {
		chunks, err := r.Chunks(m.ctx, name, pageURL(name, 3), 0, 9)
		if err != nil {
			return err
		}
		want := content{url: pageURL(name, 3), revision: last[name], chunks: 2}
		if len(chunks) != 2 || chunks[1].Text != textsInOrder(want)[1] {
			return fmt.Errorf("source %s: the page's chunks are not of revision %d: %+v", name, last[name], chunks)
		}
	}
	infos, err := r.Sources(m.ctx)
	if err == nil && (len(infos) != 2 || infos[0].Chunks != 2*pages) {
		err = fmt.Errorf("sources are %+v", infos)
	}
	return err
}
