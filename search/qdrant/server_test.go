//go:build qdrant

package qdrant

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// serverAddress is host:port of the server that the tests share.
var serverAddress string

// made counts the indexes that tests made.
var made atomic.Int64

// TestMain starts the server, and lets the test binary be the process that is
// killed.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if storetest.IsChild() {
			fmt.Fprintln(os.Stderr, child(context.Background()))
			return 1
		}
		serverAddress = os.Getenv("DOCSEEK_TEST_QDRANT")
		if serverAddress == "" {
			dir, err := os.MkdirTemp("", "qdrant")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer func() { _ = os.RemoveAll(dir) }()
			s, err := startServer(context.Background(), dir)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer s.stop()
			serverAddress = s.address
		}
		return m.Run()
	}())
}

// server is a Qdrant process of the tests' own.
type server struct {
	cmd     *exec.Cmd
	address string
	dir     string
	http    int
	grpc    int
	tls     *tls.Config // nil for plain text
	args    []string    // beside the usual ones
}

// findBinary is the server's, of the version that DOCSEEK_TEST_QDRANT_VERSION names.
func findBinary() (string, error) {
	version := os.Getenv("DOCSEEK_TEST_QDRANT_VERSION")
	if version == "" {
		version = "1.17.0"
	}
	path, err := filepath.Abs(filepath.Join("..", "..", ".cache", "qdrant", version, "qdrant"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no Qdrant server for the tests: run scripts/qdrant.sh %s, or set DOCSEEK_TEST_QDRANT=host:port: %w", version, err)
	}
	return path, nil
}

func startServer(ctx context.Context, dir string, env ...string) (*server, error) {
	s := &server{dir: dir}
	return s, s.place(ctx, env...)
}

// place finds free ports and starts the process there.
func (s *server) place(ctx context.Context, env ...string) error {
	for _, port := range []*int{&s.http, &s.grpc} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*port = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return err
		}
	}
	s.address = "127.0.0.1:" + strconv.Itoa(s.grpc)
	return s.start(ctx, env...)
}

// start starts the process, again after a stop, and waits until it is ready.
func (s *server) start(ctx context.Context, env ...string) error {
	path, err := findBinary()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = exec.Command(path, append([]string{"--disable-telemetry"}, s.args...)...)
	s.cmd.Dir = s.dir
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = append([]string{
		"QDRANT__SERVICE__HOST=127.0.0.1", "QDRANT__TELEMETRY_DISABLED=true",
		"QDRANT__SERVICE__HTTP_PORT=" + strconv.Itoa(s.http), "QDRANT__SERVICE__GRPC_PORT=" + strconv.Itoa(s.grpc),
		"QDRANT__STORAGE__STORAGE_PATH=" + filepath.Join(s.dir, "storage"),
		"QDRANT__STORAGE__SNAPSHOTS_PATH=" + filepath.Join(s.dir, "snapshots"),
	}, env...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	transport := &http.Transport{TLSClientConfig: s.tls}
	defer transport.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s://127.0.0.1:%d/readyz", scheme, s.http), nil)
		if err != nil {
			return err
		}
		if response, err := transport.RoundTrip(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			s.stop()
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server is not ready: %w\n%s", err, text)
		}
	}
}

// stop kills the process.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// newPrefix begins the names of an index of its own.
func newPrefix() string {
	return fmt.Sprintf("t%d_%d", time.Now().UnixNano(), made.Add(1))
}

func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	if o.URL == "" {
		o.URL = "http://" + serverAddress
	}
	o.Logger = slog.New(slog.NewTextHandler(logged{tb}, nil))
	s, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// logged writes to the test's log.
type logged struct{ testing.TB }

func (l logged) Write(line []byte) (int, error) {
	l.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// newIndex is an index that is dropped after the test.
func newIndex(o Options) storetest.Index {
	return func(t *testing.T) func(t *testing.T) search.Store {
		t.Helper()
		o := o
		o.Collection = newPrefix()
		t.Cleanup(func() { drop(t, o) })
		return func(t *testing.T) search.Store {
			t.Helper()
			return open(t, o)
		}
	}
}

func drop(tb testing.TB, o Options) {
	tb.Helper()
	s := open(tb, o)
	ctx := context.Background()
	names, err := s.remote.ListCollections(ctx)
	for _, name := range names {
		if strings.HasPrefix(name, o.Collection+"_") {
			err = errors.Join(err, s.remote.DeleteCollection(ctx, name))
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		tb.Error(err)
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, newIndex(Options{})) }
