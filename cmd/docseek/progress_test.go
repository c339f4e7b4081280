package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/schollz/progressbar/v3"
)

// A message that comes while a bar is shown stands on a line of its own, and the
// bar comes back below it.
func TestMessagesDoNotStickToTheBar(t *testing.T) {
	var out bytes.Buffer
	s := &screen{to: &out}
	s.show(progressbar.NewOptions(10, progressbar.OptionSetWriter(&out), progressbar.OptionSetDescription("docs crawling")))
	s.draw(3, 10)
	if _, err := io.WriteString(s, "a message\n"); err != nil {
		t.Fatal(err)
	}
	s.draw(4, 12)
	before, after, found := strings.Cut(out.String(), "a message\n")
	if !found {
		t.Fatalf("no message in %q", out.String())
	}
	line := before[strings.LastIndexAny(strings.TrimRight(before, "\r"), "\r\n")+1:]
	if left := strings.Trim(strings.ReplaceAll(line, "\x1b[2K", ""), " \r"); left != "" {
		t.Errorf("before the message the line holds %q", left)
	}
	if !strings.Contains(after, "docs crawling") || !strings.Contains(after, "4/12") && !strings.Contains(after, "33%") {
		t.Errorf("after the message: %q", after)
	}
	s.show(nil)
	out.Reset()
	if _, err := io.WriteString(s, "alone\n"); err != nil || out.String() != "alone\n" {
		t.Errorf("without a bar: %q, %v", out.String(), err)
	}
}
