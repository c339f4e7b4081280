package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// tolerance is what two right sums of the same products may differ by.
const tolerance = 1e-5

// stored is a chunk as brute force sees it.
type stored struct {
	search.Embedding
	source string
}

// corpus fills three sources with pages of several versions and languages, in
// several commits, some replaced, some removed.
func corpus(m must, s search.Store) []stored {
	m.Helper()
	languages := []string{"", "en", "en-us", "de", "EN-GB", "enx"}
	versions := []string{"", "1", "2", "2.1"}
	live := map[string]stored{}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		for round := range 3 {
			w := m.begin(s, name, fingerprint)
			for i := range 20 {
				if (i+round)%3 != 0 {
					continue
				}
				dir := []string{"api", "api/users", "api-old", "guide"}[i%4]
				c := content{
					url: fmt.Sprintf("https://%s.test/%s/p%d", name, dir, i), revision: round, chunks: 1 + i%4,
					language: languages[(i+round)%len(languages)], version: versions[i%len(versions)], plain: i == 3,
				}
				m.put(w, fingerprint, c)
				for j, e := range c.embeddings(fingerprint) {
					live[fmt.Sprint(c.url, " ", j)] = stored{e, name}
				}
			}
			if round == 2 {
				url := fmt.Sprintf("https://%s.test/guide/p7", name)
				m.ok(w.Remove(m.ctx, url))
				for j := range 4 {
					delete(live, fmt.Sprint(url, " ", j))
				}
			}
			m.commit(w)
		}
	}
	all := make([]stored, 0, len(live))
	for _, e := range live {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b stored) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func product(a, b lexical.Vector) (sum float64, shared bool) {
	for i, t := range a.Terms {
		if j, found := slices.BinarySearch(b.Terms, t); found {
			sum += float64(a.Weights[i]) * float64(b.Weights[j])
			shared = true
		}
	}
	return sum, shared
}

// checkList compares a list with the scores of everything that may be in it.
func checkList(t *testing.T, got []search.Candidate, scores map[string]float64, limit int) {
	t.Helper()
	if want := min(limit, len(scores)); len(got) != want {
		t.Fatalf("%d candidates, want %d", len(got), want)
	}
	seen := map[string]bool{}
	for i, c := range got {
		want, ok := scores[c.ID]
		if !ok || seen[c.ID] {
			t.Fatalf("candidate %d, %s, is not to be found or found twice", i, c.ID)
		}
		seen[c.ID] = true
		if math.Abs(c.Score-want) > tolerance {
			t.Errorf("candidate %d, %s: score %v, want %v", i, c.ID, c.Score, want)
		}
		if i == 0 {
			continue
		}
		before := got[i-1]
		if c.Score > before.Score || (c.Score == before.Score && c.ID < before.ID) {
			t.Errorf("candidate %d (%v, %s) stands after (%v, %s)", i, c.Score, c.ID, before.Score, before.ID)
		}
	}
	if len(got) == 0 {
		return
	}
	for id, score := range scores {
		if last := got[len(got)-1]; !seen[id] && score > last.Score+tolerance {
			t.Errorf("%s with score %v is missing: the last one has %v", id, score, last.Score)
		}
	}
}

// Ranking demands the candidates and scores of comparing everything with
// everything. It is part of [Run]; a store with settings that matter here runs it
// again with them.
func Ranking(t *testing.T, index Index) {
	t.Helper()
	each(t, index, []conduct{{"candidates", testCandidates}, {"ties", testTies}, {"filters", testFilters}})
}

func testCandidates(m must, open opener) {
	s := m.open(open)
	all := corpus(m, s)
	for name, store := range map[string]search.Store{"as written": s, "opened again": m.open(open)} {
		r := m.reader(store)
		for i := range 30 {
			rng := seed("query", i)
			request := search.Request{
				Vectors: map[string][]float32{fingerprint: unit(rng)},
				Limit:   []int{1, 10, 1000}[i%3],
			}
			for k := range request.Vectors[fingerprint] { // a query's vector may have any length
				request.Vectors[fingerprint][k] *= 3
			}
			for range 1 + rng.IntN(4) {
				term := 100 + uint32(rng.IntN(45))
				if len(request.Lexical.Terms) == 0 || term > request.Lexical.Terms[len(request.Lexical.Terms)-1] {
					request.Lexical.Terms = append(request.Lexical.Terms, term)
					request.Lexical.Weights = append(request.Lexical.Weights, float32(rng.Float64()*5)+0.1)
				}
			}
			dense, lex := map[string]float64{}, map[string]float64{}
			frequency := make([]int, len(request.Lexical.Terms))
			for _, e := range all {
				if e.Vector != nil {
					dense[e.ID] = cosine(request.Vectors[fingerprint], e.Vector)
				}
				if sum, shared := product(request.Lexical, e.Lexical); shared {
					lex[e.ID] = sum
				}
				for k, term := range request.Lexical.Terms {
					if slices.Contains(e.Lexical.Terms, term) {
						frequency[k]++
					}
				}
			}
			found, err := r.Candidates(m.ctx, request)
			m.ok(err)
			m.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				checkList(t, found.Dense, dense, request.Limit)
				checkList(t, found.Lexical, lex, request.Limit)
			})
			stats, err := r.Stats(m.ctx, nil, request.Lexical.Terms)
			m.ok(err)
			m.same(stats, search.Stats{Chunks: len(all), Frequency: frequency})
		}
	}
}

// testTies gives many chunks one vector and one weight: their ids decide.
func testTies(m must, open opener) {
	s := m.open(open)
	vector := make([]float32, dim)
	for i := range 4 {
		vector[i] = 0.5
	}
	w := m.begin(s, "docs", fingerprint)
	var ids []string
	for i := range 30 {
		c := content{url: pageURL("docs", i), chunks: 1}
		e := c.embeddings(fingerprint)
		e[0].Vector = vector
		e[0].Lexical = lexical.Vector{Terms: []uint32{common}, Weights: []float32{0.5}}
		ids = append(ids, e[0].ID)
		m.ok(w.Put(m.ctx, c.record(), e))
	}
	m.commit(w)
	slices.Sort(ids)
	found, err := m.reader(s).Candidates(m.ctx, search.Request{
		Vectors: map[string][]float32{fingerprint: vector}, Lexical: commonQuery(), Limit: 50,
	})
	m.ok(err)
	for _, list := range [][]search.Candidate{found.Dense, found.Lexical} {
		var got []string
		for _, c := range list {
			got = append(got, c.ID)
		}
		m.same(got, ids)
	}
}

func testFilters(m must, open opener) {
	s := m.open(open)
	all := corpus(m, s)
	r := m.reader(s)
	for name, test := range map[string]struct {
		filter docseek.Filter
		pass   func(e stored) bool
	}{
		"none":           {docseek.Filter{}, func(stored) bool { return true }},
		"one source":     {docseek.Filter{Sources: []string{"beta"}}, func(e stored) bool { return e.source == "beta" }},
		"two sources":    {docseek.Filter{Sources: []string{"beta", "alpha"}}, func(e stored) bool { return e.source != "gamma" }},
		"unknown source": {docseek.Filter{Sources: []string{"delta"}}, func(stored) bool { return false }},
		"version":        {docseek.Filter{Version: "2"}, func(e stored) bool { return e.Version == "2" }},
		"language": {docseek.Filter{Language: "en"}, func(e stored) bool {
			return slices.Contains([]string{"en", "en-us", "EN-GB"}, e.Language)
		}},
		"regional language": {docseek.Filter{Language: "en-US"}, func(e stored) bool { return e.Language == "en-us" }},
		"path":              {docseek.Filter{PathPrefix: "/api"}, func(e stored) bool { return under(e, "/api") }},
		"path with slash":   {docseek.Filter{PathPrefix: "/api/users/"}, func(e stored) bool { return under(e, "/api/users") }},
		"path of a page":    {docseek.Filter{PathPrefix: "/guide/p3"}, func(e stored) bool { return under(e, "/guide/p3") }},
		"half a segment":    {docseek.Filter{PathPrefix: "/ap"}, func(stored) bool { return false }},
		"all paths":         {docseek.Filter{PathPrefix: "/"}, func(stored) bool { return true }},
		"everything at once": {
			docseek.Filter{Sources: []string{"gamma"}, Version: "1", Language: "de", PathPrefix: "/api"},
			func(e stored) bool {
				return e.source == "gamma" && e.Version == "1" && e.Language == "de" && under(e, "/api")
			},
		},
	} {
		m.Run(name, func(t *testing.T) {
			for i, limit := range []int{3, 1000} {
				request := search.Request{
					Filter: test.filter, Vectors: map[string][]float32{fingerprint: unit(seed(name, i))},
					Lexical: commonQuery(), Limit: limit,
				}
				dense, lex := map[string]float64{}, map[string]float64{}
				for _, e := range all {
					if !test.pass(e) {
						continue
					}
					if e.Vector != nil {
						dense[e.ID] = cosine(request.Vectors[fingerprint], e.Vector)
					}
					lex[e.ID], _ = product(request.Lexical, e.Lexical)
				}
				found, err := r.Candidates(m.ctx, request)
				m.ok(err)
				checkList(t, found.Dense, dense, limit)
				checkList(t, found.Lexical, lex, limit)
			}
		})
	}
	for _, sources := range [][]string{{"beta"}, {"alpha", "gamma"}, {"delta"}} {
		want := search.Stats{Frequency: []int{0, 0}}
		for _, e := range all {
			if !slices.Contains(sources, e.source) {
				continue
			}
			want.Chunks++
			want.Frequency[0]++
			if slices.Contains(e.Lexical.Terms, 110) {
				want.Frequency[1]++
			}
		}
		stats, err := r.Stats(m.ctx, sources, []uint32{common, 110})
		m.ok(err)
		m.same(stats, want)
	}
}

func under(e stored, prefix string) bool {
	path := e.URL[len("https://"+e.source+".test"):]
	return path == prefix || (len(path) > len(prefix) && path[:len(prefix)+1] == prefix+"/")
}

func testWrongRequests(m must, open opener) {
	s := m.open(open)
	m.publish(s, "docs", content{url: pageURL("docs", 1), chunks: 2})
	r := m.reader(s)
	for name, request := range map[string]search.Request{
		"another dimension": {Vectors: map[string][]float32{fingerprint: {1, 0}}, Limit: 5},
		"no direction":      {Vectors: map[string][]float32{fingerprint: make([]float32, dim)}, Limit: 5},
		"not a number":      {Vectors: map[string][]float32{fingerprint: {float32(math.NaN()), dim - 1: 0}}, Limit: 5},
		"weights missing":   {Lexical: lexical.Vector{Terms: []uint32{1}}, Limit: 5},
	} {
		if _, err := r.Candidates(m.ctx, request); err == nil {
			m.Errorf("%s: no error", name)
		}
	}
	for _, limit := range []int{0, -1} {
		found, err := r.Candidates(m.ctx, search.Request{Lexical: commonQuery(), Limit: limit})
		m.ok(err)
		m.same(found, search.Candidates{})
	}
	found, err := r.Candidates(m.ctx, search.Request{Vectors: map[string][]float32{"unknown": {1, 2, 3}}, Limit: 5})
	m.ok(err)
	m.same(found, search.Candidates{})
}
