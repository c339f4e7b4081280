// Package lexical turns text into sparse vectors of term weights, such that the
// dot product of a query's and a passage's vector is the BM25 score.
package lexical

// Vector is a sparse vector. Terms are hashes, ascending and unique; Weights
// are parallel to them.
type Vector struct {
	Terms   []uint32
	Weights []float32
}
