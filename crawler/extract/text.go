package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns s without the characters that a reader does not see: control
// characters, bidirectional overrides, tags, zero-width runs, variation
// selectors but the emoji one, noncharacters. Tabs and line breaks stay; a
// joiner stays between two characters of a script that needs it.
func visible(s string) string {
	start := 0
	for start < len(s) && plainASCII(s[start]) {
		start++
	}
	if start == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:start])
	prev := rune(0)
	for i := start; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\u200c' || r == '\u200d':
			next, _ := utf8.DecodeRuneInString(s[i+size:])
			if joins(prev) && joins(next) {
				b.WriteRune(r)
			}
		case !invisible(r):
			b.WriteString(s[i : i+size])
		}
		prev = r
		i += size
	}
	return b.String()
}

func plainASCII(c byte) bool { return c >= ' ' && c < 0x7f || c == '\n' || c == '\t' }

// invisible reports whether a character shows nothing, or changes how others show.
func invisible(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t' && r != '\f'
	case r < 0x7f:
		return false
	case r < 0xa0:
		return true
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0e, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	case r >= 0xe0000 && r <= 0xe0fff, r >= 0x1d173 && r <= 0x1d17a:
		return true
	}
	return false
}

// joins reports whether a zero-width joiner has a meaning beside r: in
// scripts with shaped letters, and in emoji.
func joins(r rune) bool {
	return r >= 0x600 && r != utf8.RuneError && !invisible(r) && (unicode.IsLetter(r) || unicode.IsMark(r)) || r >= 0x2190 && unicode.In(r, unicode.So, unicode.Sk) || r == 0xfe0f
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// collapse trims s and turns each run of white space into one space.
func collapse(s string) string {
	clean := true
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c < ' ' || c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' ') {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, isSpace), " ")
}

// countVisible counts the characters of s that are neither white space nor invisible.
func countVisible(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c > ' ' && c != 0x7f {
				n++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isSpace(r) && !invisible(r) {
			n++
		}
		i += size
	}
	return n
}

// wordless reports whether s has no letter and no digit.
func wordless(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) < 0
}

// letters is s reduced to its letters and digits, in lower case: what a title
// and the id that was made of it have in common.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
