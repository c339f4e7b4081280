package chunker_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
)

// check proves what holds for the chunks of any document.
func check(tb testing.TB, counter chunker.Counter, d docseek.Document) []docseek.Chunk {
	tb.Helper()
	c := chunker.New(counter)
	chunks, outline := c.Split(d)

	ids := make(map[string]bool)
	for i, c := range chunks {
		if c.Ordinal != i {
			tb.Fatalf("chunk %d has ordinal %d", i, c.Ordinal)
		}
		if ids[c.ID] || len(c.ID) != 32 {
			tb.Fatalf("chunk %d has id %q, which is taken or malformed", i, c.ID)
		}
		ids[c.ID] = true
		if n := counter.Count(c.Embedded()) + 2; n > 256 {
			tb.Fatalf("chunk %d has %d tokens: %q", i, n, c.Embedded())
		}
		if strings.TrimSpace(c.Body()) == "" {
			tb.Fatalf("chunk %d has an empty body: %q", i, c.Text)
		}
		if s := d.Sections[c.Section]; c.Anchor != s.Anchor || !reflect.DeepEqual(c.Path, s.Path) {
			tb.Fatalf("chunk %d stands under %q %v, its section under %q %v", i, c.Anchor, c.Path, s.Anchor, s.Path)
		}
	}

	// Every titled section is in the outline; what is not joined to the one
	// before it begins a chunk.
	next, entry := 0, 0
	for i := 0; i < len(d.Sections); {
		want := d.Sections[i].Markdown
		if d.Sections[i].Title != "" {
			h := outline[entry]
			if h.Title != d.Sections[i].Title || h.Anchor != d.Sections[i].Anchor || h.Chunk != next || h.Offset != 0 {
				tb.Fatalf("outline entry %d is %+v, want %q at chunk %d", entry, h, d.Sections[i].Title, next)
			}
			entry++
		}
		section, main, most := i, i, visibleTokens(counter, d.Sections[i])
		i++
		if strings.TrimSpace(want) == "" {
			continue
		}
		for ; entry < len(outline) && outline[entry].Offset > 0; entry++ {
			if outline[entry].Chunk != next || outline[entry].Offset != len(want)+2 {
				tb.Fatalf("outline entry %d is %+v, want chunk %d offset %d", entry, outline[entry], next, len(want)+2)
			}
			s := d.Sections[i]
			if n := visibleTokens(counter, s); n > most {
				main, most = i, n
			}
			want += "\n\n" + strings.Repeat("#", s.Level) + " " + s.Title + "\n\n" + s.Markdown
			i++
		}
		var got strings.Builder
		var cuts []int
		for first := next; next < len(chunks) && chunks[next].Section == main; next++ {
			if next == first {
				checkFirst(tb, chunks[next], d.Sections[section], main > section)
			}
			cuts = append(cuts, got.Len())
			got.WriteString(chunks[next].Glue)
			cuts = append(cuts, got.Len())
			got.WriteString(chunks[next].Body())
		}
		if got.String() != want {
			tb.Fatalf("section %d comes back as\n%q\nwant\n%q", section, got.String(), want)
		}
		checkClusters(tb, want, cuts)
	}
	if next != len(chunks) || entry != len(outline) {
		tb.Fatalf("%d of %d chunks and %d of %d outline entries belong to a section", next, len(chunks), entry, len(outline))
	}

	again, outlineAgain := c.Split(d)
	if !reflect.DeepEqual(again, chunks) || !reflect.DeepEqual(outlineAgain, outline) {
		tb.Fatal("a second split differs")
	}
	return chunks
}

func visibleTokens(counter chunker.Counter, s docseek.Section) int {
	return counter.Count(docseek.Visible(s.Markdown))
}

// checkFirst proves that a chunk names the section that begins in it, also where
// it stands under another one.
func checkFirst(tb testing.TB, c docseek.Chunk, s docseek.Section, under bool) {
	tb.Helper()
	lead := ""
	if under && s.Title != "" && !slices.Contains(c.Path, s.Title) {
		lead = strings.Repeat("#", s.Level) + " " + s.Title + "\n\n"
	}
	if c.Glue != "" || c.Text[:c.Lead] != lead {
		tb.Fatalf("the first chunk of section %q has the glue %q and the lead %q", s.Title, c.Glue, c.Text[:c.Lead])
	}
}

// checkClusters proves that no cut is within a grapheme cluster.
func checkClusters(tb testing.TB, s string, cuts []int) {
	tb.Helper()
	state, at := -1, 0
	for rest := s; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		end := at + len(cluster)
		for len(cuts) > 0 && cuts[0] < end {
			if cuts[0] > at {
				tb.Fatalf("a cut divides the grapheme cluster %q", cluster)
			}
			cuts = cuts[1:]
		}
		at = end
	}
}

// checkFences proves that a fence that a chunk opens is closed in it by its own
// marks, and that what follows is not in it.
func checkFences(tb testing.TB, c docseek.Chunk) {
	tb.Helper()
	checkEnd(tb, c)
	source := []byte(c.Text)
	visitBlocks(source, func(n ast.Node) {
		f, ok := n.(*ast.FencedCodeBlock)
		if !ok {
			return
		}
		end := f.Pos() + strings.IndexByte(c.Text[f.Pos():], '\n') + 1
		if k := f.Lines().Len(); k > 0 {
			end = f.Lines().At(k - 1).Stop
		}
		_, hidden := docseek.Inlines(c.Text)
		for _, h := range hidden {
			if h.Start < end && h.End > f.Pos() {
				tb.Fatalf("%q of the code of chunk %d is hidden:\n%s", c.Text[h.Start:h.End], c.Ordinal, c.Text)
			}
		}
		line, _, _ := strings.Cut(c.Text[end:], "\n")
		if line = strings.TrimLeft(line, " \t>"); !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
			tb.Fatalf("a fence is not closed by its marks in chunk %d:\n%s", c.Ordinal, c.Text)
		}
	})
}

// checkEnd proves that what follows a chunk is not in a fence of it.
func checkEnd(tb testing.TB, c docseek.Chunk) {
	tb.Helper()
	source := []byte(c.Text + "\n\nSENTINEL\n")
	found := false
	visitBlocks(source, func(n ast.Node) {
		if n.Kind() == ast.KindParagraph && n.Lines().Len() > 0 {
			found = found || string(n.Lines().Value(source)) == "SENTINEL"
		}
	})
	if !found {
		tb.Fatalf("a fence is left open in chunk %d:\n%s", c.Ordinal, c.Text)
	}
}

func visitBlocks(source []byte, visit func(ast.Node)) {
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

// author writes random documents.
type author struct{ *rand.Rand }

func (a author) pick(choices ...string) string { return choices[a.IntN(len(choices))] }

func (a author) word() string {
	switch a.IntN(24) {
	case 0:
		return strings.Repeat(a.pick("👩‍👩‍👧‍👦", "e\u0301\u0323", "🇩🇪", "각", "ก็", "नमस्ते"), 1+a.IntN(40))
	case 1:
		return strings.Repeat(a.pick("日本", "語。", "語。\u3099", "仮名、", "「引用」"), 1+a.IntN(120))
	case 2:
		return strings.Repeat(a.pick("0a1b2c3d", "https://x.y/?q=1&", "\u200b", "ab\u200d"), 1+a.IntN(200))
	case 3:
		link := "[" + a.pick("a link", "the `code` of it", "it**em**", "語。", "A stop. Then", "![an image](https://docs.example.com/i.png)") +
			"](https://docs.example.com/" + a.pick("x", "deep/path/to/a/page#anchor") + a.pick("", " \"a title\"") + ")"
		return strings.Repeat(link, 1+a.IntN(1+a.IntN(20)))
	case 4:
		return a.pick("`code`", "`code", "[", "](", "](https://docs.example.com/y)", "**bold**", "e.g.", "3.14", "\\|", "U.S.", "\u0301mark", "\u00a0", "<br>", "*", "-", "#", ">")
	default:
		return a.pick("the", "server", "answers", "a", "request", "configuration", "of", "Tokens", "expire", "internationalisation")
	}
}

func (a author) prose(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(a.word())
		if i+1 < n {
			b.WriteString(a.pick(" ", " ", " ", " ", " ", ". ", ", ", "! ", ": ", "  \n"))
		}
	}
	return b.String() + a.pick(".", ":", "")
}

func (a author) code(lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString(a.pick(
			"# Install\n", "## Build\n", "\n", "\n\n", "if x {\n", "\treturn f(a, b)\n", "        deep()\n", "| a | b |\n", "call[i](x)\n",
			"- item\n", "> quote\n", "``\n", strings.Repeat("minified(1);", 1+a.IntN(150))+"\n",
		))
	}
	return b.String()
}

func (a author) fenced(lines int) string {
	marks := a.pick("```", "~~~", "````", "~~~~~", "```````")
	inner := a.code(lines)
	if len(marks) > 3 {
		inner += marks[:3] + "\ninner()\n" + marks[:3] + "\n" + a.code(2)
	}
	return marks + a.pick("", "go", "bash title=\"a.sh\"", "python {1,3}") + "\n" + inner + marks
}

func (a author) table(rows int) string {
	columns := 1 + a.IntN(5)
	var b strings.Builder
	row := func(words int) {
		b.WriteString("|")
		for range columns {
			b.WriteString(" " + strings.ReplaceAll(strings.ReplaceAll(a.prose(1+a.IntN(words)), "\n", " "), "|", "") + " |")
		}
		b.WriteString("\n")
	}
	row(3)
	b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
	for range rows {
		row(1 + a.IntN(a.IntN(60)+1))
	}
	return strings.TrimRight(b.String(), "\n")
}

func prefixed(s, first, rest string) string {
	return first + strings.ReplaceAll(s, "\n", "\n"+rest)
}

func (a author) block(depth int) string {
	switch a.IntN(8) {
	case 0:
		return a.fenced(a.IntN(60))
	case 1:
		return a.table(a.IntN(30))
	case 2, 3:
		if depth == 0 {
			return a.prose(5)
		}
		var items []string
		mark := a.pick("- ", "* ", "1. ", "10) ", "-   ")
		for range 1 + a.IntN(8) {
			item := a.prose(1 + a.IntN(20))
			if a.IntN(3) == 0 {
				item += "\n\n" + a.block(depth-1)
			} else if a.IntN(6) == 0 {
				item = a.fenced(a.IntN(20))
			}
			items = append(items, prefixed(item, mark, strings.Repeat(" ", len(mark))))
		}
		return strings.Join(items, a.pick("\n", "\n\n"))
	case 4:
		if depth == 0 {
			return a.prose(5)
		}
		return prefixed(a.block(depth-1), "> ", "> ")
	default:
		return a.prose(1 + a.IntN(150))
	}
}

func (a author) document() docseek.Document {
	d := docseek.Document{URL: "https://docs.example.com/p", Title: a.prose(1 + a.IntN(6))}
	if a.IntN(10) == 0 {
		d.Title = a.prose(200)
	}
	var path []string
	for i := range 1 + a.IntN(8) {
		level := min(1+a.IntN(6), len(path)+1)
		title := strings.Join(strings.Fields(a.prose(1+a.IntN(5))), " ")
		if a.IntN(20) == 0 {
			title = strings.Join(strings.Fields(a.prose(150)), " ")
		}
		path = append(path[:level-1:level-1], title)
		s := docseek.Section{Title: title, Level: level, Path: path, Entry: a.IntN(5) == 0}
		if a.IntN(4) > 0 {
			s.Anchor = fmt.Sprintf("s%d", i)
		}
		var blocks []string
		for range a.IntN(5) {
			blocks = append(blocks, a.block(3))
		}
		if a.IntN(3) == 0 {
			blocks = []string{a.prose(1 + a.IntN(6))}
		}
		s.Markdown = strings.Join(blocks, "\n\n")
		d.Sections = append(d.Sections, s)
	}
	return d
}

func TestRandomDocuments(t *testing.T) {
	for name, counter := range map[string]chunker.Counter{"words": words{}, "WordPiece": wordPiece(t)} {
		for seed := range uint64(25) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				a := author{rand.New(rand.NewPCG(seed, 1))}
				for _, c := range check(t, counter, a.document()) {
					checkFences(t, c)
				}
			})
		}
	}
}
