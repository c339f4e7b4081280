package model_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/encoder"
	"github.com/docseek/docseek/embed/model"
)

// The shape of the test's model.
const (
	hidden, inner, layers, heads = 64, 128, 2, 2
	positions                    = 300
)

// tiny is a model of random weights, as a folder holds it.
type tiny struct {
	tensors map[string][]float32
	shapes  map[string][]int
	pieces  []string
	files   map[string]string
}

func newTiny() *tiny {
	m := &tiny{tensors: map[string][]float32{}, shapes: map[string][]int{}}
	m.pieces = append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}, strings.Fields("a key is rotated every ##ly day how do i pay account ##s query : .")...)
	random := rand.New(rand.NewPCG(1, 2))
	add := func(name string, spread, around float64, shape ...int) {
		n := 1
		for _, size := range shape {
			n *= size
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(around + spread*random.NormFloat64())
		}
		m.tensors[name], m.shapes[name] = values, shape
	}
	norm := func(name string) {
		add(name+".weight", .1, 1, hidden)
		add(name+".bias", .1, 0, hidden)
	}
	linear := func(name string, out, in int) {
		add(name+".weight", 1/math.Sqrt(float64(in)), 0, out, in)
		add(name+".bias", .1, 0, out)
	}
	add("embeddings.word_embeddings.weight", 1, 0, len(m.pieces), hidden)
	add("embeddings.position_embeddings.weight", .3, 0, positions, hidden)
	add("embeddings.token_type_embeddings.weight", .3, 0, 2, hidden)
	norm("embeddings.LayerNorm")
	for i := range layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			linear(layer+"attention.self."+part, hidden, hidden)
		}
		linear(layer+"attention.output.dense", hidden, hidden)
		norm(layer + "attention.output.LayerNorm")
		linear(layer+"intermediate.dense", inner, hidden)
		linear(layer+"output.dense", hidden, inner)
		norm(layer + "output.LayerNorm")
	}
	m.files = map[string]string{
		"config.json": fmt.Sprintf(`{"model_type":"bert","hidden_act":"gelu","vocab_size":%d,"hidden_size":%d,"intermediate_size":%d,`+
			`"num_hidden_layers":%d,"num_attention_heads":%d,"max_position_embeddings":%d,"pad_token_id":0,"layer_norm_eps":1e-12}`,
			len(m.pieces), hidden, inner, layers, heads, positions),
		"vocab.txt": strings.Join(m.pieces, "\n"),
	}
	return m
}

// safetensors writes the tensors under names that begin with prefix.
func (m *tiny) safetensors(t *testing.T, prefix, kind string) []byte {
	t.Helper()
	type entry struct {
		Type    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(m.tensors)) {
		from := data.Len()
		for _, f := range m.tensors[name] {
			bits := math.Float32bits(f)
			if kind == "BF16" {
				data.Write(binary.LittleEndian.AppendUint16(nil, uint16(bits>>16)))
			} else {
				data.Write(binary.LittleEndian.AppendUint32(nil, bits))
			}
		}
		header[prefix+name] = entry{kind, m.shapes[name], [2]int{from, data.Len()}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(file, text...), data.Bytes()...)
}

// write makes the folder of the model, with files that are changed or added.
func (m *tiny) write(t *testing.T, weights []byte, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny-e5-small")
	all := maps.Clone(m.files)
	maps.Copy(all, files)
	all["model.safetensors"] = string(weights)
	for name, text := range all {
		if text == "" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reference is the forward pass as the paper has it, in 64-bit floats.
func (m *tiny) reference(ids []int, first int, pool func([][]float64) []float64) []float64 {
	at := func(name string, i int) float64 { return float64(m.tensors[name][i]) }
	norm := func(x []float64, name string) {
		var mean, variance float64
		for _, f := range x {
			mean += f / float64(len(x))
		}
		for _, f := range x {
			variance += (f - mean) * (f - mean) / float64(len(x))
		}
		for j := range x {
			x[j] = (x[j]-mean)/math.Sqrt(variance+1e-12)*at(name+".weight", j) + at(name+".bias", j)
		}
	}
	linear := func(x []float64, name string, out int) []float64 {
		y := make([]float64, out)
		for j := range y {
			y[j] = at(name+".bias", j)
			for k, f := range x {
				y[j] += f * at(name+".weight", j*len(x)+k)
			}
		}
		return y
	}
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, hidden)
		for j := range x[i] {
			x[i][j] = at("embeddings.word_embeddings.weight", id*hidden+j) + at("embeddings.token_type_embeddings.weight", j) +
				at("embeddings.position_embeddings.weight", (first+i)*hidden+j)
		}
		norm(x[i], "embeddings.LayerNorm")
	}
	for l := range layers {
		layer := fmt.Sprintf("encoder.layer.%d.", l)
		var q, k, v [][]float64
		for _, row := range x {
			q = append(q, linear(row, layer+"attention.self.query", hidden))
			k = append(k, linear(row, layer+"attention.self.key", hidden))
			v = append(v, linear(row, layer+"attention.self.value", hidden))
		}
		const width = hidden / heads
		for i := range x {
			context := make([]float64, hidden)
			for h := range heads {
				part := func(row []float64) []float64 { return row[h*width : (h+1)*width] }
				weights, sum := make([]float64, len(x)), 0.0
				for j := range x {
					for d := range width {
						weights[j] += part(q[i])[d] * part(k[j])[d] / math.Sqrt(width)
					}
					weights[j] = math.Exp(weights[j])
					sum += weights[j]
				}
				for j := range x {
					for d := range width {
						part(context)[d] += weights[j] / sum * part(v[j])[d]
					}
				}
			}
			for j, f := range linear(context, layer+"attention.output.dense", hidden) {
				x[i][j] += f
			}
			norm(x[i], layer+"attention.output.LayerNorm")
			wide := linear(x[i], layer+"intermediate.dense", inner)
			for j, f := range wide {
				wide[j] = f / 2 * (1 + math.Erf(f/math.Sqrt2))
			}
			for j, f := range linear(wide, layer+"output.dense", hidden) {
				x[i][j] += f
			}
			norm(x[i], layer+"output.LayerNorm")
		}
	}
	return pool(x)
}

func mean(x [][]float64) []float64 {
	sum := make([]float64, hidden)
	for _, row := range x {
		for j, f := range row {
			sum[j] += f
		}
	}
	return sum
}

func first(x [][]float64) []float64 { return x[0] }

func cosine(a []float32, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * b[i]
		aa += float64(a[i]) * float64(a[i])
		bb += b[i] * b[i]
	}
	return ab / math.Sqrt(aa*bb)
}

// vector is that of a text and has length 1.
func vector(t *testing.T, m *model.Model, text string, kind embed.Kind) []float32 {
	t.Helper()
	vectors, err := m.Embed(t.Context(), []string{text}, kind)
	if err != nil {
		t.Fatal(err)
	}
	var length float64
	for _, f := range vectors[0] {
		length += float64(f) * float64(f)
	}
	if math.Abs(length-1) > 1e-5 {
		t.Errorf("a vector of length %v", math.Sqrt(length))
	}
	return vectors[0]
}

func opened(t *testing.T, o model.Options) *model.Model {
	t.Helper()
	m, err := model.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const pooled = `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},` +
	`{"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]`

// TestVectorsAreThoseOfThePaper holds every way to compute to a plain forward pass.
func TestVectorsAreThoseOfThePaper(t *testing.T) {
	tiny := newTiny()
	none := ""
	// [CLS] how do i pay account ##s . [SEP]
	const text = "How do I pay accounts."
	ids := []int{2, 11, 12, 13, 14, 15, 16, 19, 3}
	variants := []struct {
		name, prefix, kind string
		files              map[string]string
		first              int
		pool               func([][]float64) []float64
		ids                []int
	}{
		{"bert", "", "F32", nil, 0, mean, ids},
		{"bert with names", "bert.", "F32", nil, 0, mean, ids},
		{"first token", "", "F32", map[string]string{
			"modules.json": pooled, "1_Pooling/config.json": `{"word_embedding_dimension":64,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`,
		}, 0, first, ids},
		{"xlm-roberta", "roberta.", "F32", map[string]string{
			"config.json": strings.Replace(strings.Replace(tiny.files["config.json"], `"bert"`, `"xlm-roberta"`, 1), `"pad_token_id":0`, `"pad_token_id":1`, 1),
		}, 2, mean, ids},
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			dir := tiny.write(t, tiny.safetensors(t, v.prefix, v.kind), v.files)
			want := tiny.reference(v.ids, v.first, v.pool)
			for _, kernel := range encoder.Kernels() {
				for precision, least := range map[encoder.Precision]float64{encoder.Float32: .999999, encoder.Int8: .995} {
					m := opened(t, model.Options{Dir: dir, Precision: precision, CPU: kernel, PassagePrefix: &none})
					if got := cosine(vector(t, m, text, embed.Passage), want); got < least {
						t.Errorf("%s on %s: cosine %v, want %v", precision, kernel, got, least)
					}
				}
			}
		})
	}
}

func TestShorterFloats(t *testing.T) {
	tiny := newTiny()
	for _, values := range tiny.tensors {
		for i, f := range values {
			values[i] = math.Float32frombits(math.Float32bits(f) &^ 0xFFFF) // what BF16 holds
		}
	}
	long := opened(t, model.Options{Dir: tiny.write(t, tiny.safetensors(t, "", "F32"), nil), Precision: encoder.Float32})
	short := opened(t, model.Options{Dir: tiny.write(t, tiny.safetensors(t, "", "BF16"), nil), Precision: encoder.Float32})
	if !slices.Equal(vector(t, long, "a key", embed.Query), vector(t, short, "a key", embed.Query)) {
		t.Error("the same numbers in 16 bits give another vector")
	}
}

func TestPrefixes(t *testing.T) {
	tiny := newTiny()
	weights := tiny.safetensors(t, "", "F32")
	prompts := map[string]string{"config_sentence_transformers.json": `{"prompts":{"query":"how ","document":"a "}}`}
	same := slices.Equal[[]float32]
	none, own := "", "day "
	plain := opened(t, model.Options{Dir: tiny.write(t, weights, nil), QueryPrefix: &none, PassagePrefix: &none})
	for name, test := range map[string]struct {
		options        model.Options
		query, passage string
	}{
		"of the folder's name": {model.Options{Dir: tiny.write(t, weights, nil)}, "query: ", "passage: "}, // e5
		"of the folder":        {model.Options{Dir: tiny.write(t, weights, prompts)}, "how ", "a "},
		"of the configuration": {model.Options{Dir: tiny.write(t, weights, prompts), QueryPrefix: &own}, "day ", "a "},
	} {
		t.Run(name, func(t *testing.T) {
			m := opened(t, test.options)
			if !same(vector(t, m, "key", embed.Query), vector(t, plain, test.query+"key", embed.Query)) ||
				!same(vector(t, m, "key", embed.Passage), vector(t, plain, test.passage+"key", embed.Passage)) {
				t.Errorf("the prefixes are not %q and %q", test.query, test.passage)
			}
			if m.Fingerprint() == plain.Fingerprint() {
				t.Error("the fingerprint does not tell of the prefixes")
			}
		})
	}
}

func TestFingerprintsTellModelsApart(t *testing.T) {
	tiny := newTiny()
	weights := tiny.safetensors(t, "", "F32")
	seen := map[string]string{}
	for name, o := range map[string]model.Options{
		"int8":    {Dir: tiny.write(t, weights, nil)},
		"f32":     {Dir: tiny.write(t, weights, nil), Precision: encoder.Float32},
		"limit":   {Dir: tiny.write(t, weights, map[string]string{"sentence_bert_config.json": `{"max_seq_length":270}`})},
		"pooling": {Dir: tiny.write(t, weights, map[string]string{"modules.json": pooled, "1_Pooling/config.json": `{"pooling_mode_cls_token":true}`})},
		"weights": {Dir: tiny.write(t, tiny.safetensors(t, "bert.", "F32"), nil)},
	} {
		f := opened(t, o).Fingerprint()
		if other, twice := seen[f]; twice {
			t.Errorf("%s and %s have the fingerprint %s", name, other, f)
		}
		seen[f] = name
	}
	if a, b := opened(t, model.Options{Dir: tiny.write(t, weights, nil)}), opened(t, model.Options{Dir: tiny.write(t, weights, nil)}); a.Fingerprint() != b.Fingerprint() {
		t.Error("the same model in another place has another fingerprint")
	}
}

func TestLimits(t *testing.T) {
	tiny := newTiny()
	weights := tiny.safetensors(t, "", "F32")
	for setting, want := range map[string]int{"": positions, `{"max_seq_length":128}`: 256, `{"max_seq_length":280}`: 280, `{"max_seq_length":9999}`: positions} {
		var log bytes.Buffer
		m := opened(t, model.Options{
			Dir: tiny.write(t, weights, map[string]string{"sentence_bert_config.json": setting}),
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if m.Limit() != want {
			t.Errorf("%s: limit %d, want %d", setting, m.Limit(), want)
		}
		vector(t, m, "key", embed.Passage)
		if log.Len() > 0 {
			t.Errorf("a short text is logged: %s", &log)
		}
		vector(t, m, strings.Repeat("key ", 400), embed.Passage)
		if !strings.Contains(log.String(), "were cut") || !strings.Contains(log.String(), "texts=1 kind=passage") {
			t.Errorf("a cut text is not logged: %s", &log)
		}
	}
}

func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	tiny := newTiny()
	weights := tiny.safetensors(t, "", "F32")
	config := func(old, changedTo string) map[string]string {
		changed := strings.Replace(tiny.files["config.json"], old, changedTo, 1)
		if changed == tiny.files["config.json"] {
			t.Fatalf("config.json has no %s", old)
		}
		return map[string]string{"config.json": changed}
	}
	for name, test := range map[string]struct {
		files   map[string]string
		weights []byte
		says    string
	}{
		"nothing there":       {map[string]string{"config.json": ""}, weights, "no config.json"},
		"no weights":          {nil, nil, "no model.safetensors"},
		"no tokenizer":        {map[string]string{"vocab.txt": ""}, weights, "neither a tokenizer.json nor a vocab.txt"},
		"MPNet":               {config(`"bert"`, `"mpnet"`), weights, `model_type is "mpnet"`},
		"relative positions":  {config(`"layer_norm_eps"`, `"position_embedding_type":"relative_key","layer_norm_eps"`), weights, "only absolute"},
		"another activation":  {config(`"gelu"`, `"gelu_new"`), weights, `hidden_act is "gelu_new"`},
		"narrow heads":        {config(`"num_attention_heads":2`, `"num_attention_heads":4`), weights, "4 heads"},
		"other shapes":        {config(`"num_hidden_layers":2`, `"num_hidden_layers":3`), weights, "encoder.layer.2"},
		"huge":                {config(`"hidden_size":64`, `"hidden_size":99999999999`), weights, "hidden is 99999999999"},
		"fewer pieces":        {config(fmt.Sprintf(`"vocab_size":%d`, len(tiny.pieces)), `"vocab_size":5`), weights, "5"},
		"a dense module":      {map[string]string{"modules.json": strings.Replace(pooled, "Normalize\"}", "Dense\"}", 1)}, weights, "Dense"},
		"out of the folder":   {map[string]string{"modules.json": strings.Replace(pooled, `"1_Pooling"`, `"../../1_Pooling"`, 1)}, weights, "out of the folder"},
		"the largest":         {map[string]string{"modules.json": pooled, "1_Pooling/config.json": `{"pooling_mode_max_tokens":true}`}, weights, "pooling_mode_max_tokens"},
		"two poolings":        {map[string]string{"modules.json": pooled, "1_Pooling/config.json": `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}`}, weights, "one of them"},
		"cases without rules": {map[string]string{"tokenizer_config.json": `{"do_lower_case":false}`}, weights, "a tokenizer.json is needed"},
		"byte pairs":          {map[string]string{"tokenizer.json": `{"model":{"type":"BPE"}}`}, weights, `"BPE"`},
		"broken settings":     {map[string]string{"modules.json": "["}, weights, "read modules.json"},
		"cut weights":         {nil, weights[:len(weights)-4], "outside of the file"},
		"no weights in it":    {nil, []byte("safetensors"), "safetensors"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.Open(model.Options{Dir: tiny.write(t, test.weights, test.files)})
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "open the model in") {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

// TestTheOriginalIsTheBuiltinModel is part of the run where DOCSEEK_TEST_MINILM
// names the folder of all-MiniLM-L6-v2, which is too large for the sources.
func TestTheOriginalIsTheBuiltinModel(t *testing.T) {
	dir := os.Getenv("DOCSEEK_TEST_MINILM")
	if dir == "" {
		return
	}
	golden := func(line []byte) (text string, vector []float64) {
		var g struct {
			Text   string `json:"text"`
			Vector []byte `json:"vector"`
		}
		if err := json.Unmarshal(line, &g); err != nil {
			t.Fatal(err)
		}
		for b := g.Vector; len(b) >= 2; b = b[2:] {
			vector = append(vector, float64(int16(binary.LittleEndian.Uint16(b)))/32767)
		}
		return g.Text, vector
	}
	file, err := os.ReadFile("../builtin/testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for precision, least := range map[encoder.Precision]float64{encoder.Float32: .9999, encoder.Int8: .99} {
		m := opened(t, model.Options{Dir: dir, Precision: precision})
		worst := 1.0
		for line := range bytes.Lines(file) {
			text, want := golden(line)
			worst = min(worst, cosine(vector(t, m, text, embed.Passage), want))
		}
		if worst < least {
			t.Errorf("%s: the least cosine is %v, want %v", precision, worst, least)
		}
	}
}

// TestPublishedModels holds models in the folders below DOCSEEK_TEST_MODELS to the
// vectors beside them; scripts/check-models makes both.
func TestPublishedModels(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(os.Getenv("DOCSEEK_TEST_MODELS"), "*", "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("DOCSEEK_TEST_MODELS") == "" {
		return
	}
	if len(folders) == 0 {
		t.Fatal("there are none: scripts/check-models/run.sh makes them")
	}
	none := ""
	for _, vectors := range folders {
		file, err := os.ReadFile(vectors)
		if err != nil {
			t.Fatal(err)
		}
		for precision, least := range map[encoder.Precision]float64{encoder.Float32: .9999, encoder.Int8: .985} {
			m := opened(t, model.Options{Dir: filepath.Dir(vectors), Precision: precision, QueryPrefix: &none, PassagePrefix: &none})
			worst, sum, n := 1.0, 0.0, 0
			for line := range bytes.Lines(file) {
				var golden struct {
					Text   string
					Vector []float64
				}
				if err := json.Unmarshal(line, &golden); err != nil {
					t.Fatal(err)
				}
				got := cosine(vector(t, m, golden.Text, embed.Passage), golden.Vector)
				worst, sum, n = min(worst, got), sum+got, n+1
			}
			t.Logf("%s %s: cosine mean %.5f, least %.5f over %d texts", m.Name(), precision, sum/float64(n), worst, n)
			if worst < least {
				t.Errorf("%s %s: the least cosine is %v, want %v", m.Name(), precision, worst, least)
			}
		}
	}
}
