package kernel

import (
	"slices"

	"golang.org/x/sys/cpu"
)

func available() []Kernel {
	kernels := make([]Kernel, 0, 4)
	narrow := cpu.X86.HasAVX2 && cpu.X86.HasFMA
	if narrow && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI {
		kernels = append(kernels, avx512{})
	}
	if narrow && cpu.X86.HasAVXVNNI {
		kernels = append(kernels, avxvnni{})
	}
	if narrow {
		kernels = append(kernels, avx2{})
	}
	return append(kernels, generic{})
}

// avx2 uses 32-byte vectors. Activations are kept as 16-bit words.
type avx2 struct{}

// avxvnni is avx2 with the dot products of AVX-VNNI, which read bytes.
type avxvnni struct{ avx2 }

// avx512 uses 64-byte vectors and the dot products of AVX-512 VNNI.
type avx512 struct{}

func (avx2) Name() string    { return "avx2" }
func (avxvnni) Name() string { return "avxvnni" }
func (avx512) Name() string  { return "avx512" }

func (avx2) Quantize(dst *Rows, src []float32, depth int) {
	quantize(dst, &dst.words, src, depth, extremesAVX2, quantizeWordsAVX2)
}

func (avxvnni) Quantize(dst *Rows, src []float32, depth int) {
	quantize(dst, &dst.bytes, src, depth, extremesAVX2, quantizeBytesAVX2)
}

func (avx512) Quantize(dst *Rows, src []float32, depth int) {
	quantize(dst, &dst.bytes, src, depth, extremesAVX512, quantizeBytesAVX512)
}

func (avx2) Linear(dst []float32, x *Rows, w *Matrix) {
	linear(dst, x, x.words, w, 8, dotTile[int16]{6, dotWordsAVX2x6}, dotTile[int16]{3, dotWordsAVX2x3}, dotTile[int16]{1, dotWordsAVX2x1})
}

func (avxvnni) Linear(dst []float32, x *Rows, w *Matrix) {
	linear(dst, x, x.bytes, w, 16, dotTile[uint8]{6, dotBytesAVX2x6}, dotTile[uint8]{3, dotBytesAVX2x3}, dotTile[uint8]{1, dotBytesAVX2x1})
}

func (avx512) Linear(dst []float32, x *Rows, w *Matrix) {
	linear(dst, x, x.bytes, w, 32, dotTile[uint8]{12, dotBytesAVX512x12}, dotTile[uint8]{4, dotBytesAVX512x4}, dotTile[uint8]{1, dotBytesAVX512x1})
}

func (avx2) Columns() int   { return 16 }
func (avx512) Columns() int { return 32 }

func (avx2) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	matMul(dst, ldd, a, lda, b, factors, n, k, 16, matMulTile{6, matMulAVX2x6}, matMulTile{3, matMulAVX2x3}, matMulTile{1, matMulAVX2x1})
}

func (avx512) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	matMul(dst, ldd, a, lda, b, factors, n, k, 32, matMulTile{12, matMulAVX512x12}, matMulTile{4, matMulAVX512x4}, matMulTile{1, matMulAVX512x1})
}

func (avx2) Softmax(row []float32, n int) float32 {
	return 1 / softmaxAVX2(&row[0], padded(row, n))
}

func (avx512) Softmax(row []float32, n int) float32 {
	return 1 / softmaxAVX512(&row[0], padded(row, n))
}

func (avx2) GELU(x []float32) {
	for part := range slices.Chunk(x, geluBatch) {
		geluAVX2(&part[0], len(part))
	}
}

func (avx512) GELU(x []float32) {
	for part := range slices.Chunk(x, geluBatch) {
		geluAVX512(&part[0], len(part))
	}
}

func (avx2) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	addNorm(x, residual, gain, bias, epsilon, addNormAVX2)
}

func (avx512) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	addNorm(x, residual, gain, bias, epsilon, addNormAVX512)
}

func (k avx2) Transpose(dst, src []float32, n, width, stride int) {
	transpose(dst, src, n, width, stride, k.Columns(), 8, transposeAVX2)
}

func (k avx512) Transpose(dst, src []float32, n, width, stride int) {
	transpose(dst, src, n, width, stride, k.Columns(), 8, transposeAVX2)
}
