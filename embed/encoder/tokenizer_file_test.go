package encoder

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func cased(tb testing.TB) []byte {
	tb.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "cased", "tokenizer.json"))
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// TestCasedTokensAreThoseOfTheReference holds a tokenizer that tells cases and
// accents apart to Hugging Face tokenizers 0.23.3; make.py beside it made both.
func TestCasedTokensAreThoseOfTheReference(t *testing.T) {
	tokenizer, err := ReadTokenizer(cased(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("testdata", "cased", "tokens.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var golden struct {
			Text string
			IDs  []int32
		}
		if err := json.Unmarshal(lines.Bytes(), &golden); err != nil {
			t.Fatal(err)
		}
		if ids, _ := tokenizer.Encode(golden.Text, 1<<20); !slices.Equal(ids, golden.IDs) {
			t.Errorf("%q:\n got %v\nwant %v", golden.Text, ids, golden.IDs)
		}
		if count := tokenizer.Count(golden.Text); count != len(golden.IDs)-Overhead {
			t.Errorf("%d tokens counted in %q, want %d", count, golden.Text, len(golden.IDs)-Overhead)
		}
	}
	if lines.Err() != nil || n < 200 {
		t.Errorf("%d goldens were read: %v", n, lines.Err())
	}
}

func TestUnsupportedTokenizers(t *testing.T) {
	file := string(cased(t))
	for _, test := range []struct{ old, new, says string }{
		{`"model":{"type":"WordPiece"`, `"model":{"type":"BPE"`, `its model is "BPE"`},
		{`"type":"BertNormalizer"`, `"type":"NFC"`, `normalizer "NFC"`},
		{`"clean_text":true`, `"clean_text":false`, "control characters"},
		{`"handle_chinese_chars":true`, `"handle_chinese_chars":false`, "ideographs"},
		{`"strip_accents":null`, `"strip_accents":true`, "accents but not case"},
		{`"type":"BertPreTokenizer"`, `"type":"ByteLevel"`, `pre-tokenizer "ByteLevel"`},
		{`"continuing_subword_prefix":"##"`, `"continuing_subword_prefix":"@@"`, `"@@" before inner pieces`},
		{`"max_input_chars_per_word":100`, `"max_input_chars_per_word":20`, "words of 20 characters"},
		{`"[UNK]":0`, `"[UNK]":1`, "are not 0 to"},
		{`"[UNK]":0`, `"[UNK]":-1`, "are not 0 to"},
		{`{`, `[`, "read tokenizer.json"},
	} {
		changed := strings.Replace(file, test.old, test.new, 1)
		if changed == file {
			t.Fatalf("the file has no %s", test.old)
		}
		if _, err := ReadTokenizer([]byte(changed)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.new, err, test.says)
		}
	}
}

// FuzzTokenizerFile: no file makes a tokenizer that fails later.
func FuzzTokenizerFile(f *testing.F) {
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,` +
		`"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"##b":4}},"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"}}`))
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁a",-1]]},"pre_tokenizer":{"type":"Metaspace","replacement":"▁"},` +
		`"normalizer":{"type":"Precompiled","precompiled_charsmap":"BAAAAAAAAAA="},"post_processor":{"type":"TemplateProcessing",` +
		`"single":[{"SpecialToken":{"id":"s"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"s"}}],"special_tokens":{"s":{"ids":[0]}}}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		tokenizer, err := ReadTokenizer(file)
		if err != nil {
			return
		}
		ids, _ := tokenizer.Encode("any text, ｆｕｌｌ width, e\u0301 日本", 64)
		for _, id := range ids {
			if id < 0 || int(id) >= tokenizer.Size() {
				t.Errorf("id %d of %d", id, tokenizer.Size())
			}
		}
	})
}
