package crawler

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateKeepsStartsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(4, 100*time.Millisecond)
		begin := time.Now()
		for range 4 {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(begin); d != 300*time.Millisecond {
			t.Errorf("four starts took %v", d)
		}
		g.slow(time.Second)
		g.leave(healthy)
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := func() error { g.leave(healthy); return g.enter(t.Context()) }(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 1400*time.Millisecond {
			t.Errorf("six starts, two of them slowed, took %v", d)
		}
	})
}

func TestGateBoundsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 0)
		var mu sync.Mutex
		busy, most := 0, 0
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := g.enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				busy++
				most = max(most, busy)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				busy--
				mu.Unlock()
				g.leave(healthy)
			})
		}
		begin := time.Now()
		all.Wait()
		if d := time.Since(begin); most != 2 || d != 5*time.Second {
			t.Errorf("%d at once, %v", most, d)
		}
	})
}

func TestGatePauseIsForEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(4, 0)
		for range 3 {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		g.pause(10 * time.Second)
		g.pause(10 * time.Second) // under way with the first: no second pause
		g.leave(neutral)
		var mu sync.Mutex
		var starts []time.Duration
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := g.enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				starts = append(starts, time.Since(begin))
				first := len(starts) == 1
				mu.Unlock()
				if first {
					time.Sleep(time.Second) // the others wait for what comes of it
				}
				g.leave(healthy)
			})
		}
		all.Wait()
		if starts[0] != 10*time.Second || starts[1] != 11*time.Second {
			t.Errorf("starts %v", starts)
		}
		if g.pausesSoFar() != 0 {
			t.Errorf("%d pauses after a success", g.pausesSoFar())
		}
	})
}

func TestGateGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 0)
		for range maxPauses {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			g.pause(time.Minute)
		}
		if err := g.enter(t.Context()); !errors.Is(err, errHostGivenUp) {
			t.Errorf("after pauses: %v", err)
		}
		g = newGate(1, 0)
		for range maxFailures {
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			g.leave(failing)
		}
		if err := g.enter(t.Context()); !errors.Is(err, errHostGivenUp) {
			t.Errorf("after failures: %v", err)
		}
	})
}

func TestGateWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, 0)
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		g.leave(healthy)
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, tc := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"2", 2 * time.Second, true},
		{" 120 ", 2 * time.Minute, true},
		{"0", 0, true},
		{now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second, true},
		{now.Add(-time.Hour).Format(http.TimeFormat), 0, true},
		{"", 0, false},
		{"-5", 0, false},
		{"soon", 0, false},
		{"1.5", 0, false},
	} {
		if got, ok := retryAfter(tc.value, now); got != tc.want || ok != tc.ok {
			t.Errorf("%q: %v, %v", tc.value, got, ok)
		}
	}
	if got, ok := retryAfter("99999999999999999999999", now); !ok || got <= 24*time.Hour {
		t.Errorf("a number too long: %v, %v", got, ok)
	}
	s := &session{opts: Options{}.withDefaults()}
	if got := s.pauseFor(http.Header{"Retry-After": {"86400"}}, 0); got != 2*time.Minute {
		t.Errorf("a day is capped at %v", got)
	}
	if got := s.pauseFor(http.Header{}, 3); got != 8*time.Second {
		t.Errorf("the fourth pause without a word is %v", got)
	}
}
