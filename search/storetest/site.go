package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// A site in revisions: every page is written anew in each of them, and every other
// one has a page more. All its chunks hold term 1 and say their revision.
const (
	SitePages  = 5
	SiteChunks = 3 // of each page
	siteDim    = 8
	siteModel  = "model"
)

// SiteCounts are those of a revision.
func SiteCounts(revision int) search.Counts {
	pages := SitePages + revision%2
	return search.Counts{Pages: pages, Chunks: pages * SiteChunks, Embedded: pages * SiteChunks}
}

// SiteURL is the address of a page.
func SiteURL(i int) string { return fmt.Sprintf("https://docs.test/p%d", i) }

// SitePage makes a page of a revision with as many chunks of as many dimensions.
func SitePage(i, revision, chunks, dim int) (search.PageRecord, []search.Embedding) {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(revision))) //nolint:gosec // test data has to be the same each time
	list := make([]search.Embedding, chunks)
	for j := range list {
		list[j] = search.Embedding{
			Chunk: docseek.Chunk{
				ID: fmt.Sprintf("%d-%d-%d", i, revision, j), URL: SiteURL(i), Ordinal: j,
				Text: fmt.Sprintf("revision %d", revision),
			},
			Vector:   Direction(rng, dim),
			TextHash: fmt.Sprintf("%064x", (i*1_000_000+revision)*1000+j),
			Lexical:  lexical.Vector{Terms: []uint32{1, 10 + uint32(i)}, Weights: []float32{1, 0.5}},
		}
	}
	return search.PageRecord{URL: SiteURL(i), Hash: strconv.Itoa(revision)}, list
}

// PublishRevision publishes a revision in place of the one before it, and says what
// it has done: begun, put (a page), committing, committed. settle, if not nil, is
// called after each page.
func PublishRevision(ctx context.Context, s search.Store, revision int, settle func(search.Writer) error, say func(step string)) error {
	w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, siteModel, true)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	say("begun")
	want := SiteCounts(revision)
	for i := range want.Pages {
		record, chunks := SitePage(i, revision, SiteChunks, siteDim)
		if err := w.Put(ctx, record, chunks); err != nil {
			return err
		}
		if settle != nil {
			if err := settle(w); err != nil {
				return err
			}
		}
		say("put")
	}
	if want.Pages == SitePages {
		if err := w.Remove(ctx, SiteURL(SitePages)); err != nil {
			return err
		}
	}
	say("committing")
	if err := w.Commit(ctx, want, search.Run{Outcome: search.Published}); err != nil {
		return err
	}
	say("committed")
	return nil
}

// RevisionShown makes sure that a reader shows exactly one revision, and all of it.
func RevisionShown(ctx context.Context, r search.Reader) (int, error) {
	vector := make([]float32, siteDim)
	vector[0] = 1
	found, err := r.Candidates(ctx, search.Request{
		Vectors: map[string][]float32{siteModel: vector},
		Lexical: lexical.Vector{Terms: []uint32{1}, Weights: []float32{1}}, Limit: 1000,
	})
	if err != nil {
		return 0, err
	}
	if len(found.Lexical) == 0 {
		return 0, errors.New("nothing is shown")
	}
	shown := -1
	for _, list := range [][]search.Candidate{found.Lexical, found.Dense} {
		for _, c := range list {
			var revision int
			if _, err := fmt.Sscanf(c.Text, "revision %d", &revision); err != nil {
				return 0, err
			}
			if shown >= 0 && revision != shown {
				return 0, fmt.Errorf("revisions %d and %d are shown together", shown, revision)
			}
			shown = revision
		}
	}
	if want := SiteCounts(shown).Chunks; len(found.Lexical) != want || len(found.Dense) != want {
		return 0, fmt.Errorf("revision %d shows %d and %d chunks, want %d", shown, len(found.Lexical), len(found.Dense), want)
	}
	return shown, nil
}

const (
	childRevision = "DOCSEEK_TEST_CHILD_REVISION"
	childCommits  = "DOCSEEK_TEST_CHILD_COMMITS"
	childPaced    = "DOCSEEK_TEST_CHILD_PACED"
)

// IsChild says whether the process was started by [Start]: then its TestMain has to
// call [Child].
func IsChild() bool { return os.Getenv(childRevision) != "" }

// Child publishes one revision of the site after the other and says so on out, which
// is the process's stdout.
func Child(out io.Writer, publish func(revision int, say func(step string)) error) error {
	var revision, commits int
	if _, err := fmt.Sscan(os.Getenv(childRevision)+" "+os.Getenv(childCommits), &revision, &commits); err != nil {
		return err
	}
	pace := bufio.NewReader(os.Stdin)
	for last := revision + commits; revision < last; revision++ {
		if err := publish(revision, func(step string) {
			_, _ = fmt.Fprintln(out, step, revision)
			if os.Getenv(childPaced) != "" {
				_, _ = pace.ReadString('\n')
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// Process is a test's own binary that publishes revisions.
type Process struct {
	*exec.Cmd
	steps *bufio.Scanner
	pace  io.WriteCloser // nil when it does not wait
	// Acknowledged is the last revision that it said it had committed; -1 for none.
	Acknowledged int
}

// Start starts the test's binary again to publish as many revisions. A paced one
// waits after each step until it is let on.
func Start(t *testing.T, dir string, revision, commits int, paced bool, env ...string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Cmd: exec.CommandContext(t.Context(), exe), Acknowledged: -1} //nolint:gosec // the test itself
	p.Dir, p.Stderr = dir, t.Output()
	p.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childRevision, revision), fmt.Sprintf("%s=%d", childCommits, commits))
	p.Env = append(p.Env, env...)
	if paced {
		p.Env = append(p.Env, childPaced+"=1")
		if p.pace, err = p.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.steps = bufio.NewScanner(out)
	return p
}

// Step waits for the next step; false when the process has ended.
func (p *Process) Step() (step string, ok bool) {
	if !p.steps.Scan() {
		return "", false
	}
	step, revision, _ := strings.Cut(p.steps.Text(), " ")
	if step == "committed" {
		if n, err := strconv.Atoi(revision); err == nil {
			p.Acknowledged = n
		}
	}
	return step, true
}

// Go lets a paced process on.
func (p *Process) Go() error {
	_, err := io.WriteString(p.pace, "\n")
	return err
}

// Free lets a paced process go on to its end.
func (p *Process) Free() error { return p.pace.Close() }

// kill kills the process, and notes what it said before.
func (p *Process) kill() error {
	if err := p.Process.Kill(); err != nil {
		return err
	}
	for more := true; more; {
		_, more = p.Step()
	}
	_ = p.Wait()
	return nil
}

// Killed kills processes that publish revision after revision, at random points of
// what they do. What was live stays live and whole, and the next run begins and
// counts all of it. start starts one from a revision on, open opens the index and
// check looks at what is left in it.
func Killed(t *testing.T, kills int, start func(revision int) *Process, open func() search.Store, check func(s search.Store)) {
	t.Helper()
	m := newMust(t)
	rng := seed("killed")
	revision, points := 0, map[string]int{}
	for kill := range kills {
		p := start(revision + 1)
		p.Acknowledged = revision
		last, until := "", []string{"begun", "put", "committing", "committed"}[kill%4]
		for n := 1 + rng.IntN(2*SitePages); n > 0 || last != until; n-- {
			step, ok := p.Step()
			if !ok {
				break
			}
			last = step
		}
		for range rng.IntN(1 << 21) { // somewhere within what it does next
			_ = rng.Uint64()
		}
		m.ok(p.kill())
		points[last]++

		s := open()
		shown, err := RevisionShown(m.ctx, m.reader(s))
		if err != nil || shown != p.Acknowledged && shown != p.Acknowledged+1 {
			t.Fatalf("kill %d after %q: revision %d is shown, %d was acknowledged: %v", kill, last, shown, p.Acknowledged, err)
		}
		revision = shown
		w, err := s.Begin(m.ctx, docseek.Source{Name: "docs"}, siteModel, false)
		m.ok(err)
		counts, err := w.Counts(m.ctx)
		m.ok(err)
		m.same(counts, SiteCounts(shown))
		m.ok(w.Finish(m.ctx, search.Run{Outcome: search.Unchanged}))
		check(s)
		m.ok(s.Close())
	}
	t.Logf("%d kills, %d revisions, after %v", kills, revision, points)
	if revision == 0 || len(points) < 3 {
		t.Errorf("the kills hit too few points: %v in %d revisions", points, revision)
	}
}
