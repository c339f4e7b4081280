package encoder

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// class is what a character outside ASCII does to the word it stands in.
type class int

const (
	letter  class = iota // belongs to a word
	dropped              // is left out; the word goes on behind it
	space                // ends a word
	alone                // is a word by itself
)

func classify(r rune) class {
	switch {
	case ideograph(r):
		return alone
	case r == utf8.RuneError, control(r):
		return dropped
	case unicode.IsSpace(r):
		return space
	}
	var parts [maxDecomposition]rune
	for _, part := range decompose(parts[:0], r) {
		if unaccented(part) {
			if punctuation(part) {
				return alone
			}
			return letter
		}
	}
	return dropped
}

// classifyCased is classify for text whose characters stay as they are.
func classifyCased(r rune) class {
	switch {
	case ideograph(r), punctuation(r):
		return alone
	case r == utf8.RuneError, control(r):
		return dropped
	case unicode.IsSpace(r):
		return space
	}
	return letter
}

// maxDecomposition is the most characters that the full canonical decomposition
// of one character has.
const maxDecomposition = 8

// decompose appends the full canonical decomposition of r (NFD, UAX #15) to dst.
func decompose(dst []rune, r rune) []rune {
	const (
		hangul    = 0xAC00
		syllables = 11172
		leads     = 0x1100
		vowels    = 0x1161
		trails    = 0x11A7
		perLead   = 588
		perVowel  = 28
	)
	if s := r - hangul; s >= 0 && s < syllables {
		dst = append(dst, leads+s/perLead, vowels+s%perLead/perVowel)
		if t := s % perVowel; t > 0 {
			dst = append(dst, trails+t)
		}
		return dst
	}
	var encoded [utf8.UTFMax]byte
	n := utf8.EncodeRune(encoded[:], r)
	parts := norm.NFD.Properties(encoded[:n]).Decomposition()
	if len(parts) == 0 {
		return append(dst, r)
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		dst = append(dst, part)
		parts = parts[size:]
	}
	return dst
}

// unaccented reports that r is not a non-spacing mark.
func unaccented(r rune) bool {
	switch {
	case r < 0x300, r == sharadaSandhi:
		return true
	case r == hanunooPamudpod:
		return false
	}
	return !unicode.Is(unicode.Mn, r) || late(r)
}

func punctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.Is(unicode.P, r) && !late(r) || r == canadianChi || r == sharadaSandhi
}

func control(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) && !late(r)
}

// late reports whether r got its category after Unicode 8.0, whose tables the
// reference implementation has: what came later is a letter there.
func late(r rune) bool { return unicode.Is(lateCharacters, r) }

//nolint:gochecknoglobals // a table, like those of package unicode
var lateCharacters = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x061d, 0x061d, 1},
		{0x07fd, 0x07fd, 1},
		{0x0890, 0x08e2, 1},
		{0x09fd, 0x09fe, 1},
		{0x0a76, 0x0a76, 1},
		{0x0afa, 0x0aff, 1},
		{0x0b55, 0x0b55, 1},
		{0x0c04, 0x0c3c, 1},
		{0x0c77, 0x0c77, 1},
		{0x0c84, 0x0c84, 1},
		{0x0d00, 0x0d00, 1},
		{0x0d3b, 0x0d3c, 1},
		{0x0d81, 0x0d81, 1},
		{0x0eba, 0x0eba, 1},
		{0x0ece, 0x0ece, 1},
		{0x180f, 0x1886, 1},
		{0x1abf, 0x1ace, 1},
		{0x1b7d, 0x1b7e, 1},
		{0x1df6, 0x1dfb, 1},
		{0x2e43, 0x2e5d, 1},
		{0xa82c, 0xa82c, 1},
		{0xa8c5, 0xa8c5, 1},
		{0xa8ff, 0xa8ff, 1},
		{0xa9bd, 0xa9bd, 1},
	},
	R32: []unicode.Range32{
		{0x10d24, 0x10f89, 1},
		{0x11070, 0x11074, 1},
		{0x110c2, 0x110cd, 1},
		{0x111cf, 0x111cf, 1},
		{0x1123e, 0x11241, 1},
		{0x1133b, 0x1133b, 1},
		{0x11438, 0x1145e, 1},
		{0x11660, 0x1166c, 1},
		{0x116b9, 0x116b9, 1},
		{0x1182f, 0x11fff, 1},
		{0x12ff1, 0x13455, 1},
		{0x16e97, 0x16f4f, 1},
		{0x16fe2, 0x16fe4, 1},
		{0x1cf00, 0x1cf46, 1},
		{0x1e000, 0x1e4ef, 1},
		{0x1e944, 0x1e95f, 1},
	},
}

// Characters whose category changed after Unicode 8.0.
const (
	canadianChi     = 0x166D  // was punctuation
	hanunooPamudpod = 0x1734  // was a non-spacing mark
	sharadaSandhi   = 0x111C9 // was punctuation
)

// ideograph reports whether BERT's basic tokenizer takes r for a word of its
// own. U+2B820 to U+2B91F of extension E are left out there by mistake.
func ideograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF:
		return true
	case r < 0x20000:
		return false
	}
	return r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0x2F800 <= r && r <= 0x2FA1F
}
