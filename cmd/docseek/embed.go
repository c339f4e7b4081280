package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/builtin"
	"github.com/docseek/docseek/embed/encoder"
)

func (a *app) embedCommand() *cobra.Command {
	var file string
	var query, bench bool
	c := &cobra.Command{
		Use:   "embed [TEXT…]",
		Short: "Print vectors, to compare them with another runtime's",
		Long: `Embeds each text with the configured embedder and prints a JSON line for it:
{"text","vector"}. --bench measures the builtin model on this machine instead, with
every kernel that it runs, or the one that DOCSEEK_CPU names.`,
		Example: `  docseek embed "rotate a signing key"
  docseek embed --file texts.txt > vectors.jsonl
  docseek embed --bench`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if bench {
				return a.benchModel(cmd.Context())
			}
			if len(args) == 0 && file == "" {
				return usagef("embed needs a TEXT, or --file FILE (- is standard input)")
			}
			return a.embedTexts(cmd.Context(), args, file, query)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "file", "", "embed each line of `FILE` (- is standard input)")
	f.BoolVar(&query, "query", false, "embed as queries; some models tell them from passages")
	f.BoolVar(&bench, "bench", false, "print texts and tokens per second of the builtin model")
	return c
}

func (a *app) embedTexts(ctx context.Context, texts []string, file string, query bool) (err error) {
	c, err := a.configuration(nil)
	if err != nil {
		return err
	}
	service, err := a.newParts(c).embedder(ctx, nil)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	defer func() { err = errors.Join(err, out.Flush()) }()
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, text := range texts {
		if err := writeVector(ctx, service, lines, text, query); err != nil {
			return err
		}
	}
	if file == "" {
		return nil
	}
	in := a.in
	if file != "-" {
		f, err := os.Open(file) //nolint:gosec // the user names the file
		if err != nil {
			return fmt.Errorf("read the texts: %w", err)
		}
		defer f.Close()
		in = f
	}
	return eachLine(in, func(text string) error { return writeVector(ctx, service, lines, text, query) })
}

// maxLine bounds a line of a file of texts.
const maxLine = 1 << 20

func eachLine(r io.Reader, do func(line string) error) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	for scan.Scan() {
		if err := do(scan.Text()); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read the texts: %w", err)
	}
	return nil
}

func writeVector(ctx context.Context, s *embed.Service, lines *json.Encoder, text string, query bool) error {
	var vector []float32
	if query {
		v, err := s.EmbedQuery(ctx, text)
		if err != nil {
			return err
		}
		vector = v
	} else {
		result, err := s.EmbedPassages(ctx, []string{text}, nil)
		if err != nil {
			return err
		}
		if len(result.Refused) > 0 {
			return fmt.Errorf("embed %.40q: %w", text, result.Refused[0].Err)
		}
		vector = result.Vectors[0]
	}
	return lines.Encode(struct {
		Text   string    `json:"text"`
		Vector []float32 `json:"vector"`
	}{text, vector})
}

// measurement is one line of embed --bench.
type measurement struct {
	Kernel  string  `json:"kernel"`
	Threads int     `json:"threads"`
	Tokens  int     `json:"tokens"`
	Texts   float64 `json:"texts_per_second"`
	Rate    float64 `json:"tokens_per_second"`
}

// benchFor is how long each measurement takes.
const benchFor = time.Second

func (a *app) benchModel(ctx context.Context) error {
	kernels := encoder.Kernels()
	if name := a.env("DOCSEEK_CPU"); name != "" {
		kernels = []string{name}
	}
	var all []measurement
	for _, kernel := range kernels {
		model, err := builtin.New(builtin.Options{CPU: kernel})
		if err != nil {
			return fmt.Errorf("load the builtin model: %w", err)
		}
		if !a.json && all == nil {
			fmt.Fprintf(a.out, "%-8s %7s %6s %10s %10s\n", "kernel", "threads", "tokens", "texts/s", "tokens/s")
		}
		for _, tokens := range []int{32, 128, 256} {
			for _, threads := range threadCounts(runtime.GOMAXPROCS(0)) {
				m, err := measure(ctx, model, tokens, threads, benchFor)
				if err != nil {
					return err
				}
				all = append(all, m)
				if !a.json {
					fmt.Fprintf(a.out, "%-8s %7d %6d %10.1f %10.0f\n", m.Kernel, m.Threads, m.Tokens, m.Texts, m.Rate)
				}
			}
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"measurements": all})
	}
	return nil
}

// threadCounts are the powers of two below most, and most.
func threadCounts(most int) []int {
	var counts []int
	for n := 1; n < most; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

func measure(ctx context.Context, model *builtin.Model, tokens, threads int, d time.Duration) (measurement, error) {
	// "word" is one token; the model adds the two that mark start and end.
	text := []string{strings.TrimSpace(strings.Repeat("word ", tokens-2))}
	var group errgroup.Group
	counts := make([]int, threads)
	began := time.Now()
	for i := range threads {
		group.Go(func() error {
			for time.Since(began) < d {
				if _, err := model.Embed(ctx, text, embed.Passage); err != nil {
					return err
				}
				counts[i]++
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return measurement{}, err
	}
	seconds, n := time.Since(began).Seconds(), 0
	for _, c := range counts {
		n += c
	}
	rate := float64(n) / seconds
	return measurement{Kernel: model.Kernel(), Threads: threads, Tokens: tokens, Texts: rate, Rate: rate * float64(tokens)}, nil
}
