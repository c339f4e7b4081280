package graphql

import (
	"strings"
	"unicode"
)

// cleanDescription makes a description what a reader would see: no characters
// that cannot be seen, one kind of line break, nothing where it is blank.
func cleanDescription(s string) string {
	if s = cleanText(s); strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// cleanText takes out control characters and those that are not seen, by which
// text can be hidden from people but not from machines.
func cleanText(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func unseen(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' ' && r != '\n' && r != '\t'
	case r == unicode.ReplacementChar, // also what stands for bytes that are no UTF-8
		r < 0xa0,                                // C1 controls
		r == 0x200b, r >= 0x202a && r <= 0x202e, // zero width, direction
		r >= 0x2060 && r <= 0x206f, r == 0xfeff, // joiners, isolates, byte order mark
		r >= 0xe0000 && r <= 0xe0fff, r >= 0xfff0 && r <= 0xfffb: // tags, selectors, annotations
		return true
	}
	return false
}
