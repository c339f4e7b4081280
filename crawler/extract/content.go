package extract

import (
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// roots finds the main content: by the operator's selector, by what the
// generator is known for, by the elements that HTML has for it, by where the
// text is. What is found with a selector has to hold a fair part of the text.
func (p *page) roots(sel cascadia.SelectorGroup) []*html.Node {
	if sel != nil {
		nodes := outermost(cascadia.QueryAll(p.body, sel))
		for _, n := range nodes {
			delete(p.parts, n)
			p.measure(n, false)
		}
		if p.textOf(nodes) > 0 {
			return nodes
		}
	}
	for _, s := range p.gen.content {
		if nodes := selected(p.root, s); p.textOf(nodes) > 0 {
			return nodes
		}
	}
	own := p.size[p.body].own()
	for _, s := range []string{"main", "[role=main]", "article", ".markdown-body", "#content", "#main-content", ".content"} {
		nodes := selected(p.body, s)
		if len(nodes) != 1 {
			continue
		}
		if p.textOf(nodes) > 0 && 3*p.size[nodes[0]].own() >= own {
			return nodes
		}
	}
	p.markLinkBoxes()
	return []*html.Node{p.densest()}
}

// markLinkBoxes marks as chrome the boxes of links beside the content: columns
// and menus that no name gives away. Where the page has little else, they stay.
func (p *page) markLinkBoxes() {
	var found []*html.Node
	rest := p.size[p.body].own()
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := range children(n) {
			s, measured := p.size[c]
			if !measured || p.parts[c] == chrome {
				continue
			}
			if is(c, atom.Td, atom.Div) && s.text > 0 && 4*s.own() < s.text && 3*s.own() < p.size[n].own() && countLinks(c, manyLinks) == manyLinks {
				found = append(found, c)
				rest -= s.own()
				continue
			}
			walk(c)
		}
	}
	walk(p.body)
	if rest < enoughText {
		return
	}
	for _, n := range found {
		p.parts[n] = chrome
	}
	p.remeasure()
}

// manyLinks is how many links make a box of links.
const manyLinks = 8

// countLinks counts the links in n, up to most.
func countLinks(n *html.Node, most int) int {
	count := 0
	for e := range elements(n) {
		if e.DataAtom == atom.A && hasAttr(e, "href") {
			if count++; count == most {
				break
			}
		}
	}
	return count
}

func (p *page) textOf(nodes []*html.Node) int {
	sum := 0
	for _, n := range nodes {
		sum += p.size[n].text
	}
	return sum
}

// densest descends from the body for as long as one child holds nine tenths of
// the text outside links and no heading stands beside it.
func (p *page) densest() *html.Node {
	at := p.body
	for {
		var best *html.Node
		for c := range children(at) {
			if s, ok := p.size[c]; ok && (best == nil || s.own() > p.size[best].own()) {
				best = c
			}
		}
		if best == nil || !is(best, atom.Div, atom.Section, atom.Main, atom.Article, atom.Center, atom.Table, atom.Tbody, atom.Tr, atom.Td, atom.Form) ||
			10*p.size[best].own() < 9*p.size[at].own() || p.size[best].own() == 0 {
			return at
		}
		for c := range children(at) {
			if c != best && p.parts[c] == content && (headingLevel(c) > 0 || find(c, func(n *html.Node) bool { return headingLevel(n) > 0 && headingLevel(n) < 4 }) != nil) {
				return at
			}
		}
		at = best
	}
}

// settleListings decides about tables of contents: they are chrome beside
// content, and content where there is little else.
func (p *page) settleListings(roots []*html.Node) {
	var listings []*html.Node
	beside := 0
	for _, r := range roots {
		p.gather(r, &listings, &beside)
	}
	for _, n := range listings {
		if beside >= enoughText || p.pointsInside(n, 1) {
			p.parts[n] = chrome
		} else {
			delete(p.parts, n)
		}
	}
}

// enoughText is how much text a page has that does not consist of its table of contents.
const enoughText = 200

func (p *page) gather(n *html.Node, listings *[]*html.Node, beside *int) {
	switch {
	case n.Type == html.TextNode:
		*beside += countVisible(n.Data)
		return
	case n.Type != html.ElementNode || p.parts[n] == chrome || p.level(n) > 0:
		return
	case p.parts[n] == listing:
		*listings = append(*listings, n)
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		p.gather(c, listings, beside)
	}
}
