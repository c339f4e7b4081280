package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/docseek/docseek/server/auth"
	"github.com/docseek/docseek/server/middleware"
)

// maxStdioCalls bounds the requests that are under way at once.
const maxStdioCalls = 64

// notesPerCall is how many notifications of each call may wait to be written.
// mcp-go drops those that find no room.
const notesPerCall = 32

// drainTimeout is how long calls that were cancelled may take to end.
const drainTimeout = 2 * time.Second

// ServeStdio speaks MCP on a pair of streams, one JSON-RPC message a line; a
// server serves one pair at a time. It returns nil when in ends, after the
// calls under way have been answered, or the context's error when it is done.
// Nothing but the protocol is written to out. When the context ends while in or
// out blocks, the goroutine that waits there is left behind: the streams are
// the caller's to close.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, fail := context.WithCancelCause(ctx)
	session := &stdioSession{notifications: make(chan mcp.JSONRPCNotification, maxStdioCalls*notesPerCall)}
	conn := &stdioConn{server: s, notes: session.notifications, out: out, fail: fail}
	if err := s.mcp.RegisterSession(ctx, session); err != nil {
		fail(nil)
		return fmt.Errorf("serve stdio: %w", err)
	}
	defer s.mcp.UnregisterSession(ctx, session.SessionID())
	ctx = auth.WithCaller(s.mcp.WithContext(ctx, session), auth.Trusted("stdio"))

	var notes sync.WaitGroup
	notes.Go(func() { conn.writeNotes(ctx) })
	defer func() {
		fail(nil)
		waitFor(&notes, drainTimeout)
	}()
	lines := make(chan line)
	go readLines(ctx, in, lines)

	// What streams to the client for as long as it listens ends with the input.
	listenCtx, stopListening := context.WithCancel(ctx)
	defer stopListening()
	var calls sync.WaitGroup
	slots := make(chan struct{}, maxStdioCalls)
	for {
		select {
		case <-ctx.Done():
			waitFor(&calls, drainTimeout)
			return context.Cause(ctx)
		case got := <-lines:
			if got.err != nil && !errors.Is(got.err, errMessageTooLarge) {
				stopListening()
				waitFor(&calls, s.deadline+drainTimeout)
				if errors.Is(got.err, io.EOF) {
					return context.Cause(ctx)
				}
				return fmt.Errorf("serve stdio: read: %w", got.err)
			}
			if got.err != nil {
				conn.write(noMessage(mcp.INVALID_REQUEST, got.err.Error()))
				continue
			}
			if isBatch(got.text) {
				conn.write(noMessage(mcp.INVALID_REQUEST, batchRefused))
				continue
			}
			head, fault := readHead(got.text)
			if fault != nil {
				conn.write(fault)
				continue
			}
			if head.ID == nil {
				conn.answer(ctx, head, got.text) // a notification, or not a message at all
				continue
			}
			callCtx := ctx
			if head.Method == string(mcp.MethodSubscriptionsListen) {
				callCtx = listenCtx
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				continue
			}
			calls.Go(func() {
				defer func() { <-slots }()
				conn.answer(callCtx, head, got.text)
			})
		}
	}
}

// stdioConn writes the messages to the client.
type stdioConn struct {
	server *Server
	notes  chan mcp.JSONRPCNotification
	mu     sync.Mutex
	out    io.Writer
	fail   context.CancelCauseFunc
	// lastNote is when the last notification was written, in nanoseconds since
	// 1970; 0 before the first.
	lastNote atomic.Int64
}

// barrier is the field of a notification that is not for the client: a channel
// that is closed once all notifications before it are written.
const barrier = "barrier"

// writeNotes writes notifications until the context ends.
func (c *stdioConn) writeNotes(ctx context.Context) {
	for {
		select {
		case note := <-c.notes:
			if written, ok := note.Params.AdditionalFields[barrier].(chan struct{}); ok {
				close(written)
				continue
			}
			c.write(note)
			c.lastNote.Store(time.Now().UnixNano())
		case <-ctx.Done():
			return
		}
	}
}

// noteGap is the time between a notification and the next answer: the official
// TypeScript clients drop the notes that they read together with the answer.
const noteGap = 10 * time.Millisecond

// settle returns when the notifications sent so far are written, and had time to
// be read: a client drops those that come after the answer.
func (c *stdioConn) settle(ctx context.Context) {
	written := make(chan struct{})
	note := mcp.JSONRPCNotification{Notification: mcp.Notification{
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{barrier: written}},
	}}
	select {
	case c.notes <- note:
	case <-ctx.Done():
		return
	}
	select {
	case <-written:
	case <-ctx.Done():
		return
	}
	if last := c.lastNote.Load(); last > 0 {
		if wait := time.Until(time.Unix(0, last).Add(noteGap)); wait > 0 {
			<-time.After(wait)
		}
	}
}

// answer handles one message and writes its answer, if it has one.
func (c *stdioConn) answer(ctx context.Context, head messageHead, message []byte) {
	ctx = middleware.WithRequestID(ctx)
	defer func() {
		if p := recover(); p != nil {
			c.server.log.LogAttrs(ctx, slog.LevelError, "panic in a request",
				slog.String("method", head.Method), slog.Any("panic", p),
				slog.String("request_id", middleware.RequestIDFrom(ctx)),
				slog.String("stack", string(debug.Stack())))
			if head.ID != nil {
				c.write(mcp.NewJSONRPCError(mcp.NewRequestId(head.ID), mcp.INTERNAL_ERROR, internalError(ctx), nil))
			}
		}
	}()
	ctx, refused := withRefusal(ctx)
	response := c.server.mcp.HandleMessage(ctx, message)
	if refused.set {
		response = refused.response(head.ID)
	}
	if response == nil {
		return
	}
	if c.settle(ctx); ctx.Err() == nil {
		c.write(response)
	}
}

// write writes one message on a line of its own. A client that cannot be
// written to any more is gone: its calls end.
func (c *stdioConn) write(message any) {
	encoded, err := json.Marshal(message)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, err = c.out.Write(append(encoded, '\n'))
	}
	if err != nil {
		c.fail(fmt.Errorf("serve stdio: write: %w", err))
	}
}

// waitFor waits for a group, but not for ever.
func waitFor(group *sync.WaitGroup, most time.Duration) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
}

// stdioSession is the one client of a pair of streams.
type stdioSession struct {
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool
}

var _ mcpserver.ClientSession = (*stdioSession)(nil)

func (s *stdioSession) Initialize()       { s.initialized.Store(true) }
func (s *stdioSession) Initialized() bool { return s.initialized.Load() }
func (s *stdioSession) SessionID() string { return "stdio" }
func (s *stdioSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notifications
}

// line is one line of the input, or why there is none.
type line struct {
	text []byte
	err  error
}

var errMessageTooLarge = errors.New("the message is larger than 1 MiB")

// readLines sends the lines of in that are not blank, then the error that ended
// them. What is longer than a message may be is skipped and reported.
func readLines(ctx context.Context, in io.Reader, lines chan<- line) {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		got := readLine(reader)
		if got.err == nil && len(got.text) == 0 {
			continue
		}
		select {
		case lines <- got:
		case <-ctx.Done():
			return
		}
		if got.err != nil && !errors.Is(got.err, errMessageTooLarge) {
			return
		}
	}
}

func readLine(reader *bufio.Reader) line {
	var text []byte
	tooLong := false
	for {
		part, err := reader.ReadSlice('\n')
		if len(text)+len(part) > maxMessageBytes {
			tooLong, text = true, nil
		}
		if !tooLong {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return line{err: errMessageTooLarge}
		case err != nil && len(text) == 0:
			return line{err: err}
		case err != nil && !errors.Is(err, io.EOF):
			return line{err: err}
		}
		return line{text: bytes.TrimSpace(text)}
	}
}
