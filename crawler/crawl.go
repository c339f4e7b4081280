package crawler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

// Where the URLs of a crawl come from.
const (
	fromSitemap = "sitemap"
	fromLLMs    = "llms.txt"
	fromLinks   = "links"
	fromFolder  = "folder"
)

func (c *Crawler) crawl(ctx context.Context, src docseek.Source, known func(string) (Known, bool),
	visit func(context.Context, Result) error,
) (Summary, error) {
	if folder, ok, err := folderOf(src.Start); err != nil {
		return Summary{}, err
	} else if ok {
		return c.crawlFolder(ctx, src, folder, known, visit)
	}
	r, err := c.newRun(ctx, src, known, visit)
	if err != nil {
		return Summary{}, err
	}
	defer r.close()
	err = r.discover(ctx)
	if err == nil {
		err = r.work(ctx)
	}
	if err != nil {
		r.incomplete = true
	}
	return r.summarize(), err
}

// maxRejected bounds the URLs out of scope that get a result of their own; a
// warning counts them all.
const maxRejected = 20_000

// maxUnlisted bounds the pages that are remembered for not being in the sitemap.
const maxUnlisted = 1000

// run is one crawl: the one goroutine that calls crawl owns it, decides and
// calls visit; fetching and extracting goes on in goroutines of their own.
type run struct {
	*fetcher
	src      docseek.Source
	scope    *scope
	langs    languages
	known    func(string) (Known, bool)
	visit    func(context.Context, Result) error
	maxPages int

	summary Summary
	// fates holds every URL that was met: 0 while its result is to come.
	fates map[string]Fate
	// queue is what has not been asked for, flying what has, in the order of discovery.
	queue  []*task
	flying []*task
	// deferred are pages that name another address as theirs and wait for what
	// becomes of it.
	deferred []*task
	// contents are those that were handed over.
	contents map[content]bool
	// alternates are the languages that pages gave for addresses of their translations.
	alternates map[string]string
	variants   map[string]*variants
	memo       map[string]string

	done, pages, needJS int
	// rejected are URLs of a sitemap that are not part of the source. They are
	// apart from fates, lest a long list of them takes the room of the others.
	rejected map[string]bool
	// unlisted are pages that links lead to and the sitemap does not list.
	unlisted map[string]bool
	// named says that the source names its sitemap, which is then the whole of it.
	named bool
	// unread says that a page could not be read whose links are not known.
	unread bool
	// incomplete is set when something in scope was not asked for, or could not
	// be followed.
	incomplete bool
}

// content is what two pages have in common that say the same. The same words
// about another version of the product are another content.
type content struct{ hash, version string }

func (r *run) contentOf(hash, canonical string) content {
	return content{hash: hash, version: versionOf(r.src.Version, canonical)}
}

// task is a URL on its way to its result.
type task struct {
	url      string
	hops     int // redirects that led here
	attempts int
	limited  int // attempts that were answered with a wish for a pause
	after    time.Time
	modified time.Time // by the sitemap
	// known is what the index has of the page, if it has it; asked once.
	known       Known
	kept, asked bool
	target      string // the canonical address that a deferred page gives
	// final keeps the page under its own address whatever it says itself.
	final  bool
	result chan outcome
}

func (c *Crawler) newRun(ctx context.Context, src docseek.Source, known func(string) (Known, bool),
	visit func(context.Context, Result) error,
) (*run, error) {
	if u, err := url.Parse(src.Start); err == nil && u.User != nil {
		return nil, fmt.Errorf("start holds a user name; give credentials as headers: %w", ErrSource)
	}
	start, err := Canonical(src.Start, "")
	if err != nil {
		return nil, fmt.Errorf("start is no http(s) URL: %w: %w", err, ErrSource)
	}
	u, err := url.Parse(start)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrSource)
	}
	sc, err := newScope(src)
	if err != nil {
		return nil, err
	}
	sc.anchor(u, startDir(u))
	r := newRunState(c.opts, src, sc, known, visit)
	r.fetcher = &fetcher{
		session: newSession(ctx, c.opts, src, u), content: src.Content, fold: sc.fold, probeDir: sc.dir, start: start,
	}
	return r, nil
}

func newRunState(opts Options, src docseek.Source, sc *scope, known func(string) (Known, bool),
	visit func(context.Context, Result) error,
) *run {
	return &run{
		src: src, scope: sc, langs: newLanguages(src.Languages), known: known, visit: visit,
		maxPages: cmp.Or(src.MaxPages, opts.MaxPages),
		fates:    map[string]Fate{}, contents: map[content]bool{}, alternates: map[string]string{},
		variants: map[string]*variants{}, memo: map[string]string{}, unlisted: map[string]bool{}, rejected: map[string]bool{},
	}
}

// window is how many URLs are under way or waiting for their turn to be handed
// over. It bounds the pages that are held in memory.
func (r *run) window() int { return r.rate.Concurrency + 4 }

// work asks for everything in the queue, and for what that leads to.
func (r *run) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		r.abort()
		for _, t := range r.flying {
			<-t.result
		}
	}()
	for {
		for len(r.queue) > 0 && len(r.flying) < r.window() {
			t := r.queue[0]
			r.queue[0] = nil
			r.queue = r.queue[1:]
			if t.result == nil {
				r.launch(ctx, t)
			}
			r.flying = append(r.flying, t)
		}
		if len(r.flying) == 0 {
			more, err := r.settleDeferred(ctx)
			if err != nil {
				return err
			}
			if more || r.widen() {
				continue
			}
			return nil
		}
		t := r.flying[0]
		o := <-t.result
		r.flying = slices.Delete(r.flying, 0, 1)
		if o.err != nil {
			return fmt.Errorf("crawl: %w", o.err)
		}
		if err := r.take(ctx, t, o); err != nil {
			return err
		}
		if r.pages >= r.maxPages {
			if left := len(r.queue) + len(r.flying) + len(r.deferred); left > 0 {
				r.incomplete = true
				r.warnf("the limit of %d pages is reached; %d known URLs were left out (max_pages)", r.maxPages, left)
			}
			return nil
		}
	}
}

func (r *run) launch(ctx context.Context, t *task) {
	t.result = make(chan outcome, 1)
	validators := r.recall(t).Validators
	if t.final {
		validators = docseek.Validators{}
	}
	go func() {
		if err := sleep(ctx, time.Until(t.after)); err != nil {
			t.result <- outcome{err: err}
			return
		}
		t.result <- r.fetch(ctx, t.url, validators)
	}()
}

// recall asks what the index has of a page.
func (r *run) recall(t *task) Known {
	if !t.asked {
		t.asked = true
		t.known, t.kept = r.known(t.url)
	}
	return t.known
}

// emit hands a URL's result over.
func (r *run) emit(ctx context.Context, t *task, o outcome, links []string) error {
	if !r.rejected[t.url] {
		r.fates[t.url] = o.fate
	}
	r.done++
	result := Result{
		URL: t.url, Fate: o.fate, Reason: o.reason, Links: links,
		Done: r.done, Queued: len(r.queue) + len(r.flying) + len(r.deferred),
	}
	switch o.fate {
	case Fetched:
		result.Page, result.Document, result.Hash = o.page, o.doc, o.hash
	case NotModified:
		result.Page = o.page
	default: // there is nothing to show
	}
	r.log.Debug("page", slog.String("url", t.url), slog.String("fate", o.fate.String()), slog.String("reason", o.reason))
	if err := r.visit(ctx, result); err != nil {
		return fmt.Errorf("visit %s: %w", result.URL, err)
	}
	return ctx.Err()
}

func (r *run) summarize() Summary {
	if n := len(r.unlisted); !r.incomplete && n*5 > r.pages && n > 2 {
		r.warnf("links lead to %d pages in scope that the sitemap does not list, such as %s", n, samples(r.unlisted))
	}
	if r.needJS*2 > r.done && r.needJS > 0 {
		r.warnf("%d of %d pages are empty without JavaScript", r.needJS, r.done)
	}
	s := r.summary
	s.Requests = int(r.transport.requests.Load())
	s.Bytes = r.transport.bytes.Load()
	s.Warnings = r.warnings
	s.Complete = !r.incomplete && (!r.unread || s.Discovery == fromSitemap)
	return s
}

func samples(set map[string]bool) string {
	all := slices.Sorted(maps.Keys(set))
	return strings.Join(all[:min(maxExamples, len(all))], ", ")
}
