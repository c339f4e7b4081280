package crawler

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/saintfish/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// prescanBytes is how much of a page is searched for the encoding it declares (HTML §13.2.3.2).
const prescanBytes = 1024

// sevenBit is the encoding whose texts are valid UTF-8 and mean something else.
const sevenBit = "iso-2022-jp"

// minConfidence is from when on a guessed encoding is believed, of 100.
const minConfidence = 20

// decodeText returns a body as UTF-8 and the name of the encoding it was in: by
// its byte order mark, else by the Content-Type field, else by what the page
// declares, else by detection.
func decodeText(body []byte, contentType string) ([]byte, string, error) {
	head := body[:min(len(body), prescanBytes)]
	enc, name, certain := charset.DetermineEncoding(head, contentType)
	switch {
	case name == "utf-8" && mostlyUTF8(body), !certain && name != sevenBit && utf8.Valid(body):
		return bytes.ToValidUTF8(trimBOM(body), []byte("\ufffd")), "utf-8", nil
	case name == "utf-8", !certain && !declares(head):
		// Nothing is declared, or what is declared cannot be true.
		enc, name = detect(body, enc, name)
	}
	if enc == encoding.Nop {
		return bytes.ToValidUTF8(trimBOM(body), []byte("\ufffd")), "utf-8", nil
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil, name, fmt.Errorf("decode %s: %w", name, err)
	}
	return trimBOM(text), name, nil
}

// declares reports whether the start of a page names an encoding. That of one
// which names none is told by its first characters beyond ASCII, which are put
// there: the answer is UTF-8 then.
func declares(head []byte) bool {
	const sign = "é "
	ascii := bytes.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, head[:min(len(head), prescanBytes-len(sign))])
	enc, _, _ := charset.DetermineEncoding(append(ascii, sign...), "")
	return enc != encoding.Nop
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

// mostlyUTF8 reports whether the text is UTF-8 up to a few slips: fewer bytes
// that are not than characters of several bytes that are.
func mostlyUTF8(b []byte) bool {
	wrong, right := 0, 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1:
			wrong++
		case size > 1:
			right++
		}
		b = b[size:]
	}
	return wrong == 0 || wrong*4 < right
}

// detect guesses the encoding of a page from its text; windows-1252 is what is
// left when the guess is not sure (HTML §13.2.3.2, the default of most locales).
func detect(body []byte, enc encoding.Encoding, name string) (encoding.Encoding, string) {
	if guess, ok := best(body); ok && guess.Confidence >= minConfidence {
		if e, n := charset.Lookup(guess.Charset); e != nil && e != encoding.Nop && n != "utf-8" {
			return e, n
		}
	}
	if name == "utf-8" {
		return charset.Lookup("windows-1252")
	}
	return enc, name
}

// best is the likeliest encoding. The detector asks its recognisers side by side
// and takes the first of equals; here they are told apart by name, so that a page
// is read alike every time.
func best(body []byte) (chardet.Result, bool) {
	guesses, err := chardet.NewHtmlDetector().DetectAll(body)
	if err != nil || len(guesses) == 0 {
		return chardet.Result{}, false
	}
	return slices.MinFunc(guesses, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Charset, b.Charset))
	}), true
}
