package extract_test

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// A fence is repeated in every piece of its code, so its length has a bound.
func TestFencesAreShort(t *testing.T) {
	many := strings.Repeat("`", 100_000)
	for name, tc := range map[string]struct{ code, want string }{
		"none":  {"a", "```\na\n```"},
		"some":  {"a ```` b", "`````\na ```` b\n`````"},
		"many":  {"a " + many, "~~~\na " + many + "\n~~~"},
		"both":  {many + strings.Repeat("~", 4), "~~~~~\n" + many + "~~~~\n~~~~~"},
		"cut":   {many + "\n" + strings.Repeat("~", 90), "~~~~~~~~\n" + many + "\n~~~~~~~\n~~~~~~~~"},
		"edges": {"```````", "````````\n```````\n````````"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, _, err := extract.Extract(docseek.Page{
				URL: "https://x.example/", ContentType: "text/html", Body: []byte("<main><h1>T</h1><pre>" + tc.code + "</pre></main>"),
			}, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := doc.Sections[0].Markdown; got != tc.want {
				t.Errorf("got %.60q… (%d bytes), want %.60q…", got, len(got), tc.want)
			}
		})
	}
}
