package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// stdioServer starts a server on stdio in a process of its own.
func stdioServer(t *testing.T, flags ...string) (server *exec.Cmd, in io.WriteCloser, out io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server = exec.CommandContext(t.Context(), self)
	server.Args = append(append([]string{"docseek", "--data-dir", t.TempDir()}, flags...), "serve", "--stdio")
	if in, err = server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = server.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server, in, out
}

// TestServerOutlivesHangup sends a server that has nothing to read anew the signal
// to do so, which by itself would end the process.
func TestServerOutlivesHangup(t *testing.T) {
	server, in, out := stdioServer(t)
	lines := bufio.NewScanner(out)
	for range 2 {
		if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"ping"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("the server does not answer: %v", lines.Err())
		}
		if err := server.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestStdioEndsOnSignal tells a server on stdio to end, as an agent's client does
// that closes: that is no failure.
func TestStdioEndsOnSignal(t *testing.T) {
	server, in, out := stdioServer(t)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() {
		t.Fatalf("the server does not answer: %v", lines.Err())
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
