// Package sitemap reads the lists of URLs that sites publish: XML sitemaps and
// sitemap indexes (sitemaps.org 0.9, with hreflang alternates), plain-text
// lists, both compressed or not, and llms.txt.
//
// It streams: memory does not grow with the list. It has no network; addresses
// are handed over as they stand in the list.
package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// Errors of a list that was not read to its end, wrapped with the bound or the
// place. What was handed over before stands.
var (
	// ErrTooLarge means that the list has more decoded bytes than allowed.
	ErrTooLarge = errors.New("sitemap is too large")
	// ErrTooMany means that the list has more entries than allowed.
	ErrTooMany = errors.New("sitemap has too many entries")
	// ErrFormat means that the bytes are no sitemap, or stop being one.
	ErrFormat = errors.New("not a sitemap")
)

// Bounds of the sitemap protocol.
const (
	MaxBytes   = 50 << 20 // decoded
	MaxEntries = 50_000
)

// maxGap is the most bytes between two ">" of an XML sitemap: it bounds what
// one name, text or attribute can take. maxDepth bounds the nesting of elements.
const (
	maxGap   = 64 << 10
	maxDepth = 16
)

// maxLoc is the longest address that is handed over.
const maxLoc = 4096

// maxAlternates bounds the alternates that are kept of one entry.
const maxAlternates = 200

// Kind is what a list is.
type Kind int

// The kinds of list.
const (
	URLSet Kind = iota + 1 // an XML sitemap
	Index                  // an XML list of further sitemaps
	Text                   // one address a line
)

// Entry is one address of a list.
type Entry struct {
	// Kind is that of the list: the address of an Index is that of a sitemap.
	Kind Kind
	// Loc is as written, without surrounding space; it may be relative.
	Loc string
	// Modified is the entry's lastmod; zero if it has none that can be read.
	Modified time.Time
	// Alternates are the entry's translations, itself usually among them.
	Alternates []Alternate
}

// Alternate is the address of a page in another language.
type Alternate struct {
	Lang string // as written: a BCP 47 tag or x-default
	Href string
}

// Limits bound a list; zero means MaxBytes and MaxEntries.
type Limits struct {
	Bytes   int64
	Entries int
}

// Read reads a list and hands over its entries in order. Whether it is
// compressed, XML or text is told by its bytes alone. An error of yield ends the
// reading and is returned as it is.
func Read(r io.Reader, limits Limits, yield func(Entry) error) (Kind, error) {
	limits = limits.withDefaults()
	in, err := open(r, limits)
	if err != nil {
		return 0, err
	}
	count := 0
	counted := func(e Entry) error {
		if count++; count > limits.Entries {
			return fmt.Errorf("more than %d: %w", limits.Entries, ErrTooMany)
		}
		return yield(e)
	}
	first, err := in.Peek(1)
	if err != nil {
		return 0, readError(err)
	}
	if first[0] == '<' {
		return readXML(in, counted)
	}
	return Text, readText(in, counted)
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = MaxBytes
	}
	if l.Entries == 0 {
		l.Entries = MaxEntries
	}
	return l
}

// open inflates what is compressed, twice at most (a compressed file sent
// compressed), bounds the bytes and skips what stands before the list's start.
func open(r io.Reader, limits Limits) (*bufio.Reader, error) {
	in := bufio.NewReader(r)
	for range 2 {
		if magic, _ := in.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			break
		}
		inflated, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("inflate: %w: %w", err, ErrFormat)
		}
		in = bufio.NewReader(inflated)
	}
	in = bufio.NewReader(&bounded{r: in, left: limits.Bytes})
	if mark, _ := in.Peek(2); bytes.Equal(mark, []byte{0xff, 0xfe}) || bytes.Equal(mark, []byte{0xfe, 0xff}) {
		label := map[byte]string{0xff: "utf-16le", 0xfe: "utf-16be"}[mark[0]]
		decoded, err := charset.NewReaderLabel(label, in)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", label, err)
		}
		in = bufio.NewReader(&bounded{r: decoded, left: limits.Bytes})
	}
	for {
		c, _, err := in.ReadRune()
		if err != nil {
			return nil, readError(err)
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", c) {
			return in, in.UnreadRune()
		}
	}
}

// readError says what an error of the input means for the list.
func readError(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrFormat):
		return err
	case errors.Is(err, io.EOF):
		return fmt.Errorf("empty: %w", ErrFormat)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("inflate: %w: %w", err, ErrFormat)
	default:
		return fmt.Errorf("read sitemap: %w", err)
	}
}

// bounded fails with ErrTooLarge where more than left bytes come.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

// gapped fails with ErrFormat where ">" does not come for maxGap bytes, because
// the XML decoder holds a whole text, tag or comment in memory.
type gapped struct {
	r   io.Reader
	gap int
}

func (g *gapped) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '>'); i >= 0 {
		g.gap = n - i - 1
	} else {
		g.gap += n
	}
	if g.gap > maxGap {
		return n, fmt.Errorf("a text or tag of more than %d bytes: %w", maxGap, ErrFormat)
	}
	return n, err
}

// readText hands over the addresses of a plain-text list. The first line that
// is not empty has to be one, lest any text passes for a list.
func readText(in *bufio.Reader, yield func(Entry) error) error {
	first := true
	for {
		line, err := readLine(in)
		if text := strings.TrimSpace(line); isAddress(text) {
			first = false
			if err := yield(Entry{Kind: Text, Loc: text}); err != nil {
				return err
			}
		} else if first && text != "" {
			return fmt.Errorf("neither XML nor a list of URLs: %w", ErrFormat)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// readLine returns a line without the rest of one that is too long for an address.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxLoc {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

func isAddress(s string) bool {
	return len(s) <= maxLoc && (hasPrefixFold(s, "http://") || hasPrefixFold(s, "https://")) && !strings.ContainsAny(s, " \t<>\"")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// readXML reads raw tokens: a decoder that matches tags keeps a stack that the
// list could grow at will. Names are compared with their prefix, so that an
// image:loc is not taken for a loc.
func readXML(in io.Reader, yield func(Entry) error) (Kind, error) {
	d := xml.NewDecoder(&gapped{r: in})
	d.Strict = false // a bare & in an address is common
	d.CharsetReader = charset.NewReaderLabel
	p := xmlParser{yield: yield}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return p.end()
		}
		if err != nil {
			if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
				return p.kind, fmt.Errorf("%w: %w", syntax, ErrFormat)
			}
			return p.kind, readError(err)
		}
		if err := p.token(token); err != nil {
			return p.kind, err
		}
	}
}

// xmlParser follows the nesting root > url > loc.
type xmlParser struct {
	yield  func(Entry) error
	kind   Kind
	space  string // the prefix of the sitemap namespace
	depth  int
	inside bool // an entry is open
	entry  Entry
	field  string // the element of the entry that is open, "" for one of no interest
	text   strings.Builder
	closed bool // the root has ended
}

func (p *xmlParser) end() (Kind, error) {
	if !p.closed {
		return p.kind, fmt.Errorf("ends before its last tag: %w", ErrFormat)
	}
	return p.kind, nil
}

func (p *xmlParser) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return p.start(t)
	case xml.EndElement:
		return p.finish()
	case xml.CharData:
		if p.field != "" && p.text.Len()+len(t) <= maxLoc {
			p.text.Write(t)
		}
	}
	return nil
}

func (p *xmlParser) start(t xml.StartElement) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("elements nest deeper than %d: %w", maxDepth, ErrFormat)
	}
	switch p.depth {
	case 1:
		p.space = t.Name.Space
		switch t.Name.Local {
		case "urlset":
			p.kind = URLSet
		case "sitemapindex":
			p.kind = Index
		default:
			return fmt.Errorf("root element is %q: %w", t.Name.Local, ErrFormat)
		}
	case 2:
		want := map[Kind]string{URLSet: "url", Index: "sitemap"}[p.kind]
		p.inside = t.Name.Space == p.space && t.Name.Local == want
		p.entry = Entry{Kind: p.kind}
	case 3:
		p.field = ""
		if !p.inside {
			return nil
		}
		switch {
		case t.Name.Space == p.space && (t.Name.Local == "loc" || t.Name.Local == "lastmod"):
			p.field = t.Name.Local
			p.text.Reset()
		case t.Name.Local == "link":
			p.alternate(t.Attr)
		}
	}
	return nil
}

func (p *xmlParser) alternate(attrs []xml.Attr) {
	var rel string
	var a Alternate
	for _, attr := range attrs {
		switch attr.Name.Local {
		case "rel":
			rel = attr.Value
		case "hreflang":
			a.Lang = strings.TrimSpace(attr.Value)
		case "href":
			a.Href = strings.TrimSpace(attr.Value)
		}
	}
	if strings.EqualFold(rel, "alternate") && a.Lang != "" && a.Href != "" && len(a.Href) <= maxLoc &&
		len(p.entry.Alternates) < maxAlternates {
		p.entry.Alternates = append(p.entry.Alternates, a)
	}
}

func (p *xmlParser) finish() error {
	if p.depth == 0 {
		return fmt.Errorf("a tag ends that did not begin: %w", ErrFormat)
	}
	p.depth--
	switch p.depth {
	case 0:
		p.closed = true
	case 1:
		if inside := p.inside; inside && p.entry.Loc != "" {
			p.inside = false
			return p.yield(p.entry)
		}
	case 2:
		switch text := strings.TrimSpace(p.text.String()); p.field {
		case "loc":
			p.entry.Loc = text
		case "lastmod":
			p.entry.Modified = parseTime(text)
		}
		p.field = ""
	}
	return nil
}

// parseTime reads the W3C profile of ISO 8601, from a year to fractions of a second.
func parseTime(s string) time.Time {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01", "2006",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
