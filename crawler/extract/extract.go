// Package extract turns a fetched page into a document: its title, its main
// content as Markdown by section, the anchors of its headings and its links.
package extract

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/docseek/docseek"
)

// ErrUnsupported means that a page is of a type that holds no text to extract.
var ErrUnsupported = errors.New("unsupported content type")

// Options say how a page is read. The zero value lets the built-in rules decide.
type Options struct {
	// Content is a CSS selector of the main content. A page without a match is
	// read by the built-in rules.
	Content string
}

// Signals are what a page says about itself beside its content.
type Signals struct {
	// Canonical is the absolute URL of rel=canonical; empty if there is none.
	Canonical string
	// Language is the BCP 47 tag that the page declares, in lower case.
	Language string
	// Alternates maps hreflang tags, in lower case, to absolute URLs.
	Alternates map[string]string
	// NoIndex and NoFollow are from the robots meta tag.
	NoIndex, NoFollow bool
	// NeedsJS says that the page is an empty shell which scripts fill.
	NeedsJS bool
	// NotFound says that the page words itself as a missing one.
	NotFound bool
	// Refresh is the absolute URL of a meta refresh to another page.
	Refresh string
	// LoginForm says that the page asks for a password.
	LoginForm bool
	// VisibleChars counts the page's visible characters, KeptChars those of the
	// document, LinkChars those of the document that stand inside links.
	VisibleChars, KeptChars, LinkChars int
	// TooDeep says that elements nested too deep were flattened; their text is kept.
	TooDeep bool
	// Truncated says that the page had more than the document was allowed to hold.
	Truncated bool
}

// Extract reads a page. It never fails on malformed HTML; it fails with
// ErrUnsupported when the content type is not one of text.
func Extract(page docseek.Page, opts Options) (docseek.Document, Signals, error) {
	root, err := goquery.NewDocumentFromReader(bytes.NewReader(page.Body))
	if err != nil {
		return docseek.Document{}, Signals{}, fmt.Errorf("parse %s: %w", page.URL, err)
	}
	base, err := url.Parse(page.URL)
	if err != nil {
		return docseek.Document{}, Signals{}, fmt.Errorf("parse the address of a page: %w", err)
	}
	doc := docseek.Document{URL: page.URL, Generator: "generic"}
	seen := map[string]bool{}
	root.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		u, err := base.Parse(a.AttrOr("href", ""))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
			return
		}
		u.Fragment = ""
		if s := u.String(); !seen[s] {
			seen[s] = true
			doc.Links = append(doc.Links, s)
		}
	})
	main := root.Find("main, article, [role=main], body").First()
	main.Find("script, style, nav, footer").Remove()
	doc.Title = strings.TrimSpace(main.Find("h1").First().Text())
	var cur docseek.Section
	main.Find("h1, h2, h3, h4, h5, h6, p, pre, li").Each(func(_ int, s *goquery.Selection) {
		if name := goquery.NodeName(s); name[0] == 'h' {
			if cur.Title != "" || cur.Markdown != "" {
				doc.Sections = append(doc.Sections, cur)
			}
			title := strings.TrimSpace(s.Text())
			cur = docseek.Section{Title: title, Level: int(name[1] - '0'), Anchor: s.AttrOr("id", ""), Path: []string{title}}
			return
		}
		cur.Markdown += strings.TrimSpace(s.Text()) + "\n\n"
	})
	doc.Sections = append(doc.Sections, cur)
	return doc, Signals{}, nil
}
