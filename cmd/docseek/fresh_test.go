package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
)

// live is a site whose pages are all of one edition, and a server that answers
// from an index of it while other processes renew that.
type live struct {
	t       *testing.T
	site    *fakesite.Site
	environ []string
	address string
	server  *exec.Cmd
	log     bytes.Buffer
}

// livePages is how many pages the site has.
const livePages = 30

// startLive indexes the first edition and serves it.
func startLive(t *testing.T) *live {
	t.Helper()
	l := &live{t: t, site: fakesite.Start(t, "-- /x --\n")}
	l.environ = append(os.Environ(), "DOCSEEK_DATA_DIR="+t.TempDir(), "NO_PROXY=127.0.0.1")
	l.edit("first")
	l.reindex()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	l.server = l.docseek("serve", "--no-schedule", "--listen", l.address)
	l.server.Stderr = &l.log
	if err := l.server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := l.ask(); err == nil {
			return l
		} else if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// edit makes all pages of an edition.
func (l *live) edit(edition string) {
	l.t.Helper()
	var list strings.Builder
	for i := range livePages {
		path := fmt.Sprintf("/%d.html", i)
		list.WriteString("<url><loc>" + path + "</loc></url>")
		if err := l.site.Set(path, fmt.Sprintf("<main><h1>Page %d</h1><p>The %s edition tells how money is moved in case %d.</p></main>", i, edition, i)); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := l.site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) docseek(args ...string) *exec.Cmd {
	c := exec.CommandContext(l.t.Context(), "docseek", args...)
	c.Env = l.environ
	return c
}

func (l *live) reindex() {
	l.t.Helper()
	if out, err := l.docseek("reindex", l.site.URL("/sitemap.xml")).CombinedOutput(); err != nil {
		l.t.Fatalf("reindex: %v\n%s", err, out)
	}
}

func (l *live) ask() (search.Answer, error) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"how is money moved","limit":20}}}`
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "http://"+l.address+"/mcp", strings.NewReader(call))
	if err != nil {
		return search.Answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return search.Answer{}, err
	}
	defer response.Body.Close()
	var m struct {
		Result struct{ StructuredContent search.Answer }
	}
	err = json.NewDecoder(response.Body).Decode(&m)
	return m.Result.StructuredContent, err
}

// edition asks, and returns the one edition that the answer is of.
func (l *live) edition() (string, error) {
	a, err := l.ask()
	if err != nil {
		return "", err
	}
	var found []string
	for _, hit := range a.Results {
		found = append(found, strings.Fields(hit.Text)[1])
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) != 1 || a.Mode != search.Hybrid || a.Degraded {
		return "", fmt.Errorf("an answer of editions %q: %+v", found, a)
	}
	return found[0], nil
}

// watch asks without a pause until stop, or until an answer is none of one edition.
func (l *live) watch(stop *atomic.Bool) *errgroup.Group {
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			for !stop.Load() {
				if _, err := l.edition(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return &group
}

// shows waits until the server answers with an edition.
func (l *live) shows(edition string) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		now, err := l.edition()
		switch {
		case err != nil:
			l.t.Fatal(err)
		case now == edition:
			return
		case time.Now().After(deadline):
			l.t.Fatalf("the server still shows the %s edition", now)
		}
	}
}

// end ends the server, which has nothing to complain about.
func (l *live) end() {
	l.t.Helper()
	if err := l.server.Process.Signal(os.Interrupt); err != nil {
		l.t.Fatal(err)
	}
	if err := l.server.Wait(); err != nil {
		l.t.Errorf("the server ended with %v\n%s", err, &l.log)
	}
}

// TestServerShowsWhatAnotherProcessPublishes asks a server without a pause while
// another process renews the index. Every answer is of one edition of the site,
// none is empty, and the new edition is served without a restart.
func TestServerShowsWhatAnotherProcessPublishes(t *testing.T) {
	l := startLive(t)
	var stop atomic.Bool
	watching := l.watch(&stop)
	l.edit("second")
	l.reindex()
	l.shows("second")
	stop.Store(true)
	if err := watching.Wait(); err != nil {
		t.Error(err)
	}
	l.end()
}

// TestKilledRunsLoseNothing kills fifty runs at any point of theirs. The server
// goes on with whole editions, and the first run that may end publishes all.
func TestKilledRunsLoseNothing(t *testing.T) {
	const runs = 50
	l := startLive(t)
	began := time.Now()
	l.edit("second")
	l.reindex()
	whole := time.Since(began)
	var stop atomic.Bool
	watching := l.watch(&stop)
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for i := range runs {
		l.edit(fmt.Sprintf("edition-%d", i))
		run := l.docseek("reindex", "--wait", l.site.URL("/sitemap.xml"))
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Float64() * 1.2 * float64(whole)))
		_ = run.Process.Kill() // it may have ended
		err := run.Wait()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			if status, ok := failed.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				t.Errorf("run %d ended with %v", i, err)
			}
			killed++
		}
	}
	if killed < runs/10 {
		t.Errorf("only %d of %d runs were killed before their end", killed, runs)
	}
	l.edit("last")
	l.reindex()
	l.shows("last")
	stop.Store(true)
	if err := watching.Wait(); err != nil {
		t.Error(err)
	}
	out, err := l.docseek("--json", "status").Output()
	if err != nil {
		t.Fatal(err)
	}
	var listed search.Listing
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	if s := listed.Sources[0]; s.Pages != livePages || s.Chunks != livePages || s.Embedded != livePages || s.State != search.Ready {
		t.Errorf("after all: %+v", s)
	}
	l.end()
}

// TestFullDiskLosesNothing lets a run write no more than fits on a disk that is
// nearly full.
func TestFullDiskLosesNothing(t *testing.T) {
	l := startLive(t)
	var stop atomic.Bool
	watching := l.watch(&stop)
	l.edit("second")
	run := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 48; exec docseek reindex "$1"`, "sh", l.site.URL("/sitemap.xml"))
	run.Env = l.environ
	out, err := run.CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != exitFailed {
		t.Errorf("a run on a full disk ended with %v\n%s", err, out)
	}
	if now, err := l.edition(); err != nil || now != "first" {
		t.Errorf("after it the server shows the %s edition: %v", now, err)
	}
	l.reindex() // there is room again
	l.shows("second")
	stop.Store(true)
	if err := watching.Wait(); err != nil {
		t.Error(err)
	}
	l.end()
}
