package kernel

import (
	"math"
	"slices"
)

// generic is plain Go.
type generic struct{}

func (generic) Name() string { return "generic" }

func (generic) Quantize(dst *Rows, src []float32, depth int) {
	n := dst.reset(len(src), depth)
	dst.bytes = resize(dst.bytes, len(src))
	for i := range n {
		row := src[i*depth : (i+1)*depth]
		least, most := row[0], row[0]
		for _, x := range row {
			least, most = min(least, x), max(most, x)
		}
		scale, inverse, zero := levels(least, most)
		dst.scale[i], dst.zero[i] = scale, zero
		bytes := dst.bytes[i*depth : (i+1)*depth]
		for k, x := range row {
			bytes[k] = uint8(min(max(roundEven(x*inverse)+zero, 0), 255))
		}
	}
}

// levels spreads 256 levels over the numbers from least to most, with zero
// being one of them.
func levels(least, most float32) (scale, inverse float32, zero int32) {
	least, most = min(least, 0), max(most, 0)
	span := max(most-least, 1e-20)
	scale, inverse = span/255, 255/span
	return scale, inverse, roundEven(-least * inverse)
}

func roundEven(x float32) int32 { return int32(math.RoundToEven(float64(x))) }

func (generic) Linear(dst []float32, x *Rows, w *Matrix) {
	for p := 0; p < w.Width; p += Panel {
		values := w.Values[p*w.Depth : (p+Panel)*w.Depth]
		for i, scale := range x.scale {
			var sums [Panel]int32
			dot(&sums, x.bytes[i*w.Depth:(i+1)*w.Depth], values)
			out := dst[i*w.Width+p : i*w.Width+p+Panel]
			for j, sum := range sums {
				c := p + j
				out[j] = float32(sum-x.zero[i]*w.Sum[c])*(scale*w.Scale[c]) + w.Bias[c]
			}
		}
	}
}

// dot adds the products of a row and the columns of a panel to sums.
func dot(sums *[Panel]int32, row []uint8, panel []int8) {
	for len(row) >= Group && len(panel) >= Group*Panel {
		a0, a1, a2, a3 := int32(row[0]), int32(row[1]), int32(row[2]), int32(row[3])
		w := (*[Group * Panel]int8)(panel)
		for j := range sums {
			sums[j] += a0*int32(w[4*j]) + a1*int32(w[4*j+1]) + a2*int32(w[4*j+2]) + a3*int32(w[4*j+3])
		}
		row, panel = row[Group:], panel[Group*Panel:]
	}
}

const genericColumns = 16

func (generic) Columns() int { return genericColumns }

func (generic) MatMul(dst []float32, ldd int, a []float32, lda int, b, factors []float32, n, k int) {
	for p := 0; p < n; p += genericColumns {
		panel := b[p*k : (p+genericColumns)*k]
		for i, factor := range factors {
			var sums [genericColumns]float32
			for r, x := range a[i*lda : i*lda+k] {
				row := (*[genericColumns]float32)(panel[r*genericColumns:])
				for j := range sums {
					sums[j] += x * row[j]
				}
			}
			for j, sum := range sums {
				dst[i*ldd+p+j] = sum * factor
			}
		}
	}
}

func (generic) Transpose(dst, src []float32, n, width, stride int) {
	transposeFrom(0, dst, src, n, width, stride, genericColumns)
}

// transposeFrom is Transpose from a row of src on, the ones before having been done.
func transposeFrom(from int, dst, src []float32, n, width, stride, columns int) {
	end := (n + columns - 1) / columns * columns
	for i := from; i < end; i++ {
		at := i/columns*columns*width + i%columns
		for d := range width {
			var x float32
			if i < n {
				x = src[i*stride+d]
			}
			dst[at+d*columns] = x
		}
	}
}

func (generic) Softmax(row []float32, n int) float32 {
	row = row[:n]
	most := slices.Max(row)
	var sum float32
	for i, x := range row {
		e := float32(math.Exp(float64(x - most)))
		row[i] = e
		sum += e
	}
	return 1 / sum
}

func (generic) GELU(x []float32) {
	for i, v := range x {
		x[i] = float32(0.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2)))
	}
}

func (generic) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	width := len(gain)
	for ; len(x) >= width; x, residual = x[width:], residual[width:] {
		row := x[:width]
		var sum float32
		for i, r := range residual[:width] {
			row[i] += r
			sum += row[i]
		}
		mean := sum / float32(width)
		var squares float32
		for _, v := range row {
			squares += (v - mean) * (v - mean)
		}
		factor := float32(1 / math.Sqrt(float64(squares/float32(width)+epsilon)))
		for i, v := range row {
			row[i] = (v-mean)*factor*gain[i] + bias[i]
		}
	}
}
