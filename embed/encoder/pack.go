package encoder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// Original is a BERT encoder in the layout of Hugging Face.
type Original struct {
	Config Config
	// Tensors is the file model.safetensors, with 32-bit floats.
	Tensors []byte
	// Vocabulary is the file vocab.txt.
	Vocabulary []byte
	// Sum is the SHA-256 of Tensors, in hex.
	Sum string
}

// Pack quantises an encoder and writes it as a model file. The same original
// gives the same bytes.
func Pack(dst io.Writer, o Original) error {
	if err := o.Config.check(); err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	t, err := openTensors(o.Tensors)
	if err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	w := newWeights(o.Config)
	w.vocabulary = o.Vocabulary
	if err := errors.Join(w.quantize(o.Config, t), t.err); err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	if err := writeFile(dst, Header{Config: o.Config, Origin: o.Sum}, w); err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	return nil
}

// quantize fills w from the tensors of an original.
func (w *weights) quantize(c Config, t *tensors) error {
	embeddings := t.get("embeddings.word_embeddings.weight", c.Pieces, c.Hidden)
	segment := t.get("embeddings.token_type_embeddings.weight", 0, c.Hidden)
	positions := t.get("embeddings.position_embeddings.weight", 0, c.Hidden)
	w.norm = t.norm("embeddings.LayerNorm", c.Hidden)
	if t.err != nil {
		return t.err
	}
	if len(segment) < c.Hidden || len(positions) < c.Limit*c.Hidden {
		return fmt.Errorf("it has no segment or fewer than %d positions", c.Limit)
	}
	w.positions = positions[:c.Limit*c.Hidden]
	for i := range w.positions {
		w.positions[i] += segment[i%c.Hidden]
	}
	w.tokens = make([]int8, len(embeddings))
	w.tokenScale = make([]float32, c.Pieces)
	for i := range c.Pieces {
		row := embeddings[i*c.Hidden : (i+1)*c.Hidden]
		w.tokenScale[i] = symmetric(row)
		for j, f := range row {
			w.tokens[i*c.Hidden+j] = level(f, w.tokenScale[i])
		}
	}
	for i := range w.layers {
		l, name := &w.layers[i], fmt.Sprintf("encoder.layer.%d.", i)
		t.matrix(&l.qkv, name+"attention.self.query", name+"attention.self.key", name+"attention.self.value")
		t.matrix(&l.attended, name+"attention.output.dense")
		l.attendedNorm = t.norm(name+"attention.output.LayerNorm", c.Hidden)
		t.matrix(&l.widen, name+"intermediate.dense")
		t.matrix(&l.narrow, name+"output.dense")
		l.feedForwardEnd = t.norm(name+"output.LayerNorm", c.Hidden)
	}
	return nil
}

// symmetric is the size of a step when x is spread over −127 to 127.
func symmetric(x []float32) float32 {
	var most float32
	for _, f := range x {
		most = max(most, f, -f)
	}
	return max(most, 1e-20) / 127
}

func level(f, scale float32) int8 {
	return int8(math.RoundToEven(float64(f / scale)))
}

// tensors are the arrays of a safetensors file. The first error sticks.
type tensors struct {
	data    []byte
	entries map[string]tensor
	err     error
}

type tensor struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// maxTensorHeader is the bound that the safetensors format sets itself.
const maxTensorHeader = 100_000_000

// openTensors reads the header of a safetensors file: its length in 8 bytes,
// then JSON.
func openTensors(file []byte) (*tensors, error) {
	if len(file) < 8 {
		return nil, errors.New("read safetensors: the file is cut off")
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxTensorHeader || n > uint64(len(file)-8) {
		return nil, fmt.Errorf("read safetensors: the header of %d bytes is cut off or too long", n)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &raw); err != nil {
		return nil, fmt.Errorf("read safetensors: %w", err)
	}
	delete(raw, "__metadata__")
	t := &tensors{data: file[8+n:], entries: make(map[string]tensor, len(raw))}
	for name, message := range raw {
		var e tensor
		if err := json.Unmarshal(message, &e); err != nil {
			return nil, fmt.Errorf("read safetensors: entry %q: %w", name, err)
		}
		if from, to := e.Offsets[0], e.Offsets[1]; from < 0 || to < from || to > len(t.data) {
			return nil, fmt.Errorf("read safetensors: entry %q lies outside of the file", name)
		}
		t.entries[name] = e
	}
	return t, nil
}

// get returns a copy of a tensor of the given shape; a size of 0 allows any.
func (t *tensors) get(name string, shape ...int) []float32 {
	if t.err != nil {
		return nil
	}
	e, ok := t.entries[name]
	fits := ok && e.Type == "F32" && len(e.Shape) == len(shape)
	n := 1
	for i := 0; fits && i < len(shape); i++ {
		fits = shape[i] == e.Shape[i] || shape[i] == 0 && e.Shape[i] > 0 && e.Shape[i] <= len(t.data)
		n *= e.Shape[i]
	}
	data := t.data[e.Offsets[0]:e.Offsets[1]]
	if !fits || 4*n != len(data) {
		t.err = fmt.Errorf("the tensor %q is not there with 32-bit floats in the shape %v", name, shape)
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		f := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if f-f != 0 {
			t.err = fmt.Errorf("number %d of the tensor %q is %g", i, name, f)
			return nil
		}
		out[i] = f
	}
	return out
}

func (t *tensors) norm(name string, width int) layerNorm {
	return layerNorm{gain: t.get(name+".weight", width), bias: t.get(name+".bias", width)}
}

// matrix quantises linear layers of the same depth side by side. They are
// stored as [out][in].
func (t *tensors) matrix(m *kernel.Matrix, names ...string) {
	width := m.Width / len(names)
	m.Values = make([]int8, m.Depth*m.Width)
	m.Sum = make([]int32, m.Width)
	m.Scale = make([]float32, m.Width)
	m.Bias = nil
	for part, name := range names {
		weight := t.get(name+".weight", width, m.Depth)
		m.Bias = append(m.Bias, t.get(name+".bias", width)...)
		if t.err != nil {
			return
		}
		for i := range width {
			column, row := part*width+i, weight[i*m.Depth:(i+1)*m.Depth]
			m.Scale[column] = symmetric(row)
			for k, f := range row {
				m.Set(k, column, level(f, m.Scale[column]))
			}
		}
	}
}
