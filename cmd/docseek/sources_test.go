package main

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/config"
)

func TestSourceName(t *testing.T) {
	for raw, want := range map[string]string{
		"https://docs.example.com/sitemap.xml":       "docs.example.com",
		"https://docs.example.com/":                  "docs.example.com",
		"https://docs.example.com/guide/":            "docs.example.com_guide",
		"https://docs.example.com/v2/sitemap.xml":    "docs.example.com_v2",
		"http://127.0.0.1:8001/griffe/sitemap.xml":   "127.0.0.1.8001_griffe",
		"https://docs.example.com/Guide":             "docs.example.com-guide-",
		"https://docs.example.com/a_b":               "docs.example.com-a-b-",
		"https://docs.example.com/?q=1":              "docs.example.com-",
		"https://docs.example.com/ü/":                "docs.example.com-",
		"http://[::1]:80/" + strings.Repeat("x", 90): "1",
	} {
		got := sourceName(raw)
		if strings.HasSuffix(want, "-") || len(want) == 1 {
			if !strings.HasPrefix(strings.ReplaceAll(got, "_", "-"), want) {
				t.Errorf("%s is named %s, want %s…", raw, got, want)
			}
		} else if got != want {
			t.Errorf("%s is named %s, want %s", raw, got, want)
		}
		c := config.Default()
		c.Sources = []docseek.Source{{Name: got, Start: raw}}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	// Different addresses, different names.
	for _, pair := range [][2]string{
		{"http://h/9101", "http://h:9101/"},
		{"http://h/a/b", "http://h/a_b"},
		{"http://h/A", "http://h/a"},
		{"http://h/a?x=1", "http://h/a?x=2"},
	} {
		if a, b := sourceName(pair[0]), sourceName(pair[1]); a == b {
			t.Errorf("%s and %s are both named %s", pair[0], pair[1], a)
		}
	}
}
