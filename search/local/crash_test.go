package local

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

const (
	childRevision = "DOCSEEK_TEST_CHILD_REVISION"
	childCommits  = "DOCSEEK_TEST_CHILD_COMMITS"
	childPaced    = "DOCSEEK_TEST_CHILD_PACED" // wait for a line on stdin after each commit

	sitePages  = 7
	siteChunks = 3
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(childRevision) != "" {
		if err := child(); err != nil {
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

// child publishes one revision of a site after the other, in its working
// directory, and says what it does.
func child() error {
	ctx := context.Background()
	var revision, commits int
	if _, err := fmt.Sscan(os.Getenv(childRevision)+" "+os.Getenv(childCommits), &revision, &commits); err != nil {
		return err
	}
	s, err := Open(ctx, ".", Options{Keep: time.Nanosecond})
	if err != nil {
		return err
	}
	for range commits {
		if err := publishRevision(ctx, s, revision, func(step string) { fmt.Println(step, revision) }); err != nil {
			return err
		}
		revision++
		if os.Getenv(childPaced) != "" {
			if _, err := fmt.Scanln(); err != nil && err.Error() != "unexpected newline" {
				return err
			}
		}
	}
	return s.Close()
}

// publishRevision writes every page of the site anew; one page more or less in
// every other revision.
func publishRevision(ctx context.Context, s *Store, revision int, say func(step string)) error {
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", true)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	say("begun")
	pages := sitePages + revision%2
	for i := range pages {
		record, chunks := testPage(i, revision, siteChunks, 8)
		if err := w.Put(ctx, record, chunks); err != nil {
			return err
		}
		say("put")
	}
	if revision%2 == 0 {
		if err := w.Remove(ctx, testURL(sitePages)); err != nil {
			return err
		}
	}
	say("committing")
	want := search.Counts{Pages: pages, Chunks: pages * siteChunks, Embedded: pages * siteChunks}
	if err := w.Commit(ctx, want, search.Run{Outcome: search.Published}); err != nil {
		return err
	}
	say("committed")
	return nil
}

func testURL(i int) string { return fmt.Sprintf("https://docs.test/p%d", i) }

// testPage is a page whose chunks all hold term 1 and say their revision.
func testPage(i, revision, chunks, dim int) (search.PageRecord, []search.Embedding) {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(revision)))
	list := make([]search.Embedding, chunks)
	for j := range list {
		list[j] = search.Embedding{
			Chunk: docseek.Chunk{
				ID: fmt.Sprintf("%d-%d-%d", i, revision, j), URL: testURL(i), Ordinal: j,
				Text: fmt.Sprintf("revision %d", revision),
			},
			Vector:   randomUnit(rng, dim),
			TextHash: fmt.Sprintf("%064x", (i*1_000_000+revision)*1000+j),
			Lexical:  lexical.Vector{Terms: []uint32{1, 10 + uint32(i)}, Weights: []float32{1, 0.5}},
		}
	}
	return search.PageRecord{URL: testURL(i), Hash: strconv.Itoa(revision)}, list
}

func randomUnit(rng *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	square := float32(0)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		square += v[i] * v[i]
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(float64(square)))
	}
	return v
}

// revisionShown makes sure that a reader shows exactly one revision, and all of it.
func revisionShown(ctx context.Context, r search.Reader) (int, error) {
	found, err := r.Candidates(ctx, search.Request{
		Vectors: map[string][]float32{"model": {1, 0, 0, 0, 0, 0, 0, 0}},
		Lexical: lexical.Vector{Terms: []uint32{1}, Weights: []float32{1}}, Limit: 1000,
	})
	if err != nil {
		return 0, err
	}
	if len(found.Lexical) == 0 {
		return 0, errors.New("nothing is shown")
	}
	shown := -1
	for _, c := range append(found.Lexical, found.Dense...) {
		var revision int
		if _, err := fmt.Sscanf(c.Text, "revision %d", &revision); err != nil {
			return 0, err
		}
		if shown >= 0 && revision != shown {
			return 0, fmt.Errorf("revisions %d and %d are shown together", shown, revision)
		}
		shown = revision
	}
	if want := (sitePages + shown%2) * siteChunks; len(found.Lexical) != want || len(found.Dense) != want {
		return 0, fmt.Errorf("revision %d shows %d and %d chunks, want %d", shown, len(found.Lexical), len(found.Dense), want)
	}
	return shown, nil
}

func startChild(t *testing.T, dir string, revision, commits int, paced io.Reader) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childRevision, revision), fmt.Sprintf("%s=%d", childCommits, commits))
	if paced != nil {
		cmd.Env = append(cmd.Env, childPaced+"=1")
		cmd.Stdin = paced
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestKilled kills a process that publishes revision after revision, at random
// points: what was live stays live and whole, and the next run begins at once.
func TestKilled(t *testing.T) {
	const kills = 30
	ctx := t.Context()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	s := open(t, dir, Options{})
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	revision := 0
	points := map[string]int{}
	for kill := range kills {
		cmd, lines := startChild(t, dir, revision+1, 1000, nil)
		acknowledged, last := revision, ""
		until := []string{"begun", "put", "committing", "committing", "committed"}[rng.IntN(5)]
		for n := 1 + rng.IntN(12); (n > 0 || last != until) && lines.Scan(); n-- {
			last, _, _ = strings.Cut(lines.Text(), " ")
			_, _ = fmt.Sscanf(lines.Text(), "committed %d", &acknowledged)
		}
		for range rng.IntN(1 << 20) { // somewhere within what the child does next
			_ = rng.Uint64()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // said before the signal came
			_, _ = fmt.Sscanf(lines.Text(), "committed %d", &acknowledged)
		}
		_ = cmd.Wait()
		points[last]++

		s := open(t, dir, Options{Keep: time.Nanosecond})
		shown, err := revisionShown(ctx, mustReader(t, s))
		if err != nil {
			t.Fatalf("kill %d after %q: %v", kill, last, err)
		}
		if shown != acknowledged && shown != acknowledged+1 {
			t.Fatalf("kill %d after %q: revision %d is shown, %d was acknowledged", kill, last, shown, acknowledged)
		}
		revision = shown
		w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
		if err != nil {
			t.Fatalf("kill %d after %q: %v", kill, last, err)
		}
		n := sitePages + shown%2
		counts, err := w.Counts(ctx)
		if want := (search.Counts{Pages: n, Chunks: n * siteChunks, Embedded: n * siteChunks}); err != nil || counts != want {
			t.Fatalf("kill %d after %q: counts %+v, %v, want %+v", kill, last, counts, err, want)
		}
		if err := w.Finish(ctx, search.Run{Outcome: search.Unchanged}); err != nil {
			t.Fatal(err)
		}
		checkRows(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d revisions, after %v", kills, revision, points)
	if revision == 0 || len(points) < 3 {
		t.Errorf("the kills hit too few points: %v in %d revisions", points, revision)
	}
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
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	stdin, pace := io.Pipe()
	cmd, lines := startChild(t, dir, 1, commits, stdin)
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for lines.Scan() {
			said <- lines.Text()
		}
	}()
	shown := 0
	for committed := 0; committed < commits; {
		select {
		case line, ok := <-said:
			if !ok {
				t.Fatal("the other process has ended")
			}
			_, _ = fmt.Sscanf(line, "committed %d", &committed)
		default:
		}
		for more := true; more; more = shown < committed {
			revision, err := revisionShown(ctx, mustReader(t, s))
			// The other process keeps nothing for readers of earlier states.
			if errors.Is(err, search.ErrStale) {
				continue
			}
			if err != nil {
				t.Fatalf("revision %d is shown, %d was committed: %v", shown, committed, err)
			}
			if revision < shown {
				t.Fatalf("revision %d after %d", revision, shown)
			}
			if revision > shown {
				if _, err := fmt.Fprintln(pace); err != nil {
					t.Fatal(err)
				}
			}
			shown = revision
		}
	}
	// Wait also waits for the end of stdin.
	if err := errors.Join(pace.Close(), cmd.Wait()); err != nil {
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
		if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
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
			err := publishRevision(ctx, s, 0, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.write.ExecContext(ctx, pragma); err != nil {
				t.Fatal(err)
			}
			for revision := 1; err == nil && revision < 200; revision++ { // the file has free pages
				err = publishRevision(ctx, s, revision, func(string) {})
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not say %q", err, want)
			}
			if _, err := revisionShown(ctx, mustReader(t, s)); err != nil {
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
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	away := dir + ".away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for what, err := range map[string]error{
			"run":  publishRevision(ctx, s, 1, func(string) {}),
			"read": func() error { _, err := revisionShown(ctx, mustReader(t, s)); return err }(),
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
	if shown, err := revisionShown(ctx, mustReader(t, s)); err != nil || shown != 0 {
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
