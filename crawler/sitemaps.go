package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/docseek/docseek/crawler/sitemap"
)

// sitemapReader reads sitemaps and the sitemaps they name.
type sitemapReader struct {
	*run
	// anchor moves the scope to where the first document is found.
	anchor bool
	// guess says that nobody named the sitemaps: not finding them is no failure.
	guess bool

	queue []child
	met   map[string]bool
	// entries are the pages listed, usable those in scope.
	entries, usable int
	// outside counts the pages that are out of scope; examples are some of them.
	outside  int
	examples []string
	failure  error // of the first document
}

type child struct {
	url   string
	depth int
}

func newSitemapReader(r *run) *sitemapReader {
	return &sitemapReader{run: r, met: map[string]bool{}}
}

// read reads the sitemaps, breadth first. An error ends the crawl; a sitemap
// that cannot be read is reported and left out.
func (s *sitemapReader) read(ctx context.Context, urls []string) error {
	for _, u := range urls {
		s.push(u, 0)
	}
	for n := 0; len(s.queue) > 0; n++ {
		next := s.queue[0]
		s.queue = s.queue[1:]
		if s.summary.Sitemaps >= s.opts.MaxSitemaps {
			s.incomplete = true
			s.warnf("the limit of %d sitemap documents is reached; %d were left out", s.opts.MaxSitemaps, len(s.queue)+1)
			return nil
		}
		err := s.document(ctx, next, n == 0)
		switch fatal, ok := errors.AsType[*fatalError](err); {
		case ok:
			return fatal.error
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && n == 0:
			s.failure = err
			fallthrough
		case err != nil:
			_, absent := errors.AsType[absentError](err)
			if !s.guess || !absent && !errors.Is(err, sitemap.ErrFormat) {
				s.incomplete = true
				s.warnf("sitemap %s: %v", next.url, err)
			}
		}
	}
	return nil
}

// fatalError ends the crawl from within a sitemap: it is not the sitemap's.
type fatalError struct{ error }

// absentError is the status that says that a sitemap is not there.
type absentError int

func (e absentError) Error() string { return fmt.Sprintf("answered %d", int(e)) }

// Unwrap says what that means for a start.
func (absentError) Unwrap() error { return ErrUnreachable }

func (s *sitemapReader) push(u string, depth int) {
	if s.met[u] {
		return
	}
	s.met[u] = true
	s.queue = append(s.queue, child{u, depth})
}

// document reads one sitemap.
func (s *sitemapReader) document(ctx context.Context, c child, first bool) error {
	u, err := url.Parse(c.url)
	if err != nil {
		return fmt.Errorf("bad address: %w", err)
	}
	l, err := s.open(ctx, s.lists, u, sitemap.MaxBytes, s.allowList)
	if err != nil {
		if _, refused := errors.AsType[refusal](err); refused {
			return err
		}
		return fmt.Errorf("%w (%s): %w", err, errorReason(err).text, ErrUnreachable)
	}
	defer func() { _ = l.body.Close() }()
	s.summary.Redirects += len(l.via)
	if l.status >= 400 && l.status < 500 && l.status != http.StatusTooManyRequests {
		return absentError(l.status)
	}
	if l.status != http.StatusOK {
		return fmt.Errorf("answered %d: %w", l.status, ErrUnreachable)
	}
	if s.anchor && first {
		s.scope.anchor(l.url, "/", l.via...)
		s.probeDir = "/"
	}
	for _, hop := range append(l.via, l.url) {
		s.met[hop.String()] = true
	}
	base := l.url.String()
	counted := false
	_, err = sitemap.Read(l.body, sitemap.Limits{}, func(e sitemap.Entry) error {
		if !counted {
			counted = true
			s.summary.Sitemaps++
		}
		loc, err := Canonical(e.Loc, base)
		if err != nil {
			s.entries++
			s.outside++
			s.example(e.Loc)
			return nil //nolint:nilerr // one bad entry is no reason to leave the others
		}
		loc = s.scope.fold(loc)
		if e.Kind == sitemap.Index {
			return s.index(l.url, loc, c.depth+1)
		}
		return s.entry(ctx, loc, e)
	})
	if err == nil && !counted {
		s.summary.Sitemaps++
	}
	if errors.Is(err, sitemap.ErrFormat) && !counted {
		return fmt.Errorf("%w: %w", err, ErrNothing)
	}
	return err
}

// index takes a sitemap that another one names. One on another domain is left
// alone: a list may not send the crawler around the world.
func (s *sitemapReader) index(parent *url.URL, loc string, depth int) error {
	u, err := url.Parse(loc)
	if err != nil || !sameDomain(parent.Hostname(), u.Hostname()) {
		s.incomplete = true
		s.warnf("sitemap %s names %s, which is on another domain and is left out", parent, loc)
		return nil //nolint:nilerr // Canonical has parsed it
	}
	if depth > s.opts.MaxSitemapDepth {
		s.incomplete = true
		return fmt.Errorf("sitemap indexes nest deeper than %d", s.opts.MaxSitemapDepth)
	}
	s.push(loc, depth)
	return nil
}

// sameDomain reports whether two hosts are of one owner, as far as the list of
// public suffixes tells.
func sameDomain(a, b string) bool {
	if a == b {
		return true
	}
	if _, err := netip.ParseAddr(a); err == nil {
		return false
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(a)
	if err != nil {
		return false
	}
	other, err := publicsuffix.EffectiveTLDPlusOne(b)
	return err == nil && domain == other
}

// entry takes a page that a sitemap lists.
func (s *sitemapReader) entry(ctx context.Context, loc string, e sitemap.Entry) error {
	if _, met := s.fates[loc]; met {
		if loc == s.start {
			s.entries++
		}
		return nil
	}
	s.entries++
	u, err := url.Parse(loc)
	if err != nil {
		return nil //nolint:nilerr // Canonical has parsed it
	}
	if !s.langs.all() {
		for _, a := range e.Alternates {
			if href, err := Canonical(a.Href, loc); err == nil && s.scope.fold(href) == loc {
				s.noteAlternate(loc, a.Lang)
			}
		}
	}
	reason, _ := s.scope.check(u)
	if reason == "" {
		if s.add(loc, task{modified: e.Modified}) {
			s.usable++
		}
		return nil
	}
	if reason == ReasonOutOfScope {
		s.outside++
		s.example(loc)
	}
	if s.rejected[loc] || len(s.rejected) >= maxRejected {
		return nil
	}
	s.rejected[loc] = true
	if err := s.emit(ctx, &task{url: loc}, refused(reason), nil); err != nil {
		return &fatalError{err}
	}
	return nil
}

// maxExamples bounds the addresses that a warning names.
const maxExamples = 3

func (s *sitemapReader) example(loc string) {
	if len(s.examples) < maxExamples {
		s.examples = append(s.examples, loc)
	}
}

// report warns when much of what the sitemap lists is not in scope.
func (s *sitemapReader) report() {
	if s.outside*100 > s.entries*maxOutOfScope {
		s.warnf("%d of the %d URLs that the sitemap lists are out of scope, such as %s", s.outside, s.entries, strings.Join(s.examples, ", "))
	}
}

// account says what became of a sitemap's entries when none was of use.
func (s *sitemapReader) account() string {
	if s.entries == 0 {
		return "it lists no page"
	}
	if len(s.examples) == 0 {
		return fmt.Sprintf("%d listed, none that may be crawled besides the start", s.entries)
	}
	return fmt.Sprintf("%d listed, none in scope %s%s, such as %s; set start, include or base address to match",
		s.entries, s.scope.origin, s.scope.dir, strings.Join(s.examples, ", "))
}
