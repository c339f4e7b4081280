package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/encoder"
)

// Bounds of the files of a folder, in bytes.
const (
	maxWeights  = 4 << 30
	maxSettings = 1 << 20
	maxTokens   = 64 << 20
)

// leastLimit is the number of tokens that passages may have: a model that was
// trained on shorter texts reads them nonetheless, as far as it has positions.
const leastLimit = 256

// Open reads a model from a folder:
//
//	config.json                        shape and type: bert, xlm-roberta
//	model.safetensors                  weights: floats of 32 or 16 bits
//	tokenizer.json, or vocab.txt       WordPiece or Unigram; WordPiece without cases
//	modules.json, 1_Pooling/…          mean or first token; mean without them
//	sentence_bert_config.json          the most tokens of a text
//	config_sentence_transformers.json  what stands before queries and passages
//
// What the model needs and docseek does not do is an error that names it.
func Open(o Options) (*Model, error) {
	o = o.withDefaults()
	m, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("open the model in %s: %w", o.Dir, err)
	}
	return m, nil
}

func open(o Options) (*Model, error) {
	f := folder(o.Dir)
	absolute, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(absolute)
	original, err := f.original(name)
	if err != nil {
		return nil, err
	}
	tokenizer, err := f.tokenizer()
	if err != nil {
		return nil, err
	}
	if tokenizer.Size() > original.Config.Pieces {
		return nil, fmt.Errorf("the tokenizer has %d pieces, the weights have %d", tokenizer.Size(), original.Config.Pieces)
	}
	loaded, err := encoder.New(original, o.Precision, o.CPU)
	if err != nil {
		return nil, err
	}
	query, passage, err := f.prefixes(name)
	if err != nil {
		return nil, err
	}
	m := &Model{
		encoder: loaded, tokenizer: tokenizer, precision: o.Precision, query: query, passage: passage, workers: o.Workers, log: o.Log,
	}
	if o.QueryPrefix != nil {
		m.query = *o.QueryPrefix
	}
	if o.PassagePrefix != nil {
		m.passage = *o.PassagePrefix
	}
	return m, nil
}

// folder is where the files of a model are.
type folder string

// read returns a file, of a bounded size.
func (f folder) read(name string, most int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are allowed", name, info.Size(), most)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// settings reads a JSON file into v, if it is there.
func (f folder) settings(name string, v any) (there bool, _ error) {
	text, err := f.read(name, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return true, nil
}

// bertConfig is a config.json.
type bertConfig struct {
	Type       string  `json:"model_type"`
	Activation string  `json:"hidden_act"`
	Pieces     int     `json:"vocab_size"`
	Hidden     int     `json:"hidden_size"`
	Inner      int     `json:"intermediate_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	Positions  int     `json:"max_position_embeddings"`
	Padding    int     `json:"pad_token_id"`
	Epsilon    float32 `json:"layer_norm_eps"`
	Embedding  string  `json:"position_embedding_type"`
}

// original is the model that the encoder makes its weights of.
func (f folder) original(name string) (encoder.Original, error) {
	var c bertConfig
	there, err := f.settings("config.json", &c)
	if err != nil {
		return encoder.Original{}, err
	}
	if !there {
		return encoder.Original{}, errors.New("there is no config.json: name the folder that holds a model as Hugging Face lays it out")
	}
	first := 0
	switch c.Type {
	case "bert":
	case "xlm-roberta", "roberta":
		first = c.Padding + 1 // fairseq counts positions from behind the padding's id
	default:
		return encoder.Original{}, fmt.Errorf("its model_type is %q: bert and xlm-roberta are supported", c.Type)
	}
	switch {
	case c.Embedding != "" && c.Embedding != "absolute":
		return encoder.Original{}, fmt.Errorf("its position_embedding_type is %q: only absolute is supported", c.Embedding)
	case c.Activation != "gelu":
		return encoder.Original{}, fmt.Errorf("its hidden_act is %q: only gelu is supported", c.Activation)
	case c.Padding < 0 || c.Padding > c.Positions:
		return encoder.Original{}, fmt.Errorf("its pad_token_id is %d", c.Padding)
	}
	pooling, err := f.pooling()
	if err != nil {
		return encoder.Original{}, err
	}
	limit, err := f.limit(c.Positions - first)
	if err != nil {
		return encoder.Original{}, err
	}
	weights, err := f.read("model.safetensors", maxWeights)
	if errors.Is(err, fs.ErrNotExist) {
		return encoder.Original{}, errors.New("there is no model.safetensors: weights in other forms (ONNX, pytorch_model.bin, several parts) are not read")
	}
	if err != nil {
		return encoder.Original{}, err
	}
	prefix, err := encoder.TensorPrefix(weights, "embeddings.word_embeddings.weight")
	if err != nil {
		return encoder.Original{}, err
	}
	sum := sha256.Sum256(weights)
	return encoder.Original{
		Config: encoder.Config{
			Name: name, Pieces: c.Pieces, Hidden: c.Hidden, Inner: c.Inner, Layers: c.Layers, Heads: c.Heads,
			Limit: limit, Epsilon: c.Epsilon, Pooling: pooling,
		},
		Tensors: weights, Prefix: prefix, FirstPosition: first, Sum: hex.EncodeToString(sum[:]),
	}, nil
}

// pooling is what follows the encoder, by modules.json and the settings beside it.
func (f folder) pooling() (encoder.Pooling, error) {
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	if _, err := f.settings("modules.json", &modules); err != nil {
		return "", err
	}
	pooling := encoder.PoolMean
	for _, m := range modules {
		switch kind := filepath.Ext(m.Type); kind {
		case ".Transformer", ".Normalize": // all vectors are scaled to length 1
		case ".Pooling":
			if !filepath.IsLocal(m.Path) {
				return "", fmt.Errorf("modules.json leads to %q, out of the folder", m.Path)
			}
			way, err := f.poolingModule(filepath.Join(m.Path, "config.json"))
			if err != nil {
				return "", err
			}
			pooling = way
		default:
			return "", fmt.Errorf("its module %q is not supported", m.Type)
		}
	}
	return pooling, nil
}

func (f folder) poolingModule(name string) (encoder.Pooling, error) {
	var ways map[string]any
	there, err := f.settings(name, &ways)
	if err != nil || !there {
		return encoder.PoolMean, err
	}
	var found []string
	for _, way := range []string{
		"pooling_mode_cls_token", "pooling_mode_mean_tokens", "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
		"pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken",
	} {
		if ways[way] == true {
			found = append(found, way)
		}
	}
	switch {
	case len(found) == 1 && found[0] == "pooling_mode_mean_tokens":
		return encoder.PoolMean, nil
	case len(found) == 1 && found[0] == "pooling_mode_cls_token":
		return encoder.PoolFirst, nil
	default:
		return "", fmt.Errorf("its pooling is %v: the mean of the tokens or the first token, one of them, is supported", found)
	}
}

// limit is the most tokens of a text, of which there are positions.
func (f folder) limit(positions int) (int, error) {
	var s struct {
		Limit int `json:"max_seq_length"`
	}
	if _, err := f.settings("sentence_bert_config.json", &s); err != nil {
		return 0, err
	}
	if s.Limit <= 0 {
		s.Limit = positions
	}
	return min(positions, max(s.Limit, leastLimit)), nil
}

// tokenizer reads tokenizer.json, or the vocabulary of a WordPiece tokenizer
// without cases.
func (f folder) tokenizer() (encoder.TextTokenizer, error) {
	file, err := f.read("tokenizer.json", maxTokens)
	if err == nil {
		return encoder.ReadTokenizer(file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	vocabulary, err := f.read("vocab.txt", maxTokens)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is neither a tokenizer.json nor a vocab.txt")
	}
	if err != nil {
		return nil, err
	}
	var settings struct {
		Lowercase *bool `json:"do_lower_case"`
	}
	if _, err := f.settings("tokenizer_config.json", &settings); err != nil {
		return nil, err
	}
	if settings.Lowercase != nil && !*settings.Lowercase {
		return nil, errors.New("its tokenizer tells cases apart: a tokenizer.json is needed")
	}
	return encoder.NewTokenizer(string(vocabulary))
}

// prefixes are those that the folder names, or those that are known by its name.
func (f folder) prefixes(name string) (query, passage string, err error) {
	var s struct {
		Prompts map[string]string `json:"prompts"`
	}
	if _, err := f.settings("config_sentence_transformers.json", &s); err != nil {
		return "", "", err
	}
	query, passage = embed.Prefixes(name)
	if text, ok := s.Prompts["query"]; ok {
		query = text
	}
	for _, key := range []string{"passage", "document"} {
		if text, ok := s.Prompts[key]; ok {
			passage = text
			break
		}
	}
	return query, passage, nil
}
