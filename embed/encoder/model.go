// Package encoder runs text encoders of the BERT family in process: tokenizer,
// model file and forward pass, in Go and assembly.
//
// Weights and activations are 8-bit integers in the matrix products (weights
// per output channel, activations per token), or 32-bit floats where that is
// asked for; attention, normalisation and activation function work on 32-bit
// floats. A text's vector is the mean of its tokens' vectors, [CLS] and [SEP]
// included, or that of [CLS], scaled to length 1.
package encoder

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// Model is an encoder with its weights. It is safe for concurrent use.
type Model struct {
	header    Header
	weights   *weights
	tokenizer *Tokenizer
	kernel    kernel.Kernel
	scratch   sync.Pool
}

// Load makes a model of a model file in memory, which it keeps and which must
// not change. cpu names the kernel, one of [Kernels]; if it is empty, the
// fastest one is taken.
func Load(data []byte, cpu string) (*Model, error) {
	k, err := kernel.Select(cpu)
	if err != nil {
		return nil, err
	}
	h, w, err := readFile(data)
	if err != nil {
		return nil, fmt.Errorf("load model file: %w", err)
	}
	t, err := NewTokenizer(string(w.vocabulary))
	if err != nil {
		return nil, fmt.Errorf("load model file: %w", err)
	}
	if t.Size() != h.Config.Pieces {
		return nil, fmt.Errorf("load model file: its vocabulary has %d pieces, its embeddings %d", t.Size(), h.Config.Pieces)
	}
	return &Model{header: h, weights: w, tokenizer: t, kernel: k}, nil
}

// New makes a model of an original. Its Vocabulary may be empty: then the model
// has no tokenizer, and the ids are the caller's matter. cpu is as for [Load].
func New(o Original, p Precision, cpu string) (*Model, error) {
	k, err := kernel.Select(cpu)
	if err != nil {
		return nil, err
	}
	if err := o.Config.check(); err != nil {
		return nil, fmt.Errorf("load %s: %w", o.Config.Name, err)
	}
	t, err := openTensors(o.Tensors)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", o.Config.Name, err)
	}
	w := newWeights(o.Config)
	if p == Float32 {
		err = w.exactly(o, t, k.Columns())
	} else {
		err = w.quantize(o, t)
	}
	if err := errors.Join(err, t.err); err != nil {
		return nil, fmt.Errorf("load %s: %w", o.Config.Name, err)
	}
	m := &Model{header: Header{Config: o.Config, Origin: o.Sum}, weights: w, kernel: k}
	if len(o.Vocabulary) > 0 {
		if m.tokenizer, err = NewTokenizer(string(o.Vocabulary)); err != nil {
			return nil, fmt.Errorf("load %s: %w", o.Config.Name, err)
		}
	}
	return m, nil
}

// Kernels names the kernels that run on this machine, the fastest first.
func Kernels() []string {
	var names []string
	for _, k := range kernel.All() {
		names = append(names, k.Name())
	}
	return names
}

// Header says what the model is made of.
func (m *Model) Header() Header { return m.header }

// Tokenizer is the model's own.
func (m *Model) Tokenizer() *Tokenizer { return m.tokenizer }

// Kernel is the name of the kernel in use.
func (m *Model) Kernel() string { return m.kernel.Name() }

// Encode returns the vector of a text of 1 to Config.Limit tokens, which has
// Config.Hidden dimensions and length 1. The same ids give the same bits on
// every machine.
func (m *Model) Encode(ids []int32) ([]float32, error) {
	c := m.header.Config
	if len(ids) < 1 || len(ids) > c.Limit {
		return nil, fmt.Errorf("encode text: it has %d tokens, not 1 to %d", len(ids), c.Limit)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= c.Pieces {
			return nil, fmt.Errorf("encode text: token %d is not in the vocabulary of %d", id, c.Pieces)
		}
	}
	s, ok := m.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	defer m.scratch.Put(s)
	x := m.forward(s, ids)
	if c.Pooling == PoolFirst {
		x = x[:c.Hidden]
	}
	return pool(x, c.Hidden), nil
}

// pool averages the rows of x and scales the result to length 1.
func pool(x []float32, width int) []float32 {
	v := make([]float32, width)
	for ; len(x) >= width; x = x[width:] {
		for j, f := range x[:width] {
			v[j] += f
		}
	}
	var squares float64
	for _, f := range v {
		squares += float64(f) * float64(f)
	}
	factor := float32(1 / math.Sqrt(max(squares, math.SmallestNonzeroFloat64)))
	for j := range v {
		v[j] *= factor
	}
	return v
}
