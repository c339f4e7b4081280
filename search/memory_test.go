package search_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// memory is a store that keeps everything, in memory, in the plainest way:
// every question looks at every record.
type memory struct {
	mu      sync.Mutex
	now     func() time.Time
	state   search.State
	commits map[string][]commit
	checks  map[string]map[string]search.PageCheck
	runs    map[string]search.Run
	success map[string]time.Time
	pages   []*memoryPage
	chunks  []*memoryChunk
	locks   map[string]chan struct{}
	// oldest is the state that a reader may still be at.
	states []search.State
}

type commit struct {
	number      uint64
	source      docseek.Source
	fingerprint string
	at          time.Time
}

type life struct {
	source   string
	from, to uint64
}

type memoryPage struct {
	life
	record search.PageRecord
}

type memoryChunk struct {
	life
	search.Embedding
	fingerprint         string
	indexedAt, modified time.Time
	pageChunks          int
}

var _ search.Store = (*memory)(nil)

func newMemory(now func() time.Time) *memory {
	m := &memory{
		now: now, commits: map[string][]commit{}, checks: map[string]map[string]search.PageCheck{},
		runs: map[string]search.Run{}, success: map[string]time.Time{}, locks: map[string]chan struct{}{},
	}
	m.states = []search.State{m.state}
	return m
}

// set makes a state the present one.
func (m *memory) set(s search.State) {
	m.state = s
	m.states = append(m.states, s)
}

// forget drops every state but the present one.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states = []search.State{m.state}
}

func (m *memory) Close() error { return nil }

func (m *memory) Reader(context.Context) (search.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &memoryReader{m, m.state}, nil
}

func (m *memory) ReaderAt(_ context.Context, key string) (search.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.states {
		if stateKey(s) == key {
			return &memoryReader{m, s}, nil
		}
	}
	return nil, fmt.Errorf("read state %q: %w", key, search.ErrStale)
}

func stateKey(s search.State) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (m *memory) lock(source string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[source] == nil {
		m.locks[source] = make(chan struct{}, 1)
	}
	return m.locks[source]
}

func (m *memory) Begin(ctx context.Context, source docseek.Source, fingerprint string, wait bool) (search.Writer, error) {
	lock := m.lock(source.Name)
	select {
	case lock <- struct{}{}:
	default:
		if !wait {
			return nil, &search.LockedError{Source: source.Name, Holder: "this process"}
		}
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for source %s: %w", source.Name, errors.Join(ctx.Err(), &search.LockedError{Source: source.Name, Holder: "this process"}))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.state
	n := before.Last + 1
	m.state = search.State{Last: n, Hidden: append(slices.Clone(before.Hidden), n)}
	w := &memoryWriter{memory: m, source: source, fingerprint: fingerprint, number: n, live: before, lock: lock, fresh: true}
	if live, found := m.live(before, source.Name); found {
		w.fresh = live.fingerprint != fingerprint
	}
	return w, nil
}

func (m *memory) Rollback(_ context.Context, source string) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	live, found := m.live(m.state, source)
	if !found {
		return 0, search.ErrNotFound
	}
	without := search.State{Last: m.state.Last, Hidden: append(slices.Clone(m.state.Hidden), live.number)}
	slices.Sort(without.Hidden)
	before, found := m.live(without, source)
	if !found {
		return 0, search.ErrNotFound
	}
	m.set(without)
	return before.number, nil
}

// live is the newest commit of a source that a state shows.
func (m *memory) live(s search.State, source string) (commit, bool) {
	for _, c := range slices.Backward(m.commits[source]) {
		if s.Visible(c.number, 0) {
			return c, true
		}
	}
	return commit{}, false
}

type memoryReader struct {
	m     *memory
	state search.State
}

func (r *memoryReader) Key() string { return stateKey(r.state) }

func (r *memoryReader) Sources(context.Context) ([]search.SourceInfo, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	var infos []search.SourceInfo
	for name := range r.m.runs {
		info := search.SourceInfo{Source: docseek.Source{Name: name}, LastSuccess: r.m.success[name]}
		run := r.m.runs[name]
		info.LastRun = &run
		if live, found := r.m.live(r.state, name); found {
			info.Source, info.Generation = live.source, live.number
			info.Fingerprint, info.IndexedAt = live.fingerprint, live.at
		}
		for _, p := range r.m.pages {
			if p.source == name && r.state.Visible(p.from, p.to) {
				info.Pages++
				info.Versions = addSorted(info.Versions, p.record.Version)
				info.Languages = addSorted(info.Languages, p.record.Language)
			}
		}
		for _, c := range r.m.chunks {
			if c.source == name && r.state.Visible(c.from, c.to) {
				info.Chunks++
				if c.Vector != nil {
					info.Embedded++
				}
			}
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b search.SourceInfo) int { return strings.Compare(a.Source.Name, b.Source.Name) })
	return infos, nil
}

func addSorted(list []string, s string) []string {
	at, found := slices.BinarySearch(list, s)
	if found || s == "" {
		return list
	}
	return slices.Insert(list, at, s)
}

func (r *memoryReader) visible(yield func(*memoryChunk)) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	for _, c := range r.m.chunks {
		if r.state.Visible(c.from, c.to) {
			yield(c)
		}
	}
}

func (r *memoryReader) Stats(_ context.Context, sources []string, terms []uint32) (search.Stats, error) {
	stats := search.Stats{Frequency: make([]int, len(terms))}
	r.visible(func(c *memoryChunk) {
		if len(sources) > 0 && !slices.Contains(sources, c.source) {
			return
		}
		stats.Chunks++
		for i, term := range terms {
			if _, found := slices.BinarySearch(c.Lexical.Terms, term); found {
				stats.Frequency[i]++
			}
		}
	})
	return stats, nil
}

func (r *memoryReader) Candidates(_ context.Context, q search.Request) (search.Candidates, error) {
	var found search.Candidates
	r.visible(func(c *memoryChunk) {
		if !passes(q.Filter, c) {
			return
		}
		if v := q.Vectors[c.fingerprint]; v != nil && c.Vector != nil {
			found.Dense = append(found.Dense, search.Candidate{Chunk: c.stored(), Score: dot(v, c.Vector)})
		}
		if score := c.Lexical.Dot(q.Lexical); score > 0 {
			found.Lexical = append(found.Lexical, search.Candidate{Chunk: c.stored(), Score: score})
		}
	})
	for _, list := range []*[]search.Candidate{&found.Dense, &found.Lexical} {
		slices.SortFunc(*list, func(a, b search.Candidate) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
		})
		*list = (*list)[:min(q.Limit, len(*list))]
	}
	return found, nil
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func passes(f docseek.Filter, c *memoryChunk) bool {
	return (len(f.Sources) == 0 || slices.Contains(f.Sources, c.source)) &&
		(f.Version == "" || f.Version == c.Version) &&
		(f.Language == "" || f.Language == c.Language || strings.HasPrefix(c.Language, f.Language+"-")) &&
		under(c.URL, f.PathPrefix)
}

// under reports whether the path of a URL has a prefix of whole segments.
func under(address, prefix string) bool {
	prefix = strings.Trim(prefix, "/")
	u, err := url.Parse(address)
	if err != nil {
		return prefix == ""
	}
	return prefix == "" || strings.HasPrefix(strings.Trim(u.Path, "/")+"/", prefix+"/")
}

func (c *memoryChunk) stored() search.Chunk {
	return search.Chunk{
		Chunk: c.Chunk, Source: c.source, Generation: c.from,
		IndexedAt: c.indexedAt, Modified: c.modified, PageChunks: c.pageChunks,
	}
}

func (r *memoryReader) Chunks(_ context.Context, source, url string, first, last int) ([]search.Chunk, error) {
	var chunks []search.Chunk
	r.visible(func(c *memoryChunk) {
		if c.source == source && c.URL == url && c.Ordinal >= first && c.Ordinal <= last {
			chunks = append(chunks, c.stored())
		}
	})
	slices.SortFunc(chunks, func(a, b search.Chunk) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return chunks, nil
}

func (r *memoryReader) Spans(ctx context.Context, spans []search.Span) ([][]search.Chunk, error) {
	lists := make([][]search.Chunk, len(spans))
	for i, span := range spans {
		var err error
		if lists[i], err = r.Chunks(ctx, span.Source, span.URL, span.First, span.Last); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func (r *memoryReader) Page(ctx context.Context, source, url string) (search.PageRecord, error) {
	pages, err := r.Pages(ctx, source, "", "", 1<<30)
	if i := slices.IndexFunc(pages, func(p search.PageRecord) bool { return p.URL == url }); i >= 0 {
		return pages[i], err
	}
	return search.PageRecord{}, fmt.Errorf("page %s of %s: %w", url, source, search.ErrNotFound)
}

func (r *memoryReader) Pages(_ context.Context, source, pathPrefix, after string, limit int) ([]search.PageRecord, error) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	var pages []search.PageRecord
	for _, p := range r.m.pages {
		if p.source == source && r.state.Visible(p.from, p.to) && p.record.URL > after && under(p.record.URL, pathPrefix) {
			pages = append(pages, p.record)
		}
	}
	slices.SortFunc(pages, func(a, b search.PageRecord) int { return strings.Compare(a.URL, b.URL) })
	return pages[:min(limit, len(pages))], nil
}

// memoryWriter writes into the store at once: what it writes is hidden.
type memoryWriter struct {
	*memory
	source      docseek.Source
	fingerprint string
	number      uint64
	live        search.State
	lock        chan struct{}
	// fresh says that nothing of the live generation is carried over.
	fresh bool
	ended bool
}

func (w *memoryWriter) Generation() uint64 { return w.number }

func (w *memoryWriter) Live() search.Reader { return &memoryReader{w.memory, w.live} }

func (w *memoryWriter) Checks(_ context.Context, yield func(string, search.PageCheck) error) error {
	w.mu.Lock()
	checks := w.checks[w.source.Name]
	w.mu.Unlock()
	for u, check := range checks {
		if err := yield(u, check); err != nil {
			return err
		}
	}
	return nil
}

func (w *memoryWriter) Vectors(_ context.Context, hashes []string) (map[string][]float32, error) {
	found := map[string][]float32{}
	(&memoryReader{w.memory, w.live}).visible(func(c *memoryChunk) {
		if c.source == w.source.Name && c.fingerprint == w.fingerprint && c.Vector != nil && slices.Contains(hashes, c.TextHash) {
			found[c.TextHash] = c.Vector
		}
	})
	return found, nil
}

func (w *memoryWriter) Put(ctx context.Context, page search.PageRecord, chunks []search.Embedding) error {
	if err := w.Remove(ctx, page.URL); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	page.Generation = w.number
	born := life{source: w.source.Name, from: w.number}
	w.pages = append(w.pages, &memoryPage{born, page})
	for _, c := range chunks {
		w.chunks = append(w.chunks, &memoryChunk{
			life: born, Embedding: c, fingerprint: w.fingerprint,
			indexedAt: page.IndexedAt, modified: page.Modified, pageChunks: len(chunks),
		})
	}
	return nil
}

func (w *memoryWriter) Remove(_ context.Context, url string) error {
	w.end(func(u string) bool { return u == url })
	return nil
}

// end marks as replaced what the run builds on, and drops what it wrote itself.
func (w *memoryWriter) end(which func(url string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := func(l *life, url string) bool {
		if l.source != w.source.Name || !which(url) {
			return false
		}
		if l.from == w.number {
			return true
		}
		if w.live.Visible(l.from, l.to) {
			l.to = w.number
		}
		return false
	}
	w.pages = slices.DeleteFunc(w.pages, func(p *memoryPage) bool { return gone(&p.life, p.record.URL) })
	w.chunks = slices.DeleteFunc(w.chunks, func(c *memoryChunk) bool { return gone(&c.life, c.URL) })
}

func (w *memoryWriter) Check(_ context.Context, url string, check search.PageCheck) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checks[w.source.Name] == nil {
		w.checks[w.source.Name] = map[string]search.PageCheck{}
	}
	w.checks[w.source.Name][url] = check
	return nil
}

// shown is the state that a commit would make.
func (w *memoryWriter) shown() search.State {
	hidden := slices.DeleteFunc(slices.Clone(w.state.Hidden), func(n uint64) bool { return n == w.number })
	return search.State{Last: w.state.Last, Hidden: hidden}
}

func (w *memoryWriter) Counts(context.Context) (search.Counts, error) {
	if w.fresh {
		w.dropCarried()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts search.Counts
	state := w.shown()
	for _, p := range w.pages {
		if p.source == w.source.Name && state.Visible(p.from, p.to) {
			counts.Pages++
		}
	}
	for _, c := range w.chunks {
		if c.source == w.source.Name && state.Visible(c.from, c.to) {
			counts.Chunks++
			if c.Vector != nil {
				counts.Embedded++
			}
		}
	}
	return counts, nil
}

// dropCarried ends every page of the live generation that was not put again.
func (w *memoryWriter) dropCarried() {
	put := map[string]bool{}
	w.mu.Lock()
	for _, p := range w.pages {
		put[p.record.URL] = put[p.record.URL] || p.from == w.number
	}
	w.mu.Unlock()
	w.end(func(u string) bool { return !put[u] })
}

func (w *memoryWriter) Commit(ctx context.Context, want search.Counts, run search.Run) error {
	got, err := w.Counts(ctx)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("commit generation %d with %+v instead of %+v: %w", w.number, got, want, search.ErrUnverified)
	}
	w.mu.Lock()
	w.commits[w.source.Name] = append(w.commits[w.source.Name], commit{w.number, w.source, w.fingerprint, w.now()})
	w.set(w.shown())
	w.record(run)
	w.mu.Unlock()
	return w.Close()
}

func (w *memoryWriter) record(run search.Run) {
	run.Generation = w.number
	w.runs[w.source.Name] = run
	if run.Outcome == search.Published || run.Outcome == search.Unchanged {
		w.success[w.source.Name] = w.now()
	}
}

func (w *memoryWriter) Finish(_ context.Context, run search.Run) error {
	w.mu.Lock()
	w.record(run)
	w.mu.Unlock()
	return w.Close()
}

// Close takes back what an uncommitted run wrote and releases the source.
func (w *memoryWriter) Close() error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.state.Visible(w.number, 0) {
		w.pages = slices.DeleteFunc(w.pages, func(p *memoryPage) bool { return p.from == w.number })
		w.chunks = slices.DeleteFunc(w.chunks, func(c *memoryChunk) bool { return c.from == w.number })
		for _, p := range w.pages {
			p.revive(w.number)
		}
		for _, c := range w.chunks {
			c.revive(w.number)
		}
	}
	<-w.lock
	return nil
}

func (l *life) revive(n uint64) {
	if l.to == n {
		l.to = 0
	}
}

// embed makes stored chunks of plain ones.
func embed(a *lexical.Analyzer, chunks []docseek.Chunk, vector func(string) []float32) []search.Embedding {
	embedded := make([]search.Embedding, len(chunks))
	for i, c := range chunks {
		embedded[i] = search.Embedding{Chunk: c, TextHash: c.Embedded(), Lexical: a.Chunk(c)}
		if vector != nil {
			embedded[i].Vector = vector(c.Embedded())
		}
	}
	return embedded
}
