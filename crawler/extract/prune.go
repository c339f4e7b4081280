package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prune takes out of the tree what a reader of the page does not see, and
// what holds no text.
func (p *page) prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.TextNode:
		case c.Type != html.ElementNode || p.unseen(c):
			n.RemoveChild(c)
		default:
			p.prune(c)
		}
		c = next
	}
}

func (p *page) unseen(n *html.Node) bool {
	if p.gone[n] {
		return true
	}
	switch n.DataAtom {
	case atom.Script:
		return !isTeXScript(n)
	case atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Embed, atom.Applet,
		atom.Canvas, atom.Audio, atom.Video, atom.Map, atom.Svg, atom.Textarea, atom.Select, atom.Datalist,
		atom.Progress, atom.Meter, atom.Dialog, atom.Noframes, atom.Link, atom.Meta, atom.Title:
		return true
	case atom.Input:
		return attr(n, "type") != "checkbox"
	default:
	}
	if isOverlay(n) {
		return true
	}
	if _, panel := p.labels[n]; panel {
		return false
	}
	if hasAttr(n, "hidden") && !strings.EqualFold(attr(n, "hidden"), "until-found") || hiddenStyle(attr(n, "style")) {
		return true
	}
	if attr(n, "aria-hidden") == "true" {
		// A page that opens with a dialog hides its content from screen readers only.
		return find(n, func(e *html.Node) bool { return is(e, atom.Main, atom.Article, atom.H1) }) == nil &&
			!is(n, atom.Main, atom.Article, atom.H1)
	}
	return hasClass(n, "sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screenreader-only", "sd-d-none")
}

// hiddenStyle reports whether a style attribute hides its element.
func hiddenStyle(style string) bool {
	if style == "" {
		return false
	}
	for decl := range strings.SplitSeq(strings.ToLower(style), ";") {
		key, value, _ := strings.Cut(decl, ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		switch strings.TrimSpace(key) + ":" + value {
		case "display:none", "visibility:hidden", "opacity:0", "font-size:0", "font-size:0px":
			return true
		}
	}
	return false
}
