// Package lexical turns text into sparse vectors of term weights, such that the
// dot product of a query's and a passage's vector is the BM25 score (Robertson
// and Zaragoza, The Probabilistic Relevance Framework, 2009).
//
// One code makes the vectors of the index and of the query. A passage's weights
// depend on the passage alone, so a page that did not change keeps its vector;
// what depends on the collection, the inverse document frequency, is put into
// the query's vector (see [IDF]).
//
// Terms are 32-bit FNV-1a hashes. A query term collides with some term of a
// vocabulary of 100,000 terms with a probability of 0.002 %.
package lexical

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/docseek/docseek"
)

// Vector is a sparse vector. Terms are hashes, ascending and unique; Weights
// are parallel to them.
type Vector struct {
	Terms   []uint32
	Weights []float32
}

// Dot is the dot product of two vectors.
func (v Vector) Dot(o Vector) float64 {
	var sum float64
	for i, j := 0, 0; i < len(v.Terms) && j < len(o.Terms); {
		switch a, b := v.Terms[i], o.Terms[j]; {
		case a < b:
			i++
		case a > b:
			j++
		default:
			sum += float64(v.Weights[i]) * float64(o.Weights[j])
			i++
			j++
		}
	}
	return sum
}

// Bounds on what is analysed. A chunk is far smaller; they are there for
// whatever else is handed in.
const (
	maxFieldBytes   = 64 << 10
	maxQueryBytes   = 8 << 10
	maxPassageTerms = 4096
	// MaxQueryTerms is the most terms that a query has; the first ones are kept.
	MaxQueryTerms = 128
)

// Analyzer makes vectors. It is immutable and safe for concurrent use.
type Analyzer struct {
	k1, b float64
	// average stands for the mean length of a passage. It is a constant, since
	// chunks have a bounded size and a weight must not change when another page does.
	average float64
	// heading is what an occurrence in the title or heading path counts.
	heading float32
	// exact is what a word's unstemmed form counts beside its stem.
	exact float32
	// whole is what an identifier as a whole counts beside its parts.
	whole float32
	// stop is what a stop word counts in a query.
	stop float32
}

// New returns the analyzer that indexes and queries are made with.
func New() *Analyzer {
	return &Analyzer{k1: 1.2, b: 0.75, average: 120, heading: 3, exact: 0.5, whole: 1, stop: 0.5}
}

// Field is a part of a passage. An occurrence of a term in it counts Weight.
type Field struct {
	Text   string
	Weight float32
}

// Chunk is the vector of a chunk: its title and heading path, which count
// three times, and its text.
func (a *Analyzer) Chunk(c docseek.Chunk) Vector {
	fields := make([]Field, 0, len(c.Path)+2)
	if len(c.Path) == 0 || c.Path[0] != c.Title {
		fields = append(fields, Field{c.Title, a.heading})
	}
	for _, title := range c.Path {
		fields = append(fields, Field{title, a.heading})
	}
	return a.Passage(c.Language, append(fields, Field{c.Text, 1})...)
}

// Passage is the vector of a text in a language (a BCP 47 tag; English if it is
// empty). The weight of a term with frequency f in a passage of n words is
// f·(k+1) / (f + k·(1−b+b·n/average)), with k = 1.2 and b = 0.75.
func (a *Analyzer) Passage(language string, fields ...Field) Vector {
	stem := stemmerOf(language)
	var counts []count
	length := 0.0
	for _, field := range fields {
		scan(prepare(field.Text, maxFieldBytes), func(surface string, form form) bool {
			switch form {
			case word, joined:
				folded := lower(surface)
				stemmed := fold(stem(folded))
				counts = append(counts, count{hash(stemmed), field.Weight})
				if exact := fold(folded); exact != stemmed && a.exact > 0 {
					counts = append(counts, count{hash(exact), field.Weight})
				}
			case whole, character:
				counts = append(counts, count{hash(fold(lower(surface))), field.Weight})
			}
			if form == word {
				length++
			}
			return len(counts) < maxPassageTerms
		})
	}
	slices.SortFunc(counts, func(x, y count) int { return cmp.Compare(x.term, y.term) })
	v := Vector{Terms: make([]uint32, 0, len(counts)), Weights: make([]float32, 0, len(counts))}
	norm := a.k1 * (1 - a.b + a.b*length/a.average)
	for i := 0; i < len(counts); {
		var f float64
		term := counts[i].term
		for ; i < len(counts) && counts[i].term == term; i++ {
			f += float64(counts[i].weight)
		}
		v.Terms = append(v.Terms, term)
		v.Weights = append(v.Weights, float32(f*(a.k1+1)/(f+norm)))
	}
	return v
}

type count struct {
	term   uint32
	weight float32
}

// Term is a term of a query.
type Term struct {
	// Word is the part of the query that the term stands for, in lower case.
	Word string
	Hash uint32
	// Weight is what the term counts beside its inverse document frequency.
	Weight float32
}

// Query analyses a query in a language (a BCP 47 tag; English if it is empty).
// Any text is a query; one without a word or number has no terms. Terms are
// unique and in the order of the text. What a word adds beside its stem, its
// exact form and the whole identifier that it is a part of, are terms of their own.
func (a *Analyzer) Query(language, text string) []Term {
	stem, stops := stemmerOf(language), stopWordsOf(language)
	var terms []Term
	seen := map[uint32]int{}
	add := func(w, t string, weight float32) {
		h := hash(t)
		if i, found := seen[h]; found {
			terms[i].Weight = max(terms[i].Weight, weight)
			return
		}
		seen[h] = len(terms)
		terms = append(terms, Term{Word: w, Hash: h, Weight: weight})
	}
	scan(prepare(text, maxQueryBytes), func(surface string, form form) bool {
		folded := lower(surface)
		exact := fold(folded)
		switch form {
		case word, joined:
			weight := float32(1)
			if form == joined {
				weight = a.whole
			} else if stops.has(exact) {
				weight = a.stop
			}
			stemmed := fold(stem(folded))
			add(exact, stemmed, weight)
			if exact != stemmed && a.exact > 0 {
				add(exact, exact, weight*a.exact)
			}
		case whole:
			add(exact, exact, a.whole)
		case character:
		}
		return len(terms) < MaxQueryTerms
	})
	return terms[:min(len(terms), MaxQueryTerms)]
}

// Vectorize makes a query's vector: each term's weight times its inverse
// document frequency. Frequency is parallel to the terms; terms that occur in
// no chunk are left out.
func Vectorize(terms []Term, chunks int, frequency []int) Vector {
	var v Vector
	order := make([]int, 0, len(terms))
	for i := range terms {
		if frequency[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(terms[i].Hash, terms[j].Hash) })
	for _, i := range order {
		v.Terms = append(v.Terms, terms[i].Hash)
		v.Weights = append(v.Weights, terms[i].Weight*float32(IDF(chunks, frequency[i])))
	}
	return v
}

// Bound is what no passage's score for a query reaches: that of a passage full
// of each of the query's terms.
func (a *Analyzer) Bound(query Vector) float64 {
	var sum float64
	for _, w := range query.Weights {
		sum += float64(w)
	}
	return sum * (a.k1 + 1)
}

// IDF is the inverse document frequency of a term that occurs in frequency of
// chunks: ln(1 + (chunks − frequency + 0.5) / (frequency + 0.5)).
func IDF(chunks, frequency int) float64 {
	n, df := float64(chunks), float64(min(frequency, chunks))
	return math.Log1p((n - df + 0.5) / (df + 0.5))
}

// prepare bounds a text and brings it to Unicode's compatibility form (NFKC).
func prepare(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return norm.NFKC.String(text)
}

// hash is FNV-1a with 32 bits.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
