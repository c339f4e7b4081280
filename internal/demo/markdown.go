package demo

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is an entry of a page's table of contents.
type heading struct {
	ID, Title string
	Level     int
}

// render turns the text of a page into HTML, with the headings of levels 2 and 3.
func render(source string) (template.HTML, []heading, error) {
	expanded, err := expand(source)
	if err != nil {
		return "", nil, err
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithAttribute(),
			parser.WithASTTransformers(util.Prioritized(permalinks{}, 500)),
		),
		goldmark.WithRendererOptions(renderer.WithUnsafe()), // the pages are our own
	)
	src := []byte(expanded)
	doc := md.Parser().Parse(text.NewReader(src))
	var headings []heading
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && (h.Level == 2 || h.Level == 3) {
			headings = append(headings, heading{ID: headingID(h), Title: plain(h, src), Level: h.Level})
		}
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, src, doc); err != nil {
		return "", nil, fmt.Errorf("render Markdown: %w", err)
	}
	return template.HTML(b.String()), headings, nil //nolint:gosec // the pages are our own
}

// permalinks puts a link to itself behind each heading.
type permalinks struct{}

func (permalinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			link := ast.NewLink()
			link.Destination = []byte("#" + headingID(h))
			link.SetAttributeString("class", []byte("headerlink"))
			link.SetAttributeString("title", []byte("Permalink"))
			link.AppendChild(link, ast.NewString([]byte("#")))
			h.AppendChild(h, link)
		}
	}
}

func headingID(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// plain is the text of a heading without its permalink.
func plain(h *ast.Heading, source []byte) string {
	var b strings.Builder
	for n := h.FirstChild(); n != nil && n != h.LastChild(); n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(source))
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					b.Write(t.Value(source))
				}
			}
		}
	}
	return b.String()
}

// directive is a container that Markdown does not have, between a line of ":::"
// with its kind and title and a line of ":::" alone.
type directive struct {
	kind, title string
	parts       []part
}

// part is a tab, or an entry of a reference, begun by a line of "===" and its title.
type part struct {
	title string
	body  strings.Builder
}

// expand writes the directives of a page out as HTML around their Markdown.
//
//	:::note Title           also tip, warning, danger: an admonition
//	:::details Summary      what can be folded
//	:::tabs                 a tab for each "=== Label"
//	:::entries              a reference entry for each "=== id | signature"
func expand(source string) (string, error) {
	open := []*directive{{parts: make([]part, 1)}}
	closed := 0
	fence := ""
	for line := range strings.Lines(source) {
		top := open[len(open)-1]
		trimmed := strings.TrimSpace(line)
		if fence == "" && strings.HasPrefix(trimmed, "```") {
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		} else if fence != "" && trimmed == fence {
			fence = ""
		}
		words, isDirective := strings.CutPrefix(trimmed, ":::")
		title, isPart := strings.CutPrefix(trimmed, "=== ")
		switch {
		case fence != "" || !isDirective && !isPart:
			if len(top.parts) == 0 {
				if trimmed != "" {
					return "", fmt.Errorf("text %q before the first part of %s", trimmed, top.kind)
				}
				continue
			}
			top.parts[len(top.parts)-1].body.WriteString(line)
		case isPart:
			top.parts = append(top.parts, part{title: title})
		case words != "":
			kind, title, _ := strings.Cut(words, " ")
			d := &directive{kind: kind, title: title}
			if kind != "tabs" && kind != "entries" {
				d.parts = make([]part, 1)
			}
			open = append(open, d)
		case len(open) == 1:
			return "", errors.New("close a directive: none is open")
		default:
			closed++
			out, err := top.html(closed)
			if err != nil {
				return "", err
			}
			open = open[:len(open)-1]
			parent := open[len(open)-1]
			parent.parts[len(parent.parts)-1].body.WriteString(out)
		}
	}
	if len(open) > 1 {
		return "", fmt.Errorf("the directive %s is not closed", open[len(open)-1].kind)
	}
	return open[0].parts[0].body.String(), nil
}

// html writes a directive, the n-th of its page. Blank lines make what is
// between the tags Markdown again.
func (d *directive) html(n int) (string, error) {
	var b strings.Builder
	switch d.kind {
	case "note", "tip", "warning", "danger":
		fmt.Fprintf(&b, "\n<div class=\"admonition %s\" role=\"note\">\n<p class=\"admonition-title\">%s</p>\n\n%s\n\n</div>\n\n",
			d.kind, html.EscapeString(d.title), d.parts[0].body.String())
	case "details":
		fmt.Fprintf(&b, "\n<details>\n<summary>%s</summary>\n\n%s\n\n</details>\n\n", html.EscapeString(d.title), d.parts[0].body.String())
	case "tabs":
		b.WriteString("\n<div class=\"tabs\">\n<div role=\"tablist\">\n")
		for i, p := range d.parts {
			fmt.Fprintf(&b, "<button role=\"tab\" id=\"tab-%d-%d\" aria-controls=\"panel-%d-%d\" aria-selected=\"%t\">%s</button>\n",
				n, i, n, i, i == 0, html.EscapeString(p.title))
		}
		b.WriteString("</div>\n")
		for i, p := range d.parts {
			hidden := ""
			if i > 0 {
				hidden = " hidden"
			}
			fmt.Fprintf(&b, "<div role=\"tabpanel\" id=\"panel-%d-%d\" aria-labelledby=\"tab-%d-%d\"%s>\n\n%s\n\n</div>\n", n, i, n, i, hidden, p.body.String())
		}
		b.WriteString("</div>\n\n")
	case "entries":
		b.WriteString("\n<dl class=\"reference\">\n")
		for _, p := range d.parts {
			id, signature, ok := strings.Cut(p.title, " | ")
			if !ok {
				return "", fmt.Errorf("entry %q has no id", p.title)
			}
			fmt.Fprintf(&b, "<dt id=\"%s\"><code>%s</code><a class=\"headerlink\" href=\"#%s\" title=\"Permalink\">#</a></dt>\n<dd>\n\n%s\n\n</dd>\n",
				id, html.EscapeString(signature), id, p.body.String())
		}
		b.WriteString("</dl>\n\n")
	default:
		return "", fmt.Errorf("unknown directive %q", d.kind)
	}
	return b.String(), nil
}
