package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClientPages holds the commands of docs/clients to what connect prints.
func TestClientPages(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```(?:sh|json)\n(.*?)\n```")
	for _, client := range []string{"claude-code", "codex", "cursor", "vscode", "zed"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients", client+".md"))
		if err != nil {
			t.Fatal(err)
		}
		found := blocks.FindAllStringSubmatch(string(page), -1)
		wants := [][]string{
			{"--url", "https://mcp.example.com", "--token"},
			{"--stdio", "https://docs.example.com/sitemap.xml"},
		}
		if len(found) != len(wants) {
			t.Fatalf("%s.md has %d blocks", client, len(found))
		}
		for i, flags := range wants {
			var out strings.Builder
			if code := run(append([]string{"connect", client}, flags...), streams{in: strings.NewReader(""), out: &out, err: io.Discard}, nil); code != 0 {
				t.Fatalf("connect %s %v: exit code %d", client, flags, code)
			}
			if got := found[i][1]; got != strings.TrimSpace(out.String()) {
				t.Errorf("%s.md says:\n%s\nconnect %v prints:\n%s", client, got, flags, out.String())
			}
		}
		if lines := strings.Count(string(page), "\n"); lines > 60 {
			t.Errorf("%s.md has %d lines, more than a page", client, lines)
		}
	}
}
