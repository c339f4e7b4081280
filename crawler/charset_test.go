package crawler

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func TestDecodeText(t *testing.T) {
	const sentence = "café — naïve 日本"
	const latin = "café naïve"
	long := strings.Repeat("日本語の文書を検索する道具です。設定と起動について説明します。", 8)
	encode := func(e encoding.Encoding, s string) []byte {
		t.Helper()
		b, err := e.NewEncoder().Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	page := func(charset, text string) string {
		return `<html><head><meta charset="` + charset + `"></head><body>` + text + `</body></html>`
	}
	for _, tc := range []struct {
		name, contentType string
		body              []byte
		want, charset     string
	}{
		{"byte order mark before header", "text/html; charset=iso-8859-1", []byte("\xef\xbb\xbf" + sentence), sentence, "utf-8"},
		{"header", "text/html; charset=ISO-8859-1", encode(charmap.ISO8859_1, latin), latin, "windows-1252"},
		{"header before meta", "text/html; charset=windows-1252", encode(charmap.Windows1252, page("shift_jis", latin)), page("shift_jis", latin), "windows-1252"},
		{"meta only", "text/html", encode(charmap.Windows1252, page("windows-1252", "café — naïve")), page("windows-1252", "café — naïve"), "windows-1252"},
		{"meta only, Japanese", "text/html", encode(japanese.ShiftJIS, page("Shift_JIS", "日本")), page("Shift_JIS", "日本"), "shift_jis"},
		{"meta before detection", "text/html", encode(japanese.ShiftJIS, page("Shift_JIS", "日本 in an English page")), page("Shift_JIS", "日本 in an English page"), "shift_jis"},
		{"meta before detection, single bytes", "text/html", encode(charmap.ISO8859_7, page("iso-8859-7", "ναι yes")), page("iso-8859-7", "ναι yes"), "iso-8859-7"},
		{"meta of windows-1252 before detection", "text/html", encode(charmap.Windows1252, page("windows-1252", "œuf ß Ÿ")), page("windows-1252", "œuf ß Ÿ"), "windows-1252"},
		{"meta of a seven-bit encoding", "text/html", encode(japanese.ISO2022JP, page("iso-2022-jp", "日本")), page("iso-2022-jp", "日本"), "iso-2022-jp"},
		{"meta that is not true", "text/html", []byte(page("shift_jis", sentence)), page("shift_jis", sentence), "utf-8"},
		{"UTF-16 by its mark", "text/html", encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), sentence), sentence, "utf-16le"},
		{"UTF-8 undeclared", "text/html", []byte(sentence), sentence, "utf-8"},
		{"UTF-8 undeclared, far down", "text/html", []byte(strings.Repeat("x", 2000) + sentence), strings.Repeat("x", 2000) + sentence, "utf-8"},
		{"a label nobody knows", "text/html; charset=nonsense", []byte(sentence), sentence, "utf-8"},
		{"declared UTF-8, is not", "text/html; charset=utf-8", encode(charmap.Windows1252, latin), latin, "windows-1252"},
		{"detected", "text/html", encode(japanese.EUCJP, long), long, "euc-jp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, charset, err := decodeText(tc.body, tc.contentType)
			if err != nil || string(got) != tc.want || charset != tc.charset {
				t.Errorf("%q as %s, %v; want %q as %s", got, charset, err, tc.want, tc.charset)
			}
		})
	}
	got, _, err := decodeText([]byte("日本語の文書\xff日本語"), "text/html; charset=utf-8")
	if want := "日本語の文書\ufffd日本語"; err != nil || string(got) != want {
		t.Errorf("one bad byte: %q, %v", got, err)
	}
}

func FuzzDecodeText(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00"), "text/html; charset=utf-8")
	f.Add([]byte("<meta charset=shift_jis>\x93\xfa\x96{"), "text/html")
	f.Add([]byte("\x1b$B8\x00"), "text/html; charset=iso-2022-kr")
	f.Add([]byte("caf\xe9"), "text/plain; charset=")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		text, name, err := decodeText(body, contentType)
		if err == nil && (!utf8.Valid(text) || name == "") {
			t.Fatalf("%q from %q, named %q", text, body, name)
		}
	})
}
