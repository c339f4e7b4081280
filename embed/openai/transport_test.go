package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzDocumented(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"index":0,"embedding":[0.1,-2e3]},{"index":1,"embedding":"AACAPwAAAEA="}]}`,
		`{"data":[{"embedding":null}]}`, `{"error":{"message":"no"}}`, `{"data":[{"embedding":"AAAA"}]}`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := documented(bytes.Clone(body), &answer{texts: 1})
		if err != nil {
			return
		}
		var read struct {
			Data []struct {
				Embedding json.RawMessage `json:"embedding"`
			} `json:"data"`
		}
		if err := json.Unmarshal(out, &read); err != nil || len(read.Data) == 0 {
			t.Fatalf("%q became %q: %v", body, out, err)
		}
		for _, d := range read.Data {
			if d.Embedding[0] == '"' || d.Embedding[0] == 'n' {
				t.Fatalf("%q became %q", body, out)
			}
		}
	})
}

func FuzzReadRefusal(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"no","code":"x","type":null}}`, `{"error":"no"}`, `{"message":["a","b"]}`,
		`{"detail":[{"loc":["body"],"msg":"field required"}]}`, "<html>\x1b[31m", "\xff\xfe", strings.Repeat("é ", 400),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		message := readRefusal(body).message
		if n := utf8.RuneCountInString(message); n > maxMessage+1 {
			t.Errorf("%d characters", n)
		}
		if strings.ContainsFunc(message, unicode.IsControl) {
			t.Errorf("control characters in %q", message)
		}
	})
}

func BenchmarkDocumented(b *testing.B) {
	vector := make([]float32, 1536)
	for i := range vector {
		vector[i] = float32(i)/1536 - 0.5
	}
	var plain documentedAnswer
	for i := range 32 {
		plain.Data = append(plain.Data, documentedVector{Index: i, Embedding: vector})
	}
	body, err := json.Marshal(plain)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := documented(body, &answer{texts: 32}); err != nil {
			b.Fatal(err)
		}
	}
}
