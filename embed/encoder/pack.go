package encoder

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// Original is a BERT encoder in the layout of Hugging Face.
type Original struct {
	Config Config
	// Tensors is the file model.safetensors, with floats of 32 or 16 bits.
	Tensors []byte
	// Prefix stands before the names of the tensors, as in "bert.".
	Prefix string
	// FirstPosition is the row of the position embeddings that the first token
	// gets: 0 in BERT, 2 in XLM-R.
	FirstPosition int
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
	if err := errors.Join(w.quantize(o, t), t.err); err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	if err := writeFile(dst, Header{Config: o.Config, Origin: o.Sum}, w); err != nil {
		return fmt.Errorf("pack %s: %w", o.Config.Name, err)
	}
	return nil
}

// quantize fills w from the tensors of an original.
func (w *weights) quantize(o Original, t *tensors) error {
	c := o.Config
	embeddings, err := w.embeddings(o, t)
	if err != nil {
		return err
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
		l := &w.layers[i]
		t.layer(o, i, l, func(m *kernel.Matrix, _ **dense, names ...string) { t.matrix(m, names...) })
	}
	return nil
}

// embeddings returns the rows of the tokens, and fills positions and norm.
func (w *weights) embeddings(o Original, t *tensors) ([]float32, error) {
	c := o.Config
	embeddings := t.get(o.Prefix+"embeddings.word_embeddings.weight", c.Pieces, c.Hidden)
	segment := t.get(o.Prefix+"embeddings.token_type_embeddings.weight", 0, c.Hidden)
	positions := t.get(o.Prefix+"embeddings.position_embeddings.weight", 0, c.Hidden)
	w.norm = t.norm(o.Prefix+"embeddings.LayerNorm", c.Hidden)
	if t.err != nil {
		return nil, t.err
	}
	if o.FirstPosition < 0 || len(segment) < c.Hidden || len(positions)/c.Hidden < c.Limit+o.FirstPosition {
		return nil, fmt.Errorf("it has no segment or fewer than %d positions", c.Limit+o.FirstPosition)
	}
	w.positions = positions[o.FirstPosition*c.Hidden:][:c.Limit*c.Hidden]
	for i := range w.positions {
		w.positions[i] += segment[i%c.Hidden]
	}
	return embeddings, nil
}

// layer fills l from the tensors of layer i; matrix reads one of its matrices.
func (t *tensors) layer(o Original, i int, l *layer, matrix func(m *kernel.Matrix, d **dense, names ...string)) {
	exact := l.exact
	if exact == nil {
		exact = &exactLayer{}
	}
	name := fmt.Sprintf("%sencoder.layer.%d.", o.Prefix, i)
	matrix(&l.qkv, &exact.qkv, name+"attention.self.query", name+"attention.self.key", name+"attention.self.value")
	matrix(&l.attended, &exact.attended, name+"attention.output.dense")
	l.attendedNorm = t.norm(name+"attention.output.LayerNorm", o.Config.Hidden)
	matrix(&l.widen, &exact.widen, name+"intermediate.dense")
	matrix(&l.narrow, &exact.narrow, name+"output.dense")
	l.feedForwardEnd = t.norm(name+"output.LayerNorm", o.Config.Hidden)
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
	width := map[string]int{"F32": 4, "F16": 2, "BF16": 2}[e.Type]
	fits := ok && width > 0 && len(e.Shape) == len(shape)
	n := 1
	for i := 0; fits && i < len(shape); i++ {
		fits = shape[i] == e.Shape[i] || shape[i] == 0 && e.Shape[i] > 0 && e.Shape[i] <= len(t.data)
		n *= e.Shape[i]
	}
	data := t.data[e.Offsets[0]:e.Offsets[1]]
	if !fits || width*n != len(data) {
		t.err = fmt.Errorf("the tensor %q is not there with floats of 32 or 16 bits in the shape %v", name, shape)
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		f := float(e.Type, data[width*i:])
		if f-f != 0 {
			t.err = fmt.Errorf("number %d of the tensor %q is %g", i, name, f)
			return nil
		}
		out[i] = f
	}
	return out
}

// float reads a number of a safetensors type.
func float(kind string, data []byte) float32 {
	switch kind {
	case "F16":
		return half(binary.LittleEndian.Uint16(data))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(data)) << 16)
	default:
		return math.Float32frombits(binary.LittleEndian.Uint32(data))
	}
}

// half is the value of a 16-bit float (IEEE 754 binary16).
func half(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&0x1F), uint32(bits&0x3FF)
	switch exponent {
	case 0: // zero, or smaller than the normal numbers
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 0x1F: // infinite, or no number
		return math.Float32frombits(sign | 0xFF<<23 | fraction<<13)
	default:
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	}
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

// TensorPrefix is what stands before a tensor's name in a safetensors file: the
// shortest, or of several the first in order, where many end with the name.
func TensorPrefix(file []byte, name string) (string, error) {
	t, err := openTensors(file)
	if err != nil {
		return "", err
	}
	prefix, found := "", false
	for entry := range t.entries {
		if before, ok := strings.CutSuffix(entry, name); ok &&
			(!found || cmp.Or(cmp.Compare(len(before), len(prefix)), cmp.Compare(before, prefix)) < 0) {
			prefix, found = before, true
		}
	}
	if !found {
		return "", fmt.Errorf("it has no tensor %q", name)
	}
	return prefix, nil
}
