package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func normal(r *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

func randomMatrix(r *rand.Rand, depth, width int) *Matrix {
	m := &Matrix{Depth: depth, Width: width, Values: make([]int8, depth*width), Sum: make([]int32, width)}
	for k := range depth {
		for j := range width {
			m.Set(k, j, int8(r.IntN(255)-127))
		}
	}
	m.Scale = normal(r, width, 0.01)
	m.Bias = normal(r, width, 1)
	return m
}

// same fails the test unless got has the bits of want.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			t.Fatalf("%s: number %d of %d is %g, and %g in plain Go", what, i, len(want), got[i], w)
		}
	}
}

// within fails the test unless got is want but for a part of the largest number.
func within(t *testing.T, what string, got, want []float32, part float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	var most float64
	for _, w := range want {
		most = max(most, math.Abs(float64(w)))
	}
	for i, w := range want {
		if off := math.Abs(float64(got[i]) - float64(w)); !(off <= part*most) {
			t.Fatalf("%s: number %d of %d is %g, want %g", what, i, len(want), got[i], w)
		}
	}
}

func TestLinear(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			for range 60 {
				rows, depth, width := 1+r.IntN(30), 16*(1+r.IntN(30)), Panel*(1+r.IntN(4))
				x, w := normal(r, rows*depth, 3), randomMatrix(r, depth, width)
				for i := range x {
					x[i] += float32(r.IntN(3)) // rows that are not centred
				}
				var quantised, reference Rows
				k.Quantize(&quantised, x, depth)
				got := normal(r, rows*width, 1)
				k.Linear(got, &quantised, w)
				generic{}.Quantize(&reference, x, depth)
				want := make([]float32, rows*width)
				for i := range rows {
					for j := range width {
						var sum int64
						for d := range depth {
							value := w.Values[j/Panel*depth*Panel+d/Group*Group*Panel+j%Panel*Group+d%Group]
							sum += (int64(reference.bytes[i*depth+d]) - int64(reference.zero[i])) * int64(value)
						}
						want[i*width+j] = float32(float64(sum)*float64(reference.scale[i])*float64(w.Scale[j]) + float64(w.Bias[j]))
					}
				}
				within(t, "product", got, want, 1e-6)
				generic{}.Linear(want, &reference, w)
				same(t, "product", got, want)
			}
		})
	}
}

func TestLinearDoesNotSaturate(t *testing.T) {
	const depth = 16_384
	w := &Matrix{
		Depth: depth, Width: Panel, Values: make([]int8, depth*Panel), Sum: make([]int32, Panel),
		Scale: slices.Repeat([]float32{1}, Panel), Bias: make([]float32, Panel),
	}
	for k := range depth {
		for j := range Panel {
			w.Set(k, j, int8(127-254*(j%2)))
		}
	}
	for _, k := range All() {
		var quantised Rows
		k.Quantize(&quantised, slices.Repeat([]float32{255}, depth), depth)
		got := make([]float32, Panel)
		k.Linear(got, &quantised, w)
		for j, sum := range got {
			if want := float32(127-254*(j%2)) * 255 * depth; sum != want {
				t.Errorf("%s: column %d is %g, want %g", k.Name(), j, sum, want)
			}
		}
	}
}

func TestQuantizeIsExactOnExtremes(t *testing.T) {
	extremes := [][]float32{
		make([]float32, 32),
		thirtyTwo(func(int) float32 { return 1e-30 }),
		thirtyTwo(func(i int) float32 { return float32(i) }),
		thirtyTwo(func(i int) float32 { return -float32(i) }),
		thirtyTwo(func(i int) float32 { return 1e30 * float32(i-7) }),
		thirtyTwo(func(i int) float32 { return float32(math.Pow(-1, float64(i))) * 127.5 }),
	}
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			rows := slices.Clone(extremes)
			for range 200 {
				rows = append(rows, normal(r, 32, math.Exp(4*r.NormFloat64())))
			}
			for _, x := range rows {
				var got, want Rows
				k.Quantize(&got, x, len(x))
				generic{}.Quantize(&want, x, len(x))
				if got.scale[0] != want.scale[0] || got.zero[0] != want.zero[0] {
					t.Fatalf("%v: scale %g and zero %d, want %g and %d", x, got.scale[0], got.zero[0], want.scale[0], want.zero[0])
				}
				for i, level := range want.bytes {
					var have int
					switch {
					case got.words != nil:
						have = int(got.words[i])
					case got.signed != nil:
						have = int(got.signed[i]) + 128
					default:
						have = int(got.bytes[i])
					}
					if have != int(level) {
						t.Fatalf("%v: number %d is at level %d, want %d", x, i, have, level)
					}
				}
			}
		})
	}
}

func thirtyTwo(f func(i int) float32) []float32 {
	x := make([]float32, 32)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

func TestMatMulAndTranspose(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			for range 80 {
				rows, n, depth := 1+r.IntN(15), 1+r.IntN(70), 8*(1+r.IntN(8))
				columns := (n + k.Columns() - 1) / k.Columns() * k.Columns()
				stride := depth + r.IntN(5)
				a, b, factors := normal(r, rows*stride, 1), normal(r, n*stride, 1), normal(r, rows, 1)
				panels := normal(r, columns*depth, 1)
				k.Transpose(panels, b, n, depth, stride)
				const gap = 3
				got := make([]float32, rows*(columns+gap))
				k.MatMul(got, columns+gap, a, stride, panels, factors, columns, depth)
				want := make([]float32, len(got))
				for i := range rows {
					for j := range n {
						var sum float64
						for d := range depth {
							sum += float64(a[i*stride+d]) * float64(b[j*stride+d])
						}
						want[i*(columns+gap)+j] = float32(sum * float64(factors[i]))
					}
				}
				within(t, "product", got, want, 1e-5)
			}
		})
	}
}

func TestTransposeFillsThePanelWithZeros(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			const n, width = 11, 16
			src, panel := normal(r, n*width, 1), normal(r, k.Columns()*width, 1)
			k.Transpose(panel, src, n, width, width)
			for i := range k.Columns() {
				for d := range width {
					var want float32
					if i < n {
						want = src[i*width+d]
					}
					if got := panel[d*k.Columns()+i]; got != want {
						t.Fatalf("column %d, row %d: got %g, want %g", i, d, got, want)
					}
				}
			}
		})
	}
}

func TestMatMulOfAnyDepth(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			for depth := 1; depth < 40; depth++ {
				rows, n := 1+r.IntN(13), k.Columns()
				a, b, factors := normal(r, rows*depth, 1), normal(r, n*depth, 1), normal(r, rows, 1)
				got, want := make([]float32, rows*n), make([]float32, rows*n)
				k.MatMul(got, n, a, depth, b, factors, n, depth)
				for i := range rows {
					for j := range n {
						var sum float32
						for d := range depth {
							sum = fma(a[i*depth+d], b[d*n+j], sum)
						}
						want[i*n+j] = sum * factors[i]
					}
				}
				same(t, "product", got, want)
			}
		})
	}
}

func TestSoftmax(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			for n := 1; n < 150; n++ {
				size := (n + k.Columns() - 1) / k.Columns() * k.Columns()
				row := normal(r, size, math.Exp(2*r.NormFloat64()))
				for i := n; i < size; i++ {
					row[i] = 1e9
				}
				want, most, sum := make([]float32, n), math.Inf(-1), 0.0
				for _, x := range row[:n] {
					most = max(most, float64(x))
				}
				for _, x := range row[:n] {
					sum += math.Exp(float64(x) - most)
				}
				for i, x := range row[:n] {
					want[i] = float32(math.Exp(float64(x)-most) / sum)
				}
				reference := slices.Clone(row)
				inverse := k.Softmax(row, n)
				same(t, "sum", []float32{inverse}, []float32{generic{}.Softmax(reference, n)})
				same(t, "exponentials", row[:n], reference[:n])
				for i := range n {
					row[i] *= inverse
				}
				within(t, "softmax", row[:n], want, 2e-6)
			}
		})
	}
}

func TestGELU(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			x := append(normal(r, 4000, 1), normal(r, 4000, 6)...)
			x = append(x, 0, 1, -1, 4, -4, 8, -8, 100, -100, 1e-20, -1e-20, 30, -30, 5.6, -5.6, 3)
			got, reference := slices.Clone(x), slices.Clone(x)
			k.GELU(got)
			generic{}.GELU(reference)
			same(t, "GELU", got, reference)
			for i, v := range x {
				want := 0.5 * float64(v) * (1 + math.Erf(float64(v)/math.Sqrt2))
				if off := math.Abs(float64(got[i]) - want); !(off <= 1e-6*max(1, math.Abs(float64(v)))) {
					t.Errorf("GELU(%g) is %g, want %g", v, got[i], want)
				}
			}
		})
	}
}

func TestAddNorm(t *testing.T) {
	const epsilon = 1e-12
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			for range 50 {
				rows, width := 1+r.IntN(4), 16*(1+r.IntN(30))
				x, residual := normal(r, rows*width, 2), normal(r, rows*width+5, 1)
				gain, bias := normal(r, width, 1), normal(r, width, 1)
				want := make([]float32, len(x))
				for i := range rows {
					var sum, squares float64
					at := func(j int) float64 { return float64(x[i*width+j]) + float64(residual[i*width+j]) }
					for j := range width {
						sum += at(j)
					}
					mean := sum / float64(width)
					for j := range width {
						squares += (at(j) - mean) * (at(j) - mean)
					}
					for j := range width {
						want[i*width+j] = float32((at(j)-mean)/math.Sqrt(squares/float64(width)+epsilon)*float64(gain[j]) + float64(bias[j]))
					}
				}
				reference := slices.Clone(x)
				k.AddNorm(x, residual, gain, bias, epsilon)
				within(t, "normalisation", x, want, 2e-6)
				generic{}.AddNorm(reference, residual, gain, bias, epsilon)
				same(t, "normalisation", x, reference)
			}
		})
	}
}

func TestAddNormOfEqualNumbersIsTheBias(t *testing.T) {
	for _, k := range All() {
		t.Run(k.Name(), func(t *testing.T) {
			r := source()
			x, gain, bias := make([]float32, 32), normal(r, 32, 1), normal(r, 32, 1)
			k.AddNorm(x, make([]float32, 32), gain, bias, 1e-12)
			within(t, "normalisation", x, bias, 0)
		})
	}
}

func TestFMARoundsOnce(t *testing.T) {
	r := source()
	exact := func(x, y, z float32) float32 {
		wide := func(f float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(f)) }
		product := wide(x)
		product.Mul(product, wide(y))
		f, _ := product.Add(product, wide(z)).Float32()
		return f
	}
	check := func(x, y, z float32) {
		if got, want := fma(x, y, z), exact(x, y, z); got != want {
			t.Fatalf("%x·%x + %x is %x, want %x", x, y, z, got, want)
		}
	}
	for range 20_000 {
		check(float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64()))
		// Half of the last digit of z, and 2⁻⁴⁶ of that less, which 64 bits lose.
		x, y := float32(1+0x1p-23), float32((1-0x1p-23)*0x1p-24)
		z := 1 + float32(r.IntN(1<<23))/(1<<23)
		for _, sign := range []float32{1, -1} {
			check(sign*x, y, z)
			check(x, y, sign*z)
			check(sign, 0x1p-24, z)
		}
	}
}

func TestSelect(t *testing.T) {
	fastest, err := Select("")
	if err != nil || fastest != All()[0] {
		t.Errorf("without a name: got %v, error %v", fastest, err)
	}
	for _, k := range All() {
		if got, err := Select(k.Name()); err != nil || got != k {
			t.Errorf("%s: got %v, error %v", k.Name(), got, err)
		}
	}
	if _, err := Select("abacus"); err == nil {
		t.Error("an unknown kernel was selected")
	}
}

func BenchmarkLinear(b *testing.B) {
	r := source()
	const rows, depth, width = 96, 384, 1536
	w := randomMatrix(r, depth, width)
	x, dst := normal(r, rows*depth, 1), make([]float32, rows*width)
	for _, k := range All() {
		b.Run(k.Name(), func(b *testing.B) {
			var quantised Rows
			k.Quantize(&quantised, x, depth)
			for b.Loop() {
				k.Linear(dst, &quantised, w)
			}
			b.ReportMetric(2*rows*depth*width*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
		})
	}
}

func BenchmarkMatMul(b *testing.B) {
	r := source()
	const rows, depth, width = 12, 256, 32
	for _, k := range All() {
		b.Run(k.Name(), func(b *testing.B) {
			x, panels, factors := normal(r, rows*depth, 1), normal(r, depth*width, 1), normal(r, rows, 1)
			dst := make([]float32, rows*width)
			for b.Loop() {
				k.MatMul(dst, width, x, depth, panels, factors, width, depth)
			}
			b.ReportMetric(2*rows*depth*width*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
