package sitemap

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadLLMs hands over the link targets of an llms.txt: a Markdown file whose
// lists of links name the pages worth reading (llmstxt.org). Targets are as
// written and may be relative; images and fragments are left out.
func ReadLLMs(r io.Reader, limits Limits, yield func(loc string) error) error {
	limits = limits.withDefaults()
	in, err := open(r, limits)
	if err != nil {
		return err
	}
	count := 0
	for {
		line, err := readLine(in)
		for loc := range links(line) {
			if count++; count > limits.Entries {
				return fmt.Errorf("more than %d: %w", limits.Entries, ErrTooMany)
			}
			if err := yield(loc); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return readError(err)
		}
	}
}

// links finds the inline links of a line of Markdown: [text](target "title").
func links(line string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			i := strings.Index(line, "](")
			if i < 0 {
				return
			}
			open := strings.LastIndexByte(line[:i], '[')
			image := open > 0 && line[open-1] == '!'
			line = line[i+2:]
			target, rest, closed := strings.Cut(line, ")")
			if !closed {
				return
			}
			line = rest
			target, _, _ = strings.Cut(strings.TrimSpace(target), " ")
			target = strings.Trim(target, "<>")
			if image || open < 0 || target == "" || target[0] == '#' {
				continue
			}
			if !yield(target) {
				return
			}
		}
	}
}
