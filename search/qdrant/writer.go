package qdrant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

const (
	// hashesPerRead and checksPerWrite bound one request.
	hashesPerRead  = 256
	checksPerWrite = 256
)

type writer struct {
	store       *Store
	source      docseek.Source
	fingerprint string
	lease       *lease
	live        *reader
	base        generation // the live one; zero for none
	lost        bool       // the server no longer has the chunks of the live one
	num         uint64
	// committed is the state as the commit would make it.
	committed search.State
	// free are what the mark of a live point may be: none, or one of a run that
	// will never commit.
	free *qdrant.Condition
	// carried says that what is not put or removed stays.
	carried bool
	set     string           // the collection that embedded chunks are written to
	dim     int              // of its vectors; 0 while it does not exist
	places  map[string]place // the live pages, once they are needed
	batch   batch
	out     *outbox
	written map[string]bool // pages that the run has points of
	marked  map[string]bool // live pages that are marked as replaced
	touched map[string]bool // pages put or removed
	tally   tally
	checks  map[string]search.PageCheck
	// dirty says that the run has changed points, doubtful that a request of it may
	// still come through.
	dirty, doubtful bool
	ended           bool
}

// begin is the part of Begin that runs while the source is held.
func (s *Store) begin(ctx context.Context, lease *lease, source docseek.Source, fingerprint string) (*writer, error) {
	if err := s.sweep(ctx, source.Name); err != nil {
		return nil, err
	}
	now, err := s.refresh(ctx)
	if err != nil {
		return nil, err
	}
	base := now.generations[source.Name]
	lost, err := s.lost(ctx, base, now.visible)
	if err != nil {
		return nil, err
	}
	if lost {
		s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the server has lost the chunks of a source: the run makes all of them anew",
			slog.String("source", source.Name), slog.Uint64("generation", base.N))
		now = now.without(source.Name)
	}
	w := &writer{
		store: s, source: source, fingerprint: fingerprint, lease: lease,
		live: &reader{store: s, snapshot: now, held: true}, base: base, lost: lost,
		written: map[string]bool{}, marked: map[string]bool{}, touched: map[string]bool{},
		tally: tally{}, checks: map[string]search.PageCheck{}, out: newOutbox(ctx),
	}
	w.carried = w.base.N > 0 && !lost && w.base.Info.Fingerprint == fingerprint
	rec, err := s.change(ctx, func(r *record) error {
		if err := lease.check(); err != nil {
			return err
		}
		w.set = r.use(s.chunks(fingerprint))
		r.Last++
		r.hide(hidden{N: r.Last, Source: source.Name, In: collections(w.set, w.base.Set), Open: true})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if w.dim, err = s.dimOf(ctx, w.set, fingerprint); err != nil {
		return nil, err
	}
	w.num = rec.Last
	dead := []int64{0}
	for _, h := range rec.of(source.Name) {
		if h.N != w.num {
			dead = append(dead, int64(h.N))
		}
	}
	w.free = qdrant.NewMatchInts(fieldTo, dead...)
	rec.show(w.num)
	w.committed = rec.state()
	return w, nil
}

// lost reports that none of the chunks of a live generation are on the server, as
// when somebody deleted their collection. Nothing can be built on it then.
func (s *Store) lost(ctx context.Context, live generation, visible []*qdrant.Condition) (bool, error) {
	for name, chunks := range map[string]int{live.Set: live.Info.Embedded, s.plain(): live.Info.Chunks - live.Info.Embedded} {
		if chunks == 0 {
			continue
		}
		found, err := s.remote.patient().count(ctx, name, append([]*qdrant.Condition{ofSource(live.Info.Source.Name)}, visible...))
		if err != nil && !notFound(err) {
			return false, err
		}
		if found == 0 {
			return true, nil
		}
	}
	return false, nil
}

func (w *writer) Generation() uint64  { return w.num }
func (w *writer) Live() search.Reader { return w.live }

// alive fails when nothing may be written any more.
func (w *writer) alive() error {
	if w.ended {
		return errEnded
	}
	return w.lease.check()
}

// did notes how a change went.
func (w *writer) did(err error) error {
	w.dirty = true
	if err != nil {
		w.doubtful = true
	}
	return err
}

// moving runs a step that changes live points, and says so to readers.
func (w *writer) moving(ctx context.Context, step func() error) error {
	say := func(begins bool) error {
		_, err := w.store.change(ctx, func(r *record) error {
			if h, ok := r.find(w.num); !ok || !h.Open {
				return errTaken
			}
			r.moving(begins, w.num)
			return nil
		})
		return err
	}
	if err := say(true); err != nil {
		return err
	}
	if err := w.did(step()); err != nil {
		return err
	}
	return say(false)
}

// remote is the server, for requests of the run.
func (w *writer) remote() remote { return w.store.remote.patient() }

// shown are the conditions on the source's points that the generation would show.
func (w *writer) shown() []*qdrant.Condition {
	conditions := append([]*qdrant.Condition{ofSource(w.source.Name)}, visible(w.committed)...)
	if !w.carried { // what is live is marked with the commit only
		conditions = append(conditions, isFrom(w.num))
	}
	return conditions
}

// current are the conditions on the source's live points.
func (w *writer) current(more ...*qdrant.Condition) []*qdrant.Condition {
	return slices.Concat([]*qdrant.Condition{ofSource(w.source.Name)}, more, w.live.visible)
}

func (w *writer) Checks(ctx context.Context, yield func(url string, check search.PageCheck) error) error {
	if w.base.N == 0 {
		return nil
	}
	err := w.remote().each(ctx, scroll{
		collection: w.store.meta(), must: w.current(ofKind(kindPage), qdrant.NewMatchInt(fieldChecked, 1)),
		payload: []string{fieldURL, "check"}, page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		url := p.GetPayload()[fieldURL].GetStringValue()
		var check search.PageCheck
		if err := decode(p.GetPayload()["check"], &check); err != nil {
			return fmt.Errorf("read the check of %s: %w", url, err)
		}
		return yield(url, check)
	})
	if err != nil {
		return fmt.Errorf("read the checks of source %s: %w", w.source.Name, err)
	}
	return nil
}

func (w *writer) Vectors(ctx context.Context, hashes []string) (map[string][]float32, error) {
	vectors := make(map[string][]float32, len(hashes))
	if !w.carried || w.base.Info.Embedded == 0 {
		return vectors, nil
	}
	byKey := make(map[string]string, len(hashes))
	for _, hash := range hashes {
		if key := hashKey(hash); key != "" {
			byKey[key] = hash
		}
	}
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(byKey)), hashesPerRead) {
		if err := w.remote().each(ctx, scroll{
			collection: w.set, must: w.current(qdrant.NewMatchKeywords(fieldHash, keys...)),
			payload: []string{fieldHash}, vectors: []string{denseVector}, page: hashesPerRead,
		}, func(p *qdrant.RetrievedPoint) error {
			hash, ok := byKey[p.GetPayload()[fieldHash].GetStringValue()]
			if vector := denseOf(p.GetVectors()); ok && len(vector) > 0 {
				vectors[hash] = vector
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("find vectors to reuse: %w", err)
		}
	}
	return vectors, nil
}

func (w *writer) Put(ctx context.Context, page search.PageRecord, chunks []search.Embedding) error {
	if err := w.alive(); err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	dim, err := checkPage(page, chunks, w.dim)
	if err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	page.Chunks, page.Generation = len(chunks), w.num
	item, err := w.pack(page, chunks)
	if err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	if w.dim == 0 && dim > 0 {
		if err := w.store.ensure(ctx, collection{name: w.set, role: roleChunks, fingerprint: w.fingerprint, dim: dim}); err != nil {
			return fmt.Errorf("put page %s: %w", page.URL, err)
		}
		w.dim = dim
	}
	w.touch(page.URL)
	w.batch.put(item)
	if w.batch.full() {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) Remove(ctx context.Context, url string) error {
	if err := w.alive(); err != nil {
		return fmt.Errorf("remove page %s: %w", url, err)
	}
	w.touch(url)
	w.batch.put(item{url: url})
	if w.batch.full() {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) touch(url string) {
	w.touched[url] = true
	delete(w.checks, url)
}

func (w *writer) Check(_ context.Context, url string, check search.PageCheck) error {
	if err := w.alive(); err != nil {
		return fmt.Errorf("note the check of %s: %w", url, err)
	}
	if !w.touched[url] {
		w.checks[url] = check
	}
	return nil
}

// pack makes a page's points.
func (w *writer) pack(page search.PageRecord, chunks []search.Embedding) (item, error) {
	it := item{url: page.URL}
	embedded := 0
	for _, c := range chunks {
		if err := checkUTF8(c.ID, c.URL, c.Anchor, c.Title, c.Text, c.Glue, c.Context, c.Language, c.Version); err != nil {
			return it, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		if err := checkUTF8(c.Path...); err != nil {
			return it, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		p := chunkPoint(w.source.Name, w.num, page, c)
		size, err := pointSize(p)
		if err != nil {
			return it, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		it.bytes += size
		it.terms = append(it.terms, c.Lexical.Terms)
		if c.Vector == nil {
			it.plain = append(it.plain, p)
			continue
		}
		embedded++
		it.embedded = append(it.embedded, p)
	}
	if err := checkUTF8(page.URL, page.Version, page.Language); err != nil {
		return it, err
	}
	record, err := encode(page)
	if err != nil {
		return it, err
	}
	p := payload{
		fieldKind: text(kindPage), fieldSource: text(w.source.Name), fieldURL: text(page.URL),
		fieldFrom: count(w.num), fieldTo: count(0),
		"chunks": count(uint64(len(chunks))), "embedded": count(uint64(embedded)), "record": record,
	}
	for field, value := range map[string]string{fieldVersion: page.Version, fieldLanguage: page.Language} {
		if value != "" {
			p[field] = text(value)
		}
	}
	it.record = bare(pageID(w.source.Name, page.URL, w.num), p)
	size, err := pointSize(it.record)
	it.bytes += size
	return it, err
}

// chunkSets are the collections that the run and what it builds on have chunks in.
func (w *writer) chunkSets() []string {
	names := []string{w.store.plain()}
	if w.dim > 0 {
		names = append(names, w.set)
	}
	return names
}

// livePlaces are the live pages that the run carries over, by URL.
func (w *writer) livePlaces(ctx context.Context) (map[string]place, error) {
	if w.places != nil {
		return w.places, nil
	}
	places := map[string]place{}
	if w.base.N > 0 {
		list, err := w.live.list(ctx, w.base)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			places[p.url] = p
		}
	}
	w.places = places
	return places, nil
}

// settle writes what is buffered, and waits until all is written.
func (w *writer) settle(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	if err := w.arrive(ctx); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	return nil
}

// arrive waits for what is on its way, and returns what became of it.
func (w *writer) arrive(ctx context.Context) error {
	err := w.out.empty(ctx)
	if err != nil {
		w.doubtful = true
	}
	return err
}

// flush sends what is buffered on its way.
func (w *writer) flush(ctx context.Context) error {
	items := w.batch.take()
	if len(items) == 0 {
		return nil
	}
	if err := w.alive(); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	if err := w.did(w.write(ctx, items)); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	return nil
}

func (w *writer) write(ctx context.Context, items []item) error {
	var own, replaced []string
	if w.carried {
		places, err := w.livePlaces(ctx)
		if err != nil {
			return err
		}
		for _, it := range items {
			if _, ok := places[it.url]; ok && !w.marked[it.url] {
				replaced = append(replaced, it.url)
			}
		}
	}
	for _, it := range items {
		if w.written[it.url] {
			own = append(own, it.url)
		}
	}
	if err := w.takeBack(ctx, own); err != nil {
		return err
	}
	if err := w.replace(ctx, replaced); err != nil {
		return err
	}
	var embedded, plain, records []*qdrant.PointStruct
	for _, it := range items {
		embedded, plain = append(embedded, it.embedded...), append(plain, it.plain...)
		if it.record != nil {
			records = append(records, it.record)
			w.written[it.url] = true
		}
		for _, terms := range it.terms {
			w.tally.add(terms, 1)
		}
	}
	return w.out.post(ctx, func(ctx context.Context) error {
		r := w.remote()
		if err := r.send(ctx, w.set, embedded, w.lease.check); err != nil {
			return err
		}
		if err := r.send(ctx, w.store.plain(), plain, w.lease.check); err != nil {
			return err
		}
		return r.send(ctx, w.store.meta(), records, w.lease.check)
	})
}

// takeBack deletes what the run itself wrote of pages.
func (w *writer) takeBack(ctx context.Context, urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	if err := w.arrive(ctx); err != nil {
		return err
	}
	r := w.remote()
	for _, name := range w.chunkSets() {
		if err := w.discount(ctx, name, []*qdrant.Condition{ofSource(w.source.Name), isFrom(w.num), ofPages(urls...)}); err != nil {
			return err
		}
		if err := r.remove(ctx, name, ofSource(w.source.Name), isFrom(w.num), ofPages(urls...)); err != nil {
			return err
		}
	}
	if err := r.remove(ctx, w.store.meta(), ofSource(w.source.Name), isFrom(w.num), ofKind(kindPage), ofPages(urls...)); err != nil {
		return err
	}
	for _, url := range urls {
		delete(w.written, url)
	}
	return nil
}

// replace marks what is live of pages as replaced by the run.
func (w *writer) replace(ctx context.Context, urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	must := w.current(ofPages(urls...), w.free)
	for _, name := range w.chunkSets() {
		if err := w.discount(ctx, name, must); err != nil {
			return err
		}
	}
	if err := w.moving(ctx, func() error {
		for _, name := range w.chunkSets() {
			if err := w.mark(ctx, name, must); err != nil {
				return err
			}
		}
		return w.mark(ctx, w.store.meta(), append(must, ofKind(kindPage)))
	}); err != nil {
		return err
	}
	for _, url := range urls {
		w.marked[url] = true
	}
	return nil
}

func (w *writer) mark(ctx context.Context, collection string, must []*qdrant.Condition) error {
	return w.remote().setPayload(ctx, collection, payload{fieldTo: count(w.num)}, must)
}

// discount takes the terms of points off the statistics.
func (w *writer) discount(ctx context.Context, collection string, must []*qdrant.Condition) error {
	err := w.remote().each(ctx, scroll{
		collection: collection, must: must, payload: []string{fieldFrom}, vectors: []string{lexicalVector}, page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		w.tally.add(termsOf(p.GetVectors()), -1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the terms of what is replaced: %w", err)
	}
	return nil
}

func (w *writer) Counts(ctx context.Context) (search.Counts, error) {
	if err := w.alive(); err != nil {
		return search.Counts{}, fmt.Errorf("count the generation: %w", err)
	}
	if err := w.settle(ctx); err != nil {
		return search.Counts{}, err
	}
	return w.count(ctx)
}

// count counts the points that the generation would show.
func (w *writer) count(ctx context.Context) (search.Counts, error) {
	var c search.Counts
	pages, err := w.remote().count(ctx, w.store.meta(), append(w.shown(), ofKind(kindPage)))
	if err != nil {
		return c, err
	}
	plain, err := w.remote().count(ctx, w.store.plain(), w.shown())
	if err != nil {
		return c, err
	}
	embedded := 0
	if w.dim > 0 {
		if embedded, err = w.remote().count(ctx, w.set, w.shown()); err != nil {
			return c, err
		}
	}
	return search.Counts{Pages: pages, Chunks: plain + embedded, Embedded: embedded}, nil
}

func (w *writer) Commit(ctx context.Context, want search.Counts, run search.Run) error {
	if err := w.alive(); err != nil {
		return fmt.Errorf("commit generation %d of source %s: %w", w.num, w.source.Name, err)
	}
	if err := w.publish(ctx, want, run); err != nil {
		return fmt.Errorf("commit generation %d of source %s: %w", w.num, w.source.Name, err)
	}
	w.ended = true
	w.out.close()
	// The generation is live; what fails from here on is done by a later run.
	after := context.WithoutCancel(ctx)
	w.store.announce(after)
	if err := w.note(after, run, w.store.now()); err != nil {
		w.store.warn(ctx, "run not recorded", err)
	}
	err := w.store.purge(after, w.source.Name)
	if err == nil {
		err = w.store.dropUnused(after)
	}
	if err != nil {
		w.store.warn(ctx, "old generations not deleted", err)
	}
	return w.lease.release(after)
}

func (w *writer) publish(ctx context.Context, want search.Counts, run search.Run) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	have, err := w.count(ctx)
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("it shows %d pages, %d chunks, %d embedded where %d, %d, %d were written: %w",
			have.Pages, have.Chunks, have.Embedded, want.Pages, want.Chunks, want.Embedded, search.ErrUnverified)
	}
	if err := w.replaceAll(ctx); err != nil {
		return err
	}
	if err := w.did(w.writeStats(ctx)); err != nil {
		return err
	}
	run.Source = w.source.Name
	g := generation{
		N: w.num, Previous: w.base.N, Set: w.set, Dim: w.dim,
		Info: search.SourceInfo{
			Source: w.source, Generation: w.num, Fingerprint: w.fingerprint, Before: w.base.Info.Fingerprint, Pages: have.Pages, Chunks: have.Chunks, Embedded: have.Embedded,
			IndexedAt: w.store.now().UTC(), LastRun: &run,
		},
	}
	if w.lost {
		g.Previous, g.Info.Before = 0, ""
	}
	pages := append(w.shown(), ofKind(kindPage))
	if g.Info.Versions, err = w.remote().values(ctx, w.store.meta(), fieldVersion, pages); err != nil {
		return err
	}
	if g.Info.Languages, err = w.remote().values(ctx, w.store.meta(), fieldLanguage, pages); err != nil {
		return err
	}
	if err := w.saveChecks(ctx); err != nil {
		return err
	}
	if w.dim > 0 {
		if err := w.store.link(ctx, w.set); err != nil {
			return err
		}
	}
	_, err = w.store.change(ctx, func(r *record) error {
		if h, ok := r.find(w.num); !ok || !h.Open {
			return errTaken
		}
		if err := w.alive(); err != nil {
			return err
		}
		r.Seq++
		g.Seq = r.Seq
		if err := w.did(w.store.writeGeneration(ctx, g)); err != nil {
			return err
		}
		r.show(w.num)
		return nil
	})
	return err
}

// replaceAll marks all that is live of the source, when nothing is carried over,
// and makes sure that nothing of it would be shown.
func (w *writer) replaceAll(ctx context.Context) error {
	if w.carried || w.base.N == 0 {
		return nil
	}
	sets := collections(w.store.plain(), w.base.Set)
	places, err := w.livePlaces(ctx)
	if err != nil {
		return err
	}
	for urls := range slices.Chunk(slices.Sorted(maps.Keys(places)), batchPages) {
		must := w.current(ofPages(urls...), w.free)
		if err := w.moving(ctx, func() error {
			for _, name := range sets {
				if err := w.mark(ctx, name, must); err != nil {
					return err
				}
			}
			return w.mark(ctx, w.store.meta(), append(must, ofKind(kindPage)))
		}); err != nil {
			return err
		}
	}
	others := slices.Concat([]*qdrant.Condition{ofSource(w.source.Name), qdrant.NewMatchExceptInts(fieldFrom, int64(w.num))}, visible(w.committed))
	for _, name := range sets {
		left, err := w.remote().count(ctx, name, others)
		if err != nil && !notFound(err) {
			return err
		}
		if left > 0 {
			return fmt.Errorf("%d chunks of the generation before are not marked as replaced: %w", left, search.ErrUnverified)
		}
	}
	return w.mark(ctx, w.store.meta(), w.current(ofKind(kindStats), w.free))
}

// writeStats writes what the run changes of the statistics. Earlier parts that are
// not much larger are taken into it, so that there are few.
func (w *writer) writeStats(ctx context.Context) error {
	sum := maps.Clone(w.tally)
	var merged []int64 // the runs whose parts are taken in
	if w.carried {
		parts := w.live.parts[w.source.Name]
		for end := len(parts); end > 0; {
			start := end - 1
			for start > 0 && parts[start-1].from == parts[start].from { // of one run
				start--
			}
			terms := 0
			for _, p := range parts[start:end] {
				terms += p.terms
			}
			if terms > 2*len(sum) {
				break
			}
			counted, err := w.store.frequencies(ctx, parts[start:end])
			if err != nil {
				return err
			}
			for _, f := range counted {
				sum.sum(f)
			}
			merged = append(merged, int64(parts[start].from))
			end = start
		}
	}
	if err := w.remote().remove(ctx, w.store.meta(), ofSource(w.source.Name), isFrom(w.num), ofKind(kindStats)); err != nil {
		return err
	}
	var points []*qdrant.PointStruct
	for i, f := range sum.parts() {
		points = append(points, bare(pointID(kindStats, w.source.Name, number(w.num), strconv.Itoa(i)), payload{
			fieldKind: text(kindStats), fieldSource: text(w.source.Name), fieldFrom: count(w.num), fieldTo: count(0),
			"terms": count(uint64(len(f.terms))), "counts": f.encode(),
		}))
	}
	if err := w.remote().send(ctx, w.store.meta(), points, w.alive); err != nil {
		return err
	}
	if len(merged) == 0 {
		return nil
	}
	// Not by their ids: of a cluster, nodes of Qdrant 1.17.0 do not start again when
	// their log holds a change with a condition on ids.
	return w.mark(ctx, w.store.meta(), w.current(ofKind(kindStats), qdrant.NewMatchInts(fieldFrom, merged...), w.free))
}

// saveChecks writes what was learnt of live pages whose content stays.
func (w *writer) saveChecks(ctx context.Context) error {
	if len(w.checks) == 0 {
		return nil
	}
	places, err := w.livePlaces(ctx)
	if err != nil {
		return err
	}
	var operations []*qdrant.PointsUpdateOperation
	for url, check := range w.checks {
		p, ok := places[url]
		if !ok {
			continue
		}
		encoded, err := encode(check)
		if err != nil {
			return fmt.Errorf("encode the check of %s: %w", url, err)
		}
		operations = append(operations, qdrant.NewPointsUpdateSetPayload(&qdrant.PointsUpdateOperation_SetPayload{
			Payload:        payload{"check": encoded, fieldChecked: count(1)},
			PointsSelector: qdrant.NewPointsSelector(pageID(w.source.Name, url, p.from)),
		}))
	}
	wait := true
	for some := range slices.Chunk(operations, checksPerWrite) {
		if err := w.alive(); err != nil {
			return err
		}
		if err := w.moving(ctx, func() error {
			_, err := call(ctx, w.remote(), "write checks", func(ctx context.Context) ([]*qdrant.UpdateResult, error) {
				return w.store.remote.UpdateBatch(ctx, &qdrant.UpdateBatchPoints{CollectionName: w.store.meta(), Wait: &wait, Operations: some})
			})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// note records the run; success is when it ended well, zero if it did not.
func (w *writer) note(ctx context.Context, run search.Run, success time.Time) error {
	id := pointID(kindSource, w.source.Name)
	before, err := w.remote().getOne(ctx, w.store.meta(), id)
	if err != nil {
		return err
	}
	run.Source = w.source.Name
	now := noted{Run: w.num, Info: search.SourceInfo{Source: w.source, LastSuccess: success.UTC(), LastRun: &run}}
	if before != nil && success.IsZero() {
		last, err := readSource(before)
		if err != nil {
			return err
		}
		now.Info.LastSuccess = last.Info.LastSuccess
	}
	encoded, err := encode(now)
	if err != nil {
		return fmt.Errorf("encode the run: %w", err)
	}
	defer w.store.caches.forgetNotes()
	return w.remote().upsert(ctx, w.store.meta(), []*qdrant.PointStruct{bare(id, payload{
		fieldKind: text(kindSource), fieldSource: text(w.source.Name), "noted": encoded,
	})})
}

func (w *writer) Finish(ctx context.Context, run search.Run) error {
	err := w.alive()
	if err == nil {
		err = w.saveChecks(ctx)
	}
	if err == nil {
		var success time.Time
		if run.Outcome == search.Unchanged {
			success = w.store.now()
		}
		err = w.note(ctx, run, success)
	}
	if err != nil {
		return fmt.Errorf("finish the run of source %s: %w", w.source.Name, err)
	}
	w.ended = true
	defer w.out.close()
	if err = w.discard(ctx); err != nil {
		err = fmt.Errorf("discard run %d of source %s: %w", w.num, w.source.Name, err)
	}
	return errors.Join(err, w.lease.release(ctx))
}

// discard deletes what the run wrote, and drops its number unless a request of it
// may still come through: then the next run sweeps.
func (w *writer) discard(ctx context.Context) error {
	_ = w.arrive(ctx) // what fails is doubtful
	if w.doubtful {
		return nil
	}
	if w.dirty {
		if _, err := w.store.change(ctx, func(r *record) error {
			r.moving(true, w.num)
			return nil
		}); err != nil {
			return err
		}
		if err := w.store.erase(ctx, hidden{N: w.num, Source: w.source.Name, In: collections(w.set, w.base.Set)}); err != nil {
			return err
		}
	}
	_, err := w.store.change(ctx, func(r *record) error {
		r.show(w.num)
		return nil
	})
	return err
}

func (w *writer) Close() error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.out.close()
	return w.lease.release(context.Background())
}
