package qdrant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// faulty answers upserts as the test says; nothing else is there. What Qdrant
// means by a request is tested with the real one.
type faulty struct {
	qdrant.UnimplementedPointsServer
	mu       sync.Mutex
	calls    int
	largest  int
	accepted map[string]int
	key      string
	answer   func(call int, request *qdrant.UpsertPoints) error
}

func (f *faulty) Upsert(ctx context.Context, request *qdrant.UpsertPoints) (*qdrant.PointsOperationResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		f.key = strings.Join(md.Get("api-key"), ",")
	}
	if err := f.answer(f.calls, request); err != nil {
		if status.Code(err) == codes.ResourceExhausted {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", "0"))
		}
		return nil, err
	}
	f.largest = max(f.largest, proto.Size(request))
	for _, p := range request.GetPoints() {
		f.accepted[p.GetId().GetUuid()]++
	}
	return &qdrant.PointsOperationResponse{Result: &qdrant.UpdateResult{}}, nil
}

func serveFaulty(t *testing.T, answer func(call int, request *qdrant.UpsertPoints) error) (*faulty, remote) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{accepted: map[string]int{}, answer: answer}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(32 << 20))
	qdrant.RegisterPointsServer(g, f)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	s, err := Open(Options{URL: "http://" + l.Addr().String(), APIKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		g.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return f, s.remote.patient()
}

func accept(int, *qdrant.UpsertPoints) error { return nil }

func somePoints(n, dim, payloadBytes int) []*qdrant.PointStruct {
	points := make([]*qdrant.PointStruct, n)
	for i := range points {
		vector := make([]float32, dim)
		vector[i%dim] = 1
		points[i] = chunkPoint("docs", 1, search.PageRecord{}, search.Embedding{
			Chunk:  docseek.Chunk{ID: fmt.Sprint("c", i), URL: "https://d.test/", Ordinal: i, Text: strings.Repeat("x", payloadBytes)},
			Vector: vector, TextHash: strings.Repeat("ab", 32),
		})
	}
	return points
}

func alwaysAlive() error { return nil }

// TestBatches sends more than a server accepts at once.
func TestBatches(t *testing.T) {
	f, r := serveFaulty(t, func(call int, _ *qdrant.UpsertPoints) error {
		if call == 2 {
			return status.Error(codes.InvalidArgument, "payload too large")
		}
		return nil
	})
	points := somePoints(3000, 1536, 4096)
	if err := r.send(t.Context(), "c", points, alwaysAlive); err != nil {
		t.Fatal(err)
	}
	if len(f.accepted) != len(points) {
		t.Errorf("%d points accepted, want %d", len(f.accepted), len(points))
	}
	for id, n := range f.accepted {
		if n != 1 {
			t.Fatalf("point %s came %d times", id, n)
		}
	}
	if f.largest > 16<<20 {
		t.Errorf("a request of %d bytes", f.largest)
	}
	if f.key != "secret" {
		t.Errorf("api key %q", f.key)
	}
}

// TestRefusedPoint names the one point that the server does not take.
func TestRefusedPoint(t *testing.T) {
	points := somePoints(20, 4, 10)
	f, r := serveFaulty(t, func(_ int, request *qdrant.UpsertPoints) error {
		for _, p := range request.GetPoints() {
			if p.GetPayload()["id"].GetStringValue() == "c13" {
				return status.Error(codes.InvalidArgument, "no")
			}
		}
		return nil
	})
	err := r.send(t.Context(), "c", points, alwaysAlive)
	if err == nil || !strings.Contains(err.Error(), "chunk c13 of https://d.test/") {
		t.Errorf("error %v does not name the chunk", err)
	}
	if f.calls > 12 {
		t.Errorf("%d requests to find one point among 20", f.calls)
	}
}

func TestOversizePoint(t *testing.T) {
	w := &writer{source: docseek.Source{Name: "docs"}}
	_, err := w.pack(search.PageRecord{URL: "u"}, []search.Embedding{{Chunk: docseek.Chunk{ID: "big", URL: "u", Text: strings.Repeat("x", maxPointBytes)}}})
	if err == nil || !strings.Contains(err.Error(), "chunk big: it takes") {
		t.Errorf("error %v", err)
	}
	_, err = w.pack(search.PageRecord{URL: "u"}, []search.Embedding{{Chunk: docseek.Chunk{ID: "odd", URL: "u", Text: "\xff"}}})
	if !errors.Is(err, errUTF8) {
		t.Errorf("error %v", err)
	}
}

// TestTriedAgain: what fails for a moment is tried again, what is wrong is not.
func TestTriedAgain(t *testing.T) {
	for code, want := range map[codes.Code]int{
		codes.Unavailable: 3, codes.Aborted: 3, codes.ResourceExhausted: 3, codes.Internal: 3,
		codes.NotFound: 1, codes.Unauthenticated: 1, codes.InvalidArgument: 1,
	} {
		t.Run(code.String(), func(t *testing.T) {
			f, r := serveFaulty(t, func(call int, _ *qdrant.UpsertPoints) error {
				if call < 3 {
					return status.Error(code, "not now")
				}
				return nil
			})
			err := r.send(t.Context(), "c", somePoints(1, 4, 1), alwaysAlive)
			if f.calls != want || (err == nil) != (want == 3) {
				t.Errorf("%d calls, error %v", f.calls, err)
			}
		})
	}
}

// TestDeadlines: a server that hangs costs a reader its own patience, and a
// request that is given up the time that it was given.
func TestDeadlines(t *testing.T) {
	f, r := serveFaulty(t, func(int, *qdrant.UpsertPoints) error { return status.Error(codes.Unavailable, "down") })
	r.patience = 300 * time.Millisecond
	err := r.send(t.Context(), "c", somePoints(1, 4, 1), alwaysAlive)
	if !errors.Is(err, ErrUnreachable) || f.calls < 2 {
		t.Errorf("%d calls, error %v", f.calls, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.patient().send(ctx, "c", somePoints(1, 4, 1), alwaysAlive); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// TestLost: nothing is sent for a run that has lost its source.
func TestLost(t *testing.T) {
	f, r := serveFaulty(t, accept)
	if err := r.send(t.Context(), "c", somePoints(1, 4, 1), func() error { return errTaken }); !errors.Is(err, errTaken) || f.calls > 0 {
		t.Errorf("%d calls, error %v", f.calls, err)
	}
}

func TestKeyInPlainText(t *testing.T) {
	for url, loud := range map[string]bool{
		"http://qdrant.example.com:6334": true, "https://qdrant.example.com:6334": false, "http://127.0.0.1:6334": false,
	} {
		var log bytes.Buffer
		s, err := Open(Options{URL: url, APIKey: "secret", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "UNENCRYPTED"); got != loud || strings.Contains(log.String(), "secret") {
			t.Errorf("%s: %q", url, log.String())
		}
	}
}

// TestDown: a store whose server is down opens, and says so when it is used.
func TestDown(t *testing.T) {
	s, err := Open(Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Reader(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Begin(ctx, docseek.Source{Name: "docs"}, "f", true); err == nil {
		t.Error("a run was begun")
	}
}
