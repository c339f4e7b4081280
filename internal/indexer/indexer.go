// Package indexer makes one run: it crawls a source, cuts the pages that
// changed into chunks, reuses or makes their vectors, and publishes the result
// as the source's next generation, or refuses to.
package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// Crawler reads a site; *crawler.Crawler is one.
type Crawler interface {
	Crawl(ctx context.Context, source docseek.Source, known func(url string) (crawler.Known, bool),
		visit func(context.Context, crawler.Result) error) (crawler.Summary, error)
}

// Embedder makes vectors; *embed.Service is one.
type Embedder interface {
	Fingerprint() string
	EmbedPassages(ctx context.Context, texts []string, progress func(done, total int)) (embed.Result, error)
}

// Store begins generations; every search.Store is one.
type Store interface {
	Begin(ctx context.Context, source docseek.Source, fingerprint string, wait bool) (search.Writer, error)
}

// Indexer makes runs. It is safe for concurrent use; the store sees to it that
// a source has one run at a time.
type Indexer struct {
	crawler  Crawler
	chunker  *chunker.Chunker
	open     func(context.Context) (Embedder, error)
	store    Store
	analyzer *lexical.Analyzer
	log      *slog.Logger
	now      func() time.Time
}

// Parts are what an Indexer works with. All are needed.
type Parts struct {
	Crawler Crawler
	Chunker *chunker.Chunker
	// Embedder gives what embeds, to each run anew. Where it fails with an
	// [embed.Error] that may pass, a source that has no vectors yet is indexed by
	// its words, see [Indexer.Run]; any other source is left as it is.
	Embedder func(context.Context) (Embedder, error)
	Store    Store
	Analyzer *lexical.Analyzer
	Log      *slog.Logger
	Now      func() time.Time
}

// New returns an Indexer.
func New(p Parts) *Indexer {
	return &Indexer{
		crawler: p.Crawler, chunker: p.Chunker, open: p.Embedder, store: p.Store,
		analyzer: p.Analyzer, log: p.Log, now: p.Now,
	}
}

// Fingerprint names what decides the vectors of a generation that the embedder made.
func Fingerprint(embedder interface{ Fingerprint() string }) string {
	return embed.Fingerprint(embedder.Fingerprint(), chunker.Version, strconv.Itoa(chunker.ContextVersion))
}

// Made reports whether a live generation is what a run of the source would make
// of an unchanged site: the same settings and embedder, and every chunk embedded.
// While the embedder cannot be had, a run would not change that.
func (ix *Indexer) Made(ctx context.Context, live search.SourceInfo, source docseek.Source) bool {
	if live.Generation == 0 || !sameSettings(live.Source, source) {
		return false
	}
	embedder, err := ix.open(ctx)
	return err != nil || live.Embedded == live.Chunks && live.Fingerprint == Fingerprint(embedder)
}

// absent stands in for an embedder that could not be had. It names no model: what
// is indexed with it gets vectors as soon as there is one.
type absent struct{ why error }

func (absent) Fingerprint() string { return embed.NoModel }

func (a absent) EmbedPassages(context.Context, []string, func(done, total int)) (embed.Result, error) {
	return embed.Result{}, a.why
}

// passing reports whether it is a matter of time.
func (a absent) passing() bool {
	refusal, ok := errors.AsType[*embed.Error](a.why)
	return ok && refusal.Unreachable()
}

// Options say how a run is made.
type Options struct {
	// Full reads, cuts and writes every page again, changed or not. The vector of
	// a text that stays the same is kept.
	Full bool
	// DryRun reports what a run would do, and changes nothing.
	DryRun bool
	// Force publishes what the gates would refuse.
	Force bool
	// Wait waits for another run of the source to end instead of failing.
	Wait bool
	// Progress hears how far the run is; it must not block.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Stage Stage
	// Done of Total are pages while crawling, texts while embedding. The total
	// grows while a crawl finds links.
	Done, Total int
}

// Stage is a part of a run.
type Stage string

// The stages of a run.
const (
	Crawling  Stage = "crawling"
	Embedding Stage = "embedding"
)

// RefusedError says why a run published nothing although it came to its end.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Run makes one run of a source. The report is filled as far as the run came,
// whatever the error. A run that the gates refuse ends with a *RefusedError, one
// that found the source held by another with a *search.LockedError.
//
// As long as a source has no vectors, its pages are published as soon as they are
// in, searchable by words, and again when they are embedded. So a run whose
// embedder cannot be reached leaves such a source searchable, and ends with the
// embedder's error.
func (ix *Indexer) Run(ctx context.Context, source docseek.Source, o Options) (search.Run, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	embedder, err := ix.open(ctx)
	if err != nil {
		embedder = absent{err}
	}
	r := &run{
		Indexer: ix, source: source, options: o, embedder: embedder, fingerprint: Fingerprint(embedder),
		report: search.Run{
			Source: source.Name, Started: ix.now(), Outcome: search.Failed,
			Reasons: []search.Reason{}, Generators: map[string]int{},
		},
	}
	err = r.do(ctx)
	r.report.Seconds = ix.now().Sub(r.report.Started).Seconds()
	if err != nil {
		r.report.Error = err.Error()
	}
	return r.report, err
}

// describe wraps the error of a run with what the run was about.
func describe(source string, err error) error {
	if err == nil || errors.Is(err, search.ErrLocked) {
		return err
	}
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return fmt.Errorf("source %s: refused: %w", source, err)
	}
	return fmt.Errorf("source %s: %w", source, err)
}
