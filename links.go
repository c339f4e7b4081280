package docseek

import (
	"slices"
	"strings"
)

// Range is a part of a text in bytes: Start included, End not.
type Range struct{ Start, End int }

// Visible is a Markdown text without what is hidden of it (see [Inlines]).
func Visible(markdown string) string {
	if !strings.Contains(markdown, "](") {
		return markdown
	}
	_, hidden := Inlines(markdown)
	var b strings.Builder
	b.Grow(len(markdown))
	from := 0
	for _, h := range hidden {
		b.WriteString(markdown[from:h.Start])
		from = h.End
	}
	b.WriteString(markdown[from:])
	return b.String()
}

// Inlines finds the inline links, images and code spans of a Markdown text:
// whole are those that are in no other, and hidden is what the links and images
// have beside their text: "[" or "![", and "](destination "title")". Both are in
// order, not empty, and apart.
//
// Links and images are those of CommonMark 0.31 §6.3 and §6.4: brackets pair, a
// link holds no other link, the parentheses of a bare destination pair, and
// backslashes escape. There are none in fenced code (§4.5), in code spans (§6.1)
// and in autolinks (§6.5), which are text. Reference links and their definitions
// stay as they are, and so do HTML and what has no closing mark. The text is
// taken line by line: a blank line, a quote, a list item, a heading and the row
// of a table each start anew. Indented code is not told from text.
func Inlines(markdown string) (whole, hidden []Range) {
	s := linkScanner{text: markdown}
	start, at := 0, 0 // of the paragraph, of the line
	quotes := 0       // of the paragraph
	var open *fence
	for line := range strings.Lines(markdown) {
		end := at + len(line)
		if open != nil && open.holds(line) {
			if open.closes(line) {
				open = nil
			}
			start = end
		} else {
			open = nil
			m := newMargin(line, len(line), true)
			content := line[m.length:]
			if start == at {
				quotes = m.quotes
			}
			switch {
			case isFence(content):
				s.paragraph(start, at)
				open = newFence(m, content)
				start = end
			case strings.HasPrefix(content, "#"), strings.HasPrefix(content, "|"):
				s.paragraph(start, at)
				s.paragraph(at, end)
				start = end
			case m.item, m.quotes > quotes, strings.TrimSpace(content) == "":
				s.paragraph(start, at)
				start, quotes = at, m.quotes
			}
		}
		at = end
	}
	s.paragraph(start, at)
	return s.whole, slices.DeleteFunc(s.hidden, func(r Range) bool { return r.Start == r.End })
}

// margin is what stands before the content of a line: the marks of quotes and
// list items, and white space.
type margin struct {
	length int // in bytes
	quotes int
	column int // of the content, counted from the last quote's mark
	item   bool
}

// newMargin measures a line's margin, with the marks of at most quotes quotes,
// and with those of list items or without.
func newMargin(line string, quotes int, items bool) margin {
	var m margin
	for m.length < len(line) {
		n := 1
		switch c := line[m.length]; {
		case c == ' ':
			m.column++
		case c == '\t':
			m.column += 4 - m.column%4
		case c == '>' && m.quotes < quotes:
			m.quotes++
			m.column = 0
		default:
			if n = itemMark(line[m.length:]); n == 0 || !items {
				return m
			}
			m.item = true
			m.column += n
		}
		m.length += n
	}
	return m
}

// itemMark is the length of the mark of a list item that a text starts with, or 0.
func itemMark(s string) int {
	const maxDigits = 9
	n := 0
	for n < len(s) && n < maxDigits && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	marks := ".)"
	if n == 0 {
		marks = "-*+"
	}
	if n == len(s) || strings.IndexByte(marks, s[n]) < 0 {
		return 0
	}
	if n++; n < len(s) && strings.IndexByte(" \t\r\n", s[n]) < 0 {
		return 0
	}
	return n
}

// fence is a fenced code block that was opened.
type fence struct {
	margin
	mark byte
	size int // of the run of marks
}

// isFence reports whether a line's content opens a fence.
func isFence(content string) bool {
	return strings.HasPrefix(content, "~~~") ||
		strings.HasPrefix(content, "```") && !strings.Contains(strings.TrimLeft(content, "`"), "`")
}

func newFence(m margin, content string) *fence {
	return &fence{margin: m, mark: content[0], size: run(content)}
}

// run is how often a text repeats its first byte from its start.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// maxIndent is how far the marks of a fence may be indented.
const maxIndent = 3

// holds reports whether a line is in the quote and the list item that the fence
// is in, as far as that can be told: a line that may be is.
func (f *fence) holds(line string) bool {
	m := newMargin(line, f.quotes, false)
	if strings.TrimSpace(line[m.length:]) == "" && m.quotes == f.quotes {
		return true
	}
	least := f.column - maxIndent
	if f.item {
		least = f.column
	}
	return m.quotes == f.quotes && m.column >= least
}

// closes reports whether a line is the end of the fence.
func (f *fence) closes(line string) bool {
	m := newMargin(line, f.quotes, false)
	content := strings.TrimRight(line[m.length:], " \t\r\n")
	return m.column <= f.column+maxIndent && len(content) >= f.size && content[0] == f.mark && run(content) == len(content)
}

// linkScanner finds links, images and code spans in paragraphs.
type linkScanner struct {
	text   string
	whole  []Range
	hidden []Range // those of brackets that were not paired are empty
	// Of the paragraph:
	brackets []bracket // open ones
	// inactive is how many of the open brackets are around a link, so that only
	// images can come of them (the others have "![").
	inactive int
}

// bracket is an opening one.
type bracket struct {
	hidden int // its index there
	size   int // 2 for an image, else 1
}

// paragraph scans the bytes from start to end. What it looks ahead for, it
// looks for once for each kind: so it takes linear time.
func (s *linkScanner) paragraph(start, end int) {
	text := s.text[:end]
	s.brackets, s.inactive = s.brackets[:0], 0
	var runs map[int][]int
	for i := start; i < end; {
		switch text[i] {
		case '\\':
			i++
			if i < end && isPunctuation(text[i]) {
				i++
			}
		case '`':
			if runs == nil {
				runs = backticks(text, i)
			}
			n, from := run(text[i:]), i
			i += n
			for len(runs[n]) > 0 && runs[n][0] < i {
				runs[n] = runs[n][1:]
			}
			if len(runs[n]) > 0 {
				i = runs[n][0] + n
				s.whole = append(s.whole, Range{from, i})
			}
		case '<':
			i += 1 + autolink(text[i+1:])
		case '!':
			i++
			if i < end && text[i] == '[' {
				s.open(i-1, len("!["))
				i++
			}
		case '[':
			s.open(i, len("["))
			i++
		case ']':
			i = s.close(text, i)
		default:
			i++
		}
	}
}

func (s *linkScanner) open(at, size int) {
	s.brackets = append(s.brackets, bracket{hidden: len(s.hidden), size: size})
	s.hidden = append(s.hidden, Range{at, at})
}

// close handles a closing bracket and returns where to go on.
func (s *linkScanner) close(text string, at int) int {
	last := len(s.brackets) - 1
	if last < 0 {
		return at + 1
	}
	b := s.brackets[last]
	s.brackets = s.brackets[:last]
	inactive := last < s.inactive
	s.inactive = min(s.inactive, last)
	length := target(text[at+1:])
	if length == 0 || inactive && b.size == len("[") {
		return at + 1
	}
	end := at + 1 + length
	s.hidden[b.hidden].End += b.size
	s.hidden = append(s.hidden, Range{at, end})
	link := Range{s.hidden[b.hidden].Start, end}
	for len(s.whole) > 0 && s.whole[len(s.whole)-1].Start > link.Start {
		s.whole = s.whole[:len(s.whole)-1]
	}
	s.whole = append(s.whole, link)
	if b.size == len("[") {
		s.inactive = last
	}
	return end
}

// backticks are the starts of the runs of backticks of a text from an offset,
// by their length.
func backticks(text string, from int) map[int][]int {
	runs := make(map[int][]int)
	for i := from; i < len(text); {
		next := strings.IndexByte(text[i:], '`')
		if next < 0 {
			break
		}
		i += next
		n := run(text[i:])
		runs[n] = append(runs[n], i)
		i += n
	}
	return runs
}

// autolink is the length of what stands behind the "<" of an autolink, or 0.
func autolink(s string) int {
	end := strings.IndexAny(s, " \t\r\n<>")
	if end < 0 || s[end] != '>' || !strings.ContainsAny(s[:end], ":@") {
		return 0
	}
	return end + 1
}

// maxParentheses bounds how deep those of a destination may be nested.
const maxParentheses = 32

// target is the length of the destination and title, in their parentheses, that
// a text starts with, or 0.
func target(s string) int {
	if !strings.HasPrefix(s, "(") {
		return 0
	}
	i := 1 + blanks(s[1:])
	n := destination(s[i:])
	if n < 0 {
		return 0
	}
	i += n
	if n := blanks(s[i:]); n > 0 {
		i += n
		if n = title(s[i:]); n > 0 {
			i += n + blanks(s[i+n:])
		}
	}
	if i == len(s) || s[i] != ')' {
		return 0
	}
	return i + 1
}

func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t\r\n")) }

// destination is the length of the link destination that a text starts with, or
// -1. It may be empty.
func destination(s string) int {
	if strings.HasPrefix(s, "<") {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '>':
				return i + 1
			case '<', '\n':
				return -1
			}
		}
		return -1
	}
	depth, i := 0, 0
	for ; i < len(s) && s[i] > ' ' && s[i] != 0x7f; i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && isPunctuation(s[i+1]) {
				i++
			}
		case '(':
			if depth++; depth > maxParentheses {
				return -1
			}
		case ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	if depth > 0 {
		return -1
	}
	return i
}

// title is the length of the link title that a text starts with, or 0.
func title(s string) int {
	if s == "" || strings.IndexByte("\"'(", s[0]) < 0 {
		return 0
	}
	end := s[0]
	if end == '(' {
		end = ')'
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case end:
			return i + 1
		case '(':
			if end == ')' {
				return 0
			}
		}
	}
	return 0
}

func isPunctuation(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}
