package extract

import (
	"iter"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// outline is where sections start in the main content.
type outline struct {
	// starts holds the headings that start a section and the definition lists
	// whose terms do.
	starts map[*html.Node]bool
	// holds are the elements that a start stands in: whatever they are, they are
	// read as mere containers.
	holds map[*html.Node]bool
	// wraps are the inline elements that blocks stand in.
	wraps map[*html.Node]bool
}

// plan finds the starts below the roots.
func (p *page) plan(roots []*html.Node) {
	p.outline = outline{starts: map[*html.Node]bool{}, holds: map[*html.Node]bool{}, wraps: map[*html.Node]bool{}}
	for _, r := range roots {
		p.planBelow(r, anyHeading)
	}
}

// place says which headings start a section.
type place uint8

const (
	anyHeading place = iota
	// anchoredHeading is in lists, tables and quotations, where others are labels.
	anchoredHeading
	// namedHeading is in notes and links: only a heading with an id of its own
	// or a permalink starts a section.
	namedHeading
)

// planBelow reports whether a section starts in n and whether it holds a block.
func (p *page) planBelow(n *html.Node, at place) (starts, blocks bool) {
	o := &p.outline
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || p.parts[c] == chrome {
			continue
		}
		switch {
		case p.level(c) > 0:
			blocks = true
			if p.startsSection(c, at) {
				o.starts[c] = true
				starts = true
			}
			continue
		case is(c, atom.Pre):
			blocks = true
			continue
		case is(c, atom.Dl) && p.isEntryList(c):
			o.starts[c] = true
			starts = true
		}
		s, b := p.planBelow(c, max(at, placeIn(c)))
		if s {
			o.holds[c] = true
		}
		if _, admonition := admonitionKind(c); inlineTag(c) && (b || admonition) {
			o.wraps[c] = true
			b = true
		}
		starts = starts || s
		blocks = blocks || b || !inlineTag(c)
	}
	if starts {
		o.holds[n] = true
	}
	return starts, blocks
}

func placeIn(n *html.Node) place {
	if _, admonition := admonitionKind(n); admonition {
		return namedHeading
	}
	switch n.DataAtom {
	case atom.Li, atom.Blockquote, atom.Figure, atom.Caption, atom.Dt:
		return anchoredHeading
	case atom.Table:
		if hasHeaderCells(n) {
			return anchoredHeading
		}
	case atom.A:
		if href := attr(n, "href"); href != "" && href[0] != '#' {
			return namedHeading
		}
	default:
	}
	return anyHeading
}

// hasHeaderCells reports whether a table has th elements, those of tables in it
// not counted: else headings in it are the page's, which the table lays out.
func hasHeaderCells(n *html.Node) bool {
	for c := range children(n) {
		if c.DataAtom == atom.Th || is(c, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr) && hasHeaderCells(c) {
			return true
		}
	}
	return false
}

func (p *page) startsSection(h *html.Node, at place) bool {
	if p.title(h) == "" {
		return false
	}
	switch at {
	case anchoredHeading:
		return p.anchor(h) != ""
	case namedHeading:
		return p.ownID(h) != "" || p.permalinkTarget(h) != ""
	default:
		return true
	}
}

// level is 1 to 6 for a heading, also for what a generator writes as one
// without its being one, else 0.
func (p *page) level(n *html.Node) int {
	if p.titles[n] {
		return 1
	}
	l := headingLevel(n)
	if l == 2 && hasClass(n, "memtitle") {
		return 3 // Doxygen: a member, below the heading of its group
	}
	return l
}

// isEntryList reports whether a definition list is one of reference entries:
// some of its terms have an anchor.
func (p *page) isEntryList(dl *html.Node) bool {
	if hasClass(dl, "footnote", "citation", "toc") ||
		within(dl, func(n *html.Node) bool { return hasClass(n, "index", "indexdiv", "genindex") }) != nil {
		return false
	}
	for t := range terms(dl) {
		if t.DataAtom == atom.Dt && p.termAnchor(t) != "" {
			return true
		}
	}
	return false
}

// terms yields the terms and descriptions of a list, also those in div
// wrappers, and whatever else has strayed into it.
func terms(dl *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for c := dl.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom != atom.Div || find(c, func(n *html.Node) bool { return is(n, atom.Dt, atom.Dd) && n.Parent == c }) == nil {
				if !yield(c) {
					return
				}
				continue
			}
			for g := c.FirstChild; g != nil; g = g.NextSibling {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// termAnchor is the id of a term, or of an anchor within it.
func (p *page) termAnchor(dt *html.Node) string {
	if id := p.ownID(dt); id != "" {
		return id
	}
	if id := p.permalinkTarget(dt); id != "" {
		return id
	}
	return p.innerAnchor(dt)
}

// ownID is the id of an element, if it is the one that the id leads to.
func (p *page) ownID(n *html.Node) string {
	if id := attr(n, "id"); id != "" && p.owner[id] == n {
		return id
	}
	if id := attr(n, "name"); id != "" && n.DataAtom == atom.A && p.owner[id] == n {
		return id
	}
	return ""
}

// own fills p.owner: the element that each fragment of the page leads to
// (HTML §7.4.6.4: an id before the name of an anchor).
func (p *page) own() {
	p.owner = map[string]*html.Node{}
	for n := range elements(p.root) {
		if id := attr(n, "id"); id != "" && p.owner[id] == nil {
			p.owner[id] = n
		}
	}
	for n := range elements(p.root) {
		if n.DataAtom != atom.A {
			continue
		}
		if id := attr(n, "name"); id != "" && p.owner[id] == nil {
			p.owner[id] = n
		}
	}
}

// anchor is the fragment that leads to a heading; empty if the page has none.
// It is the one that the heading's permalink names, the heading's own id, that
// of the section it opens, that of an anchor inside it, right before it or
// around it.
func (p *page) anchor(h *html.Node) string {
	for _, id := range []string{p.permalinkTarget(h), p.ownID(h), p.sectionID(h), p.innerAnchor(h), p.anchorBefore(h), p.anchorAround(h)} {
		if id != "" {
			return id
		}
	}
	return ""
}

// permalinkTarget is where the permalink in or beside a heading or term leads,
// if that is in the page.
func (p *page) permalinkTarget(h *html.Node) string {
	for e := range elements(h) {
		if id := p.linkTarget(e); id != "" && isPermalink(e) {
			return id
		}
	}
	for _, s := range []*html.Node{nextElement(h), prevElement(h)} {
		if s == nil || !is(s, atom.A) || p.level(h) == 0 {
			continue
		}
		if id := p.linkTarget(s); id != "" && isPermalink(s) && (p.owner[id] == h || contains(p.owner[id], h) || contains(h, p.owner[id]) || p.owner[id] == s) {
			return id
		}
	}
	return ""
}

// linkTarget is the fragment of a link into this page whose target exists.
func (p *page) linkTarget(a *html.Node) string {
	if a.DataAtom != atom.A {
		return ""
	}
	_, id, found := strings.Cut(attr(a, "href"), "#")
	if !found || id == "" {
		return ""
	}
	if !strings.HasPrefix(attr(a, "href"), "#") {
		if u := p.resolve(attr(a, "href")); u == nil || withoutFragment(u) != withoutFragment(p.url) {
			return ""
		}
	}
	if p.owner[id] == nil {
		id = unescape(id)
	}
	if p.owner[id] == nil || p.owner[id].DataAtom == atom.Body {
		return ""
	}
	return id
}

// isPermalink reports whether a link shows a sign only, or says that it is a permalink.
func isPermalink(a *html.Node) bool {
	if a.DataAtom != atom.A || !strings.Contains(attr(a, "href"), "#") {
		return false
	}
	text := flatText(a)
	return wordless(text) || permalinkWords.MatchString(text) && len(text) < 300
}

var permalinkWords = regexp.MustCompile(`(?i)^\W*(?:permalink|permanent link|direct link|copy link|anchor link|link to this|link to (?:this )?(?:heading|section)|section titled|navigate to header)\b|^\W*link\W*$`)

// sectionID is the id of the section that a heading opens.
func (p *page) sectionID(h *html.Node) string {
	for at := h; p.opens(at); {
		parent := at.Parent
		if parent == nil || parent.Type != html.ElementNode || is(parent, atom.Body, atom.Html, atom.Main) {
			return ""
		}
		if id := p.ownID(parent); id != "" {
			switch {
			case pageWide(id) || attr(parent, "role") == "main":
				return ""
			case !p.isRoot[parent] && isSection(parent), related(id, p.title(h)):
				return id
			}
		}
		at = parent
	}
	return ""
}

// opens reports whether nothing is shown before n in its parent.
func (p *page) opens(n *html.Node) bool {
	for s := n.PrevSibling; s != nil; s = s.PrevSibling {
		if p.parts[s] != chrome && !blank(s) {
			return false
		}
	}
	return true
}

func isSection(n *html.Node) bool {
	if is(n, atom.Section, atom.Article, atom.Details) {
		return true
	}
	for c := range classes(n) {
		if sectionClass.MatchString(c) {
			return true
		}
	}
	return false
}

var sectionClass = regexp.MustCompile(`^(?:sect(?:ion)?-?\d*|level\d|refsect\d|refsection|refentry|chapter|appendix|preface|part|book|article|reference|glossary|bibliography|simplesect|topic|subsection|subsubsection|doc-object)$`)

// pageWide reports whether an id is that of a container of the whole page.
func pageWide(id string) bool {
	switch strings.ToLower(id) {
	case "main", "content", "main-content", "maincontent", "content-area", "content-container", "page", "page-content", "body", "article", "root", "app", "wrapper",
		"container", "docs", "doc", "doc-content", "docs-content", "documentation", "__next", "__nuxt", "__docusaurus", "___gatsby", "__docusaurus_skiptocontent_fallback", "vpcontent", "top", "inner", "outer", "document", "markdown", "readme", "layout", "site", "contents", "header", "sidebar":
		return true
	}
	return false
}

// related reports whether an id was made of a title.
func related(id, title string) bool {
	a, b := letters(id), letters(title)
	return a != "" && b != "" && (a == b || len(a) > 3 && strings.Contains(b, a) && 2*len(a) >= len(b))
}

// indexTarget matches the ids that the entries of an index point at; they are
// counted, so they are not those of what they stand in.
var indexTarget = regexp.MustCompile(`^index-\d+$`)

// innerAnchor is the id of an anchor or a span inside n.
func (p *page) innerAnchor(n *html.Node) string {
	for e := range elements(n) {
		if is(e, atom.A, atom.Span) && !hasClass(e, "indexterm") {
			if id := p.ownID(e); id != "" && !indexTarget.MatchString(id) {
				return id
			}
		}
	}
	return ""
}

// anchorBefore is the id of the anchor that stands right before a heading,
// nothing shown between them.
func (p *page) anchorBefore(h *html.Node) string {
	for at := h; at != nil && !p.isRoot[at] && !is(at, atom.Body); at = at.Parent {
		for s := at.PrevSibling; s != nil; s = s.PrevSibling {
			if !blank(s) {
				return ""
			}
			if s.Type != html.ElementNode {
				continue
			}
			if is(s, atom.A, atom.Span) {
				if id := p.ownID(s); id != "" {
					return id
				}
			}
			if id := p.innerAnchor(s); id != "" && !inlineTag(s) {
				return id
			}
		}
	}
	return ""
}

// anchorAround is the id of an anchor that a heading stands in.
func (p *page) anchorAround(h *html.Node) string {
	if a := within(h.Parent, func(n *html.Node) bool { return n.DataAtom == atom.A }); a != nil {
		return p.ownID(a)
	}
	return ""
}

func nextElement(n *html.Node) *html.Node {
	for s := n.NextSibling; s != nil; s = s.NextSibling {
		if s.Type == html.ElementNode {
			return s
		}
	}
	return nil
}

func prevElement(n *html.Node) *html.Node {
	for s := n.PrevSibling; s != nil; s = s.PrevSibling {
		if s.Type == html.ElementNode {
			return s
		}
	}
	return nil
}

// title is the text of a heading or a term, without permalinks, buttons and
// badges unless there is nothing else. It is cut where it is no title any more,
// as when the end tag of a heading is missing.
func (p *page) title(n *html.Node) string {
	t := p.fullTitle(n)
	if len(t) <= maxTitle {
		return t
	}
	t = strings.ToValidUTF8(t[:maxTitle/5], "")
	if i := strings.LastIndexByte(t, ' '); i > 0 {
		t = t[:i]
	}
	return t + "…"
}

// maxTitle bounds a section's title, in bytes.
const maxTitle = 500

func (p *page) fullTitle(n *html.Node) string {
	t := ""
	for _, all := range []bool{false, true} {
		var b strings.Builder
		p.appendTitle(&b, n, all)
		if t = collapse(visible(b.String())); t != "" {
			break
		}
	}
	return strings.TrimSpace(strings.TrimRight(t, "¶§🔗⚓¤"))
}

func (p *page) appendTitle(b *strings.Builder, n *html.Node, all bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode || p.parts[c] == chrome && !is(c, atom.Button):
		case !all && (c.DataAtom == atom.Button || isPermalink(c) || hasClass(c, "VPBadge", "badge", "sl-badge")):
		case isPermalink(c) && wordless(rawText(c)):
		case c.DataAtom == atom.Br:
			b.WriteByte(' ')
		case c.DataAtom == atom.Img:
			b.WriteString(" " + attr(c, "alt") + " ")
		default:
			if tex, _, ok := texOf(c); ok {
				b.WriteString(tex)
				continue
			}
			if !inlineTag(c) {
				b.WriteByte(' ')
			}
			p.appendTitle(b, c, all)
			if !inlineTag(c) {
				b.WriteByte(' ')
			}
		}
	}
}
