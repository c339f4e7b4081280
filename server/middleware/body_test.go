package middleware

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestBodyTimeout sends half a body and no more: whatever the handler does with
// it, the connection ends.
func TestBodyTimeout(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"read":     func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) },
		"not read": ok,
		"refused at once": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusUnauthorized)
		},
		"larger than is read": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(http.MaxBytesReader(w, r.Body, 2))
		},
	} {
		for encoding, head := range map[string]string{
			"length": "Content-Length: 100\r\n\r\nhalf", "chunked": "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		} {
			t.Run(name+", "+encoding, func(t *testing.T) {
				server := httptest.NewServer(Chain(handler, BodyTimeout(20*time.Millisecond)))
				defer server.Close()
				connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer connection.Close()
				if _, err := io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\n"+head); err != nil {
					t.Fatal(err)
				}
				_, _ = io.ReadAll(connection) // ends only when the server ends the connection
			})
		}
	}
}

// readDeadlines notes the deadlines that a connection is given for reading.
type readDeadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *readDeadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestBodyTimeoutEndsWithTheBody(t *testing.T) {
	read := func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }
	for _, test := range []struct {
		name    string
		body    io.Reader
		handler http.HandlerFunc
		want    []bool // of each deadline set, whether there is one
	}{
		{"read to its end", strings.NewReader("body"), read, []bool{true, false}},
		{"left", strings.NewReader("body"), ok, []bool{true}},
		{"none", http.NoBody, read, nil},
	} {
		w := &readDeadlines{ResponseRecorder: httptest.NewRecorder()}
		BodyTimeout(time.Minute)(test.handler).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", test.body))
		if len(w.set) != len(test.want) {
			t.Errorf("%s: %d deadlines, want %d", test.name, len(w.set), len(test.want))
			continue
		}
		for i, there := range test.want {
			if w.set[i].IsZero() == there {
				t.Errorf("%s: deadline %d is %v", test.name, i, w.set[i])
			}
		}
	}
}
