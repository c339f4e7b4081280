package web

import (
	"bytes"
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search/lexical"
)

// passage renders the Markdown of a hit: the part that matched is in <mark>, and
// the words that the query asks for in <b>. The text comes from outside: HTML in
// it is text, images are their descriptions, and links lead to http(s) only.
func (p *Page) passage(hit docseek.Hit, query string) template.HTML {
	source := []byte(hit.Text)
	h := &highlighter{from: byteOffset(hit.Text, hit.Matched.Start), asked: p.asked(hit.Language, query)}
	h.to = max(h.from, byteOffset(hit.Text, hit.Matched.End))
	options := []goldmark.Option{
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(h, 100))),
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(parser.NewEmphasisParser(), 500),
			),
		)),
	}
	if cells(hit.Text) <= maxCells {
		options = append(options, goldmark.WithExtensions(extension.Table))
	}
	md := goldmark.New(options...)
	var b bytes.Buffer
	doc := md.Parser().Parse(text.NewReader(source))
	if err := md.Renderer().Render(&b, source, doc); err != nil {
		return template.HTML(template.HTMLEscapeString(hit.Text)) //nolint:gosec // escaped right here
	}
	return template.HTML(b.String()) //nolint:gosec // the renderer escapes all text, see highlighter
}

// maxCells bounds the tables of a passage. A row is filled up to the columns of
// its table's head, so that a short text can be a very large table.
const maxCells = 10_000

// cells is what the tables of a text have at most.
func cells(text string) int {
	columns, lines := 0, 0
	for line := range strings.Lines(text) {
		columns = max(columns, strings.Count(line, "|")+1)
		lines++
	}
	return columns * lines
}

// byteOffset is where a character of a text begins.
func byteOffset(s string, characters int) int {
	for i := range s {
		if characters <= 0 {
			return i
		}
		characters--
	}
	return len(s)
}

// asked tells the words that a query asks for from others, by the analysis that
// the search itself uses.
func (p *Page) asked(language, query string) func(word string) bool {
	wanted := map[uint32]bool{}
	for _, term := range p.analyzer.Query(language, query) {
		if term.Weight >= 1 {
			wanted[term.Hash] = true
		}
	}
	known := map[string]bool{}
	return func(word string) bool {
		is, seen := known[word]
		if !seen {
			is = slices.ContainsFunc(p.analyzer.Query(language, word), func(t lexical.Term) bool { return wanted[t.Hash] })
			known[word] = is
		}
		return is
	}
}

// highlighter renders what differs from goldmark's own HTML.
type highlighter struct {
	from, to int // the part that matched, in bytes
	asked    func(word string) bool
}

// RegisterFuncs names the nodes that are rendered here.
func (h *highlighter) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindText, h.text)
	r.Register(ast.KindCodeSpan, h.codeSpan)
	r.Register(ast.KindCodeBlock, h.code)
	r.Register(ast.KindFencedCodeBlock, h.code)
	r.Register(ast.KindLink, h.link)
	r.Register(ast.KindAutoLink, h.autoLink)
	// An image is its description: nothing is loaded from another host. A heading
	// is bold text: the page's own outline has the hit's.
	r.Register(ast.KindImage, enclose(`<span class="image">`, "</span>"))
	r.Register(ast.KindHeading, enclose(`<p class="heading">`, "</p>\n"))
}

// write writes the source between two bytes; plain escapes its pieces.
func (h *highlighter) write(w util.BufWriter, source []byte, start, stop int, plain func(util.BufWriter, []byte)) {
	for _, part := range []struct {
		from, to int
		marked   bool
	}{
		{start, min(stop, h.from), false},
		{max(start, h.from), min(stop, h.to), true},
		{max(start, h.to), stop, false},
	} {
		if part.from >= part.to {
			continue
		}
		if part.marked {
			_, _ = w.WriteString("<mark>")
		}
		h.words(w, source[part.from:part.to], plain)
		if part.marked {
			_, _ = w.WriteString("</mark>")
		}
	}
}

// words writes a piece of text with the asked words in <b>.
func (h *highlighter) words(w util.BufWriter, piece []byte, plain func(util.BufWriter, []byte)) {
	done := 0
	for at := 0; at < len(piece); {
		start := at
		for at < len(piece) {
			r, size := utf8.DecodeRune(piece[at:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
				break
			}
			at += size
		}
		if word := piece[start:at]; len(word) > 0 && h.asked(string(word)) {
			plain(w, piece[done:start])
			_, _ = w.WriteString("<b>")
			plain(w, word)
			_, _ = w.WriteString("</b>")
			done = at
		}
		_, size := utf8.DecodeRune(piece[at:])
		at += size
	}
	plain(w, piece[done:])
}

func prose(w util.BufWriter, b []byte)    { html.DefaultWriter.Write(w, b) }
func verbatim(w util.BufWriter, b []byte) { html.DefaultWriter.RawWrite(w, b) }

func (h *highlighter) text(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Text)
	if !entering || !ok {
		return ast.WalkContinue, nil
	}
	h.write(w, source, n.Segment.Start, n.Segment.Stop, prose)
	switch {
	case n.HardLineBreak():
		_, _ = w.WriteString("<br>\n")
	case n.SoftLineBreak():
		_ = w.WriteByte('\n')
	}
	return ast.WalkContinue, nil
}

func (h *highlighter) codeSpan(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<code>")
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if n, ok := child.(*ast.Text); ok {
			h.write(w, source, n.Segment.Start, n.Segment.Stop, verbatim)
		}
	}
	_, _ = w.WriteString("</code>")
	return ast.WalkSkipChildren, nil
}

func (h *highlighter) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code>`)
	for _, line := range node.Lines().Sliced(0, node.Lines().Len()) {
		for range line.Padding {
			_ = w.WriteByte(' ')
		}
		h.write(w, source, line.Start, line.Stop, verbatim)
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

func (h *highlighter) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Link)
	if !ok || !isWeb(string(n.Destination)) {
		return ast.WalkContinue, nil
	}
	if entering {
		openLink(w, n.Destination)
	} else {
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func openLink(w util.BufWriter, address []byte) {
	_, _ = w.WriteString(`<a rel="noopener noreferrer nofollow" href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(address, true)))
	_, _ = w.WriteString(`">`)
}

func (h *highlighter) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.AutoLink)
	if !entering || !ok {
		return ast.WalkContinue, nil
	}
	address := n.URL(source)
	if !isWeb(string(address)) {
		verbatim(w, n.Label(source))
		return ast.WalkContinue, nil
	}
	openLink(w, address)
	verbatim(w, n.Label(source))
	_, _ = w.WriteString("</a>")
	return ast.WalkContinue, nil
}

// enclose renders a node as its children in an element of another kind.
func enclose(start, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(start)
		} else {
			_, _ = w.WriteString(end)
		}
		return ast.WalkContinue, nil
	}
}
