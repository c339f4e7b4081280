package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

func testEmpty(m must, open opener) {
	s := m.open(open)
	r := m.reader(s)
	infos, err := r.Sources(m.ctx)
	m.ok(err)
	m.same(infos, []search.SourceInfo{})
	m.same(m.texts(r, docseek.Filter{}), []string{})
	stats, err := r.Stats(m.ctx, nil, []uint32{common})
	m.ok(err)
	m.same(stats, search.Stats{Frequency: []int{0}})
	_, err = r.Page(m.ctx, "docs", pageURL("docs", 1))
	m.fails(err, search.ErrNotFound)
	_, err = r.Pages(m.ctx, "docs", "", "", 10)
	m.fails(err, search.ErrNotFound)
	_, err = r.Chunks(m.ctx, "docs", pageURL("docs", 1), 0, 9)
	m.fails(err, search.ErrNotFound)
	_, err = s.Rollback(m.ctx, "docs")
	m.fails(err, search.ErrNotFound)
	_, err = s.ReaderAt(m.ctx, "no such key")
	m.fails(err, search.ErrStale)
	for _, name := range []string{"", "../x", "A", "a/b", strings.Repeat("a", 65)} {
		if _, err := s.Begin(m.ctx, docseek.Source{Name: name}, fingerprint, false); err == nil {
			m.Errorf("a source named %q was begun", name)
		}
	}
}

func testLifecycle(m must, open opener) {
	s := m.open(open)
	started := time.Now().Add(-time.Second)
	a := content{url: pageURL("docs", 1), chunks: 3, language: "en", version: "2"}
	b := content{url: pageURL("docs", 2), chunks: 2, language: "de"}

	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, a, b)
	m.same(m.texts(m.reader(s), docseek.Filter{}), []string{})
	infos, err := m.reader(s).Sources(m.ctx)
	m.ok(err)
	m.same(infos, []search.SourceInfo{})
	counts, err := w.Counts(m.ctx)
	m.ok(err)
	m.same(counts, search.Counts{Pages: 2, Chunks: 5, Embedded: 5})
	before := m.reader(s)
	run := search.Run{
		Source: "docs", Outcome: search.Published, Generation: w.Generation(), Pages: search.PageCounts{New: 2},
		Chunks: 5, Embedded: 5, Seconds: 1.5, Started: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Reasons: []search.Reason{{Reason: "new", Count: 2, Samples: []string{a.url}}}, Generators: map[string]int{"generic": 2},
		Discovery: "sitemap", Sitemaps: 3, Redirects: 2, Warnings: []string{"a sitemap is too large"},
	}
	m.ok(w.Commit(m.ctx, counts, run))

	m.same(m.texts(before, docseek.Filter{}), []string{})
	r := m.reader(s)
	m.same(m.texts(r, docseek.Filter{}), textsOf(a, b))
	info := m.info(r)
	if info.IndexedAt.Before(started) || info.LastSuccess.Before(started) {
		m.Errorf("indexed at %v, last success %v: before the test", info.IndexedAt, info.LastSuccess)
	}
	info.IndexedAt, info.LastSuccess = time.Time{}, time.Time{}
	m.same(info, search.SourceInfo{
		Source: source("docs"), Generation: run.Generation, Fingerprint: fingerprint,
		Pages: 2, Chunks: 5, Embedded: 5, LastRun: &run, Versions: []string{"2"}, Languages: []string{"de", "en"},
	})
	stats, err := r.Stats(m.ctx, []string{"docs"}, []uint32{common, 3})
	m.ok(err)
	m.same(stats, search.Stats{Chunks: 5, Frequency: []int{5, 0}})

	// The next run carries over what it does not touch.
	a2 := content{url: a.url, revision: 1, chunks: 1}
	m.publish(s, "docs", a2)
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a2, b))

	// Another store on the same index finds it all.
	m.same(m.texts(m.reader(m.open(open)), docseek.Filter{}), textsOf(a2, b))
}

// testFaithful reads back what was written, byte for byte.
func testFaithful(m must, open opener) {
	s := m.open(open)
	c := content{url: pageURL("docs", 1), revision: 3, chunks: 4, language: "en-us", version: "1.x"}
	record, embeddings := c.record(), c.embeddings(fingerprint)
	embeddings[1].Path, embeddings[1].Anchor = nil, ""
	embeddings[2].Text = "nul \x00, umlaut ä, 日本, emoji 🦫\n"
	embeddings[2].Lead, embeddings[2].Tail = 0, 0
	w := m.begin(s, "docs", fingerprint)
	m.ok(w.Put(m.ctx, record, embeddings))
	empty := content{url: pageURL("docs", 2)}
	m.ok(w.Put(m.ctx, empty.record(), nil))
	num := m.commit(w)

	r := m.reader(s)
	got, err := r.Page(m.ctx, "docs", c.url)
	m.ok(err)
	record.Chunks, record.Generation = 4, num
	m.same(got, record)
	want := make([]search.Chunk, 4)
	for i, e := range embeddings {
		want[i] = search.Chunk{
			Chunk: e.Chunk, Source: "docs", Generation: num,
			IndexedAt: record.IndexedAt, Modified: record.Modified, PageChunks: 4,
		}
	}
	chunks, err := r.Chunks(m.ctx, "docs", c.url, 0, 99)
	m.ok(err)
	m.same(chunks, want)
	chunks, err = r.Chunks(m.ctx, "docs", c.url, 1, 2)
	m.ok(err)
	m.same(chunks, want[1:3])
	for _, bounds := range [][2]int{{4, 9}, {-5, -1}, {3, 2}} {
		chunks, err = r.Chunks(m.ctx, "docs", c.url, bounds[0], bounds[1])
		m.ok(err)
		m.same(chunks, []search.Chunk{})
	}
	chunks, err = r.Chunks(m.ctx, "docs", empty.url, 0, 9)
	m.ok(err)
	m.same(chunks, []search.Chunk{})
	span := func(url string, first, last int) search.Span {
		return search.Span{Source: "docs", URL: url, First: first, Last: last}
	}
	lists, err := r.Spans(m.ctx, []search.Span{span(c.url, 1, 2), span(empty.url, 0, 9), span(c.url, 0, 99), span(c.url, 3, 2)})
	m.ok(err)
	m.same(lists, [][]search.Chunk{want[1:3], {}, want, {}})
	request := search.Request{Vectors: map[string][]float32{fingerprint: embeddings[2].Vector}, Lexical: commonQuery(), Limit: 1}
	found, err := r.Candidates(m.ctx, request)
	m.ok(err)
	m.same(found.Dense[0].Chunk, want[2])
	request.Brief = true
	found, err = r.Candidates(m.ctx, request)
	m.ok(err)
	brief, full := found.Dense[0].Chunk, want[2]
	m.same([]any{brief.ID, brief.Source, brief.URL, brief.Path, brief.Ordinal, brief.Section, brief.PageChunks, brief.Language, brief.Version, brief.Generation},
		[]any{full.ID, full.Source, full.URL, full.Path, full.Ordinal, full.Section, full.PageChunks, full.Language, full.Version, full.Generation})
	_, err = r.Page(m.ctx, "other", c.url)
	m.fails(err, search.ErrNotFound)
	_, err = r.Spans(m.ctx, []search.Span{span(c.url, 1, 2), span(c.url+"/x", 0, 1)})
	m.fails(err, search.ErrNotFound)
	_, err = r.Chunks(m.ctx, "docs", c.url+"/x", 0, 1)
	m.fails(err, search.ErrNotFound)
}

func testPutAndRemove(m must, open opener) {
	s := m.open(open)
	page := func(i, revision int) content {
		return content{url: pageURL("docs", i), revision: revision, chunks: 2}
	}
	m.publish(s, "docs", page(1, 0), page(2, 0), page(3, 0), page(4, 0))

	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, page(1, 1), page(1, 2)) // put twice
	m.ok(w.Remove(m.ctx, page(2, 0).url))         // removed, then put
	m.put(w, fingerprint, page(2, 1))
	m.put(w, fingerprint, page(3, 1)) // put, then removed
	m.ok(w.Remove(m.ctx, page(3, 0).url))
	m.put(w, fingerprint, page(5, 0)) // new, and removed twice
	m.ok(w.Remove(m.ctx, page(5, 0).url))
	m.ok(w.Remove(m.ctx, page(5, 0).url))
	m.ok(w.Remove(m.ctx, "https://docs.test/never-seen"))
	counts, err := w.Counts(m.ctx)
	m.ok(err)
	m.same(counts, search.Counts{Pages: 3, Chunks: 6, Embedded: 6})
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(page(1, 0), page(2, 0), page(3, 0), page(4, 0)))
	m.commit(w)
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(page(1, 2), page(2, 1), page(4, 0)))
	_, err = m.reader(s).Page(m.ctx, "docs", page(3, 0).url)
	m.fails(err, search.ErrNotFound)
}

// testRefusedPage puts what cannot be stored: it leaves the run as it was.
func testRefusedPage(m must, open opener) {
	s := m.open(open)
	c := content{url: pageURL("docs", 1), chunks: 2}
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, c)
	for name, spoil := range map[string]func(e *search.Embedding){
		"another page's chunk": func(e *search.Embedding) { e.URL = pageURL("docs", 9) },
		"wrong ordinal":        func(e *search.Embedding) { e.Ordinal = 7 },
		"wrong dimension":      func(e *search.Embedding) { e.Vector = []float32{1} },
		"not a unit vector":    func(e *search.Embedding) { e.Vector = make([]float32, dim) },
		"terms not ascending":  func(e *search.Embedding) { e.Lexical.Terms[0] = 1 << 31 },
		"weights missing":      func(e *search.Embedding) { e.Lexical.Weights = nil },
		"lead beyond the text": func(e *search.Embedding) { e.Lead = len(e.Text) + 1 },
	} {
		embeddings := content{url: c.url, revision: 1, chunks: 2}.embeddings(fingerprint)
		spoil(&embeddings[1])
		if err := w.Put(m.ctx, c.record(), embeddings); err == nil {
			m.Errorf("%s: the page was put", name)
		} else if !strings.Contains(err.Error(), c.url) {
			m.Errorf("%s: the error does not name the page: %v", name, err)
		}
	}
	m.commit(w)
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(c))
}

func testSameIDs(m must, open opener) {
	s := m.open(open)
	pages := []content{{url: pageURL("docs", 1), chunks: 3}, {url: pageURL("docs", 2), chunks: 1}}
	m.publish(s, "docs", pages...)
	first, err := m.reader(s).Candidates(m.ctx, search.Request{Lexical: commonQuery(), Limit: 99})
	m.ok(err)
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, pages...)
	counts, err := w.Counts(m.ctx)
	m.ok(err)
	m.same(counts, search.Counts{Pages: 2, Chunks: 4, Embedded: 4})
	m.commit(w)
	again, err := m.reader(s).Candidates(m.ctx, search.Request{Lexical: commonQuery(), Limit: 99})
	m.ok(err)
	for _, list := range [][]search.Candidate{first.Lexical, again.Lexical} {
		for i := range list {
			list[i].Generation = 0
		}
	}
	m.same(again, first)
}

func testNotVerified(m must, open opener) {
	s := m.open(open)
	a := content{url: pageURL("docs", 1), chunks: 2}
	first := m.publish(s, "docs", a)
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, content{url: pageURL("docs", 2), chunks: 2})
	for _, want := range []search.Counts{{}, {Pages: 3, Chunks: 4, Embedded: 4}, {Pages: 2, Chunks: 5, Embedded: 4}, {Pages: 2, Chunks: 4, Embedded: 3}} {
		m.fails(w.Commit(m.ctx, want, search.Run{}), search.ErrUnverified)
	}
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a))
	// The writer still holds the source, and can end as refused.
	_, err := s.Begin(m.ctx, source("docs"), fingerprint, false)
	m.fails(err, search.ErrLocked)
	m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Refused, Error: "counts do not verify"}))
	info := m.info(m.reader(s))
	m.same(info.Generation, first)
	m.same(info.LastRun.Error, "counts do not verify")
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a))
}

func testFinish(m must, open opener) {
	s := m.open(open)
	a := content{url: pageURL("docs", 1), chunks: 2}

	// A first run that fails is listed without a generation.
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, a)
	m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Failed, Error: "no route to host"}))
	info := m.info(m.reader(s))
	m.same(info, search.SourceInfo{Source: source("docs"), LastRun: &search.Run{Source: "docs", Outcome: search.Failed, Error: "no route to host"}})
	m.same(m.texts(m.reader(s), docseek.Filter{}), []string{})
	_, err := m.reader(s).Page(m.ctx, "docs", a.url)
	m.fails(err, search.ErrNotFound)

	first := m.publish(s, "docs", a)
	published := m.info(m.reader(s))
	for _, outcome := range []search.Outcome{search.Failed, search.Refused, search.Unchanged} {
		w := m.begin(s, "docs", fingerprint)
		m.put(w, fingerprint, content{url: a.url, revision: 1, chunks: 1}, content{url: pageURL("docs", 2), chunks: 1})
		m.ok(w.Remove(m.ctx, a.url))
		m.ok(w.Finish(m.ctx, search.Run{Outcome: outcome}))
		info := m.info(m.reader(s))
		m.same(info.Generation, first)
		m.same(info.LastRun.Outcome, outcome)
		m.same(info.IndexedAt, published.IndexedAt)
		if renewed := info.LastSuccess.After(published.LastSuccess); renewed != (outcome == search.Unchanged) {
			m.Errorf("%s: last success went from %v to %v", outcome, published.LastSuccess, info.LastSuccess)
		}
		m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a))
	}
	b := content{url: pageURL("docs", 3), chunks: 1}
	m.publish(s, "docs", b)
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a, b))
}

// testEnded uses writers after their end: nothing comes of it.
func testEnded(m must, open opener) {
	s := m.open(open)
	a := content{url: pageURL("docs", 1), chunks: 2}
	ends := map[string]func(w search.Writer){
		"close":  func(w search.Writer) { m.ok(w.Close()) },
		"finish": func(w search.Writer) { m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Failed})) },
		"commit": func(w search.Writer) { m.commit(w) },
	}
	for name, end := range ends {
		w := m.begin(s, "docs", fingerprint)
		m.put(w, fingerprint, a)
		end(w)
		c := content{url: pageURL("docs", 7), chunks: 1}
		if w.Put(m.ctx, c.record(), c.embeddings(fingerprint)) == nil || w.Remove(m.ctx, a.url) == nil ||
			w.Commit(m.ctx, search.Counts{}, search.Run{}) == nil || w.Finish(m.ctx, search.Run{}) == nil ||
			w.Check(m.ctx, a.url, search.PageCheck{}) == nil {
			m.Errorf("after %s: the writer goes on", name)
		}
		m.ok(w.Close())
		m.ok(w.Close())
	}
	m.publish(s, "docs", a)
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a))
}

func testChecks(m must, open opener) {
	s := m.open(open)
	page := func(i, revision int) content {
		return content{url: pageURL("docs", i), revision: revision, chunks: 1}
	}
	checks := func(w search.Writer) map[string]search.PageCheck {
		m.Helper()
		got := map[string]search.PageCheck{}
		m.ok(w.Checks(m.ctx, func(url string, c search.PageCheck) error {
			got[url] = c
			return nil
		}))
		return got
	}
	check := func(minute int, etag string) search.PageCheck {
		return search.PageCheck{Validators: docseek.Validators{ETag: etag}, CheckedAt: time.Date(2026, 5, 1, 0, minute, 0, 0, time.UTC)}
	}
	m.publish(s, "docs", page(1, 0), page(2, 0), page(3, 0))

	// Kept by a run that publishes nothing; not of unknown or discarded pages.
	w := m.begin(s, "docs", fingerprint)
	m.same(checks(w), map[string]search.PageCheck{})
	failing := search.PageCheck{CheckedAt: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), Failing: "503", Absent: 2}
	m.ok(w.Check(m.ctx, page(1, 0).url, check(1, "one")))
	m.ok(w.Check(m.ctx, page(2, 0).url, failing))
	m.ok(w.Check(m.ctx, page(3, 0).url, check(1, "three")))
	m.ok(w.Check(m.ctx, page(9, 0).url, check(1, "nine")))
	m.put(w, fingerprint, page(3, 1))
	m.ok(w.Check(m.ctx, page(3, 0).url, check(2, "three")))
	m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Refused}))

	// Kept by a commit for the pages whose content stays.
	w = m.begin(s, "docs", fingerprint)
	m.same(checks(w), map[string]search.PageCheck{page(1, 0).url: check(1, "one"), page(2, 0).url: failing})
	stop := errors.New("enough")
	m.fails(w.Checks(m.ctx, func(string, search.PageCheck) error { return stop }), stop)
	m.ok(w.Check(m.ctx, page(1, 0).url, check(3, "one")))
	m.put(w, fingerprint, page(2, 1))
	m.commit(w)
	w = m.begin(s, "docs", fingerprint)
	m.same(checks(w), map[string]search.PageCheck{page(1, 0).url: check(3, "one")})

	// Lost with a crash.
	m.ok(w.Check(m.ctx, page(1, 0).url, check(4, "one")))
	m.ok(w.Close())
	w = m.begin(s, "docs", fingerprint)
	m.same(checks(w), map[string]search.PageCheck{page(1, 0).url: check(3, "one")})
	m.ok(w.Close())

	// About the live pages also when the next generation is of another fingerprint.
	w = m.begin(s, "docs", "model-b")
	m.same(checks(w), map[string]search.PageCheck{page(1, 0).url: check(3, "one")})
	m.ok(w.Check(m.ctx, page(1, 0).url, check(5, "one")))
	m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Failed}))
	w = m.begin(s, "docs", fingerprint)
	m.same(checks(w), map[string]search.PageCheck{page(1, 0).url: check(5, "one")})
}

func hashes(pages ...content) []string {
	var list []string
	for _, p := range pages {
		for _, e := range p.embeddings(fingerprint) {
			list = append(list, e.TextHash)
		}
	}
	return list
}

func testVectors(m must, open opener) {
	s := m.open(open)
	a := content{url: pageURL("docs", 1), chunks: 3}
	gone := content{url: pageURL("docs", 2), chunks: 1}
	plain := content{url: pageURL("docs", 3), chunks: 1, plain: true}
	m.publish(s, "docs", a, gone, plain)
	other := content{url: pageURL("other", 1), chunks: 1}
	m.publish(s, "other", other)
	w := m.begin(s, "docs", fingerprint)
	m.ok(w.Remove(m.ctx, gone.url))
	m.commit(w)

	w = m.begin(s, "docs", fingerprint)
	asked := append(hashes(a, gone, plain, other), "", "zz", strings.Repeat("0", 64))
	got, err := w.Vectors(m.ctx, asked)
	m.ok(err)
	want := map[string][]float32{}
	for _, e := range a.embeddings(fingerprint) {
		want[e.TextHash] = e.Vector
	}
	m.same(got, want)
	m.ok(w.Close())

	w = m.begin(s, "docs", "model-b")
	got, err = w.Vectors(m.ctx, asked)
	m.ok(err)
	m.same(got, map[string][]float32{})
}

// testDegraded publishes without vectors first, then with them.
func testDegraded(m must, open opener) {
	s := m.open(open)
	c := content{url: pageURL("docs", 1), chunks: 4, plain: true}
	m.publish(s, "docs", c)
	request := search.Request{
		Vectors: map[string][]float32{fingerprint: unit(seed("query"))}, Lexical: commonQuery(), Limit: 9,
	}
	found, err := m.reader(s).Candidates(m.ctx, request)
	m.ok(err)
	m.same([]int{len(found.Dense), len(found.Lexical), m.info(m.reader(s)).Embedded}, []int{0, 4, 0})

	// Some chunks of a page may have a vector and others none.
	half := content{url: pageURL("docs", 2), chunks: 4}.embeddings(fingerprint)
	half[0].Vector, half[2].Vector = nil, nil
	w := m.begin(s, "docs", fingerprint)
	m.ok(w.Put(m.ctx, content{url: pageURL("docs", 2)}.record(), half))
	m.commit(w)
	found, err = m.reader(s).Candidates(m.ctx, request)
	m.ok(err)
	m.same([]int{len(found.Dense), len(found.Lexical), m.info(m.reader(s)).Embedded}, []int{2, 8, 2})

	c.plain = false
	m.publish(s, "docs", c, content{url: pageURL("docs", 2), chunks: 4})
	found, err = m.reader(s).Candidates(m.ctx, request)
	m.ok(err)
	m.same([]int{len(found.Dense), len(found.Lexical), m.info(m.reader(s)).Embedded}, []int{8, 8, 8})
}

func testFingerprint(m must, open opener) {
	s := m.open(open)
	a, b := content{url: pageURL("docs", 1), chunks: 2}, content{url: pageURL("docs", 2), chunks: 2}
	first := m.publish(s, "docs", a, b)
	query := unit(seed("query"))
	dense := func(fingerprint string) int {
		m.Helper()
		found, err := m.reader(s).Candidates(m.ctx, search.Request{Vectors: map[string][]float32{fingerprint: query}, Limit: 99})
		m.ok(err)
		return len(found.Dense)
	}

	// A run that stops midway leaves the old vectors live.
	w := m.begin(s, "docs", "model-b")
	m.same(w.Live().Key(), m.reader(s).Key())
	page, err := w.Live().Page(m.ctx, "docs", a.url)
	m.ok(err)
	m.same(page.Hash, a.record().Hash)
	m.put(w, "model-b", a)
	m.ok(w.Close())
	m.same([]int{dense(fingerprint), dense("model-b")}, []int{4, 0})
	w = m.begin(s, "docs", fingerprint)
	counts, err := w.Counts(m.ctx)
	m.ok(err)
	m.same(counts, search.Counts{Pages: 2, Chunks: 4, Embedded: 4})
	m.ok(w.Close())

	// Nothing of the old generation is carried over.
	w = m.begin(s, "docs", "model-b")
	m.put(w, "model-b", a)
	counts, err = w.Counts(m.ctx)
	m.ok(err)
	m.same(counts, search.Counts{Pages: 1, Chunks: 2, Embedded: 2})
	m.same([]int{dense(fingerprint), dense("model-b")}, []int{4, 0})
	m.commit(w)
	m.same([]int{dense(fingerprint), dense("model-b")}, []int{0, 2})
	m.same(m.info(m.reader(s)).Before, fingerprint)
	m.same(m.info(m.reader(s)).Fingerprint, "model-b")
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(a))

	back, err := s.Rollback(m.ctx, "docs")
	m.ok(err)
	m.same(back, first)
	m.same([]int{dense(fingerprint), dense("model-b")}, []int{4, 0})
	m.same(m.info(m.reader(s)).Fingerprint, fingerprint)
	m.publish(s, "docs", content{url: pageURL("docs", 3), chunks: 1})
	m.same([]int{dense(fingerprint), dense("model-b")}, []int{5, 0})
}

func testTwoFingerprints(m must, open opener) {
	s := m.open(open)
	a, b := content{url: pageURL("a", 1), chunks: 3}, content{url: pageURL("b", 1), chunks: 3}
	m.publish(s, "a", a)
	w := m.begin(s, "b", "model-b")
	long := b.embeddings("model-b")
	for i := range long { // of another dimension
		long[i].Vector = append(long[i].Vector, make([]float32, dim)...)
	}
	m.ok(w.Put(m.ctx, b.record(), long))
	m.commit(w)
	found, err := m.reader(s).Candidates(m.ctx, search.Request{
		Vectors: map[string][]float32{fingerprint: a.embeddings(fingerprint)[0].Vector, "model-b": long[0].Vector},
		Lexical: commonQuery(), Limit: 99,
	})
	m.ok(err)
	m.same([]int{len(found.Dense), len(found.Lexical)}, []int{6, 6})
	for _, c := range found.Dense[:2] { // each source's own vector
		if c.Score < 0.999 || c.Ordinal != 0 {
			m.Errorf("%s has score %v among the first", c.Text, c.Score)
		}
	}
	found, err = m.reader(s).Candidates(m.ctx, search.Request{Vectors: map[string][]float32{"model-b": long[0].Vector}, Limit: 99})
	m.ok(err)
	m.same(len(found.Dense), 3)
	for _, c := range found.Dense {
		m.same(c.Source, "b")
	}
}

func testRollback(m must, open opener) {
	s := m.open(open)
	page := func(i, revision int) content {
		return content{url: pageURL("docs", i), revision: revision, chunks: 1 + i}
	}
	m.publish(s, "docs", page(1, 0), page(2, 0))
	_, err := s.Rollback(m.ctx, "docs")
	m.fails(err, search.ErrNotFound)
	second := m.publish(s, "docs", page(1, 1), page(3, 0))
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, page(2, 1))
	m.ok(w.Remove(m.ctx, page(3, 0).url))
	_, err = s.Rollback(m.ctx, "docs")
	m.fails(err, search.ErrLocked)
	m.commit(w)

	old := m.reader(s)
	back, err := s.Rollback(m.ctx, "docs")
	m.ok(err)
	m.same(back, second)
	m.same(m.texts(old, docseek.Filter{}), textsOf(page(1, 1), page(2, 1)))
	r := m.reader(s)
	m.same(m.texts(r, docseek.Filter{}), textsOf(page(1, 1), page(2, 0), page(3, 0)))
	info := m.info(r)
	m.same([]int{int(info.Generation), info.Pages, info.Chunks}, []int{int(second), 3, 9})
	record, err := r.Page(m.ctx, "docs", page(2, 0).url)
	m.ok(err)
	m.same(record.Hash, page(2, 0).record().Hash)
	_, err = s.Rollback(m.ctx, "docs") // one generation is kept, not two
	m.fails(err, search.ErrNotFound)

	// The next run builds on what is live again; the number is not used twice.
	third := m.publish(s, "docs", page(4, 0))
	if third <= second+1 {
		m.Errorf("number %d was given out after %d and one more", third, second)
	}
	m.same(m.texts(m.reader(s), docseek.Filter{}), textsOf(page(1, 1), page(2, 0), page(3, 0), page(4, 0)))
	back, err = s.Rollback(m.ctx, "docs")
	m.ok(err)
	m.same(back, second)
}

func testKeys(m must, open opener) {
	s := m.open(open)
	keys := map[string]bool{m.reader(s).Key(): true}
	a := content{url: pageURL("docs", 1), chunks: 2}
	b := content{url: pageURL("docs", 1), revision: 1, chunks: 3}
	m.publish(s, "docs", a)
	key := m.reader(s).Key()
	keys[key] = true
	r, err := s.ReaderAt(m.ctx, key)
	m.ok(err)
	m.same([]any{r.Key(), m.texts(r, docseek.Filter{})}, []any{key, textsOf(a)})

	// A run that is under way changes nothing that a key names.
	w := m.begin(s, "docs", fingerprint)
	m.put(w, fingerprint, b)
	m.same(m.reader(s).Key(), key)
	m.commit(w)
	keys[m.reader(s).Key()] = true
	m.same(len(keys), 3)
	r, err = s.ReaderAt(m.ctx, key)
	m.ok(err)
	m.same(m.texts(r, docseek.Filter{}), textsOf(a))
	chunks, err := r.Chunks(m.ctx, "docs", a.url, 0, 9)
	m.ok(err)
	m.same(len(chunks), 2)

	_, err = s.Rollback(m.ctx, "docs")
	m.ok(err)
	if k := m.reader(s).Key(); keys[k] {
		m.Errorf("key %s names two states", k)
	}
}

func testPages(m must, open opener) {
	s := m.open(open)
	w := m.begin(s, "docs", fingerprint)
	var all []string
	for i := range 25 {
		dir := "guide"
		if i%5 == 0 {
			dir = "guide-old"
		}
		c := content{url: fmt.Sprintf("https://docs.test/%s/p%02d", dir, i), chunks: 1}
		m.put(w, fingerprint, c)
	}
	m.put(w, fingerprint, content{url: "https://docs.test/guide", chunks: 1})
	m.commit(w)
	w = m.begin(s, "docs", fingerprint)
	m.ok(w.Remove(m.ctx, "https://docs.test/guide/p01"))
	m.put(w, fingerprint, content{url: "https://docs.test/guide/p02", revision: 1, chunks: 1})
	m.commit(w)

	list := func(prefix string, limit int) []string {
		m.Helper()
		var urls []string
		for after := ""; ; after = urls[len(urls)-1] {
			pages, err := m.reader(s).Pages(m.ctx, "docs", prefix, after, limit)
			m.ok(err)
			if len(pages) > limit {
				m.Fatalf("%d pages where %d were asked for", len(pages), limit)
			}
			if len(pages) == 0 {
				return urls
			}
			for _, p := range pages {
				urls = append(urls, p.URL)
			}
		}
	}
	guide := []string{"https://docs.test/guide"}
	for i := range 25 {
		if i%5 == 0 {
			all = append(all, fmt.Sprintf("https://docs.test/guide-old/p%02d", i))
		} else if i != 1 {
			guide = append(guide, fmt.Sprintf("https://docs.test/guide/p%02d", i))
		}
	}
	m.same(list("/guide-old", 2), all)
	for _, prefix := range []string{"/guide", "/guide/", "guide"} {
		m.same(list(prefix, 7), guide)
	}
	m.same(list("/gui", 7), []string{})
	for _, limit := range []int{1, 7, 100} {
		m.same(len(list("", limit)), 25)
	}
}

func testLocked(m must, open opener) {
	s, other := m.open(open), m.open(open)
	w := m.begin(s, "docs", fingerprint)
	for _, contender := range []search.Store{s, other} {
		_, err := contender.Begin(m.ctx, source("docs"), fingerprint, false)
		m.fails(err, search.ErrLocked)
		held, ok := errors.AsType[*search.LockedError](err)
		if !ok || held.Source != "docs" || held.Holder == "" {
			m.Errorf("the error does not name the holder: %v", err)
		}
		ctx, cancel := context.WithTimeout(m.ctx, 10*time.Millisecond)
		_, err = contender.Begin(ctx, source("docs"), fingerprint, true)
		cancel()
		m.fails(err, context.DeadlineExceeded)
	}
	elsewhere := m.begin(other, "elsewhere", fingerprint) // another source is free
	m.ok(elsewhere.Close())

	type begun struct {
		w   search.Writer
		err error
	}
	waiting := make(chan begun, 1)
	go func() {
		w, err := other.Begin(m.ctx, source("docs"), fingerprint, true)
		waiting <- begun{w, err}
	}()
	m.ok(w.Close())
	next := <-waiting
	m.ok(next.err)
	_, err := s.Begin(m.ctx, source("docs"), fingerprint, false)
	m.fails(err, search.ErrLocked)
	m.ok(next.w.Close())
}

func testTwoProcesses(m must, open opener) {
	a, b := m.open(open), m.open(open)
	page := func(name string, revision int) content {
		return content{url: pageURL(name, 1), revision: revision, chunks: 2}
	}
	m.publish(a, "one", page("one", 0))
	m.publish(b, "two", page("two", 0)) // builds on a's number
	for _, s := range []search.Store{a, b} {
		m.eventually("both sources are seen", func() bool { return len(m.texts(m.reader(s), docseek.Filter{})) == 4 })
	}
	m.publish(b, "one", page("one", 1)) // replaces what a wrote
	want := textsOf(page("one", 1), page("two", 0))
	m.eventually("the replaced page is seen", func() bool {
		return len(m.texts(m.reader(a), docseek.Filter{})) == 4 && m.texts(m.reader(a), docseek.Filter{})[0] == want[0]
	})
	m.same(m.texts(m.reader(a), docseek.Filter{}), want)
	_, err := a.Rollback(m.ctx, "one")
	m.ok(err)
	want = textsOf(page("one", 0), page("two", 0))
	m.eventually("the rollback is seen", func() bool { return m.texts(m.reader(b), docseek.Filter{})[0] == want[0] })
	m.same(m.texts(m.reader(b), docseek.Filter{}), want)
}
