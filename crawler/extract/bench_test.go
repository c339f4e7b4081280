package extract_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// BenchmarkExtract reads a short page with much around it, and a long reference page.
func BenchmarkExtract(b *testing.B) {
	for _, bench := range []struct {
		name, file string
		repeat     int
	}{
		{"page", "testdata/docusaurus/transfers.html", 1},
		{"reference", "testdata/sphinx/codec.html", 200},
	} {
		b.Run(bench.name, func(b *testing.B) {
			body, err := os.ReadFile(bench.file)
			if err != nil {
				b.Fatal(err)
			}
			start, end := bytes.Index(body, []byte(`<section id="functions">`)), bytes.Index(body, []byte(`<div class="clearer">`))
			if bench.repeat > 1 {
				body = append(bytes.Repeat(body[start:end], bench.repeat), body[end:]...)
			}
			page := docseek.Page{URL: "https://docs.example.com/page.html", Body: body, ContentType: "text/html"}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := extract.Extract(page, extract.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
