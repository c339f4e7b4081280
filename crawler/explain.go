package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// Explanation is what the crawler makes of one URL of a source, and why.
type Explanation struct {
	// URL is as asked for; Canonical the form it is known under.
	URL       string `json:"url"`
	Canonical string `json:"canonical"`
	// Scope and Robots say which rule lets the URL in or keeps it out. They are
	// those of the last address, where redirects led on.
	Scope  Verdict `json:"scope"`
	Robots Verdict `json:"robots"`
	// Hops are the canonical addresses that redirects led through, the last of
	// them the one that was read.
	Hops []string `json:"hops,omitempty"`
	// Status is the last HTTP status; 0 when nothing was asked for or came.
	Status      int    `json:"status,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Charset     string `json:"charset,omitempty"`
	// Bytes is the size of the page as UTF-8.
	Bytes  int    `json:"bytes"`
	Fate   string `json:"fate"`
	Reason string `json:"reason,omitempty"`
	// Document and Signals are what was extracted, where a page was read.
	Document *docseek.Document `json:"document,omitempty"`
	Signals  *extract.Signals  `json:"signals,omitempty"`
	// Links are the links that a crawl would follow.
	Links    []string `json:"links,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Verdict is a decision and the rule it rests on.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`
}

// Explain asks for one URL, and for the start of the source, as a crawl of the
// source would, and says what came of it. A URL that the source's rules refuse is
// not asked for.
func (c *Crawler) Explain(ctx context.Context, src docseek.Source, rawURL string) (Explanation, error) {
	if folder, ok, err := folderOf(src.Start); err != nil {
		return Explanation{}, err
	} else if ok {
		return c.explainFile(ctx, src, folder, rawURL)
	}
	nothing := func(string) (Known, bool) { return Known{}, false }
	r, err := c.newRun(ctx, src, nothing, func(context.Context, Result) error { return nil })
	if err != nil {
		return Explanation{}, err
	}
	defer r.close()
	x := Explanation{URL: rawURL}
	if x.Canonical, err = Canonical(rawURL, ""); err != nil {
		return x, fmt.Errorf("%w: %w", err, ErrSource)
	}
	if err := r.place(ctx); err != nil {
		return x, err
	}
	x.Canonical = r.scope.fold(x.Canonical)
	err = r.explain(ctx, &x)
	x.Warnings = r.warnings
	return x, err
}

// place anchors the scope where a crawl would: at the end of the start's redirects.
func (r *run) place(ctx context.Context) error {
	start, err := url.Parse(r.start)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrSource)
	}
	if namesList(start) {
		r.scope.anchor(start, "/")
	} else {
		t, _, via, err := r.startPage(ctx, start)
		if err != nil {
			r.warnf("the scope is that of the start as it stands, because it could not be read: %v", err)
			return ctx.Err()
		}
		final, err := url.Parse(t.url)
		if err != nil {
			return fmt.Errorf("%w: %w", err, ErrSource)
		}
		r.scope.anchor(final, startDir(final), via...)
	}
	r.probeDir = r.scope.dir
	return nil
}

func (r *run) explain(ctx context.Context, x *Explanation) error {
	at := x.Canonical
	for {
		u, err := url.Parse(at)
		if err != nil {
			return fmt.Errorf("explain %s: %w", at, err)
		}
		reason, rule := r.scope.check(u)
		x.Scope = Verdict{Allowed: reason == "", Rule: rule}
		if reason != "" && at != r.start {
			x.Fate, x.Reason = Refused.String(), reason
			return nil
		}
		why, rule, err := r.mayFetch(ctx, u)
		if err != nil {
			return fmt.Errorf("explain %s: %w", at, err)
		}
		x.Robots = Verdict{Allowed: why.fate == 0, Rule: cmp.Or(rule, why.reason)}
		o := r.fetch(ctx, at, docseek.Validators{})
		if o.err != nil {
			return fmt.Errorf("explain %s: %w", at, o.err)
		}
		if o.login {
			o = soft(ReasonAuthRequired)
		}
		if o.redirect != "" && len(x.Hops) < maxRedirects {
			at = o.redirect
			x.Hops = append(x.Hops, at)
			continue
		}
		r.describe(x, o)
		return nil
	}
}

// describe fills in what became of the page, as takePage would decide.
func (r *run) describe(x *Explanation, o outcome) {
	x.Fate, x.Reason, x.Status = o.fate.String(), o.reason, o.status
	if o.fate != Fetched {
		return
	}
	x.ContentType, x.Charset, x.Bytes = o.page.ContentType, o.charset, len(o.page.Body)
	o.doc.Language = cmp.Or(o.doc.Language, o.signals.Language)
	o.doc.Version = cmp.Or(versionOf(r.src.Version, o.page.URL), o.doc.Version)
	x.Document, x.Signals, x.Links = &o.doc, &o.signals, r.links(o)
	switch {
	case !r.langs.allow(o.doc.Language):
		x.Fate, x.Reason = Refused.String(), "language"
	case o.noIndex:
		x.Fate, x.Reason = Refused.String(), "noindex"
	default:
		if target := r.canonicalTarget(&task{url: o.page.URL}, o); target != "" {
			r.warnf("the page gives %s as its address: if that is read, this one is a duplicate of it", target)
		}
	}
}

// errFound ends the walk of a folder.
var errFound = errors.New("found")

func (c *Crawler) explainFile(ctx context.Context, src docseek.Source, folder, rawURL string) (Explanation, error) {
	x := Explanation{URL: rawURL, Canonical: rawURL}
	if canonical, err := Canonical(rawURL, ""); err == nil {
		x.Canonical = canonical
	}
	nothing := func(string) (Known, bool) { return Known{}, false }
	_, err := c.crawlFolder(ctx, src, folder, nothing, func(_ context.Context, r Result) error {
		if r.URL != x.Canonical {
			return nil
		}
		x.Fate, x.Reason, x.Links = r.Fate.String(), r.Reason, r.Links
		x.Robots = Verdict{Allowed: true, Rule: "files have no robots.txt"}
		x.Scope = Verdict{Allowed: r.Reason != ReasonOutOfScope && r.Reason != ReasonExcluded, Rule: "folder " + folder}
		if r.Fate == Fetched {
			x.ContentType, x.Bytes, x.Document = r.Page.ContentType, len(r.Page.Body), &r.Document
		}
		return errFound
	})
	switch {
	case errors.Is(err, errFound):
		return x, nil
	case err != nil:
		return x, err
	default:
		return x, fmt.Errorf("no file of %s is published as %s: %w", folder, rawURL, ErrNothing)
	}
}
