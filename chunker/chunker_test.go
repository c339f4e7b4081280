package chunker_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/embed/builtin"
)

// words counts as WordPiece's basic tokenizer divides a text, a token for each
// started six letters of a word.
type words struct{}

func (words) Count(text string) int {
	n, run := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			run = 0
		case unicode.IsPunct(r) || unicode.Is(unicode.Han, r) || r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			n++
			run = 0
		default:
			if run%6 == 0 {
				n++
			}
			run++
		}
	}
	return n
}

func doc(markdown ...string) docseek.Document {
	d := docseek.Document{URL: "https://docs.example.com/guide", Title: "Guide"}
	for i, md := range markdown {
		d.Sections = append(d.Sections, docseek.Section{
			Title: fmt.Sprintf("Part %d", i), Anchor: fmt.Sprintf("part-%d", i), Level: 2,
			Path: []string{"Guide", fmt.Sprintf("Part %d", i)}, Markdown: md,
		})
	}
	return d
}

// wordPiece is the tokenizer that sizes are counted with in earnest.
func wordPiece(tb testing.TB) chunker.Counter {
	tb.Helper()
	model, err := builtin.New(builtin.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return model.Tokenizer()
}

func split(t *testing.T, d docseek.Document) ([]docseek.Chunk, []docseek.Heading) {
	t.Helper()
	chunks := check(t, wordPiece(t), d)
	for _, c := range chunks {
		checkFences(t, c)
	}
	again, outline := chunker.New(wordPiece(t)).Split(d)
	if !reflect.DeepEqual(again, chunks) {
		t.Fatal("two chunkers differ")
	}
	return chunks, outline
}

func texts(chunks []docseek.Chunk) []string {
	var all []string
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return all
}

func TestFences(t *testing.T) {
	var long strings.Builder
	for i := range 900 {
		fmt.Fprintf(&long, "line_%d = compute(%d)\n", i, i)
		if i%7 == 6 {
			long.WriteString("\n")
		}
	}
	md := "Before.\n\n````markdown title=\"a.md\"\n```go\nfunc main() {}\n```\n" + long.String() + "````\n\n" +
		"- Outer\n  - Inner:\n\n    ```yaml\n" + indented(long.String(), "    ") + "    ```\n\n" +
		"~~~\n```\n" + long.String() + "~~~\n\n" +
		"> ```sh\n" + indented(long.String(), "> ") + "> ```\n"
	chunks, _ := split(t, doc(md))

	openings := map[string]int{"````markdown title=\"a.md\"\n": 0, "- - ```yaml\n": 0, "~~~\n": 0, "> ```sh\n": 0}
	for _, c := range chunks {
		if c.Lead > 0 {
			if _, ok := openings[c.Text[:c.Lead]]; !ok {
				t.Errorf("chunk %d opens with %q", c.Ordinal, c.Text[:c.Lead])
			}
			openings[c.Text[:c.Lead]]++
		}
	}
	for opening, n := range openings {
		if n == 0 {
			t.Errorf("no chunk opens with %q", opening)
		}
	}
}

func indented(s, prefix string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+prefix) + "\n"
}

func TestFenceIsCutAtBlankLines(t *testing.T) {
	group := "first := call(alpha, beta)\nsecond := call(first, gamma)\nthird := call(second, delta)\n"
	chunks, _ := split(t, doc("```go\n"+strings.Repeat(group+"\n", 12)+"done()\n```"))
	if len(chunks) < 2 {
		t.Fatalf("%d chunks, want several", len(chunks))
	}
	for _, c := range chunks[1:] {
		if c.Glue != "\n\n" || !strings.HasPrefix(c.Text, "```go\nfirst") {
			t.Errorf("chunk %d is cut at %q, begins with %.20q", c.Ordinal, c.Glue, c.Text)
		}
	}
}

func TestRulersAreNotContainers(t *testing.T) {
	row := strings.Repeat("-", 40) + "+" + strings.Repeat("-", 40) + "\n 1.5 | >>> \n"
	chunks, _ := split(t, doc("```\n"+strings.Repeat(row, 100)+"```"))
	if len(chunks) < 2 {
		t.Fatalf("%d chunks, want several", len(chunks))
	}
	for _, c := range chunks {
		if !strings.HasPrefix(c.Text, "```\n") || !strings.HasSuffix(c.Text, "\n```") {
			t.Errorf("chunk %d is not a fence: %q", c.Ordinal, c.Text)
		}
	}
}

func TestOpenFenceIsClosed(t *testing.T) {
	chunks, _ := split(t, doc("~~~~py\nx = 1"))
	if len(chunks) != 1 || chunks[0].Text != "~~~~py\nx = 1\n~~~~" || chunks[0].Body() != "~~~~py\nx = 1" {
		t.Errorf("chunks are %q", texts(chunks))
	}
}

func TestFenceThatItsQuoteEnds(t *testing.T) {
	code := strings.Repeat("value = compute(value, 3)\n", 60)
	chunks := check(t, wordPiece(t), doc("> ```\n"+indented(code, "> ")+"```\n"+code+"```"))
	quoted, plain := 0, 0
	for _, c := range chunks {
		checkEnd(t, c)
		switch c.Text[:c.Lead] {
		case "> ```\n":
			quoted++
		case "```\n":
			plain++
		}
	}
	if quoted == 0 || plain == 0 {
		t.Errorf("%d chunks go on in the quote and %d behind it: %q", quoted, plain, texts(chunks))
	}
}

func TestCommentsInCodeAreNotHeadings(t *testing.T) {
	d := doc("```bash\n# Install\nmake\n\n## Build\nmake build\n```")
	chunks, outline := split(t, d)
	if len(chunks) != 1 || len(outline) != 1 || chunks[0].Context != "Guide > Part 0" {
		t.Errorf("chunks %q, outline %+v", texts(chunks), outline)
	}
}

func TestTable(t *testing.T) {
	// As extraction yields it: a header of two rows flattened, spans expanded.
	header := "| Region | Limit / soft | Limit / hard | Key |\n| --- | ---: | ---: | --- |\n"
	var md strings.Builder
	md.WriteString("The limits:\n\n" + header)
	rows := make([]string, 500)
	for i := range rows {
		rows[i] = fmt.Sprintf("| region-%d | 1%03d | 2%03d | `key-%d` |", i/10, i, i, i)
		md.WriteString(rows[i] + "\n")
	}
	chunks, _ := split(t, doc(md.String()))
	seen := 0
	for i, c := range chunks {
		if !strings.Contains(c.Text, header) {
			t.Fatalf("chunk %d has no header:\n%s", i, c.Text)
		}
		if i > 0 && !strings.HasPrefix(c.Text, header) {
			t.Fatalf("chunk %d does not begin with the header:\n%s", i, c.Text)
		}
		for line := range strings.Lines(c.Body()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "| region-") {
				if line != rows[seen] {
					t.Fatalf("row %d is %q", seen, line)
				}
				seen++
			}
		}
	}
	if seen != len(rows) {
		t.Errorf("%d rows, want %d", seen, len(rows))
	}
}

func TestRowOverTheBudgetIsCutInItsCells(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("The option sets how long a session lives. ", 60))
	header := "| Option | Meaning | Default |\n|---|---|---|\n"
	chunks, _ := split(t, doc(header+"| `ttl` | "+long+" | 30 s |\n| `max` | Most sessions. | 10 |"))
	if len(chunks) < 3 {
		t.Fatalf("%d chunks, want at least 3", len(chunks))
	}
	for i, c := range chunks {
		if !strings.HasPrefix(c.Text, header) {
			t.Errorf("chunk %d begins with %.60q", i, c.Text)
		}
		if i > 0 && c.Text[len(header):c.Lead] != "| | " {
			t.Errorf("chunk %d goes on with %q", i, c.Text[len(header):c.Lead])
		}
		for row := range strings.Lines(c.Text) {
			if row = strings.TrimSpace(row); !strings.HasSuffix(row, "|") {
				t.Errorf("chunk %d has the row %q", i, row)
			}
		}
	}
}

func TestIdeographsAndBlobs(t *testing.T) {
	sentence := "これは長い文書の一つの文である。"
	d := doc(
		strings.Repeat(sentence, 3000/16),
		"See https://example.com/"+strings.Repeat("0123456789abcdef", 250)+" for more.",
	)
	chunks, _ := split(t, d)
	for _, c := range chunks {
		if c.Section == 0 && !strings.HasSuffix(c.Text, "。") {
			t.Errorf("chunk %d is cut within a sentence: …%q", c.Ordinal, c.Text[len(c.Text)-20:])
		}
	}
}

func TestLinksAreNotCut(t *testing.T) {
	const link = "[a guide to the limits. It has all of them](https://docs.example.com/guide#limits \"All limits.\")"
	tests := map[string]string{
		"words":      strings.Repeat("see "+link+" and ", 200),
		"sentences":  strings.Repeat("This is in "+link+". ", 200),
		"one word":   strings.Repeat(link, 200),
		"ideographs": strings.Repeat("詳細は[設定。一覧](https://docs.example.com/settings)を参照。", 200),
		"row":        "| A | B |\n|---|---|\n| " + strings.Repeat(link+" ", 200) + "| c |",
		"lines":      strings.Repeat("as told in "+strings.ReplaceAll(link, " It", "\nIt")+" and\n", 200),
		"images":     strings.Repeat("![a chart. It is old](https://docs.example.com/chart.png) in a text ", 200),
	}
	for name, md := range tests {
		t.Run(name, func(t *testing.T) {
			chunks, _ := split(t, doc(md))
			links := 0
			for _, c := range chunks {
				_, hidden := docseek.Inlines(c.Text)
				n := len(hidden) / 2
				links += n
				if n != strings.Count(c.Text, "](") {
					t.Errorf("a link of chunk %d is cut: %q", c.Ordinal, c.Text)
				}
			}
			if links != 200 || len(chunks) < 5 {
				t.Errorf("%d links in %d chunks, want 200 in several", links, len(chunks))
			}
		})
	}
}

func TestDestinationsAreNotCounted(t *testing.T) {
	tokenizer := wordPiece(t)
	link := "And the [guide](https://docs.example.com/guides/7f3c?a=b&c=d#e-1.4) says how to do it. "
	linked, _ := split(t, doc(strings.TrimSpace(strings.Repeat(link, 150))))
	plain, _ := split(t, doc(strings.TrimSpace(strings.Repeat(docseek.Visible(link), 150))))
	if len(linked) != len(plain) {
		t.Fatalf("%d chunks, want the %d that the same text without links has", len(linked), len(plain))
	}
	for i := range linked {
		if linked[i].Embedded() != plain[i].Embedded() || tokenizer.Count(linked[i].Text) < 400 {
			t.Errorf("chunk %d embeds %q, want %q", i, linked[i].Embedded(), plain[i].Embedded())
		}
	}
}

func TestLongDestinationsAreBounded(t *testing.T) {
	link := "[guide](https://docs.example.com/" + strings.Repeat("long/", 100) + ") "
	chunks, _ := split(t, doc(strings.TrimSpace(strings.Repeat(link, 100))))
	for _, c := range chunks {
		if len(c.Text) > 256*16 {
			t.Errorf("chunk %d has %d bytes", c.Ordinal, len(c.Text))
		}
	}
}

func TestLinkOverTheBudgetIsText(t *testing.T) {
	text := strings.Repeat("Every request carries a token. ", 100)
	chunks, _ := split(t, doc("Before. ["+text+"![An image](/i.png)](https://docs.example.com/) After [it](/a)."))
	if len(chunks) < 3 || !strings.HasSuffix(chunks[len(chunks)-1].Embedded(), "](https://docs.example.com/) After it.") {
		t.Errorf("chunks are %q", texts(chunks))
	}
}

// TestCutCodeSpan has a code span over the budget, a piece of which opens
// another one that hides a link from the scanner.
func TestCutCodeSpan(t *testing.T) {
	link := "[a](https://docs.example.com/reference/guides/7f3c91d2a4/index.html?view=all&lang=en#section-12.4). "
	for n := range 12 {
		split(t, doc("`"+strings.Repeat("Is code. ", 90+n)+"` "+strings.Repeat(link+"`end` ", 40)))
	}
}

func TestCaptionStaysWithItsTable(t *testing.T) {
	paragraph := strings.TrimSpace(strings.Repeat("Every request carries a token. ", 30)) // 180 tokens
	table := "| Code | Meaning |\n|---|---|\n" + strings.Repeat("| `E1` | The request was malformed. |\n", 9)
	for _, caption := range []string{"**Table 3. Codes**", "These are the codes:"} {
		chunks, _ := split(t, doc(paragraph+"\n\n"+caption+"\n\n"+table))
		if len(chunks) != 2 || !strings.HasPrefix(chunks[1].Text, caption) {
			t.Errorf("chunks are %q", texts(chunks))
		}
	}
}

// squares counts more tokens for a word than for its parts together.
type squares struct{}

func (squares) Count(text string) int {
	n := 0
	for word := range strings.FieldsSeq(text) {
		n += (len(word)*len(word) + 63) / 64
	}
	return n
}

func TestPartsOfAWordAreNotJoined(t *testing.T) {
	for n := 90; n < 4000; n += 60 {
		check(t, squares{}, doc("before "+strings.Repeat("x", n)+" after"))
	}
}

func TestSentencesAreKeptWhole(t *testing.T) {
	var md strings.Builder
	for i := range 60 {
		fmt.Fprintf(&md, "Sentence %d names e.g. version 1.%d of the U.S. edition (see below). ", i, i)
	}
	chunks, _ := split(t, doc(strings.TrimSpace(md.String())))
	for _, c := range chunks {
		if !strings.HasPrefix(c.Text, "Sentence ") || !strings.HasSuffix(c.Text, "(see below).") {
			t.Errorf("chunk %d is %q", c.Ordinal, c.Text)
		}
	}
}

func TestChunksAreEven(t *testing.T) {
	tokenizer := wordPiece(t)
	paragraph := strings.TrimSpace(strings.Repeat("Every request carries a token. ", 10)) // 60 tokens
	for n := 5; n <= 30; n++ {
		chunks, _ := split(t, doc(strings.TrimSpace(strings.Repeat(paragraph+"\n\n", n))))
		least, most := 256, 0
		for _, c := range chunks {
			size := tokenizer.Count(c.Text)
			least, most = min(least, size), max(most, size)
		}
		if want := (n + 3) / 4; len(chunks) != want {
			t.Errorf("%d paragraphs give %d chunks, want %d", n, len(chunks), want)
		}
		// Four paragraphs fill a chunk, so only a remainder of one or two cannot be shared out.
		if most-least > 70 && n > 6 {
			t.Errorf("%d paragraphs give chunks of %d to %d tokens", n, least, most)
		}
	}
}

func TestLittleIsNotLeftOver(t *testing.T) {
	tokenizer := wordPiece(t)
	paragraph := strings.TrimSpace(strings.Repeat("Every request carries a token. ", 41)) // 246 tokens
	chunks, _ := split(t, doc(paragraph+"\n\nSee also the limits."))
	if len(chunks) != 2 {
		t.Fatalf("%d chunks, want 2", len(chunks))
	}
	if n := tokenizer.Count(chunks[1].Text); n < 60 {
		t.Errorf("the last chunk has %d tokens", n)
	}
}

func TestExamplesUnderDifferentParents(t *testing.T) {
	d := docseek.Document{URL: "https://docs.example.com/p", Title: "Page"}
	for i := range 20 {
		parent := fmt.Sprintf("Method %d", i)
		d.Sections = append(d.Sections,
			docseek.Section{Title: parent, Level: 2, Anchor: fmt.Sprintf("m%d", i), Path: []string{"Page", parent}},
			docseek.Section{Title: "Example", Level: 3, Path: []string{"Page", parent, "Example"}, Markdown: "The same text under each."},
		)
	}
	before, outline := split(t, d)
	if len(before) != 20 || len(outline) != 40 {
		t.Fatalf("%d chunks and %d headings, want 20 and 40", len(before), len(outline))
	}
	for i, h := range outline {
		if h.Chunk != i/2 || h.Offset != 0 {
			t.Errorf("heading %d points at chunk %d offset %d", i, h.Chunk, h.Offset)
		}
	}
	d.Sections[7].Markdown = "Another text."
	after, _ := split(t, d)
	for i := range before {
		if changed := before[i].ID != after[i].ID; changed != (i == 3) {
			t.Errorf("id of chunk %d changed: %t", i, changed)
		}
	}
}

func TestEqualSectionsHaveDifferentIDs(t *testing.T) {
	s := docseek.Section{Title: "Note", Level: 2, Path: []string{"P", "Note"}, Entry: true, Markdown: "Equal."}
	split(t, docseek.Document{URL: "https://docs.example.com/p", Title: "P", Sections: []docseek.Section{s, s, s}})
}

func TestSectionThatGoesOn(t *testing.T) {
	around := docseek.Section{Title: "Constants", Level: 2, Anchor: "constants", Path: []string{"P", "Constants"}, Markdown: "Before the entries."}
	entry := docseek.Section{Title: "MAX", Level: 3, Anchor: "max", Path: []string{"P", "Constants", "MAX"}, Entry: true, Markdown: "The most there can be."}
	after := around
	after.Markdown = "After the entries."
	chunks, outline := chunker.New(words{}).Split(docseek.Document{URL: "https://docs.example.com/p", Title: "P", Sections: []docseek.Section{around, entry, after}})
	if len(chunks) != 3 || chunks[2].Anchor != "constants" {
		t.Errorf("chunks are %q", texts(chunks))
	}
	want := []docseek.Heading{{Title: "Constants", Anchor: "constants", Level: 2, Chunk: 0}, {Title: "MAX", Anchor: "max", Level: 3, Chunk: 1}}
	if !reflect.DeepEqual(outline, want) {
		t.Errorf("outline is %+v, want %+v", outline, want)
	}
}

func TestTinySections(t *testing.T) {
	long := strings.Repeat("A paragraph that is worth a chunk by itself. ", 6)
	section := func(level int, title, md string) docseek.Section {
		path := []string{"A", title}
		if level == 1 {
			path = path[1:]
		}
		return docseek.Section{Title: title, Level: level, Anchor: strings.ToLower(title), Path: path, Markdown: md}
	}
	name := func(anchor, md string) docseek.Section {
		return docseek.Section{Title: "A", Level: 2, Anchor: anchor, Path: []string{"P", "A"}, Markdown: md}
	}
	entry := section(2, "E", "Short, but an entry.")
	entry.Entry = true
	other := entry
	other.Anchor = "f"
	tests := []struct {
		name     string
		sections []docseek.Section
		want     []string
		chunks   []int // of the headings
	}{
		{"with the one below", []docseek.Section{section(1, "A", "Intro."), section(2, "B", "Text.")}, []string{"Intro.\n\n## B\n\nText."}, []int{0, 0}},
		{"with a long one below", []docseek.Section{section(1, "A", "Intro."), section(2, "B", long)}, []string{"Intro.\n\n## B\n\n" + long}, []int{0, 0}},
		{"with ones beside of more text", []docseek.Section{section(2, "B", "One."), section(2, "C", "Two and a half."), section(2, "D", "Three and a half.")}, []string{"## B\n\nOne.\n\n## C\n\nTwo and a half.\n\n## D\n\nThree and a half."}, []int{0, 0, 0}},
		{"with ones beside as short", []docseek.Section{section(2, "A", "One."), section(2, "B", "Two."), section(2, "C", "Three.")}, []string{"One.\n\n## B\n\nTwo.\n\n## C\n\nThree."}, []int{0, 0, 0}},
		{"not with a long one beside", []docseek.Section{section(2, "A", "One."), section(2, "B", long)}, []string{"One.", long}, []int{0, 1}},
		{"not with one above", []docseek.Section{section(2, "A", "One."), section(1, "B", "Two.")}, []string{"One.", "Two."}, []int{0, 1}},
		{"not an entry", []docseek.Section{entry, section(2, "B", "Two."), other}, []string{entry.Markdown, "Two.", entry.Markdown}, []int{0, 1, 2}},
		{"not a heading named after code", []docseek.Section{name("pkg.A", "One."), name("pkg.B", "Two.")}, []string{"One.", "Two."}, []int{0, 1}},
		{"not behind an open fence", []docseek.Section{section(1, "A", "```\nx"), section(2, "B", "Two.")}, []string{"```\nx\n```", "Two."}, []int{0, 1}},
		{"not over the budget", []docseek.Section{section(1, "A", "One."), section(2, "B", strings.Repeat(long, 5))}, nil, []int{0, 1}},
		{"empty ones", []docseek.Section{section(1, "A", " \n"), section(2, "B", long), section(2, "C", "")}, []string{long}, []int{0, 0, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			chunks, outline := split(t, docseek.Document{URL: "https://docs.example.com/p", Title: "P", Sections: test.sections})
			if test.want != nil && !reflect.DeepEqual(texts(chunks), test.want) {
				t.Errorf("texts are %q, want %q", texts(chunks), test.want)
			}
			for i, h := range outline {
				if h.Chunk != test.chunks[i] {
					t.Errorf("%s is in chunk %d, want %d", h.Title, h.Chunk, test.chunks[i])
				}
				if h.Offset > 0 && !strings.HasPrefix(chunks[h.Chunk].Body()[h.Offset:], "## "+h.Title+"\n") {
					t.Errorf("%s is at offset %d of %q", h.Title, h.Offset, chunks[h.Chunk].Body())
				}
			}
		})
	}
}

func TestContext(t *testing.T) {
	tokenizer := wordPiece(t)
	long := strings.TrimSpace(strings.Repeat("many words of a heading ", 40))
	tests := []struct {
		name, title string
		path        []string
		want        string
	}{
		{"title and path", "Cards", []string{"Limits", "Daily"}, "Cards > Limits > Daily"},
		{"title repeated", "Cards", []string{"Cards", "Limits"}, "Cards > Limits"},
		{"no title", "", []string{"Limits"}, "Limits"},
		{"no path", "Cards", nil, "Cards"},
		{"nothing", "", nil, ""},
		{"line breaks", "Cards\n and\tmore", []string{"  Limits "}, "Cards and more > Limits"},
		{"outer headings go first", "Cards", []string{"Outer", long, "Inner", "Innermost"}, "Cards > Inner > Innermost"},
		{"a long heading", "Cards", []string{long}, "Cards > many words of a heading many words of a heading many words of a heading many words of a heading many words of a heading many words of a heading many words of a heading many words of…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := docseek.Document{Title: test.title, Sections: []docseek.Section{{Title: "x", Path: test.path, Markdown: "Text."}}}
			chunks, _ := split(t, d)
			if got := chunks[0].Context; got != test.want {
				t.Errorf("context is %q, want %q", got, test.want)
			}
		})
	}
	for _, title := range []string{long, strings.Repeat("x", 5000), strings.Repeat("漢字", 500), strings.Repeat("👩‍👩‍👧‍👦", 500)} {
		d := docseek.Document{Title: title, Sections: []docseek.Section{{Title: "x", Path: []string{title + "1", title + "2"}, Markdown: "Text."}}}
		chunks, _ := split(t, d)
		if n := tokenizer.Count(chunks[0].Context); n > 84 || chunks[0].Context == "" {
			t.Errorf("the context of %.20q has %d tokens", title, n)
		}
	}
}

func TestReferencePage(t *testing.T) {
	d := reference(3000)
	chunks, _ := split(t, d)
	if len(chunks) != len(d.Sections) {
		t.Fatalf("%d chunks, want one for each of %d entries", len(chunks), len(d.Sections))
	}
	for i, c := range chunks {
		if c.Anchor != d.Sections[i].Anchor {
			t.Fatalf("chunk %d has the anchor %q", i, c.Anchor)
		}
	}
}

func TestPageWithTooManyChunks(t *testing.T) {
	d := reference(chunker.MaxChunks + 10)
	chunks, outline := chunker.New(words{}).Split(d)
	if len(chunks) != chunker.MaxChunks || len(outline) != len(d.Sections) {
		t.Fatalf("%d chunks and %d headings", len(chunks), len(outline))
	}
	if last := outline[len(outline)-1]; last.Chunk != chunker.MaxChunks {
		t.Errorf("the last heading points at chunk %d", last.Chunk)
	}
}
