package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

// searchText writes an answer as Markdown for clients that show the model text.
func searchText(a searchAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s search", plural(len(a.Results), "result"), a.Mode)
	if a.Degraded {
		b.WriteString(", degraded")
	}
	if a.Reason != "" {
		b.WriteString(": " + a.Reason)
	}
	b.WriteString(").")
	if a.Notice != "" {
		b.WriteString(" " + a.Notice)
	}
	b.WriteByte('\n')
	for _, hit := range a.Results {
		fmt.Fprintf(&b, "\n## %d. %s\n%s\n%s\n", hit.Rank, oneLine(breadcrumb(hit.Title, hit.Path)), hit.URL, facts(hit))
		quote(&b, hit.Text)
	}
	if a.Omitted > 0 {
		fmt.Fprintf(&b, "\n%s left out because of max_chars.\n", plural(a.Omitted, "more result"))
	}
	if a.Hint != "" {
		b.WriteString("\n" + a.Hint + "\n")
	}
	more(&b, a.NextCursor)
	return b.String()
}

// facts is a hit's line of key=value pairs.
func facts(hit docseek.Hit) string {
	var pairs []string
	add := func(key, value string) {
		if value != "" {
			pairs = append(pairs, key+"="+oneLine(value))
		}
	}
	add("source", hit.Source)
	add("version", hit.Version)
	add("language", hit.Language)
	add("score", strconv.FormatFloat(hit.Score, 'f', 3, 64))
	if hit.Cosine != nil {
		add("cosine", strconv.FormatFloat(*hit.Cosine, 'f', 3, 64))
	}
	add("matched", fmt.Sprintf("%d-%d", hit.Matched.Start, hit.Matched.End))
	add("generation", strconv.FormatUint(hit.Generation, 10))
	add("indexed_at", date(&hit.IndexedAt))
	add("last_modified", date(hit.LastModified))
	if hit.Truncated {
		add("truncated", "true (read_docs has the rest)")
	}
	return strings.Join(pairs, " ")
}

// readText writes a page or section as Markdown.
func readText(r pageReading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n%s\n%s\n", oneLine(breadcrumb(r.Title, r.Path)), r.URL, r.Notice)
	quote(&b, r.Text)
	if r.Truncated {
		b.WriteString("\nTruncated: there is more than is shown.\n")
	}
	if len(r.Sections) > 0 {
		b.WriteString("\nSections:\n")
		for _, h := range r.Sections {
			fmt.Fprintf(&b, "%s- %s", strings.Repeat("  ", min(max(h.Level-1, 0), 6)), oneLine(h.Title))
			if h.Anchor != "" {
				b.WriteString(" #" + oneLine(h.Anchor))
			}
			b.WriteByte('\n')
		}
	}
	more(&b, r.NextCursor)
	return b.String()
}

// listText writes sources or pages as a Markdown list.
func listText(l listing) string {
	var b strings.Builder
	switch {
	case l.Pages != nil:
		b.WriteString(plural(len(l.Pages), "page") + ". " + l.Notice + "\n")
	case len(l.Sources) > 0:
		b.WriteString(plural(len(l.Sources), "source") + ":\n")
	default:
		b.WriteString("Nothing is indexed yet.\n")
	}
	for _, page := range l.Pages {
		fmt.Fprintf(&b, "- %s: %s\n", page.URL, oneLine(page.Title))
	}
	for _, s := range l.Sources {
		fmt.Fprintf(&b, "- %s: %s, %s, from %s", s.Name, plural(s.Pages, "page"), plural(s.Chunks, "chunk"), s.Start)
		for _, fact := range []struct{ name, value string }{
			{"state", s.State},
			{"reason", s.Reason},
			{"versions", strings.Join(s.Versions, ", ")},
			{"languages", strings.Join(s.Languages, ", ")},
			{"generation", strconv.FormatUint(s.Generation, 10)},
			{"indexed at", date(s.IndexedAt)},
			{"last success", date(s.LastSuccess)},
			{"next run", date(s.NextRun)},
		} {
			if fact.value != "" {
				fmt.Fprintf(&b, "; %s %s", fact.name, oneLine(fact.value))
			}
		}
		b.WriteByte('\n')
	}
	more(&b, l.NextCursor)
	return b.String()
}

// quoteEnd closes quoted text. Text that holds it cannot close the quotation.
const quoteEnd = "</quoted_documentation>"

// quote sets text from outside apart from our own.
func quote(b *strings.Builder, text string) {
	b.WriteString("<quoted_documentation>\n")
	b.WriteString(strings.ReplaceAll(strings.TrimRight(text, "\n"), quoteEnd, `<\/quoted_documentation>`))
	b.WriteString("\n" + quoteEnd + "\n")
}

func more(b *strings.Builder, cursor string) {
	if cursor != "" {
		b.WriteString("\nMore: the same call with cursor=" + cursor + "\n")
	}
}

// breadcrumb is the heading path under the page's title.
func breadcrumb(title string, path []string) string {
	if len(path) > 0 && path[0] == title {
		path = path[1:]
	}
	return strings.Join(append([]string{title}, path...), " > ")
}

// oneLine keeps a text from outside from starting a line of its own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func date(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
