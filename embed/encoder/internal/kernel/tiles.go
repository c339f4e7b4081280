//go:build amd64 || arm64

package kernel

import "unsafe"

// dotTile computes rows rows of a product of quantised matrices, as wide as the
// assembly makes it. lda and ldd are in bytes; depth is a multiple of 16.
type dotTile[T uint8 | int8 | int16] struct {
	rows int
	do   func(a *T, lda int, b *int8, depth int, dst *float32, ldd int, zero *int32, scale *float32, sum *int32, columnScale, bias *float32)
}

// linear is Linear in tiles of the given number of columns, the highest tiles
// first and a single row last. values are the levels of x as the tiles read them.
func linear[T uint8 | int8 | int16](dst []float32, x *Rows, values []T, w *Matrix, columns int, tiles ...dotTile[T]) {
	lda, ldd := w.Depth*int(unsafe.Sizeof(values[0])), 4*w.Width
	for j := 0; j < w.Width; j += columns {
		b := &w.Values[j/Panel*Panel*w.Depth+j%Panel*Group]
		sum, scale, bias := &w.Sum[j], &w.Scale[j], &w.Bias[j]
		i := 0
		for _, tile := range tiles {
			for ; i+tile.rows <= len(x.scale); i += tile.rows {
				tile.do(&values[i*w.Depth], lda, b, w.Depth, &dst[i*w.Width+j], ldd, &x.zero[i], &x.scale[i], sum, scale, bias)
			}
		}
	}
}

// matMulTile computes rows rows of a matrix product, each times its factor, as
// wide as the assembly makes it. lda and ldd are in bytes.
type matMulTile struct {
	rows int
	do   func(a *float32, lda int, b *float32, depth int, dst *float32, ldd int, factor *float32)
}

// matMul is MatMul in tiles of the given number of columns, the highest tiles
// first and a single row last.
func matMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k, columns int, tiles ...matMulTile) {
	for j := 0; j < n; j += columns {
		i := 0
		for _, tile := range tiles {
			for ; i+tile.rows <= len(factors); i += tile.rows {
				tile.do(&a[i*lda], 4*lda, &b[j*k], k, &dst[i*ldd+j], 4*ldd, &factors[i])
			}
		}
	}
}

// quantize is Quantize with a function that finds the extremes of n numbers and
// one that stores their levels, which start at values, in the form it makes.
func quantize[T uint8 | int8 | int16](dst *Rows, values *[]T, src []float32, depth int,
	extremes func(x *float32, n int) (least, most float32),
	store func(dst *T, x *float32, n int, inverse float32, zero int32),
) {
	n := dst.reset(len(src), depth)
	*values = resize(*values, len(src))
	for i := range n {
		row := &src[i*depth]
		scale, inverse, zero := levels(extremes(row, depth))
		dst.scale[i], dst.zero[i] = scale, zero
		store(&(*values)[i*depth], row, depth, inverse, zero)
	}
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

// addNorm is AddNorm with a function for a row.
func addNorm(x, residual, gain, bias []float32, epsilon float32, row func(x, residual, gain, bias *float32, n int, epsilon float32)) {
	for i := 0; i < len(x); i += len(gain) {
		row(&x[i], &residual[i], &gain[0], &bias[0], len(gain), epsilon)
	}
}

// transpose is Transpose with a function for blocks of block × block, whose
// distances are in bytes.
func transpose(dst, src []float32, n, width, stride, columns, block int, turn func(dst *float32, ldd int, src *float32, lds int)) {
	whole := n / block * block
	for i := 0; i < whole; i += block {
		at := i/columns*columns*width + i%columns
		for d := 0; d < width; d += block {
			turn(&dst[at+d*columns], 4*columns, &src[i*stride+d], 4*stride)
		}
	}
	transposeFrom(whole, dst, src, n, width, stride, columns)
}
