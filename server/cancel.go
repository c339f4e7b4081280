package server

import (
	"context"
	"sync"

	mcpserver "github.com/mark3labs/mcp-go/server"
)

// sessionHeader carries what a client is told apart by when it cancels a call.
// It names nothing that is kept: a client without it, or with that of another
// process, is answered like any other.
const sessionHeader = mcpserver.HeaderKeySessionID

// callKey is whose call it is, and which of its calls. Ids of requests are a
// client's own: all begin to count at the same number.
type callKey struct{ caller, session, id string }

// cancellations are the calls under way that may be cancelled by a notification.
// So clients of the revisions before 2026-07-28 do it, on another connection
// than that of the call (2025-11-25, basic/utilities/cancellation); later ones
// close the connection.
type cancellations struct{ calls sync.Map } // from callKey to *context.CancelFunc

// open gives a call a context that [cancellations.cancel] ends; done has to be
// called after it. A call without a session cannot be cancelled.
func (c *cancellations) open(ctx context.Context, key callKey) (_ context.Context, done func()) {
	if key.session == "" {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.calls.Store(key, &cancel)
	return ctx, func() {
		c.calls.CompareAndDelete(key, &cancel)
		cancel()
	}
}

// cancel ends the call of that key; that there is none is no fault, since it may
// have just been answered.
func (c *cancellations) cancel(key callKey) {
	if cancel, ok := c.calls.Load(key); ok {
		(*cancel.(*context.CancelFunc))()
	}
}
