package extract

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxBytes is how much of a page's HTML is read.
	maxBytes = 32 << 20
	// maxTags is how many start tags of a page are read.
	maxTags = 1_000_000
	// maxDepth is how deep elements may nest before wrappers are left out; the
	// parser itself gives up at 512 (golang.org/x/net/html).
	maxDepth = 300
	// maxDepthAny is how deep any element may nest. The parser adds elements of
	// its own: a tbody to each table.
	maxDepthAny = 360
	// maxFormatting is how many formatting elements may be open: the parser
	// repeats all of them in every paragraph (HTML §13.2.4.3).
	maxFormatting = 40
)

// parse reads HTML as a browser would, with bounds. deep says that elements
// were left out because they nest too deep, cut that the end of the page was.
func parse(body []byte, xhtml bool) (root *html.Node, deep, cut bool, err error) {
	if cut = len(body) > maxBytes; cut {
		body = body[:maxBytes]
	}
	s := shape{xhtml: xhtml, depth: maxDepth, depthAny: maxDepthAny}
	body = s.reshape(body)
	deep, cut = s.deep, cut || s.cut
	if root, err = html.Parse(bytes.NewReader(body)); err == nil {
		return root, deep, cut, nil
	}
	// What the parser made of it nests deeper than its tags do.
	s = shape{xhtml: xhtml, depthAny: maxDepthAny / 4}
	if root, err = html.Parse(bytes.NewReader(s.reshape(body))); err != nil {
		return nil, true, cut, fmt.Errorf("parse HTML: %w", err)
	}
	return root, true, cut, nil
}

// shape follows how the tags of a page nest, without building a tree.
type shape struct {
	xhtml    bool
	depth    int // how deep wrappers may nest
	depthAny int // how deep any element may nest
	open     []openTag
	kept     int            // number of open elements that are not left out
	count    map[string]int // of open elements, by name
	format   map[string]int // of formatting elements without an end tag so far, by name
	active   int            // their number
	tags     int            // number of start tags
	deep     bool
	cut      bool
	changed  bool
}

type openTag struct {
	name string
	kept bool
}

// reshape returns the page within the bounds; the page itself when it keeps them.
func (s *shape) reshape(body []byte) []byte {
	bounds := *s
	if s.walk(body, io.Discard); !s.changed {
		return body
	}
	*s = bounds
	var b bytes.Buffer
	b.Grow(len(body))
	s.walk(body, &b)
	return b.Bytes()
}

// walk copies the page to w without the tags that nest too deep, and with end
// tags for the empty elements of XHTML.
func (s *shape) walk(body []byte, w io.Writer) {
	s.format, s.count = map[string]int{}, map[string]int{}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			return
		}
		if tt == html.StartTagToken || tt == html.SelfClosingTagToken {
			if s.tags++; s.tags > maxTags {
				s.cut, s.changed = true, true
				return
			}
		}
		raw := z.Raw()
		keep := true
		switch tt {
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			if s.xhtml && tt == html.SelfClosingTagToken {
				// In XHTML <a id="x"/> is an empty element; HTML ignores the slash.
				if !void(name) {
					s.changed = true
					raw = slices.Concat(raw[:len(raw)-2], []byte("></"), name, []byte(">"))
				}
				break
			}
			keep = s.start(name)
		case html.EndTagToken:
			name, _ := z.TagName()
			keep = s.end(name)
		default:
		}
		if keep {
			_, _ = w.Write(raw) // into memory, or nowhere
		} else {
			s.changed = true
		}
	}
}

func (s *shape) start(tag []byte) bool {
	if void(tag) {
		return true
	}
	name := string(tag)
	if formatting(tag) {
		if s.active >= maxFormatting {
			return false
		}
		s.active++
		s.format[name]++
	}
	s.imply(tag)
	keep := s.kept < s.depth || s.kept < s.depthAny && !wrapper(tag)
	if keep {
		s.kept++
	} else {
		s.deep = true
	}
	s.open = append(s.open, openTag{name: name, kept: keep})
	s.count[name]++
	return keep
}

func (s *shape) end(tag []byte) bool {
	name := string(tag)
	if s.format[name] > 0 {
		s.active--
		s.format[name]--
	}
	if s.count[name] == 0 {
		return true
	}
	for {
		last := s.pop()
		if last.name == name {
			return last.kept
		}
	}
}

func (s *shape) pop() openTag {
	last := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.count[last.name]--
	if last.kept {
		s.kept--
	}
	return last
}

// imply closes the elements that the start of another ends without a tag
// (HTML §13.1.2.4).
func (s *shape) imply(tag []byte) {
	var ends, barrier []atom.Atom
	switch atom.Lookup(tag) {
	case atom.Li:
		ends, barrier = []atom.Atom{atom.Li}, []atom.Atom{atom.Ul, atom.Ol, atom.Menu, atom.Table}
	case atom.Dt, atom.Dd:
		ends, barrier = []atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl, atom.Table}
	case atom.Td, atom.Th:
		ends, barrier = []atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Tr, atom.Table}
	case atom.Tr:
		ends, barrier = []atom.Atom{atom.Tr}, []atom.Atom{atom.Table}
	case atom.Tbody, atom.Thead, atom.Tfoot:
		ends, barrier = []atom.Atom{atom.Tbody, atom.Thead, atom.Tfoot}, []atom.Atom{atom.Table}
	case atom.P, atom.Div, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Table, atom.Section,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Hr:
		ends = []atom.Atom{atom.P}
	default:
		return
	}
	// What an implied end may reach over is little in real pages.
	for i := len(s.open) - 1; i >= max(0, len(s.open)-32); i-- {
		open := atom.Lookup([]byte(s.open[i].name))
		if slices.Contains(ends, open) {
			for len(s.open) > i {
				s.pop()
			}
			return
		}
		if slices.Contains(barrier, open) || barrier == nil && !formatting([]byte(s.open[i].name)) {
			return
		}
	}
}

func void(name []byte) bool {
	switch atom.Lookup(name) {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	default:
		return false
	}
}

// formatting reports whether an element is one that the parser opens again in
// the next block when its end tag is missing.
func formatting(name []byte) bool {
	switch atom.Lookup(name) {
	case atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.S, atom.Small,
		atom.Strike, atom.Strong, atom.Tt, atom.U:
		return true
	default:
		return false
	}
}

// wrapper reports whether an element can be left out without changing what its content is.
func wrapper(name []byte) bool {
	switch atom.Lookup(name) {
	case atom.Div, atom.Span, atom.Section, atom.Article, atom.Center, atom.Font, atom.B, atom.I,
		atom.Em, atom.Strong, atom.Small, atom.Big, atom.U, atom.Blockquote, atom.Main, atom.Header:
		return true
	default:
		return false
	}
}
