package encoder

import (
	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// Precision is what the matrix products are computed with.
type Precision string

// The precisions.
const (
	Int8    Precision = "int8" // 8-bit integers: a quarter of the memory, twice as fast or more
	Float32 Precision = "f32"  // what the model was trained with
)

// exactLayer holds the matrices of a layer as 32-bit floats.
type exactLayer struct{ qkv, attended, widen, narrow *dense }

// dense is a matrix of 32-bit floats as the kernels' MatMul reads it, in panels,
// with a bias.
type dense struct {
	depth, width int
	panels, bias []float32
}

// exactly fills w from the tensors of an original with 32-bit floats, in panels
// of the given number of columns.
func (w *weights) exactly(o Original, t *tensors, columns int) error {
	var err error
	if w.exactTokens, err = w.embeddings(o, t); err != nil {
		return err
	}
	for i := range w.layers {
		w.layers[i].exact = &exactLayer{}
		t.layer(o, i, &w.layers[i], func(m *kernel.Matrix, d **dense, names ...string) {
			*d = t.dense(m.Depth, m.Width, columns, names...)
		})
	}
	return nil
}

// dense reads linear layers of the same depth side by side. They are stored as
// [out][in].
func (t *tensors) dense(depth, width, columns int, names ...string) *dense {
	d := &dense{depth: depth, width: width, panels: make([]float32, depth*width)}
	each := width / len(names)
	for part, name := range names {
		weight := t.get(name+".weight", each, depth)
		d.bias = append(d.bias, t.get(name+".bias", each)...)
		if t.err != nil {
			return nil
		}
		for i := range each {
			j := part*each + i
			for k, f := range weight[i*depth : (i+1)*depth] {
				d.panels[(j/columns*depth+k)*columns+j%columns] = f
			}
		}
	}
	return d
}

// multiply sets the rows of dst to those of x times the matrix, plus its bias.
func (d *dense) multiply(k kernel.Kernel, dst, x []float32) {
	var ones [queries]float32
	for i := range ones {
		ones[i] = 1
	}
	n := len(x) / d.depth
	for i := 0; i < n; i += queries {
		rows := min(queries, n-i)
		k.MatMul(dst[i*d.width:], d.width, x[i*d.depth:], d.depth, d.panels, ones[:rows], d.width, d.depth)
	}
	for i := range n {
		row := dst[i*d.width : (i+1)*d.width]
		for j, b := range d.bias {
			row[j] += b
		}
	}
}
