package extract

import (
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// attr returns the value of an attribute, empty if there is none.
func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return true
		}
	}
	return false
}

// classes yields the class names of an element.
func classes(n *html.Node) iter.Seq[string] {
	return strings.FieldsSeq(attr(n, "class"))
}

// hasClass reports whether an element has one of the class names.
func hasClass(n *html.Node, names ...string) bool {
	for c := range classes(n) {
		if slices.Contains(names, c) {
			return true
		}
	}
	return false
}

// is reports whether n is an element with one of the names.
func is(n *html.Node, names ...atom.Atom) bool {
	return n != nil && n.Type == html.ElementNode && n.DataAtom != 0 && slices.Contains(names, n.DataAtom)
}

// elements yields the descendants of n that are elements, in document order.
// The tree below an element may be changed when it is yielded.
func elements(n *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) { visit(n, yield) }
}

func visit(n *html.Node, yield func(*html.Node) bool) bool {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.ElementNode && (!yield(c) || !visit(c, yield)) {
			return false
		}
		c = next
	}
	return true
}

// children yields the element children of n.
func children(n *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			if c.Type == html.ElementNode && !yield(c) {
				return
			}
			c = next
		}
	}
}

// find returns the first descendant for which want is true, or nil.
func find(n *html.Node, want func(*html.Node) bool) *html.Node {
	for e := range elements(n) {
		if want(e) {
			return e
		}
	}
	return nil
}

// within returns the nearest ancestor of n, n included, for which want is true.
func within(n *html.Node, want func(*html.Node) bool) *html.Node {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && want(n) {
			return n
		}
	}
	return nil
}

// rawText is the text of n and all below it, as it stands in the source.
func rawText(n *html.Node) string {
	if c := n.FirstChild; c != nil && c == n.LastChild && c.Type == html.TextNode {
		return c.Data
	}
	var b strings.Builder
	appendText(&b, n)
	return b.String()
}

func appendText(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		appendText(b, c)
	}
}

// flatText is the text of n without invisible characters, white space collapsed.
func flatText(n *html.Node) string { return collapse(visible(rawText(n))) }

// blank reports whether n shows no text and no picture.
func blank(n *html.Node) bool {
	switch n.Type {
	case html.TextNode:
		return collapse(visible(n.Data)) == ""
	case html.ElementNode:
		if n.DataAtom == atom.Img && attr(n, "alt") != "" {
			return false
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if !blank(c) {
				return false
			}
		}
	default:
	}
	return true
}

// headingLevel is 1 to 6 for h1 to h6, else 0.
func headingLevel(n *html.Node) int {
	if n.Type != html.ElementNode {
		return 0
	}
	switch n.DataAtom {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	default:
		return 0
	}
}

// inlineTag reports whether an element flows within a line of text. Elements
// that HTML does not know are inline, as browsers have them.
func inlineTag(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center,
		atom.Col, atom.Colgroup, atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Frameset,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr,
		atom.Html, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol,
		atom.Optgroup, atom.Option, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section,
		atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return false
	default:
	}
	return true
}
