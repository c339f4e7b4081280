package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// What is sent for an operation reads as that operation with the fragments that
// it needs, and as nothing else.
func sendsTheOperation(t *testing.T, text string) {
	t.Helper()
	d, faults := parse(text, Limits{}.withDefaults())
	if len(faults) > 0 {
		return
	}
	for _, operation := range d.tree.Operations {
		sent, err := d.textOf(operation)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parser.ParseQuery(&ast.Source{Input: sent})
		if err != nil {
			t.Fatalf("of %q is sent %q: %v", text, sent, err)
		}
		want := &ast.QueryDocument{Operations: ast.OperationList{operation}}
		needed := d.fragments(operation)
		for _, f := range d.tree.Fragments {
			if needed[f.Name] {
				want.Fragments = append(want.Fragments, f)
			}
		}
		diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
			cmpopts.IgnoreTypes(&ast.CommentGroup{}), cmp.FilterPath(func(p cmp.Path) bool {
				last := p.Last().String()
				return last == ".Description" || last == ".Src" || last == ".Start" || last == ".End" || last == ".Position" && len(p) == 3
			}, cmp.Ignore()))
		if diff != "" {
			t.Errorf("of %q is sent %q (-want +got):\n%s", text, sent, diff)
		}
	}
}

var documents = []string{
	"{a}",
	"query A{a} mutation B{b} query C{c}",
	"\ufeff,,{a},,",
	"# c\n\"d\" query Q(\"x\" $a: S = \"y\" \"z\" $b: [S] = [\"p\" \"q\"], $c: T = {k: \"v\"} @d(x: \"w\") $e: Int) @q(a: {b: {c: 1}}) { a(x: {y: \"}\"}) # }\n { ...F } }\r\n\"\"\"\nblock { } \"\"\" fragment F on T @f { b ...G }\rfragment G on T { \u00e9: c(s: \"\"\"a\n  b\\\"\"\"\"\"\") }fragment H on T { h }",
	"query a($x:A={b:{c:[{}]}}){f(x:[{y:{}}]){g}}mutation b{x}",
	"query fragment { fragment } fragment query on mutation { mutation }",
	"query Q { a(s: \"caf\u00e9 # \\\" { \u2028\") { b } } # \u2028 mutation { x }",
	"query($a:String=\"\"\"x\"\"\" \"\"\"described\"\"\" $b:Int){a}",
}

func TestSendsTheOperation(t *testing.T) {
	for _, text := range documents {
		sendsTheOperation(t, text)
	}
}

func FuzzSendsTheOperation(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sendsTheOperation(t, text) })
}

// Whatever the text and the variables, nothing panics and what passes is bounded.
func FuzzCheck(f *testing.F) {
	for _, text := range documents {
		f.Add(text, `{"a":1}`)
	}
	f.Add(`query($w: W, $l: [[ID!]]) { a(w: $w, l: $l) { ...F } } fragment F on T { b }`, `{"w":{"and":[{"s":"A"}]},"l":[[1],["2"],null]}`)
	schema := mustLoad(f, `enum S { A B } input W { and: [W!] s: S n: Int! = 1 } input O @oneOf { a: Int b: S } type T { b: Int } scalar J
		type Query { a(w: W, l: [[ID!]], o: O, j: J): T } type Mutation { x: Int }`)
	f.Fuzz(func(t *testing.T, text, variables string) {
		d, faults := parse(text, Limits{Document: 4 << 10}.withDefaults())
		if len(faults) > 0 || len(d.validate(schema)) > 0 {
			return
		}
		for _, operation := range d.tree.Operations {
			sent, faults := Coerce(schema, operation, []byte(variables), nil)
			if len(faults) > 0 {
				continue
			}
			// What was put right needs no more of it.
			again, faults := Coerce(schema, operation, sent, nil)
			if len(faults) > 0 || string(again) != string(sent) {
				t.Errorf("%s becomes %s, and that %s %v", variables, sent, again, faults)
			}
		}
	})
}

const benchmarked = "query Q($n: Int) { t(n: $n) { " +
	"...F t(n: $n) { id ...F t(n: $n) { id ...F t(n: $n) { id ...F t(n: $n) { id ...F t(n: $n) { id " +
	"} } } } } } } fragment F on T { id }"

func BenchmarkCheck(b *testing.B) {
	schema := mustLoad(b, `type T { id: ID t(n: Int): [T] } type Query { t(n: Int): T }`)
	limits := Limits{}.withDefaults()
	for b.Loop() {
		d, faults := parse(benchmarked, limits)
		if faults = append(faults, d.validate(schema)...); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

func BenchmarkTextOf(b *testing.B) {
	d, faults := parse(benchmarked, Limits{}.withDefaults())
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	for b.Loop() {
		if _, err := d.textOf(d.tree.Operations[0]); err != nil {
			b.Fatal(err)
		}
	}
}
