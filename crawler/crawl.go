package crawler

import (
	"context"
	"fmt"

	"github.com/docseek/docseek"
)

func (c *Crawler) crawl(context.Context, docseek.Source, func(string) (Known, bool),
	func(context.Context, Result) error,
) (Summary, error) {
	return Summary{}, fmt.Errorf("crawl: %w", ErrNothing)
}
