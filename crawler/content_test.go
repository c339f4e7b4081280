package crawler

import (
	"net/http"
	"testing"
	"time"

	"github.com/docseek/docseek"
)

func TestRobotsTag(t *testing.T) {
	for _, tc := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{"noindex"}, true},
		{[]string{"nofollow, NoIndex"}, true},
		{[]string{"none"}, true},
		{[]string{"noarchive", "noindex"}, true},
		{[]string{"docseek: noindex"}, true},
		{[]string{"otherbot: noindex"}, false},
		{[]string{"otherbot: noindex", "docseek: all"}, false},
		{[]string{"unavailable_after: 25 Jun 2030 15:00:00 PST"}, false},
	} {
		if got := robotsTag(http.Header{"X-Robots-Tag": tc.lines}); got != tc.want {
			t.Errorf("%q: %v", tc.lines, got)
		}
	}
}

func TestModified(t *testing.T) {
	at := time.Date(2026, 4, 5, 6, 7, 8, 0, time.UTC)
	header := func(modified, date time.Time) http.Header {
		return http.Header{"Last-Modified": {modified.Format(http.TimeFormat)}, "Date": {date.Format(http.TimeFormat)}}
	}
	if got := modified(header(at, at.Add(time.Hour))); !got.Equal(at) {
		t.Errorf("an hour ago: %v", got)
	}
	if got := modified(header(at, at.Add(time.Second))); !got.IsZero() {
		t.Errorf("just now: %v", got)
	}
	if got := modified(http.Header{"Last-Modified": {"yesterday"}}); !got.IsZero() {
		t.Errorf("no date: %v", got)
	}
}

func TestContentHash(t *testing.T) {
	doc := func(sections ...docseek.Section) docseek.Document {
		return docseek.Document{Title: "T", Sections: sections}
	}
	base := doc(docseek.Section{Title: "A", Level: 2, Anchor: "a", Markdown: "text"})
	same := base
	same.URL, same.Links, same.Generator = "https://d.example/", []string{"x"}, "sphinx"
	if contentHash(base) != contentHash(same) {
		t.Error("what stands around the content changes its hash")
	}
	for name, other := range map[string]docseek.Document{
		"text":     doc(docseek.Section{Title: "A", Level: 2, Anchor: "a", Markdown: "texts"}),
		"anchor":   doc(docseek.Section{Title: "A", Level: 2, Anchor: "b", Markdown: "text"}),
		"level":    doc(docseek.Section{Title: "A", Level: 3, Anchor: "a", Markdown: "text"}),
		"boundary": doc(docseek.Section{Title: "Aa", Level: 2, Anchor: "", Markdown: "text"}),
		"more":     doc(base.Sections[0], docseek.Section{}),
	} {
		if contentHash(other) == contentHash(base) {
			t.Errorf("another %s has the same hash", name)
		}
	}
}
