package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// heartbeat is the time between two notifications that a call is at work.
	heartbeat = 5 * time.Second
	// settle is how long an answer waits after the last notification: mcp-go
	// v1.2.1 loses one that is still on its way when the handler returns.
	settle = 2 * time.Millisecond
)

// progress sends the progress notifications of one call, if the caller gave a
// token for them: what the tool reports, and a heartbeat while it says nothing.
type progress struct {
	server  *Server
	token   mcp.ProgressToken
	cancel  context.CancelFunc
	beating sync.WaitGroup

	mu    sync.Mutex
	steps int
	last  time.Time // when the last notification was sent
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
	err := p.server.mcp.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": p.token,
		"progress":      p.steps,
		"message":       message,
	})
	if err != nil {
		p.server.log.LogAttrs(ctx, slog.LevelDebug, "progress not sent", slog.Any("error", err))
		return
	}
	p.last = time.Now()
}

// stop ends the heartbeats and waits until the last notification has left.
func (p *progress) stop() {
	p.cancel()
	p.beating.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if wait := time.Until(p.last.Add(settle)); wait > 0 {
		<-time.After(wait)
	}
}
