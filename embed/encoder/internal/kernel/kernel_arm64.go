package kernel

import (
	"slices"

	"golang.org/x/sys/cpu"
)

func available() []Kernel {
	kernels := make([]Kernel, 0, 3)
	if cpu.ARM64.HasASIMDDP {
		kernels = append(kernels, dotprod{})
	}
	return append(kernels, neon{}, generic{})
}

// neon uses Advanced SIMD, which all processors of the architecture that Go runs
// on have. Activations are kept as signed bytes: levels less 128.
type neon struct{}

// dotprod is neon with the dot products of FEAT_DotProd.
type dotprod struct{ neon }

func (neon) Name() string    { return "neon" }
func (dotprod) Name() string { return "dotprod" }

func (neon) Quantize(dst *Rows, src []float32, depth int) {
	quantize(dst, &dst.signed, src, depth, extremes, quantizeBytes)
}

func (neon) Linear(dst []float32, x *Rows, w *Matrix) {
	linear(dst, x, x.signed, w, 8, dotTile[int8]{4, dotPairsX4}, dotTile[int8]{1, dotPairsX1})
}

func (dotprod) Linear(dst []float32, x *Rows, w *Matrix) {
	linear(dst, x, x.signed, w, 16, dotTile[int8]{6, dotProductsX6}, dotTile[int8]{3, dotProductsX3}, dotTile[int8]{1, dotProductsX1})
}

func (neon) Columns() int { return 16 }

func (neon) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	matMul(dst, ldd, a, lda, b, factors, n, k, 16, matMulTile{6, matMulX6}, matMulTile{3, matMulX3}, matMulTile{1, matMulX1})
}

func (k neon) Transpose(dst, src []float32, n, width, stride int) {
	transpose(dst, src, n, width, stride, k.Columns(), 4, transposeBlock)
}

func (neon) Softmax(row []float32, n int) float32 {
	return 1 / softmax(&row[0], padded(row, n))
}

func (neon) GELU(x []float32) {
	for part := range slices.Chunk(x, geluBatch) {
		gelu(&part[0], len(part))
	}
}

func (neon) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	addNorm(x, residual, gain, bias, epsilon, addNormRow)
}
