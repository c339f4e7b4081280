package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/indexer"
	"github.com/docseek/docseek/search"
)

func (a *app) reindexCommand() *cobra.Command {
	var names []string
	var o indexer.Options
	c := &cobra.Command{
		Use:   "reindex [URL…]",
		Short: "Bring the index up to date, once",
		Long: `Crawls each source, embeds what changed and publishes the result in one step.
Without URL and configuration it renews every source that the index holds.

A run that would lose pages (more than 10 % removed, more than 20 % of the
fetches failed, nothing indexed) is refused and the index stays as it was.

With --json it prints {"runs":[{"source","outcome":"published|unchanged|refused|
failed","generation","pages":{"new","changed","unchanged","kept","removed",
"refused"},"chunks","embedded","seconds","reasons":[{"reason","count",
"samples"}]}]}.`,
		Example: `  docseek reindex https://docs.example.com/sitemap.xml
  docseek --config docseek.yaml reindex --source docs --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.reindex(cmd.Context(), args, names, o) },
	}
	f := c.Flags()
	f.StringArrayVar(&names, "source", nil, "only the source `NAME` (repeatable)")
	f.BoolVar(&o.Full, "full", false, "read every page again, changed or not")
	f.BoolVar(&o.DryRun, "dry-run", false, "report what would be done, change nothing")
	f.BoolVar(&o.Force, "force", false, "publish although pages would be lost")
	f.BoolVar(&o.Wait, "wait", false, "wait for another run of the source to end")
	return c
}

func (a *app) reindex(ctx context.Context, urls, names []string, o indexer.Options) (err error) {
	p, err := a.open(ctx, urls)
	if err != nil {
		return err
	}
	defer p.close(&err)
	sources, err := p.sources(ctx)
	if err != nil {
		return err
	}
	if sources, err = choose(sources, names); err != nil {
		return err
	}
	if len(sources) == 0 {
		return usagef("there is nothing to index: give the URL of a sitemap or page, or a configuration with sources")
	}
	runner := &runner{parts: p}
	defer func() { err = errors.Join(err, runner.close()) }()

	var runs []search.Run
	var failures []error
	for _, s := range sources {
		progress := a.progress(s.Name)
		o.Progress = progress.update
		report, err := runner.run(ctx, s, o)
		progress.done()
		runs = append(runs, report)
		if err != nil {
			failures = append(failures, err)
			a.complain(err)
		}
		if !a.json {
			if err := printRun(a.out, report, o.DryRun); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"runs": runs}); err != nil {
			return err
		}
	}
	return worst(failures)
}

// worst is the failure that decides the exit code of several runs.
func worst(failures []error) error {
	for _, code := range []int{exitFailed, exitUnreachable, exitLocked, exitRefused} {
		for _, err := range failures {
			if exitCode(err) == code {
				return &reportedError{err}
			}
		}
	}
	if len(failures) > 0 {
		return &reportedError{failures[0]}
	}
	return nil
}

// choose keeps the sources with the names, or all without names.
func choose(sources []docseek.Source, names []string) ([]docseek.Source, error) {
	if len(names) == 0 {
		return sources, nil
	}
	if len(sources) == 0 {
		return nil, usagef("there is no source %q: none is configured or indexed yet", names[0])
	}
	var chosen []docseek.Source
	for _, name := range names {
		i := slices.IndexFunc(sources, func(s docseek.Source) bool { return s.Name == name })
		if i < 0 {
			return nil, usagef("there is no source %q (there are: %s)", name, strings.Join(sourceNames(sources), ", "))
		}
		chosen = append(chosen, sources[i])
	}
	return chosen, nil
}

func sourceNames(sources []docseek.Source) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	return names
}

// printRun writes a run's report for people.
func printRun(w io.Writer, r search.Run, dry bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Source, r.Outcome)
	switch {
	case dry:
		b.WriteString(" (dry run: nothing was changed)")
	case r.Outcome == search.Published:
		fmt.Fprintf(&b, " generation %d", r.Generation)
	}
	fmt.Fprintf(&b, " in %.1f s\n", r.Seconds)
	p := r.Pages
	fmt.Fprintf(&b, "  pages    %d new, %d changed, %d unchanged, %d kept, %d removed, %d refused\n",
		p.New, p.Changed, p.Unchanged, p.Kept, p.Removed, p.Refused)
	fmt.Fprintf(&b, "  chunks   %d, %d texts embedded\n", r.Chunks, r.Embedded)
	if r.Discovery != "" {
		fmt.Fprintf(&b, "  found by %s; sitemap documents: %d, redirects: %d\n", r.Discovery, r.Sitemaps, r.Redirects)
	}
	if len(r.Generators) > 0 {
		var names []string
		for name := range r.Generators {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "  made by  %s\n", strings.Join(names, ", "))
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "  %-8d %s", reason.Count, reason.Reason)
		if len(reason.Samples) > 0 {
			fmt.Fprintf(&b, ": %s", reason.Samples[0])
			if reason.Count > 1 {
				b.WriteString(" …")
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
