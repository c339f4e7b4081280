package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/docseek/docseek"
)

// passage is an entry with the chunks of its section that surround it.
type passage struct {
	entry
	// chunks are of one section and without a gap; at is the matching one.
	chunks []Chunk
	at     int
	// from and to bound what is shown, to included; low and high what may be.
	from, to, low, high int
	// alone is the matching chunk's text, and cost its JSON characters.
	alone string
	cost  int
	// cut says that alone was shortened.
	cut bool
	// bare leaves out what an answer can do without.
	bare bool
}

// newPassage takes what belongs to the entry's section out of the chunks around it.
// ErrStale when the entry's own is not among them any more.
func newPassage(e entry, around []Chunk) (passage, error) {
	at := slices.IndexFunc(around, func(c Chunk) bool { return c.ID == e.hit.ID })
	if at < 0 {
		return passage{}, fmt.Errorf("read chunk %s of %s: %w", e.hit.ID, e.hit.URL, ErrStale)
	}
	e.hit.Chunk = around[at] // whole
	start, end := at, at+1
	for start > 0 && around[start-1].Section == e.hit.Section && around[start-1].Ordinal == around[start].Ordinal-1 {
		start--
	}
	for end < len(around) && around[end].Section == e.hit.Section && around[end].Ordinal == around[end-1].Ordinal+1 {
		end++
	}
	p := passage{entry: e, chunks: around[start:end], at: at - start}
	p.from, p.to, p.low, p.high = p.at, p.at, p.at, p.at
	for p.low > 0 && p.chunks[p.low-1].Ordinal >= e.first {
		p.low--
	}
	for p.high < len(p.chunks)-1 && p.chunks[p.high+1].Ordinal <= e.last {
		p.high++
	}
	p.alone, _ = p.text(p.at, p.at)
	p.cost = jsonChars(p.alone)
	return p, nil
}

// text joins the chunks from from to to, both included, and says which
// characters of it are the matching chunk's. What the splitter repeated or
// closed between pieces is left out; at the ends it stays.
func (p *passage) text(from, to int) (text string, matched docseek.Span) {
	var b strings.Builder
	first, last := p.chunks[from], p.chunks[to]
	b.WriteString(first.Text[:first.Lead])
	for i := from; i <= to; i++ {
		c := p.chunks[i]
		if i > from {
			b.WriteString(c.Glue)
		}
		if i == p.at {
			matched.Start = utf8.RuneCountInString(b.String())
			matched.End = matched.Start + utf8.RuneCountInString(c.Body())
		}
		b.WriteString(c.Body())
	}
	b.WriteString(last.Text[len(last.Text)-last.Tail:])
	return b.String(), matched
}

// Bounds on what a hit tells beside its text: a page may call itself anything.
const (
	maxTitle    = 200
	maxPathPart = 120
	maxPath     = 8
	// maxBareTitle is for an answer with little room.
	maxBareTitle = 40
)

// show is the passage as a hit, without rank.
func (p *passage) show() docseek.Hit {
	c := p.hit
	h := docseek.Hit{
		URL: c.Link(), Title: clip(c.Title, maxTitle), Path: clipPath(c.Path),
		Source: c.Source, Generation: c.Generation, Version: c.Version, Language: c.Language,
		Score: c.score, Cosine: c.cosine, IndexedAt: c.IndexedAt.UTC(),
	}
	h.LastModified = timePointer(c.Modified)
	if p.bare {
		h.Title, h.Path, h.LastModified = clip(h.Title, maxBareTitle), []string{}, nil
	}
	if p.cut {
		h.Text = p.alone
		h.Matched.End = utf8.RuneCountInString(p.alone)
		h.Matched.Start = min(h.Matched.End, utf8.RuneCountInString(c.Text[:c.Lead]))
	} else {
		h.Text, h.Matched = p.text(p.from, p.to)
	}
	h.Truncated = p.cut || p.from > 0 || p.to < len(p.chunks)-1
	return h
}

func clipPath(path []string) []string {
	path = path[max(0, len(path)-maxPath):]
	clipped := make([]string, len(path))
	for i, part := range path {
		clipped[i] = clip(part, maxPathPart)
	}
	return clipped
}

// minPassage is the least of a passage, in JSON characters, that is worth a
// place in an answer; a shorter one is shown whole.
const minPassage = 300

// minFirst is the same for the first one.
const minFirst = 40

// layOut puts passages into an answer such that it is no longer than maxChars
// characters as JSON. The best passages get room first: for the chunk that
// matched, then for their neighbours. What finds no room is counted as omitted;
// next makes the cursor that leads to what comes after a number of passages.
func layOut(answer *Answer, passages []passage, maxChars, offset int, next func(shown int) string) error {
	answer.Reason = clip(answer.Reason, maxChars/4)
	answer.Hint = clip(answer.Hint, maxChars/4)
	shell := *answer
	shell.Omitted, shell.NextCursor = len(passages), next(0)
	used, err := encodedChars(shell)
	if err != nil {
		return err
	}
	left := maxChars - used
	const slack = 16 // digits of rank and span, a comma
	var shown []*passage
	for i := range passages {
		p := &passages[i]
		frame, err := p.frame(offset + i + 1)
		if err != nil {
			return err
		}
		if i == 0 && frame+slack+minPassage > left {
			// Little room: the one result is told by its address.
			p.bare = true
			left += jsonChars(answer.Hint)
			answer.Hint = ""
			if frame, err = p.frame(offset + 1); err != nil {
				return err
			}
		}
		need := frame + slack + p.least(i)
		if need > left {
			break
		}
		left -= need
		shown = append(shown, p)
	}
	for i, p := range shown {
		room := p.least(i) + left
		if p.cost > room {
			p.alone, _ = shorten(p.alone, room)
			p.cost, p.cut = jsonChars(p.alone), true
		}
		left = room - p.cost
	}
	for _, p := range shown {
		left -= p.grow(left)
	}
	for i, p := range shown {
		h := p.show()
		h.Rank = offset + i + 1
		answer.Results = append(answer.Results, h)
	}
	answer.Omitted = len(passages) - len(shown)
	answer.NextCursor = next(len(shown))
	if len(shown) == 0 && len(passages) > 0 {
		answer.NextCursor = next(1)
		answer.Hint = "max_chars is too small for the next result."
	}
	return nil
}

// frame is the number of characters of a passage in an answer beside its text.
func (p *passage) frame(rank int) (int, error) {
	h := p.show()
	h.Text, h.Truncated, h.Rank = "", false, rank
	return encodedChars(h)
}

// least is the room that the text of the i-th passage needs to be shown at all.
func (p *passage) least(i int) int {
	if i == 0 {
		return min(p.cost, minFirst)
	}
	return min(p.cost, minPassage)
}

// grow widens a passage that is shown whole, by the next chunks first, while the
// room allows, and returns what it took.
func (p *passage) grow(room int) (taken int) {
	fits := func(from, to int) bool {
		wider, _ := p.text(from, to)
		more := jsonChars(wider) - p.cost
		if more > room {
			return false
		}
		taken, p.from, p.to = more, from, to
		return true
	}
	if p.cut {
		return 0
	}
	for more := true; more && p.to < p.high; {
		more = fits(p.from, p.to+1)
	}
	for more := true; more && p.from > p.low; {
		more = fits(p.from-1, p.to)
	}
	return taken
}

// timePointer is nil for the zero time.
func timePointer(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
