package graphql

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// built is what the tests make of a schema: all of it belongs together.
type built struct {
	types  int
	origin *Schema
}

func build(_ context.Context, s *Schema, before *Snapshot[built]) (built, error) {
	if s.Type("Refused") != nil {
		return built{}, errors.New("a tool does not fit")
	}
	if before != nil && before.Schema == s {
		return before.Value, nil
	}
	return built{types: len(s.Names()), origin: s}, nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "schema.graphql")
	var log bytes.Buffer
	e := NewEndpoint(File{Path: path}, build, EndpointOptions{Name: "api", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if e.Snapshot() != nil || !e.Status().CheckedAt.IsZero() {
		t.Error("there is a snapshot before any load")
	}
	if err := e.Reload(t.Context()); err == nil || e.Snapshot() != nil || e.Status().Err == nil {
		t.Errorf("a file that is not there: %v", err)
	}
	write(t, path, "type Query { a: Int }")
	if err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := e.Snapshot()
	if first.Value.types != 1 || first.Value.origin != first.Schema || e.Status().Err != nil || e.Status().LoadedAt != first.LoadedAt {
		t.Errorf("the snapshot is %+v, the status %+v", first, e.Status())
	}

	write(t, path, "# reordered\ntype Query { a: Int }")
	if err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := e.Snapshot(); again.Schema != first.Schema || again.Value != first.Value || again.LoadedAt != first.LoadedAt {
		t.Error("a schema that says the same is another")
	}

	held := e.Snapshot()
	for name, text := range map[string]string{
		"half a file": "type Query { a: Int ", "nothing": "", "a page": "<html>", "what the build refuses": "type Query { a: Int } type Refused { a: Int }",
	} {
		write(t, path, text)
		if err := e.Reload(t.Context()); err == nil {
			t.Errorf("%s: no failure", name)
		}
		if status := e.Status(); e.Snapshot() != held || status.Err == nil || status.LoadedAt != held.LoadedAt {
			t.Errorf("%s: the snapshot is %p, the status %+v", name, e.Snapshot(), status)
		}
	}

	write(t, path, "type Query { a: Int b: Other } type Other { c: Int }")
	if err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e.Snapshot().Value.types != 2 || e.Snapshot().Value.origin != e.Snapshot().Schema || e.Status().Err != nil {
		t.Errorf("the next good load does not apply: %+v", e.Snapshot())
	}
	if held.Value.types != 1 {
		t.Error("a snapshot that is held has changed")
	}
	for _, want := range []string{"schema loaded", "endpoint=api", "schema not loaded", "previous_stays=true"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

// Who takes a snapshot sees one state, however often it is swapped.
func TestSnapshotsAreWhole(t *testing.T) {
	texts := []string{"type Query { a: Int }", "type Query { a: Other } type Other { b: Int }"}
	var turn atomic.Int64
	e := NewEndpoint(loaderFunc(func() (*Schema, error) {
		return Load([]byte(texts[turn.Add(1)%2]), "test", Options{})
	}), build, EndpointOptions{})
	if err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 200 {
				if err := e.Reload(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 2000 {
				if s := e.Snapshot(); s.Value.origin != s.Schema || s.Value.types != len(s.Schema.Names()) {
					t.Error("the parts of a snapshot do not belong together")
				}
			}
		})
	}
	group.Wait()
}

type loaderFunc func() (*Schema, error)

func (f loaderFunc) Load(context.Context) (*Schema, Report, error) {
	s, err := f()
	return s, Report{}, err
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lock sync.Mutex
		var loads []time.Duration
		start := time.Now()
		var fails atomic.Bool
		fails.Store(true)
		e := NewEndpoint(loaderFunc(func() (*Schema, error) {
			lock.Lock()
			defer lock.Unlock()
			loads = append(loads, time.Since(start))
			if fails.Load() {
				return nil, errors.New("nobody there")
			}
			return Load([]byte("type Query { a: Int }"), "test", Options{})
		}), build, EndpointOptions{Poll: 10 * time.Minute, Retry: 5 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { e.Run(ctx); close(done) }()
		check := func(at time.Duration, want int) {
			t.Helper()
			time.Sleep(at - time.Since(start))
			synctest.Wait()
			lock.Lock()
			defer lock.Unlock()
			if len(loads) != want {
				t.Errorf("%d loads by %s, want %d: %v", len(loads), at, want, loads)
			}
		}
		check(time.Second, 1)    // at once
		check(6*time.Second, 2)  // after 5 s
		check(16*time.Second, 3) // after 10 s more
		check(time.Hour, 12)     // after 20, 40 … 320 s, then every ten minutes
		fails.Store(false)
		check(time.Hour+10*time.Minute, 13)
		check(time.Hour+40*time.Minute, 16)
		fails.Store(true)
		check(time.Hour+41*time.Minute, 19) // the first failure, and retries after 5 and 10 s
		check(time.Hour+50*time.Minute, 23) // after 20, 40, 80 and 160 s
		if e.Snapshot() == nil {
			t.Error("failures took the snapshot away")
		}
		cancel()
		<-done
	})
}

func TestRunWithoutPolling(t *testing.T) {
	e := NewEndpoint(loaderFunc(func() (*Schema, error) { return Load([]byte("type Query { a: Int }"), "test", Options{}) }), build, EndpointOptions{})
	e.Run(t.Context())
	if e.Snapshot() == nil {
		t.Error("it ends without a snapshot")
	}
}

func TestEndpointOverHTTP(t *testing.T) {
	a := newAPI(t, library)
	down := false
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if down {
			http.Error(w, "maintenance", http.StatusServiceUnavailable)
			return
		}
		a.ServeHTTP(w, r)
	})
	e := NewEndpoint(NewIntrospection(c, c.URL(), Options{}), build, EndpointOptions{Name: "api"})
	if err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := e.Snapshot(); s.Report.Rung == nil || s.Report.Rung.String() != "full" || s.Schema.Origin() != c.URL() {
		t.Errorf("the snapshot is %+v", s)
	}
	down = true
	before := e.Snapshot()
	err := e.Reload(t.Context())
	if failure, ok := errors.AsType[*CallError](err); !ok || failure.Status != http.StatusServiceUnavailable || e.Snapshot() != before {
		t.Errorf("the failure is %v", err)
	}
}
