package qdrant

import (
	"context"
	"sync"
)

// sendersAtOnce is how many batches of a run are on their way at a time: while
// the server works on one, the next is packed and sent.
const sendersAtOnce = 2

// outbox sends what a run writes while the run goes on.
type outbox struct {
	slots chan struct{}
	ctx   context.Context //nolint:containedctx // of requests that outlive the call that makes them
	stop  context.CancelFunc
	mu    sync.Mutex
	err   error
}

func newOutbox(ctx context.Context) *outbox {
	o := &outbox{slots: make(chan struct{}, sendersAtOnce)}
	o.ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	return o
}

// post lets send run as soon as there is room, or returns why an earlier one failed.
func (o *outbox) post(ctx context.Context, send func(ctx context.Context) error) error {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := o.failure(); err != nil {
		<-o.slots
		return err
	}
	go func() {
		defer func() { <-o.slots }()
		if err := send(o.ctx); err != nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.err == nil {
				o.err = err
			}
		}
	}()
	return nil
}

// empty waits until nothing is on its way, and returns the first error. When ctx
// ends before, what is on its way is given up.
func (o *outbox) empty(ctx context.Context) error {
	defer context.AfterFunc(ctx, o.stop)()
	for range sendersAtOnce {
		o.slots <- struct{}{}
	}
	for range sendersAtOnce {
		<-o.slots
	}
	return o.failure()
}

// close gives up what is on its way.
func (o *outbox) close() {
	o.stop()
	_ = o.empty(o.ctx)
}

func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
