package search

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzJSONChars(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\b\f\x00\x1f\x7f", "<a href='x'>&amp;</a>", "é🙂\u2028\u2029\ufffd", "\xff\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := jsonChars(s), utf8.RuneCount(b)-len(`""`); got != want {
			t.Errorf("jsonChars(%q) = %d, encoding/json writes %d", s, got, want)
		}
	})
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöüß", 3, "äö…"},
		{"äöü", 3, "äöü"},
		{"a bcd", 3, "a…"},
	} {
		if got := clip(test.text, test.most); got != test.want {
			t.Errorf("clip(%q, %d) = %q, want %q", test.text, test.most, got, test.want)
		}
	}
}

func TestEnumerate(t *testing.T) {
	if got := enumerate([]string{"a", "b"}); got != "a, b" {
		t.Error(got)
	}
	if got := enumerate(strings.Split("abcdefghij", "")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Error(got)
	}
}
