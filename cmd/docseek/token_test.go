package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/server/auth"
)

// The line that is printed lets the token in that is printed with it.
func TestNewTokenIsLetIn(t *testing.T) {
	var out, complaints bytes.Buffer
	code := run([]string{"--json", "token", "new", "--name", "ci", "--scope", "runs:write", "--source", "docs", "--expires", "1d"},
		streams{out: &out, err: &complaints}, nil)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, &complaints)
	}
	var made struct{ Token, Line string }
	if err := json.Unmarshal(out.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(made.Line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	got, err := file.Verify(t.Context(), made.Token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(auth.Caller{Name: "ci", Scopes: []string{auth.RunsWrite}, Sources: []string{"docs"}}, got); diff != "" {
		t.Errorf("caller (-want +got):\n%s", diff)
	}
}
