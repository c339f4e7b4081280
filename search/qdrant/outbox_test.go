package qdrant

import (
	"context"
	"errors"
	"testing"
)

func TestOutbox(t *testing.T) {
	ctx := t.Context()
	o := newOutbox(ctx)
	defer o.close()
	begun, end := make(chan bool), make(chan error)
	slow := func(context.Context) error { begun <- true; return <-end }
	for range sendersAtOnce {
		if err := o.post(ctx, slow); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	impatient, cancel := context.WithCancel(ctx)
	cancel()
	if err := o.post(impatient, slow); !errors.Is(err, context.Canceled) {
		t.Errorf("more was taken than may be on its way: %v", err)
	}
	lost := errors.New("lost")
	end <- lost
	end <- nil
	if err := o.empty(ctx); !errors.Is(err, lost) {
		t.Errorf("emptied with %v", err)
	}
	if err := o.post(ctx, func(context.Context) error { t.Error("sent after a failure"); return nil }); !errors.Is(err, lost) {
		t.Errorf("posted after a failure: %v", err)
	}
}

func TestOutboxGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := newOutbox(ctx)
	if err := o.post(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }); err != nil {
		t.Fatal(err)
	}
	cancel() // is not yet an end: the run may wait for what it sent
	if err := o.failure(); err != nil {
		t.Error(err)
	}
	if err := o.empty(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("emptied with %v", err)
	}
	o.close()
}

// TestUsedAfterClose: a run that goes on when its store is closed fails.
func TestUsedAfterClose(t *testing.T) {
	s, err := Open(Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Reader(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("read with %v", err)
	}
}
