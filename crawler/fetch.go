package crawler

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// outcome is what one attempt at a URL has come to.
type outcome struct {
	fate   Fate
	reason string
	// soft says that the reason speaks of an error in a page's place: what the
	// index has of the page stays.
	soft bool
	// again says that the URL is worth another attempt; pause that its host
	// asked for one.
	again, pause bool
	// redirect is the canonical address that the URL leads to; login says that
	// it looks like the place to identify oneself.
	redirect string
	login    bool

	page    docseek.Page
	doc     docseek.Document
	signals extract.Signals
	hash    string
	noIndex bool
	// status and charset are for people.
	status  int
	charset string
	err     error // the crawl ends
}

func refused(reason string) outcome     { return outcome{fate: Refused, reason: reason} }
func unreachable(reason string) outcome { return outcome{fate: Unreachable, reason: reason} }
func soft(reason string) outcome        { return outcome{fate: Refused, reason: reason, soft: true} }

// fetcher turns a URL into an outcome.
type fetcher struct {
	*session
	content string // selector of the main content
	// fold writes a canonical URL under the scope's origin.
	fold func(string) string
	// probeDir is the directory in which a page is asked for that cannot exist.
	probeDir string
	start    string
}

// isFront tells the pages that a site may answer with for any address that does
// not exist; they are what they are.
func (f *fetcher) isFront(u *url.URL) bool {
	return u.String() == f.start || u.Path == "/" || u.EscapedPath() == f.probeDir
}

// fetch asks for a page and reads it.
func (f *fetcher) fetch(ctx context.Context, canonical string, known docseek.Validators) outcome {
	u, err := url.Parse(canonical)
	if err != nil {
		return refused("bad_url")
	}
	why, _, err := f.mayFetch(ctx, u)
	if err != nil {
		return outcome{err: err}
	}
	if why.fate != 0 {
		return why
	}
	a, err := f.page(ctx, u, known)
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	if errors.Is(err, errHostGivenUp) {
		return unreachable(f.hostOf(u).lastFailure())
	}
	if err != nil {
		return errorReason(err).outcome()
	}
	o := f.judge(ctx, u, a)
	if o.fate == NotModified && known == (docseek.Validators{}) {
		o = unreachable("http_304") // nobody asked whether it was
	}
	o.status = a.status
	return o
}

// judge says what an answer means for its URL.
func (f *fetcher) judge(ctx context.Context, u *url.URL, a *answer) outcome {
	status := "http_" + strconv.Itoa(a.status)
	switch {
	case a.status == http.StatusOK && a.refusal != "":
		return refused(a.refusal)
	case a.status == http.StatusOK:
		return f.read(ctx, u, a)
	case a.status == http.StatusNotModified:
		return outcome{fate: NotModified, page: docseek.Page{URL: u.String(), FetchedAt: a.at.UTC(), Validators: validators(a.header)}}
	case isRedirect(a.status):
		return f.redirected(ctx, u, a.header.Get("Location"))
	case a.status == http.StatusNotFound, a.status == http.StatusGone:
		return outcome{fate: Gone, reason: status}
	case wantsPause(a.status, a.header):
		return outcome{fate: Unreachable, reason: status, again: true, pause: true}
	case a.status >= 500, a.status == http.StatusRequestTimeout:
		return outcome{fate: Unreachable, reason: status, again: a.status != http.StatusNotImplemented}
	default:
		return unreachable(status)
	}
}

// redirected judges where an answer leads.
func (f *fetcher) redirected(ctx context.Context, u *url.URL, location string) outcome {
	target, err := Canonical(location, u.String())
	if location == "" || err != nil {
		return soft("bad_redirect")
	}
	target = f.fold(target)
	to, err := url.Parse(target)
	switch {
	case err != nil:
		return soft("bad_redirect")
	case target == f.fold(u.String()):
		return soft("redirect_loop")
	}
	o := outcome{fate: Refused, reason: "redirect", redirect: target, login: leadsToLogin(u, to)}
	if o.login {
		return o
	}
	missing, err := f.missing(ctx, u)
	if err != nil {
		return outcome{err: err}
	}
	if missing != nil && missing.redirect == target && !f.isFront(u) {
		return soft(ReasonSoft404)
	}
	return o
}

// read turns a body into a document.
func (f *fetcher) read(ctx context.Context, u *url.URL, a *answer) outcome {
	o := f.document(u, a)
	if o.fate != Fetched {
		return o
	}
	if o.signals.Refresh != "" {
		if r := f.redirected(ctx, u, o.signals.Refresh); r.err != nil || r.redirect != "" {
			return r
		}
	}
	switch {
	case o.signals.NeedsJS:
		return soft(ReasonNeedsJS)
	case o.signals.LoginForm && o.signals.KeptChars < shortPage:
		return soft(ReasonAuthRequired)
	}
	if !f.isFront(u) {
		missing, err := f.missing(ctx, u)
		if err != nil {
			return outcome{err: err}
		}
		if missing.matches(o.doc, u) || o.signals.NotFound && o.signals.KeptChars < shortPage {
			return soft(ReasonSoft404)
		}
	}
	return o
}

// document decodes and extracts a body, without asking the host for more.
func (f *fetcher) document(u *url.URL, a *answer) outcome {
	text, encoding, err := decodeText(a.body, a.header.Get("Content-Type"))
	if err != nil {
		return refused("charset " + encoding)
	}
	kind, reason := contentKind(mediaType(a.header.Get("Content-Type")), u, text)
	if why := errorText(visibleText(kind, text)); why != "" {
		return f.errorPage(u, a, why)
	}
	if reason != "" {
		return refused(reason)
	}
	page := docseek.Page{
		URL: u.String(), Body: text, ContentType: kind, FetchedAt: a.at.UTC(), Modified: modified(a.header),
		Validators: validators(a.header),
	}
	doc, signals, err := extract.Extract(page, extract.Options{Content: f.content})
	if err != nil {
		return refused("extract")
	}
	o := outcome{fate: Fetched, page: page, doc: doc, signals: signals, hash: contentHash(doc), charset: encoding}
	o.noIndex = f.obey && (signals.NoIndex || robotsTag(a.header))
	if why := errorText(documentText(doc)); why != "" {
		return f.errorPage(u, a, why)
	}
	return o
}

// errorPage is an error that came as a page: a limiter's is a wish for a pause.
func (f *fetcher) errorPage(u *url.URL, a *answer, why string) outcome {
	if why != ReasonRateLimited {
		return soft(why)
	}
	h := f.hostOf(u)
	h.fail(why)
	h.gate.close(f.pauseFor(a.header, h.gate.pausesSoFar()))
	return outcome{fate: Unreachable, reason: why, again: true, pause: true}
}

// missing returns what the host of u answers for a page that cannot exist, asked once.
func (f *fetcher) missing(ctx context.Context, u *url.URL) (*missingPage, error) {
	return f.hostOf(u).probeOnce.get(ctx, func(ctx context.Context) *missingPage {
		name := productName + "-" + strings.ToLower(rand.Text())
		probe := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: f.probeDir + name}
		for range maxAttempts {
			if m, again := f.probe(ctx, probe, name, 3); !again {
				return m
			}
		}
		return nil
	})
}

// probe asks for a page of a name that cannot exist, and goes along while a
// redirect keeps the name (to the other scheme, to a path with a slash). It is
// to be done again when the host asked for a pause instead of answering.
func (f *fetcher) probe(ctx context.Context, u *url.URL, name string, hops int) (m *missingPage, again bool) {
	if why, _, err := f.mayFetch(ctx, u); err != nil || why.fate != 0 {
		return nil, false
	}
	a, err := f.page(ctx, u, docseek.Validators{})
	if err != nil {
		return nil, false
	}
	if isRedirect(a.status) {
		target, err := Canonical(a.header.Get("Location"), u.String())
		if err != nil {
			return nil, false
		}
		next, err := url.Parse(target)
		if err != nil {
			return nil, false
		}
		if strings.Contains(next.Path, name) && originOf(next) == originOf(u) && hops > 0 {
			return f.probe(ctx, next, name, hops-1)
		}
		return &missingPage{redirect: f.fold(target)}, false
	}
	if a.status != http.StatusOK || a.refusal != "" {
		return nil, wantsPause(a.status, a.header)
	}
	o := f.document(u, a)
	if o.fate == Fetched {
		return newMissingPage(o.doc, u), false
	}
	return nil, o.pause
}

// failure is a fate with its reason, as an error has it.
type failure struct {
	fate Fate
	text string
}

func (f failure) outcome() outcome {
	return outcome{fate: f.fate, reason: f.text, again: f.fate == Unreachable && f.text != "tls"}
}

// errorReason says what an error of a request means for its URL.
func errorReason(err error) failure {
	coding, badCoding := errors.AsType[encodingError](err)
	_, badName := errors.AsType[*net.DNSError](err)
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, slow := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errTooLarge):
		return failure{Refused, ReasonTooLarge}
	case errors.Is(err, errPrivateAddress):
		return failure{Refused, "private_address"}
	case badCoding:
		return failure{Refused, "content_encoding " + string(coding)}
	case errors.Is(err, context.DeadlineExceeded), slow && timeout.Timeout():
		return failure{Unreachable, ReasonTimeout}
	case errors.Is(err, errRedirects):
		return failure{Unreachable, "redirect_limit"}
	case errors.Is(err, errLocation):
		return failure{Unreachable, "bad_redirect"}
	case badName:
		return failure{Unreachable, "dns"}
	case badCertificate:
		return failure{Unreachable, "tls"}
	default:
		return failure{Unreachable, "connection"}
	}
}
