package kernel

import (
	"slices"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./asm -out vector_amd64.s -stubs vector_amd64.go -pkg kernel

func available() []Kernel {
	kernels := make([]Kernel, 0, 3)
	narrow := cpu.X86.HasAVX2 && cpu.X86.HasFMA
	if narrow && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI {
		kernels = append(kernels, avx512{})
	}
	if narrow {
		kernels = append(kernels, avx2{})
	}
	return append(kernels, generic{})
}

// avx2 uses 32-byte vectors. Activations are kept as 16-bit words.
type avx2 struct{}

// avx512 uses 64-byte vectors and the dot products of VNNI.
type avx512 struct{}

func (avx2) Name() string   { return "avx2" }
func (avx512) Name() string { return "avx512" }

func (avx2) Quantize(dst *Rows, src []float32, depth int) {
	n := dst.reset(len(src), depth)
	dst.words = resize(dst.words, len(src))
	for i := range n {
		row := src[i*depth : (i+1)*depth]
		least, most := extremesAVX2(&row[0], depth)
		scale, inverse, zero := levels(least, most)
		dst.scale[i], dst.zero[i] = scale, zero
		quantizeAVX2(&dst.words[i*depth], &row[0], depth, inverse, zero)
	}
}

func (avx512) Quantize(dst *Rows, src []float32, depth int) {
	n := dst.reset(len(src), depth)
	dst.bytes = resize(dst.bytes, len(src))
	for i := range n {
		row := src[i*depth : (i+1)*depth]
		least, most := extremesAVX512(&row[0], depth)
		scale, inverse, zero := levels(least, most)
		dst.scale[i], dst.zero[i] = scale, zero
		quantizeAVX512(&dst.bytes[i*depth], &row[0], depth, inverse, zero)
	}
}

func (avx2) Linear(dst []float32, x *Rows, w *Matrix) {
	const columns = 8
	lda, ldd := 2*w.Depth, 4*w.Width
	for j := 0; j < w.Width; j += columns {
		values := &w.Values[j/Panel*Panel*w.Depth+j%Panel*Group]
		sum, scale, bias := &w.Sum[j], &w.Scale[j], &w.Bias[j]
		for i := 0; i < len(x.scale); {
			a, d := &x.words[i*w.Depth], &dst[i*w.Width+j]
			switch rest := len(x.scale) - i; {
			case rest >= 6:
				dotAVX2x6(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i += 6
			case rest >= 3:
				dotAVX2x3(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i += 3
			default:
				dotAVX2x1(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i++
			}
		}
	}
}

func (avx512) Linear(dst []float32, x *Rows, w *Matrix) {
	lda, ldd := w.Depth, 4*w.Width
	for j := 0; j < w.Width; j += Panel {
		values := &w.Values[j*w.Depth]
		sum, scale, bias := &w.Sum[j], &w.Scale[j], &w.Bias[j]
		for i := 0; i < len(x.scale); {
			a, d := &x.bytes[i*w.Depth], &dst[i*w.Width+j]
			switch rest := len(x.scale) - i; {
			case rest >= 12:
				dotVNNI12(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i += 12
			case rest >= 4:
				dotVNNI4(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i += 4
			default:
				dotVNNI1(a, lda, values, w.Depth, d, ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
				i++
			}
		}
	}
}

func (avx2) Columns() int   { return 16 }
func (avx512) Columns() int { return 32 }

func (avx2) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	for j := 0; j < n; j += 16 {
		panel := &b[j*k]
		for i := 0; i < len(factors); {
			x, d := &a[i*lda], &dst[i*ldd+j]
			switch rest := len(factors) - i; {
			case rest >= 6:
				matMulAVX2x6(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i += 6
			case rest >= 3:
				matMulAVX2x3(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i += 3
			default:
				matMulAVX2x1(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i++
			}
		}
	}
}

func (avx512) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	for j := 0; j < n; j += 32 {
		panel := &b[j*k]
		for i := 0; i < len(factors); {
			x, d := &a[i*lda], &dst[i*ldd+j]
			switch rest := len(factors) - i; {
			case rest >= 12:
				matMulAVX512x12(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i += 12
			case rest >= 4:
				matMulAVX512x4(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i += 4
			default:
				matMulAVX512x1(x, 4*lda, panel, k, d, 4*ldd, &factors[i])
				i++
			}
		}
	}
}

func (avx2) Softmax(row []float32, n int) float32 {
	return 1 / softmaxAVX2(&row[0], padded(row, n))
}

func (avx512) Softmax(row []float32, n int) float32 {
	return 1 / softmaxAVX512(&row[0], padded(row, n))
}

// padded fills row from n up to the next multiple of lanes with numbers whose
// exponential is as good as nothing, and returns that multiple.
func padded(row []float32, n int) int {
	end := (n + lanes - 1) / lanes * lanes
	for i := n; i < end; i++ {
		row[i] = -1e30
	}
	return end
}

// geluBatch is the number of elements that GELU hands to assembly at once.
const geluBatch = 4096

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
	for i := 0; i < len(x); i += len(gain) {
		addNormAVX2(&x[i], &residual[i], &gain[0], &bias[0], len(gain), epsilon)
	}
}

func (avx512) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	for i := 0; i < len(x); i += len(gain) {
		addNormAVX512(&x[i], &residual[i], &gain[0], &bias[0], len(gain), epsilon)
	}
}

func (k avx2) Transpose(dst, src []float32, n, width, stride int) {
	transposePanels(dst, src, n, width, stride, k.Columns())
}

func (k avx512) Transpose(dst, src []float32, n, width, stride int) {
	transposePanels(dst, src, n, width, stride, k.Columns())
}

// transposePanels is Transpose in blocks of 8 × 8.
func transposePanels(dst, src []float32, n, width, stride, columns int) {
	const block = 8
	whole := n / block * block
	for i := 0; i < whole; i += block {
		at := i/columns*columns*width + i%columns
		for d := 0; d < width; d += block {
			transposeAVX2(&dst[at+d*columns], 4*columns, &src[i*stride+d], 4*stride)
		}
	}
	transposeFrom(whole, dst, src, n, width, stride, columns)
}
