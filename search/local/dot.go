package local

import (
	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"
)

// dotProduct returns the function that multiplies two vectors of equal, non-zero
// length: AVX2 with FMA where the processor has both, else a plain loop.
func dotProduct() func(x, y []float32) float32 {
	if vek.Info().Acceleration {
		return vek32.Dot
	}
	return dot
}

// dot keeps eight sums, which the processor can add to at the same time.
func dot(x, y []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(x) >= 8 && len(y) >= 8 {
		a, b := (*[8]float32)(x), (*[8]float32)(y)
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		x, y = x[8:], y[8:]
	}
	s := ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}
