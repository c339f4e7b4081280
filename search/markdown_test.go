package search

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	tests := []struct {
		name, text string
		limit      int
		want       string
	}{
		{"fits", "short", 5, "short"},
		{"after a paragraph", "One two.\n\nThree four five.", 16, "One two."},
		{"after a sentence", "One two three. Four five six seven eight.", 24, "One two three."},
		{"after a word", "one two three four five", 12, "one two"},
		{"within a word", "abcdefghijkl", 5, "abcde"},
		{"between characters", "äöüäöü", 4, "äöüä"},
		{"CJK sentence", "今日は晴れ。明日は雨が降る。", 9, "今日は晴れ。"},
		{"fence closed", "```go\nline one\nline two\nline three\n```", 27, "```go\nline one\n```"},
		{"row of a table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", 36, "| a | b |\n|---|---|\n| 1 | 2 |"},
		{"item of a list", "- one thing\n- other thing\n- third thing", 30, "- one thing\n- other thing"},
		{"block before a fence", "Some words here.\n\n```\ncode\n```", 24, "Some words here."},
		{"nothing fits", "abc", 0, ""},
	}
	for _, test := range tests {
		got, kept := shorten(test.text, test.limit)
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if !strings.HasPrefix(got, test.text[:kept]) {
			t.Errorf("%s: kept %d bytes of %q in %q", test.name, kept, test.text, got)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("One.\n\n```go\nx := 1\n```\n\n| a |\n|---|\n| 1 |\n", 20)
	f.Add("~~~~\n```\n~~~\n", 5)
	f.Add("   ```\n\x00<<<<", 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || limit > 1<<16 || len(text) > 1<<12 {
			return
		}
		short, kept := shorten(text, limit)
		if n := jsonChars(short); n > limit {
			t.Errorf("shorten(%q, %d) = %q has %d characters", text, limit, short, n)
		}
		if kept > len(text) || !strings.HasPrefix(short, text[:kept]) {
			t.Errorf("shorten(%q, %d) = %q kept %d bytes", text, limit, short, kept)
		}
		if inside(text).marker == "" && inside(short).marker != "" {
			t.Errorf("shorten(%q, %d) = %q leaves a fence open", text, limit, short)
		}
		if jsonChars(text) <= limit && short != text {
			t.Errorf("shorten(%q, %d) cut what fits", text, limit)
		}
	})
}

func TestConstruct(t *testing.T) {
	tests := []struct{ text, opening, closing string }{
		{"plain", "", ""},
		{"```go\nx", "```go\n", "\n```"},
		{"```go\nx\n```\n", "", ""},
		{"````\n```\nx", "````\n", "\n````"},
		{"~~~ sh\nx", "~~~ sh\n", "\n~~~"},
		{"- a\n  ```\n  x", "  ```\n", "\n  ```"},
		{"`inline` ```x```\n", "", ""},
		{"| a |\n|---|\n| 1 |\n", "| a |\n|---|\n", ""},
		{"| a |\n|---|\n| 1 |\n\n", "", ""},
	}
	for _, test := range tests {
		c := inside(test.text)
		if c.opening() != test.opening || c.closing() != test.closing {
			t.Errorf("inside(%q): opening %q, closing %q", test.text, c.opening(), c.closing())
		}
	}
}
