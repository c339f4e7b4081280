package encoder_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/embed/encoder"
)

const modelFile = "../builtin/all-minilm-l6-v2.bin"

// load loads the packed model with the plain Go kernel.
func load(tb testing.TB) *encoder.Model {
	tb.Helper()
	m, err := encoder.Load(read(tb, modelFile), "generic")
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

type tokenized struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
}

func tokenGoldens(tb testing.TB) []tokenized {
	tb.Helper()
	var all []tokenized
	lines := bufio.NewScanner(bytes.NewReader(read(tb, "testdata/tokens.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g tokenized
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			tb.Fatal(err)
		}
		all = append(all, g)
	}
	return all
}

func TestTokensAreThoseOfTheReference(t *testing.T) {
	tokenizer := load(t).Tokenizer()
	goldens := tokenGoldens(t)
	if len(goldens) < 800 {
		t.Fatalf("only %d goldens", len(goldens))
	}
	for _, g := range goldens {
		ids, truncated := tokenizer.Encode(g.Text, 1<<20)
		if truncated || !slices.Equal(ids, g.IDs) {
			t.Errorf("%q: got %v, want %v", g.Text, ids, g.IDs)
		}
		if n := tokenizer.Count(g.Text); n != len(g.IDs)-encoder.Overhead {
			t.Errorf("%q: counted %d tokens, want %d", g.Text, n, len(g.IDs)-encoder.Overhead)
		}
	}
}

func TestTokensOfEveryCharacterAreThoseOfTheReference(t *testing.T) {
	const block = 4096
	tokenizer := load(t).Tokenizer()
	var got strings.Builder
	for start := rune(0); start <= unicode.MaxRune; start += block {
		var ids []byte
		for r := start; r < start+block; r++ {
			if !utf8.ValidRune(r) {
				continue
			}
			of, _ := tokenizer.Encode("a"+string(r)+"b", 64)
			for _, id := range of {
				ids = binary.LittleEndian.AppendUint32(ids, uint32(id))
			}
		}
		fmt.Fprintf(&got, "%06x %x\n", start, sha256.Sum256(ids))
	}
	want := string(read(t, "testdata/characters.txt"))
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("want − and got + by block of characters:\n%s", diff)
	}
}

func TestSpecialTokensInATextAreText(t *testing.T) {
	tokenizer := load(t).Tokenizer()
	ids, _ := tokenizer.Encode("[SEP]", 16)
	want, _ := tokenizer.Encode("[ sep ]", 16)
	if !slices.Equal(ids, want) || len(ids) != 5 {
		t.Errorf("got %v, want %v", ids, want)
	}
}

func TestEncodeCutsAtTheLimit(t *testing.T) {
	tokenizer := load(t).Tokenizer()
	const text = "antidisestablishmentarianism is a word"
	whole, _ := tokenizer.Encode(text, 100)
	for limit := -1; limit <= len(whole)+1; limit++ {
		ids, truncated := tokenizer.Encode(text, limit)
		if truncated != (limit < len(whole)) {
			t.Errorf("limit %d of %d tokens: truncated is %t", limit, len(whole), truncated)
		}
		keep := min(max(limit, encoder.Overhead), len(whole)) - 1
		want := append(slices.Clone(whole[:keep]), whole[len(whole)-1])
		if !slices.Equal(ids, want) {
			t.Errorf("limit %d: got %v, want %v", limit, ids, want)
		}
	}
}

func TestCountDoesNotAllocate(t *testing.T) {
	tokenizer := load(t).Tokenizer()
	text := strings.Repeat("Größe ändern: 索引, 한국어, नमस्ते and plain text. ", 20)
	if n := testing.AllocsPerRun(10, func() { tokenizer.Count(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNewTokenizerRefuses(t *testing.T) {
	for name, vocabulary := range map[string]string{
		"no special tokens": "a\nb\n",
		"no separator":      "[UNK]\n[CLS]\n",
		"a long piece":      "[UNK]\n[CLS]\n[SEP]\n" + strings.Repeat("a", 2000),
		"nothing":           "",
	} {
		if _, err := encoder.NewTokenizer(vocabulary); err == nil {
			t.Errorf("a vocabulary with %s was taken", name)
		}
	}
}

func FuzzTokenizer(f *testing.F) {
	tokenizer := load(f).Tokenizer()
	for _, g := range tokenGoldens(f)[:100] {
		f.Add(g.Text, 256)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		ids, truncated := tokenizer.Encode(text, limit)
		count := tokenizer.Count(text) + encoder.Overhead
		if limit = max(limit, encoder.Overhead); truncated != (count > limit) || len(ids) != min(count, limit) {
			t.Errorf("%d tokens counted, %d of %d encoded, truncated %t", count, len(ids), limit, truncated)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tokenizer.Size() {
				t.Errorf("id %d of %d", id, tokenizer.Size())
			}
		}
		if utf8.ValidString(text) && tokenizer.Count(text+" "+text) != 2*tokenizer.Count(text) {
			t.Error("a text twice has not twice the tokens")
		}
	})
}

func BenchmarkCount(b *testing.B) {
	tokenizer := load(b).Tokenizer()
	text := string(read(b, "../builtin/all-minilm-l6-v2.md"))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tokenizer.Count(text)
	}
}
