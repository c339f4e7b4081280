package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
)

// TestMigrateSource copies a generation, part of it not embedded, into a store
// that holds an older copy with a page that is gone.
func TestMigrateSource(t *testing.T) {
	ctx := t.Context()
	analyzer := lexical.New()
	source := docseek.Source{Name: "docs", Start: "https://docs.test/"}
	publish := func(s search.Store, pages ...int) {
		t.Helper()
		w, err := s.Begin(ctx, source, "model", false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		for _, i := range pages {
			url := fmt.Sprintf("https://docs.test/p%d", i)
			list := make([]search.Embedding, 2)
			for j := range list {
				c := docseek.Chunk{ID: fmt.Sprintf("%d-%d", i, j), URL: url, Ordinal: j, Title: "Page", Text: fmt.Sprintf("Part %d of page %d.", j, i)}
				list[j] = search.Embedding{Chunk: c, TextHash: embed.TextHash(c.Embedded()), Lexical: analyzer.Chunk(c)}
				if i > 1 {
					list[j].Vector = []float32{0.6, 0.8}
				}
			}
			if err := w.Put(ctx, search.PageRecord{URL: url, Hash: fmt.Sprint("hash ", i), Title: "Page"}, list); err != nil {
				t.Fatal(err)
			}
		}
		counts, err := w.Counts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(ctx, counts, search.Run{Outcome: search.Published}); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *local.Store {
		t.Helper()
		s, err := local.Open(ctx, t.TempDir(), local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	from, into := open(), open()
	publish(from, 1, 2, 3)
	publish(into, 2, 9)
	checks := map[string]search.PageCheck{
		"https://docs.test/p1": {Validators: docseek.Validators{ETag: `"new"`}, CheckedAt: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)},
		"https://docs.test/p3": {CheckedAt: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), Failing: "503", Absent: 1},
	}
	checking, err := from.Begin(ctx, source, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	for url, check := range checks {
		if err := checking.Check(ctx, url, check); err != nil {
			t.Fatal(err)
		}
	}
	if err := checking.Finish(ctx, search.Run{Outcome: search.Unchanged}); err != nil {
		t.Fatal(err)
	}
	infos := func(s search.Store) search.SourceInfo {
		t.Helper()
		r, err := s.Reader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list, err := r.Sources(ctx)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	m, err := migrateSource(ctx, from, into, infos(from))
	if err != nil {
		t.Fatal(err)
	}
	if want := (migrated{"docs", 2, 3, 6, 4}); m != want {
		t.Errorf("migrated %+v, want %+v", m, want)
	}
	// Both answer alike.
	query := lexical.Vector{}
	for _, term := range analyzer.Query("", "page") {
		query.Terms, query.Weights = append(query.Terms, term.Hash), append(query.Weights, 1)
	}
	var texts [2][]string
	for i, s := range []search.Store{from, into} {
		r, err := s.Reader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Candidates(ctx, search.Request{Vectors: map[string][]float32{"model": {1, 0}}, Lexical: query, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Lexical) != 6 {
			t.Errorf("%d chunks hold the word", len(found.Lexical))
		}
		for _, c := range append(found.Dense, found.Lexical...) {
			texts[i] = append(texts[i], fmt.Sprintf("%.4f %s", c.Score, c.Text))
		}
		pages, err := r.Pages(ctx, "docs", "", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			texts[i] = append(texts[i], p.URL+" "+p.Hash)
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("(-from +into)\n%s", diff)
	}
	// So do their runs: what was learnt of pages since is there.
	w, err := into.Begin(ctx, source, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	learnt := map[string]search.PageCheck{}
	if err := errors.Join(w.Checks(ctx, func(url string, c search.PageCheck) error {
		learnt[url] = c
		return nil
	}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(checks, learnt); diff != "" {
		t.Errorf("checks (-from +into)\n%s", diff)
	}
	if info := infos(into); info.LastRun == nil || info.LastRun.Outcome != search.Published || info.LastSuccess.IsZero() {
		t.Errorf("the copy is noted as %+v", info)
	}
	// The source on disk is free again, and not run.
	if info := infos(from); info.Generation != 1 {
		t.Errorf("the index on disk went on to generation %d", info.Generation)
	}
	w, err = from.Begin(ctx, source, "model", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestServerDown: a server that is down is said to be so, by the code that is
// for what is upstream.
func TestServerDown(t *testing.T) {
	dir := t.TempDir()
	env := []string{"DOCSEEK_STORE_KIND=qdrant", "DOCSEEK_STORE_URL=http://127.0.0.1:1", "DOCSEEK_DATA_DIR=" + dir}
	var out, errs strings.Builder
	if code := run([]string{"search", "anything"}, streams{out: &out, err: &errs}, env); code != exitUnreachable || !strings.Contains(errs.String(), "127.0.0.1:1") {
		t.Errorf("code %d: %s", code, errs.String())
	}
	for _, args := range [][]string{{"migrate"}, {"migrate", "--to", "disk"}} {
		if code := run(args, streams{out: &out, err: &errs}, env); code != exitUsage {
			t.Errorf("%v: code %d", args, code)
		}
	}
	if code := run([]string{"migrate", "--to", "qdrant"}, streams{out: &out, err: &errs}, env[2:]); code != exitUsage {
		t.Errorf("without a server: code %d", code)
	}
	if code := run([]string{"migrate", "--to", "qdrant", "--source", "none"}, streams{out: &out, err: &errs}, env); code != exitUsage {
		t.Errorf("an unknown source: code %d", code)
	}
}
