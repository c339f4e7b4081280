package encoder

import (
	"math"
	"slices"

	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// scratch is the memory that one forward pass works in.
type scratch struct {
	hidden, qkv, context, inner, out []float32
	keys, values, scores             []float32
	rows                             kernel.Rows
}

// block is the number of tokens that pass through a feed-forward part together,
// so that its inner activations stay in the second-level cache.
const block = 48

// forward returns the last hidden state, a row per token, in memory of s.
func (m *Model) forward(s *scratch, ids []int32) []float32 {
	c, w, k := m.header.Config, m.weights, m.kernel
	n := len(ids)
	x := sized(&s.hidden, n*c.Hidden)
	qkv := sized(&s.qkv, 3*n*c.Hidden)
	context := sized(&s.context, n*c.Hidden)
	inner := sized(&s.inner, min(n, block)*c.Inner)
	out := sized(&s.out, n*c.Hidden)

	for i, id := range ids {
		row := x[i*c.Hidden : (i+1)*c.Hidden]
		if w.exactTokens != nil {
			copy(row, w.exactTokens[int(id)*c.Hidden:])
			continue
		}
		scale := w.tokenScale[id]
		for j, q := range w.tokens[int(id)*c.Hidden : (int(id)+1)*c.Hidden] {
			row[j] = float32(q) * scale
		}
	}
	k.AddNorm(x, w.positions, w.norm.gain, w.norm.bias, c.Epsilon)

	for i := range w.layers {
		l := &w.layers[i]
		exact := l.exact
		if exact == nil {
			exact = &exactLayer{}
		}
		m.linear(s, qkv, x, &l.qkv, exact.qkv)
		m.attend(s, context, qkv, n)
		m.linear(s, out, context, &l.attended, exact.attended)
		k.AddNorm(x, out, l.attendedNorm.gain, l.attendedNorm.bias, c.Epsilon)
		for part := range slices.Chunk(x, block*c.Hidden) {
			tokens := len(part) / c.Hidden
			wide, narrow := inner[:tokens*c.Inner], out[:len(part)]
			m.linear(s, wide, part, &l.widen, exact.widen)
			k.GELU(wide)
			m.linear(s, narrow, wide, &l.narrow, exact.narrow)
			k.AddNorm(part, narrow, l.feedForwardEnd.gain, l.feedForwardEnd.bias, c.Epsilon)
		}
	}
	return x
}

// linear sets the rows of dst to those of x times a matrix plus its bias: exact,
// where there is one, or q.
func (m *Model) linear(s *scratch, dst, x []float32, q *kernel.Matrix, exact *dense) {
	if exact != nil {
		exact.multiply(m.kernel, dst, x)
		return
	}
	m.kernel.Quantize(&s.rows, x, q.Depth)
	m.kernel.Linear(dst, &s.rows, q)
}

// queries is the number of query rows that are scored at once; the kernels'
// tiles part it.
const queries = 12

// attend sets context, n rows of Hidden, to the attention of all tokens to all
// tokens: softmax(Q·Kᵀ/√width)·V per head (Vaswani et al. 2017). qkv has n rows
// of queries, keys and values.
func (m *Model) attend(s *scratch, context, qkv []float32, n int) {
	hidden, heads, k := m.header.Config.Hidden, m.header.Config.Heads, m.kernel
	width, stride, columns := hidden/heads, 3*hidden, k.Columns()
	padded := (n + columns - 1) / columns * columns
	keys := sized(&s.keys, padded*width)
	values := sized(&s.values, n*width)
	scores := sized(&s.scores, queries*padded)
	var scales, sums [queries]float32
	for r := range scales {
		scales[r] = float32(1 / math.Sqrt(float64(width)))
	}
	for h := range heads {
		k.Transpose(keys, qkv[hidden+h*width:], n, width, stride)
		packValues(values, qkv[2*hidden+h*width:], n, width, stride, columns)
		for i := 0; i < n; i += queries {
			rows := min(queries, n-i)
			k.MatMul(scores, padded, qkv[i*stride+h*width:], stride, keys, scales[:rows], padded, width)
			for r := range rows {
				sums[r] = k.Softmax(scores[r*padded:(r+1)*padded], n)
			}
			k.MatMul(context[i*hidden+h*width:], hidden, scores, padded, values, sums[:rows], width, n)
		}
	}
}

// packValues cuts n rows of width into panels of the given number of columns.
func packValues(dst, src []float32, n, width, stride, columns int) {
	for i := range n {
		row := src[i*stride : i*stride+width]
		for p := 0; p < width; p += columns {
			copy(dst[p*n+i*columns:p*n+(i+1)*columns], row[p:])
		}
	}
}

// sized returns *s with n elements, as they may be.
func sized(s *[]float32, n int) []float32 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}
