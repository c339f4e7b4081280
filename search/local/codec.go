package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/docseek/docseek/search/lexical"
)

var errLexical = fmt.Errorf("a lexical vector cannot be read: %w", errDamaged)

// appendDense appends the values as little-endian IEEE 754 single precision.
func appendDense(to []byte, v []float32) []byte {
	for _, x := range v {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(x))
	}
	return to
}

// decodeDense appends the dim values of data to the vector.
func decodeDense(to []float32, data []byte, dim int) ([]float32, error) {
	if len(data) != 4*dim {
		return to, fmt.Errorf("a vector has %d bytes for %d values: %w", len(data), dim, errDamaged)
	}
	for ; len(data) > 0; data = data[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return to, nil
}

// encodeLexical writes the number of terms, then the distance of each term from
// the one before as a varint, then the weights.
func encodeLexical(v lexical.Vector) []byte {
	to := binary.AppendUvarint(make([]byte, 0, 8+8*len(v.Terms)), uint64(len(v.Terms)))
	last := uint32(0)
	for _, t := range v.Terms {
		to = binary.AppendUvarint(to, uint64(t-last))
		last = t
	}
	return appendDense(to, v.Weights)
}

// decodeLexical calls yield for each term and weight of the data.
func decodeLexical(data []byte, yield func(term uint32, weight float32)) error {
	n, size := binary.Uvarint(data)
	// A term takes at least five bytes: one for the distance, four for the weight.
	if size <= 0 || n > uint64(len(data))/5 {
		return errLexical
	}
	weights := len(data) - 4*int(n)
	if weights < size {
		return errLexical
	}
	distances := data[size:weights]
	term := uint64(0)
	for i := range int(n) {
		distance, size := binary.Uvarint(distances)
		term += distance
		if size <= 0 || term > math.MaxUint32 || (i > 0 && distance == 0) {
			return errLexical
		}
		distances = distances[size:]
		yield(uint32(term), math.Float32frombits(binary.LittleEndian.Uint32(data[weights+4*i:])))
	}
	if len(distances) != 0 {
		return errLexical
	}
	return nil
}

// checkLexical reports what keeps a vector from being stored.
func checkLexical(v lexical.Vector) error {
	if len(v.Terms) != len(v.Weights) {
		return fmt.Errorf("lexical vector has %d terms and %d weights", len(v.Terms), len(v.Weights))
	}
	for i, t := range v.Terms {
		if i > 0 && t <= v.Terms[i-1] {
			return errors.New("terms of the lexical vector are not ascending")
		}
		if !finite(float64(v.Weights[i])) {
			return errors.New("lexical vector has a weight that is no number")
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// checkUnit reports whether the vector has length 1, as a cosine by dot product needs.
func checkUnit(v []float32) error {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if math.Abs(square-1) > 1e-2 || math.IsNaN(square) {
		return fmt.Errorf("vector has length %.4g, not 1", math.Sqrt(square))
	}
	return nil
}
