// Package builtin is the embedder inside the binary: all-MiniLM-L6-v2, a
// sentence encoder of 6 layers and 384 dimensions that was trained on questions
// and answers. It needs no key, no network and no file.
package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/encoder"
)

//go:generate go run ./internal/pack -from "$DOCSEEK_TEST_MINILM" -to all-minilm-l6-v2.bin

//go:embed all-minilm-l6-v2.bin
var file []byte

// Options are the settings of a model; the zero value suits.
type Options struct {
	// CPU names the kernel to compute with, one of [encoder.Kernels]; empty
	// means the fastest that the machine runs.
	CPU string
	// Workers is the number of texts that one call works on at once; 0 means
	// GOMAXPROCS.
	Workers int
	// Log is told of questions that were cut; nil means nobody is.
	Log *slog.Logger
}

// Model is the embedder. It is safe for concurrent use.
type Model struct {
	encoder *encoder.Model
	workers int
	log     *slog.Logger
}

var _ embed.Embedder = (*Model)(nil)

// New loads the model. It fails when the machine does not run the kernel asked for.
func New(o Options) (*Model, error) {
	m, err := encoder.Load(file, o.CPU)
	if err != nil {
		return nil, fmt.Errorf("load builtin embedder: %w", err)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Model{encoder: m, workers: o.Workers, log: o.Log}, nil
}

// Tokenizer is the model's tokenizer.
func (m *Model) Tokenizer() *encoder.Tokenizer { return m.encoder.Tokenizer() }

// Kernel names the instructions that the model computes with.
func (m *Model) Kernel() string { return m.encoder.Kernel() }

// Limit is the most tokens of a text, the [encoder.Overhead] included.
func (m *Model) Limit() int { return m.encoder.Header().Config.Limit }

// Dimension is the length of every vector.
func (m *Model) Dimension() int { return m.encoder.Header().Config.Hidden }

// Fingerprint names what decides on the vectors. Kernels are not part of it:
// they give the same bits.
func (m *Model) Fingerprint() string {
	h := m.encoder.Header()
	return fmt.Sprintf("model=%s;weights=%.12s;precision=int8;dimension=%d;pooling=mean;normalisation=l2;limit=%d",
		h.Config.Name, h.Payload, h.Config.Hidden, h.Config.Limit)
}

// TooLongError is a passage that does not fit into the model.
type TooLongError struct {
	// Tokens is what the passage has and Limit what it may have, the
	// [encoder.Overhead] included.
	Tokens, Limit int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("it has %d tokens and the model reads %d: split it", e.Tokens, e.Limit)
}

// Embed returns the vectors of texts, of length 1, in their order. Each depends
// on its text alone, whatever stands beside it. Passages and queries are treated
// alike, without a prefix, but for their length: a passage of more than
// [Model.Limit] tokens is an [embed.TextError] around a [TooLongError], a query
// is cut there, which is logged.
func (m *Model) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var (
		next atomic.Int64
		once sync.Once
		fail error
		wait sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range min(m.workers, len(texts)) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(texts) || ctx.Err() != nil {
					return
				}
				v, err := m.embed(ctx, texts[i], kind)
				if err != nil {
					once.Do(func() { fail = &embed.TextError{Index: i, Err: err} })
					cancel()
					return
				}
				vectors[i] = v
			}
		})
	}
	wait.Wait()
	if fail != nil {
		return nil, fail
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return vectors, nil
}

func (m *Model) embed(ctx context.Context, text string, kind embed.Kind) ([]float32, error) {
	ids, truncated := m.Tokenizer().Encode(text, m.Limit())
	if truncated {
		tokens := m.Tokenizer().Count(text) + encoder.Overhead
		if kind == embed.Passage {
			return nil, &TooLongError{Tokens: tokens, Limit: m.Limit()}
		}
		m.log.LogAttrs(ctx, slog.LevelWarn, "query is longer than the model reads and was cut",
			slog.Int("tokens", tokens), slog.Int("limit", m.Limit()))
	}
	return m.encoder.Encode(ids)
}
