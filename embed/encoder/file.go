package encoder

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/docseek/docseek/embed/encoder/internal/kernel"
)

// A model file is
//
//	magic    8 bytes, "docseek" and the format's version
//	length   of the header, 4 bytes
//	header   JSON, see Header
//	payload  the arrays one after the other, each from a multiple of 64 bytes
//	         of the file on; first the vocabulary, then the embeddings and the
//	         layers in the order of (*weights).arrays
//
// in little-endian order, zeros between the parts. 8-bit weights are laid out
// as the kernels read them, so that a file in memory is used in place.
const (
	magic     = "docseek\x01"
	alignment = 64
	maxHeader = 1 << 16
)

// Header says what a model file holds.
type Header struct {
	Config Config `json:"config"`
	// Origin is the SHA-256 of the file that the weights were taken from, in hex.
	Origin string `json:"origin"`
	// Payload is the SHA-256 of the packed arrays, in hex.
	Payload string `json:"payload"`
	// Vocabulary is the length in bytes of the tokenizer's vocabulary.
	Vocabulary int `json:"vocabulary"`
}

// Config is the shape of a BERT encoder.
type Config struct {
	// Name is the model's name, as its makers wrote it.
	Name string `json:"name"`
	// Pieces is the number of entries of the vocabulary.
	Pieces int `json:"pieces"`
	// Hidden is the dimension of a token, and of the text's vector.
	Hidden int `json:"hidden"`
	// Inner is the dimension within the feed-forward part.
	Inner int `json:"inner"`
	// Layers is the number of layers and Heads that of attention heads in each.
	Layers int `json:"layers"`
	Heads  int `json:"heads"`
	// Limit is the most tokens of a text, [CLS] and [SEP] included.
	Limit int `json:"limit"`
	// Epsilon is added to a variance in layer normalisation.
	Epsilon float32 `json:"epsilon"`
	// Pooling makes a text's vector of its tokens'; empty is PoolMean.
	Pooling Pooling `json:"pooling,omitempty"`
}

// Pooling is how a text's vector is made of its tokens'.
type Pooling string

// The ways of pooling.
const (
	PoolMean  Pooling = "mean" // of all tokens, the marks around the text included
	PoolFirst Pooling = "cls"  // the vector of the first token
)

// check bounds what follows from a configuration: the dimensions suit the
// kernels, and nothing that is computed from them overflows.
func (c Config) check() error {
	for _, d := range []struct {
		name               string
		value, most, multi int
	}{
		{"pieces", c.Pieces, maxPieces, 1},
		{"hidden", c.Hidden, 4096, kernel.Panel},
		{"inner", c.Inner, kernel.MaxDepth, kernel.Panel},
		{"layers", c.Layers, 64, 1},
		{"heads", c.Heads, 128, 1},
		{"limit", c.Limit, 8192, 1},
	} {
		if d.value < 1 || d.value > d.most || d.value%d.multi != 0 {
			return fmt.Errorf("%s is %d, not a multiple of %d from 1 to %d", d.name, d.value, d.multi, d.most)
		}
	}
	switch {
	case c.Pooling != "" && c.Pooling != PoolMean && c.Pooling != PoolFirst:
		return fmt.Errorf("pooling is %q, not %s or %s", c.Pooling, PoolMean, PoolFirst)
	case c.Hidden%c.Heads != 0 || c.Hidden/c.Heads%kernel.Panel != 0:
		return fmt.Errorf("%d heads do not part %d dimensions into multiples of %d", c.Heads, c.Hidden, kernel.Panel)
	case int64(c.Pieces)*int64(c.Hidden) > math.MaxInt32:
		return fmt.Errorf("%d pieces of %d dimensions are more than %d numbers", c.Pieces, c.Hidden, math.MaxInt32)
	case c.Limit < Overhead:
		return fmt.Errorf("limit is %d tokens, below the %d around a text", c.Limit, Overhead)
	case !(c.Epsilon > 0 && c.Epsilon < 1):
		return fmt.Errorf("epsilon is %g, not between 0 and 1", c.Epsilon)
	}
	return nil
}

// weights are the numbers of a model.
type weights struct {
	vocabulary []byte
	// tokens holds a quantised row of Hidden per piece and tokenScale its scale;
	// positions a row per position, to which the vector of the only segment is added.
	tokens     []int8
	tokenScale []float32
	positions  []float32
	norm       layerNorm
	layers     []layer
	// exactTokens are the rows of tokens as 32-bit floats, where the model
	// computes with those.
	exactTokens []float32
}

// layerNorm are the gain and the bias of a layer normalisation.
type layerNorm struct{ gain, bias []float32 }

// layer is one transformer layer: attention and feed-forward part, each with
// the normalisation that follows it.
type layer struct {
	// qkv makes queries, keys and values side by side.
	qkv, attended  kernel.Matrix
	attendedNorm   layerNorm
	widen, narrow  kernel.Matrix
	feedForwardEnd layerNorm
	// exact stands for the matrices where the model computes with 32-bit floats.
	exact *exactLayer
}

// newWeights gives the arrays of a model their shapes, without elements.
func newWeights(c Config) *weights {
	w := &weights{layers: make([]layer, c.Layers)}
	for i := range w.layers {
		l := &w.layers[i]
		l.qkv.Depth, l.qkv.Width = c.Hidden, 3*c.Hidden
		l.attended.Depth, l.attended.Width = c.Hidden, c.Hidden
		l.widen.Depth, l.widen.Width = c.Hidden, c.Inner
		l.narrow.Depth, l.narrow.Width = c.Inner, c.Hidden
	}
	return w
}

// arrays visits the arrays of a file in order, with their lengths.
func (w *weights) arrays(h Header, v visitor) {
	c := h.Config
	v.bytes(&w.vocabulary, h.Vocabulary)
	v.int8s(&w.tokens, c.Pieces*c.Hidden)
	v.float32s(&w.tokenScale, c.Pieces)
	v.float32s(&w.positions, c.Limit*c.Hidden)
	w.norm.arrays(v, c.Hidden)
	for i := range w.layers {
		l := &w.layers[i]
		matrixArrays(&l.qkv, v)
		matrixArrays(&l.attended, v)
		l.attendedNorm.arrays(v, c.Hidden)
		matrixArrays(&l.widen, v)
		matrixArrays(&l.narrow, v)
		l.feedForwardEnd.arrays(v, c.Hidden)
	}
}

func (n *layerNorm) arrays(v visitor, width int) {
	v.float32s(&n.gain, width)
	v.float32s(&n.bias, width)
}

func matrixArrays(m *kernel.Matrix, v visitor) {
	v.int8s(&m.Values, m.Depth*m.Width)
	v.int32s(&m.Sum, m.Width)
	v.float32s(&m.Scale, m.Width)
	v.float32s(&m.Bias, m.Width)
}

// visitor reads or writes the arrays of a file.
type visitor interface {
	bytes(a *[]byte, n int)
	int8s(a *[]int8, n int)
	int32s(a *[]int32, n int)
	float32s(a *[]float32, n int)
}

// reader takes arrays from the payload of a file.
type reader struct {
	data []byte
	pos  int
	err  error
}

// take returns the next n bytes and goes on to the next array.
func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if rest := len(r.data) - r.pos; n < 0 || n > rest {
		r.err = fmt.Errorf("an array of %d bytes at %d of %d is cut off", n, r.pos, len(r.data))
		return nil
	}
	a := r.data[r.pos : r.pos+n : r.pos+n]
	r.pos = min(aligned(r.pos+n), len(r.data))
	return a
}

func (r *reader) bytes(a *[]byte, n int) { *a = r.take(n) }

func (r *reader) int8s(a *[]int8, n int) {
	if b := r.take(n); len(b) > 0 {
		*a = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), n) //nolint:gosec // bytes and int8 have one layout; the view lives as long as the data
	}
}

func (r *reader) int32s(a *[]int32, n int) {
	if b := r.take(4 * n); b != nil {
		*a = make([]int32, n)
		for i := range *a {
			(*a)[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

func (r *reader) float32s(a *[]float32, n int) {
	if b := r.take(4 * n); b != nil {
		*a = make([]float32, n)
		for i := range *a {
			f := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			if f-f != 0 {
				r.err = fmt.Errorf("number %d of the array at %d is %g", i, r.pos, f)
				return
			}
			(*a)[i] = f
		}
	}
}

// writer appends arrays to the payload of a file.
type writer struct {
	buf bytes.Buffer
	err error
}

func (w *writer) put(a any, n, want int) {
	if n != want {
		w.err = errors.Join(w.err, fmt.Errorf("an array has %d elements instead of %d", n, want))
		return
	}
	if err := binary.Write(&w.buf, binary.LittleEndian, a); err != nil {
		w.err = errors.Join(w.err, err)
	}
	w.buf.Write(make([]byte, aligned(w.buf.Len())-w.buf.Len()))
}

func (w *writer) bytes(a *[]byte, n int)       { w.put(*a, len(*a), n) }
func (w *writer) int8s(a *[]int8, n int)       { w.put(*a, len(*a), n) }
func (w *writer) int32s(a *[]int32, n int)     { w.put(*a, len(*a), n) }
func (w *writer) float32s(a *[]float32, n int) { w.put(*a, len(*a), n) }

func aligned(n int) int { return (n + alignment - 1) &^ (alignment - 1) }

// readFile takes a model file apart. The weights point into data.
func readFile(data []byte) (Header, *weights, error) {
	var h Header
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return h, nil, errors.New("it is not a docseek model file of version 1")
	}
	start := len(magic) + 4
	size := binary.LittleEndian.Uint32(data[len(magic):])
	length := int(min(size, maxHeader))
	if size > maxHeader || length > len(data)-start {
		return h, nil, fmt.Errorf("its header of %d bytes is cut off or longer than %d", size, maxHeader)
	}
	if err := json.Unmarshal(data[start:start+length], &h); err != nil {
		return h, nil, fmt.Errorf("read its header: %w", err)
	}
	if err := h.Config.check(); err != nil {
		return h, nil, err
	}
	r := &reader{data: data, pos: min(aligned(start+length), len(data))}
	w := newWeights(h.Config)
	w.arrays(h, r)
	if r.err != nil {
		return h, nil, r.err
	}
	if r.pos != len(data) {
		return h, nil, fmt.Errorf("%d bytes follow its last array", len(data)-r.pos)
	}
	return h, w, nil
}

// writeFile writes a model file; the payload's sum and the vocabulary's length
// are filled into the header.
func writeFile(dst io.Writer, h Header, w *weights) error {
	h.Vocabulary = len(w.vocabulary)
	var payload writer
	w.arrays(h, &payload)
	if payload.err != nil {
		return payload.err
	}
	sum := sha256.Sum256(payload.buf.Bytes())
	h.Payload = hex.EncodeToString(sum[:])
	header, err := json.Marshal(h)
	if err != nil {
		return err
	}
	var start bytes.Buffer
	start.WriteString(magic)
	start.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(header))))
	start.Write(header)
	start.Write(make([]byte, aligned(start.Len())-start.Len()))
	if _, err := start.WriteTo(dst); err != nil {
		return err
	}
	_, err = payload.buf.WriteTo(dst)
	return err
}

// Verify checks the payload of a model file against the sum in its header.
func Verify(data []byte) error {
	h, _, err := readFile(data)
	if err != nil {
		return fmt.Errorf("verify model file: %w", err)
	}
	length := int(binary.LittleEndian.Uint32(data[len(magic):]))
	sum := sha256.Sum256(data[aligned(len(magic)+4+length):])
	if got := hex.EncodeToString(sum[:]); got != h.Payload {
		return fmt.Errorf("verify model file: its payload has the sum %s, not %s", got, h.Payload)
	}
	return nil
}
