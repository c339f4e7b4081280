package embed

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// gate is what every request for passages passes: the bound per minute, and the
// pause that the other side asked one of them for, which holds for all.
type gate struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	closed  time.Time // until when
}

// pass waits until a request may go out.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		wait := time.Until(g.closed)
		g.mu.Unlock()
		if wait <= 0 {
			return g.limiter.Wait(ctx)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// pause keeps the gate shut for d from now on, or longer if it already is.
func (g *gate) pause(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.closed) {
		g.closed = until
	}
}
