package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// guide is a page whose pieces have all that a splitter adds: a table's header
// that is repeated, a fence that is closed and opened again, a section without
// text, a small section that stands in the chunk of the one after it.
func guide(t *testing.T, store *memory) {
	t.Helper()
	record := search.PageRecord{
		URL: base + "guide/", Title: "Guide", Chunks: 6, IndexedAt: now, FirstSeen: now,
		Outline: []docseek.Heading{
			{Title: "Guide", Anchor: "guide", Level: 1},
			{Title: "Cards", Anchor: "cards", Level: 2, Chunk: 1},
			{Title: "Limits", Anchor: "limits", Level: 3, Chunk: 1},
			{Title: "Code", Anchor: "code", Level: 3, Chunk: 3},
			{Title: "Accounts", Anchor: "accounts", Level: 2, Chunk: 5},
			{Title: "Close one", Anchor: "close one", Level: 3, Chunk: 5, Offset: len("Open one.\n\n")},
			{Title: "See also", Anchor: "see-also", Level: 2, Chunk: 6},
		},
	}
	const header = "| Card | Limit |\n|---|---|\n"
	chunks := []docseek.Chunk{
		{Section: 0, Anchor: "guide", Text: "What there is to know."},
		{Section: 2, Anchor: "limits", Text: header + "| Gold | 10 |"},
		{Section: 2, Anchor: "limits", Text: header + "| Blue | 5 |", Lead: len(header), Glue: "\n"},
		{Section: 3, Anchor: "code", Text: "Run:\n\n```sh\none\n```", Tail: len("\n```")},
		{Section: 3, Anchor: "code", Text: "```sh\ntwo\n```", Lead: len("```sh\n"), Glue: "\n"},
		{Section: 5, Anchor: "close one", Text: "## Accounts\n\nOpen one.\n\n### Close one\n\nClose it when it is empty.", Lead: len("## Accounts\n\n")},
	}
	for i := range chunks {
		c := &chunks[i]
		c.ID, c.URL, c.Title, c.Ordinal = fmt.Sprintf("guide/%d", i), record.URL, record.Title, i
		c.Path = []string{"Guide"}
	}
	w, err := store.Begin(t.Context(), docseek.Source{Name: "docs", Start: base + "sitemap.xml"}, model, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Put(t.Context(), record, embed(lexical.New(), chunks, meaning)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []page{one(base+"guide/setup.html", "Set-up", "How to set it up."), one(base+"api/v1/users?x=1", "Users", "All users.")} {
		record, chunks := p.build()
		if err := w.Put(t.Context(), record, embed(lexical.New(), chunks, meaning)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(t.Context(), search.Counts{Pages: 3, Chunks: 8, Embedded: 8}, search.Run{Outcome: search.Published}); err != nil {
		t.Fatal(err)
	}
}

const (
	limits  = "### Limits\n\n| Card | Limit |\n|---|---|\n| Gold | 10 |\n| Blue | 5 |"
	code    = "### Code\n\nRun:\n\n```sh\none\ntwo\n```"
	cards   = "## Cards\n\n" + limits + "\n\n" + code
	account = "## Accounts\n\nOpen one.\n\n" + closing
	closing = "### Close one\n\nClose it when it is empty."
	whole   = "# Guide\n\nWhat there is to know.\n\n" + cards + "\n\n" + account + "\n\n## See also"
)

func guideEngine(t *testing.T) *search.Engine {
	t.Helper()
	store := newMemory(clock)
	guide(t, store)
	return search.NewEngine(store, withModel(concepts{}))
}

func TestRead(t *testing.T) {
	e := guideEngine(t)
	tests := []struct {
		name  string
		query search.ReadQuery
		url   string
		path  []string
		text  string
	}{
		{"page", search.ReadQuery{URL: base + "guide/"}, "guide/", nil, whole},
		{"page of a source", search.ReadQuery{URL: base + "guide/", Source: "docs"}, "guide/", nil, whole},
		{"without slash", search.ReadQuery{URL: base + "guide"}, "guide/", nil, whole},
		{"with index.html", search.ReadQuery{URL: base + "guide/index.html"}, "guide/", nil, whole},
		{"upper-case host", search.ReadQuery{URL: "HTTPS://Docs.Test/guide/"}, "guide/", nil, whole},
		{"without scheme", search.ReadQuery{URL: "docs.test/guide"}, "guide/", nil, whole},
		{"path", search.ReadQuery{URL: "/guide/"}, "guide/", nil, whole},
		{"with a query", search.ReadQuery{URL: base + "guide/?utm_source=x"}, "guide/", nil, whole},
		{"empty fragment", search.ReadQuery{URL: base + "guide/#"}, "guide/", nil, whole},
		{"anchor", search.ReadQuery{URL: base + "guide/#limits"}, "guide/#limits", []string{"Guide", "Cards", "Limits"}, limits},
		{"section and what is below", search.ReadQuery{URL: base + "guide#cards"}, "guide/#cards", []string{"Guide", "Cards"}, cards},
		{"section by title", search.ReadQuery{URL: base + "guide/", Section: "code"}, "guide/#code", []string{"Guide", "Cards", "Code"}, code},
		{"section instead of anchor", search.ReadQuery{URL: base + "guide/#code", Section: "LIMITS"}, "guide/#limits", []string{"Guide", "Cards", "Limits"}, limits},
		{"small section and what is below", search.ReadQuery{URL: base + "guide/#accounts"}, "guide/#accounts", []string{"Guide", "Accounts"}, account},
		{"section behind a small one", search.ReadQuery{URL: base + "guide/#close%20one"}, "guide/#close%20one", []string{"Guide", "Accounts", "Close one"}, closing},
		{"spelled loosely", search.ReadQuery{URL: base + "guide/", Section: "see_also"}, "guide/#see-also", []string{"Guide", "See also"}, "## See also"},
		{"other page", search.ReadQuery{URL: base + "guide/setup"}, "guide/setup.html", nil, "# Set-up\n\nHow to set it up."},
		{"query that counts", search.ReadQuery{URL: base + "api/v1/users?x=1"}, "api/v1/users?x=1", nil, "# Users\n\nAll users."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := e.Read(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != test.text {
				t.Errorf("text\n%s\nwant\n%s", r.Text, test.text)
			}
			if r.URL != base+test.url || !slices.Equal(r.Path, test.path) || r.Truncated || r.NextCursor != "" {
				t.Errorf("url %s, path %q, truncated %v", r.URL, r.Path, r.Truncated)
			}
		})
	}
}

func TestReadOutline(t *testing.T) {
	r, err := guideEngine(t).Read(t.Context(), search.ReadQuery{URL: base + "guide/#cards"})
	if err != nil {
		t.Fatal(err)
	}
	want := []search.SectionLink{{Anchor: "cards", Title: "Cards", Level: 2}, {Anchor: "limits", Title: "Limits", Level: 3}, {Anchor: "code", Title: "Code", Level: 3}}
	if !slices.Equal(r.Sections, want) {
		t.Errorf("sections %+v", r.Sections)
	}
}

func TestReadMisses(t *testing.T) {
	e := guideEngine(t)
	tests := []struct {
		name  string
		query search.ReadQuery
		want  string
	}{
		{"no such page", search.ReadQuery{URL: base + "guide/set-up.html"}, base + "guide/setup.html"},
		{"no such folder", search.ReadQuery{URL: base + "guides/v2/setup"}, base + "guide/setup.html"},
		{"no such section", search.ReadQuery{URL: base + "guide/#limit"}, "limits"},
		{"other site", search.ReadQuery{URL: "https://elsewhere.test/"}, "not in the index"},
		{"no URL", search.ReadQuery{URL: "ht tp://%zz"}, "not in the index"},
		{"empty", search.ReadQuery{}, "empty"},
		{"deep", search.ReadQuery{URL: base + "guide/" + strings.Repeat("a/", 2000)}, base + "guide/setup.html"},
		{"long URL", search.ReadQuery{URL: base + strings.Repeat("a/", 1<<19)}, "longer"},
		{"long section", search.ReadQuery{URL: base + "guide/", Section: strings.Repeat("a", 1<<20)}, "longer"},
		{"no such source", search.ReadQuery{URL: base + "guide/", Source: "wiki"}, "docs"},
		{"foreign cursor", search.ReadQuery{URL: base + "guide/", Cursor: "abcd"}, "cursor"},
	}
	for _, test := range tests {
		_, err := e.Read(t.Context(), test.query)
		var input *search.InputError
		if !errors.As(err, &input) || !strings.Contains(input.Message, test.want) {
			t.Errorf("%s: %v, want a sentence with %q", test.name, err, test.want)
		}
	}
}

func TestReadInParts(t *testing.T) {
	p := page{url: base + "long", title: "Long"}
	words := 0
	for i := range 40 {
		s := section{title: fmt.Sprintf("Part %d", i), anchor: fmt.Sprintf("part-%d", i), level: 2 + i%3}
		for range i % 4 {
			var b strings.Builder
			for range 60 {
				fmt.Fprintf(&b, "word%d ", words)
				if words++; words%11 == 0 {
					b.WriteString("ends.\n\nThen ")
				}
			}
			s.pieces = append(s.pieces, strings.TrimSpace(b.String()))
		}
		p.sections = append(p.sections, s)
	}
	e, store := site(t, p)
	for _, maxChars := range []int{500, 1500, 8000} {
		var text strings.Builder
		q := search.ReadQuery{URL: p.url, MaxChars: maxChars}
		for range 400 {
			r, err := e.Read(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if n := chars(t, r); n > maxChars {
				t.Errorf("max_chars %d: the reading has %d characters", maxChars, n)
			}
			if r.Truncated != (r.NextCursor != "") {
				t.Errorf("truncated %v with cursor %q", r.Truncated, r.NextCursor)
			}
			text.WriteString(" " + r.Text)
			if q.Cursor = r.NextCursor; q.Cursor == "" {
				break
			}
		}
		got := text.String() + " "
		at := 0
		for i := range words {
			w := fmt.Sprintf("word%d ", i)
			next := strings.Index(strings.ReplaceAll(got[at:], "\n", " "), w)
			if next < 0 {
				t.Fatalf("max_chars %d: word %d is missing or out of order", maxChars, i)
			}
			at += next
		}
		if n := strings.Count(got, "word"); n != words {
			t.Errorf("max_chars %d: %d words were read, the page has %d", maxChars, n, words)
		}
		for i := range 40 {
			if n := strings.Count(got+"\n", fmt.Sprintf("# Part %d\n", i)); n != 1 {
				t.Errorf("max_chars %d: heading %d stands there %d times", maxChars, i, n)
			}
		}
	}

	r, err := e.Read(t.Context(), search.ReadQuery{URL: p.url, MaxChars: 500})
	if err != nil {
		t.Fatal(err)
	}
	store.forget()
	if _, err := e.Read(t.Context(), search.ReadQuery{URL: p.url, MaxChars: 500, Cursor: r.NextCursor}); err != nil {
		t.Errorf("the present state was forgotten: %v", err)
	}
	fill(t, store, "docs", meaning, p)
	store.forget()
	_, err = e.Read(t.Context(), search.ReadQuery{URL: p.url, MaxChars: 500, Cursor: r.NextCursor})
	if input := (*search.InputError)(nil); !errors.As(err, &input) {
		t.Errorf("the state is gone, but the cursor gave %v", err)
	}
}

func TestReadCutsFencesAndTablesCleanly(t *testing.T) {
	var fence, table strings.Builder
	fence.WriteString("```go\n")
	table.WriteString("| Name | Text |\n|---|---|\n")
	for i := range 60 {
		fmt.Fprintf(&fence, "line(%d)\n", i)
		fmt.Fprintf(&table, "| row%d | x |\n", i)
	}
	fence.WriteString("```")
	e, _ := site(t, one(base+"fence", "Fence", fence.String()), one(base+"table", "Table", table.String()))
	for _, name := range []string{"fence", "table"} {
		q := search.ReadQuery{URL: base + name, MaxChars: 600}
		parts, rows := 0, 0
		for range 30 {
			r, err := e.Read(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			parts++
			rows += strings.Count(r.Text, "line(") + strings.Count(r.Text, "| row")
			if strings.Count(r.Text, "```")%2 != 0 {
				t.Errorf("a fence is left open:\n%s", r.Text)
			}
			if name == "table" && strings.Count(r.Text, "|---|---|") != 1 {
				t.Errorf("a table without its header:\n%s", r.Text)
			}
			if q.Cursor = r.NextCursor; q.Cursor == "" {
				break
			}
		}
		if rows != 60 || parts < 2 {
			t.Errorf("%s: %d rows in %d parts", name, rows, parts)
		}
	}
}
