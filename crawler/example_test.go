package crawler_test

import (
	"context"
	"fmt"
	"path"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/internal/fakesite"
)

func ExampleCrawler_Crawl() {
	site, err := fakesite.New(`
-- /sitemap.xml --
<urlset><url><loc>/guide.html</loc></url><url><loc>/removed.html</loc></url></urlset>
-- /guide.html --
<h1>The guide</h1><p>How to begin.</p>
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()

	c, err := crawler.New(crawler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	source := docseek.Source{Name: "docs", Start: site.URL("/sitemap.xml")}
	summary, err := c.Crawl(context.Background(), source, nil, func(_ context.Context, r crawler.Result) error {
		fmt.Printf("%s: %s %q\n", path.Base(r.URL), r.Fate, r.Reason+r.Document.Title)
		return nil
	})
	fmt.Println(summary.Discovery, summary.Complete, err)
	// Output:
	// guide.html: fetched "The guide"
	// removed.html: gone "http_404"
	// sitemap true <nil>
}
