package search

import (
	"encoding/base64"
	"errors"
	"testing"
)

func TestCursorRoundTrip(t *testing.T) {
	identity := []string{"query", "hybrid"}
	for _, want := range []cursor{
		{kind: searchCursor, key: "state", offset: 3, plan: 1<<63 + 5},
		{kind: readCursor},
		{kind: listCursor, key: "\x00\xff", after: "https://docs.test/a"},
	} {
		got, err := parseCursor(want.encode(identity), want.kind, identity)
		if err != nil || got != want {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
		if _, err := parseCursor(want.encode(identity), want.kind, []string{"query", "", "hybrid"}); err == nil {
			t.Errorf("%+v was taken for another query", want)
		}
		if _, err := parseCursor(want.encode(identity), 'x', identity); err == nil {
			t.Errorf("%+v was taken for another kind", want)
		}
	}
}

func TestCursorToNoPlace(t *testing.T) {
	for _, c := range []cursor{
		{kind: readCursor, plan: 1 << 31},
		{kind: readCursor, plan: 1 << 63},
		{kind: searchCursor, offset: 1 << 31},
	} {
		if got, err := parseCursor(c.encode(nil), c.kind, nil); err == nil {
			t.Errorf("%+v was taken for %+v", c, got)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	identity := []string{"query"}
	f.Add(cursor{kind: searchCursor, key: "state", offset: 3, plan: 7}.encode(identity))
	f.Add("")
	f.Add("cw")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text, searchCursor, identity)
		if err != nil {
			if input := (*InputError)(nil); !errors.As(err, &input) {
				t.Errorf("%q: %v is no InputError", text, err)
			}
		} else if c.encode(identity) != text {
			t.Errorf("%q was taken for %+v", text, c)
		}
		// The same bytes with a digest that fits.
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return
		}
		forged := sign(b, identity)
		if c, err := parseCursor(forged, searchCursor, identity); err == nil && (c.offset < 0 || c.encode(identity) != forged) {
			t.Errorf("%q was taken for %+v", forged, c)
		}
	})
}
