// Package crawler fetches the pages of a documentation site, politely, and
// hands them over one at a time as documents.
//
// A crawl starts at a sitemap, at a page (robots.txt, /sitemap.xml and
// /llms.txt are tried, then links are followed) or at a folder on disk. What
// is asked for, and in which order, depends only on the site: pages are handed
// over in the order in which they were discovered, however long each of them
// took, so that the same site gives the same answer twice.
//
// Everything that a site sends is taken for hostile: bytes, seconds, redirects,
// nesting, URLs and pages are bounded, and no address inside a private network
// is connected to unless the source starts there.
package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// Errors of a crawl that has nothing to say about the site's pages, wrapped
// with what happened to what. After any of them the index must stay as it is.
var (
	// ErrUnreachable means that the start of the source, or the robots.txt that
	// rules over it, could not be read: the site may be back later.
	ErrUnreachable = errors.New("cannot be reached")
	// ErrNothing means that the start was read and names no page that may be crawled.
	ErrNothing = errors.New("nothing to crawl")
	// ErrSource means that the source is configured in a way that cannot work.
	ErrSource = errors.New("bad source")
)

// Options bound a crawl. The zero value of each field means its default.
type Options struct {
	// Version is the program's version as it stands in the User-Agent.
	Version string
	// Logger receives what is worth knowing about a crawl; nil discards it.
	Logger *slog.Logger
	// Answered hears the HTTP status of each answer, 0 where none came; nil hears
	// nothing. It is called by several goroutines at once.
	Answered func(status int)

	// Timeout is for one request, from its start to the last byte of the answer: 20 s.
	Timeout time.Duration
	// Backoff is the wait before a failed request is tried again, doubled each time: 1 s.
	Backoff time.Duration
	// MaxPause caps what a server may ask for with Retry-After, and MaxCrawlDelay
	// what robots.txt may ask for: 2 min and 10 s.
	MaxPause, MaxCrawlDelay time.Duration

	// MaxPageBytes bounds a decoded page: 5 MiB.
	MaxPageBytes int64
	// MaxPages bounds the pages of a crawl whose source does not: 10,000.
	MaxPages int
	// MaxURLs bounds the URLs that a crawl knows of: 200,000.
	MaxURLs int
	// MaxPathSegments bounds the depth of a URL's path: 24.
	MaxPathSegments int
	// MaxQueryVariants bounds the URLs found by links that differ only in their query: 50.
	MaxQueryVariants int
	// MaxSitemaps and MaxSitemapDepth bound the sitemap documents of a crawl and
	// how deep an index may nest: 1,000 and 5.
	MaxSitemaps, MaxSitemapDepth int

	// Resolver resolves host names; nil means net.DefaultResolver.
	Resolver *net.Resolver
}

func (o Options) withDefaults() Options {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Answered == nil {
		o.Answered = func(int) {}
	}
	o.Version = cmp.Or(o.Version, "dev")
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.MaxPause = cmp.Or(o.MaxPause, 2*time.Minute)
	o.MaxCrawlDelay = cmp.Or(o.MaxCrawlDelay, 10*time.Second)
	o.MaxPageBytes = cmp.Or(o.MaxPageBytes, 5<<20)
	o.MaxPages = cmp.Or(o.MaxPages, 10_000)
	o.MaxURLs = cmp.Or(o.MaxURLs, 200_000)
	o.MaxPathSegments = cmp.Or(o.MaxPathSegments, 24)
	o.MaxQueryVariants = cmp.Or(o.MaxQueryVariants, 50)
	o.MaxSitemaps = cmp.Or(o.MaxSitemaps, 1000)
	o.MaxSitemapDepth = cmp.Or(o.MaxSitemapDepth, 5)
	o.Resolver = cmp.Or(o.Resolver, net.DefaultResolver)
	return o
}

// Known is what the index has of a page.
type Known struct {
	// Validators are sent to ask whether the page has changed.
	Validators docseek.Validators
	// Hash is the Result.Hash that the page was indexed under.
	Hash string
	// Links are the Result.Links of the page; they stand in when it is unchanged.
	Links []string
}

// Fate is what became of a URL.
type Fate int

// The fates of a URL.
const (
	// Fetched: the result carries the page and its document.
	Fetched Fate = iota + 1
	// NotModified: what the index has is what the site has.
	NotModified
	// Gone: the site says that the page does not exist (404, 410).
	Gone
	// Unreachable: nothing was learnt of the page, or what came in its place is
	// an error page. A good copy in the index stays.
	Unreachable
	// Refused: the URL is no content of the source; Reason says why.
	Refused
)

// String names the fate in snake_case.
func (f Fate) String() string {
	switch f {
	case Fetched:
		return "fetched"
	case NotModified:
		return "not_modified"
	case Gone:
		return "gone"
	case Unreachable:
		return "unreachable"
	case Refused:
		return "refused"
	default:
		return "unknown"
	}
}

// Reasons that decisions are made by; see [Result.Reason] for the others.
const (
	// ReasonOutOfScope: the URL is not in the part of the site that the source's
	// start and include are in charge of.
	ReasonOutOfScope = "out_of_scope"
	// ReasonExcluded: an exclude of the source matches.
	ReasonExcluded = "excluded"
	// ReasonTooLarge: the page is larger than is read.
	ReasonTooLarge = "too_large"
	// ReasonSoft404: the page says that there is none, with the status of one that is.
	ReasonSoft404 = "soft_404"
	// ReasonAuthRequired: a page to log in stands in the page's place.
	ReasonAuthRequired = "auth_required"
	// ReasonNeedsJS: the page is empty without JavaScript.
	ReasonNeedsJS = "needs_js"
	// ReasonRateLimited: the page asks to come again later, with the status of one
	// that is served.
	ReasonRateLimited = "rate_limited"
	// ReasonTimeout: the answer did not come in time.
	ReasonTimeout = "timeout"
)

// Result is what became of one URL: of each that was asked for, and of each that
// would have been if a rule did not refuse it. Of links that lead out of the
// scope nothing is said; of URLs out of scope that a sitemap lists, the first
// 20,000 have a result.
type Result struct {
	// URL is canonical; see [Canonical].
	URL  string
	Fate Fate
	// Reason is why the URL is not Fetched, in a form that can be counted:
	// "robots", "out_of_scope", "excluded", "language", "content_type
	// application/pdf", "too_large", "redirect", "duplicate", "trap",
	// "soft_404", "auth_required", "needs_js", "noindex", "timeout", "http_503" …
	Reason string
	// Page and Document are set when Fetched. When NotModified, Page has the
	// validators to ask again with and the time of the answer, and no body. The
	// document's version is the one that the source's configuration tells, else
	// the one that the page does.
	Page     docseek.Page
	Document docseek.Document
	// Hash is of the document's content, in hex, when Fetched; see Known.Hash.
	Hash string
	// Links are the page's links that are in scope: canonical, each once.
	Links []string
	// Done and Queued are how many URLs have had their result, this one
	// included, and how many are known to come.
	Done, Queued int
}

// Summary is what a crawl has learnt of the site as a whole.
type Summary struct {
	// Complete says that everything in scope was asked for and no bound was hit:
	// a page that had no result is no longer part of the site.
	Complete bool
	// Discovery is where the URLs came from: sitemap, llms.txt, links or folder.
	Discovery string
	// Sitemaps is the number of sitemap documents that were read.
	Sitemaps int
	// Redirects is the number of redirects that were followed.
	Redirects int
	// Requests is the number of HTTP requests, and Bytes of decoded body bytes.
	Requests int
	Bytes    int64
	// Warnings are sentences for the one who runs the crawl.
	Warnings []string
}

// Crawler crawls sources. It is safe for concurrent use; each crawl has its
// own connections, rates and memory of the site.
type Crawler struct {
	opts Options
}

// New returns a crawler.
func New(opts Options) (*Crawler, error) {
	for _, n := range []int64{
		int64(opts.Timeout), int64(opts.Backoff), int64(opts.MaxPause), int64(opts.MaxCrawlDelay),
		opts.MaxPageBytes, int64(opts.MaxPages), int64(opts.MaxURLs), int64(opts.MaxPathSegments),
		int64(opts.MaxQueryVariants), int64(opts.MaxSitemaps), int64(opts.MaxSitemapDepth),
	} {
		if n < 0 {
			return nil, errors.New("crawler: a bound is negative")
		}
	}
	return &Crawler{opts: opts.withDefaults()}, nil
}

// Crawl asks a site for its pages. known says what the index has of a page (nil:
// nothing); such a page is asked for conditionally. visit receives each URL
// once, one at a time; an error of it ends the crawl.
//
// An error other than that of visit or ctx wraps [ErrUnreachable], [ErrNothing]
// or [ErrSource].
func (c *Crawler) Crawl(ctx context.Context, src docseek.Source, known func(url string) (Known, bool),
	visit func(context.Context, Result) error,
) (Summary, error) {
	if known == nil {
		known = func(string) (Known, bool) { return Known{}, false }
	}
	// A selector that is none would fail on every page.
	if _, _, err := extract.Extract(docseek.Page{URL: "https://docs.example/", ContentType: "text/html"}, extract.Options{Content: src.Content}); err != nil {
		return Summary{}, fmt.Errorf("%w: %w", err, ErrSource)
	}
	return c.crawl(ctx, src, known, visit)
}
