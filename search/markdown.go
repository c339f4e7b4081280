package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// construct is the fence or table that a place in a Markdown text is inside of.
type construct struct {
	// fence is the line that opened the fence, marker its run of ` or ~.
	fence, marker string
	// header are the first two lines of the table.
	header string
}

// opening is what makes a text that starts in the construct stand by itself.
func (c construct) opening() string {
	if c.fence != "" {
		return c.fence + "\n"
	}
	return c.header
}

// closing is what ends a text that stops in the construct.
func (c construct) closing() string {
	if c.fence == "" {
		return ""
	}
	indent := c.fence[:len(c.fence)-len(strings.TrimLeft(c.fence, " \t"))]
	return "\n" + indent + c.marker
}

// next is the construct after one more line.
func (c construct) next(line string) construct {
	trimmed := strings.TrimSpace(line)
	marker := fenceMarker(trimmed)
	switch {
	case c.marker != "":
		if strings.HasPrefix(marker, c.marker) && marker == trimmed {
			return construct{}
		}
		return c
	case marker != "":
		return construct{fence: strings.TrimRight(line, " \r\n"), marker: marker}
	case strings.HasPrefix(trimmed, "|"):
		if strings.Count(c.header, "\n") < len("||") {
			c.header += strings.TrimRight(line, "\r\n") + "\n"
		}
		return c
	}
	return construct{}
}

// inside returns the construct that the end of a text is inside of. A text that
// ends within a line is where that line is.
func inside(text string) construct {
	var c construct
	for line := range strings.Lines(text) {
		if strings.HasSuffix(line, "\n") || fenceMarker(strings.TrimSpace(line)) != "" {
			c = c.next(line)
		}
	}
	return c
}

// fenceMarker is the run of three or more ` or ~ that a line begins with.
func fenceMarker(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	run := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	if len(run) < len("```") || run[0] == '`' && strings.Contains(line[len(run):], "`") {
		return ""
	}
	return run
}

// shorten cuts a Markdown text to a number of JSON characters. It returns the
// text, with a fence closed that the cut would have left open, and how many
// bytes of the original it holds. The cut is after a block if that keeps half
// of what fits, else after a line of a fence, table or list, else after a
// sentence, else after a word.
func shorten(text string, limit int) (short string, kept int) {
	if jsonChars(text) <= limit {
		return text, len(text)
	}
	var block, line, within, start int // where a cut fits, by what it is after
	at, used := 0, 0
	var c construct
	for l := range strings.Lines(text) {
		content := strings.TrimRight(l, "\r\n")
		after := c.next(l)
		if used+jsonChars(content)+jsonChars(after.closing()) > limit {
			start, within = at, at+fitting(content, limit-used-jsonChars(c.closing()))
			break
		}
		end := at + len(content)
		switch {
		case strings.TrimSpace(content) == "":
		case after.fence == "" && blockEnds(text[at+len(l):]):
			block, line = end, end
		default:
			line = end
		}
		at, used, c = at+len(l), used+jsonChars(l), after
	}
	for _, cut := range []int{block, line} {
		if cut > 0 && 2*jsonChars(text[:cut]) >= limit {
			return closed(text, cut)
		}
	}
	// A piece of a line must not look like a fence.
	for _, cut := range []int{start + proseEnd(text[start:within]), within} {
		if cut > start && fenceMarker(strings.TrimSpace(text[start:cut])) == "" {
			return closed(text, cut)
		}
	}
	return closed(text, line)
}

func closed(text string, cut int) (string, int) {
	short := text[:cut]
	return short + inside(short).closing(), cut
}

// blockEnds reports whether what follows a line starts a new block.
func blockEnds(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line) == ""
}

// fitting is how many bytes of a text take no more JSON characters than limit;
// none if that is negative.
func fitting(text string, limit int) int {
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if n += runeChars(r, size); n > limit {
			return i
		}
		i += size
	}
	return len(text)
}

// proseEnd is where a piece of prose is best cut: after its last sentence, or
// its last word; 0 if it has neither.
func proseEnd(text string) int {
	sentence, word := 0, 0
	var before rune
	for i, r := range text {
		if unicode.IsSpace(r) {
			if strings.ContainsRune(".!?:;", before) {
				sentence = i
			}
			word = i
		}
		before = r
		if strings.ContainsRune("。！？", r) {
			sentence = i + utf8.RuneLen(r)
			word = sentence
		}
	}
	if 2*sentence >= len(text) {
		return sentence
	}
	return word
}
