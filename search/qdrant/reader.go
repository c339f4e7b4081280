package qdrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/search"
)

const (
	// maxLimit bounds a list of candidates and a list of pages.
	maxLimit = 1000
	// patientReads is how long what is read while live points move is read again.
	patientReads = 2 * time.Second
	// partsPerRead bounds the statistics in one answer: some 400 KB each.
	partsPerRead = 32

	kindPage   = "page"
	kindSource = "source"
)

type reader struct {
	store *Store
	*snapshot
	// held says that a writer holds the source that is read, so that no point of it
	// can go.
	held bool
}

func (r *reader) Key() string { return r.key() }

// steady reads until the answer is of the state and whole.
//
// A collection that is not there any more is of a state that is gone.
//
// Whole: a point whose payload is set may move from one of the server's segments
// to another, and a search that looks at both at that time misses it. So runs say
// in the record when they mark live points, and what was read meanwhile is read
// again. Of the state: what a reader of an earlier one sees may have been deleted.
func (r *reader) steady(ctx context.Context, read func() error) error {
	before := r.store.latest()
	for start := time.Now(); ; {
		err := read()
		if err != nil && !errors.Is(err, search.ErrNotFound) && !errors.Is(err, search.ErrStale) && !notFound(err) {
			return err
		}
		after, e := r.store.look(ctx)
		if e != nil {
			return e
		}
		if after.Name != r.Name || r.Seq < after.Floor && !r.held {
			return fmt.Errorf("read state %s: %w", r.key(), search.ErrStale)
		}
		if quiet(before, after) || time.Since(start) > patientReads {
			return err
		}
		for slices.ContainsFunc(after.Numbers, func(h hidden) bool { return h.Moving }) && time.Since(start) < patientReads {
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return err
			}
			if after, e = r.store.look(ctx); e != nil {
				return e
			}
		}
		before = after
	}
}

func (r *reader) Sources(ctx context.Context) ([]search.SourceInfo, error) {
	notes, err := r.store.notes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the sources: %w", err)
	}
	infos := make(map[string]search.SourceInfo, len(r.generations))
	for name, g := range r.generations {
		info := g.Info
		info.LastSuccess = info.IndexedAt
		infos[name] = info
	}
	for _, noted := range notes {
		name := noted.Info.Source.Name
		info, ok := infos[name]
		if !ok {
			info = search.SourceInfo{Source: noted.Info.Source, Versions: []string{}, Languages: []string{}}
		}
		if noted.Run >= info.Generation {
			info.LastRun = noted.Info.LastRun
		}
		if noted.Info.LastSuccess.After(info.LastSuccess) {
			info.LastSuccess = noted.Info.LastSuccess
		}
		infos[name] = info
	}
	list := make([]search.SourceInfo, 0, len(infos))
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		list = append(list, infos[name])
	}
	return list, nil
}

// noted is what the newest run left of a source beside its generations.
type noted struct {
	Run  uint64            `json:"run"` // its number
	Info search.SourceInfo `json:"info"`
}

func readSource(p payload) (noted, error) {
	var n noted
	if err := decode(p["noted"], &n); err != nil {
		return n, fmt.Errorf("read what is noted of source %s: %w", p[fieldSource].GetStringValue(), err)
	}
	return n, nil
}

// asked are the live generations of the sources; of all when none are named.
func (r *reader) asked(sources []string) map[string]generation {
	if len(sources) == 0 {
		return r.generations
	}
	some := make(map[string]generation, len(sources))
	for _, name := range sources {
		if g, ok := r.generations[name]; ok {
			some[name] = g
		}
	}
	return some
}

func (r *reader) Stats(ctx context.Context, sources []string, terms []uint32) (search.Stats, error) {
	stats := search.Stats{Frequency: make([]int, len(terms))}
	for name, g := range r.asked(sources) {
		stats.Chunks += g.Info.Chunks
		counted, err := r.store.frequencies(ctx, r.parts[name])
		if err != nil {
			return search.Stats{}, fmt.Errorf("read the statistics of source %s: %w", name, err)
		}
		for _, f := range counted {
			for i, term := range terms {
				stats.Frequency[i] += f.of(term)
			}
		}
	}
	return stats, nil
}

// query is one collection's share of a request.
type query struct {
	collection string
	dense      []float32 // nil for no dense list
	lexical    bool
}

// queries says what to ask which collection.
func (r *reader) queries(req search.Request, units map[string][]float32) []query {
	byName := map[string]query{}
	lexical := len(req.Lexical.Terms) > 0
	for _, g := range r.asked(req.Filter.Sources) {
		if g.Info.Embedded > 0 {
			byName[g.Set] = query{g.Set, units[g.Info.Fingerprint], lexical}
		}
		if g.Info.Embedded < g.Info.Chunks {
			byName[r.store.plain()] = query{collection: r.store.plain(), lexical: lexical}
		}
	}
	var list []query
	for _, q := range byName {
		if q.dense != nil || q.lexical {
			list = append(list, q)
		}
	}
	return list
}

func (r *reader) Candidates(ctx context.Context, req search.Request) (search.Candidates, error) {
	req.Limit = min(req.Limit, maxLimit)
	units, err := r.checkRequest(req)
	if err != nil {
		return search.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	if req.Limit <= 0 {
		return search.Candidates{}, nil
	}
	var found search.Candidates
	if err := r.steady(ctx, func() (err error) {
		found, err = r.find(ctx, req, units)
		return err
	}); err != nil {
		return search.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	return found, nil
}

func (r *reader) find(ctx context.Context, req search.Request, units map[string][]float32) (search.Candidates, error) {
	var mu sync.Mutex
	var found search.Candidates
	group, asking := errgroup.WithContext(ctx)
	for _, q := range r.queries(req, units) {
		group.Go(func() error {
			some, err := r.ask(asking, req, q)
			mu.Lock()
			defer mu.Unlock()
			found.Dense = append(found.Dense, some.Dense...)
			found.Lexical = append(found.Lexical, some.Lexical...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return search.Candidates{}, err
	}
	found.Dense, found.Lexical = best(found.Dense, req.Limit), best(found.Lexical, req.Limit)
	return found, nil
}

// best orders a list as search.Candidates says.
func best(list []search.Candidate, limit int) []search.Candidate {
	slices.SortFunc(list, func(a, b search.Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), limit)]
}

// ask gets both lists of one collection with one request.
func (r *reader) ask(ctx context.Context, req search.Request, q query) (search.Candidates, error) {
	limit := uint64(req.Limit)
	if len(r.asked(req.Filter.Sources)) == len(r.generations) {
		req.Filter.Sources = nil // all are asked: nothing else is visible
	}
	filter := &qdrant.Filter{Must: slices.Concat(narrow(req.Filter), r.visible)}
	fields := chunkFields()
	if req.Brief {
		fields = briefFields()
	}
	one := func(using string, question *qdrant.Query, params *qdrant.SearchParams) *qdrant.QueryPoints {
		return &qdrant.QueryPoints{
			CollectionName: q.collection, Query: question, Using: &using, Filter: filter, Limit: &limit, Params: params,
			WithPayload: qdrant.NewWithPayloadInclude(fields...),
		}
	}
	var batch []*qdrant.QueryPoints
	if q.dense != nil {
		batch = append(batch, one(denseVector, qdrant.NewQueryDense(q.dense), r.store.searchParams()))
	}
	if q.lexical {
		batch = append(batch, one(lexicalVector, qdrant.NewQuerySparse(req.Lexical.Terms, req.Lexical.Weights), nil))
	}
	answers, err := call(ctx, r.store.remote, "search in "+q.collection, func(ctx context.Context) ([]*qdrant.BatchResult, error) {
		return r.store.remote.QueryBatch(ctx, &qdrant.QueryBatchPoints{CollectionName: q.collection, QueryPoints: batch, ReadConsistency: r.store.remote.consistency})
	})
	if err != nil {
		return search.Candidates{}, err
	}
	if len(answers) != len(batch) {
		return search.Candidates{}, fmt.Errorf("search in %s: %d answers to %d questions", q.collection, len(answers), len(batch))
	}
	lists := make([][]search.Candidate, len(answers))
	for i, answer := range answers {
		lists[i] = make([]search.Candidate, 0, len(answer.GetResult()))
		for _, p := range answer.GetResult() {
			if chunk, ok := readChunk(p.GetPayload()); ok {
				lists[i] = append(lists[i], search.Candidate{Chunk: chunk, Score: float64(p.GetScore())})
			}
		}
	}
	switch {
	case q.dense == nil:
		return search.Candidates{Lexical: lists[0]}, nil
	case !q.lexical:
		return search.Candidates{Dense: lists[0]}, nil
	}
	return search.Candidates{Dense: lists[0], Lexical: lists[1]}, nil
}

// searchParams let the best quantized vectors be compared exactly.
func (s *Store) searchParams() *qdrant.SearchParams {
	if s.options.Quantization == "" || s.options.Quantization == None {
		return nil
	}
	rescore := true
	return &qdrant.SearchParams{Quantization: &qdrant.QuantizationSearchParams{Rescore: &rescore, Oversampling: &s.options.Oversampling}}
}

// checkRequest checks a request and brings its vectors to length 1.
func (r *reader) checkRequest(req search.Request) (map[string][]float32, error) {
	if err := checkLexical(req.Lexical); err != nil {
		return nil, fmt.Errorf("check the query: %w", err)
	}
	units, err := req.UnitVectors()
	if err != nil {
		return nil, err
	}
	for _, g := range r.generations {
		if unit, ok := units[g.Info.Fingerprint]; ok && g.Dim > 0 && len(unit) != g.Dim {
			return nil, fmt.Errorf("the query's vector has %d values, the index %d: its embedder is not %q", len(unit), g.Dim, g.Info.Fingerprint)
		}
	}
	return units, nil
}

// chunkCollections are those that a live generation has chunks in.
func (r *reader) chunkCollections(g generation) []string {
	var names []string
	if g.Info.Embedded > 0 {
		names = append(names, g.Set)
	}
	if g.Info.Embedded < g.Info.Chunks {
		names = append(names, r.store.plain())
	}
	return names
}

func (r *reader) Page(ctx context.Context, source, url string) (search.PageRecord, error) {
	var record search.PageRecord
	if err := r.steady(ctx, func() (err error) {
		record, err = r.readPage(ctx, source, url)
		return err
	}); err != nil {
		return search.PageRecord{}, fmt.Errorf("read page %s of source %s: %w", url, source, err)
	}
	return record, nil
}

func (r *reader) readPage(ctx context.Context, source, url string) (search.PageRecord, error) {
	var record search.PageRecord
	if _, ok := r.generations[source]; !ok {
		return record, search.ErrNotFound
	}
	found := false
	err := r.store.remote.each(ctx, scroll{
		collection: r.store.meta(), must: slices.Concat([]*qdrant.Condition{ofKind(kindPage), ofSource(source), ofPages(url)}, r.visible),
		payload: []string{"record"}, page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		found = true
		return decode(p.GetPayload()["record"], &record)
	})
	if err == nil && !found {
		err = search.ErrNotFound
	}
	return record, err
}

func (r *reader) Pages(ctx context.Context, source, pathPrefix, after string, limit int) ([]search.PageRecord, error) {
	var records []search.PageRecord
	if err := r.steady(ctx, func() (err error) {
		records, err = r.readPages(ctx, source, search.CleanPathPrefix(pathPrefix), after, min(max(limit, 0), maxLimit))
		return err
	}); err != nil {
		return nil, fmt.Errorf("list the pages of source %s: %w", source, err)
	}
	return records, nil
}

func (r *reader) readPages(ctx context.Context, source, prefix, after string, limit int) ([]search.PageRecord, error) {
	g, ok := r.generations[source]
	if !ok {
		return nil, search.ErrNotFound
	}
	all, err := r.list(ctx, g)
	if err != nil {
		return nil, err
	}
	start, found := slices.BinarySearchFunc(all, after, func(p place, url string) int { return cmp.Compare(p.url, url) })
	if found {
		start++
	}
	var ids []*qdrant.PointId
	for _, p := range all[start:] {
		if len(ids) == limit {
			break
		}
		if underPath(prefix, p.url) {
			ids = append(ids, pageID(source, p.url, p.from))
		}
	}
	records := make([]search.PageRecord, 0, len(ids))
	for some := range slices.Chunk(ids, scrollPage) {
		points, err := r.store.remote.getPoints(ctx, r.store.meta(), some)
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			var record search.PageRecord
			if err := decode(p.GetPayload()["record"], &record); err != nil {
				return nil, fmt.Errorf("read a page record: %w", err)
			}
			records = append(records, record)
		}
	}
	if len(records) != len(ids) {
		return nil, search.ErrStale
	}
	slices.SortFunc(records, func(a, b search.PageRecord) int { return cmp.Compare(a.URL, b.URL) })
	return records, nil
}

// place is where a page of a generation stands.
type place struct {
	url              string
	from             uint64
	chunks, embedded int
}

// list are the pages of a live generation by URL.
func (r *reader) list(ctx context.Context, g generation) ([]place, error) {
	if pages, ok := r.store.caches.pages(g.N); ok {
		return pages, nil
	}
	var pages []place
	if err := r.steady(ctx, func() (err error) {
		pages, err = r.readList(ctx, g)
		return err
	}); err != nil {
		return nil, err
	}
	r.store.caches.putPages(g.N, pages)
	return pages, nil
}

func (r *reader) readList(ctx context.Context, g generation) ([]place, error) {
	pages := make([]place, 0, g.Info.Pages)
	err := r.store.remote.each(ctx, scroll{
		collection: r.store.meta(), must: slices.Concat([]*qdrant.Condition{ofKind(kindPage), ofSource(g.Info.Source.Name)}, r.visible),
		payload: []string{fieldURL, fieldFrom, "chunks", "embedded"}, page: 4 * scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		f := p.GetPayload()
		pages = append(pages, place{
			f[fieldURL].GetStringValue(), uint64(f[fieldFrom].GetIntegerValue()),
			int(f["chunks"].GetIntegerValue()), int(f["embedded"].GetIntegerValue()),
		})
		return nil
	})
	slices.SortFunc(pages, func(a, b place) int { return cmp.Compare(a.url, b.url) })
	return pages, err
}
