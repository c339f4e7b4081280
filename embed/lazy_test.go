package embed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docseek/docseek/embed"
)

func TestLazyOpensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		l := embed.NewLazy(func(context.Context) (int, error) {
			time.Sleep(time.Second)
			opened++
			return opened, nil
		}, time.Minute)
		got := make(chan int)
		for range 3 {
			go func() {
				v, err := l.Get(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
		}
		for range 3 {
			if v := <-got; v != 1 {
				t.Errorf("Get = %d, want what was opened first", v)
			}
		}
	})
}

func TestLazyTriesAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		tries := 0
		l := embed.NewLazy(func(context.Context) (string, error) {
			if tries++; tries < 3 {
				return "", down
			}
			return "up", nil
		}, 10*time.Second)
		for range 5 {
			if _, err := l.Get(t.Context()); !errors.Is(err, down) {
				t.Errorf("error = %v, want down", err)
			}
		}
		if tries != 1 {
			t.Errorf("%d tries within the pause, want 1", tries)
		}
		time.Sleep(10 * time.Second)
		_, _ = l.Get(t.Context())
		time.Sleep(10 * time.Second)
		if v, err := l.Get(t.Context()); v != "up" || err != nil {
			t.Errorf("Get = %q, %v", v, err)
		}
		if v, err := l.Get(t.Context()); v != "up" || err != nil || tries != 3 {
			t.Errorf("Get = %q, %v after %d tries", v, err, tries)
		}
	})
}

func TestLazyForgetsWhoGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		l := embed.NewLazy(func(ctx context.Context) (string, error) {
			if tries++; tries > 1 {
				return "up", nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		}, time.Hour)
		first, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := l.Get(first); done <- err }()
		synctest.Wait()
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := l.Get(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second caller: %v, want its own deadline", err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller: %v", err)
		}
		if v, err := l.Get(t.Context()); v != "up" || err != nil {
			t.Errorf("Get = %q, %v", v, err)
		}
	})
}
