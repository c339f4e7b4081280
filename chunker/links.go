package chunker

import (
	"sort"
	"strings"

	"github.com/docseek/docseek"
)

// links are the links and images of a section, which are not cut and whose
// destinations are not counted.
type links struct {
	hidden []docseek.Range // in order; empty where it is shown
	whole  []docseek.Range // the links that are in no other, in order
}

func newLinks(md string, hidden []docseek.Range) links {
	l := links{hidden: hidden}
	depth := 0
	for _, h := range hidden {
		if md[h.Start] != ']' {
			if depth == 0 {
				l.whole = append(l.whole, h)
			}
			depth++
			continue
		}
		if depth--; depth == 0 {
			l.whole[len(l.whole)-1].End = h.End
		}
	}
	return l
}

// after returns the number of the first range that ends after an offset.
func after(ranges []docseek.Range, offset int) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].End > offset })
}

// at returns the link that starts at an offset or is cut there.
func (l *links) at(offset int) (link docseek.Range, found bool) {
	i := after(l.whole, offset)
	if i == len(l.whole) || l.whole[i].Start > offset {
		return docseek.Range{}, false
	}
	return l.whole[i], true
}

// cutAt reports whether a cut at an offset would be within a link, and where it ends.
func (l *links) cutAt(offset int) (end int, found bool) {
	link, found := l.at(offset)
	return link.End, found && link.Start < offset
}

// visible returns a part of a text without what is hidden of it.
func (l *links) visible(md string, start, end int) string {
	i := after(l.hidden, start)
	if i == len(l.hidden) || l.hidden[i].Start >= end {
		return md[start:end]
	}
	var b strings.Builder
	for ; i < len(l.hidden) && l.hidden[i].Start < end; i++ {
		if h := l.hidden[i]; h.Start > start {
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
// space in a link does not end it.
func (l *links) word(s string, pos int) (end, next int) {
	end, next = word(s, pos)
	for end < len(s) {
		linkEnd, found := l.cutAt(end)
		if !found {
			break
		}
		end, next = word(s, min(linkEnd, len(s))-1)
	}
	return end, next
}

// atom is a part of a word as function atom has it, or a link.
func (l *links) atom(s string, pos int) int {
	if link, found := l.at(pos); found && link.Start == pos {
		return min(link.End, len(s))
	}
	return atom(s, pos)
}

// show makes the link of a range text like any other, and reports whether there
// is one.
func (l *links) show(start, end int) bool {
	i := after(l.whole, start)
	if i == len(l.whole) || l.whole[i] != (docseek.Range{Start: start, End: end}) {
		return false
	}
	l.whole[i].End = start
	for j := after(l.hidden, start); j < len(l.hidden) && l.hidden[j].Start < end; j++ {
		l.hidden[j].End = l.hidden[j].Start
	}
	return true
}
