package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/docseek/docseek/crawler/sitemap"
)

// maxOutOfScope is the share of a sitemap's URLs, in percent, that may lie
// outside the scope without a word.
const maxOutOfScope = 50

// discover finds the URLs to begin with.
func (r *run) discover(ctx context.Context) error {
	start, err := url.Parse(r.start)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrSource)
	}
	why, rule, err := r.mayFetch(ctx, start)
	switch {
	case err != nil:
		return err
	case why.fate == Unreachable:
		return fmt.Errorf("%s %w (robots.txt: %s), so nothing is fetched in this run",
			start.Host, ErrUnreachable, strings.TrimPrefix(why.reason, "robots_"))
	case why.fate == Refused:
		return fmt.Errorf("robots.txt of %s keeps %s from being fetched (%s): %w", start.Host, r.start, rule, ErrNothing)
	}
	if namesList(start) {
		return r.discoverSitemap(ctx, start)
	}
	return r.discoverPage(ctx, start)
}

// namesList reports whether an address looks like that of a sitemap.
func namesList(u *url.URL) bool {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".xml", ".gz", ".txt":
		return true
	default:
		return false
	}
}

// discoverSitemap reads a start that is a sitemap. Its host is the scope.
func (r *run) discoverSitemap(ctx context.Context, start *url.URL) error {
	if path.Base(start.Path) == "llms.txt" {
		r.scope.anchor(start, "/")
		r.summary.Discovery = fromLLMs
		if !r.readLLMs(ctx, start) {
			return fmt.Errorf("%s names no page of %s: %w", r.start, r.scope.origin, ErrNothing)
		}
		return nil
	}
	r.summary.Discovery, r.named = fromSitemap, true
	s := newSitemapReader(r)
	s.anchor = true
	if err := s.read(ctx, []string{r.start}); err != nil {
		return err
	}
	if s.usable > 0 {
		s.report()
		r.shallowFirst()
		return nil
	}
	if s.failure != nil {
		if errors.Is(s.failure, ErrUnreachable) || errors.Is(s.failure, ErrNothing) {
			return fmt.Errorf("read sitemap %s: %w", r.start, s.failure)
		}
		return fmt.Errorf("read sitemap %s: %w: %w", r.start, s.failure, ErrNothing)
	}
	return fmt.Errorf("sitemap %s gave 0 usable URLs: %s: %w", r.start, s.account(), ErrNothing)
}

// discoverPage reads a start that is a page: where it ends up is the scope.
func (r *run) discoverPage(ctx context.Context, start *url.URL) error {
	t, o, via, err := r.startPage(ctx, start)
	if err != nil {
		return err
	}
	final, err := url.Parse(t.url)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrSource)
	}
	r.scope.anchor(final, startDir(final), via...)
	r.start, r.probeDir = t.url, r.scope.dir
	if o := originOf(final); len(r.src.Headers) > 0 && o != r.transport.origin {
		r.warnf("the start leads to %s, where the source's headers are not sent; if they should be, let the source start there", o)
	}
	if strings.HasSuffix(o.reason, "xml") && strings.HasPrefix(o.reason, "content_type") {
		return r.discoverSitemap(ctx, final)
	}
	r.fates[t.url] = 0
	t.result = make(chan outcome, 1)
	t.result <- o
	r.queue = append(r.queue, t)

	if found, err := r.findSitemaps(ctx, final); err != nil || found {
		return err
	}
	r.summary.Discovery = fromLinks
	llms := *final
	llms.RawQuery = ""
	llms.Path, llms.RawPath = "/llms.txt", ""
	if r.readLLMs(ctx, &llms) {
		r.summary.Discovery = fromLLMs
		return nil
	}
	if o.fate == Gone {
		return fmt.Errorf("start %s (%s), and the site has no sitemap: %w", t.url, o.reason, ErrUnreachable)
	}
	return nil
}

// startPage asks for the start and follows where it leads. Where a source
// begins is its owner's word: its redirects leave no scope, they move it.
func (r *run) startPage(ctx context.Context, start *url.URL) (*task, outcome, []*url.URL, error) {
	var via []*url.URL
	t := &task{url: start.String()}
	for {
		k := r.recall(t)
		o := r.fetch(ctx, t.url, k.Validators)
		for attempt := 1; o.again && attempt < maxAttempts && o.err == nil; attempt++ {
			if !o.pause {
				if err := sleep(ctx, r.opts.Backoff<<(attempt-1)); err != nil {
					return nil, o, nil, err
				}
			}
			o = r.fetch(ctx, t.url, k.Validators)
		}
		if o.login {
			o = soft(ReasonAuthRequired)
		}
		switch {
		case o.err != nil:
			return nil, o, nil, fmt.Errorf("fetch %s: %w", t.url, o.err)
		case o.redirect != "" && len(via) < maxRedirects:
			u, err := url.Parse(t.url)
			if err != nil {
				return nil, o, nil, err
			}
			via = append(via, u)
			r.summary.Redirects++
			r.fates[t.url] = 0
			if err := r.emit(ctx, t, outcome{fate: Refused, reason: "redirect"}, nil); err != nil {
				return nil, o, nil, err
			}
			if _, met := r.fates[o.redirect]; met {
				return nil, o, nil, fmt.Errorf("start %s leads in a circle: %w", r.start, ErrUnreachable)
			}
			t = &task{url: o.redirect, hops: t.hops + 1}
			continue
		case o.redirect != "":
			return nil, o, nil, fmt.Errorf("start %s leads through more than %d redirects: %w", r.start, maxRedirects, ErrUnreachable)
		case o.fate == Fetched, o.fate == NotModified, o.reason == ReasonNeedsJS, strings.HasPrefix(o.reason, "content_type"):
			// A start without words may still have a sitemap.
			return t, o, via, nil
		case o.fate == Gone:
			// So may a site without a page at its root.
			return t, o, via, nil
		case o.fate == Refused && !o.soft:
			return nil, o, nil, fmt.Errorf("start %s is refused (%s): %w", t.url, o.reason, ErrNothing)
		default:
			return nil, o, nil, fmt.Errorf("start %s (%s): %w", t.url, o.reason, ErrUnreachable)
		}
	}
}

// findSitemaps tries the sitemaps that robots.txt names, else those at the
// usual places, and reports whether one lists pages besides the start.
func (r *run) findSitemaps(ctx context.Context, page *url.URL) (bool, error) {
	robots, err := r.robotsOf(ctx, page)
	if err != nil {
		return false, err
	}
	r.summary.Discovery = fromSitemap
	candidates := [][]string{}
	if len(robots.sitemaps) > 0 {
		var named []string
		for _, s := range robots.sitemaps {
			if u, err := Canonical(s, r.scope.origin+"/robots.txt"); err == nil {
				named = append(named, r.scope.fold(u))
			}
		}
		candidates = append(candidates, named)
	}
	if r.scope.dir != "/" {
		candidates = append(candidates, []string{r.scope.origin + r.scope.dir + "sitemap.xml"})
	}
	candidates = append(candidates, []string{r.scope.origin + "/sitemap.xml"})
	for i, urls := range candidates {
		s := newSitemapReader(r)
		s.guess = i > 0 || len(robots.sitemaps) == 0
		if err := s.read(ctx, urls); err != nil {
			return false, err
		}
		if s.usable > 0 {
			s.report()
			r.shallowFirst()
			return true, nil
		}
		if s.entries > 0 {
			r.warnf("the sitemap of %s lists no page in scope (%s); links are followed", page.Host, s.account())
		}
	}
	return false, nil
}

// readLLMs takes the pages that an llms.txt names, and reports whether there are any.
func (r *run) readLLMs(ctx context.Context, u *url.URL) bool {
	l, err := r.open(ctx, r.lists, u, sitemap.MaxBytes, r.allowList)
	if err != nil {
		return false
	}
	defer func() { _ = l.body.Close() }()
	if l.status != http.StatusOK || strings.Contains(l.header.Get("Content-Type"), "html") {
		return false
	}
	found := false
	err = sitemap.ReadLLMs(l.body, sitemap.Limits{Bytes: 5 << 20}, func(loc string) error {
		link, err := Canonical(loc, l.url.String())
		if err != nil {
			return nil //nolint:nilerr // one bad link is no reason to leave the others
		}
		link = r.scope.fold(link)
		if target, err := url.Parse(link); err == nil && !skipSuffix(target) && !namesList(target) {
			if reason, _ := r.scope.check(target); reason == "" && r.add(link, task{}) {
				found = true
			}
		}
		return nil
	})
	if err != nil {
		r.log.Info("llms.txt was not read to its end", slog.String("url", u.String()), slog.String("error", err.Error()))
	}
	return found
}

// shallowFirst orders what a sitemap lists: of pages that say the same, and
// where there are too many, those at the top of the site matter more than those
// in the folder of an old version.
func (r *run) shallowFirst() {
	slices.SortStableFunc(r.queue, func(a, b *task) int { return cmp.Compare(depth(a.url), depth(b.url)) })
}

// depth counts the segments of a canonical URL's path, a query as another.
func depth(canonical string) int {
	return strings.Count(strings.TrimSuffix(canonical, "/"), "/") + strings.Count(canonical, "?")
}

// refusal is an address that may not be asked for, as an error.
type refusal struct{ outcome }

func (r refusal) Error() string { return "may not be fetched (" + r.reason + ")" }

// allowList checks robots.txt for a list.
func (r *run) allowList(ctx context.Context, u *url.URL) error {
	why, _, err := r.mayFetch(ctx, u)
	if err != nil {
		return err
	}
	if why.fate != 0 {
		return refusal{why}
	}
	return nil
}
