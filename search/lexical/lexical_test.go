package lexical_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search/lexical"
)

// score is what a passage scores for a query in a collection where every term
// is as rare as any other.
func score(a *lexical.Analyzer, language, query, passage string) float64 {
	terms := a.Query(language, query)
	frequency := make([]int, len(terms))
	for i := range frequency {
		frequency[i] = 1
	}
	return lexical.Vectorize(terms, 100, frequency).Dot(a.Passage(language, lexical.Field{Text: passage, Weight: 1}))
}

func TestMatches(t *testing.T) {
	a := lexical.New()
	tests := []struct{ language, query, passage string }{
		{"", "deleting accounts", "how to delete an account"},
		{"en-GB", "deleting accounts", "how to delete an account"},
		{"de", "Konten löschen", "ein Konto wird gelöscht: loschen"},
		{"de", "Straße", "in der STRASSE"},
		{"fr", "résumés", "un resume"},
		{"es", "cuentas bancarias", "la cuenta bancaria"},
		{"ru", "счета", "счетами"},
		{"tr", "hesaplar", "hesap"},
		{"xx", "words", "words of no known language"},
		{"en", "Konten", "Konten"},
		{"", "cafe", "Café"},
		{"", "ﬁle ①", "file 1"},
		{"", "useDeferredValue", "call useDeferredValue(x)"},
		{"", "deferred value", "call useDeferredValue(x)"},
		{"", "usedeferredvalue", "call useDeferredValue(x)"},
		{"", "max_retries", "set maxRetries to 3"},
		{"", "MAX-RETRIES", "set max_retries = 3"},
		{"", "websocket", "a web-socket"},
		{"", "--dry-run", "with --dry-run nothing happens"},
		{"", "dry run", "with --dry-run nothing happens"},
		{"", "@acme/sdk", "npm install @acme/sdk"},
		{"", "C++", "written in C++."},
		{"", "std::vector", "a std::vector<int>"},
		{"", "vector", "a std::vector<int>"},
		{"", "E1203", "error E1203: expired"},
		{"", "3.11", "since Python 3.11."},
		{"", "/etc/app/config.yaml", "edit /etc/app/config.yaml first"},
		{"", "config.yaml", "edit /etc/app/config.yaml first"},
		{"ja", "検索", "全文検索エンジン"},
		{"zh", "索", "全文检索"},
		{"th", "ค้นหา", "การค้นหาเอกสาร"},
		{"ko", "검색", "문서를 검색하다"},
	}
	for _, test := range tests {
		if score(a, test.language, test.query, test.passage) <= 0 {
			t.Errorf("%q does not find %q", test.query, test.passage)
		}
		if s := score(a, test.language, test.query, "none such here 999"); s != 0 {
			t.Errorf("%q finds what has nothing of it, with %v", test.query, s)
		}
	}
}

func TestTheExactFormScoresMore(t *testing.T) {
	a := lexical.New()
	tests := []struct{ query, exact, parts string }{
		{"foo-bar", "the foo-bar switch", "the foo of bar"},
		{"maxRetries", "set maxRetries here", "set max of retries"},
		{"--dry-run", "pass --dry-run here", "a dry-run of it"},
		{"C++", "the C++ code of", "the C code of"},
		{"C#", "the C# code of", "the C code of"},
		{"@acme/sdk", "install @acme/sdk", "install acme/sdk"},
		{"std::vector", "the std::vector type", "the std and vector"},
		{"3.11", "in version 3.11", "in version 11.3"},
		{"os.path.join", "call os.path.join", "join path of os"},
		{"connection", "the connection is", "the connected is"},
	}
	for _, test := range tests {
		exact, parts := score(a, "", test.query, test.exact), score(a, "", test.query, test.parts)
		if exact <= parts {
			t.Errorf("%q scores %.2f in %q and %.2f in %q", test.query, exact, test.exact, parts, test.parts)
		}
	}
}

// TestBM25 compares the dot product with the formula, written out.
func TestBM25(t *testing.T) {
	a := lexical.New()
	terms := a.Query("", "zebra apple mango")
	if len(terms) != 4 { // "apple" is stemmed to "appl", and "apple" is a term as well
		t.Fatalf("terms %+v", terms)
	}
	df := map[string]int{"zebra": 3, "apple": 50, "mango": 0}
	frequency := make([]int, len(terms))
	for i, term := range terms {
		frequency[i] = df[term.Word]
	}
	const chunks = 1000
	query := lexical.Vectorize(terms, chunks, frequency)
	passage := a.Passage("",
		lexical.Field{Text: "zebra", Weight: 3},
		lexical.Field{Text: "zebra apple kiwi zebra", Weight: 1})
	norm := 1.2 * (1 - 0.75 + 0.75*5/120)
	weight := func(f float64) float64 { return f * 2.2 / (f + norm) }
	idf := func(n float64) float64 { return math.Log(1 + (chunks-n+0.5)/(n+0.5)) }
	want := idf(3)*weight(5) + 1.5*idf(50)*weight(1)
	if got := query.Dot(passage); math.Abs(got-want) > 1e-5 {
		t.Errorf("score %v, want %v", got, want)
	}
	if bound := a.Bound(query); query.Dot(passage) >= bound {
		t.Errorf("the score reaches its bound %v", bound)
	}
}

func TestIDF(t *testing.T) {
	last := math.Inf(1)
	for df := range 101 {
		idf := lexical.IDF(100, df)
		if idf <= 0 || idf >= last {
			t.Errorf("IDF(100, %d) = %v after %v", df, idf, last)
		}
		last = idf
	}
	if lexical.IDF(10, 20) != lexical.IDF(10, 10) || lexical.IDF(0, 0) <= 0 {
		t.Error("counts that disagree have no idf")
	}
}

func TestStopWordsWeighLess(t *testing.T) {
	a := lexical.New()
	for _, test := range []struct{ language, query, stop, word string }{
		{"", "how to delete", "how", "delete"},
		{"de", "wie lösche ich", "wie", "losche"},
		{"fr", "comment supprimer", "comment", "supprimer"},
		{"es", "cómo borrar", "como", "borrar"},
		{"it", "come cancellare", "come", "cancellare"},
		{"pt", "como apagar", "como", "apagar"},
		{"nl", "hoe verwijder", "hoe", "verwijder"},
	} {
		weights := map[string]float32{}
		for _, term := range a.Query(test.language, test.query) {
			weights[term.Word] = max(weights[term.Word], term.Weight)
		}
		if weights[test.stop] <= 0 || weights[test.stop] >= weights[test.word] {
			t.Errorf("%q: weights %v", test.query, weights)
		}
	}
}

func TestQueryBounds(t *testing.T) {
	a := lexical.New()
	for _, text := range []string{"", " ", "*", "🙂🎉", "\xff\xfe", "()[]{}\"'"} {
		if terms := a.Query("", text); len(terms) != 0 {
			t.Errorf("%q has terms %+v", text, terms)
		}
	}
	var b strings.Builder
	for i := range 5000 {
		b.WriteString(strings.Repeat("x", i%90) + string(rune('a'+i%26)) + " ")
	}
	if n := len(a.Query("", b.String())); n != lexical.MaxQueryTerms {
		t.Errorf("a long query has %d terms", n)
	}
	if n := len(a.Passage("", lexical.Field{Text: strings.Repeat(b.String(), 10), Weight: 1}).Terms); n == 0 || n > 4096 {
		t.Errorf("a long passage has %d terms", n)
	}
}

func TestChunk(t *testing.T) {
	a := lexical.New()
	c := docseek.Chunk{Title: "Accounts", Path: []string{"Accounts", "Closing"}, Text: "It takes [a day](https://docs.test/terms)."}
	want := a.Passage("", lexical.Field{Text: "Accounts", Weight: 3}, lexical.Field{Text: "Closing", Weight: 3}, lexical.Field{Text: "It takes a day.", Weight: 1})
	got := a.Chunk(c)
	if !slices.Equal(got.Terms, want.Terms) || !slices.Equal(got.Weights, want.Weights) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		"plain words", "useDeferredValue --dry-run @acme/sdk C++ std::vector", "__init__ ___ a_-b", "検索エンジン ก็ 한국어",
		"\xff\xfe\x00", "e\u0301\u0301\u0301", "[x](https://a(b)c", strings.Repeat("aB", 300), "ﬁ①Ⅷ½", "’s don’t",
	} {
		for _, language := range []string{"en", "de", "tr", "ar", "ta"} {
			f.Add(language, s)
		}
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		a := lexical.New()
		v := a.Passage(language, lexical.Field{Text: text, Weight: 1})
		if len(v.Terms) != len(v.Weights) || !slices.IsSorted(v.Terms) || len(slices.Compact(slices.Clone(v.Terms))) != len(v.Terms) {
			t.Fatalf("the vector of %q is out of order: %v", text, v)
		}
		for i, w := range v.Weights {
			if !(w > 0 && w < 2.2) {
				t.Errorf("a term of %q weighs %v", text, w)
			}
			_ = i
		}
		terms := a.Query(language, text)
		if len(terms) > lexical.MaxQueryTerms {
			t.Errorf("%q has %d terms", text, len(terms))
		}
		// What a text holds finds it, as long as neither is cut.
		if len(text) < 2000 && len(v.Terms) < 2000 {
			for _, term := range terms {
				if _, found := slices.BinarySearch(v.Terms, term.Hash); !found {
					t.Errorf("%q does not find itself by %+v", text, term)
				}
			}
		}
	})
}

const prose = "The client sends an event each time a `Document` component is mounted and reaches this condition. " +
	"When `maxRetries` is exceeded the request fails with E1203; use --no-retry or client.retry_policy to change that, " +
	"see [the guide](https://docs.test/guide/retries.html#policy). Café owners in Zürich are unaffected since version 3.11. "

func BenchmarkChunk(b *testing.B) {
	a := lexical.New()
	c := docseek.Chunk{Title: "Retries", Path: []string{"Client", "Retries"}, Text: strings.Repeat(prose, 3), Language: "en"}
	b.SetBytes(int64(len(c.Text)))
	b.ReportAllocs()
	for b.Loop() {
		a.Chunk(c)
	}
}

func BenchmarkQuery(b *testing.B) {
	a := lexical.New()
	b.ReportAllocs()
	for b.Loop() {
		a.Query("", "how do I change the retry policy of client.max_retries?")
	}
}
