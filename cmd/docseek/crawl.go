package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/crawler"
)

func (a *app) crawlCommand() *cobra.Command {
	var explain bool
	var source string
	c := &cobra.Command{
		Use:   "crawl URL --explain",
		Short: "Explain what becomes of one URL; nothing is stored",
		Long: `Asks for one URL as a run would and tells which rule lets it in or keeps it
out, what it is known as, and what is extracted and cut from it. --source takes
the rules of a configured source; without it the URL is its own source.`,
		Example: `  docseek crawl --explain https://docs.example.com/guide
  docseek --config docseek.yaml crawl --explain --source docs https://docs.example.com/guide`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !explain {
				return usagef("crawl stores nothing and only explains: give --explain (docseek reindex URL indexes)")
			}
			return a.explain(cmd.Context(), args[0], source)
		},
	}
	f := c.Flags()
	f.BoolVar(&explain, "explain", false, "explain the URL")
	f.StringVar(&source, "source", "", "`NAME` of the configured source whose rules hold")
	return c
}

// explanation is what crawl --explain prints.
type explanation struct {
	crawler.Explanation
	Version string          `json:"version,omitempty"`
	Chunks  []docseek.Chunk `json:"chunks"`
}

func (a *app) explain(ctx context.Context, url, name string) error {
	c, err := a.configuration(nil)
	if err != nil {
		return err
	}
	source := docseek.Source{Name: sourceName(url), Start: url}
	if name != "" {
		chosen, err := choose(c.Sources, []string{name})
		if err != nil {
			return err
		}
		source = chosen[0]
	}
	reader, err := crawler.New(crawler.Options{Version: version(), Logger: a.log})
	if err != nil {
		return err
	}
	found, err := reader.Explain(ctx, source, url)
	if err != nil {
		return err
	}
	e := explanation{Explanation: found, Chunks: []docseek.Chunk{}}
	if found.Document != nil {
		e.Version = found.Document.Version
		model, err := a.newParts(c).builtin()
		if err != nil {
			return fmt.Errorf("load the builtin tokenizer: %w", err)
		}
		e.Chunks, _ = chunker.New(model.Tokenizer()).Split(*found.Document)
	}
	if a.json {
		return a.printJSON(e)
	}
	return printExplanation(a.out, e)
}

func printExplanation(w io.Writer, e explanation) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	verdict := func(v crawler.Verdict) string {
		if v.Allowed {
			return "allowed: " + v.Rule
		}
		return "refused: " + v.Rule
	}
	line("url", "%s", e.URL)
	line("canonical", "%s", e.Canonical)
	line("scope", "%s", verdict(e.Scope))
	line("robots", "%s", verdict(e.Robots))
	for _, hop := range e.Hops {
		line("redirect", "%s", hop)
	}
	if e.Status != 0 {
		line("answer", "%d %s, %d bytes", e.Status, e.ContentType, e.Bytes)
	}
	line("fate", "%s", strings.TrimSuffix(e.Fate+": "+e.Reason, ": "))
	for _, warning := range e.Warnings {
		line("warning", "%s", warning)
	}
	if d := e.Document; d != nil {
		line("made by", "%s", d.Generator)
		line("title", "%s", d.Title)
		if d.Language != "" {
			line("language", "%s", d.Language)
		}
		if e.Version != "" {
			line("version", "%s", e.Version)
		}
		line("sections", "%d", len(d.Sections))
		line("links", "%d to follow", len(e.Links))
		line("chunks", "%d", len(e.Chunks))
	}
	for _, c := range e.Chunks {
		fmt.Fprintf(&b, "\n── %d  %s", c.Ordinal, strings.Join(c.Path, " > "))
		if c.Anchor != "" {
			b.WriteString("  #" + c.Anchor)
		}
		b.WriteString("\n" + c.Text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
