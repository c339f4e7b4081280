//go:build qdrant

package qdrant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// guard looks at every deletion that a store is about to make.
type guard struct {
	testing.TB
	looking         *Store // at the same index
	checked, points atomic.Int64
}

// protect lets the guard stand between a store and the server.
func (g *guard) protect(s *Store) error {
	host, port, err := net.SplitHostPort(serverAddress)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	client, err := qdrant.NewClient(&qdrant.Config{
		Host: host, Port: number, SkipCompatibilityCheck: true,
		GrpcOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceive)), grpc.WithChainUnaryInterceptor(g.intercept),
		},
	})
	if err != nil {
		return err
	}
	err = s.remote.Client.Close()
	s.remote.Client = client
	return err
}

func (g *guard) intercept(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var err error
	switch r := request.(type) {
	case *qdrant.DeletePoints:
		err = g.deletion(ctx, r.GetCollectionName(), r.GetPoints().GetFilter())
	case *qdrant.DeleteCollection:
		err = g.deletion(ctx, r.GetCollectionName(), &qdrant.Filter{})
	}
	if err != nil {
		g.Errorf("%s: %v", method, err)
		return err
	}
	return invoke(ctx, method, request, reply, cc, opts...)
}

// deletion fails when a filter meets a point that the present state shows, or that
// the state shows that a rollback would lead to.
func (g *guard) deletion(ctx context.Context, collection string, filter *qdrant.Filter) error {
	g.checked.Add(1)
	now, err := g.looking.refresh(ctx)
	if err != nil {
		return err
	}
	meets, err := g.looking.remote.count(ctx, collection, filter.GetMust())
	if notFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	g.points.Add(int64(meets))
	states := []search.State{now.state()}
	for _, live := range now.generations {
		if live.Previous > 0 {
			back := now.record
			back.hide(hidden{N: live.N})
			states = append(states, back.state())
		}
	}
	for _, state := range states {
		// Generations are seen by the newest number; those before stay in the record.
		must := slices.Concat(filter.GetMust(), visible(state))
		if collection == g.looking.meta() {
			must = append(must, qdrant.NewMatchExceptKeywords(fieldKind, kindGeneration))
		}
		if n, err := g.looking.remote.count(ctx, collection, must); err != nil || n > 0 {
			return errors.Join(err, fmt.Errorf("%d points of state %+v are deleted by %v", n, state, filter))
		}
	}
	if collection != g.looking.meta() {
		return nil
	}
	return g.looking.remote.each(ctx, scroll{
		collection: collection, must: append(slices.Clone(filter.GetMust()), ofKind(kindGeneration)), page: scrollPage,
	}, func(p *qdrant.RetrievedPoint) error {
		var deleted generation
		if err := decode(p.GetPayload()["generation"], &deleted); err != nil {
			return err
		}
		live := now.generations[deleted.Info.Source.Name]
		if deleted.N == live.N || deleted.N == live.Previous {
			return fmt.Errorf("generation %d of %d is deleted by %v", deleted.N, live.N, filter)
		}
		return nil
	})
}

// TestNothingLiveIsDeleted takes indexes through random lives, with runs that end in
// every way, and looks at what each deletion meets before it is made.
func TestNothingLiveIsDeleted(t *testing.T) {
	t.Parallel()
	var guards []*guard
	t.Run("lives", func(t *testing.T) {
		storetest.RandomLives(t, func(t *testing.T) func(t *testing.T) search.Store {
			t.Helper()
			o := prefixed(t)
			o.Term = 0
			g := &guard{TB: t, looking: open(t, o)}
			t.Cleanup(func() { closeStore(t, g.looking) })
			guards = append(guards, g)
			if err := g.looking.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			return func(t *testing.T) search.Store {
				t.Helper()
				s := open(t, o)
				if err := g.protect(s); err != nil {
					t.Fatal(err)
				}
				return s
			}
		})
	})
	for _, g := range guards {
		if g.checked.Load() < 50 || g.points.Load() < 50 {
			t.Errorf("%d deletions of %d points prove little", g.checked.Load(), g.points.Load())
		}
	}
}

// TestSeenByAll lets several servers answer from one index: two seconds after a
// commit of one, and at any time before, each shows one generation, then the new one.
func TestSeenByAll(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := prefixed(t)
	servers := make([]*Store, 5)
	for i := range servers {
		servers[i] = open(t, o)
		defer closeStore(t, servers[i])
	}
	if err := publishRevision(ctx, servers[0], 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	var ahead time.Duration
	for _, s := range servers {
		s.now = func() time.Time { return time.Now().Add(ahead) }
	}
	for revision := 1; revision <= 4; revision++ {
		by := servers[revision%len(servers)]
		if err := publishRevision(ctx, by, revision, func(string) {}); err != nil {
			t.Fatal(err)
		}
		for i, s := range servers {
			shown, err := storetest.RevisionShown(ctx, mustReader(t, s))
			if errors.Is(err, search.ErrStale) { // these keep nothing for earlier readers
				continue
			}
			if err != nil || shown != revision && (shown != revision-1 || s == by) {
				t.Errorf("server %d: revision %d is shown after %d was committed: %v", i, shown, revision, err)
			}
		}
		ahead += 2 * time.Second
		for i, s := range servers {
			if shown, err := storetest.RevisionShown(ctx, mustReader(t, s)); err != nil || shown != revision {
				t.Errorf("server %d: revision %d is shown two seconds after %d was committed: %v", i, shown, revision, err)
			}
		}
	}
}

// TestHolderNamed asks for a source that is held: the holder is named as soon as it
// shows a sign of life, which is often.
func TestHolderNamed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	o := prefixed(t)
	o.Term = 0
	s, other := open(t, o), open(t, o)
	defer closeStore(t, s)
	defer closeStore(t, other)
	if err := s.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := s.acquire(ctx, "docs", false)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.readGrant(ctx, "docs")
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.acquire(ctx, "docs", false)
	after, e := s.readGrant(ctx, "docs")
	if locked, ok := errors.AsType[*search.LockedError](err); !ok || locked.Holder != l.holder || e != nil {
		t.Errorf("error %v, %v", err, e)
	}
	if n := after.beat - before.beat; n < 2 || n > 8 {
		t.Errorf("it was told after %d signs of life, one in %v", n, s.options.Term/beats)
	}
	if err := l.release(ctx); err != nil {
		t.Error(err)
	}
}
