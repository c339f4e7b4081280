//go:build qdrant

package qdrant

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
	"github.com/docseek/docseek/search/storetest"
)

const (
	childPrefix = "DOCSEEK_TEST_CHILD_PREFIX"
	shortTerm   = 10 * time.Second
)

// child publishes revisions of a site to the server that is named.
func child(ctx context.Context) error {
	s, err := Open(Options{URL: "http://" + os.Getenv("DOCSEEK_TEST_QDRANT"), Collection: os.Getenv(childPrefix), Term: shortTerm, Keep: time.Nanosecond})
	if err != nil {
		return err
	}
	return storetest.Child(os.Stdout, func(revision int, say func(step string)) error { return publishRevision(ctx, s, revision, say) })
}

// publishRevision publishes without what it buffers standing in the way of a kill.
func publishRevision(ctx context.Context, s *Store, revision int, say func(step string)) error {
	return storetest.PublishRevision(ctx, s, revision, func(w search.Writer) error { return w.(*writer).flush(ctx) }, say)
}

func startChild(t *testing.T, prefix string, revision int, paced bool) *storetest.Process {
	t.Helper()
	return storetest.Start(t, "", revision, 1000, paced, childPrefix+"="+prefix, "DOCSEEK_TEST_QDRANT="+serverAddress)
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

// prefixed is options of an index that is dropped after the test.
func prefixed(t *testing.T) Options {
	t.Helper()
	o := Options{Collection: newPrefix(), Term: shortTerm, Keep: time.Nanosecond}
	t.Cleanup(func() { drop(t, o) })
	return o
}

// TestKilled kills processes at random points. The next run takes the source over
// and leaves nothing behind.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := prefixed(t)
	s := open(t, o)
	defer closeStore(t, s)
	if err := publishRevision(t.Context(), s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	storetest.Killed(t, 4,
		func(revision int) *storetest.Process { return startChild(t, o.Collection, revision, false) },
		func() search.Store { return open(t, o) },
		func(s search.Store) { checkPoints(t, s.(*Store), "docs") })
}

// checkPoints makes sure that nothing is left that neither the live generation of
// the source nor the one before it shows.
func checkPoints(t *testing.T, s *Store, source string) {
	t.Helper()
	ctx := t.Context()
	rec, err := s.readRecord(ctx, s.remote)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.published(ctx, source, visible(rec.state()))
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) > 2 {
		t.Errorf("%d generations are kept", len(kept))
	}
	live := kept[len(kept)-1].N
	for _, name := range []string{s.meta(), s.plain(), s.chunks("model")} {
		for what, must := range map[string][]*qdrant.Condition{
			"remains": {ofSource(source), qdrant.NewMatchInts(fieldFrom, ints(rec.state().Hidden)...)},
			"marks":   {ofSource(source), qdrant.NewMatchExceptInts(fieldTo, 0, int64(live))},
		} {
			if what == "marks" { // leases and the like are not marked
				zero := 0.0
				must = append(must, qdrant.NewRange(fieldFrom, &qdrant.Range{Gt: &zero}))
			}
			if n, err := s.remote.count(ctx, name, must); err != nil || n > 0 {
				t.Errorf("%d %s in %s, %v", n, what, name, err)
			}
		}
	}
	for _, h := range rec.of(source) {
		if h.Open || h.Swept == 0 {
			t.Errorf("number %+v is still in the record", h)
		}
	}
}

// TestStopped stops a process in the middle of a run until another has taken its
// source over and published, and lets it go on then.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := prefixed(t)
	s := open(t, o)
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for round, until := range []string{"begun", "put", "committing"} {
		p := startChild(t, o.Collection, 1000, true)
		for step, ok := p.Step(); ok && step != until; step, ok = p.Step() {
			if err := p.Go(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		revision := 2*round + 2
		if err := publishRevision(ctx, s, revision, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Process.Signal(syscall.SIGCONT), p.Free()); err != nil {
			t.Fatal(err)
		}
		for step, ok := p.Step(); ok; step, ok = p.Step() {
			if step == "committed" {
				t.Errorf("stopped after %q: it went on to %q", until, step)
				_ = p.Process.Kill()
			}
		}
		if err := p.Wait(); err == nil {
			t.Errorf("stopped after %q: it did not notice", until)
		}
		other := open(t, o)
		shown, err := storetest.RevisionShown(ctx, mustReader(t, other))
		if err != nil || shown != revision {
			t.Errorf("stopped after %q: revision %d is shown, want %d: %v", until, shown, revision, err)
		}
		closeStore(t, other)
	}
}

// TestLateWrites makes every write that a run can make after it was taken over:
// nothing of it is seen, also not by the runs that come after.
func TestLateWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, prefixed(t))
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	begun, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", true)
	if err != nil {
		t.Fatal(err)
	}
	late := begun.(*writer)
	page, chunks := storetest.SitePage(1, 66, storetest.SiteChunks, 8)
	it, err := late.pack(page, chunks)
	if err != nil {
		t.Fatal(err)
	}
	late.lease.cancel() // as if it were killed
	for revision := 2; revision <= 6; revision += 2 {
		if err := publishRevision(ctx, s, revision, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if err := late.lease.check(); revision > 2 && !errors.Is(err, errTaken) {
			t.Errorf("the lease holds: %v", err)
		}
		if err := late.Commit(ctx, search.Counts{}, search.Run{}); !errors.Is(err, errTaken) {
			t.Errorf("commit: %v", err)
		}
		late.marked, late.written, late.places = map[string]bool{}, map[string]bool{}, nil
		must := late.current(ofPages(storetest.SiteURL(1)), late.free)
		if err := errors.Join(
			late.remote().send(ctx, late.set, it.embedded, alwaysAlive),
			late.remote().send(ctx, s.meta(), []*qdrant.PointStruct{it.record}, alwaysAlive),
			late.mark(ctx, late.set, must), late.mark(ctx, s.meta(), append(must, ofKind(kindPage))),
			late.mark(ctx, late.set, []*qdrant.Condition{ofSource("docs"), late.free}),
			s.erase(ctx, hidden{N: late.num, Source: "docs", In: []string{late.set}}),
			late.mark(ctx, late.set, []*qdrant.Condition{ofSource("docs"), late.free}),
			late.remote().send(ctx, late.set, it.embedded, alwaysAlive),
		); err != nil {
			t.Fatal(err)
		}
		if _, err := s.change(ctx, func(r *record) error {
			if h, ok := r.find(late.num); !ok || h.Open {
				return fmt.Errorf("the number may be committed: %+v", r.Numbers)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != revision {
			t.Fatalf("revision %d is shown, want %d: %v", shown, revision, err)
		}
	}
	late.ended = true
}

// contend opens an index twenty times, with clocks that are days apart.
func contend(t *testing.T, open func(i int) *Store) []*Store {
	t.Helper()
	contenders := make([]*Store, 20)
	for i := range contenders {
		contenders[i] = open(i)
		by := time.Duration(i-len(contenders)/2) * 31 * time.Hour
		contenders[i].now = func() time.Time { return time.Now().Add(by) }
	}
	if err := contenders[0].prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return contenders
}

// TestContenders: one of twenty has what it takes.
func TestContenders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, contenders []*Store, midway func()){
		"lease": testLeaseContenders, "state": testStateContenders,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := prefixed(t)
			test(t, contend(t, func(int) *Store {
				s := open(t, o)
				t.Cleanup(func() { closeStore(t, s) })
				return s
			}), func() {})
		})
	}
}

// testLeaseContenders lets all want a source. At no time do two hold it. One holder
// is killed: it is followed when it has lost the source by its own account too.
// midway may take their server away for a while.
func testLeaseContenders(t *testing.T, contenders []*Store, midway func()) {
	t.Helper()
	ctx := t.Context()
	var mu sync.Mutex
	had := map[*lease]bool{} // those that were not released
	var held atomic.Int32
	var group sync.WaitGroup
	for i, s := range contenders {
		group.Go(func() {
			var l *lease
			for l == nil { // its server may be down
				var err error
				if l, err = s.acquire(ctx, "docs", true); err != nil && ctx.Err() != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			for other := range had {
				if other.check() == nil && l.check() == nil {
					t.Errorf("%s and %s hold the source", other.holder, l.holder)
				}
			}
			had[l] = true
			mu.Unlock()
			switch held.Add(1) {
			case 3: // it never says another word
				l.cancel()
				return
			case 6:
				midway()
			}
			err := l.release(ctx)
			mu.Lock()
			delete(had, l)
			mu.Unlock()
			if err != nil {
				t.Logf("contender %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if n := int(held.Load()); n != len(contenders) {
		t.Errorf("%d of %d held the source", n, len(contenders))
	}
}

// testStateContenders lets all change the state: a number is given to one of them.
// midway may take their server away for a while.
func testStateContenders(t *testing.T, contenders []*Store, midway func()) {
	t.Helper()
	const each = 3
	ctx := t.Context()
	var drawn sync.Map
	var count atomic.Int32
	var group sync.WaitGroup
	for _, s := range contenders {
		group.Go(func() {
			for range each {
				var rec record
				for again := true; again; { // its server may be down
					var err error
					if rec, err = s.change(ctx, func(r *record) error { r.Last++; return nil }); err != nil && ctx.Err() != nil {
						t.Error(err)
						return
					}
					again = err != nil
				}
				if _, twice := drawn.LoadOrStore(rec.Last, true); twice {
					t.Errorf("number %d was drawn twice", rec.Last)
				}
				if count.Add(1) == 10 {
					midway()
				}
			}
		})
	}
	group.Wait()
	rec, err := contenders[0].readRecord(ctx, contenders[0].remote.patient())
	if want := each * len(contenders); err != nil || int(rec.Last) < want {
		t.Errorf("%d numbers were drawn, the last is %d: %v", want, rec.Last, err)
	}
}

// TestServerRestarts kills the server in the middle of a run: searches fail
// plainly until it is back, and the run goes on.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	own, err := startServer(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { own.stop() }()
	s := open(t, Options{URL: "http://" + own.address, Collection: "restart", Term: 20 * time.Second, Keep: time.Nanosecond})
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	puts, restarted := 0, make(chan error, 1)
	if err := publishRevision(ctx, s, 2, func(step string) {
		if step != "put" {
			return
		}
		if puts++; puts == 2 {
			own.stop()
			if _, err := storetest.RevisionShown(ctx, &reader{store: s, snapshot: s.current.Load().snapshot}); !errors.Is(err, ErrUnreachable) {
				t.Errorf("the server is down: %v", err)
			}
			go func() { restarted <- own.start(ctx) }()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != 2 {
		t.Errorf("revision %d is shown: %v", shown, err)
	}
}

// TestServerStops stops the server, which then takes what it is sent and answers
// nothing, and kills it. A search ends with its deadline and says so; a run fails
// when its patience or its time is over; and once the server goes on, so do
// searches, and the next run publishes.
func TestServerStops(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, test := range map[string]struct{ down, up func(own *server) error }{
		"stopped": {
			func(own *server) error { return own.cmd.Process.Signal(syscall.SIGSTOP) },
			func(own *server) error { return own.cmd.Process.Signal(syscall.SIGCONT) },
		},
		"killed": {
			func(own *server) error { own.stop(); return nil },
			func(own *server) error { return own.start(ctx) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, err := startServer(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { own.stop() }()
			s := open(t, Options{URL: "http://" + own.address, Collection: "stops", Term: shortTerm, Keep: time.Nanosecond, Patience: time.Second})
			defer closeStore(t, s)
			if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
				t.Fatal(err)
			}
			held := mustReader(t, s)
			puts := 0
			err = publishRevision(ctx, s, 1, func(step string) {
				if step != "put" {
					return
				}
				if puts++; puts != 2 {
					return
				}
				if err := test.down(own); err != nil {
					t.Error(err)
				}
				soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
				var err error
				for err == nil { // what is stopped may answer for a moment
					_, err = storetest.RevisionShown(soon, held)
				}
				if !errors.Is(err, ErrUnreachable) {
					t.Errorf("a search: %v", err)
				}
				s.current.Store(nil)
				if _, err := s.Reader(soon); !errors.Is(err, ErrUnreachable) {
					t.Errorf("a new state: %v", err)
				}
			})
			if err == nil {
				t.Error("a run came through without a server")
			}
			if err := test.up(own); err != nil {
				t.Fatal(err)
			}
			if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != 0 {
				t.Fatalf("the server is up again: revision %d is shown: %v", shown, err)
			}
			if err := publishRevision(ctx, s, 2, func(string) {}); err != nil {
				t.Fatal(err)
			}
			if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != 2 {
				t.Errorf("revision %d is shown: %v", shown, err)
			}
			checkPoints(t, s, "docs")
		})
	}
}

// TestKeys asks a server that wants a key.
func TestKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	own, err := startServer(ctx, t.TempDir(), "QDRANT__SERVICE__API_KEY=right")
	if err != nil {
		t.Fatal(err)
	}
	defer own.stop()
	for key, want := range map[string]string{"right": "", "wrong": "store.api_key", "": "store.api_key"} {
		s := open(t, Options{URL: "http://" + own.address, APIKey: key})
		_, err := s.Reader(ctx)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("key %q: error %v, want %q", key, err, want)
		}
		closeStore(t, s)
	}
}

// TestTLS asks a server over TLS, with its key, and one whose certificate is not
// trusted.
func TestTLS(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, secret := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile(secret, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(parsed)
	own := &server{dir: dir, tls: &tls.Config{RootCAs: trusted}}
	if err := own.place(ctx, "QDRANT__SERVICE__ENABLE_TLS=true", "QDRANT__TLS__CERT="+cert, "QDRANT__TLS__KEY="+secret, "QDRANT__SERVICE__API_KEY=right"); err != nil {
		t.Fatal(err)
	}
	defer own.stop()
	s := open(t, Options{URL: "https://" + own.address, APIKey: "right", TLS: &tls.Config{RootCAs: trusted}})
	defer closeStore(t, s)
	if err := publishRevision(ctx, s, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	distrusted := open(t, Options{URL: "https://" + own.address, APIKey: "right"})
	defer closeStore(t, distrusted)
	if _, err := distrusted.Reader(ctx); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v does not speak of the certificate", err)
	}
}

// TestForeign finds collections under its names that are not its own.
func TestForeign(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, test := range map[string]struct {
		make func(s *Store) collection
		want string
	}{
		"another program's": {func(s *Store) collection { return collection{name: s.meta()} }, "was not made by docseek"},
		"another role":      {func(s *Store) collection { return collection{name: s.meta(), role: rolePlain} }, "was not made by docseek"},
		"another model": {func(s *Store) collection {
			return collection{name: s.chunks("model"), role: roleChunks, fingerprint: "other", dim: 8}
		}, "was not made by docseek"},
		"another dimension": {func(s *Store) collection {
			return collection{name: s.chunks("model"), role: roleChunks, fingerprint: "model", dim: 7}
		}, "8 values"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, prefixed(t))
			defer closeStore(t, s)
			if err := s.create(ctx, test.make(s)); err != nil {
				t.Fatal(err)
			}
			err := publishRevision(ctx, s, 0, func(string) {})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

// TestOtherProcessKnowsKeys reads on, in another process, in a state that it has
// never seen.
func TestOtherProcessKnowsKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := prefixed(t)
	o.Keep = time.Hour
	a := open(t, o)
	defer closeStore(t, a)
	if err := publishRevision(ctx, a, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	key := mustReader(t, a).Key()
	if err := publishRevision(ctx, a, 2, func(string) {}); err != nil {
		t.Fatal(err)
	}
	b := open(t, o)
	defer closeStore(t, b)
	r, err := b.ReaderAt(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := storetest.RevisionShown(ctx, r); err != nil || shown != 0 {
		t.Errorf("revision %d is shown: %v", shown, err)
	}
	for _, odd := range []string{"", "x", key + "1", strings.Repeat("k", 1000)} {
		if _, err := b.ReaderAt(ctx, odd); !errors.Is(err, search.ErrStale) {
			t.Errorf("key %.20q: %v", odd, err)
		}
	}
}

// TestRanksLikeLocal gives both stores the same pages and asks the same.
func TestRanksLikeLocal(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	there, err := local.Open(ctx, t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := there.Close(); err != nil {
			t.Error(err)
		}
	}()
	here := open(t, prefixed(t))
	defer closeStore(t, here)
	const pages, chunks, dim = 60, 4, 32
	for _, s := range []search.Store{there, here} {
		w, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "model", false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range pages {
			record, list := storetest.SitePage(i, 0, chunks, dim)
			weigh := rand.New(rand.NewPCG(uint64(i), 5)) // so that no two score alike
			for j := range list {
				list[j].Lexical.Weights[1] = weigh.Float32() + 0.1
			}
			if err := w.Put(ctx, record, list); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(ctx, search.Counts{Pages: pages, Chunks: pages * chunks, Embedded: pages * chunks}, search.Run{}); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		request := search.Request{
			Vectors: map[string][]float32{"model": storetest.Direction(rng, dim)},
			Lexical: lexical.Vector{Terms: []uint32{1, 10 + rng.Uint32N(pages/2), 10 + pages/2 + rng.Uint32N(pages/2)}, Weights: []float32{0.1, 3, 2}},
			Limit:   50,
		}
		var ids [2][][]string
		for i, s := range []search.Store{there, here} {
			r, err := s.Reader(ctx)
			if err != nil {
				t.Fatal(err)
			}
			found, err := r.Candidates(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]search.Candidate{found.Dense, found.Lexical[:2*chunks]} { // below, all score alike
				var names []string
				for _, c := range list {
					names = append(names, c.ID)
				}
				ids[i] = append(ids[i], names)
			}
		}
		if diff := cmp.Diff(ids[0], ids[1]); diff != "" {
			t.Fatalf("(-local +qdrant)\n%s", diff)
		}
	}
}
