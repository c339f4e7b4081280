package qdrant

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// holds says whether a payload meets a condition, as the server would.
func holds(t *testing.T, c *qdrant.Condition, p payload) bool {
	t.Helper()
	if f := c.GetFilter(); f != nil {
		return slices.ContainsFunc(f.GetShould(), func(c *qdrant.Condition) bool { return holds(t, c, p) })
	}
	f := c.GetField()
	values := []*qdrant.Value{p[f.GetKey()]}
	if list := p[f.GetKey()].GetListValue(); list != nil {
		values = list.GetValues()
	}
	return slices.ContainsFunc(values, func(v *qdrant.Value) bool {
		n := v.GetIntegerValue()
		if r := f.GetRange(); r != nil {
			x := float64(n)
			return (r.Gt == nil || x > *r.Gt) && (r.Gte == nil || x >= *r.Gte) && (r.Lt == nil || x < *r.Lt) && (r.Lte == nil || x <= *r.Lte)
		}
		switch m := f.GetMatch().GetMatchValue().(type) {
		case *qdrant.Match_Integer:
			return n == m.Integer
		case *qdrant.Match_Integers:
			return slices.Contains(m.Integers.GetIntegers(), n)
		case *qdrant.Match_ExceptIntegers:
			return !slices.Contains(m.ExceptIntegers.GetIntegers(), n)
		case *qdrant.Match_Keyword:
			return v.GetStringValue() == m.Keyword
		case *qdrant.Match_Keywords:
			return slices.Contains(m.Keywords.GetStrings(), v.GetStringValue())
		default:
			t.Fatalf("condition %v", c)
			return false
		}
	})
}

func all(t *testing.T, must []*qdrant.Condition, p payload) bool {
	t.Helper()
	return !slices.ContainsFunc(must, func(c *qdrant.Condition) bool { return !holds(t, c, p) })
}

// TestVisible compares the conditions with the rule that both stores follow.
func TestVisible(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		s := search.State{Last: rng.Uint64N(8)}
		for n := uint64(1); n <= 9; n++ {
			if rng.IntN(3) == 0 {
				s.Hidden = append(s.Hidden, n)
			}
		}
		must := visible(s)
		for from := uint64(1); from <= 9; from++ {
			for to := range uint64(10) {
				p := payload{fieldFrom: count(from), fieldTo: count(to)}
				if got := all(t, must, p); got != s.Visible(from, to) {
					t.Fatalf("%+v: from %d to %d: shown is %v", s, from, to, got)
				}
			}
		}
	}
}

func TestNarrow(t *testing.T) {
	point := func(source, url, language, version string) payload {
		return chunkPoint(source, 1, search.PageRecord{}, search.Embedding{Chunk: docseek.Chunk{URL: url, Language: language, Version: version}}).GetPayload()
	}
	p := point("docs", "https://d.test/a/b/c?x=/q#f", "en-US", "2")
	for _, test := range []struct {
		filter docseek.Filter
		want   bool
	}{
		{docseek.Filter{}, true},
		{docseek.Filter{Sources: []string{"x", "docs"}}, true},
		{docseek.Filter{Sources: []string{"x"}}, false},
		{docseek.Filter{Version: "2"}, true},
		{docseek.Filter{Version: "2.0"}, false},
		{docseek.Filter{Language: "EN"}, true},
		{docseek.Filter{Language: "en-us"}, true},
		{docseek.Filter{Language: "e"}, false},
		{docseek.Filter{Language: "en-us-x"}, false},
		{docseek.Filter{PathPrefix: "/"}, true},
		{docseek.Filter{PathPrefix: "a"}, true},
		{docseek.Filter{PathPrefix: "/a/b/"}, true},
		{docseek.Filter{PathPrefix: "/a/b/c"}, true},
		{docseek.Filter{PathPrefix: "/a/b/c/d"}, false},
		{docseek.Filter{PathPrefix: "/a/bb"}, false},
		{docseek.Filter{PathPrefix: "/q"}, false},
	} {
		if got := all(t, narrow(test.filter), p); got != test.want {
			t.Errorf("%+v: %v", test.filter, got)
		}
	}
	if got := pathPrefixes("https://d.test"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("prefixes %q", got)
	}
	if got := pathPrefixes("https://d.test" + strings.Repeat("/a", 10_000)); len(got) != maxPaths {
		t.Errorf("%d prefixes", len(got))
	}
}

// TestPointIDs: the same every time, apart for everything that differs.
func TestPointIDs(t *testing.T) {
	chunk := docseek.Chunk{ID: "c", URL: "https://d.test/", Ordinal: 1}
	if got, want := chunkID(chunk, 7).GetUuid(), "7fa8394f-4b7c-63c1-f8a8-6dcc491363cd"; got != want {
		t.Errorf("id %s, was %s: points of older indexes would not be found", got, want)
	}
	other := chunk
	other.Ordinal = 2
	ids := map[string]bool{}
	for _, id := range []*qdrant.PointId{
		chunkID(chunk, 7), chunkID(chunk, 8), chunkID(other, 7), pageID("docs", "u", 7), pageID("docs", "u", 8),
		pointID("a", "bc"), pointID("ab", "c"), stateID(), leaseID("docs"), leaseID("other"),
	} {
		ids[id.GetUuid()] = true
	}
	if len(ids) != 10 {
		t.Errorf("%d ids, want 10: %v", len(ids), ids)
	}
}

func TestQuiet(t *testing.T) {
	base := record{Name: "i", Last: 5, Seq: 3, Numbers: []hidden{{N: 4, Open: true, Moves: 2}}}
	for name, test := range map[string]struct {
		change func(r *record)
		want   bool
	}{
		"the same":              {func(*record) {}, true},
		"a number drawn":        {func(r *record) { r.Last++; r.hide(hidden{N: 6, Open: true}) }, true},
		"drawn and marking":     {func(r *record) { r.Last++; r.hide(hidden{N: 6, Moving: true}) }, false},
		"drawn and has marked":  {func(r *record) { r.Last++; r.hide(hidden{N: 6, Moves: 1}) }, false},
		"drawn and gone again":  {func(r *record) { r.Last++ }, false},
		"marking":               {func(r *record) { r.moving(true, 4) }, false},
		"has marked":            {func(r *record) { r.moving(true, 4); r.moving(false, 4) }, false},
		"ended without marking": {func(r *record) { r.moving(false, 4) }, true},
		"discarded":             {func(r *record) { r.show(4) }, false},
		"committed":             {func(r *record) { r.show(4); r.Seq++ }, false},
		"another index":         {func(r *record) { r.Name = "j" }, false},
	} {
		after := base
		test.change(&after)
		if got := quiet(base, after); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if base.Numbers[0].Moves != 2 || base.Numbers[0].Moving {
		t.Errorf("a change of the record has changed what readers hold: %+v", base)
	}
}

func TestSetNames(t *testing.T) {
	s := &Store{options: Options{Collection: "my_docs"}}
	a, b := s.chunks("a"), s.chunks("b")
	var r record
	before := r
	if got := []string{r.use(a), r.use(b), r.use(a)}; !slices.Equal(got, []string{a, b, a}) || len(r.Sets) != 2 {
		t.Errorf("names %q in %+v", got, r.Sets)
	}
	for _, want := range []string{a + "_1", a + "_2"} {
		held := r
		r.retire([]string{r.use(a)})
		r.retire([]string{b + "_7"}) // not in use
		if got := r.use(a); got != want || r.use(b) != b {
			t.Errorf("name %q, want %q", got, want)
		}
		if held.Drops[a] == r.Drops[a] || slices.ContainsFunc(held.Sets, func(s set) bool { return s.Name == want }) {
			t.Error("a change of the record has changed what others hold")
		}
	}
	if before.Sets != nil || firstName(a+"_12") != a || firstName(a) != a {
		t.Errorf("first names %q, %q", firstName(a+"_12"), firstName(a))
	}
}

func TestTally(t *testing.T) {
	counts := tally{}
	counts.add([]uint32{1, 5, 1 << 31}, 1)
	counts.add([]uint32{5, 9}, -1)
	counts.sum(frequencies{[]uint32{1, 7}, []int32{2, -3}})
	parts := counts.parts()
	want := []frequencies{{[]uint32{1, 7, 9, 1 << 31}, []int32{3, -3, -1, 1}}}
	if diff := cmp.Diff(want, parts, cmp.AllowUnexported(frequencies{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for term, n := range map[uint32]int{1: 3, 5: 0, 7: -3, 1 << 31: 1, 2: 0} {
		if got := parts[0].of(term); got != n {
			t.Errorf("term %d: %d, want %d", term, got, n)
		}
	}
	large := tally{}
	for i := range uint32(partTerms + 10) {
		large[i*3] = 1
	}
	if parts := large.parts(); len(parts) != 2 || len(parts[1].terms) != 10 {
		t.Errorf("%d parts", len(parts))
	}
}

func FuzzFrequencies(f *testing.F) {
	f.Add(frequencies{[]uint32{0, 7, 1<<32 - 1}, []int32{1, -1, 1 << 30}}.encode().GetStringValue())
	f.Add("")
	f.Add("////")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := decodeFrequencies(text(s))
		if err != nil {
			return
		}
		if len(got.terms) != len(got.counts) || !slices.IsSorted(got.terms) {
			t.Fatalf("%+v", got)
		}
		again, err := decodeFrequencies(got.encode())
		if err != nil || !slices.Equal(again.terms, got.terms) || !slices.Equal(again.counts, got.counts) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}

func TestChunkRoundTrip(t *testing.T) {
	page := search.PageRecord{Chunks: 3}
	e := search.Embedding{Chunk: docseek.Chunk{
		ID: "c", URL: "https://d.test/a", Anchor: "x", Title: "T", Path: []string{"A", "B"}, Ordinal: 2, Section: 1,
		Text: "```\nx\n```", Lead: 4, Tail: 4, Glue: "\n", Context: "A > B", Language: "de", Version: "1",
	}}
	whole := chunkPoint("docs", 9, page, e).GetPayload()
	got, ok := readChunk(whole)
	if !ok {
		t.Fatal("not read")
	}
	want := search.Chunk{Chunk: e.Chunk, Source: "docs", Generation: 9, PageChunks: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, spoilt := range []payload{{"lead": count(5)}, {"lead": qdrant.NewValueInt(-1)}, {"text": text("ab"), "lead": count(1), "tail": count(2)}} {
		spoilt[fieldPlace] = whole[fieldPlace]
		if c, ok := readChunk(spoilt); !ok || len(c.Body()) > 2 {
			t.Errorf("read %v, body %q", ok, c.Body())
		}
	}
	for _, spoilt := range []payload{nil, {fieldPlace: count(1)}, {fieldPlace: text("{")}} {
		if c, ok := readChunk(spoilt); ok {
			t.Errorf("%v was read as %+v", spoilt, c)
		}
	}
}

func TestBatch(t *testing.T) {
	var b batch
	points := func(n int) []*qdrant.PointStruct { return make([]*qdrant.PointStruct, n) }
	b.put(item{url: "a", embedded: points(300), bytes: 100})
	b.put(item{url: "b", plain: points(200), bytes: 50})
	if b.full() {
		t.Error("full with 500 points")
	}
	b.put(item{url: "a", embedded: points(10), bytes: 7}) // again
	if b.points != 210 || b.bytes != 57 || len(b.items) != 2 {
		t.Errorf("%d points, %d bytes, %d items", b.points, b.bytes, len(b.items))
	}
	b.put(item{url: "c", bytes: batchBytes})
	if !b.full() || len(b.take()) != 3 || b.full() || b.points != 0 {
		t.Errorf("not emptied: %+v", b)
	}
	for i := range batchPages {
		b.put(item{url: strconv.Itoa(i)})
	}
	if !b.full() {
		t.Error("any number of removed pages fits")
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no address":      {},
		"no scheme":       {URL: "localhost:6334"},
		"another scheme":  {URL: "ftp://localhost"},
		"a bad port":      {URL: "http://localhost:99999999"},
		"a slashed name":  {URL: "http://localhost", Collection: "a/b"},
		"a very long one": {URL: "http://localhost", Collection: strings.Repeat("a", 200)},
	} {
		if s, err := Open(o); err == nil {
			_ = s.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func TestPrivate(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "::1": true, "10.1.2.3": true, "192.168.0.9": true, "qdrant": true,
		"qdrant.default.svc": true, "db.internal": true, "8.8.8.8": false, "x.cloud.qdrant.io": false, "2001:4860::1": false,
	} {
		if got := private(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
