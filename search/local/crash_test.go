package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if storetest.IsChild() {
		if err := child(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if err := os.RemoveAll(bigDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// child publishes revisions of a site into its working directory.
func child(ctx context.Context) error {
	s, err := Open(ctx, ".", Options{Keep: time.Nanosecond})
	if err != nil {
		return err
	}
	return errors.Join(storetest.Child(os.Stdout, func(revision int, say func(step string)) error {
		return storetest.PublishRevision(ctx, s, revision, nil, say)
	}), s.Close())
}

func publishRevision(ctx context.Context, s *Store, revision int) error {
	return storetest.PublishRevision(ctx, s, revision, nil, func(string) {})
}

// TestKilled kills processes at random points. The next run begins at once.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if err := publishRevision(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	storetest.Killed(t, 30,
		func(revision int) *storetest.Process { return storetest.Start(t, dir, revision, 1000, false) },
		func() search.Store { return open(t, dir, Options{Keep: time.Nanosecond}) },
		func(s search.Store) { checkRows(t, s.(*Store)) })
}

// checkRows makes sure that the file is sound and that nothing is left in it
// that neither the live generation nor the one before it shows.
func checkRows(t *testing.T, s *Store) {
	t.Helper()
	err := s.db.look(t.Context(), func(tx *sql.Tx) error {
		rec, err := readRecord(t.Context(), tx)
		if err != nil {
			return err
		}
		if len(rec.Hidden) > 0 {
			return fmt.Errorf("numbers %v are still hidden", rec.Hidden)
		}
		for _, check := range []struct{ query, want string }{
			{"PRAGMA integrity_check", "ok"},
			{"SELECT count(*) FROM chunks WHERE page_id NOT IN (SELECT id FROM pages)", "0"},
			{"SELECT count(*) FROM vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)", "0"},
			{"SELECT count(*) FROM chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)", "0"},
			{"SELECT count(*) FROM records WHERE page_id NOT IN (SELECT id FROM pages)", "0"},
			{"SELECT count(*) FROM pages WHERE gen_to > 0 AND gen_to < (SELECT max(num) FROM generations)", "0"},
			{"SELECT count(*) <= 2 FROM generations", "1"},
		} {
			var got string
			if err := tx.QueryRowContext(t.Context(), check.query).Scan(&got); err != nil {
				return err
			}
			if got != check.want {
				return fmt.Errorf("%s: %s, want %s", check.query, got, check.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOtherProcessWrites reads without a pause while another process commits,
// and lets it go on when each commit was seen.
func TestOtherProcessWrites(t *testing.T) {
	const commits = 10
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	s := open(t, dir, Options{})
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0); err != nil {
		t.Fatal(err)
	}
	p := storetest.Start(t, dir, 1, commits, true)
	steps := make(chan string, 100)
	go func() {
		defer close(steps)
		for step, ok := p.Step(); ok; step, ok = p.Step() {
			steps <- step
		}
	}()
	shown, committed, waiting := 0, 0, false
	for shown < commits {
		select {
		case step, ok := <-steps:
			if !ok {
				t.Fatal("the other process has ended")
			}
			if waiting = true; step == "committed" {
				committed++
			}
		default:
		}
		if waiting && shown >= committed {
			waiting = false
			if err := p.Go(); err != nil {
				t.Fatal(err)
			}
		}
		revision, err := storetest.RevisionShown(ctx, mustReader(t, s))
		// The other process keeps nothing for readers of earlier states.
		if errors.Is(err, search.ErrStale) {
			continue
		}
		if err != nil || revision < shown {
			t.Fatalf("revision %d is shown after %d, %d was committed: %v", revision, shown, committed, err)
		}
		shown = revision
	}
	if err := errors.Join(p.Free(), p.Wait()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFiles(t *testing.T) {
	ctx := t.Context()
	// sqlite runs statements on the database file of a directory.
	sqlite := func(t *testing.T, dir string, statements ...string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	index := func(t *testing.T, dir string) {
		t.Helper()
		s := open(t, dir, Options{})
		if err := publishRevision(ctx, s, 0); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"text": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, databaseFile), []byte(strings.Repeat("my shopping list\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the file is no index"},
		"another program": {func(t *testing.T, dir string) {
			t.Helper()
			sqlite(t, dir, "CREATE TABLE recipes (name TEXT)")
		}, "a database of another program"},
		"newer": {func(t *testing.T, dir string) {
			t.Helper()
			index(t, dir)
			sqlite(t, dir, "PRAGMA user_version = 99")
		}, "newer docseek (schema 99"},
		"damaged pages": {func(t *testing.T, dir string) {
			t.Helper()
			index(t, dir)
			f, err := os.OpenFile(filepath.Join(dir, databaseFile), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err == nil {
				_, err = f.WriteAt([]byte(strings.Repeat("?", int(info.Size())-8192)), 8192)
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}, "the index is damaged: move the data directory away and reindex"},
		"cut vector": {func(t *testing.T, dir string) {
			t.Helper()
			index(t, dir)
			sqlite(t, dir, "UPDATE vectors SET dense = x'00' WHERE key = '3-0-1'")
		}, "vectors of https://docs.test/p3: a vector has 1 bytes for 8 values: the index is damaged: move the data directory away and reindex"},
		"cut terms": {func(t *testing.T, dir string) {
			t.Helper()
			index(t, dir)
			sqlite(t, dir, "UPDATE vectors SET lexical = x'ffff' WHERE key = '3-0-1'")
		}, "vectors of https://docs.test/p3: a lexical vector cannot be read: the index is damaged: move the data directory away and reindex"},
		"lost rows": {func(t *testing.T, dir string) {
			t.Helper()
			index(t, dir)
			sqlite(t, dir, "DELETE FROM vectors WHERE key = '3-0-1'")
		}, "chunks of a page are missing: the index is damaged: move the data directory away and reindex"},
		"file in the way": {func(t *testing.T, dir string) {
			t.Helper()
			if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "create the data directory"},
		"folder in the way": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(dir, databaseFile), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "not writable"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			test.prepare(t, dir)
			s, err := Open(ctx, dir, Options{})
			if err == nil {
				closeStore(t, s)
				t.Fatal("the directory was opened")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}

// TestCannotWrite bounds the file as a full disk would, or refuses writes as a
// read-only one would: the run fails plainly and what is live stays.
func TestCannotWrite(t *testing.T) {
	for pragma, want := range map[string]string{
		"PRAGMA max_page_count = 1": "the disk is full: free some space",
		"PRAGMA query_only = 1":     "the data directory is not writable",
	} {
		t.Run(want, func(t *testing.T) {
			ctx := t.Context()
			s := open(t, t.TempDir(), Options{})
			defer closeStore(t, s)
			err := publishRevision(ctx, s, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.write.ExecContext(ctx, pragma); err != nil {
				t.Fatal(err)
			}
			for revision := 1; err == nil && revision < 200; revision++ { // the file has free pages
				err = publishRevision(ctx, s, revision)
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not say %q", err, want)
			}
			if _, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMovedAway takes the directory from under an open store, as the advice about
// a damaged index does, and makes another in its place: what was open says so
// rather than write into a file that nobody finds.
func TestMovedAway(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir, Options{})
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0); err != nil {
		t.Fatal(err)
	}
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for what, err := range map[string]error{
			"run":  publishRevision(ctx, s, 1),
			"read": func() error { _, err := storetest.RevisionShown(ctx, mustReader(t, s)); return err }(),
		} {
			if err == nil || !strings.Contains(err.Error(), "moved away or replaced while it was open: start docseek again") {
				t.Errorf("%s: %s: error %v", when, what, err)
			}
		}
	}
	check("without a directory")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir, Options{})
	check("with another index in its place")
	closeStore(t, other)

	if err := errors.Join(os.RemoveAll(dir), os.Rename(away, dir)); err != nil {
		t.Fatal(err)
	}
	if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != 0 {
		t.Errorf("put back: revision %d, error %v", shown, err)
	}
}

func mustReader(tb testing.TB, s *Store) search.Reader {
	tb.Helper()
	r, err := s.Reader(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func closeStore(tb testing.TB, s *Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}
