package encoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

type unigramFile struct {
	AddedTokens []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer    *normalizerFile    `json:"normalizer"`
	PreTokenizer  *preTokenizerFile  `json:"pre_tokenizer"`
	PostProcessor *postProcessorFile `json:"post_processor"`
	Model         struct {
		Unknown      *int         `json:"unk_id"`
		Vocabulary   []vocabEntry `json:"vocab"`
		ByteFallback bool         `json:"byte_fallback"`
	} `json:"model"`
}

// vocabEntry is written ["▁the", -3.2].
type vocabEntry scoredPiece

func (e *vocabEntry) UnmarshalJSON(text []byte) error {
	pair := [2]any{&e.text, &e.score}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if len(raw) != len(pair) {
		return errors.New("an entry of the vocabulary is no pair of text and score")
	}
	for i, target := range pair {
		if err := json.Unmarshal(raw[i], target); err != nil {
			return err
		}
	}
	return nil
}

type normalizerFile struct {
	Type        string           `json:"type"`
	Charsmap    []byte           `json:"precompiled_charsmap"`
	Normalizers []normalizerFile `json:"normalizers"`
	Pattern     struct {
		Regex  string `json:"Regex"`
		String string `json:"String"`
	} `json:"pattern"`
	Content string `json:"content"`
}

type preTokenizerFile struct {
	Type           string             `json:"type"`
	PreTokenizers  []preTokenizerFile `json:"pretokenizers"`
	Replacement    string             `json:"replacement"`
	AddPrefixSpace *bool              `json:"add_prefix_space"`
	PrependScheme  string             `json:"prepend_scheme"`
	Split          *bool              `json:"split"`
}

type postProcessorFile struct {
	Type   string `json:"type"`
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct {
			ID string `json:"id"`
		} `json:"Sequence"`
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
}

func (f *unigramFile) tokenizer() (*Unigram, error) {
	m := f.Model
	switch {
	case m.ByteFallback:
		return nil, errors.New("its model falls back to bytes, which is not supported")
	case m.Unknown == nil:
		return nil, errors.New("its model has no unknown piece")
	case len(m.Vocabulary) > maxPieces:
		return nil, fmt.Errorf("its vocabulary has %d pieces, at most %d are allowed", len(m.Vocabulary), maxPieces)
	case *m.Unknown > math.MaxInt32:
		return nil, fmt.Errorf("its unknown piece is %d", *m.Unknown)
	}
	vocabulary := make([]scoredPiece, len(m.Vocabulary))
	for i, e := range m.Vocabulary {
		if len(e.text) > maxPiece {
			return nil, fmt.Errorf("piece %d of its vocabulary has %d bytes, at most %d are allowed", i, len(e.text), maxPiece)
		}
		vocabulary[i] = scoredPiece(e)
	}
	control := map[string]bool{}
	for _, t := range f.AddedTokens {
		if !t.Special {
			return nil, fmt.Errorf("the added token %q is not a special one, which is not supported", t.Content)
		}
		control[t.Content] = true
	}
	u, err := newUnigram(vocabulary, control, int32(*m.Unknown))
	if err != nil {
		return nil, err
	}
	if err := u.normalizeAs(f.Normalizer); err != nil {
		return nil, err
	}
	if u.words, err = f.PreTokenizer.rule(); err != nil {
		return nil, err
	}
	if u.first, u.last, err = f.PostProcessor.marks(u.size); err != nil {
		return nil, err
	}
	return u, nil
}

// normalizeAs takes a table of characters, and one space for several after it.
func (u *Unigram) normalizeAs(n *normalizerFile) error {
	if n == nil {
		return nil
	}
	steps := []normalizerFile{*n}
	if n.Type == "Sequence" {
		steps = n.Normalizers
	}
	for i, step := range steps {
		switch {
		case step.Type == "Precompiled" && i == 0:
			table, err := readCharsmap(step.Charsmap)
			if err != nil {
				return err
			}
			u.table = table
		case step.Type == "Replace" && step.Pattern.Regex == " {2,}" && step.Content == " " && i == len(steps)-1:
			u.oneSpace = true
		default:
			return fmt.Errorf("its normalizer %q is not supported in that place", step.Type)
		}
	}
	return nil
}

func (p *preTokenizerFile) rule() (wordRule, error) {
	if p == nil {
		return wordRule{}, errors.New("it has no pre-tokenizer")
	}
	steps := []preTokenizerFile{*p}
	if p.Type == "Sequence" {
		steps = p.PreTokenizers
	}
	var rule wordRule
	for i, step := range steps {
		switch {
		case step.Type == "WhitespaceSplit" && i == 0:
			rule.split = true
		case step.Type == "Metaspace" && i == len(steps)-1 && step.Replacement == spaceMark:
			rule.meta = step.Split == nil || *step.Split
			rule.prefix = prefixRule(step.PrependScheme)
			if rule.prefix == "" { // older files
				rule.prefix = prefixAlways
			}
			if step.AddPrefixSpace != nil && !*step.AddPrefixSpace {
				rule.prefix = prefixNever
			}
		default:
			return rule, fmt.Errorf("its pre-tokenizer %q is not supported in that place", step.Type)
		}
	}
	switch rule.prefix {
	case prefixAlways, prefixFirst, prefixNever:
		return rule, nil
	case "":
		return rule, errors.New("it has no Metaspace pre-tokenizer")
	default:
		return rule, fmt.Errorf("its prepend_scheme %q is not supported", rule.prefix)
	}
}

// marks are the ids of the tokens before and after a text.
func (p *postProcessorFile) marks(size int) (first, last int32, err error) {
	if p == nil || p.Type != "TemplateProcessing" || len(p.Single) != 3 ||
		p.Single[0].SpecialToken == nil || p.Single[1].Sequence == nil || p.Single[2].SpecialToken == nil {
		return 0, 0, errors.New("its post-processor does not put one token before and one after a text, which is not supported")
	}
	var ids [2]int32
	for i, name := range []string{p.Single[0].SpecialToken.ID, p.Single[2].SpecialToken.ID} {
		special := p.SpecialTokens[name].IDs
		if len(special) != 1 || special[0] < 0 || special[0] >= size {
			return 0, 0, fmt.Errorf("its special token %q is not one of its %d pieces", name, size)
		}
		ids[i] = int32(special[0])
	}
	return ids[0], ids[1], nil
}
