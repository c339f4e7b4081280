package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestStdioEndsOnSignal tells a server on stdio to end, as an agent's client does
// that closes: that is no failure.
func TestStdioEndsOnSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), self)
	server.Args = []string{"docseek", "--data-dir", t.TempDir(), "serve", "--stdio"}
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
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
