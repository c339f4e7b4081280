package schemasearch

import (
	"cmp"
	"slices"
	"strings"
)

// hit is an entry with its score.
type hit struct {
	entry int32
	score float32
}

// tailShare is the share of the best score below which an entry is no hit.
const tailShare = 0.25

// Bounds on what an unknown word may stand for.
const (
	shortestPrefix = 3
	shortestTypo   = 5
	mostReadings   = 8
	mostGuesses    = 8 // unknown words of a query that are looked into
)

// terms reads a query: each word is the numbers of the known words it may stand
// for. A word that the schema does not know is taken apart or put together with
// the next, else it is read as the beginning of known words, else as one that
// differs in a letter; if nothing comes of it, it does not count.
func (x *Index) terms(queries []string) [][]int32 {
	var words []string
	for _, q := range queries {
		for _, w := range textWords(q) {
			if len(words) < maxTerms && !stopWord(w) && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if len(words) == maxTerms {
			break
		}
	}
	var terms [][]int32
	add := func(ids ...int32) {
		if len(ids) > 0 && !slices.ContainsFunc(terms, func(t []int32) bool { return slices.Equal(t, ids) }) {
			terms = append(terms, ids)
		}
	}
	guesses := 0
	for i, w := range words {
		if id, ok := x.words[stem(w)]; ok {
			add(id)
			continue
		}
		if guesses++; guesses > mostGuesses {
			continue
		}
		joined := false
		for _, pair := range [][2]int{{i - 1, i}, {i, i + 1}} {
			if pair[0] >= 0 && pair[1] < len(words) {
				if id, ok := x.words[stem(words[pair[0]]+words[pair[1]])]; ok {
					add(id)
					joined = true
				}
			}
		}
		if joined {
			continue
		}
		if parts := x.split(w); parts != nil {
			for _, id := range parts {
				add(id)
			}
			continue
		}
		if readings := x.prefixed(w); readings != nil {
			add(readings...)
			continue
		}
		add(x.similar(w)...)
	}
	return terms
}

// split takes a word apart into two known ones: "reviewthreads".
func (x *Index) split(word string) []int32 {
	for i := shortestPrefix; i <= len(word)-shortestPrefix; i++ {
		first, ok1 := x.words[stem(word[:i])]
		second, ok2 := x.words[stem(word[i:])]
		if ok1 && ok2 {
			return []int32{first, second}
		}
	}
	return nil
}

// prefixed are known words that a word begins: "repo".
func (x *Index) prefixed(word string) []int32 {
	if len(word) < shortestPrefix {
		return nil
	}
	start, _ := slices.BinarySearch(x.spelled, word)
	var ids []int32
	for _, s := range x.spelled[start:] {
		if !strings.HasPrefix(s, word) || len(ids) == mostReadings {
			break
		}
		if id := x.forms[s]; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// similar are known words that differ from a word in one letter.
func (x *Index) similar(word string) []int32 {
	if len(word) < shortestTypo {
		return nil
	}
	var ids []int32
	for _, s := range x.spelled {
		if id := x.forms[s]; oneEdit(s, word) && !slices.Contains(ids, id) {
			if ids = append(ids, id); len(ids) == mostReadings {
				break
			}
		}
	}
	return ids
}

// oneEdit tells whether a letter more, less, other or swapped makes a word the other.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return false // the same
	}
	return a[i+1:] == b[i+1:] ||
		i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// rank gives the hits of a query, the best first: by the sum of what the words
// give, times the share of the query that an entry has (by the words' rarity).
func (x *Index) rank(terms [][]int32) []hit {
	scores := make([]float32, len(x.entries))
	covered := make([]float32, len(x.entries))
	var touched []int32
	total := float32(0)
	add := func(p posting, rarity float32) {
		if covered[p.entry] == 0 {
			touched = append(touched, p.entry)
		}
		scores[p.entry] += p.weight
		covered[p.entry] += rarity
	}
	for _, readings := range terms {
		rarity := float32(0)
		for _, w := range readings {
			rarity = max(rarity, x.idf[w])
		}
		total += rarity
		if len(readings) == 1 {
			for _, p := range x.postings[readings[0]] {
				add(p, rarity)
			}
			continue
		}
		best := map[int32]float32{} // of several readings the best counts
		for _, w := range readings {
			for _, p := range x.postings[w] {
				best[p.entry] = max(best[p.entry], p.weight)
			}
		}
		for entry, weight := range best {
			add(posting{entry, weight}, rarity)
		}
	}
	best := float32(0)
	for _, i := range touched {
		e := &x.entries[i]
		scores[i] *= covered[i] / total
		asked := func(w int32) bool {
			return slices.ContainsFunc(terms, func(t []int32) bool { return slices.Contains(t, w) })
		}
		whole := all(e.nameWords, asked)
		if whole {
			scores[i] *= wholeShare
		} else if e.mutation && e.depth == 1 {
			scores[i] *= unaskedShare
		}
		if all(e.parentWords, asked) {
			scores[i] *= wholeShare
		}
		best = max(best, scores[i])
	}
	hits := make([]hit, 0, len(touched))
	for _, i := range touched {
		if scores[i] >= best*tailShare {
			hits = append(hits, hit{i, scores[i]})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(x.entries[a.entry].depth, x.entries[b.entry].depth), cmp.Compare(a.entry, b.entry))
	})
	return hits
}

func all(words []int32, is func(int32) bool) bool {
	for _, w := range words {
		if !is(w) {
			return false
		}
	}
	return true
}
