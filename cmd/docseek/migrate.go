package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
)

func (a *app) migrateCommand() *cobra.Command {
	var to string
	var names []string
	c := &cobra.Command{
		Use:   "migrate --to qdrant",
		Short: "Copy what the index on disk holds to the configured server, without embedding again",
		Long: `Copies the live generation of each source from the data directory to the store
that the configuration names (store: {kind: qdrant, …}), with its vectors and with
what is known of its pages: the next run there asks for what changed since, and
embeds only that. What is on disk stays as it is. A source that the server holds already is replaced.

With --json it prints {"migrated":[{"source","generation","pages","chunks",
"embedded"}]}.`,
		Example: `  docseek --config docseek.yaml migrate --to qdrant`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to != config.Qdrant {
				return usagef("--to must be qdrant (got %q)", to)
			}
			return a.migrate(cmd.Context(), names)
		},
	}
	c.Flags().StringVar(&to, "to", "", "the `KIND` of store to copy to: qdrant")
	c.Flags().StringArrayVar(&names, "source", nil, "only the source `NAME` (repeatable)")
	return c
}

// migrated is what was copied of one source.
type migrated struct {
	Source     string `json:"source"`
	Generation uint64 `json:"generation"`
	Pages      int    `json:"pages"`
	Chunks     int    `json:"chunks"`
	Embedded   int    `json:"embedded"`
}

func (a *app) migrate(ctx context.Context, names []string) (err error) {
	c, err := a.configuration(nil)
	if err != nil {
		return err
	}
	if c.Store.Kind != config.Qdrant {
		return usagef("the configuration names no server to copy to: write store: {kind: qdrant, url: …}")
	}
	dir, err := a.dir()
	if err != nil {
		return err
	}
	from, err := local.Open(ctx, filepath.Join(dir, "index"), local.Options{Logger: a.log})
	if err != nil {
		return fmt.Errorf("open the index on disk: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	into, err := a.openStore(ctx, c.Store, dir)
	if err != nil {
		return fmt.Errorf("open the store %s: %w", c.Store.URL, err)
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	reader, err := from.Reader(ctx)
	if err != nil {
		return fmt.Errorf("read the index on disk: %w", err)
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		return fmt.Errorf("read the index on disk: %w", err)
	}
	infos = slices.DeleteFunc(infos, func(i search.SourceInfo) bool { return i.Generation == 0 })
	for _, name := range names {
		if !slices.ContainsFunc(infos, func(i search.SourceInfo) bool { return i.Source.Name == name }) {
			return usagef("the index on disk holds no source %q", name)
		}
	}
	done := []migrated{}
	for _, info := range infos {
		if len(names) > 0 && !slices.Contains(names, info.Source.Name) {
			continue
		}
		m, err := migrateSource(ctx, from, into, info)
		if err != nil {
			return fmt.Errorf("copy source %s: %w", info.Source.Name, err)
		}
		done = append(done, m)
		if !a.json {
			if _, err := fmt.Fprintf(a.out, "%s: %d pages, %d chunks, %d of them embedded\n", m.Source, m.Pages, m.Chunks, m.Embedded); err != nil {
				return err
			}
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"migrated": done})
	}
	return nil
}

// migratePages is how many page records are held at once.
const migratePages = 100

// migrateSource copies the live generation of a source. Both stores hold the
// source meanwhile, so that no run of it comes in between.
func migrateSource(ctx context.Context, from, into search.Store, info search.SourceInfo) (m migrated, err error) {
	name := info.Source.Name
	old, err := from.Begin(ctx, info.Source, info.Fingerprint, false)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	next, err := into.Begin(ctx, info.Source, info.Fingerprint, false)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if err := removeOthers(ctx, old, next, name); err != nil {
		return m, err
	}
	analyzer, start := lexical.New(), time.Now()
	var want search.Counts
	for after := ""; ; {
		pages, err := old.Live().Pages(ctx, name, "", after, migratePages)
		if err != nil {
			return m, err
		}
		if len(pages) == 0 {
			break
		}
		for _, page := range pages {
			embedded, err := migratePage(ctx, old, next, analyzer, name, page)
			if err != nil {
				return m, err
			}
			want.Pages++
			want.Chunks += page.Chunks
			want.Embedded += embedded
		}
		after = pages[len(pages)-1].URL
	}
	run := search.Run{
		Source: name, Outcome: search.Published, Generation: next.Generation(), Pages: search.PageCounts{Unchanged: want.Pages},
		Chunks: want.Chunks, Started: start, Seconds: time.Since(start).Seconds(), Reasons: []search.Reason{},
	}
	if err := next.Commit(ctx, want, run); err != nil {
		return m, err
	}
	if err := migrateChecks(ctx, old, into, info, run); err != nil {
		return m, err
	}
	return migrated{name, next.Generation(), want.Pages, want.Chunks, want.Embedded}, nil
}

// migrateChecks copies what runs learnt of unchanged pages, so that the next run
// asks for them as the last one would have. It is noted of live pages, so it needs
// a run of its own.
func migrateChecks(ctx context.Context, old search.Writer, into search.Store, info search.SourceInfo, run search.Run) (err error) {
	w, err := into.Begin(ctx, info.Source, info.Fingerprint, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := old.Checks(ctx, func(url string, check search.PageCheck) error { return w.Check(ctx, url, check) }); err != nil {
		return err
	}
	return w.Finish(ctx, run)
}

// removeOthers takes out what the store held of the source before and the copy
// does not have.
func removeOthers(ctx context.Context, old, next search.Writer, name string) error {
	for after := ""; ; {
		pages, err := next.Live().Pages(ctx, name, "", after, migratePages)
		if errors.Is(err, search.ErrNotFound) {
			return nil
		}
		if err != nil || len(pages) == 0 {
			return err
		}
		for _, page := range pages {
			_, err := old.Live().Page(ctx, name, page.URL)
			if errors.Is(err, search.ErrNotFound) {
				err = next.Remove(ctx, page.URL)
			}
			if err != nil {
				return err
			}
		}
		after = pages[len(pages)-1].URL
	}
}

func migratePage(ctx context.Context, old, next search.Writer, analyzer *lexical.Analyzer, name string, page search.PageRecord) (embedded int, err error) {
	chunks, err := old.Live().Chunks(ctx, name, page.URL, 0, page.Chunks-1)
	if err != nil {
		return 0, err
	}
	hashes := make([]string, len(chunks))
	for i, c := range chunks {
		hashes[i] = embed.TextHash(c.Embedded())
	}
	vectors, err := old.Vectors(ctx, hashes)
	if err != nil {
		return 0, err
	}
	list := make([]search.Embedding, len(chunks))
	for i, c := range chunks {
		list[i] = search.Embedding{Chunk: c.Chunk, TextHash: hashes[i], Vector: vectors[hashes[i]], Lexical: analyzer.Chunk(c.Chunk)}
		if list[i].Vector != nil {
			embedded++
		}
	}
	return embedded, next.Put(ctx, page, list)
}
