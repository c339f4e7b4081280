//go:build ort

package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
)

// TestOnARealServer indexes and searches a site with vectors of a server that is no
// part of the project: ONNX Runtime with the builtin model's original weights,
// behind an OpenAI-compatible API. scripts/ort.sh brings it; DOCSEEK_TEST_ONNX is
// the model's path.
func TestOnARealServer(t *testing.T) {
	address := startORT(t, os.Getenv("DOCSEEK_TEST_ONNX"))
	archive, err := os.ReadFile("testdata/sites/docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := fakesite.Start(t, string(archive))
	dir := t.TempDir()
	file := filepath.Join(dir, "docseek.yaml")
	text := "sources: [{name: docs, start: '" + s.URL("/sitemap.xml") + "'}]\n" +
		"embedder: {provider: openai, model: all-MiniLM-L6-v2, base_url: 'http://" + address + "/v1', tokens_per_minute: 1000000}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(into any, args ...string) {
		t.Helper()
		var out strings.Builder
		args = append([]string{"--data-dir", filepath.Join(dir, "data"), "--json"}, args...)
		if code := run(args, streams{out: &out, err: t.Output()}, []string{"NO_PROXY=127.0.0.1"}); code != exitDone {
			t.Fatalf("%q: exit code %d", args, code)
		}
		if err := json.Unmarshal([]byte(out.String()), into); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
	var report struct{ Runs []search.Run }
	ask(&report, "--config", file, "reindex")
	if r := report.Runs[0]; r.Outcome != search.Published || r.Embedded == 0 || r.Embedded != r.Chunks {
		t.Errorf("first run: %+v", r)
	}
	ask(&report, "--config", file, "reindex")
	if r := report.Runs[0]; r.Outcome != search.Unchanged || r.Embedded != 0 {
		t.Errorf("second run: %+v", r)
	}
	for query, page := range map[string]string{
		"how do I exchange credentials without an outage": "/guide/keys",
		"pause between attempts":                          "/guide/retries",
	} {
		var answer search.Answer
		ask(&answer, "--config", file, "search", query)
		first, _, _ := strings.Cut(answer.Results[0].URL, "#")
		if answer.Mode != search.Hybrid || answer.Degraded || first != s.URL(page) {
			t.Errorf("%q: mode %s, degraded %t (%s), first %s, want %s", query, answer.Mode, answer.Degraded, answer.Reason, first, page)
		}
	}

	// The same model in the binary gives nearly the same vectors.
	for _, text := range []string{"Create the new key first, and only then revoke the old one.", "E1204"} {
		var served, builtin struct{ Vector []float64 }
		ask(&served, "--config", file, "embed", text)
		ask(&builtin, "embed", text)
		if c := cosine(served.Vector, builtin.Vector); len(served.Vector) != len(builtin.Vector) || c < 0.99 {
			t.Errorf("%q: cosine %.4f of the server's vector and the builtin model's", text, c)
		}
	}
}

// startORT starts the server and says where it listens.
func startORT(t *testing.T, onnx string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	const cache = "../../.cache/ort"
	server := exec.Command(filepath.Join(cache, "venv/bin/python"), "../../scripts/bench-ort/server.py",
		onnx, filepath.Join(cache, "all-minilm-l6-v2-tokenizer.json"), port)
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	deadline := time.Now().Add(patience)
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close()
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
}
