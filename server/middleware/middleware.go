// Package middleware holds the links of the chain that every HTTP route of the
// server passes through: panics are caught, requests are numbered, writes are
// bounded, and foreign hosts and origins are turned away.
package middleware

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"
)

// Chain wraps a handler in links, the first outermost.
func Chain(h http.Handler, links ...func(http.Handler) http.Handler) http.Handler {
	for _, link := range slices.Backward(links) {
		h = link(h)
	}
	return h
}

// Recover answers a panicking handler with 500 and writes the panic and its
// stack to the log. The client learns nothing but the request's id. A panic
// after the first byte of the answer ends the connection, so that the client
// does not take the half for the whole.
func Recover(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tracked := &trackedWriter{ResponseWriter: w}
			ctx := r.Context()
			defer func() {
				p := recover()
				if p == nil {
					return
				}
				if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares the panic value itself
					panic(p)
				}
				log.LogAttrs(ctx, slog.LevelError, "panic in an HTTP handler",
					slog.Any("panic", p), slog.String("path", r.URL.Path),
					slog.String("request_id", RequestIDFrom(ctx)),
					slog.String("stack", string(debug.Stack())))
				if tracked.status != 0 {
					panic(http.ErrAbortHandler)
				}
				http.Error(w, "internal error (request id "+RequestIDFrom(ctx)+")", http.StatusInternalServerError)
			}()
			next.ServeHTTP(tracked, r)
		})
	}
}

// Statuses tells of the status of each answer that was begun.
func Statuses(tell func(status int)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tracked := &trackedWriter{ResponseWriter: w}
			defer func() {
				if tracked.status != 0 {
					tell(tracked.status)
				}
			}()
			next.ServeHTTP(tracked, r)
		})
	}
}

// trackedWriter knows the status of the answer; 0 while it has not begun.
type trackedWriter struct {
	http.ResponseWriter
	status int
}

func (w *trackedWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *trackedWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteTimeout bounds each write of an answer, so that a client that stopped
// reading does not hold its request for ever. Unlike the server's own
// WriteTimeout it does not bound the whole answer, which may be a long stream.
func WriteTimeout(timeout time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			limited := &limitedWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
			limited.extend() // the connection still has the deadline of the request before
			next.ServeHTTP(limited, r)
		})
	}
}

// limitedWriter gives each write a deadline of its own.
type limitedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// extend does nothing where the connection knows no deadlines.
func (w *limitedWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }

func (w *limitedWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// RequestIDHeader carries the request's id in every answer.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// WithRequestID gives the context a new random request id: 16 hex digits.
func WithRequestID(ctx context.Context) context.Context {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return context.WithValue(ctx, requestIDKey{}, hex.EncodeToString(id[:]))
}

// RequestIDFrom returns the request id of the context; empty if it has none.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// RequestID numbers each request and tells the client the number. An id that
// the client sends is not taken over: it would be the client's text in our log.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := WithRequestID(r.Context())
		w.Header().Set(RequestIDHeader, RequestIDFrom(ctx))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
