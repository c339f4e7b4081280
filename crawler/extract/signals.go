package extract

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/docseek/docseek"
)

// Signals are what a page says about itself beside its content.
type Signals struct {
	// Canonical is the absolute URL of rel=canonical; empty if there is none.
	Canonical string `json:"canonical"`
	// Language is the BCP 47 tag that the page declares, in lower case.
	Language string `json:"language"`
	// Alternates maps hreflang tags, in lower case, to absolute URLs.
	Alternates map[string]string `json:"alternates"`
	// NoIndex and NoFollow are from the robots meta tag.
	NoIndex  bool `json:"no_index"`
	NoFollow bool `json:"no_follow"`
	// NeedsJS says that the page is an empty shell which scripts fill.
	NeedsJS bool `json:"needs_js"`
	// NotFound says that the page calls itself a missing one.
	NotFound bool `json:"not_found"`
	// Refresh is the absolute URL of a meta refresh to another page.
	Refresh string `json:"refresh"`
	// LoginForm says that the page asks for a password.
	LoginForm bool `json:"login_form"`
	// VisibleChars counts the characters that a reader of the page sees, KeptChars
	// those of the main content, LinkChars those of them inside links. White
	// space does not count.
	VisibleChars int `json:"visible_chars"`
	KeptChars    int `json:"kept_chars"`
	LinkChars    int `json:"link_chars"`
	// TooDeep says that elements nested too deep were flattened; their text is kept.
	TooDeep bool `json:"too_deep"`
	// Truncated says that the page has more bytes, tags or sections than are read.
	Truncated bool `json:"truncated"`
}

// Listing reports whether the page's content is made of links: an index, a table
// of contents. It leads to answers and holds none.
func (s Signals) Listing() bool { return s.LinkChars > 0 && 5*s.LinkChars >= 4*s.KeptChars }

// head is what the elements of a page's head, wherever they stand, say.
type head struct {
	generator string // content of <meta name=generator>
	title     string // of <title>
	ogTitle   string
	siteName  string
	version   string
}

const (
	// shellText is what an empty shell may show: a name, a spinner, a plea for JavaScript.
	shellText = 400
	// shellWord is what a page of scripts may show that nothing else gives away.
	shellWord = 50
)

// readHead collects what a page says about itself, and removes nothing.
func (p *page) readHead() {
	s := &p.signals
	scripts, noscript, emptyApp := 0, false, false
	for n := range elements(p.root) {
		if p.mark == "" {
			p.mark = markOf(n)
		}
		switch n.DataAtom {
		case atom.Html:
			p.declare(attr(n, "lang"))
			p.declare(attr(n, "xml:lang"))
		case atom.Base:
			if href := attr(n, "href"); href != "" && !p.rebased {
				p.rebased = true
				if u, err := p.url.Parse(strings.TrimSpace(href)); err == nil && webScheme(u) {
					p.base = u
				}
			}
		case atom.Title:
			if n.Namespace == "" && p.head.title == "" {
				p.head.title = flatText(n)
			}
		case atom.Meta:
			p.readMeta(n)
		case atom.Script:
			scripts += len(rawText(n)) + len(attr(n, "src"))*100
		case atom.Noscript:
			noscript = noscript || asksForScripts.MatchString(rawText(n))
		case atom.Input:
			if strings.EqualFold(attr(n, "type"), "password") {
				s.LoginForm = true
			}
		case atom.Div:
			emptyApp = emptyApp || appRoot(attr(n, "id")) && blank(n)
		default:
			emptyApp = emptyApp || appRoot(n.Data) && blank(n)
		}
	}
	p.scripts = scripts > 0
	p.shell = p.scripts && (noscript || emptyApp)
	// Links come after, as a base may stand behind some of them.
	seen := map[string]bool{}
	for n := range elements(p.root) {
		switch n.DataAtom {
		case atom.Link:
			p.readLink(n)
		case atom.A, atom.Area:
			p.collect(attr(n, "href"), seen)
		case atom.Frame:
			p.collect(attr(n, "src"), seen)
		default:
		}
	}
}

func appRoot(id string) bool {
	switch id {
	case "root", "app", "__next", "__nuxt", "___gatsby", "react-root", "svelte", "app-root", "ember-app", "main-app":
		return true
	}
	return false
}

var asksForScripts = regexp.MustCompile(`(?i)javascript`)

// declare sets the page's language, if none was set and tag is one.
func (p *page) declare(tag string) {
	tag = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-")
	if p.signals.Language == "" && languageTag.MatchString(tag) && tag != "und" {
		p.signals.Language = tag
	}
}

var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[a-z0-9]{1,8}){0,4}$`)

func (p *page) readMeta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	if strings.EqualFold(attr(n, "http-equiv"), "content-language") {
		p.declare(content)
	}
	if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
		if m := refresh.FindStringSubmatch(content); m != nil {
			if u := p.resolve(m[1]); u != nil && withoutFragment(u) != withoutFragment(p.url) {
				p.signals.Refresh = withoutFragment(u)
			}
		}
	}
	name := strings.ToLower(attr(n, "name"))
	if name == "" {
		name = strings.ToLower(attr(n, "property"))
	}
	switch name {
	case "generator":
		p.head.generator += " " + content
	case "robots":
		for v := range strings.FieldsFuncSeq(strings.ToLower(content), func(r rune) bool { return r == ',' || isSpace(r) }) {
			p.signals.NoIndex = p.signals.NoIndex || v == "noindex" || v == "none"
			p.signals.NoFollow = p.signals.NoFollow || v == "nofollow" || v == "none"
		}
	case "og:title":
		p.head.ogTitle = collapse(visible(content))
	case "og:site_name":
		p.head.siteName = collapse(visible(content))
	case "docsearch:version", "docusaurus_version", "readthedocs-version-slug":
		if p.head.version == "" && content != "current" && len(content) <= 64 && !strings.Contains(content, ",") {
			p.head.version = visible(content)
		}
	}
}

var refresh = regexp.MustCompile(`(?i)^\s*\d+(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?["']?([^"'>]+)`)

func (p *page) readLink(n *html.Node) {
	u := p.resolve(attr(n, "href"))
	if u == nil || !webScheme(u) {
		return
	}
	for rel := range strings.FieldsSeq(strings.ToLower(attr(n, "rel"))) {
		switch rel {
		case "canonical":
			if p.signals.Canonical == "" {
				p.signals.Canonical = withoutFragment(u)
			}
		case "alternate":
			if lang := strings.ToLower(strings.TrimSpace(attr(n, "hreflang"))); lang != "" {
				if p.signals.Alternates == nil {
					p.signals.Alternates = map[string]string{}
				}
				p.signals.Alternates[lang] = withoutFragment(u)
			}
		}
	}
}

// needsJS reports whether a page shows so little because scripts have to fill it.
func (p *page) needsJS() bool {
	shown := p.signals.VisibleChars
	if p.shell {
		return shown < shellText
	}
	titled := slices.ContainsFunc(p.doc.Sections, func(s docseek.Section) bool { return s.Title != "" })
	return p.scripts && shown < shellWord && !titled && p.signals.Refresh == ""
}

// collect adds a link to the document's.
func (p *page) collect(href string, seen map[string]bool) {
	if href == "" || href[0] == '#' {
		return
	}
	u := p.resolve(href)
	if u == nil || !webScheme(u) {
		return
	}
	if s := withoutFragment(u); !seen[s] {
		seen[s] = true
		p.doc.Links = append(p.doc.Links, s)
	}
}

// maxURL is the length of the longest URL that is followed or shown, in bytes.
const maxURL = 2048

// resolve makes a reference absolute; nil when it is not a URL.
func (p *page) resolve(ref string) *url.URL {
	if len(ref) > maxURL {
		return nil
	}
	// White space around and line breaks within are removed, as browsers do.
	ref = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, strings.TrimSpace(ref))
	u, err := p.base.Parse(ref)
	if err != nil {
		return nil
	}
	return u
}

func webScheme(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func withoutFragment(u *url.URL) string {
	c := *u
	c.Fragment, c.RawFragment = "", ""
	return c.String()
}

var missing = regexp.MustCompile(`(?i)^\W*(?:error\W+)?(?:404\b|(?:page|file|document|url|resource)\s+(?:was |is |could )?(?:not|n't)\s+(?:be )?found\b|not found\b|page (?:does not|doesn't) exist|nothing (?:was )?found here)`)
