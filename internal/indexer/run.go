package indexer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/search"
)

const (
	// resultsAhead is how many pages the crawl may be ahead of the indexing.
	resultsAhead = 32
	// pageBatch is how many page records are read at a time.
	pageBatch = 200
)

// run is the state of one run. Everything but known is used by one goroutine.
type run struct {
	*Indexer
	source  docseek.Source
	options Options
	report  search.Run
	tally   tally
	// fingerprint is that of the generation being built with the embedder.
	embedder    Embedder
	fingerprint string

	w      search.Writer
	live   search.SourceInfo
	checks map[string]search.PageCheck

	// seen are the live pages that the crawl met; put and removed are those that
	// this run wrote and took out.
	seen, put, removed map[string]bool
	summary            crawler.Summary
	// want is what the generation has to show, counted apart from the store.
	want    search.Counts
	changed bool
	batch   batch
}

func (r *run) do(ctx context.Context) error {
	if err := r.begin(ctx, r.options.Wait); err != nil {
		return describe(r.source.Name, interrupted(ctx, err))
	}
	defer func() {
		if err := r.w.Close(); err != nil {
			r.log.Error("could not release the source", slog.String("source", r.source.Name), slog.Any("error", err))
		}
	}()
	err := interrupted(ctx, r.build(ctx))
	r.report.Reasons = r.tally.reasons()
	if err == nil {
		return nil
	}
	r.report.Outcome = search.Failed
	if _, refused := errors.AsType[*RefusedError](err); refused {
		r.report.Outcome = search.Refused
	}
	if r.options.DryRun {
		return describe(r.source.Name, err)
	}
	return errors.Join(describe(r.source.Name, err), r.record(ctx, err))
}

// interrupted is the error of what a context ended: what broke first says
// nothing, why it was ended does.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}

// record keeps the report of a run that publishes nothing, also when the run
// was interrupted.
func (r *run) record(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r.report.Error = err.Error()
	r.report.Seconds = r.now().Sub(r.report.Started).Seconds()
	if err := r.w.Finish(ctx, r.report); err != nil {
		return fmt.Errorf("record the run: %w", err)
	}
	return nil
}

func (r *run) begin(ctx context.Context, wait bool) error {
	w, err := r.store.Begin(ctx, r.source, r.fingerprint, wait)
	if err != nil {
		return err
	}
	r.w = w
	r.report.Generation = w.Generation()
	r.seen, r.put, r.removed = map[string]bool{}, map[string]bool{}, map[string]bool{}
	r.checks = map[string]search.PageCheck{}
	r.batch = batch{run: r}
	if err := r.load(ctx); err != nil {
		return errors.Join(err, w.Close())
	}
	return nil
}

// load reads what the index has of the source.
func (r *run) load(ctx context.Context) error {
	sources, err := r.w.Live().Sources(ctx)
	if err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	r.live = search.SourceInfo{}
	for _, s := range sources {
		if s.Source.Name == r.source.Name {
			r.live = s
		}
	}
	r.want = search.Counts{Pages: r.live.Pages, Chunks: r.live.Chunks}
	if err := r.w.Checks(ctx, func(url string, c search.PageCheck) error {
		r.checks[url] = c
		return nil
	}); err != nil {
		return fmt.Errorf("read the earlier checks: %w", err)
	}
	return nil
}

func (r *run) build(ctx context.Context) error {
	byWords := !r.options.DryRun &&
		(r.live.Generation == 0 || r.live.Embedded == 0 && r.live.Fingerprint == r.fingerprint)
	if without, ok := r.embedder.(absent); ok {
		if !byWords || !without.passing() {
			return without.why
		}
		r.log.Warn("the embedder cannot be reached: pages are indexed by their words", slog.String("source", r.source.Name), slog.Any("error", without.why))
	}
	if changed := embed.Changed(r.live.Fingerprint, r.fingerprint); r.live.Embedded > 0 && changed != "" {
		r.log.Info("what decides the vectors has changed: every text is embedded anew", slog.String("source", r.source.Name), slog.String("changed", changed))
	}
	if err := r.crawl(ctx, byWords); err != nil {
		return err
	}
	if err := r.reconcile(ctx); err != nil {
		return err
	}
	if err := r.gates(); err != nil {
		return err
	}
	if byWords && r.changed {
		if err := r.commit(ctx); err != nil {
			return err
		}
		r.log.Info("searchable by words", slog.String("source", r.source.Name),
			slog.Int("pages", r.want.Pages), slog.Int("chunks", r.want.Chunks))
		if err := r.begin(ctx, true); err != nil {
			return err
		}
	}
	if r.live.Fingerprint != r.fingerprint || r.live.Embedded < r.live.Chunks {
		if err := r.fill(ctx); err != nil {
			return err
		}
	}
	return r.commit(ctx)
}

// crawl visits the site and writes the pages that changed. When lexicalOnly, it
// writes them without vectors, so that the crawl does not wait for the embedder.
func (r *run) crawl(ctx context.Context, lexicalOnly bool) error {
	ahead := newAhead(ctx, r, lexicalOnly)
	results := make(chan crawler.Result, resultsAhead)
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(results)
		var err error
		r.summary, err = r.crawler.Crawl(gctx, r.source, r.known(gctx), func(ctx context.Context, result crawler.Result) error {
			select {
			case results <- result:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return err
	})
	group.Go(func() error {
		for result := range results {
			if err := r.visit(gctx, result, lexicalOnly, ahead); err != nil {
				return err
			}
		}
		return r.batch.flush(gctx)
	})
	err := group.Wait()
	r.report.Embedded += ahead.stop()
	s := r.summary
	r.report.Discovery, r.report.Sitemaps, r.report.Redirects, r.report.Warnings = s.Discovery, s.Sitemaps, s.Redirects, s.Warnings
	for _, w := range s.Warnings {
		r.log.Warn("crawl", slog.String("source", r.source.Name), slog.String("warning", w))
	}
	if errors.Is(err, crawler.ErrNothing) {
		return &RefusedError{Why: "nothing was indexed: " + err.Error()}
	}
	return err
}

// known answers the crawler's question what the index has of a page. The
// crawler asks from several goroutines.
func (r *run) known(ctx context.Context) func(url string) (crawler.Known, bool) {
	if r.options.Full || r.live.Generation == 0 || !sameChunker(r.live.Fingerprint, r.fingerprint) {
		return func(string) (crawler.Known, bool) { return crawler.Known{}, false }
	}
	live := r.w.Live()
	return func(url string) (crawler.Known, bool) {
		page, err := live.Page(ctx, r.source.Name, url)
		if err != nil {
			if !errors.Is(err, search.ErrNotFound) {
				r.log.Warn("could not read a page record; asking for the whole page", slog.String("url", url), slog.Any("error", err))
			}
			return crawler.Known{}, false
		}
		k := crawler.Known{Validators: page.Validators, Hash: page.Hash, Links: page.Links}
		if c, ok := r.checks[url]; ok && c.Validators != (docseek.Validators{}) {
			k.Validators = c.Validators
		}
		return k, true
	}
}

// visit books what became of one URL.
func (r *run) visit(ctx context.Context, result crawler.Result, lexicalOnly bool, ahead *ahead) error {
	r.options.Progress(Progress{Stage: Crawling, Done: result.Done, Total: result.Done + result.Queued})
	old, err := r.w.Live().Page(ctx, r.source.Name, result.URL)
	known := err == nil
	if err != nil && !errors.Is(err, search.ErrNotFound) {
		return fmt.Errorf("read the record of %s: %w", result.URL, err)
	}
	r.tally.fate(result)
	switch result.Fate {
	case crawler.Fetched:
		r.report.Generators[result.Document.Generator]++
		return r.fetched(ctx, result, old, known, lexicalOnly, ahead)
	case crawler.NotModified:
		if known {
			return r.unchanged(ctx, result, old)
		}
		r.report.Pages.Refused++
		r.tally.add("not modified, but there is no copy", result.URL)
	case crawler.Gone:
		if known {
			r.tally.add("gone", result.URL)
			return r.remove(ctx, old)
		}
		r.report.Pages.Refused++
		r.tally.add(result.Reason, result.URL)
	case crawler.Unreachable:
		r.tally.add(result.Reason, result.URL)
		if known {
			return r.keep(ctx, result.URL, result.Reason)
		}
		r.report.Pages.Refused++
	case crawler.Refused:
		r.tally.add(result.Reason, result.URL)
		if known && transient(result.Reason) {
			return r.keep(ctx, result.URL, result.Reason)
		}
		// Any other live page that may no longer be indexed is left to
		// reconcile, as if the site had not mentioned it.
		if !known {
			r.report.Pages.Refused++
		}
	}
	return nil
}

// transient tells refusals that may be the site's passing trouble from those
// that somebody meant.
func transient(reason string) bool {
	switch reason {
	case crawler.ReasonSoft404, crawler.ReasonAuthRequired, crawler.ReasonNeedsJS, crawler.ReasonTooLarge:
		return true
	}
	return false
}

func (r *run) fetched(ctx context.Context, result crawler.Result, old search.PageRecord, known, lexicalOnly bool, ahead *ahead) error {
	doc := result.Document
	same := known && old.Hash == result.Hash && old.Version == doc.Version && old.Language == doc.Language
	if same && !r.options.Full && sameChunker(r.live.Fingerprint, r.fingerprint) {
		return r.unchanged(ctx, result, old)
	}
	chunks, outline := r.chunker.Split(doc)
	p := page{
		record: search.PageRecord{
			URL: result.URL, Title: doc.Title, Language: doc.Language, Version: doc.Version, Generator: doc.Generator,
			Validators: result.Page.Validators, Hash: result.Hash, Outline: outline, Links: result.Links, Chunks: len(chunks),
			Modified: result.Page.Modified, FirstSeen: result.Page.FetchedAt, IndexedAt: result.Page.FetchedAt,
			Generation: r.w.Generation(),
		},
		chunks: chunks,
	}
	switch {
	case !known:
		r.report.Pages.New++
		r.want.Pages++
	case same:
		r.report.Pages.Unchanged++
	default:
		r.report.Pages.Changed++
	}
	if known {
		p.record.FirstSeen = old.FirstSeen
		r.seen[result.URL] = true
		r.want.Chunks -= old.Chunks
	}
	r.want.Chunks += len(chunks)
	r.changed = true
	r.put[result.URL] = true
	if lexicalOnly {
		ahead.offer(p.texts())
		return r.write(ctx, p, nil)
	}
	return r.batch.add(ctx, p)
}

func (r *run) unchanged(ctx context.Context, result crawler.Result, old search.PageRecord) error {
	r.seen[result.URL] = true
	r.report.Pages.Unchanged++
	check := search.PageCheck{Validators: result.Page.Validators, CheckedAt: result.Page.FetchedAt}
	if check.Validators == (docseek.Validators{}) {
		check.Validators = old.Validators
	}
	if check.CheckedAt.IsZero() {
		check.CheckedAt = r.now()
	}
	return r.check(ctx, result.URL, check)
}

// keep leaves the last good copy of a page that could not be read.
func (r *run) keep(ctx context.Context, url, why string) error {
	r.seen[url] = true
	r.report.Pages.Kept++
	check := r.checks[url]
	check.Failing = why
	return r.check(ctx, url, check)
}

func (r *run) check(ctx context.Context, url string, c search.PageCheck) error {
	if r.options.DryRun {
		return nil
	}
	if err := r.w.Check(ctx, url, c); err != nil {
		return fmt.Errorf("record the check of %s: %w", url, err)
	}
	return nil
}

func (r *run) remove(ctx context.Context, old search.PageRecord) error {
	r.seen[old.URL], r.removed[old.URL] = true, true
	r.report.Pages.Removed++
	r.want.Pages--
	r.want.Chunks -= old.Chunks
	r.changed = true
	if err := r.w.Remove(ctx, old.URL); err != nil {
		return fmt.Errorf("remove %s: %w", old.URL, err)
	}
	return nil
}

// write puts a page; a nil vectors leaves its chunks unembedded.
func (r *run) write(ctx context.Context, p page, vectors map[string][]float32) error {
	if r.options.DryRun {
		return nil
	}
	if err := r.w.Put(ctx, p.record, p.embeddings(r.analyzer, vectors)); err != nil {
		return fmt.Errorf("write %s: %w", p.record.URL, err)
	}
	return nil
}

// reconcile decides on the live pages that the crawl did not meet: a complete
// crawl removes them, any other keeps them.
func (r *run) reconcile(ctx context.Context) error {
	return r.eachLivePage(ctx, func(p search.PageRecord) error {
		if r.seen[p.URL] {
			return nil
		}
		if r.summary.Complete {
			r.tally.add("no longer listed", p.URL)
			return r.remove(ctx, p)
		}
		r.tally.add("not reached", p.URL)
		return r.keep(ctx, p.URL, "not reached")
	})
}

func (r *run) eachLivePage(ctx context.Context, do func(search.PageRecord) error) error {
	if r.live.Generation == 0 {
		return nil
	}
	live, after := r.w.Live(), ""
	for {
		pages, err := live.Pages(ctx, r.source.Name, "", after, pageBatch)
		if err != nil {
			return fmt.Errorf("list the live pages: %w", err)
		}
		for _, p := range pages {
			if err := do(p); err != nil {
				return err
			}
			after = p.URL
		}
		if len(pages) < pageBatch {
			return nil
		}
	}
}

// fill embeds the live pages that are carried over and have no vectors of this
// fingerprint: after the first, lexical generation, after an embedder that
// failed, and after a change of the embedder.
func (r *run) fill(ctx context.Context) error {
	total, done := r.live.Chunks, 0
	r.batch.progress = func(n int) {
		done += n
		r.options.Progress(Progress{Stage: Embedding, Done: done, Total: max(total, done)})
	}
	err := r.eachLivePage(ctx, func(record search.PageRecord) error {
		if r.put[record.URL] || r.removed[record.URL] {
			return nil
		}
		stored, err := r.w.Live().Chunks(ctx, r.source.Name, record.URL, 0, record.Chunks-1)
		if err != nil {
			return fmt.Errorf("read the chunks of %s: %w", record.URL, err)
		}
		p := page{record: record}
		for _, c := range stored {
			p.chunks = append(p.chunks, c.Chunk)
		}
		r.changed = true
		return r.batch.add(ctx, p)
	})
	if err != nil {
		return err
	}
	return r.batch.flush(ctx)
}

// commit publishes the generation, or ends the run when there is nothing to publish.
func (r *run) commit(ctx context.Context) error {
	r.report.Chunks = r.want.Chunks
	r.report.Outcome = search.Published
	r.report.Reasons = r.tally.reasons()
	r.report.Seconds = r.now().Sub(r.report.Started).Seconds()
	unchanged := !r.changed && sameSettings(r.live.Source, r.source)
	if unchanged {
		r.report.Outcome = search.Unchanged
		r.report.Generation = r.live.Generation
	}
	switch {
	case r.options.DryRun:
		return nil
	case unchanged:
		if err := r.w.Finish(ctx, r.report); err != nil {
			return fmt.Errorf("record the run: %w", err)
		}
		return nil
	}
	have, err := r.w.Counts(ctx)
	if err != nil {
		return fmt.Errorf("count the generation: %w", err)
	}
	want := r.want
	want.Embedded = have.Embedded
	if err := r.w.Commit(ctx, want, r.report); err != nil {
		return fmt.Errorf("publish generation %d: %w", r.w.Generation(), err)
	}
	return nil
}

func sameSettings(a, b docseek.Source) bool {
	a.Headers, b.Headers = nil, nil
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
