package extract_test

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

func fromMarkdown(t *testing.T, body string) string {
	t.Helper()
	doc, _, err := extract.Extract(docseek.Page{
		URL: "https://docs.example.com/page", ContentType: "text/markdown", Body: []byte(body),
	}, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return join(doc)
}

// Without bounds each of these takes minutes.
func TestHostileMarkdown(t *testing.T) {
	for _, piece := range []string{"[a](", "![", "]](", "*a_b", "~a*", "<a", "> ", "- ", "1. ", "> - ", "x\n[a](", "| [a](\n"} {
		body := "Start.\n\n" + strings.Repeat(piece, 300_000/len(piece)) + "\n\nThe end."
		if got := fromMarkdown(t, body); !strings.HasPrefix(got, "Start.") || !strings.HasSuffix(got, "The end.") {
			t.Errorf("%q: start or end is lost: %q", piece, tail(got))
		}
	}
}

func TestMarkupBeyondTheBoundIsText(t *testing.T) {
	const link = "[a](https://docs.example.com/b) "
	for name, test := range map[string]struct{ body, want string }{
		"one paragraph":    {strings.Repeat(link, 2501), `[a\](`},
		"over lines":       {strings.Repeat(link+"\n", 2501), `[a\](`},
		"as much as it is": {strings.Repeat(link, 2500), "[a](https://docs.example.com/b) [a](https://docs.example.com/b)"},
		"a long list":      {strings.Repeat("- "+link+"\n", 4000), "[a](https://docs.example.com/b)\n- [a](https://docs.example.com/b)"},
		"a long page":      {strings.Repeat(link+"\n\n", 4000), "[a](https://docs.example.com/b)\n\n[a](https://docs.example.com/b)"},
		"escapes":          {strings.Repeat(`\[`, 5001), "[[["},
	} {
		got := fromMarkdown(t, test.body)
		if end := got[max(0, len(got)-200):]; !strings.Contains(end, test.want) {
			t.Errorf("%s: it ends with %q, without %q", name, end, test.want)
		}
	}
}
