package chunker

import "strings"

// frame is what has to be added at a cut inside a fence or a table, so that both
// sides stand by themselves.
type frame struct {
	lead       string // before the text after the cut
	tail       string // after the text before the cut
	leadTokens int
	tailTokens int
}

func (c *Chunker) newFrame(lead, tail string) *frame {
	return &frame{lead: lead, tail: tail, leadTokens: c.count(lead), tailTokens: c.count(tail)}
}

// leadSize returns the tokens and bytes of the lead of a frame, which may be nil.
func (f *frame) leadSize() (tokens, bytes int) {
	if f == nil {
		return 0, 0
	}
	return f.leadTokens, len(f.lead)
}

// tailSize returns the tokens and bytes of the tail of a frame, which may be nil.
func (f *frame) tailSize() (tokens, bytes int) {
	if f == nil {
		return 0, 0
	}
	return f.tailTokens, len(f.tail)
}

// fenceFrames returns the frame of a cut between two lines of a fence, and that
// of a cut within a line.
func (c *Chunker) fenceFrames(b block) (between, within *frame) {
	inner := indent(b.prefix, false)
	opening := indent(b.prefix, true) + b.marks + b.info + "\n"
	closing := "\n" + inner + b.marks
	return c.newFrame(opening, closing), c.newFrame(opening+inner, closing)
}

// indent turns what stands before the marks of a fence into what the same
// containers look like on a further line: quotes stay, the marks of list items
// become spaces. To open a fence where no list item is open, an indentation of
// more than three spaces would be a code block, so it becomes the marks of list
// items of the same width.
func indent(prefix string, opens bool) string {
	var b strings.Builder
	width, quoted := 0, false
	flush := func() {
		n := width
		if quoted && n > 0 {
			b.WriteByte(' ')
			n--
		}
		if opens && n > 3 {
			if n%2 == 1 {
				b.WriteString("-  ")
				n -= 3
			}
			b.WriteString(strings.Repeat("- ", n/2))
		} else {
			b.WriteString(strings.Repeat(" ", n))
		}
		width = 0
	}
	column := 0
	for _, r := range prefix {
		switch r {
		case '>':
			flush()
			b.WriteByte('>')
			quoted = true
			column++
		case '\t':
			n := 4 - column%4
			width += n
			column += n
		default:
			width++
			column++
		}
	}
	flush()
	return b.String()
}

// rowFrame is the frame of a cut within the k-th cell of a row, counted from 0:
// the row is completed, and the rest of it stands in its own column.
func (c *Chunker) rowFrame(header string, k int) *frame {
	return c.newFrame(header+"|"+strings.Repeat(" |", k)+" ", " |")
}
