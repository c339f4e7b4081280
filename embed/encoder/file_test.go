package encoder_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek/embed/encoder"
)

// small is a model of random weights that fits into a few kilobytes.
func small() encoder.Config {
	return encoder.Config{Name: "small", Pieces: 8, Hidden: 64, Inner: 96, Layers: 2, Heads: 2, Limit: 16, Epsilon: 1e-12}
}

const smallVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\ngate\n##s\nopen\n.\n"

type array struct {
	name  string
	shape []int
	data  []float32
}

// smallTensors are the arrays of a random original.
func smallTensors(c encoder.Config) []array {
	r := rand.New(rand.NewPCG(3, 4))
	var arrays []array
	add := func(name string, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(r.NormFloat64() * 0.2)
		}
		arrays = append(arrays, array{name, shape, data})
	}
	linear := func(name string, out, in int) {
		add(name+".weight", out, in)
		add(name+".bias", out)
	}
	norm := func(name string) {
		add(name+".weight", c.Hidden)
		add(name+".bias", c.Hidden)
	}
	add("embeddings.word_embeddings.weight", c.Pieces, c.Hidden)
	add("embeddings.position_embeddings.weight", 2*c.Limit, c.Hidden)
	add("embeddings.token_type_embeddings.weight", 2, c.Hidden)
	norm("embeddings.LayerNorm")
	for i := range c.Layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			linear(layer+"attention.self."+part, c.Hidden, c.Hidden)
		}
		linear(layer+"attention.output.dense", c.Hidden, c.Hidden)
		norm(layer + "attention.output.LayerNorm")
		linear(layer+"intermediate.dense", c.Inner, c.Hidden)
		linear(layer+"output.dense", c.Hidden, c.Inner)
		norm(layer + "output.LayerNorm")
	}
	return arrays
}

// safetensors lays arrays out as a safetensors file.
func safetensors(tb testing.TB, arrays []array) []byte {
	tb.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for _, a := range arrays {
		start := len(data)
		for _, f := range a.data {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
		}
		header[a.name] = map[string]any{"dtype": "F32", "shape": a.shape, "data_offsets": []int{start, len(data)}}
	}
	encoded, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(encoded)))
	return append(append(file, encoded...), data...)
}

func packSmall(tb testing.TB) []byte {
	tb.Helper()
	var file bytes.Buffer
	err := encoder.Pack(&file, encoder.Original{
		Config:     small(),
		Tensors:    safetensors(tb, smallTensors(small())),
		Vocabulary: []byte(smallVocabulary),
		Sum:        strings.Repeat("0", 64),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// reference is the forward pass in 64-bit floats on the arrays of an original.
type reference map[string]array

func (r reference) linear(x [][]float64, name string) [][]float64 {
	w, b := r[name+".weight"], r[name+".bias"].data
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, len(b))
		for j := range b {
			out[i][j] = float64(b[j])
			for k, f := range row {
				out[i][j] += f * float64(w.data[j*len(row)+k])
			}
		}
	}
	return out
}

func (r reference) addNorm(x, y [][]float64, name string) [][]float64 {
	out := make([][]float64, len(x))
	for i := range x {
		out[i] = make([]float64, len(x[i]))
		var sum, squares float64
		for j := range x[i] {
			out[i][j] = x[i][j] + y[i][j]
			sum += out[i][j]
		}
		mean := sum / float64(len(x[i]))
		for _, f := range out[i] {
			squares += (f - mean) * (f - mean)
		}
		for j, f := range out[i] {
			out[i][j] = (f-mean)/math.Sqrt(squares/float64(len(x[i]))+1e-12)*float64(r[name+".weight"].data[j]) + float64(r[name+".bias"].data[j])
		}
	}
	return out
}

func (r reference) encode(c encoder.Config, ids []int32) []float32 {
	x, y := make([][]float64, len(ids)), make([][]float64, len(ids))
	for i, id := range ids {
		x[i], y[i] = make([]float64, c.Hidden), make([]float64, c.Hidden)
		for j := range c.Hidden {
			x[i][j] = float64(r["embeddings.word_embeddings.weight"].data[int(id)*c.Hidden+j])
			y[i][j] = float64(r["embeddings.position_embeddings.weight"].data[i*c.Hidden+j]) +
				float64(r["embeddings.token_type_embeddings.weight"].data[j])
		}
	}
	x = r.addNorm(x, y, "embeddings.LayerNorm")
	for l := range c.Layers {
		layer := fmt.Sprintf("encoder.layer.%d.", l)
		q, k, v := r.linear(x, layer+"attention.self.query"), r.linear(x, layer+"attention.self.key"), r.linear(x, layer+"attention.self.value")
		context := make([][]float64, len(ids))
		width := c.Hidden / c.Heads
		for i := range ids {
			context[i] = make([]float64, c.Hidden)
			for h := 0; h < c.Hidden; h += width {
				weights, total := make([]float64, len(ids)), 0.0
				for j := range ids {
					var score float64
					for d := h; d < h+width; d++ {
						score += q[i][d] * k[j][d]
					}
					weights[j] = math.Exp(score / math.Sqrt(float64(width)))
					total += weights[j]
				}
				for j, weight := range weights {
					for d := h; d < h+width; d++ {
						context[i][d] += weight / total * v[j][d]
					}
				}
			}
		}
		x = r.addNorm(x, r.linear(context, layer+"attention.output.dense"), layer+"attention.output.LayerNorm")
		wide := r.linear(x, layer+"intermediate.dense")
		for _, row := range wide {
			for j, f := range row {
				row[j] = f / 2 * (1 + math.Erf(f/math.Sqrt2))
			}
		}
		x = r.addNorm(x, r.linear(wide, layer+"output.dense"), layer+"output.LayerNorm")
	}
	v := make([]float32, c.Hidden)
	for _, row := range x {
		for j, f := range row {
			v[j] += float32(f)
		}
	}
	return v
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestAPackedModelComputesWhatTheOriginalDoes(t *testing.T) {
	arrays := reference{}
	for _, a := range smallTensors(small()) {
		arrays[a.name] = a
	}
	for _, name := range encoder.Kernels() {
		m, err := encoder.Load(packSmall(t), name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header().Config != small() {
			t.Errorf("got the configuration %+v", m.Header().Config)
		}
		for _, text := range []string{"", "gate", "open gates.", "gate gate gate open. gates gates gate"} {
			ids, _ := m.Tokenizer().Encode(text, small().Limit)
			v, err := m.Encode(ids)
			if err != nil {
				t.Fatal(err)
			}
			if c := cosine(v, arrays.encode(small(), ids)); c < 0.999 {
				t.Errorf("%s: %q: cosine %.5f to the original", name, text, c)
			}
		}
	}
}

func TestPackIsDeterministicAndVerified(t *testing.T) {
	file := packSmall(t)
	if !bytes.Equal(file, packSmall(t)) {
		t.Error("the same original gave other bytes")
	}
	if err := encoder.Verify(file); err != nil {
		t.Error(err)
	}
	file[len(file)-100] ^= 1
	if err := encoder.Verify(file); err == nil {
		t.Error("a flipped bit was not noticed")
	}
}

func TestEncodeRefusesWhatIsNotInTheModel(t *testing.T) {
	m, err := encoder.Load(packSmall(t), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, ids := range map[string][]int32{
		"nothing":      {},
		"too much":     make([]int32, small().Limit+1),
		"a high id":    {int32(small().Pieces)},
		"a negative 1": {-1},
	} {
		if _, err := m.Encode(ids); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
}

func TestPackRefuses(t *testing.T) {
	whole := smallTensors(small())
	without := func(name string) []array {
		return slices.DeleteFunc(slices.Clone(whole), func(a array) bool { return a.name == name })
	}
	infinite := slices.Clone(whole)
	infinite[3].data = slices.Repeat([]float32{float32(math.Inf(1))}, len(whole[3].data))
	shape := func(change func(c *encoder.Config)) encoder.Config {
		c := small()
		change(&c)
		return c
	}
	good := safetensors(t, whole)
	for name, o := range map[string]encoder.Original{
		"no file":                   {Config: small()},
		"a cut-off header":          {Config: small(), Tensors: good[:20]},
		"a header of 2^60 bytes":    {Config: small(), Tensors: append(binary.LittleEndian.AppendUint64(nil, 1<<60), good[8:]...)},
		"cut-off data":              {Config: small(), Tensors: good[:len(good)-1]},
		"no embeddings":             {Config: small(), Tensors: safetensors(t, without("embeddings.word_embeddings.weight"))},
		"no bias in a layer":        {Config: small(), Tensors: safetensors(t, without("encoder.layer.1.output.dense.bias"))},
		"other pieces than shape":   {Config: shape(func(c *encoder.Config) { c.Pieces = 9 }), Tensors: good},
		"more layers than there":    {Config: shape(func(c *encoder.Config) { c.Layers = 3 }), Tensors: good},
		"more positions than there": {Config: shape(func(c *encoder.Config) { c.Limit = 33 }), Tensors: good},
		"odd dimensions":            {Config: shape(func(c *encoder.Config) { c.Hidden = 65 }), Tensors: good},
		"narrow heads":              {Config: shape(func(c *encoder.Config) { c.Heads = 4 }), Tensors: good},
		"no epsilon":                {Config: shape(func(c *encoder.Config) { c.Epsilon = 0 }), Tensors: good},
		"infinite weights":          {Config: small(), Tensors: safetensors(t, infinite)},
	} {
		if err := encoder.Pack(&bytes.Buffer{}, o); err == nil {
			t.Errorf("an original with %s was packed", name)
		}
	}
}

func TestLoadRefusesDamagedFiles(t *testing.T) {
	good := packSmall(t)
	for n := 0; n < len(good); n += 1 + n/7 {
		if _, err := encoder.Load(good[:n], ""); err == nil {
			t.Errorf("the first %d of %d bytes were loaded", n, len(good))
		}
	}
	if _, err := encoder.Load(append(slices.Clone(good), 0), ""); err == nil {
		t.Error("a file with a byte behind it was loaded")
	}
	for name, change := range map[string][2]string{
		"another magic":          {"docseek\x01", "docseek\x02"},
		"a huge dimension":       {`"hidden":64`, `"hidden":96`},
		"a negative vocabulary":  {`"vocabulary":40`, `"vocabulary":-4`},
		"more pieces than there": {`"pieces":8`, `"pieces":9`},
		"no header":              {`{"config"`, `["config"`},
	} {
		bad := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("%s: the file does not hold %s", name, change[0])
		}
		if _, err := encoder.Load(bad, ""); err == nil {
			t.Errorf("a file with %s was loaded", name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	good := packSmall(f)
	f.Add(good[:600])
	f.Add(good)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := encoder.Load(data, "")
		if err != nil {
			return
		}
		ids, _ := m.Tokenizer().Encode("open gates.", m.Header().Config.Limit)
		if _, err := m.Encode(ids); err != nil {
			t.Error(err)
		}
	})
}

func FuzzPack(f *testing.F) {
	f.Add(safetensors(f, smallTensors(small())))
	f.Add(safetensors(f, nil))
	f.Fuzz(func(t *testing.T, tensors []byte) {
		var file bytes.Buffer
		o := encoder.Original{Config: small(), Tensors: tensors, Vocabulary: []byte(smallVocabulary)}
		if err := encoder.Pack(&file, o); err != nil {
			return
		}
		if _, err := encoder.Load(file.Bytes(), ""); err != nil {
			t.Error(err)
		}
	})
}
