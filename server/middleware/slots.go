package middleware

import (
	"context"
	"errors"
	"time"
)

// Slots bound the calls that are at work at once. Make them with [NewSlots].
type Slots struct {
	work     chan struct{}
	queue    chan struct{}
	patience time.Duration
}

// NewSlots lets so many calls work at once, and so many more wait, each for no
// longer than patience.
func NewSlots(calls, queue int, patience time.Duration) *Slots {
	return &Slots{work: make(chan struct{}, calls), queue: make(chan struct{}, queue), patience: patience}
}

// ErrBusy means that no slot was free in time.
var ErrBusy = errors.New("the server is busy: try again in a moment")

// Acquire waits for a slot; release gives it back. The error is ErrBusy, or the
// context's.
func (s *Slots) Acquire(ctx context.Context) (release func(), err error) {
	release = func() { <-s.work }
	select {
	case s.work <- struct{}{}:
		return release, nil
	default:
	}
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		return nil, ErrBusy
	}
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	select {
	case s.work <- struct{}{}:
		return release, nil
	case <-patience.C:
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
