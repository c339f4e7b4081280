// Package chunker cuts documents into chunks that are small enough to embed.
//
// A document is cut at its sections first. A section over the budget is cut
// recursively: between blocks, list items, table rows and groups of code lines;
// a block over the budget between sentences; a sentence over the budget between
// words; a word over the budget between grapheme clusters. Of all ways to cut
// at the borders that are left, the cheapest one is taken: as few chunks as the
// budget allows, evenly filled, cut at coarse borders (see pack).
//
// Every chunk stands by itself: a fence is closed and opened again, a table's
// header is repeated. What is added for that is marked (docseek.Chunk.Lead and
// Tail), so that the chunks of a page give the page back.
package chunker

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/parser"

	"github.com/docseek/docseek"
)

// Version counts the changes of how documents are cut. It is a part of an
// index's fingerprint.
//
// In version 2, what is not visible of a text (docseek.Visible) is not counted,
// a link is not cut, and tiny sections stand under the section that has most of
// their chunk's text.
const Version = 2

// ContextVersion counts the changes of what docseek.Chunk.Context says.
const ContextVersion = 1

// MaxChunks bounds the chunks of a page. A page with so many was cut off: the
// headings of what is missing point behind its last chunk.
const MaxChunks = 20_000

const (
	// maxTokens bounds what is embedded for a chunk, [CLS] and [SEP] included.
	maxTokens = 256
	// maxContext bounds the context: about a third.
	maxContext = 84
	// tinyTokens is the size under which a section is joined with the next one.
	// A sentence of a dozen words is worth finding by itself; less than that is
	// a signpost ("see below", "the options are:") whose vector would say little
	// but what its headings say already.
	tinyTokens = 24
	// bytesPerToken bounds the bytes of a chunk, for text that is long but counts
	// few tokens (links, deep indentation, words that the tokenizer gives up on).
	// Prose has about four bytes to a token.
	bytesPerToken = 16
)

// Counter counts the tokens of a text, without those that mark its start and
// its end.
//
// A count is additive: where a text is cut at white space, beside a punctuation
// mark, a symbol of ASCII or a CJK ideograph, the counts of the parts add up to
// that of the whole, as WordPiece's basic tokenizer has it.
type Counter interface {
	Count(text string) int
}

// Chunker cuts documents into chunks. It is safe for concurrent use if its
// Counter is.
type Chunker struct {
	counter Counter
	parser  parser.Parser
}

// New returns a Chunker that measures by the counter.
func New(counter Counter) *Chunker {
	return &Chunker{counter: counter, parser: newBlockParser()}
}

// Split cuts a document. Each chunk's embedded text is at most 256 tokens long
// with [CLS] and [SEP]. The outline has the titled sections in order; one that
// goes on after the entries in it is there once, as it has one anchor.
//
// A section without text gives no chunk: its heading points at the next one, or
// behind the last. A section of a few words is joined with the ones after it,
// if they are below it or as short, but not if one of them is a reference
// entry; their heading lines then stand in the chunk's text. The chunk is one
// of the section that has most of its text, the first of equals; if that is not
// the first and its heading path does not name the first, the heading line of
// the first is the chunk's lead.
func (c *Chunker) Split(doc docseek.Document) (chunks []docseek.Chunk, outline []docseek.Heading) {
	known := make(map[string]bool)
	head := func(s docseek.Section, chunk, offset int) {
		if s.Title != "" && !known[s.Anchor] {
			known[s.Anchor] = s.Anchor != ""
			outline = append(outline, docseek.Heading{
				Title: s.Title, Anchor: s.Anchor, Level: s.Level, Chunk: chunk, Offset: offset,
			})
		}
	}
	for i := 0; i < len(doc.Sections); {
		head(doc.Sections[i], len(chunks), 0)
		if isBlank(doc.Sections[i].Markdown) || len(chunks) >= MaxChunks {
			i++
			continue
		}
		u := c.unit(doc.Title, doc.Sections[i:])
		for j, start := range u.starts {
			head(doc.Sections[i+1+j], len(chunks), start)
		}
		main := doc.Sections[i+u.main]
		for _, p := range c.pieces(u) {
			if len(chunks) == MaxChunks {
				break
			}
			chunks = append(chunks, docseek.Chunk{
				URL: doc.URL, Anchor: main.Anchor, Title: doc.Title, Path: main.Path,
				Ordinal: len(chunks), Section: i + u.main,
				Text: p.text, Lead: p.lead, Tail: p.tail, Glue: p.glue,
				Context: u.context, Language: doc.Language, Version: doc.Version,
			})
		}
		i += 1 + len(u.starts)
	}
	identify(chunks)
	return chunks, outline
}

// unit is what is cut at once: a section, or a tiny one with those after it
// that are joined with it.
type unit struct {
	text   string
	starts []int // where the heading line of each joined section starts in text

	main    int    // the number of the section that has most of the text
	most    int    // how many tokens it has
	context string // that of the main section
	lead    string // what stands before the text
}

// unit puts the sections after a tiny one behind it, as long as the whole is
// tiny and fits into a chunk.
func (c *Chunker) unit(title string, sections []docseek.Section) unit {
	first := sections[0]
	u := unit{text: first.Markdown, context: c.context(title, first.Path)}
	if isReference(first) || !c.tiny(first.Markdown) {
		return u
	}
	u.most = c.count(first.Markdown)
	for i, s := range sections[1:] {
		below := s.Level > first.Level
		beside := s.Level == first.Level && slices.Equal(parent(s.Path), parent(first.Path)) && c.tiny(s.Markdown)
		if isReference(s) || s.Title == "" || isBlank(s.Markdown) || !below && !beside || c.leavesFenceOpen(u.text) {
			break
		}
		joined := u
		joined.text += "\n\n" + headingLine(s) + "\n\n" + s.Markdown
		joined.starts = append(joined.starts, len(u.text)+2)
		if len(joined.text) > maxTokens*bytesPerToken {
			break
		}
		if n := c.count(s.Markdown); n > u.most {
			joined.main, joined.most = i+1, n
			joined.context, joined.lead = c.context(title, s.Path), ""
			if first.Title != "" && !slices.Contains(s.Path, first.Title) {
				joined.lead = headingLine(first) + "\n\n"
			}
		}
		if !c.fits(joined.lead+joined.text, c.budget(joined.context)) {
			break
		}
		u = joined
		if !c.tiny(u.text) {
			break
		}
	}
	return u
}

// pieces cuts a unit.
func (c *Chunker) pieces(u unit) []piece {
	pieces := c.cut(u.text, c.budget(u.context)-c.count(u.lead))
	pieces[0].text = u.lead + pieces[0].text
	pieces[0].lead += len(u.lead)
	return pieces
}

// budget is the number of tokens that a context leaves for the text.
func (c *Chunker) budget(context string) int {
	return maxTokens - 2 - c.counter.Count(context)
}

// count counts the tokens of a Markdown text as it is embedded.
func (c *Chunker) count(md string) int { return c.counter.Count(docseek.Visible(md)) }

func (c *Chunker) tiny(md string) bool {
	visible := docseek.Visible(md)
	return len(visible) < tinyTokens*bytesPerToken && c.counter.Count(visible) < tinyTokens
}

// fits reports whether a Markdown text is small enough for a chunk.
func (c *Chunker) fits(md string, budget int) bool {
	return len(md) <= budget*bytesPerToken && c.count(md) <= budget
}

// isReference reports whether a section documents one name, and so is worth a
// chunk however short it is: a reference entry, or a heading with an anchor as
// generators make them of names ("griffe.Class.path", "write(int)"). Anchors that
// are made of a heading's words have no such characters.
func isReference(s docseek.Section) bool {
	return s.Entry || strings.ContainsAny(s.Anchor, ".:(")
}

func headingLine(s docseek.Section) string {
	return strings.Repeat("#", min(max(s.Level, 1), 6)) + " " + oneLine(s.Title)
}

func parent(path []string) []string {
	return path[:max(len(path)-1, 0)]
}

// identify gives the chunks of a page their ids: a hash of the URL, the anchor,
// the heading path, the text, and the number among those that are equal in all
// of these.
func identify(chunks []docseek.Chunk) {
	seen := make(map[[sha256.Size]byte]int)
	for i := range chunks {
		c := &chunks[i]
		h := sha256.New()
		for _, part := range append([]string{c.URL, c.Anchor, c.Text}, c.Path...) {
			h.Write(strconv.AppendInt(nil, int64(len(part)), 10))
			h.Write([]byte{':'})
			h.Write([]byte(part))
		}
		var key [sha256.Size]byte
		h.Sum(key[:0])
		n := seen[key]
		seen[key]++
		if n > 0 {
			key = sha256.Sum256(strconv.AppendInt(key[:], int64(n), 10))
		}
		c.ID = hex.EncodeToString(key[:16])
	}
}
