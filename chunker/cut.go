package chunker

import (
	"strings"

	"github.com/docseek/docseek"
)

// piece is the text of a chunk.
type piece struct {
	text       string
	lead, tail int // bytes of text that were added
	glue       string
}

// grain is a part of a section that is not cut. Between two grains is only white
// space, if anything.
type grain struct {
	start, end int
	tokens     int

	// Of the border after the grain:
	frame  *frame // nil if nothing has to be added
	cost   int    // of cutting there
	forced bool   // it has to be cut there, as the counts do not add up
}

// Costs of cutting at a border. A chunk that is empty by the fraction f costs
// 1000·f² (see pack). So a chunk of two is worth saving by a cut within a list,
// but not by a cut within a paragraph, unless what is left over is tiny.
const (
	costBlock    = 0
	costPart     = 200    // between list items, table rows, groups of code lines
	costLine     = 600    // between lines of code
	costPromised = 500    // more, after a caption or a line that ends with a colon
	costSentence = 2_000  // between sentences
	costTiny     = 2_000  // of a tiny chunk
	costBreak    = 4_000  // at a line break in running text
	costClause   = 6_000  // between words, after a comma and the like
	costWord     = 8_000  // between words
	costLetter   = 16_000 // within a word
)

// Parts of a word are grouped up to these sizes: enough choice to fill chunks
// evenly, and not a grain for each ideograph.
const (
	lettersTokens = 8
	lettersBytes  = 128
)

// cutter cuts one section.
type cutter struct {
	*Chunker
	md     string
	budget int
	inline inlines
	lines  lines
	grains []grain
}

// cut divides the Markdown of a section into pieces of at most budget tokens.
func (c *Chunker) cut(md string, budget int) []piece {
	if c.fits(md, budget) && !c.leavesFenceOpen(md) {
		return []piece{{text: md}}
	}
	var in inlines
	in.whole, in.hidden = docseek.Inlines(md)
	pieces := c.divide(md, in, budget)
	// What is a link in the section may not be one in a piece of it, where the
	// piece begins or ends within a long code span. Then all is counted as it
	// stands, and, for words that only become one when the marks of a link
	// between them go, with room to spare.
	for n := budget; n > 0 && !c.fit(pieces, budget); n /= 2 {
		pieces = c.divide(md, inlines{}, n)
	}
	return pieces
}

// fit reports whether all pieces are within the budget as they are embedded.
func (c *Chunker) fit(pieces []piece, budget int) bool {
	for _, p := range pieces {
		if strings.Contains(p.text, "](") && c.count(p.text) > budget {
			return false
		}
	}
	return true
}

// divide divides a section, not counting what is hidden of it.
func (c *Chunker) divide(md string, in inlines, budget int) []piece {
	k := cutter{Chunker: c, md: md, budget: budget, inline: in}
	var blocks []block
	k.lines, blocks = c.blocks(md)
	for i, b := range blocks {
		k.block(b)
		last := &k.grains[len(k.grains)-1]
		last.frame, last.forced = nil, false
		if b.kind == fence && !b.closed {
			last.frame = k.closing(b, last)
		}
		if i+1 < len(blocks) {
			last.cost = k.borderCost(b, blocks[i+1])
		}
	}
	k.grains[0].start = 0
	k.grains[len(k.grains)-1].end = len(md)
	return k.pack()
}

// closing returns the frame that closes a fence behind its last grain, where the
// page leaves that to the end of the quote, the list item or the section. It is
// nil if there is no room for it.
func (k *cutter) closing(b block, last *grain) *frame {
	between, _ := k.fenceFrames(b)
	if last.tokens+between.tailTokens > k.budget || len(between.tail) > k.budget {
		return nil
	}
	return k.newFrame("", between.tail)
}

// borderCost is the cost of a cut between two blocks.
func (k *cutter) borderCost(a, b block) int {
	cost := costBlock
	next := k.line(b.first)
	if b.first == a.last+1 || isItem(next) || next[0] == ' ' || next[0] == '\t' {
		cost = costPart
	}
	last := strings.TrimSpace(k.line(a.last))
	caption := a.first == a.last && strings.HasPrefix(last, "**") && strings.HasSuffix(last, "**")
	if caption || strings.HasSuffix(last, ":") {
		cost += costPromised
	}
	return cost
}

// textEnd is where the last line of a block ends, without white space.
func (k *cutter) textEnd(line int) int {
	return k.lines[line] + len(strings.TrimRightFunc(k.md[k.lines[line]:k.lines[line+1]], isSpace))
}

// measure counts the tokens of a range and reports whether it can be a grain,
// with a number of tokens to spare. What has too many bytes is not counted.
func (k *cutter) measure(start, end, spare int) (tokens int, ok bool) {
	if end-start > (k.budget-spare)*bytesPerToken {
		return 0, false
	}
	tokens = k.tokens(start, end)
	return tokens, tokens <= k.budget-spare
}

// tokens counts the tokens of a range without what is hidden of it.
func (k *cutter) tokens(start, end int) int {
	return k.counter.Count(k.inline.visible(k.md, start, end))
}

func (k *cutter) add(g grain) { k.grains = append(k.grains, g) }

// block adds the grains of a block.
func (k *cutter) block(b block) {
	start, end := k.lines[b.first], k.textEnd(b.last)
	if tokens, ok := k.measure(start, end, 0); ok && tokens <= k.budget/2 {
		k.add(grain{start: start, end: end, tokens: tokens})
		return
	}
	switch b.kind {
	case fence:
		k.fence(b, start, end)
	case code:
		k.code(b.first, b.last, 0, nil, nil)
	case table:
		k.table(b, start)
	default:
		k.sentences(start, end, 0, unframed)
	}
}

// fence adds the grains of a fenced code block. The lines of its marks stay with
// the code next to them.
func (k *cutter) fence(b block, start, end int) {
	first, last := b.first+1, b.last
	if b.closed {
		last--
	}
	for first <= last && isBlank(k.line(first)) {
		first++
	}
	for first <= last && isBlank(k.line(last)) {
		last--
	}
	between, within := k.fenceFrames(b)
	content := len(k.grains)
	opening, closing, spare := 0, 0, 0
	if first <= last {
		opening = k.tokens(start, k.lines[first])
		closing = k.tokens(k.textEnd(last), end)
		spare = max(opening, within.leadTokens) + max(closing, within.tailTokens)
	}
	if first > last || spare > k.budget/4 || len(within.lead)+len(within.tail) > k.budget*bytesPerToken/4 {
		// No code in it, or marks that leave no room for code.
		k.words(start, end, 0, unframed)
		return
	}
	k.code(first, last, spare, between, within)
	k.grains[content].start = start
	k.grains[content].tokens += opening
	k.grains[len(k.grains)-1].end = end
	k.grains[len(k.grains)-1].tokens += closing
}

// unframed is for text that can be cut as it is.
func unframed(int) *frame { return nil }

func (k *cutter) line(i int) string { return k.md[k.lines[i]:k.lines[i+1]] }

// code adds the grains of lines of code: groups of lines between blank ones, or
// single lines, or words.
func (k *cutter) code(first, last, spare int, between, within *frame) {
	for i := first; i <= last; {
		group := i
		for group < last && !isBlank(k.line(group+1)) {
			group++
		}
		start, end := k.lines[i], k.textEnd(group)
		if tokens, ok := k.measure(start, end, spare); ok && tokens <= k.budget/2 {
			k.add(grain{start: start, end: end, tokens: tokens})
		} else {
			for ; i <= group; i++ {
				start, end := k.lines[i], k.textEnd(i)
				if tokens, ok := k.measure(start, end, spare); ok {
					k.add(grain{start: start, end: end, tokens: tokens})
				} else {
					k.words(start, end, spare, func(int) *frame { return within })
				}
				k.border(between, costLine)
			}
		}
		k.border(between, costPart)
		i = group + 1
		for i <= last && isBlank(k.line(i)) {
			i++
		}
	}
}

// border sets what a cut after the last grain means.
func (k *cutter) border(f *frame, cost int) {
	g := &k.grains[len(k.grains)-1]
	g.frame, g.cost, g.forced = f, cost, false
}

// table adds the grains of a table: its rows, the first one with the header.
func (k *cutter) table(b block, start int) {
	header := strings.TrimRight(k.md[start:k.textEnd(b.first+1)], "\r\n") + "\n"
	headerTokens := k.count(header)
	between := k.newFrame(header, "")
	if headerTokens > k.budget/2 || len(header) > k.budget*bytesPerToken/2 {
		// Repeated, it would leave no room for rows.
		k.sentences(start, k.textEnd(b.first+1), 0, unframed)
		between = nil
	}
	content := len(k.grains)
	for i := b.first + 2; i <= b.last; i++ {
		k.row(i, between)
		k.border(between, costPart)
	}
	if between == nil {
		return
	}
	if content == len(k.grains) {
		k.add(grain{start: start, end: k.textEnd(b.first + 1)})
	}
	k.grains[content].start = start
	k.grains[content].tokens += headerTokens
}

// row adds the grains of a row.
func (k *cutter) row(i int, between *frame) {
	start, end := k.lines[i], k.textEnd(i)
	if between == nil {
		k.sentences(start, end, 0, unframed)
		return
	}
	if tokens, ok := k.measure(start, end, between.leadTokens); ok {
		k.add(grain{start: start, end: end, tokens: tokens})
		return
	}
	// The cell of a cut is told by the bars before it.
	at, cell := start, -1
	if !strings.HasPrefix(strings.TrimLeft(k.line(i), " \t>"), "|") {
		cell = 0
	}
	var f *frame
	frameAt := func(pos int) *frame {
		for ; at < pos; at++ {
			if k.md[at] == '|' && k.md[at-1] != '\\' {
				cell++
				f = nil
			}
		}
		if f == nil {
			f = k.rowFrame(between.lead, max(cell, 0))
		}
		return f
	}
	spare := between.leadTokens + strings.Count(k.md[start:end], "|") + 2
	if spare > 3*k.budget/4 {
		// More cells than the header has: their number alone fills the budget.
		spare, frameAt = between.leadTokens, func(int) *frame { return between }
	}
	k.sentences(start, end, spare, frameAt)
}

// sentences adds the grains of a range of running text: its sentences, or their
// words. The text is cut to leave room for spare tokens.
func (k *cutter) sentences(start, end, spare int, frameAt func(int) *frame) {
	text := sentences{s: k.md[:end], inline: &k.inline}
	for pos := start; pos < end; {
		stop, next := text.from(pos)
		if tokens, ok := k.measure(pos, stop, spare); ok {
			k.add(grain{start: pos, end: stop, tokens: tokens})
		} else {
			k.words(pos, stop, spare, frameAt)
		}
		k.border(frameAt(stop), costSentence)
		pos = next
	}
}

// words adds the grains of a range: its words, or parts of them.
func (k *cutter) words(start, end, spare int, frameAt func(int) *frame) {
	for pos := start; pos < end; {
		stop, next := k.inline.word(k.md[:end], pos)
		if tokens, ok := k.measure(pos, stop, spare); ok {
			k.add(grain{start: pos, end: stop, tokens: tokens})
		} else {
			k.letters(pos, stop, spare, frameAt)
		}
		switch {
		case strings.Contains(k.md[stop:next], "\n"):
			k.border(frameAt(stop), costBreak)
		case strings.ContainsRune(",;:)", rune(k.md[stop-1])):
			k.border(frameAt(stop), costClause)
		default:
			k.border(frameAt(stop), costWord)
		}
		pos = next
	}
}

// letters adds the grains of a word: groups of what its inlines, punctuation and
// ideographs divide, or runs of grapheme clusters as long as they may be.
func (k *cutter) letters(start, end, spare int, frameAt func(int) *frame) {
	group := grain{start: start, end: start}
	flush := func() {
		if group.end > group.start {
			k.add(group)
			k.border(frameAt(group.end), costLetter)
		}
		group = grain{start: group.end, end: group.end}
	}
	for pos := start; pos < end; {
		stop := k.inline.atom(k.md[:end], pos)
		tokens, ok := k.measure(pos, stop, spare)
		if !ok {
			flush()
		}
		if !ok && k.inline.show(pos, stop) {
			// One over the budget is text, and cut as such.
			k.words(pos, stop, spare, frameAt)
			k.border(frameAt(stop), costLetter)
			pos = stop
			group.start, group.end = pos, pos
			continue
		}
		for !ok {
			n := k.prefix(k.md[pos:stop], k.budget-spare)
			if n == stop-pos {
				tokens = k.tokens(pos, stop)
				break // one cluster: there is no right way to cut it
			}
			k.add(grain{start: pos, end: pos + n, tokens: k.tokens(pos, pos+n)})
			k.border(frameAt(pos+n), costLetter)
			k.grains[len(k.grains)-1].forced = true
			pos += n
			group.start, group.end = pos, pos
			tokens, ok = k.measure(pos, stop, spare)
		}
		if stop-group.start > lettersBytes || group.tokens+tokens > lettersTokens {
			flush()
		}
		group.end = stop
		group.tokens += tokens
		pos = stop
	}
	flush()
}
