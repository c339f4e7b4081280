// Package storetest is the one behaviour that every store must show.
//
// [Run] puts a store through its contract against plain maps: what is visible
// after any sequence of runs, commits, refusals, crashes and rollbacks, and
// that candidates are those of comparing everything with everything.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// Index makes an empty index. Each call of the function that it returns opens
// one more store on that index, as another process would; the test closes it.
type Index func(t *testing.T) (open opener)

type opener = func(t *testing.T) search.Store

// Run runs the whole suite, each test on an index of its own.
func Run(t *testing.T, index Index) {
	t.Helper()
	each(t, index, []conduct{
		{"empty", testEmpty},
		{"lifecycle", testLifecycle},
		{"faithful", testFaithful},
		{"put and remove", testPutAndRemove},
		{"refused page", testRefusedPage},
		{"same ids again", testSameIDs},
		{"not verified", testNotVerified},
		{"finish", testFinish},
		{"ended", testEnded},
		{"checks", testChecks},
		{"vectors reused", testVectors},
		{"degraded then full", testDegraded},
		{"fingerprint changed", testFingerprint},
		{"two fingerprints", testTwoFingerprints},
		{"rollback", testRollback},
		{"keys", testKeys},
		{"pages", testPages},
		{"locked", testLocked},
		{"two processes", testTwoProcesses},
		{"wrong requests", testWrongRequests},
		{"readers across commits", testReadersAcrossCommits},
	})
	Ranking(t, index)
	RandomLives(t, index)
}

// conduct is one thing that every store must do.
type conduct struct {
	name string
	run  func(m must, open opener)
}

// each tests them, each on an index of its own.
func each(t *testing.T, index Index, list []conduct) {
	t.Helper()
	for _, test := range list {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newMust(t), index(t))
		})
	}
}

const (
	dim         = 16
	fingerprint = "model-a"
	// common is a term of every chunk.
	common = 7
)

func source(name string) docseek.Source {
	return docseek.Source{Name: name, Start: "https://" + name + ".test/sitemap.xml", MaxPages: 50}
}

func pageURL(name string, i int) string {
	return fmt.Sprintf("https://%s.test/docs/page-%02d", name, i)
}

// content is a page as a test writes it. The same content is the same page.
type content struct {
	url      string
	revision int
	chunks   int
	plain    bool // without vectors
	language string
	version  string
}

func seed(parts ...any) *rand.Rand {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	return rand.New(rand.NewChaCha8(sum)) //nolint:gosec // test data has to be the same each time
}

func unit(rng *rand.Rand) []float32 { return Direction(rng, dim) }

func (c content) record() search.PageRecord {
	return search.PageRecord{
		URL: c.url, Title: "Page " + c.url, Language: c.language, Version: c.version, Generator: "generic",
		Validators: docseek.Validators{ETag: fmt.Sprintf(`"%d"`, c.revision)},
		Hash:       fmt.Sprintf("hash-%d", c.revision),
		Outline:    []docseek.Heading{{Title: "Page", Anchor: "page", Level: 1}},
		Links:      []string{c.url + "/next"},
		Modified:   time.Date(2026, 1, 1, 0, c.revision, 0, 0, time.UTC),
		FirstSeen:  time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
		IndexedAt:  time.Date(2026, 2, 1, 0, c.revision, 0, 5, time.UTC),
	}
}

func (c content) embeddings(fingerprint string) []search.Embedding {
	list := make([]search.Embedding, c.chunks)
	for i := range list {
		text := fmt.Sprintf("%s revision %d chunk %d", c.url, c.revision, i)
		hash := sha256.Sum256([]byte(text))
		rng := seed(text, fingerprint)
		chunk := docseek.Chunk{
			ID: hex.EncodeToString(hash[:12]), URL: c.url, Anchor: fmt.Sprint("part ", i), Title: "Page " + c.url,
			Path: []string{"Page", fmt.Sprint("Part ", i)}, Ordinal: i, Section: i / 2,
			Text: "```\n" + text + "\n```", Lead: 4, Tail: 4, Context: "Page > Part", Language: c.language, Version: c.version,
		}
		if i%2 == 1 {
			chunk.Glue = "\n\n"
		}
		terms := map[uint32]float32{common: 0.25 + float32(rng.IntN(64))/64}
		for range 4 {
			terms[100+uint32(rng.IntN(40))] = 0.25 + float32(rng.IntN(64))/64
		}
		var vector lexical.Vector
		for _, term := range slices.Sorted(maps.Keys(terms)) {
			vector.Terms = append(vector.Terms, term)
			vector.Weights = append(vector.Weights, terms[term])
		}
		list[i] = search.Embedding{Chunk: chunk, TextHash: hex.EncodeToString(hash[:]), Lexical: vector}
		if !c.plain {
			list[i].Vector = unit(rng)
		}
	}
	return list
}

// must makes the steps of a test that have to succeed.
type must struct {
	*testing.T
	ctx context.Context //nolint:containedctx // it is the test's own
}

func (m must) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m must) fails(err, want error) {
	m.Helper()
	if !errors.Is(err, want) {
		m.Fatalf("got error %v, want %v", err, want)
	}
}

func newMust(t *testing.T) must {
	t.Helper()
	return must{t, t.Context()}
}

// open opens a store that is closed at the end of the test, if not before.
func (m must) open(open opener) search.Store {
	m.Helper()
	s := &closing{Store: open(m.T)}
	m.Cleanup(func() { m.ok(s.Close()) })
	return s
}

type closing struct {
	search.Store
	closed bool
}

func (c *closing) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	return c.Store.Close()
}

func (m must) begin(s search.Store, name, fingerprint string) search.Writer {
	m.Helper()
	w, err := s.Begin(m.ctx, source(name), fingerprint, false)
	m.ok(err)
	m.Cleanup(func() { _ = w.Close() })
	return w
}

func (m must) put(w search.Writer, fingerprint string, pages ...content) {
	m.Helper()
	for _, c := range pages {
		m.ok(w.Put(m.ctx, c.record(), c.embeddings(fingerprint)))
	}
}

func (m must) commit(w search.Writer) uint64 {
	m.Helper()
	counts, err := w.Counts(m.ctx)
	m.ok(err)
	m.ok(w.Commit(m.ctx, counts, search.Run{Outcome: search.Published, Generation: w.Generation()}))
	return w.Generation()
}

// publish makes a generation of the pages beside what is live.
func (m must) publish(s search.Store, name string, pages ...content) uint64 {
	m.Helper()
	w := m.begin(s, name, fingerprint)
	m.put(w, fingerprint, pages...)
	return m.commit(w)
}

func (m must) reader(s search.Store) search.Reader {
	m.Helper()
	r, err := s.Reader(m.ctx)
	m.ok(err)
	return r
}

// info is what the reader says of the source docs.
func (m must) info(r search.Reader) search.SourceInfo {
	m.Helper()
	infos, err := r.Sources(m.ctx)
	m.ok(err)
	for _, i := range infos {
		if i.Source.Name == "docs" {
			return i
		}
	}
	m.Fatalf("source docs is not listed in %+v", infos)
	return search.SourceInfo{}
}

// texts are the texts of the lexical list for the common term, sorted.
func (m must) texts(r search.Reader, filter docseek.Filter) []string {
	m.Helper()
	found, err := r.Candidates(m.ctx, search.Request{Filter: filter, Lexical: commonQuery(), Limit: 1000})
	m.ok(err)
	texts := []string{}
	for _, c := range found.Lexical {
		texts = append(texts, c.Text)
	}
	slices.Sort(texts)
	return texts
}

func (m must) same(got, want any) {
	m.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		m.Fatalf("(-want +got)\n%s", diff)
	}
}

// eventually waits until another process's commit is seen.
func (m must) eventually(what string, holds func() bool) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			m.Fatalf("did not happen: %s", what)
		case <-tick.C:
		}
	}
}

func commonQuery() lexical.Vector {
	return lexical.Vector{Terms: []uint32{common}, Weights: []float32{1}}
}

func textsOf(pages ...content) []string {
	texts := []string{}
	for _, p := range pages {
		for _, e := range p.embeddings(fingerprint) {
			texts = append(texts, e.Text)
		}
	}
	slices.Sort(texts)
	return texts
}
