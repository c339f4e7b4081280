package embed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// The estimate is held to texts in many scripts with their tokens as a real
// tokenizer counts them.
func TestTokensAreEstimatedRatherTooMany(t *testing.T) {
	file, err := os.ReadFile("encoder/testdata/tokens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var texts, less, estimated, counted int
	lines := bufio.NewScanner(bytes.NewReader(file))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var golden struct {
			Text string `json:"text"`
			IDs  []int  `json:"ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &golden); err != nil {
			t.Fatal(err)
		}
		got, want := estimateTokens(golden.Text), len(golden.IDs)-2 // without those that mark start and end
		texts++
		estimated += got
		counted += want
		if got < want {
			less++
			if len(golden.Text) > 200 {
				t.Errorf("%.60q has %d tokens and is taken to have %d", golden.Text, want, got)
			}
		}
	}
	if texts < 800 || less > texts/50 || estimated > 2*counted {
		t.Errorf("of %d texts %d are taken to have too few tokens; %d tokens in all are taken for %d", texts, less, counted, estimated)
	}
}
