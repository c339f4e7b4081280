package crawler

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxPauses is how often in a row a host may ask for a pause before it is given up.
const maxPauses = 8

// maxFailures is how many requests in a row may fail without an answer before
// a host is given up.
const maxFailures = 12

// errHostGivenUp means that a host has failed too often in a row to be asked again.
var errHostGivenUp = errors.New("the host is not asked any more")

// gate is what stands between a crawl and one host: it bounds how many requests
// are under way, keeps starts apart, and closes for everybody when the host
// asks for a pause. After a pause one request goes ahead; the others wait for
// its answer.
type gate struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when someone waiting should look again
	limit   int           // most requests under way
	busy    int
	delay   time.Duration // least time between two starts
	next    time.Time     // when the next request may start
	until   time.Time     // the end of the last pause
	trying  bool          // a pause is over or running, and no request has succeeded since
	pauses  int           // pauses since the last success
	failed  int           // failures since the last success
	down    bool
}

func newGate(limit int, delay time.Duration) *gate {
	return &gate{limit: limit, delay: delay, changed: make(chan struct{})}
}

// slow raises the delay to at least d.
func (g *gate) slow(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delay = max(g.delay, d)
}

// enter waits for the host's turn. Each enter that succeeds is followed by one leave.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.down {
			g.mu.Unlock()
			return errHostGivenUp
		}
		limit := g.limit
		if g.trying {
			limit = 1
		}
		wait := time.Until(g.next)
		if g.busy < limit && wait <= 0 {
			g.busy++
			g.next = time.Now().Add(g.delay)
			g.mu.Unlock()
			return nil
		}
		free, changed := g.busy < limit, g.changed
		g.mu.Unlock()
		if err := waitFor(ctx, changed, free, wait); err != nil {
			return err
		}
	}
}

// waitFor waits for a change, or where there is room for the time to come.
func waitFor(ctx context.Context, changed <-chan struct{}, timed bool, d time.Duration) error {
	var due <-chan time.Time
	if timed {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-due:
	}
	return nil
}

// verdict is what an answer says about the host's health.
type verdict int

const (
	healthy verdict = iota // the host answered
	failing                // no answer, or one that says that the host is not well
	neutral                // nothing is learnt: the request was cancelled
)

func (g *gate) leave(v verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	switch v {
	case healthy:
		g.trying, g.pauses, g.failed = false, 0, 0
	case failing:
		if g.failed++; g.failed >= maxFailures {
			g.down = true
		}
	case neutral:
	}
	g.wake()
}

// pause ends a request that was answered with the wish to be left alone: the
// host is not asked for d, then by one request alone, and by fewer at once from
// then on.
func (g *gate) pause(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	defer g.wake()
	now := time.Now()
	if now.Before(g.until) {
		return // it was under way when the pause began
	}
	g.until = now.Add(d)
	if g.until.After(g.next) {
		g.next = g.until
	}
	g.limit = max(1, g.limit/2)
	g.trying = true
	if g.pauses++; g.pauses >= maxPauses {
		g.down = true
	}
}

func (g *gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// pausesSoFar is the number of pauses since the last success.
func (g *gate) pausesSoFar() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pauses
}

// close begins a pause after a request has left already: its answer turned out
// to be a wish for one only when it was read.
func (g *gate) close(d time.Duration) {
	g.mu.Lock()
	g.busy++
	g.mu.Unlock()
	g.pause(d)
}
