package embed

import (
	"context"
	"time"
)

// Lazy opens something when it is first asked for, and again after a while if
// that failed: so a process starts, and serves what it can, while a model
// elsewhere cannot be reached. It is safe for concurrent use.
type Lazy[T any] struct {
	open  func(context.Context) (T, error)
	pause time.Duration
	turn  chan struct{} // holds the right to look at what follows

	opened bool
	value  T
	err    error
	failed time.Time
}

// NewLazy returns a Lazy that opens with open; a failure is the answer for pause.
func NewLazy[T any](open func(context.Context) (T, error), pause time.Duration) *Lazy[T] {
	return &Lazy[T]{open: open, pause: pause, turn: make(chan struct{}, 1)}
}

// Get returns what was opened. It waits for another call that is opening just
// now, as long as ctx lives.
func (l *Lazy[T]) Get(ctx context.Context) (T, error) {
	var none T
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	switch {
	case l.opened:
		return l.value, nil
	case l.err != nil && time.Since(l.failed) < l.pause:
		return none, l.err
	}
	value, err := l.open(ctx)
	switch {
	case err == nil:
		l.value, l.opened, l.err = value, true, nil
	case ctx.Err() == nil:
		l.err, l.failed = err, time.Now()
	}
	return value, err
}
