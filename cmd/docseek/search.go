package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/search"
)

func (a *app) searchCommand() *cobra.Command {
	var q search.Query
	var mode string
	var sources []string
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find passages, as the tool search_docs does",
		Long: `Finds passages by meaning and by words: the same answer as the tool
search_docs gives to an agent. With --json it prints that tool's structured
answer (docs/tools.md).`,
		Example: `  docseek search "how long is an access token valid"
  docseek search --source docs --limit 3 --json max_retries`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			q.Mode = search.Mode(mode)
			q.Filter.Sources = sources
			return a.query(cmd.Context(), func(ctx context.Context, e *search.Engine) error {
				answer, err := e.Search(ctx, q)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(answer)
				}
				if len(answer.Results) == 0 {
					listing, err := e.List(ctx, search.ListQuery{})
					if err != nil {
						return err
					}
					if len(listing.Sources) == 0 {
						return printStatus(a.out, listing) // says how to begin
					}
				}
				return printAnswer(a.out, answer)
			})
		},
	}
	f := c.Flags()
	f.StringArrayVar(&sources, "source", nil, "only the source `NAME` (repeatable)")
	f.StringVar(&q.Filter.Version, "version", "", "only this `VERSION` of the documentation")
	f.StringVar(&q.Filter.Language, "language", "", "only pages in `LANGUAGE`, such as en")
	f.StringVar(&q.Filter.PathPrefix, "path-prefix", "", "only pages whose path begins with `PATH`, such as /docs/api")
	f.IntVar(&q.Limit, "limit", search.DefaultLimit, "most passages (1 to 20)")
	f.IntVar(&q.MaxChars, "max-chars", search.DefaultMaxChars, "most characters of the answer (500 to 50000)")
	f.Float64Var(&q.MinScore, "min-score", 0, "least score (0 to 1)")
	f.StringVar(&mode, "mode", string(search.Hybrid), "`MODE` of search: hybrid, lexical or dense")
	f.BoolVar(&q.Ungrouped, "ungrouped", false, "any number of passages of one page")
	f.StringVar(&q.Cursor, "cursor", "", "go on where an earlier answer ended, by its `CURSOR`")
	return c
}

// query runs a command that reads the index.
func (a *app) query(ctx context.Context, do func(context.Context, *search.Engine) error) (err error) {
	p, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	defer p.close(&err)
	plan, err := a.plan(p.config)
	if err != nil {
		return err
	}
	p.interval = plan.Interval(time.Now())
	return do(ctx, p.engine())
}

func printAnswer(w io.Writer, answer search.Answer) error {
	var b strings.Builder
	for i, hit := range answer.Results {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%d. %s\n   %s  (%s, score %.2f)\n\n", hit.Rank, strings.Join(titles(hit.Title, hit.Path), " › "), hit.URL, hit.Source, hit.Score)
		for line := range strings.SplitSeq(strings.TrimRight(hit.Text, "\n"), "\n") {
			if line != "" {
				line = "   " + line
			}
			b.WriteString(line + "\n")
		}
		if hit.Truncated {
			b.WriteString("   …\n")
		}
	}
	noun := "passages"
	if len(answer.Results) == 1 {
		noun = "passage"
	}
	fmt.Fprintf(&b, "\n%d %s, %s search", len(answer.Results), noun, answer.Mode)
	if answer.Degraded {
		fmt.Fprintf(&b, " (degraded: %s)", answer.Reason)
	}
	if answer.Omitted > 0 {
		fmt.Fprintf(&b, ", %d more left out for size", answer.Omitted)
	}
	b.WriteByte('\n')
	if answer.Hint != "" {
		b.WriteString(answer.Hint + "\n")
	}
	if answer.NextCursor != "" {
		fmt.Fprintf(&b, "more: --cursor %s\n", answer.NextCursor)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// titles is the heading path with the page's title in front, unless it begins with it.
func titles(title string, path []string) []string {
	if len(path) > 0 && path[0] == title || title == "" {
		return path
	}
	return append([]string{title}, path...)
}

func (a *app) readCommand() *cobra.Command {
	var q search.ReadQuery
	c := &cobra.Command{
		Use:   "read URL",
		Short: "Print a page or a section from the index",
		Long: `Prints a page, or with #anchor one section with what is below it, as Markdown
from the index. With --json it prints the structured answer of the tool
read_docs (docs/tools.md).`,
		Example: `  docseek read "https://docs.example.com/guide#limits"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.URL = args[0]
			return a.query(cmd.Context(), func(ctx context.Context, e *search.Engine) error {
				reading, err := e.Read(ctx, q)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(reading)
				}
				return printReading(a.out, a.err, reading)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&q.Section, "section", "", "`ANCHOR` or heading of a section")
	f.StringVar(&q.Source, "source", "", "`NAME` of the page's source, where several have it")
	f.IntVar(&q.MaxChars, "max-chars", search.MaxMaxChars, "most characters (500 to 50000)")
	f.StringVar(&q.Cursor, "cursor", "", "go on where an earlier answer ended, by its `CURSOR`")
	return c
}

func printReading(out, note io.Writer, r search.Reading) error {
	if _, err := fmt.Fprintln(out, strings.TrimRight(r.Text, "\n")); err != nil {
		return err
	}
	if r.NextCursor == "" {
		return nil
	}
	_, err := fmt.Fprintf(note, "docseek: there is more: --cursor %s\n", r.NextCursor)
	return err
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Sources, generations, freshness and the last run of each",
		Long: `Lists the sources of the index. With --json it prints the structured answer of
the tool list_docs (docs/tools.md).`,
		Example: `  docseek status
  docseek --config docseek.yaml status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.query(cmd.Context(), func(ctx context.Context, e *search.Engine) error {
				listing, err := e.List(ctx, search.ListQuery{})
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(listing)
				}
				return printStatus(a.out, listing)
			})
		},
	}
}

func (a *app) rollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback SOURCE",
		Short: "Make the generation before the live one live again",
		Long: `Makes the generation before the live one live again; a running server takes
it up within two seconds. One generation is kept to go back to. The next run that
publishes replaces what was brought back.

With --json it prints {"source","generation"}.`,
		Example: `  docseek rollback docs`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p, err := a.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer p.close(&err)
			generation, err := p.store.Rollback(cmd.Context(), args[0])
			if errors.Is(err, search.ErrNotFound) {
				return fmt.Errorf("source %s has no earlier generation to go back to (docseek status lists the sources)", args[0])
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"source": args[0], "generation": generation})
			}
			_, err = fmt.Fprintf(a.out, "%s: generation %d is live again\n", args[0], generation)
			return err
		},
	}
}

func printStatus(w io.Writer, listing search.Listing) error {
	if len(listing.Sources) == 0 {
		_, err := fmt.Fprintln(w, "nothing is indexed yet: docseek reindex URL")
		return err
	}
	var b strings.Builder
	for _, s := range listing.Sources {
		fmt.Fprintf(&b, "%s: %s", s.Name, s.State)
		if s.Reason != "" {
			fmt.Fprintf(&b, " (%s)", s.Reason)
		}
		fmt.Fprintf(&b, "\n  start      %s\n", s.Start)
		if s.Generation > 0 {
			fmt.Fprintf(&b, "  index      generation %d: %d pages, %d chunks, %d of them embedded\n", s.Generation, s.Pages, s.Chunks, s.Embedded)
		}
		if len(s.Versions) > 0 {
			fmt.Fprintf(&b, "  versions   %s\n", strings.Join(s.Versions, ", "))
		}
		if len(s.Languages) > 0 {
			fmt.Fprintf(&b, "  languages  %s\n", strings.Join(s.Languages, ", "))
		}
		writeTime(&b, "indexed", s.IndexedAt)
		writeTime(&b, "confirmed", s.LastSuccess)
		writeTime(&b, "next run", s.NextRun)
		if r := s.LastRun; r != nil {
			fmt.Fprintf(&b, "  last run   %s, %s in %.1f s: %d new, %d changed, %d unchanged, %d kept, %d removed, %d refused\n",
				r.Started.Local().Format(time.DateTime), r.Outcome, r.Seconds,
				r.Pages.New, r.Pages.Changed, r.Pages.Unchanged, r.Pages.Kept, r.Pages.Removed, r.Pages.Refused)
			if r.Error != "" {
				fmt.Fprintf(&b, "             %s\n", r.Error)
			}
			for _, warning := range r.Warnings {
				fmt.Fprintf(&b, "             %s\n", warning)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeTime(b *strings.Builder, name string, t *time.Time) {
	if t != nil {
		fmt.Fprintf(b, "  %-10s %s\n", name, t.Local().Format(time.DateTime))
	}
}
