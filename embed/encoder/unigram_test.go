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

func unigram(tb testing.TB, name string) *Unigram {
	tb.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "unigram", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	t, err := ReadTokenizer(file)
	if err != nil {
		tb.Fatal(err)
	}
	u, ok := t.(*Unigram)
	if !ok {
		tb.Fatalf("%s.json is of a %T", name, t)
	}
	return u
}

// TestUnigramIsTheReference holds the tokens of texts in many scripts to those of
// Hugging Face tokenizers 0.23.3, with three ways to cut words. make.py beside
// the goldens made them, and the vocabulary of 1,600 pieces.
func TestUnigramIsTheReference(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "unigram", "tokens.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tokenizers := map[string]*Unigram{}
	for _, name := range []string{"split", "metaspace", "first"} {
		tokenizers[name] = unigram(t, name)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n, wrong := 0, 0
	for lines.Scan() {
		var golden struct {
			Text                    string
			Split, Metaspace, First []int32
		}
		if err := json.Unmarshal(lines.Bytes(), &golden); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]int32{"split": golden.Split, "metaspace": golden.Metaspace, "first": golden.First} {
			if want == nil {
				continue
			}
			n++
			u := tokenizers[name]
			got, truncated := u.Encode(golden.Text, 1<<20)
			if !slices.Equal(got, want) || truncated {
				if wrong++; wrong < 12 {
					t.Errorf("%s of %q:\n got %v\nwant %v", name, golden.Text, got, want)
				}
			}
			if count := u.Count(golden.Text); count != len(want)-Overhead {
				t.Errorf("%s counts %d tokens in %q, want %d", name, count, golden.Text, len(want)-Overhead)
			}
		}
	}
	if lines.Err() != nil || n < 1000 {
		t.Fatalf("%d goldens were read: %v", n, lines.Err())
	}
	if wrong > 0 {
		t.Errorf("%d of %d are wrong", wrong, n)
	}
}

func TestUnigramIsCutAtItsLimit(t *testing.T) {
	u := unigram(t, "split")
	whole, _ := u.Encode("Ledgers are append-only: a wrong entry is corrected.", 100)
	for limit := range len(whole) + 2 {
		ids, truncated := u.Encode("Ledgers are append-only: a wrong entry is corrected.", limit)
		want := min(max(limit, Overhead), len(whole))
		if len(ids) != want || truncated != (limit < len(whole)) {
			t.Errorf("limit %d of %d: %d tokens, truncated %v", limit, len(whole), len(ids), truncated)
		}
		if ids[0] != u.first || ids[len(ids)-1] != u.last {
			t.Errorf("limit %d: %v", limit, ids)
		}
	}
}

func TestUnsupportedUnigrams(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "unigram", "split.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ old, new, says string }{
		{`"type":"Unigram"`, `"type":"BPE"`, `its model is "BPE"`},
		{`"unk_id":3`, `"unk_id":3000`, "unknown piece 3000"},
		{`"unk_id":3`, `"unk_id":-1`, "unknown piece -1"},
		{`"unk_id":3`, `"unk_id":null`, "no unknown piece"},
		{`"byte_fallback":false`, `"byte_fallback":true`, "falls back to bytes"},
		{`"type":"Precompiled"`, `"type":"NFKC"`, `normalizer "NFKC"`},
		{`"type":"WhitespaceSplit"`, `"type":"Digits"`, `pre-tokenizer "Digits"`},
		{`"prepend_scheme":"always"`, `"prepend_scheme":"often"`, `prepend_scheme "often"`},
		{`"type":"TemplateProcessing"`, `"type":"ByteLevel"`, "post-processor"},
		{`"special":true`, `"special":false`, "not a special one"},
		{`["<s>",0.0]`, `["<s>"]`, "no pair"},
		{`["<s>",0.0]`, `["<s>",1e999]`, "read tokenizer.json"},
	} {
		changed := strings.Replace(string(file), test.old, test.new, 1)
		if changed == string(file) {
			t.Fatalf("the file has no %s", test.old)
		}
		if _, err := ReadTokenizer([]byte(changed)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", test.new, err, test.says)
		}
	}
}

// TestReplacementsAreWholeCharacters gives a table whose only entry leads into the
// middle of a character.
func TestReplacementsAreWholeCharacters(t *testing.T) {
	u, err := newUnigram([]scoredPiece{{"<unk>", 0, 0}, {"a", -1, 1}}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	const children, leaf = 1 << 10, 1 << 8
	u.table = &charsmap{units: make([]uint32, 'a'+1), replacements: "é\x00"}
	u.table.units['a'] = 'a' | leaf | children
	u.table.units['a'^1] = 1
	u.words = wordRule{prefix: prefixNever}
	if ids, _ := u.Encode("a", 8); !slices.Equal(ids, []int32{0, 1, 0}) {
		t.Errorf("ids %v", ids)
	}
	u.table.units['a'^1] = 0
	if got := u.table.normalize("a"); got != "é" {
		t.Errorf("a whole character gave %q", got)
	}
}

// FuzzUnigramText: any text has tokens, of which none is out of the vocabulary.
func FuzzUnigramText(f *testing.F) {
	var tokenizers []*Unigram
	for _, name := range []string{"split", "metaspace", "first"} {
		tokenizers = append(tokenizers, unigram(f, name))
	}
	for _, seed := range []string{"", " ", "a  b", "\x00", "日本語", "e\u0301", "\xff", "▁", "</s>", "ｆｕｌｌ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, u := range tokenizers {
			ids, _ := u.Encode(text, 1<<20)
			if len(ids) != u.Count(text)+Overhead {
				t.Errorf("%q: %d tokens, counted %d", text, len(ids), u.Count(text))
			}
			for _, id := range ids {
				if id < 0 || int(id) >= u.Size() {
					t.Errorf("%q: id %d", text, id)
				}
			}
		}
	})
}

func BenchmarkUnigram(b *testing.B) {
	u := unigram(b, "split")
	const text = "A reservoir is the unit of storage. Each reservoir belongs to exactly one basin, has a capacity in litres."
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		u.Encode(text, 512)
	}
}
