package indexer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/internal/indexer"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
)

// site is a crawler whose pages are set by the test.
type site struct {
	pages   map[string]string // path → Markdown of its one section
	fates   map[string]crawler.Result
	partial bool
	fail    error
	at      time.Time
	asked   map[string]crawler.Known
	block   func(ctx context.Context, n int) error
}

const base = "https://docs.example/"

func newSite(n int) *site {
	s := &site{pages: map[string]string{}, fates: map[string]crawler.Result{}, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	for i := range n {
		s.pages[fmt.Sprintf("p%02d", i)] = fmt.Sprintf("Page number %d says something about subject%d and nothing else.", i, i)
	}
	return s
}

func (s *site) Crawl(ctx context.Context, _ docseek.Source, known func(string) (crawler.Known, bool), visit func(context.Context, crawler.Result) error) (crawler.Summary, error) {
	s.asked = map[string]crawler.Known{}
	if s.fail != nil {
		return crawler.Summary{}, s.fail
	}
	paths := slices.Sorted(maps.Keys(s.pages))
	for path := range s.fates {
		if _, ok := s.pages[path]; !ok {
			paths = append(paths, path)
		}
	}
	for i, path := range paths {
		if s.block != nil {
			if err := s.block(ctx, i); err != nil {
				return crawler.Summary{}, err
			}
		}
		url := base + path
		r := crawler.Result{URL: url, Done: i + 1, Queued: len(paths) - i - 1}
		text := s.pages[path]
		etag := `"` + hash(text)[:8] + `"`
		k, have := known(url)
		s.asked[path] = k
		page := docseek.Page{URL: url, FetchedAt: s.at, Validators: docseek.Validators{ETag: etag}}
		switch fate, set := s.fates[path]; {
		case set:
			r.Fate, r.Reason = fate.Fate, fate.Reason
		case have && k.Validators.ETag == etag:
			r.Fate, r.Page = crawler.NotModified, docseek.Page{URL: url, FetchedAt: s.at}
		default:
			r.Fate, r.Hash, r.Page = crawler.Fetched, hash(text), page
			r.Document = docseek.Document{
				URL: url, Title: path, Language: "en", Generator: "generic",
				Sections: []docseek.Section{{Title: path, Level: 1, Anchor: "top", Path: []string{path}, Markdown: text}},
			}
		}
		if err := visit(ctx, r); err != nil {
			return crawler.Summary{}, err
		}
	}
	return crawler.Summary{
		Complete: !s.partial, Discovery: "sitemap", Sitemaps: 3, Redirects: 2, Warnings: []string{"one sitemap is too large"},
	}, nil
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// words counts a token per word.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }

// hashing is an embedder whose vectors are sums of a random direction per word.
type hashing struct {
	name  string
	fail  error
	texts []string
	after func(embedded int) // hears how many texts there were in all
}

func (h *hashing) Fingerprint() string { return h.name }
func (h *hashing) Dimension() int      { return 16 }

func (h *hashing) Embed(_ context.Context, texts []string, _ embed.Kind) ([][]float32, error) {
	if h.fail != nil {
		return nil, h.fail
	}
	h.texts = append(h.texts, texts...)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 16)
		for w := range strings.FieldsSeq(h.name + " " + text) {
			f := fnv.New64a()
			_, _ = f.Write([]byte(w))
			for j := range v {
				v[j] += float32(math.Sin(float64(f.Sum64()%1000) * float64(j+1)))
			}
		}
		out[i] = v
	}
	if h.after != nil {
		h.after(len(h.texts))
	}
	return out, nil
}

type world struct {
	t     *testing.T
	site  *site
	model *hashing
	store *local.Store
	cache embed.Cache
	away  error // why there is no embedder
	begin indexer.Store
	log   *slog.Logger
	src   docseek.Source
}

func newWorld(t *testing.T, pages int) *world {
	t.Helper()
	store, err := local.Open(t.Context(), t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	cache, err := embed.OpenDiskCache(t.Context(), t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{
		t: t, site: newSite(pages), model: &hashing{name: "a"}, store: store, cache: cache, begin: store, log: slog.New(slog.DiscardHandler),
		src: docseek.Source{Name: "docs", Start: base},
	}
}

func (w *world) indexer() *indexer.Indexer {
	return indexer.New(indexer.Parts{
		Crawler: w.site, Chunker: chunker.New(words{}), Analyzer: lexical.New(), Store: w.begin,
		Embedder: func(context.Context) (indexer.Embedder, error) {
			return embed.NewService(w.model, embed.Options{Cache: w.cache, Attempts: 1}), w.away
		},
		Log: w.log, Now: time.Now,
	})
}

func (w *world) run(o indexer.Options) (search.Run, error) {
	w.t.Helper()
	w.model.texts = nil
	return w.indexer().Run(w.t.Context(), w.src, o)
}

func (w *world) mustRun() search.Run {
	w.t.Helper()
	r, err := w.run(indexer.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// live is what the index shows of the source: URL → text, and its facts.
func (w *world) live() (map[string]string, search.SourceInfo) {
	w.t.Helper()
	ctx := w.t.Context()
	reader, err := w.store.Reader(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	pages, err := reader.Pages(ctx, "docs", "", "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	texts := map[string]string{}
	for _, p := range pages {
		chunks, err := reader.Chunks(ctx, "docs", p.URL, 0, p.Chunks-1)
		if err != nil {
			w.t.Fatal(err)
		}
		var b strings.Builder
		for _, c := range chunks {
			b.WriteString(c.Glue + c.Body())
		}
		texts[strings.TrimPrefix(p.URL, base)] = b.String()
	}
	for _, info := range infos {
		if info.Source.Name == "docs" {
			return texts, info
		}
	}
	return texts, search.SourceInfo{}
}

func (w *world) wantLive(want map[string]string) search.SourceInfo {
	w.t.Helper()
	got, info := w.live()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("live pages differ (-want +got):\n%s", diff)
	}
	return info
}

func TestFirstRunAndUnchangedRun(t *testing.T) {
	w := newWorld(t, 5)
	var stages []indexer.Stage
	r, err := w.run(indexer.Options{Progress: func(p indexer.Progress) { stages = append(stages, p.Stage) }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Outcome != search.Published || r.Pages != (search.PageCounts{New: 5}) || r.Chunks != 5 || r.Embedded != 5 {
		t.Errorf("first run: %+v", r)
	}
	first := w.wantLive(w.site.pages)
	if first.Embedded != 5 || first.Chunks != 5 {
		t.Errorf("live: %+v", first)
	}
	if r.Discovery != "sitemap" || r.Sitemaps != 3 || r.Redirects != 2 || !slices.Equal(r.Warnings, []string{"one sitemap is too large"}) {
		t.Errorf("what the crawl found is not reported: %+v", r)
	}
	if first.LastRun == nil || first.LastRun.Sitemaps != 3 || len(first.LastRun.Warnings) != 1 {
		t.Errorf("nor kept: %+v", first.LastRun)
	}
	if !slices.Contains(stages, indexer.Crawling) || !slices.Contains(stages, indexer.Embedding) {
		t.Errorf("progress went through %v", slices.Compact(stages))
	}

	w.site.at = w.site.at.Add(time.Hour)
	r = w.mustRun()
	if r.Outcome != search.Unchanged || r.Pages != (search.PageCounts{Unchanged: 5}) || r.Embedded != 0 || len(w.model.texts) != 0 {
		t.Errorf("second run: %+v, embedded %q", r, w.model.texts)
	}
	second := w.wantLive(w.site.pages)
	if second.Generation != first.Generation || second.LastSuccess.Before(first.LastSuccess) || second.LastSuccess.Equal(first.LastSuccess) {
		t.Errorf("an unchanged run: %+v, then %+v", first, second)
	}
	if w.site.asked["p00"].Validators.ETag == "" {
		t.Error("the second run did not ask conditionally")
	}
}

func TestOnlyWhatChangedIsEmbedded(t *testing.T) {
	w := newWorld(t, 12)
	w.mustRun()
	w.site.pages["p03"] = "Now it says something else entirely."
	w.site.pages["p99"] = "A page that is new."
	delete(w.site.pages, "p05")
	r := w.mustRun()
	if r.Pages != (search.PageCounts{New: 1, Changed: 1, Unchanged: 10, Removed: 1}) || r.Embedded != 2 || r.Outcome != search.Published {
		t.Errorf("run: %+v", r)
	}
	info := w.wantLive(w.site.pages)
	if info.Chunks != 12 || info.Embedded != 12 {
		t.Errorf("live: %+v", info)
	}
}

// A page that cannot be read keeps its last good copy; one that is gone goes.
func TestTroubleIsNotDeletion(t *testing.T) {
	w := newWorld(t, 40)
	w.mustRun()
	want := maps.Clone(w.site.pages)
	for i, why := range []string{"http_500", "http_500", "http_500", "http_500", "timeout", "timeout", "http_403"} {
		w.site.fates[fmt.Sprintf("p%02d", i)] = crawler.Result{Fate: crawler.Unreachable, Reason: why}
	}
	w.site.fates["p07"] = crawler.Result{Fate: crawler.Gone, Reason: "http_404"}
	delete(want, "p07")
	r := w.mustRun()
	if r.Outcome != search.Published || r.Pages != (search.PageCounts{Unchanged: 32, Kept: 7, Removed: 1}) {
		t.Errorf("run: %+v", r)
	}
	w.wantLive(want)
	if len(r.Reasons) == 0 || r.Reasons[0].Reason != "http_500" || r.Reasons[0].Count != 4 || len(r.Reasons[0].Samples) != 4 {
		t.Errorf("reasons: %+v", r.Reasons)
	}

	for i := 10; i < 22; i++ {
		w.site.fates[fmt.Sprintf("p%02d", i)] = crawler.Result{Fate: crawler.Unreachable, Reason: "http_500"}
	}
	before := w.wantLive(want)
	w.site.pages["p30"] = "This must not be seen."
	r, err := w.run(indexer.Options{})
	var refused *indexer.RefusedError
	if !errors.As(err, &refused) || r.Outcome != search.Refused || !strings.Contains(err.Error(), "of 40 fetches failed") {
		t.Errorf("run: %+v, %v", r, err)
	}
	after := w.wantLive(want)
	if after.Generation != before.Generation || after.LastRun == nil || after.LastRun.Outcome != search.Refused {
		t.Errorf("after a refused run: %+v", after)
	}
}

func TestRemovalGateAndForce(t *testing.T) {
	w := newWorld(t, 20)
	w.mustRun()
	before := maps.Clone(w.site.pages)
	for i := range 3 {
		delete(w.site.pages, fmt.Sprintf("p%02d", i))
	}
	_, err := w.run(indexer.Options{})
	var refused *indexer.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "3 of 20 pages would be removed") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("err = %v", err)
	}
	w.wantLive(before)
	if _, err := w.run(indexer.Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	w.wantLive(w.site.pages)
}

func TestAnIncompleteCrawlRemovesNothing(t *testing.T) {
	w := newWorld(t, 5)
	w.mustRun()
	before := maps.Clone(w.site.pages)
	w.site.partial = true
	delete(w.site.pages, "p00")
	r := w.mustRun()
	if r.Pages != (search.PageCounts{Unchanged: 4, Kept: 1}) {
		t.Errorf("run: %+v", r)
	}
	w.wantLive(before)
}

func TestPagesThatMayNoLongerBeIndexed(t *testing.T) {
	w := newWorld(t, 20)
	w.mustRun()
	want := maps.Clone(w.site.pages)
	w.site.fates["p00"] = crawler.Result{Fate: crawler.Refused, Reason: "noindex"}
	w.site.fates["p01"] = crawler.Result{Fate: crawler.Refused, Reason: "soft_404"}
	w.site.fates["zip"] = crawler.Result{Fate: crawler.Refused, Reason: "content_type application/zip"}
	delete(want, "p00")
	r := w.mustRun()
	if r.Pages != (search.PageCounts{Unchanged: 18, Kept: 1, Removed: 1, Refused: 1}) {
		t.Errorf("run: %+v", r)
	}
	w.wantLive(want)
}

func TestNothingIndexedIsRefused(t *testing.T) {
	w := newWorld(t, 0)
	r, err := w.run(indexer.Options{Force: true})
	var refused *indexer.RefusedError
	if !errors.As(err, &refused) || r.Outcome != search.Refused {
		t.Errorf("an empty site: %+v, %v", r, err)
	}
	w.site.fail = fmt.Errorf("sitemap: %w", crawler.ErrNothing)
	if _, err = w.run(indexer.Options{}); !errors.As(err, &refused) {
		t.Errorf("a sitemap without URLs: %v", err)
	}
	w.site.fail = fmt.Errorf("dial: %w", crawler.ErrUnreachable)
	if r, err = w.run(indexer.Options{}); !errors.Is(err, crawler.ErrUnreachable) || r.Outcome != search.Failed {
		t.Errorf("a site that is down: %+v, %v", r, err)
	}
}

func TestASiteOfShellsIsRefused(t *testing.T) {
	w := newWorld(t, 3)
	for i := range 5 {
		w.site.fates[fmt.Sprintf("spa%d", i)] = crawler.Result{Fate: crawler.Refused, Reason: "needs_js"}
	}
	_, err := w.run(indexer.Options{})
	var refused *indexer.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "JavaScript") {
		t.Errorf("err = %v", err)
	}
}

// Without an embedder a first run still makes the pages searchable by words,
// and the next run embeds what is missing, though no page has changed.
func TestEmbedderThatIsDown(t *testing.T) {
	w := newWorld(t, 4)
	w.model.fail = &embed.Error{Op: "embed", Err: errors.New("connection refused")}
	_, err := w.run(indexer.Options{})
	if _, down := errors.AsType[*embed.Error](err); !down {
		t.Errorf("err = %v", err)
	}
	if info := w.wantLive(w.site.pages); info.Embedded != 0 || info.Chunks != 4 || info.LastRun == nil || info.LastRun.Outcome != search.Failed {
		t.Errorf("live: %+v", info)
	}
	w.model.fail = nil
	r := w.mustRun()
	if r.Outcome != search.Published || r.Embedded != 4 || r.Pages.Unchanged != 4 {
		t.Errorf("run: %+v", r)
	}
	if info := w.wantLive(w.site.pages); info.Embedded != 4 {
		t.Errorf("live: %+v", info)
	}
}

// As long as nothing is embedded, runs whose embedder cannot be reached keep the
// pages searchable by words, and say what is wrong; the first that has one embeds.
func TestRunsWithoutAnEmbedder(t *testing.T) {
	w := newWorld(t, 4)
	w.away = fmt.Errorf("open the embedder: %w", &embed.Error{Op: "embed", Err: errors.New("connection refused"), Hint: "check base_url"})
	without := func() search.SourceInfo {
		t.Helper()
		r, err := w.run(indexer.Options{})
		if !errors.Is(err, w.away) || r.Outcome != search.Failed {
			t.Errorf("run: %+v, %v", r, err)
		}
		_, info := w.live()
		if info.LastRun == nil || info.LastRun.Outcome != search.Failed || !strings.Contains(info.LastRun.Error, "check base_url") {
			t.Errorf("the run is not recorded: %+v", info.LastRun)
		}
		return info
	}
	first := without()
	if w.wantLive(w.site.pages); first.Chunks != 4 || first.Embedded != 0 || !strings.HasPrefix(first.Fingerprint, embed.NoModel) {
		t.Errorf("first run: %+v", first)
	}
	if second := without(); second.Generation != first.Generation {
		t.Errorf("generation %d became %d though nothing changed", first.Generation, second.Generation)
	}
	if w.site.asked["p00"].Validators.ETag == "" {
		t.Error("the second run did not ask conditionally")
	}
	w.site.pages["p00"] = "It was changed while there was no embedder."
	without()
	w.wantLive(w.site.pages)
	if !w.indexer().Made(t.Context(), first, w.src) {
		t.Error("without an embedder, a run is said to change something")
	}

	w.away = nil
	if r := w.mustRun(); r.Outcome != search.Published || r.Embedded != 4 || r.Pages.Unchanged != 4 {
		t.Errorf("run with an embedder: %+v", r)
	}
	embedded := w.wantLive(w.site.pages)
	if embedded.Embedded != 4 || embedded.Fingerprint != indexer.Fingerprint(w.model) {
		t.Errorf("live: %+v", embedded)
	}

	w.away = fmt.Errorf("open the embedder: %w", &embed.Error{Op: "embed", Err: errors.New("connection refused"), Hint: "check base_url"})
	w.site.asked = nil
	if after := without(); after.Generation != embedded.Generation || after.Embedded != 4 {
		t.Errorf("a run without the embedder left %+v", after)
	}
	if w.site.asked != nil {
		t.Error("the site was crawled in vain")
	}
}

// A refusal that no time mends is the user's to mend: nothing is published.
func TestARefusingEmbedderEndsTheFirstRunAtOnce(t *testing.T) {
	w := newWorld(t, 2)
	w.away = &embed.Error{Op: "embed", Status: 401, Err: errors.New("who are you?"), Hint: "check api_key"}
	if r, err := w.run(indexer.Options{}); !errors.Is(err, w.away) || r.Outcome != search.Failed || w.site.asked != nil {
		t.Errorf("run: %+v, %v; crawled: %v", r, err, w.site.asked != nil)
	}
	reader, err := w.store.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	infos, err := reader.Sources(t.Context())
	if err != nil || len(infos) != 1 || infos[0].Generation != 0 || infos[0].LastRun == nil || !strings.Contains(infos[0].LastRun.Error, "check api_key") {
		t.Errorf("sources: %+v, %v", infos, err)
	}
}

// Another model of the same dimension embeds everything anew, though every page
// answers that it is unchanged.
func TestAnotherModel(t *testing.T) {
	w := newWorld(t, 5)
	w.mustRun()
	w.model = &hashing{name: "b"}
	r := w.mustRun()
	if r.Embedded != 5 || r.Pages.Unchanged != 5 || r.Outcome != search.Published {
		t.Errorf("run: %+v", r)
	}
	info := w.wantLive(w.site.pages)
	if info.Fingerprint != indexer.Fingerprint(w.model) || info.Embedded != 5 {
		t.Errorf("live: %+v", info)
	}
	if r := w.mustRun(); r.Outcome != search.Unchanged || r.Embedded != 0 {
		t.Errorf("run after it: %+v", r)
	}
}

// aged is a store whose generations were made with another fingerprint than the
// indexer says: by another version of it.
type aged struct {
	*local.Store
	fingerprint string
}

func (a aged) Begin(ctx context.Context, source docseek.Source, _ string, wait bool) (search.Writer, error) {
	return a.Store.Begin(ctx, source, a.fingerprint, wait)
}

// Whatever part of a fingerprint changes: the next run says so, embeds everything
// anew although no page has changed, and leaves no vector of the one before.
func TestAChangeOfAnyPartOfTheFingerprint(t *testing.T) {
	const model = "model=m;weights=w;precision=int8;dimension=16;pooling=mean;normalisation=l2;limit=256;" +
		"query_prefix=q;passage_prefix=p;query_input_type=query;passage_input_type=document"
	tests := map[string]struct {
		model            string // the embedder before; its own name stands for its weights
		chunker, context int
		says             string
	}{
		"model":              {model: strings.Replace(model, "model=m", "model=n", 1), says: "model n became m"},
		"weights":            {model: strings.Replace(model, "weights=w", "weights=v", 1), says: "weights v became w"},
		"precision":          {model: strings.Replace(model, "int8", "f32", 1), says: "precision f32 became int8"},
		"dimension":          {model: strings.Replace(model, "dimension=16", "dimension=8", 1), says: "dimension 8 became 16"},
		"pooling":            {model: strings.Replace(model, "mean", "cls", 1), says: "pooling cls became mean"},
		"normalisation":      {model: strings.Replace(model, "l2", "none", 1), says: "normalisation none became l2"},
		"limit":              {model: strings.Replace(model, "256", "512", 1), says: "limit 512 became 256"},
		"query prefix":       {model: strings.Replace(model, "query_prefix=q", "query_prefix=", 1), says: "query_prefix (none) became q"},
		"passage prefix":     {model: strings.Replace(model, "passage_prefix=p", "passage_prefix=o", 1), says: "passage_prefix o became p"},
		"query input type":   {model: strings.Replace(model, "query_input_type=query;", "", 1), says: "query_input_type (none) became query"},
		"passage input type": {model: strings.Replace(model, "document", "passage", 1), says: "passage_input_type passage became document"},
		"chunker":            {model: model, chunker: -1, says: fmt.Sprintf("chunker %d became %d", chunker.Version-1, chunker.Version)},
		"context":            {model: model, context: -1, says: fmt.Sprintf("context %d became %d", chunker.ContextVersion-1, chunker.ContextVersion)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3)
			w.model = &hashing{name: test.model}
			before := embed.Fingerprint(test.model, chunker.Version+test.chunker, strconv.Itoa(chunker.ContextVersion+test.context))
			w.begin = aged{w.store, before}
			w.mustRun()
			if info := w.wantLive(w.site.pages); info.Fingerprint != before || info.Embedded != 3 {
				t.Fatalf("before: %+v", info)
			}

			w.begin, w.model = w.store, &hashing{name: model}
			var log strings.Builder
			w.log = slog.New(slog.NewTextHandler(&log, nil))
			r := w.mustRun()
			embedded := 3
			if test.model == model {
				embedded = 0 // the cache has the vectors of the same texts
			}
			if r.Outcome != search.Published || r.Embedded != embedded || r.Pages.Unchanged != 3 {
				t.Errorf("run: %+v", r)
			}
			if !strings.Contains(log.String(), `changed="`+test.says+`"`) {
				t.Errorf("the log does not say %q:\n%s", test.says, log.String())
			}
			info := w.wantLive(w.site.pages)
			if info.Fingerprint != indexer.Fingerprint(w.model) || info.Before != before || info.Embedded != 3 {
				t.Errorf("after: %+v", info)
			}
			w.wantVectors(model, 3)
			if r := w.mustRun(); r.Outcome != search.Unchanged || r.Embedded != 0 {
				t.Errorf("run after it: %+v", r)
			}
		})
	}
}

// wantVectors fails unless n chunks are found by the vector that the model of the
// name gives their text, and by nothing else.
func (w *world) wantVectors(name string, n int) {
	w.t.Helper()
	reader, err := w.store.Reader(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	_, info := w.live()
	model, found := &hashing{name: name}, 0
	for path, text := range w.site.pages {
		chunks, err := reader.Chunks(w.t.Context(), "docs", base+path, 0, 0)
		if err != nil || len(chunks) != 1 {
			w.t.Fatalf("%s: %d chunks, %v", text, len(chunks), err)
		}
		vectors, err := model.Embed(w.t.Context(), []string{chunks[0].Embedded()}, embed.Passage)
		if err != nil {
			w.t.Fatal(err)
		}
		got, err := reader.Candidates(w.t.Context(), search.Request{Vectors: map[string][]float32{info.Fingerprint: vectors[0]}, Limit: 99})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(got.Dense) == n && got.Dense[0].URL == base+path && math.Abs(got.Dense[0].Score-1) < 1e-4 {
			found++
		}
	}
	if found != n {
		w.t.Errorf("%d of %d chunks are found by their own vector", found, n)
	}
}

// A run with another model that ends midway leaves the old generation with its
// vectors alone, and what was embedded is not paid for again.
func TestAnotherModelInterrupted(t *testing.T) {
	w := newWorld(t, 40)
	w.mustRun()
	_, before := w.live()
	ctx, cancel := context.WithCancel(t.Context())
	w.model = &hashing{name: "b", after: func(embedded int) {
		if embedded == 32 {
			cancel()
		}
	}}
	if _, err := w.indexer().Run(ctx, w.src, indexer.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	if info := w.wantLive(w.site.pages); info.Generation != before.Generation || info.Fingerprint != before.Fingerprint {
		t.Errorf("live: %+v", info)
	}
	w.wantVectors("a", 40)
	w.model = &hashing{name: "b"}
	if r := w.mustRun(); r.Embedded != 8 || len(w.model.texts) != 8 {
		t.Errorf("the run after it embedded %d texts, want the 8 that were left", r.Embedded)
	}
	w.wantVectors("b", 40)
}

func TestFullRunReadsAllAndEmbedsNothingTwice(t *testing.T) {
	w := newWorld(t, 3)
	w.mustRun()
	r, err := w.run(indexer.Options{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if w.site.asked["p00"].Validators.ETag != "" || r.Outcome != search.Published || r.Pages.Unchanged != 3 || r.Embedded != 0 {
		t.Errorf("full run: %+v", r)
	}
	w.wantLive(w.site.pages)
}

func TestDryRunChangesNothing(t *testing.T) {
	w := newWorld(t, 12)
	r, err := w.run(indexer.Options{DryRun: true})
	if err != nil || r.Pages != (search.PageCounts{New: 12}) || len(w.model.texts) != 0 {
		t.Errorf("dry run of a new source: %+v, %v, embedded %q", r, err, w.model.texts)
	}
	reader, err := w.store.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if infos, err := reader.Sources(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("it left %+v, %v", infos, err)
	}
	w.mustRun()
	before := maps.Clone(w.site.pages)
	_, was := w.live()
	if r, err = w.run(indexer.Options{DryRun: true}); err != nil || r.Outcome != search.Unchanged || r.Generation != was.Generation {
		t.Errorf("dry run of an unchanged site: %+v, %v", r, err)
	}
	w.site.pages["p00"] = "Changed."
	delete(w.site.pages, "p01")
	r, err = w.run(indexer.Options{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Pages != (search.PageCounts{Changed: 1, Unchanged: 10, Removed: 1}) || len(w.model.texts) != 0 {
		t.Errorf("dry run: %+v, embedded %q", r, w.model.texts)
	}
	if diff := cmp.Diff(was, w.wantLive(before)); diff != "" {
		t.Errorf("a dry run changed (-before +after):\n%s", diff)
	}
	if r := w.mustRun(); r.Outcome != search.Published || r.Pages.Changed != 1 || r.Pages.Removed != 1 {
		t.Errorf("the run after it: %+v", r)
	}
}

// An interrupted run leaves the live generation, and what it embedded is not
// paid for again.
func TestInterruption(t *testing.T) {
	w := newWorld(t, 30)
	w.mustRun()
	before := maps.Clone(w.site.pages)
	for p := range w.site.pages {
		w.site.pages[p] = "Changed: " + w.site.pages[p]
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pulled the plug")
	w.site.block = func(ctx context.Context, n int) error {
		if n == 20 {
			cancel(why)
			<-ctx.Done()
			return errors.New("the connection was closed")
		}
		return nil
	}
	r, err := w.indexer().Run(ctx, w.src, indexer.Options{})
	if want := "source " + w.src.Name + ": interrupted: somebody pulled the plug"; !errors.Is(err, why) || err.Error() != want || r.Error != want || r.Outcome != search.Failed {
		t.Errorf("run: %+v, %v", r, err)
	}
	w.wantLive(before)
	w.site.block = nil
	if r := w.mustRun(); r.Outcome != search.Published || r.Pages.Changed != 30 {
		t.Errorf("run after it: %+v", r)
	}
	w.wantLive(w.site.pages)
}

func TestOneRunAtATime(t *testing.T) {
	w := newWorld(t, 3)
	inside, release := make(chan struct{}), make(chan struct{})
	w.site.block = func(_ context.Context, n int) error {
		if n == 0 {
			close(inside)
			<-release
		}
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.indexer().Run(t.Context(), w.src, indexer.Options{})
		ended <- err
	}()
	<-inside
	other := *w
	other.site = newSite(3)
	r, err := other.run(indexer.Options{})
	var locked *search.LockedError
	if !errors.As(err, &locked) || locked.Holder == "" || r.Outcome != search.Failed {
		t.Errorf("second run: %+v, %v", r, err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, info := w.live(); info.LastRun == nil || info.LastRun.Outcome != search.Published {
		t.Errorf("a run that found the source held left its mark: %+v", info.LastRun)
	}
}

func TestMadeTellsWhatARunWouldChange(t *testing.T) {
	w := newWorld(t, 3)
	if w.indexer().Made(t.Context(), search.SourceInfo{}, w.src) {
		t.Error("a source that was never indexed is said to be made")
	}
	w.mustRun()
	_, info := w.live()
	if !w.indexer().Made(t.Context(), info, w.src) {
		t.Errorf("a run would change %+v", info)
	}
	other := w.src
	other.Exclude = []string{"/p00"}
	if w.indexer().Made(t.Context(), info, other) {
		t.Error("other settings are not seen")
	}
	w.model = &hashing{name: "b"}
	if w.indexer().Made(t.Context(), info, w.src) {
		t.Error("another embedder is not seen")
	}
}
