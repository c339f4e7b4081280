package chunker

import (
	"sort"
	"strings"

	"github.com/docseek/docseek"
)

// inlines are the links, images and code spans of a section, which are not cut,
// and what of them is not counted. A range that is empty is text like any other.
type inlines struct {
	whole, hidden []docseek.Range // in order
}

// after returns the number of the first range that ends after an offset.
func after(ranges []docseek.Range, offset int) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].End > offset })
}

// at returns the inline that starts at an offset or is cut there.
func (in *inlines) at(offset int) (inline docseek.Range, found bool) {
	i := after(in.whole, offset)
	if i == len(in.whole) || in.whole[i].Start > offset {
		return docseek.Range{}, false
	}
	return in.whole[i], true
}

// cutAt reports whether a cut at an offset would be within an inline, and where
// that ends.
func (in *inlines) cutAt(offset int) (end int, found bool) {
	inline, found := in.at(offset)
	return inline.End, found && inline.Start < offset
}

// visible returns a part of a text without what is hidden of it.
func (in *inlines) visible(md string, start, end int) string {
	i := after(in.hidden, start)
	if i == len(in.hidden) || in.hidden[i].Start >= end {
		return md[start:end]
	}
	var b strings.Builder
	for ; i < len(in.hidden) && in.hidden[i].Start < end; i++ {
		if h := in.hidden[i]; h.Start > start {
			b.WriteString(md[start:h.Start])
			start = h.End
		} else {
			start = max(start, h.End)
		}
	}
	if start < end {
		b.WriteString(md[start:end])
	}
	return b.String()
}

// word is what function word says of the word that starts at pos, but white
// space in an inline does not end it.
func (in *inlines) word(s string, pos int) (end, next int) {
	end, next = word(s, pos)
	for end < len(s) {
		inlineEnd, found := in.cutAt(end)
		if !found {
			break
		}
		end, next = word(s, min(inlineEnd, len(s))-1)
	}
	return end, next
}

// atom is a part of a word as function atom has it, or an inline.
func (in *inlines) atom(s string, pos int) int {
	if inline, found := in.at(pos); found && inline.Start == pos {
		return min(inline.End, len(s))
	}
	return atom(s, pos)
}

// show makes the inline that fills a range text like any other, and reports
// whether there is one.
func (in *inlines) show(start, end int) bool {
	i := after(in.whole, start)
	if i == len(in.whole) || in.whole[i] != (docseek.Range{Start: start, End: end}) {
		return false
	}
	in.whole[i].End = start
	for j := after(in.hidden, start); j < len(in.hidden) && in.hidden[j].Start < end; j++ {
		in.hidden[j].End = in.hidden[j].Start
	}
	return true
}
