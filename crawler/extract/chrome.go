package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// part is what an element of a page is, beside content.
type part uint8

const (
	content part = iota
	// chrome is what surrounds the content: navigation, banners, controls.
	chrome
	// listing is a table of contents: chrome, unless the page is made of it.
	listing
)

// size counts the visible characters of an element, and those of them in links.
type size struct{ text, link int }

func (s size) own() int { return s.text - s.link }

// measure fills p.size for the elements that are blocks; what is chrome counts nothing.
func (p *page) measure(n *html.Node, inLink bool) size {
	var s size
	switch {
	case n.Type == html.TextNode:
		s.text = countVisible(n.Data)
		if inLink {
			s.link = s.text
		}
		return s
	case n.Type != html.ElementNode || p.parts[n] == chrome:
		return s
	}
	inLink = inLink || n.DataAtom == atom.A && hasAttr(n, "href")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m := p.measure(c, inLink)
		s.text += m.text
		s.link += m.link
	}
	if !inlineTag(n) || is(n, atom.A, atom.Button) || n.DataAtom == 0 {
		p.size[n] = s
	}
	return s
}

// markChrome decides which elements are chrome. all is the page's size: what
// holds most of a page's own text is never chrome, whatever it is called.
func (p *page) markChrome() {
	p.all = p.size[p.body]
	if sel := strings.Join(p.gen.chrome, ", "); sel != "" {
		for _, n := range goquery.NewDocumentFromNode(p.body).Find(sel).Nodes {
			p.parts[n] = chrome
		}
	}
	var known []*html.Node
	for _, s := range p.gen.content {
		if known = selected(p.root, s); len(known) > 0 {
			break
		}
	}
	p.markBelow(p.body, slices.Contains(known, p.body), known)
}

func (p *page) markBelow(n *html.Node, inMain bool, known []*html.Node) {
	for c := range children(n) {
		if p.parts[c] != content {
			continue
		}
		if is(c, atom.Pre) {
			continue
		}
		if headingLevel(c) > 1 && !contentsTitle.MatchString(flatText(c)) {
			p.begun = true
		}
		inside := inMain || is(c, atom.Main, atom.Article) || attr(c, "role") == "main" || slices.Contains(known, c)
		if k := p.partOf(c, inMain); k != content && p.mayDrop(c) {
			p.parts[c] = k
			if k == chrome {
				continue
			}
		}
		p.markBelow(c, inside, known)
	}
}

func (p *page) mayDrop(n *html.Node) bool {
	s, measured := p.size[n]
	if !measured {
		return true
	}
	own := p.all.own()
	return 2*s.own() <= own || own < 80 && s.own() < 40
}

// partOf tells what an element is by its name, role, classes, id and, where it
// is small, its words. Within the main area only what is unmistakable counts.
func (p *page) partOf(n *html.Node, inMain bool) part {
	if inlineTag(n) && !is(n, atom.A, atom.Button, atom.Label, atom.Span) && n.DataAtom != 0 {
		return content
	}
	switch n.DataAtom {
	case atom.Nav:
		if namesListing(n) {
			return listing
		}
		return chrome
	case atom.Footer:
		if !is(n.Parent, atom.Blockquote, atom.Figure) {
			return chrome
		}
	case atom.Header, atom.Aside:
		if !inMain && !holdsTitle(n) {
			return chrome
		}
	case atom.Form, atom.Search:
		if s := p.size[n]; s.text < 300 {
			return chrome
		}
	case atom.Button:
		if within(n.Parent, func(a *html.Node) bool { return headingLevel(a) > 0 || is(a, atom.Summary) }) == nil {
			return chrome
		}
	case atom.Html, atom.Body, atom.Main, atom.Article:
		return content
	default:
	}
	switch attr(n, "role") {
	case "navigation", "search", "contentinfo", "menu", "menubar", "toolbar", "button", "tablist":
		if !is(n, atom.Summary) {
			return chrome
		}
	case "banner", "complementary":
		if !inMain && !holdsTitle(n) {
			return chrome
		}
	case "doc-toc", "directory":
		return listing
	}
	for c := range classes(n) {
		name := kebab(c)
		if k := partByName(name); k != content {
			return k
		}
		if !inMain && !inlineTag(n) && pageFrame(name) && !holdsTitle(n) {
			return chrome
		}
		if c == "contents" && hasClass(n, "local", "topic") {
			return listing
		}
	}
	if id := attr(n, "id"); id != "" && !inMain && is(n, atom.Div, atom.Aside, atom.Ul, atom.Ol, atom.Table, atom.Header, atom.P, atom.A) {
		name := kebab(id)
		if k := partByName(name); (k != content || pageFrame(name)) && !holdsTitle(n) {
			return max(k, chrome)
		}
	}
	return p.partByWords(n)
}

// holdsTitle reports whether the page's title or main content may stand in n.
func holdsTitle(n *html.Node) bool {
	return find(n, func(e *html.Node) bool { return is(e, atom.H1, atom.Main, atom.Article) }) != nil
}

// namesListing reports whether a nav element is a table of contents that may
// list other pages.
func namesListing(n *html.Node) bool {
	for c := range classes(n) {
		if partByName(kebab(c)) == listing {
			return true
		}
	}
	return attr(n, "role") == "doc-toc"
}

// partByName tells what a class or an id in kebab-case means wherever it stands.
func partByName(name string) part {
	switch name {
	case "toc", "toctree-wrapper", "toctree", "table-of-contents", "tableofcontents", "toc-tree", "local-toc", "localtoc", "page-toc", "minitoc", "mini-toc":
		return listing
	case "nav", "navbar", "nav-bar", "navigation", "navheader", "navfooter", "nav-header", "nav-footer", "nav-path", "navpath",
		"side-nav", "sidenav", "nav-links", "nav-menu", "top-nav", "bottom-nav", "sub-nav", "page-nav", "page-navigation", "post-navigation", "doc-nav", "docs-nav",
		"breadcrumb", "breadcrumbs", "wy-breadcrumbs", "md-path", "bread-crumb",
		"pager", "pagination", "pagination-nav", "prev-next", "prevnext", "next-prev", "prev-next-area", "prev-next-footer", "rst-footer-buttons", "footer-buttons", "related-pages",
		"sphinxsidebar", "md-sidebar", "md-header", "md-footer", "md-tabs", "md-announce", "md-banner", "md-skip", "md-source-file", "md-feedback",
		"vp-doc-footer", "vp-nav", "vp-sidebar", "vp-local-nav", "vp-doc-aside", "vp-skip-link", "vp-footer",
		"theme-doc-breadcrumbs", "theme-doc-toc-mobile", "theme-doc-toc-desktop", "theme-doc-footer", "theme-doc-version-badge", "theme-doc-version-banner", "theme-edit-this-page", "theme-last-updated", "toc-mobile", "toc-collapsible",
		"edit-link", "edit-page", "edit-page-link", "edit-this-page", "edit-on-github", "edit-button", "page-edit", "page-meta-edit", "view-source", "view-page-source",
		"last-updated", "last-update", "page-last-updated", "page-metadata", "page-actions", "doc-actions", "page-tools",
		"skip-link", "skip-to-content", "skip-to-main", "skip-nav", "skiplink", "skip-links",
		"copy", "copybtn", "copy-button", "copy-btn", "btn-copy", "btn-clipboard", "code-copy", "copy-code-button", "copy-code", "clipboard", "clipboard-button", "md-clipboard", "copy-page", "copy-to-clipboard",
		"feedback", "page-feedback", "doc-feedback", "docs-feedback", "feedback-widget", "feedback-form", "feedback-container", "was-this-helpful", "was-helpful", "page-helpful", "helpful", "page-rating", "rating-widget", "article-votes", "page-vote",
		"share", "social", "social-share", "share-buttons", "share-links", "social-links", "social-icons", "newsletter", "newsletter-signup", "subscribe-form",
		"advertisement", "ethical-ads", "ethical-sidebar", "ea-placement", "carbonads", "carbon-ads", "carbon-wrap", "ad-slot", "ad-banner", "adsbygoogle",
		"announcement-bar", "announcement", "announcement-banner", "bd-header-announcement", "site-banner", "top-banner", "promo-banner", "version-warning-banner", "version-warning", "outdated-banner", "bd-header-version-warning",
		"version-switcher", "version-selector", "version-picker", "version-dropdown", "language-switcher", "language-selector", "rst-versions", "readthedocs-versions", "theme-toggle",
		"search-form", "search-box", "searchbox", "search-bar", "search-modal", "searchbar",
		"footer", "site-footer", "page-footer", "doc-footer", "docs-footer", "article-footer", "global-footer", "colophon",
		"sidebar-toc", "toc-sidebar", "on-this-page", "onthispage", "page-toc-sidebar", "bd-sidebar", "bd-toc", "bd-sidebar-primary", "bd-sidebar-secondary", "right-sidebar", "left-sidebar", "sidebar-left", "sidebar-right",
		"headerlink", "viewcode-link", "viewcode-back", "mw-editsection", "printfooter", "noprint", "no-print", "d-print-none":
		return chrome
	}
	if cookieNotice.MatchString(name) {
		return chrome
	}
	if strings.HasPrefix(name, "feedback--") || strings.HasPrefix(name, "td-page-meta") {
		return chrome
	}
	return content
}

// pageFrame reports whether a class or an id means a part of the frame around
// the main area; within it the same names are used for content.
func pageFrame(name string) bool {
	switch name {
	case "sidebar", "side-bar", "sidebar-nav", "sidebar-menu", "sidebar-wrapper", "sidebar-container", "nav-sidebar", "docs-sidebar", "doc-sidebar", "menu", "main-menu", "top-menu", "mega-menu", "mobile-menu", "menu-bar",
		"header", "site-header", "page-header", "top-bar", "topbar", "top", "masthead", "global-header", "app-bar", "toolbar", "titlearea", "main-nav", "globalnav",
		"banner", "notice-bar", "alert-bar", "ads", "ad", "promo", "popup", "modal", "overlay", "backdrop", "tooltip", "drawer", "comments", "disqus-thread", "related", "related-posts", "social-media", "copyright", "legal", "skip":
		return true
	}
	return false
}

var cookieNotice = regexp.MustCompile(`^(?:(?:js|site|global|eu|the)-)?(?:cookies?|consent|gdpr|ccpa|privacy)(?:-(?:consent|law|policy|notice|privacy))*-(?:banner|bar|notice|pop-?up|modal|dialog|overlay|message|wrapper|container|box|info|warning|prompt|toast|alert|root|layer|manager)$|^(?:onetrust|cybotcookiebot|cookiebot|osano|cky|cc-window|cc-banner|cookielaw|cookiefirst|usercentrics|termly|iubenda-cs)|^(?:cookie|gdpr)-?(?:consent|notice|banner|bar|popup)$`)

// kebab turns a class name or an id into kebab-case in lower case, without the
// hash that CSS modules append.
func kebab(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c == '_' || c >= 'A' && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain || len(s) > 100 {
		return s
	}
	if i := strings.LastIndexByte(s, '_'); i > 0 && len(s)-i-1 >= 4 && len(s)-i-1 <= 6 && s[i-1] != '_' && mixed(s[i+1:]) {
		s = s[:i]
	}
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == '_':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			if i > 0 && rs[i-1] != '-' && rs[i-1] != '_' && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mixed reports whether s looks like a hash: it has a capital, a digit or an underscore.
func mixed(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) || r == '_' }) >= 0
}

// partByWords tells small elements by what they say: the plea for feedback,
// the link to edit the page, the line of links to the pages before and after,
// the list of links into this very page before its first section.
func (p *page) partByWords(n *html.Node) part {
	s, measured := p.size[n]
	if !measured || s.text == 0 || headingLevel(n) > 0 {
		return content
	}
	switch {
	case s.text <= 40 && s.own() == 0 && n.DataAtom == atom.A:
		if standsAlone(n) && pageAction.MatchString(flatText(n)) {
			return chrome
		}
	case s.text <= 150 && is(n, atom.Div, atom.P, atom.Section, atom.Aside, atom.Fieldset):
		if text := flatText(n); askFeedback.MatchString(text) || s.text <= 80 && lastChange.MatchString(text) {
			return chrome
		}
		fallthrough
	default:
		if s.link == 0 || s.text > 400 && !is(n, atom.Ul, atom.Ol) {
			return content
		}
		if is(n, atom.Div, atom.P, atom.Table, atom.Ul) && 3*s.link >= 2*s.text && s.text <= 400 && stepLinks(n) {
			return chrome
		}
		if !p.begun && is(n, atom.Ul, atom.Ol) && 100*s.link >= 95*s.text && p.pointsInside(n, 3) {
			return chrome
		}
	}
	return content
}

var (
	pageAction  = regexp.MustCompile(`(?i)^\W*(?:(?:edit|improve|fix|suggest (?:an? )?(?:edits?|changes?)(?: (?:to|on|for))?|report (?:an? )?(?:issue|problem|bug)s?(?: (?:with|on|about|in))?|open an issue (?:with|on|about))\s+(?:this|the)\s+(?:page|docs?|article|section|documentation|content|source)(?:\s+(?:on|in|at) (?:github|gitlab|bitbucket|codeberg))?|(?:edit|view|report (?:an )?issue|view source|show source|page source)\s+on (?:github|gitlab|bitbucket|codeberg)|edit(?: this)? page|(?:view|show) (?:page )?source|page source|skip to (?:main |primary )?(?:content|navigation)|(?:back|return|scroll) to top|copy (?:page|link|code)|suggest edits?|raise issue|report an issue)\W*$`)
	lastChange  = regexp.MustCompile(`(?i)^(?:this page was )?last (?:updated|modified|edited|changed|built|reviewed|generated)\b.{0,40}\d`)
	askFeedback = regexp.MustCompile(`(?i)^(?:(?:was|is|did|does|were|are|do you find)\b[^.?]{0,30}\b(?:this|these|it)\b[^.?]{0,40}\b(?:helpful|useful|help(?: you)?|answer your question|what you (?:were|are) looking for)\b[^.?]{0,30}\?|how (?:helpful|useful) (?:was|is) (?:this|it)\b[^.?]{0,40}\?|(?:how would you )?rate this (?:page|article|topic|document)\b)`)
)

// standsAlone reports whether an inline element is no part of a text.
func standsAlone(n *html.Node) bool {
	for _, s := range []*html.Node{n.PrevSibling, n.NextSibling} {
		if s != nil && s.Type == html.TextNode && !wordless(s.Data) {
			return false
		}
	}
	return true
}

// stepLinks reports whether at least two of the links of n lead a step through
// a book, and nothing but such links and the titles of their pages stands in it.
func stepLinks(n *html.Node) bool {
	steps, links := 0, 0
	for e := range elements(n) {
		if e.DataAtom != atom.A {
			continue
		}
		links++
		word, _, _ := strings.Cut(strings.ToLower(strings.Trim(flatText(e), "«»‹›<>←→↑[]|:. ")), " ")
		switch word {
		case "next", "prev", "previous", "up", "home", "contents", "index", "top", "back":
			steps++
		}
	}
	text := strings.ToLower(flatText(n))
	return steps >= 2 && links <= 8 && (strings.Contains(text, "next") || strings.Contains(text, "prev"))
}

// pointsInside reports whether a list has at least so many links and all lead
// to places of this page.
func (p *page) pointsInside(list *html.Node, least int) bool {
	links := 0
	for e := range elements(list) {
		if e.DataAtom != atom.A || !hasAttr(e, "href") {
			continue
		}
		href := attr(e, "href")
		if !strings.HasPrefix(href, "#") || len(href) == 1 {
			return false
		}
		links++
	}
	return links >= least
}
