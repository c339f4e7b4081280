package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form says what a scanned piece of text is.
type form uint8

const (
	// word is a word, a number, a part of an identifier, or a pair of characters
	// of a script that is written without spaces.
	word form = iota
	// joined is an identifier of several words without what separates them, so
	// that maxRetries, max_retries and max-retries meet.
	joined
	// whole is an identifier, path, version or flag as it is written.
	whole
	// character is one of several of a script that is written without spaces: it
	// is found by itself, but not looked for when its neighbours are known.
	character
)

// Bounds on an identifier: what is longer is cut and goes on as another.
const (
	maxWordBytes       = 128
	maxIdentifierBytes = 256
	maxSegments        = 16
)

// scan yields the pieces of a text in their order, until yield returns false.
//
// The text is seen as identifiers: words joined by "_" or "-" or by camel case
// make a segment, segments joined by . : :: / \ @ or # make a name ("os.path",
// "std::vector", "acme/sdk", "3.11"). A plain word is an identifier of one
// word. An identifier yields its words, then, where it has several words, each
// segment joined, then the whole as it is written, and once more with what
// marks it in front or behind: --dry-run, @acme/sdk, $HOME, .gitignore, C++, C#.
//
// The destinations of Markdown links are passed over.
func scan(text string, yield func(surface string, form form) bool) {
	s := scanner{text: text, yield: yield, open: true}
	for i := 0; i < len(text) && s.open; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case spaceless(r):
			i = s.unspaced(i)
		case wordRune(r) || r == '_':
			i = s.identifier(i)
		case r == ']':
			i += size + destination(text[i+size:])
		default:
			i += size
		}
	}
}

type scanner struct {
	text  string
	yield func(string, form) bool
	open  bool // yield wants more
}

func (s *scanner) emit(surface string, form form) {
	if len(surface) > maxWordBytes && form != whole {
		surface = surface[:maxWordBytes]
	}
	s.open = s.open && s.yield(surface, form)
}

// unspaced yields the characters of a run and, as words, the pairs of adjacent
// ones; or its only character as a word.
func (s *scanner) unspaced(start int) int {
	end, n := start, 0
	for before := start; end < len(s.text); n++ {
		r, size := utf8.DecodeRuneInString(s.text[end:])
		if !spaceless(r) {
			break
		}
		if n > 0 {
			s.emit(s.text[before:end+size], word)
			s.emit(s.text[before:end], character)
		}
		before, end = end, end+size
	}
	_, size := utf8.DecodeLastRuneInString(s.text[:end])
	if n == 1 {
		s.emit(s.text[start:end], word)
	} else {
		s.emit(s.text[end-size:end], character)
	}
	return end
}

// identifier yields the identifier that starts at the given byte and returns
// where it ends.
func (s *scanner) identifier(start int) int {
	end, words, segments := start, 0, 0
	for {
		from := end
		end = s.segmentEnd(from, start+maxIdentifierBytes)
		words += s.segment(s.text[from:end])
		segments++
		next := end + separator(s.text[end:])
		if next == end || segments == maxSegments || !startsWord(s.text[next:]) {
			break
		}
		end = next
	}
	name := s.text[start:end]
	if words > 1 || words == 1 && strings.Contains(name, "_") {
		s.emit(name, whole)
	}
	mark, tail := prefix(s.text[:start]), suffix(s.text[end:])
	if words > 0 && len(mark)+len(tail) > 0 {
		s.emit(mark+name+tail, whole)
	}
	return end + len(tail)
}

// segmentEnd returns the end of the segment that starts at from, at most at bound.
func (s *scanner) segmentEnd(from, bound int) int {
	at := from
	for at < len(s.text) && at < bound {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		inside := r == '_' || wordRune(r) || r == '-' && at > from && startsWord(s.text[at+1:])
		if !inside {
			break
		}
		at += size
	}
	return at
}

// segment yields the words of a segment, then the segment joined, and returns
// the number of words.
func (s *scanner) segment(segment string) int {
	var all strings.Builder
	n, from := 0, 0
	flush := func(to int) {
		if to > from {
			n++
			s.emit(segment[from:to], word)
			all.WriteString(segment[from:to])
		}
		from = to
	}
	var before rune
	for i, r := range segment {
		switch {
		case r == '_' || r == '-':
			flush(i)
			from = i + 1
		case unicode.IsUpper(r):
			rest := segment[i+utf8.RuneLen(r):]
			next, _ := utf8.DecodeRuneInString(rest)
			if unicode.IsLower(before) || unicode.IsUpper(before) && unicode.IsLower(next) {
				flush(i)
			}
		}
		before = r
	}
	flush(len(segment))
	if n > 1 {
		s.emit(all.String(), joined)
	}
	return n
}

// separator is the length of what may stand between two segments.
func separator(s string) int {
	switch {
	case strings.HasPrefix(s, "::"):
		return 2
	case s != "" && strings.IndexByte(`.:/\@#`, s[0]) >= 0:
		return 1
	}
	return 0
}

// prefix is the mark before an identifier, if it stands at the start of a token.
func prefix(before string) string {
	for _, mark := range [...]string{"--", "-", "@", "$", "."} {
		rest, found := strings.CutSuffix(before, mark)
		if !found {
			continue
		}
		r, _ := utf8.DecodeLastRuneInString(rest)
		if rest == "" || !wordRune(r) && !strings.ContainsRune(`_-@$.:/\#`, r) {
			return mark
		}
	}
	return ""
}

// suffix is the mark behind an identifier: ++ or #.
func suffix(after string) string {
	for _, mark := range [...]string{"++", "#"} {
		if rest, found := strings.CutPrefix(after, mark); found && !startsWord(rest) {
			return mark
		}
	}
	return ""
}

// destination is the length of a link's destination, "(https://…)", that a text
// starts with, without its closing parenthesis.
func destination(s string) int {
	if !strings.HasPrefix(s, "(http://") && !strings.HasPrefix(s, "(https://") && !strings.HasPrefix(s, "(mailto:") {
		return 0
	}
	open := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			open++
		case c == ')':
			if open--; open == 0 {
				return i
			}
		case c <= ' ':
			return i
		}
	}
	return len(s)
}

func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || wordRune(r) && !spaceless(r)
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !spaceless(r)
}

// spaceless reports whether a character belongs to a script that is written
// without spaces between words.
func spaceless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// lower is the lower-case form of a word, with one letter for what differs only
// in spelling.
func lower(s string) string {
	s = strings.ToLower(s)
	if ascii(s) {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "ß", "ss"), "ς", "σ")
}

// fold drops the diacritics of Latin, Greek and Cyrillic letters.
func fold(s string) string {
	if ascii(s) {
		return s
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if 0x0300 <= r && r <= 0x036F {
			return -1
		}
		return r
	}, norm.NFD.String(s)))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
