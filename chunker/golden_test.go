package chunker_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/handbook.txtar")
	if err != nil {
		t.Fatal(err)
	}
	d := docseek.Document{URL: "https://docs.example.com/handbook", Title: "Ferry handbook"}
	for _, file := range archive.Files {
		fields := strings.SplitN(file.Name, " ", 3)
		level, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		path := strings.Split(fields[2], " > ")
		d.Sections = append(d.Sections, docseek.Section{
			Title: path[len(path)-1], Level: level, Anchor: fields[1], Path: path,
			Markdown: strings.TrimSpace(string(file.Data)),
		})
	}
	tokenizer := wordPiece(t)
	chunks, outline := split(t, d)
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "=== %d %s\nsection %d, lead %d, tail %d, glue %q, %d tokens\n%s\n---\n%s\n",
			c.Ordinal, c.Link(), c.Section, c.Lead, c.Tail, c.Glue, tokenizer.Count(c.Embedded())+2, c.Context, c.Text)
	}
	b.WriteString("=== outline\n")
	for _, h := range outline {
		fmt.Fprintf(&b, "%s %s: chunk %d, offset %d\n", strings.Repeat("#", h.Level), h.Title, h.Chunk, h.Offset)
	}
	const golden = "testdata/handbook.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the chunks differ from %s; if that is wanted, run with -update and raise Version:\n%s", golden, b.String())
	}
}
