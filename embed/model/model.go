// Package model is an embedder from a folder: an encoder of the BERT family with
// its tokenizer, as sentence-transformers and Hugging Face lay them out. Like the
// builtin one it runs in process and needs no network.
package model

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/encoder"
)

// Options are the settings of a model.
type Options struct {
	// Dir is the folder; see [Open] for what is read from it.
	Dir string
	// Precision is what is computed with; empty means [encoder.Int8].
	Precision encoder.Precision
	// QueryPrefix and PassagePrefix stand before each text; nil means what the
	// folder says, or else what is known of the model by the folder's name.
	QueryPrefix, PassagePrefix *string
	// CPU names the kernel to compute with, one of [encoder.Kernels]; empty
	// means the fastest that the machine runs.
	CPU string
	// Workers is the number of texts that one call works on at once; 0 means
	// GOMAXPROCS.
	Workers int
	// Log is told of texts that were cut; nil means nobody is.
	Log *slog.Logger
}

// Model is the embedder. It is safe for concurrent use.
type Model struct {
	encoder        *encoder.Model
	tokenizer      encoder.TextTokenizer
	precision      encoder.Precision
	query, passage string
	workers        int
	log            *slog.Logger
}

var _ embed.Embedder = (*Model)(nil)

// Kernel names the instructions that the model computes with.
func (m *Model) Kernel() string { return m.encoder.Kernel() }

// Name is the model's name: that of its folder.
func (m *Model) Name() string { return m.encoder.Header().Config.Name }

// Limit is the most tokens of a text, the [encoder.Overhead] included.
func (m *Model) Limit() int { return m.encoder.Header().Config.Limit }

// Dimension is the length of every vector.
func (m *Model) Dimension() int { return m.encoder.Header().Config.Hidden }

// Fingerprint names what decides on the vectors. The folder's name is not part of
// it, nor are kernels, which give the same bits.
func (m *Model) Fingerprint() string {
	h := m.encoder.Header()
	return fmt.Sprintf("model=folder;weights=%.12s;precision=%s;dimension=%d;pooling=%s;normalisation=l2;query=%q;passage=%q;limit=%d",
		h.Origin, m.precision, h.Config.Hidden, h.Config.Pooling, m.query, m.passage, h.Config.Limit)
}

// Embed returns the vectors of texts, of length 1, in their order. Each depends
// on its text alone, whatever stands beside it. A text of more than [Model.Limit]
// tokens is cut there, which is logged.
func (m *Model) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	prefix := m.passage
	if kind == embed.Query {
		prefix = m.query
	}
	vectors := make([][]float32, len(texts))
	var cut atomic.Int64
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(m.workers)
	for i, text := range texts {
		g.Go(func() error {
			if err := inner.Err(); err != nil {
				return err
			}
			ids, truncated := m.tokenizer.Encode(prefix+text, m.Limit())
			if truncated {
				cut.Add(1)
			}
			vector, err := m.encoder.Encode(ids)
			if err != nil {
				return &embed.TextError{Index: i, Err: err}
			}
			vectors[i] = vector
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("embed %d texts: %w", len(texts), ctx.Err())
		}
		return nil, err
	}
	if n := cut.Load(); n > 0 {
		m.log.LogAttrs(ctx, slog.LevelWarn, "texts are longer than the model reads and were cut",
			slog.Int64("texts", n), slog.String("kind", kind.String()), slog.Int("limit", m.Limit()))
	}
	return vectors, nil
}

func (o Options) withDefaults() Options {
	if o.Precision == "" {
		o.Precision = encoder.Int8
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
