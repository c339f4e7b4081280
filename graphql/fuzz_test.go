package graphql

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// whatever is read, printing it and reading that gives the same, and a document
// can be validated against it.
func checkRoundTrip(t *testing.T, s *Schema) {
	t.Helper()
	sdl := s.SDL()
	again, err := Load([]byte(sdl), "again", Options{Federation: true})
	if err != nil {
		t.Fatalf("what was printed is not read: %v\n%s", err, sdl)
	}
	if second := again.SDL(); second != sdl || again.Hash() != s.Hash() {
		t.Fatalf("it was\n%s\nand comes back as\n%s", sdl, second)
	}
	_, _ = gqlparser.LoadQueryWithRules(s.AST(), "{ __typename a { b(c: {d: 1}) } }", rules.NewDefaultRules())
}

func FuzzIntrospection(f *testing.F) {
	a := newAPI(f, library)
	text, err := json.Marshal(a.answer((&ladder{rung: Rung{Depth: deepest}}).wholeQuery()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(answerOf(queryWith(intRef, `"1"`) + "," + sortEnum)))
	f.Add([]byte(`{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","interfaces":[{"name":"Q"}],"fields":[{"name":"a","type":{"kind":"NON_NULL","ofType":{"kind":"INPUT_OBJECT","name":"I"}}}]},{"kind":"INPUT_OBJECT","name":"I","inputFields":[{"name":"i","type":{"kind":"NON_NULL","ofType":{"name":"I"}},"defaultValue":"{i: $x}"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Load(text, "fuzz", Options{})
		if err != nil {
			return
		}
		checkRoundTrip(t, s)
	})
}

func FuzzSDL(f *testing.F) {
	f.Add(library)
	f.Add(supergraph)
	f.Add("type Query { a(b: Int = 1 c: [E!]! = [A]): U } union U = Query enum E { A } \"\"\" x\n  y \"\"\" input I @oneOf { i: I }")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(strings.TrimLeft(text, "\ufeff \t\r\n"), "{") {
			return
		}
		s, err := Load([]byte(text), "fuzz", Options{})
		if err != nil {
			return
		}
		checkRoundTrip(t, s)
	})
}

// A description of any text comes back as it was cleaned.
func FuzzDescription(f *testing.F) {
	for _, text := range []string{"a", " a\n b", `"""`, "\\\"", "x\r\ny\n", "\t\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Load([]byte(`{"__schema":{"queryType":{"name":"Query"},"types":[{"kind":"OBJECT","name":"Query","description":`+quoted(t, text)+
			`,"fields":[{"name":"f","description":`+quoted(t, text)+`,"type":`+intRef+`}]}]}}`), "fuzz", Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load([]byte(s.SDL()), "again", Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, s.SDL())
		}
		want := cleanDescription(strings.ToValidUTF8(text, "\ufffd"))
		for _, got := range []string{again.Type("Query").Description, again.Type("Query").Fields[0].Description} {
			if got != want {
				t.Errorf("%q comes back as %q, want %q", text, got, want)
			}
		}
	})
}
