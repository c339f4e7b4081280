package doctor_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/docseek/docseek/internal/doctor"
)

// TestAnswersForATerminal has a server answer with what a terminal would act on.
func TestAnswersForATerminal(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, err = connection.Read(make([]byte, 4096))
			_, e := io.WriteString(connection, "HTTP/1.1 500 \x1b[2J\x1b]0;owned\a \u202e fine\r\nContent-Length: 0\r\n\r\n")
			if errors.Join(err, e, connection.Close()) != nil {
				return
			}
		}
	}()
	c := look(t, doctor.Server("http://"+listener.Addr().String(), http.DefaultClient))
	if c.OK || !strings.Contains(c.Detail, "it answers 500 ") || strings.ContainsFunc(c.Detail, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		t.Errorf("check %q", c.Detail)
	}
}
