package qdrant

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/qdrant/go-client/qdrant"
)

const (
	kindStats = "stats"
	// partTerms bounds the terms of one point of statistics.
	partTerms = 1 << 16
)

// frequencies say for a set of terms in how many chunks each occurs: those of
// one run count what it added and, negative, what it replaced. The terms are
// ascending.
type frequencies struct {
	terms  []uint32
	counts []int32
}

// tally counts terms while a run writes.
type tally map[uint32]int32

func (t tally) add(terms []uint32, n int32) {
	for _, term := range terms {
		t[term] += n
	}
}

func (t tally) sum(f frequencies) {
	for i, term := range f.terms {
		t[term] += f.counts[i]
	}
}

// parts cuts the tally into pieces that fit a point each.
func (t tally) parts() []frequencies {
	maps.DeleteFunc(t, func(_ uint32, n int32) bool { return n == 0 })
	var parts []frequencies
	for terms := range slices.Chunk(slices.Sorted(maps.Keys(t)), partTerms) {
		f := frequencies{terms: terms, counts: make([]int32, len(terms))}
		for i, term := range terms {
			f.counts[i] = t[term]
		}
		parts = append(parts, f)
	}
	return parts
}

// of is the count of a term.
func (f frequencies) of(term uint32) int {
	i, ok := slices.BinarySearch(f.terms, term)
	if !ok {
		return 0
	}
	return int(f.counts[i])
}

// encode writes the differences of the terms and the counts as varints, in base64.
func (f frequencies) encode() *qdrant.Value {
	var b []byte
	before := uint32(0)
	for i, term := range f.terms {
		b = binary.AppendUvarint(b, uint64(term-before))
		b = binary.AppendVarint(b, int64(f.counts[i]))
		before = term
	}
	return text(base64.StdEncoding.EncodeToString(b))
}

var errDamaged = errors.New("the statistics are damaged: reindex the source with --full")

func decodeFrequencies(v *qdrant.Value) (frequencies, error) {
	b, err := base64.StdEncoding.DecodeString(v.GetStringValue())
	if err != nil {
		return frequencies{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	var f frequencies
	term := uint64(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || d > 1<<32-1 {
			return frequencies{}, errDamaged
		}
		b = b[n:]
		c, n := binary.Varint(b)
		if n <= 0 || c != int64(int32(c)) {
			return frequencies{}, errDamaged
		}
		b = b[n:]
		term += d
		if term > 1<<32-1 || (d == 0 && len(f.terms) > 0) {
			return frequencies{}, errDamaged
		}
		f.terms = append(f.terms, uint32(term))
		f.counts = append(f.counts, int32(c))
	}
	return f, nil
}
