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
	var sums [tileRows][tileColumns]int32
	for j := 0; j < w.Width; j += tileColumns {
		panel := w.Values[j/Panel*Panel*w.Depth:][:Panel*w.Depth]
		for i := 0; i < len(x.scale); i += tileRows {
			n := min(tileRows, len(x.scale)-i)
			var rows [tileRows][]uint8
			for r := range rows {
				// Rows behind the last one are the last one over again.
				at := (i + min(r, n-1)) * w.Depth
				rows[r] = x.bytes[at : at+w.Depth]
			}
			dot(&sums, &rows, panel, j%Panel)
			for r, row := range sums[:n] {
				for c, sum := range row {
					dst[(i+r)*w.Width+j+c] = fma(float32(sum-x.zero[i+r]*w.Sum[j+c]), x.scale[i+r]*w.Scale[j+c], w.Bias[j+c])
				}
			}
		}
	}
}

// A tile of this size leaves its sums in registers.
const (
	tileRows    = 4
	tileColumns = 4
)

// dot sets sums to the products of rows with the columns of a panel from the
// given one on. Two columns share a 64-bit word, the left one in its lower half,
// which multiplies and adds up both at once.
func dot(sums *[tileRows][tileColumns]int32, rows *[tileRows][]uint8, panel []int8, column int) {
	var a, b, c, d [tileColumns / 2]int64
	n := len(rows[0])
	r0, r1, r2, r3 := rows[0], rows[1][:n], rows[2][:n], rows[3][:n]
	for k := 0; k < n; k += Group {
		w := (*[tileColumns * Group]int8)(panel[k*Panel+column*Group:])
		x0, x1, x2, x3 := (*[Group]uint8)(r0[k:]), (*[Group]uint8)(r1[k:]), (*[Group]uint8)(r2[k:]), (*[Group]uint8)(r3[k:])
		for g := range Group {
			left := int64(w[g]) + int64(w[Group+g])<<32
			right := int64(w[2*Group+g]) + int64(w[3*Group+g])<<32
			x := int64(x0[g])
			a[0] += x * left
			a[1] += x * right
			x = int64(x1[g])
			b[0] += x * left
			b[1] += x * right
			x = int64(x2[g])
			c[0] += x * left
			c[1] += x * right
			x = int64(x3[g])
			d[0] += x * left
			d[1] += x * right
		}
	}
	for r, pairs := range [tileRows][tileColumns / 2]int64{a, b, c, d} {
		for p, pair := range pairs {
			left := int32(pair)
			sums[r][2*p], sums[r][2*p+1] = left, int32((pair-int64(left))>>32)
		}
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
				accumulate(&sums, x, (*[genericColumns]float32)(panel[r*genericColumns:]))
			}
			for j, sum := range sums {
				dst[i*ldd+p+j] = sum * factor
			}
		}
	}
}

// accumulate adds x times a row to sums. It is fma in the innermost loop, where
// a call would cost as much again.
func accumulate(sums *[genericColumns]float32, x float32, row *[genericColumns]float32) {
	factor := float64(x)
	for j, y := range row {
		product := factor * float64(y)
		sum := product + float64(sums[j])
		if math.Float64bits(sum)<<35 == 1<<63 {
			sums[j] = fromMiddle(sum, product, float64(sums[j]))
			continue
		}
		sums[j] = float32(sum)
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
	const log2e = 1.4426950408889634
	row = row[:n]
	most := slices.Max(row) * log2e
	var sums [lanes]float32
	for i, x := range row {
		e := exp2(fma(x, log2e, -most))
		row[i] = e
		sums[i%lanes] += e
	}
	// The lanes behind the row hold exponentials of what is as good as −∞.
	for i := n; i%lanes != 0; i++ {
		sums[i%lanes] += exp2(minExponent)
	}
	return 1 / total(&sums)
}

// minExponent is the least exponent of a normal number.
const minExponent = -126

// exp2 is 2^x for x ≤ 0: the integer part of x goes into the exponent, the rest
// through a polynomial of degree 5 with a relative error below 1e-7.
func exp2(x float32) float32 {
	x = max(x, minExponent)
	whole := roundEven(x)
	power := polynomial(x-float32(whole), 0.0013276470126584172, 0.009675540961325169, 0.05550713092088699,
		0.24022120237350464, 0.6931469440460205, 1)
	return math.Float32frombits(math.Float32bits(power) + uint32(whole)<<23)
}

// polynomial evaluates a polynomial, the highest coefficient first.
func polynomial(x float32, coefficients ...float32) float32 {
	sum := coefficients[0]
	for _, c := range coefficients[1:] {
		sum = fma(sum, x, c)
	}
	return sum
}

// GELU computes the error function as an odd rational of degrees 13 and 8 on −4
// to 4, outside of which it is ±1 in 32 bits; the absolute error is below 4e-7.
func (generic) GELU(x []float32) {
	for i, v := range x {
		z := min(max(v*float32(math.Sqrt2/2), -4), 4)
		above := polynomial(z*z, -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
			-5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)
		below := polynomial(z*z, -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
			-7.37332916720468e-03, -1.42647390514189e-02)
		half := 0.5 * v
		x[i] = fma(z*above/below, half, half)
	}
}

func (generic) AddNorm(x, residual, gain, bias []float32, epsilon float32) {
	width := len(gain)
	for ; len(x) >= width; x, residual = x[width:], residual[width:] {
		row := x[:width]
		var sums, squares [lanes]float32
		for i, r := range residual[:width] {
			row[i] += r
			sums[i%lanes] += row[i]
		}
		mean := total(&sums) / float32(width)
		for i, v := range row {
			squares[i%lanes] = fma(v-mean, v-mean, squares[i%lanes])
		}
		variance := total(&squares) / float32(width)
		factor := 1 / float32(math.Sqrt(float64(variance+epsilon)))
		for i, v := range row {
			row[i] = fma((v-mean)*factor, gain[i], bias[i])
		}
	}
}

// lanes is the number of partial sums of a row, those of the widest vectors: all
// kernels add up in one order and so round alike.
const lanes = 16

// total adds up the partial sums: i and i+8, then i and i+4, i and i+2, 0 and 1.
func total(sums *[lanes]float32) float32 {
	s := *sums
	for n := lanes / 2; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}

// fma is x·y + z with one rounding, as instructions do it. The product is exact
// in 64 bits, and the sum rounded to 64 and then to 32 bits is right unless the
// first rounding ends in the middle between two 32-bit numbers.
func fma(x, y, z float32) float32 {
	product := float64(x) * float64(y)
	sum := product + float64(z)
	if math.Float64bits(sum)<<35 == 1<<63 {
		return fromMiddle(sum, product, float64(z))
	}
	return float32(sum)
}

// fromMiddle rounds sum, that of x and y, to the side where the exact one lies;
// the error is that of Knuth's two-sum.
func fromMiddle(sum, x, y float64) float32 {
	part := sum - x
	switch off := (x - (sum - part)) + (y - part); {
	case off > 0:
		sum = math.Nextafter(sum, math.Inf(1))
	case off < 0:
		sum = math.Nextafter(sum, math.Inf(-1))
	}
	return float32(sum)
}
