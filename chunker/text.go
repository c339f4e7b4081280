package chunker

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// isSpace reports whether a rune is white space to a tokenizer: it divides words.
func isSpace(r rune) bool {
	return r == ' ' || r == '\n' || r == '\t' || r == '\r' || r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r)
}

// isBlank reports whether there is nothing to read in a text.
func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// isMark reports whether a rune is a token by itself wherever it stands:
// punctuation, a symbol of ASCII, a CJK ideograph.
func isMark(r rune) bool {
	if r < utf8.RuneSelf {
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	}
	return unicode.IsPunct(r) ||
		0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2CEAF ||
		0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}

// word returns the end of the word that starts at pos, and the start of the one
// after it. White space inside a grapheme cluster does not end a word.
func word(s string, pos int) (end, next int) {
	for i := pos; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isSpace(r) {
			i += size
			continue
		}
		end = i
		for i < len(s) && isSpace(r) {
			i += size
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if i == len(s) || i > end && end > pos && isBoundary(s, end) && isBoundary(s, i) {
			return end, i
		}
	}
	return len(s), len(s)
}

// isBoundary reports whether no grapheme cluster reaches over an offset that has
// white space on one side. Looking at the two runes next to it is enough there:
// longer rules are about emoji, letters and flags on both sides (UAX #29).
func isBoundary(s string, i int) bool {
	if i == 0 || i == len(s) || s[i-1] < utf8.RuneSelf && s[i] < utf8.RuneSelf {
		return true
	}
	_, before := utf8.DecodeLastRuneInString(s[:i])
	_, after := utf8.DecodeRuneInString(s[i:])
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[i-before:i+after], -1)
	return len(cluster) == before
}

const (
	closers     = "\"')]}>*_`»”’」』）】》"
	terminators = ".!?…"
	fullStops   = "。！？｡．"
)

// sentences reads the sentences of a text one after the other.
type sentences struct {
	s         string
	inline    *inlines
	end, next int // of the word that was read last
}

// from returns the end of the sentence that starts at pos, and the start of the
// one after it. A full stop ends a sentence before white space and a character
// that is not in lower case; one of East Asian writing ends it always.
func (t *sentences) from(pos int) (end, next int) {
	for start := pos; ; start = t.next {
		if start >= t.end {
			t.end, t.next = t.inline.word(t.s, start)
		}
		if stop := t.fullStop(start); stop > 0 {
			return stop, stop
		}
		if t.next == len(t.s) {
			return t.end, t.next
		}
		stem := strings.TrimRight(t.s[start:t.end], closers)
		last, _ := utf8.DecodeLastRuneInString(stem)
		first, _ := utf8.DecodeRuneInString(t.s[t.next:])
		if stem != "" && strings.ContainsRune(terminators+fullStops, last) && !unicode.IsLower(first) {
			return t.end, t.next
		}
	}
}

// fullStop returns the offset behind the first East Asian full stop of the word
// that was read last, from an offset on, that is not in an inline; or 0.
func (t *sentences) fullStop(from int) int {
	for from < t.end {
		i := fullStop(t.s[from:t.end])
		if i == 0 {
			return 0
		}
		inlineEnd, found := t.inline.cutAt(from + i)
		if !found {
			return from + i
		}
		from = inlineEnd
	}
	return 0
}

// fullStop returns the offset behind the first East Asian full stop within a
// word and what closes with it, or 0.
func fullStop(word string) int {
	i := strings.IndexAny(word, fullStops)
	if i < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(word[i:])
	rest := strings.TrimLeft(word[i+size:], closers+fullStops)
	stop := len(word) - len(rest)
	if rest == "" || !isClusterStart(word[:stop], rest) {
		return 0
	}
	return stop
}

// isClusterStart reports whether a text starts a grapheme cluster behind another.
func isClusterStart(before, text string) bool {
	_, last := utf8.DecodeLastRuneInString(before)
	_, first := utf8.DecodeRuneInString(text)
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(before[len(before)-last:]+text[:first], -1)
	return len(cluster) == last
}

// atom returns the end of the part of a word that starts at pos and that counts
// can be added up for: a mark, or what stands between two of them.
func atom(s string, pos int) int {
	state := -1
	rest := s[pos:]
	for rest != "" {
		var cluster string
		at := len(s) - len(rest)
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		r, _ := utf8.DecodeRuneInString(cluster)
		if isMark(r) {
			if at > pos {
				return at
			}
			return at + len(cluster)
		}
	}
	return len(s)
}

// oneLine makes a title one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
