// Package kernel holds the arithmetic of an encoder's forward pass: one plain
// Go implementation that runs everywhere, and faster ones per instruction set.
//
// All of them give the same bits. They multiply the same 8-bit integers and add
// them up exactly, and they do the same floating-point operations in the same
// order, multiplying and adding with one rounding. Less would not do: activations
// are rounded to 8 bits again and again, which blows up a difference in the last
// bit of a float to the size of the rounding noise.
package kernel

import (
	"fmt"
	"slices"
	"strings"
)

//go:generate go run ./asm -out vector_amd64.s -stubs vector_amd64.go -pkg kernel
//go:generate go run ./asm/neon -out vector_arm64.s -stubs vector_arm64.go

const (
	// Panel is the number of columns that stand together in a [Matrix].
	Panel = 32
	// Group is the number of consecutive rows of a [Matrix] that stand together.
	Group = 4
	// MaxDepth bounds the inner dimension of a product, so that the sum of
	// MaxDepth products of 255 and -127 fits into 32 bits.
	MaxDepth = 1 << 16
)

// Matrix is a Depth × Width matrix of weights, quantised symmetrically per
// column: the weight in row k and column j is Values[j/32][k/4][j%32][k%4] ·
// Scale[j]. Depth is a multiple of 16 and Width of 32.
type Matrix struct {
	Depth, Width int
	Values       []int8
	// Sum holds the sum of each column of Values.
	Sum []int32
	// Scale and Bias hold a number per column.
	Scale, Bias []float32
}

// Rows are rows of activations, quantised asymmetrically each: element k of
// row i is (value[i][k] − zero[i]) · scale[i]. In which form the values are
// kept is up to the kernel that wrote them.
type Rows struct {
	bytes  []uint8
	words  []int16
	signed []int8
	scale  []float32
	zero   []int32
}

// Kernel is one implementation of the operations. It has no state and is safe
// for concurrent use. Slices have the lengths that are said, which is the
// caller's duty; nothing is checked in the innermost loops.
type Kernel interface {
	// Name says which instructions the kernel uses.
	Name() string
	// Quantize fills dst with len(src)/depth rows of src; depth is a multiple of 16.
	Quantize(dst *Rows, src []float32, depth int)
	// Linear sets row i of dst, which has w.Width columns, to row i of x times w
	// plus the bias.
	Linear(dst []float32, x *Rows, w *Matrix)
	// Columns is the number of columns of a panel in MatMul.
	Columns() int
	// MatMul sets dst, which has len(factors) rows and n columns, to a times b,
	// row i times factors[i]. a has k columns, b is laid out in panels,
	// b[j/Columns][row][j%Columns]. ldd and lda are the distances between the
	// rows of dst and a. n is a multiple of Columns.
	MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int)
	// Transpose sets dst to the panels of the transpose of src, which has n rows
	// of width, a multiple of 8, at the given distance. What lies behind column n
	// in the last panel becomes zero.
	Transpose(dst, src []float32, n, width, stride int)
	// Softmax turns the first n numbers x of row into exp(x − max) and returns
	// one over their sum. What lies behind them, up to the next multiple of
	// Columns, may be overwritten.
	Softmax(row []float32, n int) float32
	// GELU applies the exact Gaussian error linear unit, x·Φ(x), to each element
	// of x, whose length is a multiple of 16.
	GELU(x []float32)
	// AddNorm sets x to the layer normalisation of x + residual, which have
	// len(gain) columns, a multiple of 16.
	AddNorm(x, residual, gain, bias []float32, epsilon float32)
}

// Select returns the kernel with the given name, or the fastest one that runs
// on this machine if name is empty.
func Select(name string) (Kernel, error) {
	kernels := available()
	if name == "" {
		return kernels[0], nil
	}
	names := make([]string, len(kernels))
	for i, k := range kernels {
		names[i] = k.Name()
	}
	if i := slices.Index(names, name); i >= 0 {
		return kernels[i], nil
	}
	return nil, fmt.Errorf("select kernel %q: this machine runs %s", name, strings.Join(names, ", "))
}

// All returns the kernels that run on this machine, the fastest first.
func All() []Kernel { return available() }

// reset makes room for the scales of the rows in n elements, and counts them.
func (r *Rows) reset(n, depth int) int {
	rows := n / depth
	r.scale, r.zero = resize(r.scale, rows), resize(r.zero, rows)
	return rows
}

// resize returns s with length n, and its elements as they may be.
func resize[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// Set sets the value in row k and column j, which must not have been set before.
func (m *Matrix) Set(k, j int, value int8) {
	m.Values[(j/Panel*(m.Depth/Group)+k/Group)*Panel*Group+j%Panel*Group+k%Group] = value
	m.Sum[j] += int32(value)
}
