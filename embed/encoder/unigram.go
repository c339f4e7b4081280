package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Unigram is the unigram tokenizer of SentencePiece (Kudo 2018), as XLM-R and
// its kin use it: text is normalized by a table, spaces become "▁", and each
// word is covered by the pieces whose scores add up to the most (Viterbi). It
// yields what Hugging Face tokenizers yield, but for one thing: a special token
// such as "</s>" in the text is text.
//
// A Unigram is immutable and safe for concurrent use.
type Unigram struct {
	pieces []scoredPiece // by their text
	size   int
	// unknown stands for characters that no piece covers, at unknownScore each.
	unknown, first, last int32
	unknownScore         float64
	table                *charsmap // nil where text stays as it is
	oneSpace             bool
	words                wordRule
}

type scoredPiece struct {
	text  string
	score float64
	id    int32
}

// wordRule says how words are cut from a normalized text.
type wordRule struct {
	// split cuts at white space, which goes; else a space is a part of the text.
	split bool
	// meta cuts before each "▁".
	meta bool
	// prefix is when "▁" stands before a word that has none.
	prefix prefixRule
}

type prefixRule string

const (
	prefixAlways prefixRule = "always"
	prefixFirst  prefixRule = "first"
	prefixNever  prefixRule = "never"
)

// spaceMark stands for a space in pieces.
const spaceMark = "▁"

// unknownPenalty is how far an unknown character scores below the least piece.
const unknownPenalty = 10

// newUnigram makes a tokenizer of a vocabulary in the order of its ids. Pieces
// named in control are never found in a text.
func newUnigram(vocabulary []scoredPiece, control map[string]bool, unknown int32) (*Unigram, error) {
	if unknown < 0 || int(unknown) >= len(vocabulary) {
		return nil, fmt.Errorf("read vocabulary: the unknown piece %d is not one of %d", unknown, len(vocabulary))
	}
	u := &Unigram{size: len(vocabulary), unknown: unknown, unknownScore: math.Inf(1)}
	for id, p := range vocabulary {
		if math.IsNaN(p.score) || math.IsInf(p.score, 0) {
			return nil, fmt.Errorf("read vocabulary: the score of piece %d is %v", id, p.score)
		}
		u.unknownScore = min(u.unknownScore, p.score)
		if p.text != "" && !control[p.text] {
			u.pieces = append(u.pieces, scoredPiece{p.text, p.score, int32(id)})
		}
	}
	u.unknownScore -= unknownPenalty
	// Of two pieces with one text the later counts.
	slices.SortStableFunc(u.pieces, func(a, b scoredPiece) int { return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(b.id, a.id)) })
	u.pieces = slices.CompactFunc(u.pieces, func(a, b scoredPiece) bool { return a.text == b.text })
	return u, nil
}

// Size is the number of pieces in the vocabulary; ids are below it.
func (u *Unigram) Size() int { return u.size }

// Count is the number of tokens that text becomes, without the [Overhead].
func (u *Unigram) Count(text string) int {
	n := 0
	var v viterbi
	u.eachWord(text, func(word string) bool {
		n += len(v.cover(u, word))
		return true
	})
	return n
}

// Encode returns the ids of text between the marks of its start and its end, at
// most limit of them in all, but no fewer than these two. It reports whether text
// was cut to get there.
func (u *Unigram) Encode(text string, limit int) (ids []int32, truncated bool) {
	limit = max(limit, Overhead)
	ids = append(make([]int32, 0, min(limit, Overhead+len(text)/3+8)), u.first)
	var v viterbi
	u.eachWord(text, func(word string) bool {
		ids = append(ids, v.cover(u, word)...)
		return len(ids) < limit
	})
	if truncated = len(ids) >= limit; truncated {
		ids = ids[:limit-1]
	}
	return append(ids, u.last), truncated
}

// eachWord normalizes a text and hands over its words, until yield says no.
func (u *Unigram) eachWord(text string, yield func(word string) bool) {
	text = u.table.normalize(strings.ToValidUTF8(text, "\uFFFD"))
	if u.oneSpace {
		text = singleSpaces(text)
	}
	whole := []string{text}
	if u.words.split {
		whole = strings.FieldsFunc(text, unicode.IsSpace)
	}
	// A word is at the text's start as long as nothing was cut from before it.
	leading := u.words.split && text != "" && startsWithSpace(text)
	for i, word := range whole {
		word = strings.ReplaceAll(word, " ", spaceMark)
		prefix := u.words.prefix == prefixAlways || u.words.prefix == prefixFirst && i == 0 && !leading
		if prefix && word != "" && !strings.HasPrefix(word, spaceMark) {
			word = spaceMark + word
		}
		for word != "" {
			end := len(word)
			if u.words.meta {
				_, size := utf8.DecodeRuneInString(word)
				if at := strings.Index(word[size:], spaceMark); at >= 0 {
					end = size + at
				}
			}
			if !yield(word[:end]) {
				return
			}
			word = word[end:]
		}
	}
}

func startsWithSpace(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsSpace(r)
}

// singleSpaces makes one space of several.
func singleSpaces(text string) string {
	if !strings.Contains(text, "  ") {
		return text
	}
	var b strings.Builder
	after := false
	for _, r := range text {
		if r != ' ' || !after {
			b.WriteRune(r)
		}
		after = r == ' '
	}
	return b.String()
}

// viterbi is the memory in which words are covered.
type viterbi struct {
	ends []node
	ids  []int32
}

// node is the best way to cover a word up to some byte: the piece that ends there.
type node struct {
	score float64
	start int // −1 while nothing ends there
	id    int32
}

// cover returns the ids of the best cover of a word. Unknown characters side by
// side are one token. The slice is good until the next call.
func (v *viterbi) cover(u *Unigram, word string) []int32 {
	v.ends = slices.Grow(v.ends[:0], len(word)+1)[:len(word)+1]
	for i := range v.ends {
		v.ends[i] = node{start: -1}
	}
	for start, r := range word {
		width := utf8.RuneLen(r)
		before := v.ends[start].score
		single := false
		reach := func(end int, score float64, id int32) {
			if n := &v.ends[end]; n.start < 0 || score > n.score {
				*n = node{score, start, id}
			}
		}
		u.eachPrefix(word[start:], func(p *scoredPiece) {
			reach(start+len(p.text), before+p.score, p.id)
			single = single || len(p.text) == width
		})
		if !single {
			reach(start+width, before+u.unknownScore, u.unknown)
		}
	}
	v.ids = v.ids[:0]
	for end := len(word); end > 0; {
		id, start := v.ends[end].id, v.ends[end].start
		if id == u.unknown {
			for start > 0 && v.ends[start].id == u.unknown {
				start = v.ends[start].start
			}
			id = u.idOf(word[start:end])
		}
		v.ids = append(v.ids, id)
		end = start
	}
	slices.Reverse(v.ids)
	return v.ids
}

// idOf is the id of a piece, or the unknown one.
func (u *Unigram) idOf(text string) int32 {
	i, found := slices.BinarySearchFunc(u.pieces, text, func(p scoredPiece, t string) int { return strings.Compare(p.text, t) })
	if !found {
		return u.unknown
	}
	return u.pieces[i].id
}

// eachPrefix hands over the pieces that text begins with, from the shortest on.
func (u *Unigram) eachPrefix(text string, yield func(*scoredPiece)) {
	// In order of text, the pieces that share a beginning stand together, the
	// beginning itself first.
	low, high := 0, len(u.pieces)
	for n := 1; n <= len(text) && low < high; n++ {
		c := text[n-1]
		low += search(u.pieces[low:high], func(p *scoredPiece) bool { return len(p.text) >= n && p.text[n-1] >= c })
		high = low + search(u.pieces[low:high], func(p *scoredPiece) bool { return p.text[n-1] > c })
		if low < high && len(u.pieces[low].text) == n {
			yield(&u.pieces[low])
		}
	}
}

// search returns the index of the first piece that is far enough.
func search(pieces []scoredPiece, far func(*scoredPiece) bool) int {
	low, high := 0, len(pieces)
	for low < high {
		if middle := (low + high) / 2; far(&pieces[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// charsmap is a table of SentencePiece that replaces characters: a double-array
// trie (Darts) whose values are places in a text of replacements, each ended by a
// zero byte.
type charsmap struct {
	units        []uint32
	replacements string
}

// maxCharsmap bounds a table, in bytes; that of XLM-R has 240 KB.
const maxCharsmap = 16 << 20

// readCharsmap reads a precompiled table: the trie's length in 4 bytes, the trie,
// the replacements.
func readCharsmap(data []byte) (*charsmap, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no table is one that changes nothing
	}
	if len(data) < 4 || len(data) > maxCharsmap {
		return nil, fmt.Errorf("read the table of characters: it has %d bytes", len(data))
	}
	n := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
	if n%4 != 0 || uint64(n) > uint64(len(data)-4) || n == 0 {
		return nil, errors.New("read the table of characters: its trie is cut off")
	}
	m := &charsmap{units: make([]uint32, n/4), replacements: string(data[4+n:])}
	for i := range m.units {
		b := data[4+4*i:]
		m.units[i] = uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	if !utf8.ValidString(m.replacements) {
		return nil, errors.New("read the table of characters: its replacements are not UTF-8")
	}
	return m, nil
}

// longCluster is the length in bytes from which characters that belong together
// are looked up one by one only.
const longCluster = 6

// normalize replaces what the table names. A nil table changes nothing.
func (m *charsmap) normalize(text string) string {
	if m == nil {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for state := -1; text != ""; {
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		if len(cluster) < longCluster {
			if replacement, ok := m.lookup(cluster); ok {
				b.WriteString(replacement)
				continue
			}
		}
		for _, r := range cluster {
			part := string(r)
			if replacement, ok := m.lookup(part); ok {
				part = replacement
			}
			b.WriteString(part)
		}
	}
	return b.String()
}

// lookup finds the replacement of the shortest entry that text begins with. That
// it is the shortest, and that what follows it is dropped with it, is how the
// reference does it.
func (m *charsmap) lookup(text string) (string, bool) {
	at := offset(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		if c == 0 {
			break
		}
		at ^= c
		if uint64(at) >= uint64(len(m.units)) {
			break
		}
		unit := m.units[at]
		if unit&(1<<31|0xFF) != c {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if uint64(at) >= uint64(len(m.units)) {
			break
		}
		place := m.units[at] & (1<<31 - 1)
		if uint64(place) >= uint64(len(m.replacements)) || !utf8.RuneStart(m.replacements[place]) {
			break
		}
		replacement, _, _ := strings.Cut(m.replacements[place:], "\x00")
		return replacement, true
	}
	return "", false
}

// offset is how far a unit's children are from it.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
