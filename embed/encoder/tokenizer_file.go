package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxTokenizerFile bounds a tokenizer.json, in bytes; that of XLM-R has 17 MB.
const maxTokenizerFile = 64 << 20

// ReadTokenizer reads a tokenizer.json of Hugging Face: WordPiece as BERT has it,
// or Unigram as XLM-R has it. A file that asks for something else is refused with
// what that is.
func ReadTokenizer(file []byte) (TextTokenizer, error) {
	t, err := readTokenizer(file)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer.json: %w", err)
	}
	return t, nil
}

func readTokenizer(file []byte) (TextTokenizer, error) {
	if len(file) > maxTokenizerFile {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(file), maxTokenizerFile)
	}
	var kind struct {
		Model struct {
			Type string `json:"type"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &kind); err != nil {
		return nil, err
	}
	switch kind.Model.Type {
	case "Unigram":
		var f unigramFile
		if err := json.Unmarshal(file, &f); err != nil {
			return nil, err
		}
		return f.tokenizer()
	case "WordPiece":
		var f wordPieceFile
		if err := json.Unmarshal(file, &f); err != nil {
			return nil, err
		}
		return f.tokenizer()
	default:
		return nil, fmt.Errorf("its model is %q, not WordPiece or Unigram", kind.Model.Type)
	}
}

type wordPieceFile struct {
	Normalizer struct {
		Type         string `json:"type"`
		CleanText    *bool  `json:"clean_text"`
		Ideographs   *bool  `json:"handle_chinese_chars"`
		StripAccents *bool  `json:"strip_accents"`
		Lowercase    *bool  `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor *struct {
		Type string `json:"type"`
	} `json:"post_processor"`
	Model struct {
		Unknown    string           `json:"unk_token"`
		Inner      string           `json:"continuing_subword_prefix"`
		MaxWord    int              `json:"max_input_chars_per_word"`
		Vocabulary map[string]int32 `json:"vocab"`
	} `json:"model"`
}

func (f *wordPieceFile) tokenizer() (*Tokenizer, error) {
	n, m := f.Normalizer, f.Model
	cased := n.Lowercase != nil && !*n.Lowercase
	switch {
	case n.Type != "BertNormalizer":
		return nil, fmt.Errorf("its normalizer %q is not supported", n.Type)
	case n.CleanText != nil && !*n.CleanText, n.Ideographs != nil && !*n.Ideographs:
		return nil, errors.New("its normalizer leaves control characters or ideographs as they are, which is not supported")
	case n.StripAccents != nil && *n.StripAccents == cased:
		return nil, errors.New("its normalizer changes case but not accents, or accents but not case, which is not supported")
	case f.PreTokenizer.Type != "BertPreTokenizer":
		return nil, fmt.Errorf("its pre-tokenizer %q is not supported", f.PreTokenizer.Type)
	case f.PostProcessor != nil && f.PostProcessor.Type != "TemplateProcessing" && f.PostProcessor.Type != "BertProcessing":
		return nil, fmt.Errorf("its post-processor %q is not supported", f.PostProcessor.Type)
	case m.Unknown != "[UNK]", m.Inner != "##", m.MaxWord != maxWord:
		return nil, fmt.Errorf("its model has %q for unknown words, %q before inner pieces or words of %d characters, which is not supported",
			m.Unknown, m.Inner, m.MaxWord)
	case len(m.Vocabulary) > maxPieces:
		return nil, fmt.Errorf("its vocabulary has %d pieces, at most %d are allowed", len(m.Vocabulary), maxPieces)
	}
	pieces := make([]string, len(m.Vocabulary))
	for piece, id := range m.Vocabulary {
		if id < 0 || int(id) >= len(pieces) || pieces[id] != "" {
			return nil, fmt.Errorf("the ids of its vocabulary are not 0 to %d: piece %q has %d", len(pieces)-1, piece, id)
		}
		pieces[id] = piece
	}
	return newWordPiece(slices.Values(pieces), cased)
}
