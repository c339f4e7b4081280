package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/internal/eval"
	"github.com/docseek/docseek/search"
)

func (a *app) evalCommand() *cobra.Command {
	var source string
	var anchors bool
	c := &cobra.Command{
		Use:   "eval QUESTIONS.jsonl",
		Short: "Measure the answers against a set of questions, per mode",
		Long: `Asks each question in each mode and measures where the right pages stand. A
line of the file is {"id","query","gold":["path-or-url#anchor"],"kind":
"real|synthetic"}; a bare path is meant within the one source asked.

With --json it prints {"modes":{"hybrid":{"real":{"n","hit@1","hit@5","hit@10",
"recall@10","MRR@10","nDCG@10"},"synthetic":{…},"all":{…}},"lexical":…,
"dense":…}}.`,
		Example: `  docseek eval questions.jsonl --source docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eval(cmd.Context(), args[0], source, anchors)
		},
	}
	c.Flags().StringVar(&source, "source", "", "ask only the source `NAME`")
	c.Flags().BoolVar(&anchors, "anchors", false, "measure sections instead of pages")
	return c
}

func (a *app) eval(ctx context.Context, file, source string, anchors bool) (err error) {
	f, err := os.Open(file) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("read the questions: %w", err)
	}
	defer f.Close()
	questions, err := eval.Load(f)
	if err != nil {
		return fmt.Errorf("read the questions of %s: %w", file, err)
	}
	p, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	defer p.close(&err)
	options := eval.Options{Anchors: anchors}
	if source != "" {
		sources, err := p.sources(ctx)
		if err != nil {
			return err
		}
		if sources, err = choose(sources, []string{source}); err != nil {
			return err
		}
		options.Base = eval.BaseOf(sources[0])
	}
	engine := p.engine()
	modes := map[string]map[string]eval.Scores{}
	for _, mode := range evalModes() {
		report, err := eval.Run(ctx, questions, asker(engine, source, mode), options)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		modes[string(mode)] = report.Scores
	}
	if a.json {
		return a.printJSON(map[string]any{"modes": modes})
	}
	return printEval(a.out, modes)
}

func evalModes() []search.Mode { return []search.Mode{search.Hybrid, search.Lexical, search.Dense} }

// evalDepth is how many different pages a question's measures look at.
const evalDepth = 10

// asker answers questions as the tool does, turning pages until there are
// results of enough different pages.
func asker(e *search.Engine, source string, mode search.Mode) eval.Ask {
	return func(ctx context.Context, query string) ([]string, error) {
		q := search.Query{Text: query, Mode: mode, Limit: search.MaxLimit, MaxChars: search.MaxMaxChars}
		if source != "" {
			q.Filter.Sources = []string{source}
		}
		var urls []string
		pages := map[string]bool{}
		for {
			answer, err := e.Search(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, hit := range answer.Results {
				urls = append(urls, hit.URL)
				page, _, _ := strings.Cut(hit.URL, "#")
				pages[page] = true
			}
			if len(pages) >= evalDepth || answer.NextCursor == "" {
				return urls, nil
			}
			q.Cursor = answer.NextCursor
		}
	}
}

func printEval(w io.Writer, modes map[string]map[string]eval.Scores) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %-9s %4s %6s %6s %6s %9s %7s %7s\n", "mode", "kind", "n", "hit@1", "hit@5", "hit@10", "recall@10", "MRR@10", "nDCG@10")
	for _, mode := range evalModes() {
		for _, kind := range []string{eval.Real, eval.Synthetic, eval.All} {
			s, ok := modes[string(mode)][kind]
			if !ok {
				continue
			}
			fmt.Fprintf(&b, "%-8s %-9s %4d %6.3f %6.3f %6.3f %9.3f %7.3f %7.3f\n",
				mode, kind, s.N, s.Hit1, s.Hit5, s.Hit10, s.Recall, s.MRR, s.NDCG)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
