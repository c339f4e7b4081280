package embed

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// gate is what every request for passages passes: the bounds per minute, and the
// pause that the other side asked one of them for, which holds for all.
type gate struct {
	requests, tokens *rate.Limiter

	mu     sync.Mutex
	closed time.Time // until when
}

func newGate(requestsPerMinute, tokensPerMinute int) *gate {
	return &gate{requests: perMinute(requestsPerMinute), tokens: perMinute(tokensPerMinute)}
}

// perMinute lets n through per minute, evenly: what has not been used is lost,
// but for a second's worth. 0 lets all through.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), max(1, n/60))
}

// pass waits until a request with so many tokens may go out.
func (g *gate) pass(ctx context.Context, tokens int) error {
	for tokens > 0 && g.tokens.Limit() != rate.Inf {
		share := min(tokens, g.tokens.Burst())
		if err := g.tokens.WaitN(ctx, share); err != nil {
			return err
		}
		tokens -= share
	}
	for {
		g.mu.Lock()
		wait := time.Until(g.closed)
		g.mu.Unlock()
		if wait <= 0 {
			return g.requests.Wait(ctx)
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
