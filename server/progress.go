package server

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// heartbeat is the time between two notifications that a call is at work.
	heartbeat = 5 * time.Second
	// deliveryPatience bounds how long an answer waits for notifications to leave.
	deliveryPatience = time.Second
)

// delivery counts the progress notifications that were written to a response.
// mcp-go v1.2.1 loses one that is still on its way when the handler returns, so
// an answer waits for them.
type delivery struct {
	mu      sync.Mutex
	written int
	changed chan struct{} // of capacity 1
}

type deliveryKey struct{}

// withDelivery gives the context of one request a count of what is written of it.
func withDelivery(ctx context.Context) (context.Context, *delivery) {
	d := &delivery{changed: make(chan struct{}, 1)}
	return context.WithValue(ctx, deliveryKey{}, d), d
}

// saw looks at what is written to the response.
func (d *delivery) saw(event []byte) {
	if !bytes.Contains(event, []byte(`"method":"`+progressMethod+`"`)) {
		return
	}
	d.mu.Lock()
	d.written++
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// wait returns when n notifications were written, or will not be any more.
func (d *delivery) wait(ctx context.Context, n int) {
	bound := time.NewTimer(deliveryPatience)
	defer bound.Stop()
	for {
		d.mu.Lock()
		written := d.written
		d.mu.Unlock()
		if written >= n {
			return
		}
		select {
		case <-d.changed:
		case <-ctx.Done():
			return
		case <-bound.C:
			return
		}
	}
}

const progressMethod = "notifications/progress"

// progress sends the progress notifications of one call, if the caller gave a
// token for them: what the tool reports, and a heartbeat while it says nothing.
type progress struct {
	server  *Server
	token   mcp.ProgressToken
	cancel  context.CancelFunc
	beating sync.WaitGroup

	mu    sync.Mutex
	steps int
	sent  int
}

type progressKey struct{}

// startProgress begins the heartbeats.
func (s *Server) startProgress(ctx context.Context, meta *mcp.Meta) *progress {
	p := &progress{server: s, cancel: func() {}}
	if meta == nil || meta.ProgressToken == nil {
		return p
	}
	p.token = meta.ProgressToken
	ctx, p.cancel = context.WithCancel(ctx)
	p.beating.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.report(ctx, "still at work")
			}
		}
	})
	return p
}

// context is the call's context, from which reportProgress finds the call.
func (p *progress) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// reportProgress tells the caller of the tool call that the context belongs to
// what is being done.
func reportProgress(ctx context.Context, message string) {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok && p.token != nil {
		p.report(ctx, message)
	}
}

func (p *progress) report(ctx context.Context, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps++
	err := p.server.mcp.SendNotificationToClient(ctx, progressMethod, map[string]any{
		"progressToken": p.token,
		"progress":      p.steps,
		"message":       message,
	})
	if err != nil {
		p.server.log.LogAttrs(ctx, slog.LevelDebug, "progress not sent", slog.Any("error", err))
		return
	}
	p.sent++
}

// stop ends the heartbeats and, over HTTP, waits until the last notification has
// left; stdio keeps them before the answer by itself.
func (p *progress) stop(ctx context.Context) {
	p.cancel()
	p.beating.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok && p.sent > 0 {
		d.wait(ctx, p.sent)
	}
}
