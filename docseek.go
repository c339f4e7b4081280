// Package docseek holds the nouns that every room of the project shares: what
// a documentation site is, what a page of it becomes, and what a search finds.
//
// It has types, and what belongs to their meaning (see [Visible]); it imports
// nothing else of the project.
package docseek

import (
	"strings"
	"time"
)

// Source is one documentation site as configured.
type Source struct {
	// Name identifies the source everywhere: [a-z0-9][a-z0-9._-]*, at most 64 bytes.
	Name string `yaml:"name" json:"name"`
	// Start is the URL of a sitemap or of a page, or the path of a folder.
	Start string `yaml:"start" json:"start"`
	// BaseURL is the address that the pages of a folder are published under.
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty"`
	// Include and Exclude are globs on the URL path, by segment ("*" is within
	// one segment, "**" any number of segments). Exclude wins.
	Include []string `yaml:"include,omitempty" json:"include,omitempty"`
	Exclude []string `yaml:"exclude,omitempty" json:"exclude,omitempty"`
	// Version says how the version of a page is told.
	Version Version `yaml:"version,omitempty" json:"version,omitzero"`
	// Languages are the BCP 47 tags that are indexed; empty means all.
	Languages []string `yaml:"languages,omitempty" json:"languages,omitempty"`
	// Content is a CSS selector of the main content; empty means the built-in rules.
	Content string `yaml:"content,omitempty" json:"content,omitempty"`
	// Headers are sent to the start's own origin and never to another. They may
	// hold secrets, so they are not stored with the index.
	Headers map[string]string `yaml:"headers,omitempty" json:"-"`
	// Rate bounds the load on each host.
	Rate Rate `yaml:"rate,omitempty" json:"rate,omitzero"`
	// MaxPages bounds a run; 0 means the default of the crawler.
	MaxPages int `yaml:"max_pages,omitempty" json:"max_pages,omitempty"`
	// Render says whether pages are run in a browser: auto, never or always.
	Render string `yaml:"render,omitempty" json:"render,omitempty"`
	// Robots is obey (the default) or ignore.
	Robots string `yaml:"robots,omitempty" json:"robots,omitempty"`
}

// Version says which version of the documented product a page belongs to.
type Version struct {
	// Label is the version of every page.
	Label string `yaml:"label,omitempty" json:"label,omitempty"`
	// FromPath is a pattern such as "/docs/{version}/**"; the segment in the
	// place of {version} is the page's version.
	FromPath string `yaml:"from_path,omitempty" json:"from_path,omitempty"`
	// Current is the version of a page that FromPath does not match.
	Current string `yaml:"current,omitempty" json:"current,omitempty"`
}

// Rate bounds the load that a crawl puts on one host.
type Rate struct {
	// Concurrency is the most requests that are under way at once; 0 means 4.
	Concurrency int `yaml:"concurrency,omitempty" json:"concurrency,omitempty"`
	// Delay is the least time between the starts of two requests.
	Delay time.Duration `yaml:"delay,omitempty" json:"delay,omitempty"`
}

// Page is one fetched URL of a source.
type Page struct {
	// URL is the canonical URL: no fragment, no tracking parameters.
	URL string
	// Body is the page decoded to UTF-8.
	Body []byte
	// ContentType is the media type without parameters, in lower case.
	ContentType string
	// Validators are what the server gave to ask again with.
	Validators Validators
	// FetchedAt is when the answer arrived.
	FetchedAt time.Time
	// Modified is the server's or the sitemap's date of last change; zero if unknown.
	Modified time.Time
}

// Validators are the conditional-request validators of a page (RFC 9110 §8.8).
type Validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// Document is a page after extraction.
type Document struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	// Language is the BCP 47 tag that the page declares, in lower case; empty if it declares none.
	Language string `json:"language"`
	// Version is the version of the product that the page documents; empty if unknown.
	Version string `json:"version"`
	// Generator is the documentation generator that was recognised, such as
	// docusaurus, vitepress, mkdocs-material, sphinx, docbook, asciidoc or doxygen;
	// generic where none was.
	Generator string `json:"generator"`
	// Sections are in document order. The first may have no heading.
	Sections []Section `json:"sections"`
	// Links are the absolute http(s) URLs that the whole page points to,
	// fragments dropped, each once, in document order.
	Links []string `json:"links"`
}

// Section is the part of a document under one heading or one reference entry.
type Section struct {
	// Title is the heading's text; empty for what stands before the first heading.
	Title string `json:"title"`
	// Level is 1 to 6 for a heading, the level of the enclosing heading plus one
	// for a reference entry, 0 for what stands before the first heading.
	Level int `json:"level"`
	// Anchor is the id that exists in the page, not percent-encoded; empty if there is none.
	Anchor string `json:"anchor"`
	// Path is the titles from the outermost heading to this one, this one included.
	Path []string `json:"path"`
	// Entry says that it is a reference entry (a function, an option) with its
	// description: it is found by itself however short it is.
	Entry bool `json:"entry"`
	// Markdown is the section's own content without its heading line and without
	// the sections below it: GitHub-flavoured Markdown, links absolute.
	Markdown string `json:"markdown"`
}

// Chunk is a piece of one section, small enough to embed, or a few small sections
// joined, which then stand under the one that has most of the text.
//
// The chunks of a page in order of Ordinal give the page back: see Chunk.Body
// and Chunk.Glue.
type Chunk struct {
	// ID is stable over runs: it derives from the URL, the place in the page and the text.
	ID string `json:"id"`
	// URL is the canonical URL of the page.
	URL string `json:"url"`
	// Anchor is the id in the page of the section that the chunk stands under,
	// not percent-encoded; empty if there is none.
	Anchor string `json:"anchor,omitempty"`
	// Title is the page's title.
	Title string `json:"title"`
	// Path is the heading path of that section.
	Path []string `json:"path,omitempty"`
	// Ordinal counts the chunks of a page from 0.
	Ordinal int `json:"ordinal"`
	// Section is the number of that section in the page, counted from 0: chunks of
	// one section share it. The first of them may begin with small sections that
	// stand before it in the page.
	Section int `json:"section"`
	// Text is Markdown that stands by itself: no fence is left open and a piece
	// of a table carries the table's header.
	Text string `json:"text"`
	// Lead and Tail are the bytes at the start and at the end of Text that the
	// splitter added to make the piece stand by itself: the repeated header of a
	// table, the reopened or closed fence, the heading of a small section that the
	// chunk begins with and whose name neither Path nor Title tells.
	Lead int `json:"lead,omitempty"`
	Tail int `json:"tail,omitempty"`
	// Glue stands between the chunk before, of the same section, and this one in the page.
	Glue string `json:"glue,omitempty"`
	// Context is the title and heading path as they are embedded before Text.
	Context string `json:"context"`
	// Language and Version are those of the document.
	Language string `json:"language,omitempty"`
	Version  string `json:"version,omitempty"`
}

// Body is the chunk's text without what the splitter added.
func (c Chunk) Body() string { return c.Text[c.Lead : len(c.Text)-c.Tail] }

// Embedded is the text that is embedded for the chunk: its context and what is
// visible of its text. Where links lead to is for whoever reads an answer; to a
// model it is noise.
func (c Chunk) Embedded() string {
	if c.Context == "" {
		return Visible(c.Text)
	}
	return c.Context + "\n\n" + Visible(c.Text)
}

// Link is the chunk's address: the page's URL with the anchor, where there is one.
func (c Chunk) Link() string { return Link(c.URL, c.Anchor) }

// Link joins a page's URL and an anchor, which is percent-encoded as a fragment
// (RFC 3986 §3.5).
func Link(url, anchor string) string {
	if anchor == "" {
		return url
	}
	var b strings.Builder
	b.Grow(len(url) + 1 + len(anchor))
	b.WriteString(url)
	b.WriteByte('#')
	for i := range len(anchor) {
		c := anchor[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0:
			b.WriteByte(c)
		default:
			const hex = "0123456789ABCDEF"
			b.WriteString(string([]byte{'%', hex[c>>4], hex[c&15]}))
		}
	}
	return b.String()
}

// Heading is one entry of a page's outline.
type Heading struct {
	Title  string `json:"title"`
	Anchor string `json:"anchor"`
	Level  int    `json:"level"`
	// Chunk is the ordinal of the chunk that the section begins in, and Offset
	// the byte in that chunk's Body where it does (a small section may stand
	// inside the chunk of the one before it).
	Chunk  int `json:"chunk"`
	Offset int `json:"offset,omitempty"`
}

// Filter narrows a search. The zero value lets everything through.
type Filter struct {
	// Sources are names; a chunk of any of them passes. Empty means all.
	Sources []string
	// Version and Language must be equal to the chunk's; a language also matches
	// its regional forms ("en" matches "en-us"). Empty means any.
	Version  string
	Language string
	// PathPrefix is matched against the URL's path by whole segments: "/docs/api"
	// matches "/docs/api" and "/docs/api/users", not "/docs/api-old".
	PathPrefix string
}

// Hit is one ranked answer of a search.
type Hit struct {
	Rank int `json:"rank"`
	// URL is the address of the passage, with its anchor.
	URL   string   `json:"url"`
	Title string   `json:"title"`
	Path  []string `json:"heading_path"`
	// Source and Generation say which index state the hit is from.
	Source     string `json:"source"`
	Generation uint64 `json:"generation"`
	Version    string `json:"version"`
	Language   string `json:"language"`
	// Text is the passage as Markdown: the matching chunk, widened within its section.
	Text string `json:"text"`
	// Matched is the part of Text that matched.
	Matched Span `json:"matched"`
	// Truncated says that the section goes on beyond Text.
	Truncated bool `json:"truncated"`
	// Score orders the answer: 0 to 1, comparable between queries of one mode.
	Score float64 `json:"score"`
	// Cosine is the dense similarity, −1 to 1; nil where there is none.
	Cosine *float64 `json:"cosine"`
	// IndexedAt is when the passage was last read from its site; LastModified is
	// the site's own date, nil if it gives none.
	IndexedAt    time.Time  `json:"indexed_at"`
	LastModified *time.Time `json:"last_modified"`
}

// Span is a part of a text, in characters (Unicode code points): Start included, End not.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}
