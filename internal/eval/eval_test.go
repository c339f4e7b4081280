package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/eval"
)

func TestLoad(t *testing.T) {
	const file = "\xef\xbb\xbf" + `{"id":"a","query":"how?","gold":["x.html#y"],"kind":"real","site":"s","note":{"by":"me"}}

{"id":"b","query":"what?","gold":["x.html","https://docs.example.com/z"],"kind":"synthetic"}`
	got, err := eval.Load(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Question{
		{ID: "a", Query: "how?", Gold: []string{"x.html#y"}, Kind: eval.Real},
		{ID: "b", Query: "what?", Gold: []string{"x.html", "https://docs.example.com/z"}, Kind: eval.Synthetic},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

func TestLoadSaysWhichLineIsWrong(t *testing.T) {
	const good = `{"id":"a","query":"q","gold":["x"],"kind":"real"}` + "\n"
	tests := []struct{ file, says string }{
		{"", "line 1: the file holds no questions"},
		{"\n\n", "line 3: the file holds no questions"},
		{good + "{", "line 2: unexpected end of JSON input"},
		{good + "\n[]", "line 3: json: cannot unmarshal array"},
		{good + `{"id":"b","query":"q","gold":"x","kind":"real"}`, "line 2: json: cannot unmarshal string"},
		{good + `{"query":"q","gold":["x"],"kind":"real"}`, "line 2: id: is missing"},
		{good + `{"id":"b","query":" ","gold":["x"],"kind":"real"}`, "line 2: query: is missing"},
		{good + `{"id":"b","query":"q","gold":[],"kind":"real"}`, "line 2: gold: is missing"},
		{good + `{"id":"b","query":"q","gold":["x",""],"kind":"real"}`, "line 2: gold: holds an empty entry"},
		{good + `{"id":"b","query":"q","gold":["x"],"kind":"guess"}`, `line 2: kind: must be real or synthetic (got "guess")`},
		{good + good, `line 2: id: "a" is that of line 1 too`},
		{good + strings.Repeat("x", 1<<20+1), "line 2: longer than 1048576 bytes"},
	}
	for _, test := range tests {
		_, err := eval.Load(strings.NewReader(test.file))
		var line *eval.LineError
		if !errors.As(err, &line) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Load(%.60q) = %v, want %q", test.file, err, test.says)
		}
	}
}

// answers asks a table.
func answers(table map[string][]string) eval.Ask {
	return func(_ context.Context, query string) ([]string, error) { return table[query], nil }
}

func run(t *testing.T, questions []eval.Question, table map[string][]string, o eval.Options) eval.Report {
	t.Helper()
	report, err := eval.Run(t.Context(), questions, answers(table), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func near(a, b eval.Scores) bool {
	for _, pair := range [][2]float64{
		{float64(a.N), float64(b.N)},
		{a.Hit1, b.Hit1},
		{a.Hit5, b.Hit5},
		{a.Hit10, b.Hit10},
		{a.Recall, b.Recall},
		{a.MRR, b.MRR},
		{a.NDCG, b.NDCG},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			return false
		}
	}
	return true
}

func TestScoresByHand(t *testing.T) {
	misses := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, "miss"+string(rune('a'+i)))
		}
		return out
	}
	questions := []eval.Question{
		{ID: "first", Query: "first", Gold: []string{"a"}, Kind: eval.Real},
		{ID: "third and fifth", Query: "35", Gold: []string{"a", "b", "c"}, Kind: eval.Real},
		{ID: "tenth", Query: "10", Gold: []string{"a"}, Kind: eval.Synthetic},
		{ID: "eleventh", Query: "11", Gold: []string{"a"}, Kind: eval.Synthetic},
		{ID: "nothing", Query: "0", Gold: []string{"a"}, Kind: eval.Synthetic},
	}
	report := run(t, questions, map[string][]string{
		"first": {"a#one", "a#two", "b"},
		"35":    {"x", "x#1", "y", "a", "a", "z", "c"}, // distinct: x y a z c
		"10":    append(misses(9), "a"),
		"11":    append(misses(10), "a"),
	}, eval.Options{})
	// nDCG of "third and fifth": (1/log2(4) + 1/log2(6)) / (1 + 1/log2(3) + 1/log2(4)).
	two := (1/2.0 + 1/math.Log2(6)) / (1 + 1/math.Log2(3) + 1/2.0)
	ten := 1 / math.Log2(11)
	want := map[string]eval.Scores{
		eval.Real:      {N: 2, Hit1: 1 / 2.0, Hit5: 1, Hit10: 1, Recall: (1 + 2/3.0) / 2, MRR: (1 + 1/3.0) / 2, NDCG: (1 + two) / 2},
		eval.Synthetic: {N: 3, Hit10: 1 / 3.0, Recall: 1 / 3.0, MRR: 1 / 30.0, NDCG: ten / 3},
		eval.All:       {N: 5, Hit1: 1 / 5.0, Hit5: 2 / 5.0, Hit10: 3 / 5.0, Recall: (1 + 2/3.0 + 1) / 5, MRR: (1 + 1/3.0 + 1/10.0) / 5, NDCG: (1 + two + ten) / 5},
	}
	if diff := cmp.Diff(want, report.Scores, cmp.Comparer(near)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	outcomes := []eval.Outcome{{"first", 1}, {"third and fifth", 3}, {"tenth", 10}, {"eleventh", 0}, {"nothing", 0}}
	if diff := cmp.Diff(outcomes, report.Outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestMoreThanTenGoldEntriesCanBeIdeal(t *testing.T) {
	var gold, results []string
	for c := 'a'; c < 'a'+12; c++ {
		gold = append(gold, string(c))
		results = append(results, string(c))
	}
	report := run(t, []eval.Question{{ID: "q", Query: "q", Gold: gold, Kind: eval.Real}}, map[string][]string{"q": results}, eval.Options{})
	want := eval.Scores{N: 1, Hit1: 1, Hit5: 1, Hit10: 1, Recall: 10 / 12.0, MRR: 1, NDCG: 1}
	if got := report.Scores[eval.All]; !near(got, want) {
		t.Errorf("scores %+v, want %+v", got, want)
	}
}

func TestWhatIsTheSamePage(t *testing.T) {
	tests := []struct {
		base, gold, result string
		same               bool
	}{
		{"", "library/re.html#re.split", "http://127.0.0.1:8001/library/re.html#other", true},
		{"", "library/re.html", "https://docs.example.com/library/re", true},
		{"", "guide/", "https://docs.example.com/guide/index.html", true},
		{"", "guide/index.html", "https://docs.example.com/guide/", true},
		{"", "index.html", "https://docs.example.com", true},
		{"", "index.html", "https://docs.example.com/?lang=en#top", true},
		{"", "v1.2", "https://docs.example.com/v1.2.html", true},
		{"", "notes.md", "https://docs.example.com/notes.md", true},
		{"", "notes.md", "https://docs.example.com/notes", false},
		{"", "a b/ü", "https://docs.example.com/a%20b/%C3%BC", true},
		{"", "100%", "https://docs.example.com/100%", true},
		{"", "https://old.example.com/a", "https://docs.example.com/a", true},
		{"", "guide", "https://docs.example.com/Guide", false},
		{"", "guide", "https://docs.example.com/guide/", false},
		{"", "re.html", "https://docs.example.com/library/re.html", false},
		{"https://docs.example.com/v2/", "library/re.html", "https://docs.example.com/v2/library/re", true},
		{"https://docs.example.com/v2", "/library/re.html", "https://docs.example.com/v2/library/re", true},
		{"https://docs.example.com/v2/", "v2/library/re.html", "https://docs.example.com/v2/library/re", true},
		{"https://docs.example.com/v2/", "https://docs.example.com/v2/library/re", "https://docs.example.com/v2/library/re.html", true},
		{"https://docs.example.com/v2/", "library/re.html", "https://docs.example.com/v1/library/re", false},
	}
	for _, test := range tests {
		q := []eval.Question{{ID: "q", Query: "q", Gold: []string{test.gold}, Kind: eval.Real}}
		report := run(t, q, map[string][]string{"q": {test.result}}, eval.Options{Base: test.base})
		if got := report.Scores[eval.All].Hit1 == 1; got != test.same {
			t.Errorf("gold %q, result %q, base %q: same %v, want %v", test.gold, test.result, test.base, got, test.same)
		}
	}
}

func TestOnePageIsOneGoldEntry(t *testing.T) {
	gold := []string{"a.html#one", "a#two", "/a.html", "https://docs.example.com/v2/a", "v2/a", "b"}
	report := run(t, []eval.Question{{ID: "q", Query: "q", Gold: gold, Kind: eval.Real}},
		map[string][]string{"q": {"https://docs.example.com/v2/a.html#two", "https://docs.example.com/v2/a.html#one"}},
		eval.Options{Base: "https://docs.example.com/v2/"})
	if got := report.Scores[eval.All].Recall; got != 0.5 {
		t.Errorf("recall %v, want 1 of 2 pages", got)
	}
}

func TestAnchorsCompareSections(t *testing.T) {
	questions := []eval.Question{
		{ID: "section", Query: "s", Gold: []string{"a.html#x", "b.html"}, Kind: eval.Real},
		{ID: "page only", Query: "p", Gold: []string{"b.html"}, Kind: eval.Real},
	}
	report := run(t, questions, map[string][]string{
		"s": {"https://docs.example.com/a", "https://docs.example.com/a#y", "https://docs.example.com/a#%78", "https://docs.example.com/b"},
	}, eval.Options{Anchors: true})
	want := eval.Scores{N: 1, Hit5: 1, Hit10: 1, Recall: 1, MRR: 1 / 3.0, NDCG: 0.5}
	if got := report.Scores[eval.Real]; !near(got, want) {
		t.Errorf("scores %+v, want %+v", got, want)
	}
	if _, ok := report.Scores[eval.Synthetic]; ok {
		t.Error("there are scores of a kind that no question is of")
	}
}

func TestScoresHaveTheirNamesInJSON(t *testing.T) {
	got, err := json.Marshal(eval.Scores{N: 2, Hit1: .5, Hit5: 1, Hit10: 1, Recall: .75, MRR: .625, NDCG: .25})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"n":2,"hit@1":0.5,"hit@5":1,"hit@10":1,"recall@10":0.75,"MRR@10":0.625,"nDCG@10":0.25}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFailedSearchNamesTheQuestion(t *testing.T) {
	boom := errors.New("boom")
	q := []eval.Question{{ID: "q-7", Query: "q", Gold: []string{"a"}, Kind: eval.Real}}
	_, err := eval.Run(t.Context(), q, func(context.Context, string) ([]string, error) { return nil, boom }, eval.Options{})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "q-7") {
		t.Errorf("error = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Run(ctx, q, answers(nil), eval.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if _, err := eval.Run(t.Context(), q, answers(nil), eval.Options{Base: "http://[::1"}); err == nil {
		t.Error("a base that is no address was accepted")
	}
}

func TestBaseOf(t *testing.T) {
	for _, test := range []struct {
		source docseek.Source
		want   string
	}{
		{docseek.Source{Start: "https://docs.example.com/v2/sitemap.xml?x=1#y"}, "https://docs.example.com/v2/"},
		{docseek.Source{Start: "https://docs.example.com"}, "https://docs.example.com"},
		{docseek.Source{Start: "https://docs.example.com/v2/"}, "https://docs.example.com/v2/"},
		{docseek.Source{Start: "/srv/docs", BaseURL: "https://docs.example.com/v3/"}, "https://docs.example.com/v3/"},
		{docseek.Source{Start: "/srv/docs"}, "/srv/docs"},
	} {
		if got := eval.BaseOf(test.source); got != test.want {
			t.Errorf("BaseOf(%+v) = %q, want %q", test.source, got, test.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(`{"id":"a","query":"q","gold":["x.html#y"],"kind":"real"}`)
	f.Add("{\"id\":\"a\"}\n\n[]")
	f.Fuzz(func(t *testing.T, file string) {
		questions, err := eval.Load(strings.NewReader(file))
		if err != nil {
			return
		}
		table := map[string][]string{}
		for _, q := range questions {
			table[q.Query] = q.Gold
		}
		report, err := eval.Run(t.Context(), questions, answers(table), eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for kind, s := range report.Scores {
			for _, v := range []float64{s.Hit1, s.Hit5, s.Hit10, s.Recall, s.MRR, s.NDCG} {
				if !(v >= 0 && v <= 1+1e-9) {
					t.Errorf("%s: %+v", kind, s)
				}
			}
		}
	})
}
