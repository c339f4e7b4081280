package qdrant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek/search"
)

const kindLease = "lease"

var errTaken = errors.New("another process has taken the source over: this run was not heard of for too long")

// lease is the right to run a source: a point that its holder rewrites every
// beat. A contender that has seen it unchanged for the whole term, by its own
// clock, takes it over. So clocks need not agree, and a holder that was killed
// is replaced one term later.
type lease struct {
	store  *Store
	source string
	token  string
	cancel context.CancelFunc
	beaten chan struct{} // closed when the beats have ended

	mu sync.Mutex
	// renewed is when the last beat that came through was sent.
	renewed time.Time
	lost    bool
}

// grant is the point as it is stored.
type grant struct {
	token  string // of the holder; empty when free
	beat   int64
	holder string
}

func leaseID(source string) *qdrant.PointId { return pointID(kindLease, source) }

func (s *Store) readGrant(ctx context.Context, source string) (grant, error) {
	points, err := s.remote.patient().getPoints(ctx, s.meta(), []*qdrant.PointId{leaseID(source)})
	if err != nil || len(points) == 0 {
		return grant{}, err
	}
	p := points[0].GetPayload()
	return grant{p[fieldToken].GetStringValue(), p[fieldBeat].GetIntegerValue(), p["holder"].GetStringValue()}, nil
}

// swap replaces a grant that is still as it was seen.
func (s *Store) swap(ctx context.Context, r remote, source string, seen, next grant) error {
	return r.upsert(ctx, s.meta(), []*qdrant.PointStruct{bare(leaseID(source), payload{
		fieldKind: text(kindLease), fieldSource: text(source), fieldToken: text(next.token),
		fieldBeat: qdrant.NewValueInt(next.beat), "holder": text(next.holder),
	})}, qdrant.NewMatchKeyword(fieldToken, seen.token), qdrant.NewMatchInt(fieldBeat, seen.beat))
}

// acquire takes the source. Without wait it fails with a LockedError as soon as
// the holder shows a sign of life.
func (s *Store) acquire(ctx context.Context, source string, wait bool) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	l := &lease{store: s, source: source, token: uuid.NewString(), beaten: make(chan struct{})}
	holder := fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	var watched grant
	var since time.Time
	for {
		seen, err := s.readGrant(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("read who holds source %s: %w", source, err)
		}
		if seen.token == l.token {
			break
		}
		locked := &search.LockedError{Source: source, Holder: seen.holder}
		now := time.Now()
		switch {
		case seen.token == "" || seen == watched && now.Sub(since) >= s.options.Term:
			l.renewed = time.Now()
			if err := s.swap(ctx, s.remote.patient(), source, seen, grant{l.token, seen.beat + 1, holder}); err != nil {
				return nil, fmt.Errorf("take source %s: %w", source, err)
			}
			continue // read who has got it
		case seen.token == watched.token && seen.beat != watched.beat && !wait:
			return nil, locked
		case seen != watched:
			watched, since = seen, now
		}
		if err := pause(ctx, s.options.Term/20); err != nil {
			return nil, fmt.Errorf("wait for the source: %w: %w", locked, err)
		}
	}
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	go l.beat(beating, holder)
	return l, nil
}

// beat renews the lease until it is released or lost.
func (l *lease) beat(ctx context.Context, holder string) {
	defer close(l.beaten)
	tick := time.NewTicker(l.store.options.Term / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent := time.Now()
		held, err := l.renew(ctx, holder)
		if err != nil {
			if ctx.Err() == nil {
				l.store.warn(ctx, "lease not renewed", err)
			}
			continue
		}
		l.mu.Lock()
		if l.lost = !held; held {
			l.renewed = sent
		}
		l.mu.Unlock()
		if !held {
			return
		}
	}
}

// renew rewrites the lease, and reports whether it is still held after that.
func (l *lease) renew(ctx context.Context, holder string) (bool, error) {
	seen, err := l.store.readGrant(ctx, l.source)
	if err != nil || seen.token != l.token {
		return false, err
	}
	if err := l.store.swap(ctx, l.store.remote, l.source, seen, grant{l.token, seen.beat + 1, holder}); err != nil {
		return false, err
	}
	now, err := l.store.readGrant(ctx, l.source)
	return now.token == l.token, err
}

// check fails when another process may have taken the source. The wall clock is
// asked too: the other one stands still while a machine sleeps.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	term := l.store.options.Term * 2 / 3
	if l.lost || time.Since(l.renewed) > term || time.Now().Round(0).Sub(l.renewed.Round(0)) > term {
		return errTaken
	}
	return nil
}

// release frees the source, if it is still held.
func (l *lease) release(ctx context.Context) error {
	l.cancel()
	<-l.beaten
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.store.options.Term)
	defer cancel()
	seen, err := l.store.readGrant(ctx, l.source)
	if err == nil && seen.token == l.token {
		err = l.store.swap(ctx, l.store.remote, l.source, seen, grant{beat: seen.beat + 1})
	}
	if err != nil {
		return fmt.Errorf("release source %s: %w", l.source, err)
	}
	return nil
}
