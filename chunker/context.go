package chunker

import (
	"strings"

	"github.com/rivo/uniseg"
)

const (
	separator = " > "
	ellipsis  = "…"
)

// context says where a chunk stands: the page's title and the heading path. One
// that is too long loses its outermost headings first, then the ends of the
// title and of the innermost heading.
func (c *Chunker) context(title string, path []string) string {
	parts := make([]string, 0, 1+len(path))
	for _, part := range append([]string{title}, path...) {
		part = oneLine(part)
		if part == "" || len(parts) == 1 && parts[0] == part {
			continue
		}
		parts = append(parts, part)
	}
	for len(parts) > 2 && !c.fitsLine(strings.Join(parts, separator), maxContext) {
		parts = append(parts[:1], parts[2:]...)
	}
	if context := strings.Join(parts, separator); c.fitsLine(context, maxContext) {
		return context
	}
	share := maxContext / len(parts)
	for i, part := range parts {
		parts[i] = c.clip(part, share-2)
	}
	return strings.Join(parts, separator)
}

// fitsLine reports whether a text that is embedded as it stands is small enough.
func (c *Chunker) fitsLine(s string, budget int) bool {
	return len(s) <= budget*bytesPerToken && c.counter.Count(s) <= budget
}

// clip shortens a line to a number of tokens, at a word if it can.
func (c *Chunker) clip(line string, budget int) string {
	if c.fitsLine(line, budget) {
		return line
	}
	budget -= 2 // a full stop in the middle of a word
	end, words, tokens := 0, 0, 0
	for word := range strings.FieldsSeq(line) {
		n := c.counter.Count(word)
		if tokens+n > budget || end+1+len(word) > budget*bytesPerToken {
			if words == 0 {
				end = c.prefix(word, budget)
			}
			break
		}
		if words > 0 {
			end++
		}
		end += len(word)
		tokens += n
		words++
	}
	return line[:end] + ellipsis
}

// prefix returns the length of the longest of the halved beginnings of a word
// that fit, at a border of grapheme clusters. It is at least one cluster long.
func (c *Chunker) prefix(word string, budget int) int {
	var ends []int
	state := -1
	for rest := word; rest != "" && len(word)-len(rest) < budget*bytesPerToken; {
		_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		ends = append(ends, len(word)-len(rest))
	}
	n := len(ends)
	for n > 1 && !c.fitsLine(word[:ends[n-1]], budget) {
		if ends[n-1] > budget*bytesPerToken {
			n--
		} else {
			n /= 2
		}
	}
	return ends[n-1]
}
