package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pageListLength is how many pages a listing shows at once.
const pageListLength = 100

// staleAfter is how many intervals may pass without a successful run.
const staleAfter = 2

// List lists the sources with their state, or the pages of one source. What is
// wrong with the query itself is an [InputError].
func (e *Engine) List(ctx context.Context, q ListQuery) (Listing, error) {
	q.PathPrefix = pathPrefix(q.PathPrefix)
	identity := []string{q.Source, q.PathPrefix}
	var at cursor
	if q.Cursor != "" {
		var err error
		if at, err = parseCursor(q.Cursor, listCursor, identity); err != nil {
			return Listing{}, err
		}
	}
	return retryStale(at, func() (Listing, error) {
		if q.Source == "" && q.PathPrefix == "" {
			return e.listSources(ctx)
		}
		return e.listPages(ctx, q, at, identity)
	})
}

func (e *Engine) listPages(ctx context.Context, q ListQuery, at cursor, identity []string) (Listing, error) {
	var asked []string
	if q.Source != "" {
		asked = []string{q.Source}
	}
	s, err := e.scope(ctx, at, asked)
	if err != nil {
		return Listing{}, err
	}
	if len(asked) == 0 && len(s.served) != 1 {
		return Listing{}, inputErrorf("a path prefix is within one source: name it, %s", s.known())
	}
	listing := Listing{Pages: []PageLink{}}
	if len(s.sources) == 0 {
		return listing, nil
	}
	name := s.sources[0].Source.Name
	pages, err := s.reader.Pages(ctx, name, q.PathPrefix, at.after, pageListLength+1)
	if err != nil {
		return Listing{}, fmt.Errorf("list the pages of %s: %w", name, err)
	}
	if len(pages) > pageListLength {
		pages = pages[:pageListLength]
		listing.NextCursor = cursor{
			kind: listCursor, key: s.reader.Key(), after: pages[pageListLength-1].URL,
		}.encode(identity)
	}
	for _, page := range pages {
		listing.Pages = append(listing.Pages, PageLink{URL: page.URL, Title: clip(page.Title, maxTitle)})
	}
	return listing, nil
}

func (e *Engine) listSources(ctx context.Context) (Listing, error) {
	reader, err := e.store.Reader(ctx)
	if err != nil {
		return Listing{}, fmt.Errorf("read the index: %w", err)
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		return Listing{}, fmt.Errorf("list the sources of the index: %w", err)
	}
	configured := map[string]bool{}
	if e.opts.Sources == nil {
		for _, info := range infos {
			configured[info.Source.Name] = true
		}
	} else {
		for _, source := range e.opts.Sources() {
			configured[source.Name] = true
			if !slices.ContainsFunc(infos, func(i SourceInfo) bool { return i.Source.Name == source.Name }) {
				infos = append(infos, SourceInfo{Source: source})
			}
		}
	}
	slices.SortFunc(infos, func(a, b SourceInfo) int { return strings.Compare(a.Source.Name, b.Source.Name) })
	listing := Listing{Sources: make([]SourceStatus, 0, len(infos))}
	for _, info := range infos {
		if within(ctx, info.Source.Name) {
			listing.Sources = append(listing.Sources, e.status(info, configured[info.Source.Name]))
		}
	}
	return listing, nil
}

// The states of a source.
const (
	Ready        = "ready"
	Degraded     = "degraded"
	Stale        = "stale"
	Empty        = "empty"
	Unconfigured = "unconfigured"
)

func (e *Engine) status(info SourceInfo, configured bool) SourceStatus {
	s := SourceStatus{
		Name: info.Source.Name, Start: info.Source.Start,
		Pages: info.Pages, Chunks: info.Chunks, Embedded: info.Embedded, Generation: info.Generation,
		IndexedAt: timePointer(info.IndexedAt), LastSuccess: timePointer(info.LastSuccess),
		Versions: append([]string{}, info.Versions...), Languages: append([]string{}, info.Languages...),
		State: Ready, LastRun: info.LastRun,
	}
	if configured {
		s.NextRun = timePointer(e.opts.NextRun(s.Name))
	}
	age := e.opts.Now().Sub(info.LastSuccess)
	switch {
	case !configured:
		s.State, s.Reason = Unconfigured, "The source is not in the configuration, so it is not searched."
	case info.Generation == 0:
		s.State, s.Reason = Empty, "Nothing is indexed yet."
	case info.Embedded < info.Chunks:
		s.State = Degraded
		s.Reason = fmt.Sprintf("%d %% of the chunks are embedded; the rest is found by words only.", 100*info.Embedded/info.Chunks)
	case info.Embedded > 0 && e.opts.Embedder(info.Fingerprint) == nil:
		s.State = Degraded
		s.Reason = "The model that it was embedded with is not configured: it is searched by words only until it is reindexed."
	case e.opts.Interval > 0 && age > staleAfter*e.opts.Interval:
		s.State = Stale
		s.Reason = fmt.Sprintf("The last successful run was %s ago.", age.Round(time.Minute))
	}
	if run := info.LastRun; run != nil && (run.Outcome == Refused || run.Outcome == Failed) {
		s.Reason = strings.TrimSpace(fmt.Sprintf("%s The last run was %s: %s", s.Reason, lastRunVerb(run.Outcome), clip(run.Error, 300)))
	}
	return s
}

// lastRunVerb fits an outcome into "The last run was …".
func lastRunVerb(outcome Outcome) string {
	if outcome == Failed {
		return "not successful"
	}
	return string(outcome)
}
