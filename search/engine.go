package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search/lexical"
)

// QueryEmbedder embeds queries with one model.
type QueryEmbedder interface {
	// EmbedQuery returns the query's vector, of length 1. ErrOtherModel when the
	// model turns out to be another than the one that was asked for.
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// ErrOtherModel means that the model at hand is not the one that an index was
// embedded with.
var ErrOtherModel = errors.New("the index was embedded with another model")

// Options are what an engine is told beside its store. The zero value searches
// by words in all that the store holds.
type Options struct {
	// Embedder returns what embeds queries for the vectors of a fingerprint, or
	// nil when that model is not at hand.
	Embedder func(fingerprint string) QueryEmbedder
	// EmbedTimeout bounds the embedding of a query; 0 means DefaultEmbedTimeout.
	EmbedTimeout time.Duration
	// Reranker puts the best hits in order; nil leaves them as they are found.
	Reranker Reranker
	// RerankTop is how many of the best hits are reranked; 0 means DefaultRerankTop.
	RerankTop int
	// RerankTimeout bounds it; 0 means DefaultRerankTimeout.
	RerankTimeout time.Duration
	// Sources returns the configured sources: no other is served. Without it all
	// that the store holds are.
	Sources func() []docseek.Source
	// NextRun returns when the scheduler will start a source's next run; the zero
	// time when it will not.
	NextRun func(source string) time.Time
	// Interval is the time between two runs. A source whose last success is two
	// intervals old is stale; with 0 none ever is.
	Interval time.Duration
	// Now is the clock; time.Now without it.
	Now func() time.Time
	// Log receives what goes wrong without failing a query; nothing without it.
	Log *slog.Logger
}

// DefaultEmbedTimeout is how long the embedding of a query may take.
const DefaultEmbedTimeout = 5 * time.Second

// Engine answers queries from a store. It is safe for concurrent use.
type Engine struct {
	store    Store
	opts     Options
	analyzer *lexical.Analyzer
}

// NewEngine returns an engine on a store.
func NewEngine(store Store, opts Options) *Engine {
	if opts.Embedder == nil {
		opts.Embedder = func(string) QueryEmbedder { return nil }
	}
	if opts.EmbedTimeout <= 0 {
		opts.EmbedTimeout = DefaultEmbedTimeout
	}
	opts.RerankTop = cmp.Or(opts.RerankTop, DefaultRerankTop)
	opts.RerankTimeout = cmp.Or(opts.RerankTimeout, DefaultRerankTimeout)
	if opts.NextRun == nil {
		opts.NextRun = func(string) time.Time { return time.Time{} }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{store: store, opts: opts, analyzer: lexical.New()}
}

// listLength is how many candidates each list of a query has. An answer and
// all that its cursors lead to come from them.
const listLength = 200

// Search answers a query. What is wrong with the query itself is an [InputError].
func (e *Engine) Search(ctx context.Context, q Query) (Answer, error) {
	q, notes, err := q.check()
	if err != nil {
		return Answer{}, err
	}
	var at cursor
	if q.Cursor != "" {
		if at, err = parseCursor(q.Cursor, searchCursor, q.identity()); err != nil {
			return Answer{}, err
		}
	}
	return retryStale(at, func() (Answer, error) { return e.search(ctx, q, at, notes) })
}

// retryStale asks once more when the state that was read is gone. A cursor's
// state does not come back.
func retryStale[T any](at cursor, ask func() (T, error)) (T, error) {
	answer, err := ask()
	if errors.Is(err, ErrStale) && at.kind == 0 {
		answer, err = ask()
	}
	if errors.Is(err, ErrStale) && at.kind != 0 {
		return answer, inputErrorf("the index has changed since this cursor was made: ask again without it")
	}
	return answer, err
}

// check puts a query into its normal form. The notes say what was changed that
// the asker would want to know.
func (q Query) check() (_ Query, notes []string, err error) {
	q.Text = strings.TrimSpace(strings.ToValidUTF8(q.Text, " "))
	if len(q.Text) > MaxQueryBytes {
		q.Text = strings.ToValidUTF8(q.Text[:MaxQueryBytes], "")
		notes = append(notes, fmt.Sprintf("Only the first %d bytes of the query were used.", MaxQueryBytes))
	}
	if q.Text == "" {
		return q, nil, inputErrorf("the query is empty: say in a few words what to look for")
	}
	q.Mode = cmp.Or(q.Mode, Hybrid)
	if !slices.Contains([]Mode{Hybrid, Lexical, Dense}, q.Mode) {
		return q, nil, inputErrorf("there is no mode %q: use hybrid, lexical or dense", q.Mode)
	}
	if math.IsNaN(q.MinScore) || q.MinScore < 0 || q.MinScore > 1 {
		return q, nil, inputErrorf("min_score is %v, but scores go from 0 to 1", q.MinScore)
	}
	if q.Limit < 0 {
		return q, nil, inputErrorf("limit is %d: ask for 1 to %d results", q.Limit, MaxLimit)
	}
	if q.Limit > MaxLimit {
		notes = append(notes, fmt.Sprintf("An answer has at most %d results; next_cursor leads to more.", MaxLimit))
	}
	q.Limit = min(cmp.Or(q.Limit, DefaultLimit), MaxLimit)
	if q.MaxChars, err = checkMaxChars(q.MaxChars); err != nil {
		return q, nil, err
	}
	q.Filter.Language = strings.ToLower(q.Filter.Language)
	q.Filter.PathPrefix = pathPrefix(q.Filter.PathPrefix)
	return q, notes, nil
}

// pathPrefix is the path that a caller means by a prefix, which may be an
// address or lack the slash at its start.
func pathPrefix(prefix string) string {
	if u, err := url.Parse(prefix); err == nil && u.Host != "" {
		prefix = u.Path
	}
	return CleanPathPrefix(strings.TrimSpace(prefix))
}

// checkMaxChars puts a size into its bounds.
func checkMaxChars(n int) (int, error) {
	if n < 0 {
		return 0, inputErrorf("max_chars is %d: ask for %d to %d characters", n, MinMaxChars, MaxMaxChars)
	}
	return max(leastChars, min(MaxMaxChars, cmp.Or(n, DefaultMaxChars))), nil
}

// identity is what a cursor's answer must have in common with the one before.
func (q Query) identity() []string {
	return append([]string{
		q.Text, string(q.Mode), fmt.Sprint(q.MinScore, q.Ungrouped),
		q.Filter.Version, q.Filter.Language, q.Filter.PathPrefix,
	}, q.Filter.Sources...)
}

// scope is one state of the index, seen through what is served and asked.
type scope struct {
	reader Reader
	// sources are those asked that have an index, by name.
	sources []SourceInfo
	// served are the names of all that could be asked.
	served []string
}

func (s scope) names() []string {
	names := make([]string, len(s.sources))
	for i, source := range s.sources {
		names[i] = source.Source.Name
	}
	return names
}

// scope reads a state: that of the cursor, or the present one without a cursor.
func (e *Engine) scope(ctx context.Context, at cursor, asked []string) (scope, error) {
	var s scope
	var err error
	if at.kind == 0 {
		s.reader, err = e.store.Reader(ctx)
	} else {
		s.reader, err = e.store.ReaderAt(ctx, at.key)
	}
	if err != nil {
		return s, fmt.Errorf("read the index: %w", err)
	}
	infos, err := s.reader.Sources(ctx)
	if err != nil {
		return s, fmt.Errorf("list the sources of the index: %w", err)
	}
	if e.opts.Sources != nil {
		for _, source := range e.opts.Sources() {
			s.served = append(s.served, source.Name)
		}
		slices.Sort(s.served)
	} else {
		for _, info := range infos {
			s.served = append(s.served, info.Source.Name)
		}
	}
	s.served = slices.DeleteFunc(s.served, func(name string) bool { return !within(ctx, name) })
	for _, name := range asked {
		if !slices.Contains(s.served, name) {
			return s, inputErrorf("there is no source %s: %s", quoteShort(name), s.known())
		}
	}
	for _, info := range infos {
		name := info.Source.Name
		if info.Generation > 0 && slices.Contains(s.served, name) && (len(asked) == 0 || slices.Contains(asked, name)) {
			s.sources = append(s.sources, info)
		}
	}
	return s, nil
}

// known says which sources there are.
func (s scope) known() string {
	if len(s.served) == 0 {
		return "none is configured or indexed yet"
	}
	return "the sources are " + enumerate(s.served)
}

func (e *Engine) search(ctx context.Context, q Query, at cursor, notes []string) (Answer, error) {
	s, err := e.scope(ctx, at, q.Filter.Sources)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Mode: q.Mode, Results: []docseek.Hit{}}
	if len(s.sources) == 0 {
		answer.Hint = "Nothing is indexed yet: the first run has to finish, see list_docs."
		return answer, nil
	}
	identity := q.identity()
	q.Filter.Sources = s.names()

	vectors := map[string][]float32{}
	if q.Mode != Lexical {
		var reasons []string
		vectors, reasons = e.embed(ctx, s.sources, q.Text)
		if err := ctx.Err(); err != nil {
			return Answer{}, fmt.Errorf("embed the query: %w", err)
		}
		switch {
		case len(vectors) > 0:
		case q.Mode == Dense:
			return Answer{}, fmt.Errorf("search by meaning: %s", strings.Join(reasons, " "))
		default:
			answer.Mode = Lexical
		}
		answer.Degraded = len(reasons) > 0
		answer.Reason = strings.Join(reasons, " ")
	}
	found, err := e.find(ctx, s.reader, q, answer.Mode, vectors, s.language(q.Filter.Language))
	if err != nil {
		return Answer{}, err
	}
	kept := found.hits
	if q.Filter.Version == "" {
		kept = preferVersions(kept, currentVersions(s.sources))
	}
	if e.opts.Reranker != nil && len(kept) > 0 {
		var reason string
		kept, reason = e.rerank(ctx, q.Text, kept)
		if err := ctx.Err(); err != nil {
			return Answer{}, fmt.Errorf("rerank: %w", err)
		}
		answer.Reranked = reason == ""
		answer.Degraded = answer.Degraded || reason != ""
		answer.Reason = strings.TrimSpace(answer.Reason + " " + reason)
	}
	plan := planOf(answer, vectors, q.Filter.Sources)
	if at.kind != 0 && at.plan != plan {
		return Answer{}, inputErrorf("what this cursor continues was found in another way than is possible now: search again without it")
	}
	if q.MinScore > 0 {
		kept = slices.DeleteFunc(slices.Clone(kept), func(h scored) bool { return h.score < q.MinScore })
	}
	entries := group(kept, q.Ungrouped)
	if len(entries) == 0 {
		hint, err := e.hint(ctx, s, q, answer.Mode, vectors, found)
		if err != nil {
			return Answer{}, err
		}
		notes = append(notes, hint)
	}
	answer.Hint = strings.Join(notes, " ")
	offset := min(at.offset, len(entries))
	passages, err := widen(ctx, s.reader, entries[offset:min(offset+q.Limit, len(entries))])
	if err != nil {
		return Answer{}, err
	}
	next := func(shown int) string {
		if offset+shown >= len(entries) {
			return ""
		}
		return cursor{kind: searchCursor, key: s.reader.Key(), offset: offset + shown, plan: plan}.encode(identity)
	}
	if err := layOut(&answer, passages, q.MaxChars, offset, next); err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// planOf is a digest of how a search is done: what a cursor's answer must have
// in common with the one before beside the query.
func planOf(a Answer, vectors map[string][]float32, sources []string) uint64 {
	parts := []string{string(a.Mode), strconv.FormatBool(a.Reranked)}
	for fingerprint := range vectors {
		parts = append(parts, fingerprint)
	}
	slices.Sort(parts)
	return digest(append(parts, sources...))
}

// language is that of a query's words: the one asked for, or the only one of
// the sources asked, or unknown.
func (s scope) language(asked string) string {
	if asked != "" {
		return asked
	}
	only := ""
	for _, source := range s.sources {
		for _, language := range source.Languages {
			if only != "" && only != language {
				return ""
			}
			only = language
		}
	}
	return only
}

// embed embeds a query for each fingerprint of the sources. The reasons say, in
// sentences, what the dense list will lack.
func (e *Engine) embed(ctx context.Context, sources []SourceInfo, text string) (vectors map[string][]float32, reasons []string) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.EmbedTimeout)
	defer cancel()
	vectors = map[string][]float32{}
	failed := map[string]string{}
	for _, source := range sources {
		name, fingerprint := source.Source.Name, source.Fingerprint
		if source.Embedded < source.Chunks {
			reasons = append(reasons, fmt.Sprintf("%d %% of source %s is embedded so far; the rest is found by its words only.",
				100*source.Embedded/source.Chunks, name))
		}
		if source.Embedded == 0 || vectors[fingerprint] != nil {
			continue
		}
		if _, again := failed[fingerprint]; !again {
			vector, reason := e.embedWith(ctx, fingerprint, text)
			if reason == "" {
				vectors[fingerprint] = vector
				continue
			}
			failed[fingerprint] = reason
		}
		reasons = append(reasons, fmt.Sprintf("Source %s is searched by words only: %s.", name, failed[fingerprint]))
	}
	const most = 3
	if len(reasons) > most {
		reasons = append(reasons[:most:most], fmt.Sprintf("And %d more.", len(reasons)-most))
	}
	return vectors, reasons
}

func (e *Engine) embedWith(ctx context.Context, fingerprint, text string) (vector []float32, reason string) {
	const otherModel = "the model that it was embedded with is not configured; reindex it"
	embedder := e.opts.Embedder(fingerprint)
	if embedder == nil {
		return nil, otherModel
	}
	vector, err := embedder.EmbedQuery(ctx, text)
	switch {
	case errors.Is(err, ErrOtherModel):
		return nil, otherModel
	case err != nil:
		e.opts.Log.WarnContext(ctx, "embedding a query failed", slog.String("fingerprint", fingerprint), slog.Any("error", err))
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, "the query was not embedded in time"
		}
		return nil, "the query could not be embedded"
	case len(vector) == 0:
		return nil, "the embedder returned no vector"
	}
	return vector, ""
}

// findings are the ranked chunks of a query and what is known of its words.
type findings struct {
	hits      []scored
	terms     []lexical.Term
	frequency []int
}

// find ranks the chunks that match a query.
func (e *Engine) find(ctx context.Context, reader Reader, q Query, mode Mode, vectors map[string][]float32, language string) (findings, error) {
	request := Request{Filter: q.Filter, Vectors: vectors, Limit: listLength, Brief: e.opts.Reranker == nil}
	var f findings
	var bound float64
	if mode != Dense {
		f.terms = e.analyzer.Query(language, q.Text)
		hashes := make([]uint32, len(f.terms))
		for i, term := range f.terms {
			hashes[i] = term.Hash
		}
		stats, err := reader.Stats(ctx, q.Filter.Sources, hashes)
		if err != nil {
			return f, fmt.Errorf("count the words of the query: %w", err)
		}
		f.frequency = stats.Frequency
		request.Lexical = lexical.Vectorize(f.terms, stats.Chunks, stats.Frequency)
		bound = e.analyzer.Bound(request.Lexical)
	}
	if len(request.Lexical.Terms) == 0 && len(vectors) == 0 {
		return f, nil
	}
	candidates, err := reader.Candidates(ctx, request)
	if err != nil {
		return f, fmt.Errorf("look the query up: %w", err)
	}
	f.hits = fuse(mode, candidates, bound)
	return f, nil
}

// widen fetches entries with their neighbours within their sections.
func widen(ctx context.Context, reader Reader, entries []entry) ([]passage, error) {
	spans := make([]Span, len(entries))
	for i, entry := range entries {
		// One chunk more on each side tells whether the section goes on.
		spans[i] = Span{entry.hit.Source, entry.hit.URL, max(0, entry.first-1), entry.last + 1}
	}
	around, err := reader.Spans(ctx, spans)
	if err != nil {
		return nil, fmt.Errorf("read the passages: %w", err)
	}
	passages := make([]passage, len(entries))
	for i, entry := range entries {
		if passages[i], err = newPassage(entry, around[i]); err != nil {
			return nil, err
		}
	}
	return passages, nil
}
