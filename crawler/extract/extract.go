// Package extract turns a fetched page into a document: its title, its main
// content as Markdown by section, the anchors of its headings and its links.
//
// What belongs to the main content is told by rules for each documentation
// generator and, for other pages, by a cascade from the elements that HTML has
// for it down to the density of text. Anchors are never made up: each leads to
// an element of the page.
package extract

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/docseek/docseek"
)

// ErrUnsupported means that a page is of a type that holds no text to extract.
var ErrUnsupported = errors.New("unsupported content type")

// Options say how a page is read. The zero value lets the built-in rules decide.
type Options struct {
	// Content is a CSS selector of the main content, all matches in document
	// order. A page without a match is read by the built-in rules.
	Content string
}

// Extract reads a page. Malformed HTML is read as a browser would. It fails
// with ErrUnsupported when the page is not HTML, Markdown or plain text, and
// when Options.Content is no selector.
func Extract(in docseek.Page, opts Options) (docseek.Document, Signals, error) {
	var sel cascadia.SelectorGroup
	if opts.Content != "" {
		var err error
		if sel, err = cascadia.ParseGroup(opts.Content); err != nil {
			return docseek.Document{}, Signals{}, fmt.Errorf("read the content selector %q: %w", opts.Content, err)
		}
	}
	u, err := url.Parse(in.URL)
	if err != nil {
		return docseek.Document{}, Signals{}, fmt.Errorf("read the address of a page: %w", err)
	}
	src, err := sourceOf(in, u)
	if err != nil {
		return docseek.Document{}, Signals{}, fmt.Errorf("extract %s: %w", in.URL, err)
	}
	p, err := newPage(u, src)
	if err != nil {
		return docseek.Document{}, Signals{}, fmt.Errorf("extract %s: %w", in.URL, err)
	}
	p.read(sel)
	p.doc.URL = in.URL
	p.doc.Language = p.signals.Language
	p.doc.Version = p.head.version
	p.doc.Generator = p.gen.name
	if src.title != "" {
		p.doc.Title = src.title
	}
	return p.doc, p.signals, nil
}

// page is a page while it is read.
type page struct {
	url, base *url.URL
	rebased   bool // base is set by the page
	root      *html.Node
	body      *html.Node
	head      head
	mark      string // what an element tells of the generator
	scripts   bool   // the page has some
	shell     bool   // the page looks as if they fill it
	gen       generator
	owner     map[string]*html.Node
	labels    map[*html.Node]string // panels behind tabs, with their labels
	gone      map[*html.Node]bool   // rows of tabs, which the labels replace
	parts     map[*html.Node]part
	size      map[*html.Node]size
	all       size // of the whole page
	begun     bool // a heading below the title was met, while chrome is marked
	isRoot    map[*html.Node]bool
	titles    map[*html.Node]bool // titles that are not written as headings
	outline   outline
	signals   Signals
	doc       docseek.Document
}

func newPage(u *url.URL, src source) (*page, error) {
	root, deep, cut, err := parse(src.html, src.xhtml)
	if err != nil {
		return nil, err
	}
	p := &page{
		url: u, base: u, root: root, gen: generic(),
		labels: map[*html.Node]string{},
		gone:   map[*html.Node]bool{},
		parts:  map[*html.Node]part{},
		size:   map[*html.Node]size{},
		isRoot: map[*html.Node]bool{},
		titles: map[*html.Node]bool{},
	}
	p.signals.TooDeep, p.signals.Truncated = deep, cut
	p.body = find(root, func(n *html.Node) bool { return is(n, atom.Body, atom.Frameset) })
	if p.body == nil {
		p.body = root
	}
	return p, nil
}

func (p *page) read(sel cascadia.SelectorGroup) {
	p.readHead()
	p.gen = recognise(p.head.generator, p.mark)
	if p.gen.title != "" {
		for _, n := range selected(p.body, p.gen.title) {
			p.titles[n] = true
		}
	}
	p.own()
	p.labelPanels()
	p.prune(p.body)
	p.measure(p.body, false)
	p.signals.VisibleChars = p.size[p.body].text
	p.markChrome()
	p.remeasure()
	roots := p.roots(sel)
	p.doc.Sections = p.sectionsOf(roots)
	if !shows(p.doc.Sections) && roots[0] != p.body {
		p.doc.Sections = p.sectionsOf([]*html.Node{p.body})
	}
	if !shows(p.doc.Sections) {
		// All of it looks like chrome: better the whole page than nothing.
		clear(p.parts)
		p.remeasure()
		p.doc.Sections = p.sectionsOf([]*html.Node{p.body})
	}
	if !shows(p.doc.Sections) && p.signals.VisibleChars > 0 {
		var l line
		l.text(rawText(p.body))
		p.doc.Sections = []docseek.Section{{Markdown: resolve(l.String())}}
	}
	p.doc.Title = p.pageTitle()
	p.signals.NeedsJS = p.needsJS()
	p.signals.NotFound = p.signals.KeptChars < 2000 && (missing.MatchString(p.doc.Title) || missing.MatchString(p.head.title))
}

// remeasure fills p.size anew, after p.parts has changed.
func (p *page) remeasure() {
	clear(p.size)
	p.measure(p.body, false)
}

func (p *page) sectionsOf(roots []*html.Node) []docseek.Section {
	clear(p.isRoot)
	for _, n := range roots {
		p.isRoot[n] = true
	}
	p.settleListings(roots)
	p.signals.KeptChars, p.signals.LinkChars = 0, 0
	for _, n := range roots {
		s := p.measure(n, false)
		p.signals.KeptChars += s.text
		p.signals.LinkChars += s.link
	}
	p.plan(roots)
	return p.render(roots)
}

// shows reports whether sections have any text.
func shows(sections []docseek.Section) bool {
	for _, s := range sections {
		if s.Markdown != "" || s.Title != "" {
			return true
		}
	}
	return false
}

// pageTitle is the first top heading of the content, else what the page is
// called in its head, else the last part of its URL.
func (p *page) pageTitle() string {
	var first string
	for _, s := range p.doc.Sections {
		if s.Level == 1 {
			return s.Title
		}
		if first == "" {
			first = s.Title
		}
	}
	if h1 := find(p.body, func(n *html.Node) bool { return n.DataAtom == atom.H1 && p.parts[n] != chrome }); h1 != nil {
		if t := p.title(h1); t != "" {
			return t
		}
	}
	for _, t := range []string{p.head.ogTitle, p.head.title} {
		if t = p.withoutSite(t, first); t != "" {
			return t
		}
	}
	if first != "" {
		return first
	}
	return slugTitle(p.url)
}

// withoutSite takes the name of the site off a title.
func (p *page) withoutSite(t, heading string) string {
	if heading != "" && strings.HasPrefix(t, heading) {
		return heading
	}
	for _, sep := range []string{" | ", " — ", " – ", " · ", " • ", " :: ", " - "} {
		name, site, found := cutLast(t, sep)
		if !found || name == "" {
			continue
		}
		if sep == " | " || site == p.head.siteName || strings.Contains(strings.ToLower(site), "documentation") || strings.HasSuffix(strings.ToLower(site), " docs") {
			return name
		}
	}
	return t
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+len(sep):]), true
	}
	return s, "", false
}

// slugTitle makes a title of a URL: the words of the last part of its path.
func slugTitle(u *url.URL) string {
	slug := path.Base(strings.TrimSuffix(u.Path, "/"))
	slug = strings.TrimSuffix(slug, path.Ext(slug))
	if slug == "index" {
		slug = path.Base(path.Dir(u.Path))
	}
	if slug == "" || slug == "." || slug == "/" {
		return u.Host
	}
	words := strings.FieldsFunc(slug, func(r rune) bool { return r == '-' || r == '_' || r == '+' || isSpace(r) })
	t := visible(strings.Join(words, " "))
	if t == "" {
		return u.Host
	}
	return strings.ToUpper(t[:1]) + t[1:]
}

// unescape decodes a fragment; it is returned as it is when it cannot be.
func unescape(fragment string) string {
	if s, err := url.PathUnescape(fragment); err == nil {
		return s
	}
	return fragment
}
