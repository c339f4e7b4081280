package extract

import (
	"regexp"
	"strings"
)

// Bounds on Markdown. The time of the parser grows with the square of the
// brackets, emphasis marks and unclosed tags in one block, and of the blocks
// that a line opens.
const (
	marks     = "[]*_~"
	maxMarks  = 5000
	maxOpened = 32
)

// markupBound escapes what is more markup than the bounds allow, so that it is
// read as text.
type markupBound struct {
	// In the block so far, as far as lines tell.
	met, unclosed int
}

var (
	// A line that ends the paragraph before it, whatever that is.
	blockStart = regexp.MustCompile(`^(?:\s*$| {0,3}(?:#{1,6}\s|[-+*]\s+\S))`)
	// A quotation or a list item that a line opens.
	opens = regexp.MustCompile(`^[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])`)
)

// line returns the next line within the bounds.
func (m *markupBound) line(line string) string {
	if blockStart.MatchString(line) {
		m.met, m.unclosed = 0, 0
	}
	for at, n := 0, 0; ; n++ {
		opened := opens.FindString(line[at:])
		if opened == "" {
			break
		}
		if n == maxOpened {
			line = line[:at] + `\` + strings.TrimLeft(line[at:], " \t")
			break
		}
		at += len(opened)
	}
	for _, mark := range marks {
		m.met += strings.Count(line, string(mark))
	}
	m.unclosed = max(0, m.unclosed+strings.Count(line, "<")-strings.Count(line, ">"))
	text := ""
	if m.met > maxMarks {
		text += marks
	}
	if m.unclosed > maxMarks {
		text += "<"
	}
	if text == "" {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i++
		case strings.IndexByte(text, c) >= 0:
			b.WriteString(`\` + line[i:i+1])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
