package indexer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// page is a page on its way into the store.
type page struct {
	record search.PageRecord
	chunks []docseek.Chunk
}

func (p page) texts() []string {
	texts := make([]string, len(p.chunks))
	for i, c := range p.chunks {
		texts[i] = c.Embedded()
	}
	return texts
}

func (p page) embeddings(a *lexical.Analyzer, vectors map[string][]float32) []search.Embedding {
	out := make([]search.Embedding, len(p.chunks))
	for i, c := range p.chunks {
		hash := embed.TextHash(c.Embedded())
		out[i] = search.Embedding{Chunk: c, TextHash: hash, Vector: vectors[hash], Lexical: a.Chunk(c)}
	}
	return out
}

// batchTexts is how many texts are gathered before the embedder is asked.
const batchTexts = 512

// batch gathers pages until there are enough texts to embed together.
type batch struct {
	run      *run
	pages    []page
	texts    int
	progress func(done int)
}

func (b *batch) add(ctx context.Context, p page) error {
	b.pages = append(b.pages, p)
	b.texts += len(p.chunks)
	if b.texts < batchTexts {
		return nil
	}
	return b.flush(ctx)
}

// flush finds or makes the vectors of the gathered pages and writes them.
func (b *batch) flush(ctx context.Context) error {
	if len(b.pages) == 0 {
		return nil
	}
	vectors, err := b.vectors(ctx)
	if err != nil {
		return err
	}
	for _, p := range b.pages {
		if err := b.run.write(ctx, p, vectors); err != nil {
			return err
		}
	}
	b.pages, b.texts = b.pages[:0], 0
	return nil
}

func (b *batch) vectors(ctx context.Context) (map[string][]float32, error) {
	r := b.run
	missing := map[string]string{}
	var hashes []string
	for _, p := range b.pages {
		for _, text := range p.texts() {
			hash := embed.TextHash(text)
			if _, ok := missing[hash]; !ok {
				missing[hash] = text
				hashes = append(hashes, hash)
			}
		}
	}
	vectors, err := r.w.Vectors(ctx, hashes)
	if err != nil {
		return nil, fmt.Errorf("look for vectors to reuse: %w", err)
	}
	reused := len(vectors)
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return vectors[h] != nil })
	if b.progress != nil && reused > 0 {
		b.progress(reused)
	}
	if len(hashes) == 0 || r.options.DryRun {
		return vectors, nil
	}
	if vectors == nil {
		vectors = make(map[string][]float32, len(hashes))
	}
	texts := make([]string, len(hashes))
	for i, h := range hashes {
		texts[i] = missing[h]
	}
	last := 0
	result, err := r.embedder.EmbedPassages(ctx, texts, func(done, _ int) {
		if b.progress != nil {
			b.progress(done - last)
		}
		last = done
	})
	r.report.Embedded += result.Embedded
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	for _, refused := range result.Refused {
		r.log.Warn("a text is not embedded and found by its words only", slog.String("source", r.source.Name), slog.Any("error", refused))
	}
	for i, h := range hashes {
		if v := result.Vectors[i]; v != nil {
			vectors[h] = v
		}
	}
	return vectors, nil
}

// ahead embeds texts while the first crawl of a source still runs. The vectors
// land in the embedder's cache, where the second half of the run finds them.
type ahead struct {
	texts  chan []string
	cancel context.CancelFunc
	done   chan int
}

// textsAhead is how many pages may wait to be embedded ahead; what comes beyond
// is embedded after the crawl.
const textsAhead = 1024

// newAhead starts embedding ahead. Unless enabled it does nothing.
func newAhead(ctx context.Context, r *run, enabled bool) *ahead {
	a := &ahead{done: make(chan int, 1)}
	ctx, cancel := context.WithCancel(ctx)
	a.cancel = cancel
	if !enabled {
		a.done <- 0
		return a
	}
	a.texts = make(chan []string, textsAhead)
	go func() {
		embedded := 0
		defer func() { a.done <- embedded }()
		for {
			select {
			case <-ctx.Done():
				return
			case texts := <-a.texts:
				result, err := r.embedder.EmbedPassages(ctx, texts, nil)
				embedded += result.Embedded
				if err != nil {
					r.log.Debug("embedding ahead of the crawl ends", slog.Any("error", err))
					return
				}
			}
		}
	}()
	return a
}

func (a *ahead) offer(texts []string) {
	select {
	case a.texts <- texts:
	default:
	}
}

// stop ends the embedding and says how many texts it did.
func (a *ahead) stop() int {
	a.cancel()
	return <-a.done
}
