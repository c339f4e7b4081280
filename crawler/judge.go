package crawler

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

// take decides what an outcome means for its URL and for those it leads to.
func (r *run) take(ctx context.Context, t *task, o outcome) error {
	if o.again && r.retry(t, o) {
		return nil
	}
	k := r.recall(t)
	if _, met := r.fates[o.redirect]; o.login && !met {
		o = soft(ReasonAuthRequired) // a page about logging in would be met elsewhere
	}
	o = keepGood(o, t.kept)
	switch {
	case o.redirect != "":
		return r.follow(ctx, t, o)
	case o.fate == NotModified:
		return r.takeUnchanged(ctx, t, o, k)
	case o.fate == Fetched:
		return r.takePage(ctx, t, o)
	case o.fate == Unreachable:
		if o.reason == ReasonNeedsJS {
			r.needJS++
		}
		// What an unread page leads to is known only if the index has it.
		r.unread = r.unread || !t.kept
		return r.emit(ctx, t, o, r.expand(k.Links))
	default:
		if o.reason == ReasonNeedsJS {
			r.needJS++
		}
		return r.emit(ctx, t, o, nil)
	}
}

// takeUnchanged books a page whose copy in the index is good.
func (r *run) takeUnchanged(ctx context.Context, t *task, o outcome, k Known) error {
	if k.Hash != "" {
		c := r.contentOf(k.Hash, t.url)
		if r.contents[c] {
			return r.emit(ctx, t, refused("duplicate"), r.expand(k.Links))
		}
		r.contents[c] = true
	}
	if o.page.Validators == (docseek.Validators{}) {
		o.page.Validators = k.Validators
	}
	r.pages++
	return r.emit(ctx, t, o, r.expand(k.Links))
}

// keepGood turns an error in a page's place into one that leaves the copy in the
// index as it is, where there is one.
func keepGood(o outcome, kept bool) outcome {
	if o.soft && kept {
		o.fate = Unreachable
	}
	return o
}

// retry puts a URL at the end of the queue again.
func (r *run) retry(t *task, o outcome) bool {
	if o.pause {
		if t.limited++; t.limited >= maxRateLimited {
			return false
		}
	} else {
		t.attempts++
		if t.attempts >= maxAttempts || o.reason == ReasonTimeout && t.attempts >= maxTimeouts {
			return false
		}
		t.after = time.Now().Add(r.opts.Backoff << (t.attempts - 1))
	}
	t.result = nil
	r.queue = append(r.queue, t)
	return true
}

// follow hands a redirect's target on.
func (r *run) follow(ctx context.Context, t *task, o outcome) error {
	r.summary.Redirects++
	u, err := url.Parse(o.redirect)
	if err != nil {
		return r.emit(ctx, t, refused("bad_redirect"), nil)
	}
	if reason, _ := r.scope.check(u); reason != "" {
		return r.emit(ctx, t, refused(reason), nil)
	}
	if t.hops+1 > maxRedirects {
		return r.emit(ctx, t, refused("redirect_limit"), nil)
	}
	// The target may be the very page that waits for this one; the address
	// itself has no content in any case.
	r.add(o.redirect, task{hops: t.hops + 1, modified: t.modified})
	return r.emit(ctx, t, o, nil)
}

// takePage judges a page by what it says of itself.
func (r *run) takePage(ctx context.Context, t *task, o outcome) error {
	r.noteAlternates(o)
	links := r.links(o)
	if lang := cmp.Or(o.doc.Language, o.signals.Language); !r.langs.allow(lang) {
		if t.url == r.start { // the way in, whatever its language
			r.expand(links)
		}
		return r.emit(ctx, t, refused("language"), nil)
	}
	if u, err := url.Parse(t.url); err == nil {
		// Only the start itself can have come here from outside.
		if reason, _ := r.scope.check(u); reason != "" {
			return r.emit(ctx, t, refused(reason), r.expand(links))
		}
	}
	if o.noIndex {
		return r.emit(ctx, t, refused("noindex"), r.expand(links))
	}
	if target := r.canonicalTarget(t, o); target != "" {
		r.add(target, task{hops: t.hops + 1, modified: t.modified})
		r.expand(links)
		// Its own result waits until the fate of the target is known.
		t.target, t.result, t.known.Links = target, nil, nil
		r.deferred = append(r.deferred, t)
		return nil
	}
	if strings.TrimSpace(documentText(o.doc)) == "" {
		return r.emit(ctx, t, keepGood(soft("empty"), t.kept), r.expand(links))
	}
	c := r.contentOf(o.hash, t.url)
	if r.contents[c] {
		r.noteDuplicate(t.url)
		return r.emit(ctx, t, refused("duplicate"), r.expand(links))
	}
	r.contents[c] = true
	if o.page.Modified.IsZero() {
		o.page.Modified = t.modified
	}
	o.doc.URL = t.url
	o.doc.Language = cmp.Or(o.doc.Language, o.signals.Language)
	o.doc.Version = cmp.Or(versionOf(r.src.Version, t.url), o.doc.Version)
	r.pages++
	return r.emit(ctx, t, o, r.expand(links))
}

// settleDeferred decides on the pages that gave another address as theirs, when
// nothing else is under way. A page whose other address came to nothing is
// asked for again, and stands for itself.
func (r *run) settleDeferred(ctx context.Context) (more bool, err error) {
	waiting := r.deferred
	r.deferred = nil
	var circle []*task
	for _, t := range waiting {
		switch r.fates[t.target] {
		case Fetched, NotModified:
			if err := r.emit(ctx, t, refused("duplicate"), nil); err != nil {
				return false, err
			}
		case 0: // the target waits for another page itself
			circle = append(circle, t)
		default:
			t.final = true
			r.queue = append(r.queue, t)
		}
	}
	if len(r.queue) == 0 && len(circle) > 0 {
		circle[0].final = true
		r.queue = append(r.queue, circle[0])
		circle = circle[1:]
	}
	r.deferred = circle
	return len(r.queue) > 0, nil
}

// canonicalTarget is the address that a page gives as its own, if that is to be
// believed: another page of the source, of the same version, and not merely
// the front page (which is what a broken template gives for every page).
func (r *run) canonicalTarget(t *task, o outcome) string {
	if t.final || o.signals.Canonical == "" {
		return ""
	}
	target, err := Canonical(o.signals.Canonical, t.url)
	if err != nil {
		return ""
	}
	if target = r.scope.fold(target); target == t.url {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	if reason, _ := r.scope.check(u); reason != "" || u.Path == "/" || u.EscapedPath() == r.scope.dir {
		return ""
	}
	if versionOf(r.src.Version, target) != versionOf(r.src.Version, t.url) {
		return ""
	}
	return target
}

// links are the links of a page that stand in scope, canonical, each once.
func (r *run) links(o outcome) []string {
	var links []string
	seen := map[string]bool{}
	for _, raw := range o.doc.Links {
		link := r.canonicalLink(raw)
		if link == "" || seen[link] {
			continue
		}
		seen[link] = true
		u, err := url.Parse(link)
		if err != nil {
			continue
		}
		if reason, _ := r.scope.check(u); reason == "" {
			links = append(links, link)
		}
	}
	if r.obey && o.signals.NoFollow {
		return nil
	}
	return links
}

// maxMemo bounds the links that are remembered in their canonical form: the
// same navigation stands on every page.
const maxMemo = 100_000

// canonicalLink is the canonical form of an absolute link in the scope's
// writing; "" for what is no address.
func (r *run) canonicalLink(raw string) string {
	if link, ok := r.memo[raw]; ok {
		return link
	}
	link, err := Canonical(raw, "")
	if err != nil {
		link = ""
	}
	link = r.scope.fold(link)
	if len(r.memo) < maxMemo {
		r.memo[raw] = link
	}
	return link
}

// expand follows the links of a page where links are what pages are found by,
// and returns them.
func (r *run) expand(links []string) []string {
	for _, link := range links {
		switch r.summary.Discovery {
		case fromFolder:
		case fromSitemap:
			if _, met := r.fates[link]; !met && len(r.unlisted) < maxUnlisted {
				r.unlisted[link] = true
			}
		default:
			u, err := url.Parse(link)
			if err != nil || skipSuffix(u) {
				continue
			}
			r.add(link, task{})
		}
	}
	return links
}

// A sitemap of so few pages that lead to so many times more others lists the
// entrances of a site (one for each version, say), not its pages.
const (
	fewListed    = 10
	manyUnlisted = 2
)

// widen follows links from now on when the sitemap that was found turns out to
// list next to nothing.
func (r *run) widen() bool {
	if r.summary.Discovery != fromSitemap || r.named || r.pages >= fewListed || len(r.unlisted) <= manyUnlisted*r.pages {
		return false
	}
	r.warnf("the sitemap lists %d pages that lead to %d others; links are followed", r.pages, len(r.unlisted))
	r.summary.Discovery = fromLinks
	links := slices.Sorted(maps.Keys(r.unlisted))
	clear(r.unlisted)
	r.expand(links)
	return len(r.queue) > 0
}

// skipSuffix tells links to what is no page by its name alone, which links are
// full of. What a sitemap lists is asked for in any case.
func skipSuffix(u *url.URL) bool {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico", ".css", ".js", ".mjs", ".map",
		".woff", ".woff2", ".ttf", ".eot", ".mp4", ".webm", ".mp3", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z",
		".tar", ".jar", ".whl", ".exe", ".dmg", ".deb", ".rpm", ".iso",
		".txt", ".xml", ".rss", ".atom", ".json", ".epub":
		return true
	default:
		return false
	}
}

// add takes a canonical URL of the scope into the queue, once, unless it is one
// of too many.
func (r *run) add(canonical string, t task) bool {
	if _, met := r.fates[canonical]; met {
		return false
	}
	if len(r.fates) >= r.opts.MaxURLs {
		r.incomplete = true
		r.warnf("the limit of %d known URLs is reached", r.opts.MaxURLs)
		return false
	}
	r.fates[canonical] = 0
	t.url = canonical
	if reason := r.refuseUnasked(canonical); reason != "" {
		t.result = make(chan outcome, 1)
		t.result <- refused(reason)
	}
	r.queue = append(r.queue, &t)
	return true
}

// refuseUnasked says by its address alone why a URL is not asked for.
func (r *run) refuseUnasked(canonical string) string {
	u, err := url.Parse(canonical)
	if err != nil {
		return "bad_url"
	}
	if lang, ok := r.alternates[canonical]; ok && !r.langs.allow(lang) {
		return "language"
	}
	if r.summary.Discovery == fromSitemap {
		return "" // what is listed is meant
	}
	if isTrap(u, r.opts.MaxPathSegments) || u.RawQuery != "" && !r.variant(u) {
		return "trap"
	}
	return ""
}

func (r *run) noteAlternates(o outcome) {
	if r.langs.all() {
		return
	}
	for lang, href := range o.signals.Alternates {
		if target, err := Canonical(href, o.page.URL); err == nil && len(r.alternates) < r.opts.MaxURLs {
			r.noteAlternate(r.scope.fold(target), lang)
		}
	}
}

func (r *run) noteAlternate(canonical, lang string) {
	lang = strings.ToLower(lang)
	// An address may be given for several languages: one that is wanted counts.
	if have, ok := r.alternates[canonical]; lang == "x-default" || ok && r.langs.allow(have) {
		return
	}
	r.alternates[canonical] = lang
}
