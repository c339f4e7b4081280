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

const (
	kindLease = "lease"
	// beats and looks are how often in a term a holder rewrites its lease, and a
	// contender looks: who will not wait looks more often, to be answered soon.
	beats, looks, shortLooks = 60, 30, 75
)

var errTaken = errors.New("another run may have taken the source over: this one could not renew its hold for too long; see whether the Qdrant server is up and has time")

// lease is the right to run a source: a point that its holder rewrites every
// beat. A contender that has seen it unchanged for the whole term, by its own
// clock, takes it over. So clocks need not agree, and a holder that was killed
// is replaced one term later.
type lease struct {
	store  *Store
	source string
	token  string
	holder string // who holds it, for people
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
	p, err := s.remote.patient().getOne(ctx, s.meta(), leaseID(source))
	if err != nil {
		s.unprepare(err)
		return grant{}, err
	}
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
// the holder has shown that it lives.
func (s *Store) acquire(ctx context.Context, source string, wait bool) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	l := &lease{
		store: s, source: source, token: uuid.NewString(), beaten: make(chan struct{}),
		holder: fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, s.now().UTC().Format(time.RFC3339)),
	}
	between := s.options.Term / looks
	if !wait {
		between = s.options.Term / shortLooks
	}
	var watched grant
	var since time.Time
	signs := 0 // of life; the first may be the last request of one that was killed
	for {
		seen, err := s.readGrant(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("read who holds source %s: %w", source, err)
		}
		mine := seen.token == l.token
		if mine && l.check() == nil {
			l.cancel = l.hold(ctx, seen)
			return l, nil
		}
		locked := &search.LockedError{Source: source, Holder: seen.holder}
		now := s.now()
		switch {
		// Its own, when the write took so long that it has to be made again.
		case mine || seen.token == "" || seen == watched && now.Sub(since) >= s.options.Term:
			l.renewed = now
			if err := s.swap(ctx, s.remote.patient(), source, seen, grant{l.token, seen.beat + 1, l.holder}); err != nil {
				return nil, fmt.Errorf("take source %s: %w", source, err)
			}
			continue // read who has got it
		case seen != watched:
			if signs++; seen.token != watched.token {
				signs = 0
			}
			if signs > 1 && !wait {
				return nil, locked
			}
			watched, since = seen, now
		}
		if err := pause(ctx, between); err != nil {
			return nil, fmt.Errorf("wait for the source: %w: %w", locked, err)
		}
	}
}

// hold renews the lease until it is released or lost.
func (l *lease) hold(ctx context.Context, seen grant) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.beaten)
		tick := time.NewTicker(l.store.options.Term / beats)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sent := l.store.now()
			var err error
			if seen, err = l.renew(ctx, seen); err != nil {
				if ctx.Err() == nil {
					l.store.warn(ctx, "lease not renewed", err)
				}
				continue
			}
			l.mu.Lock()
			l.lost = seen.token != l.token
			if !l.lost {
				l.renewed = sent
			}
			l.mu.Unlock()
			if l.lost {
				return
			}
		}
	}()
	return cancel
}

// renew rewrites the lease as it was seen last, and reads who holds it after that.
// After a failure the lease is not known, and read first: a request that was given
// up may still have come through, earlier than it would seem.
func (l *lease) renew(ctx context.Context, seen grant) (grant, error) {
	if seen == (grant{}) {
		var err error
		if seen, err = l.store.readGrant(ctx, l.source); err != nil || seen.token != l.token {
			return seen, err
		}
	}
	if err := l.store.swap(ctx, l.store.remote, l.source, seen, grant{l.token, seen.beat + 1, l.holder}); err != nil {
		return grant{}, err
	}
	return l.store.readGrant(ctx, l.source)
}

// check fails when another process may have taken the source. The wall clock is
// asked too: the other one stands still while a machine sleeps.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	term := l.store.options.Term * 2 / 3
	now := l.store.now()
	if l.lost || now.Sub(l.renewed) > term || now.Round(0).Sub(l.renewed.Round(0)) > term {
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
