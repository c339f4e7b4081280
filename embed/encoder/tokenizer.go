package encoder

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWord is the number of characters above which a word is unknown.
	maxWord = 100
	// maxPieces and maxPiece bound a vocabulary: entries, and bytes of an entry.
	maxPieces = 1 << 20
	maxPiece  = 1 << 10
)

// Overhead is the number of tokens that [Tokenizer.Encode] puts around a text:
// [CLS] before and [SEP] after it.
const Overhead = 2

// TextTokenizer turns text into the ids of a model; see [Tokenizer] and [Unigram].
type TextTokenizer interface {
	Encode(text string, limit int) (ids []int32, truncated bool)
	Count(text string) int
	Size() int
}

// Tokenizer is the WordPiece tokenizer of BERT (Devlin et al. 2018, after Wu et
// al. 2016): text is cleaned of control characters, decomposed (NFD), stripped of
// accents and lower-cased, unless the model tells cases apart, split at white
// space, punctuation and CJK ideographs, and each word is then covered by the
// longest pieces of the vocabulary, from left to right. It yields what Hugging
// Face tokenizers yield, but for one thing: a special token such as "[SEP]" in
// the text is text.
//
// A Tokenizer is immutable and safe for concurrent use.
type Tokenizer struct {
	// initial and inner hold the ids of the pieces that start a word and of
	// those that continue one, without their "##".
	initial, inner       pieces
	unknown, first, last int32
	size                 int
	// cased leaves cases and accents as they are.
	cased bool
}

// pieces are vocabulary entries by their text.
type pieces struct {
	ids map[string]int32
	// longest is the length in bytes of the longest entry.
	longest int
}

func (p *pieces) add(text string, id int32) {
	p.ids[text] = id
	p.longest = max(p.longest, len(text))
}

// NewTokenizer reads a vocabulary as BERT's vocab.txt lays it out: one piece a
// line, its id being the number of its line from 0. Pieces that continue a word
// start with "##". It must hold [UNK], [CLS] and [SEP].
func NewTokenizer(vocabulary string) (*Tokenizer, error) {
	return newWordPiece(func(yield func(string) bool) {
		for line := range strings.Lines(vocabulary) {
			if !yield(strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}, false)
}

// newWordPiece makes a tokenizer of pieces in the order of their ids.
func newWordPiece(vocabulary iter.Seq[string], cased bool) (*Tokenizer, error) {
	t := &Tokenizer{
		initial: pieces{ids: make(map[string]int32, 25_000)},
		inner:   pieces{ids: make(map[string]int32, 6_000)},
		cased:   cased,
	}
	for piece := range vocabulary {
		if t.size == maxPieces {
			return nil, fmt.Errorf("read vocabulary: more than %d pieces", maxPieces)
		}
		if len(piece) > maxPiece {
			return nil, fmt.Errorf("read vocabulary: piece %d has %d bytes, at most %d are allowed", t.size, len(piece), maxPiece)
		}
		id := int32(t.size)
		if rest, ok := strings.CutPrefix(piece, "##"); ok && rest != "" {
			t.inner.add(rest, id)
		} else {
			t.initial.add(piece, id)
		}
		t.size++
	}
	for _, special := range []struct {
		piece string
		id    *int32
	}{{"[UNK]", &t.unknown}, {"[CLS]", &t.first}, {"[SEP]", &t.last}} {
		id, ok := t.initial.ids[special.piece]
		if !ok {
			return nil, errors.New("read vocabulary: it lacks the piece " + special.piece)
		}
		*special.id = id
	}
	return t, nil
}

// Size is the number of pieces in the vocabulary; ids are below it.
func (t *Tokenizer) Size() int { return t.size }

// Count is the number of tokens that text becomes, without the [Overhead].
// It does not allocate.
func (t *Tokenizer) Count(text string) int {
	var buf [maxWord]int32
	n := 0
	for s := (scanner{text: text, cased: t.cased}); s.next(); {
		n += len(t.appendWord(buf[:0], &s))
	}
	return n
}

// Encode returns the ids of text between [CLS] and [SEP], at most limit of them
// in all, but no fewer than these two. It reports whether text was cut to get there.
func (t *Tokenizer) Encode(text string, limit int) (ids []int32, truncated bool) {
	limit = max(limit, Overhead)
	ids = make([]int32, 1, min(limit, Overhead+len(text)/3+8))
	ids[0] = t.first
	for s := (scanner{text: text, cased: t.cased}); len(ids) < limit && s.next(); {
		ids = t.appendWord(ids, &s)
	}
	if truncated = len(ids) >= limit; truncated {
		ids = ids[:limit-1]
	}
	return append(ids, t.last), truncated
}

// appendWord appends the ids of the current word's pieces to dst: one at least,
// and at most one per character. A word that the vocabulary does not cover, or
// that is longer than maxWord, is one unknown token.
func (t *Tokenizer) appendWord(dst []int32, s *scanner) []int32 {
	if s.count > maxWord {
		return append(dst, t.unknown)
	}
	start, word, from := len(dst), s.buf[:s.n], &t.initial
	for len(word) > 0 {
		id, length := from.longestPrefix(word)
		if length == 0 {
			return append(dst[:start], t.unknown)
		}
		dst = append(dst, id)
		word, from = word[length:], &t.inner
	}
	return dst
}

// longestPrefix finds the longest entry that word starts with, and its length;
// 0 if there is none.
func (p *pieces) longestPrefix(word []byte) (id int32, length int) {
	for end := min(len(word), p.longest); end > 0; end-- {
		if end < len(word) && !utf8.RuneStart(word[end]) {
			continue
		}
		if id, ok := p.ids[string(word[:end])]; ok {
			return id, end
		}
	}
	return 0, 0
}

// scanner walks over the normalized words of a text.
type scanner struct {
	text  string
	pos   int
	cased bool
	// buf holds the current word in its first n bytes, and count says how many
	// characters it has; of more than maxWord only the first are held.
	buf      [maxWord * utf8.UTFMax]byte
	n, count int
}

// next goes to the next word and reports whether there is one.
func (s *scanner) next() bool {
	s.n, s.count = 0, 0
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c < utf8.RuneSelf {
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', s.cased && 'A' <= c && c <= 'Z':
				s.put(c)
			case 'A' <= c && c <= 'Z':
				s.put(c + 'a' - 'A')
			case c == ' ', c == '\n', c == '\t', c == '\r':
				if s.count > 0 {
					s.pos++
					return true
				}
			case c < ' ', c == 0x7f:
			default:
				if s.count == 0 {
					s.pos++
					s.put(c)
				}
				return true
			}
			s.pos++
			continue
		}
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		kind := classify(r)
		if s.cased {
			kind = classifyCased(r)
		}
		switch kind {
		case dropped:
		case space:
			if s.count > 0 {
				s.pos += size
				return true
			}
		case alone:
			if s.count == 0 {
				s.pos += size
				s.putRune(r)
			}
			return true
		case letter:
			s.putRune(r)
		}
		s.pos += size
	}
	return s.count > 0
}

func (s *scanner) put(c byte) {
	if s.count++; s.count <= maxWord {
		s.buf[s.n] = c
		s.n++
	}
}

// putRune appends the decomposition of r without accents and in lower case, or r
// itself where cases are told apart.
func (s *scanner) putRune(r rune) {
	if s.cased {
		if s.count++; s.count <= maxWord {
			s.n += utf8.EncodeRune(s.buf[s.n:], r)
		}
		return
	}
	var parts [maxDecomposition]rune
	for _, part := range decompose(parts[:0], r) {
		if unaccented(part) {
			if s.count++; s.count <= maxWord {
				s.n += utf8.EncodeRune(s.buf[s.n:], unicode.ToLower(part))
			}
		}
	}
}
