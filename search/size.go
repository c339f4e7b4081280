package search

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// jsonChars is the number of characters that a text has inside a JSON string,
// as encoding/json writes it.
func jsonChars(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeChars(r, size)
		i += size
	}
	return n
}

func runeChars(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return len(`\n`)
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError && size == 1:
		return len(`\u0000`)
	}
	return 1
}

// encodedChars is the number of characters of a value as JSON.
func encodedChars(v any) (int, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("measure an answer: %w", err)
	}
	return utf8.RuneCount(b), nil
}

// round keeps four decimals: more are noise, and cost the reader characters.
func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// clip shortens a line to a number of characters.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most-1 && utf8.RuneCountInString(s[i:]) > 1 {
			return strings.TrimSpace(s[:i]) + "…"
		}
		n++
	}
	return s
}

// quoteShort quotes what a caller sent, for a message.
func quoteShort(s string) string {
	const most = 80
	return fmt.Sprintf("%q", clip(s, most))
}

// enumerate lists a few names, for a message.
func enumerate(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
