package middleware

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// BodyTimeout bounds the time in which the body of a request has to arrive,
// whether a handler reads it or not: before a connection is used again, net/http
// reads what a handler left, and would wait for it for ever. Once the body is
// there the connection has no deadline, so that an answer may take longer.
func BodyTimeout(timeout time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Body == nil || r.Body == http.NoBody {
				next.ServeHTTP(w, r)
				return
			}
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Now().Add(timeout)) // a connection without deadlines has none to miss
			r = r.WithContext(r.Context())                       // net/http looks at the body of its own request
			r.Body = &timedBody{r.Body, control}
			next.ServeHTTP(w, r)
		})
	}
}

// timedBody takes the deadline away at its end: net/http goes on reading to see
// whether the client is still there, and a deadline would look as if it were not.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
