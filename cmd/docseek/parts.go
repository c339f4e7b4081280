package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/chunker"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/builtin"
	"github.com/docseek/docseek/embed/encoder"
	"github.com/docseek/docseek/embed/model"
	"github.com/docseek/docseek/embed/openai"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/indexer"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
	"github.com/docseek/docseek/search/local"
	"github.com/docseek/docseek/search/qdrant"
	"github.com/docseek/docseek/search/rerank"
)

// parts are the rooms put together for one command.
type parts struct {
	config  config.Config
	store   search.Store
	log     *slog.Logger
	dir     string
	builtin func() (*builtin.Model, error)
	cpu     string // the kernel that local models compute with; empty means the fastest
	// reranker is nil where none is configured.
	reranker search.Reranker
	// answered hears what sites answer; nil hears nothing.
	answered func(status int)
	// nextRun is set by serve, where there is a scheduler.
	nextRun  func(source string) time.Time
	interval time.Duration
}

// open reads the configuration, see [app.configuration], and opens its index.
func (a *app) open(ctx context.Context, urls []string) (*parts, error) {
	c, err := a.configuration(urls)
	if err != nil {
		return nil, err
	}
	return a.assemble(ctx, c)
}

// assemble opens the index that a configuration names.
func (a *app) assemble(ctx context.Context, c config.Config) (*parts, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	store, err := a.openStore(ctx, c.Store, dir)
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	p := a.newParts(c)
	p.store, p.dir = store, dir
	if c.Reranker.URL != "" {
		if p.reranker, err = newReranker(c.Reranker); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return p, nil
}

// openStore opens the store that is configured; dir is the data directory.
func (a *app) openStore(ctx context.Context, c config.Store, dir string) (search.Store, error) {
	if c.Kind == config.Local {
		return local.Open(ctx, filepath.Join(dir, "index"), local.Options{Logger: a.log})
	}
	return qdrant.Open(qdrant.Options{
		URL: c.URL, APIKey: c.APIKey.Reveal(), Collection: c.Collection,
		Shards: uint32(c.Shards), Replicas: uint32(c.Replicas),
		WriteConsistency: uint32(c.WriteConsistency), ReadConsistency: qdrant.ReadConsistency(c.ReadConsistency),
		Quantization: qdrant.Quantization(c.Quantization), Oversampling: c.Oversampling, OnDisk: c.OnDisk, Logger: a.log,
	})
}

func newReranker(c config.Reranker) (*rerank.Client, error) {
	return rerank.New(rerank.Options{URL: c.URL, Model: c.Model, APIKey: c.APIKey.Reveal()})
}

// newParts are the parts that need no index.
func (a *app) newParts(c config.Config) *parts {
	kernel := a.env("DOCSEEK_CPU")
	return &parts{
		config: c, log: a.log, cpu: kernel,
		builtin: sync.OnceValues(func() (*builtin.Model, error) { return builtin.New(builtin.Options{CPU: kernel}) }),
	}
}

func (p *parts) close(err *error) {
	if e := p.store.Close(); e != nil {
		*err = errors.Join(*err, fmt.Errorf("close the index: %w", e))
	}
}

// embedder opens the configured embedder; cache may be nil.
func (p *parts) embedder(ctx context.Context, cache embed.Cache) (*embed.Service, error) {
	c := p.config.Embedder
	o := embed.Options{Log: p.log, BatchTexts: c.Batch, Cache: cache}
	if c.Provider == config.Builtin {
		model, err := p.builtin()
		if err != nil {
			return nil, fmt.Errorf("load the builtin model: %w", err)
		}
		return embed.NewService(model, o), nil
	}
	if c.Provider == config.Model {
		local, err := model.Open(model.Options{
			Dir: c.Path, Precision: encoder.Precision(c.Precision), QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix,
			CPU: p.cpu, Log: p.log,
		})
		if err != nil {
			return nil, err
		}
		return embed.NewService(local, o), nil
	}
	o.Concurrency, o.RequestsPerMinute, o.TokensPerMinute = apiConcurrency, c.RequestsPerMinute, c.TokensPerMinute
	return embed.Open(ctx, func(ctx context.Context) (embed.Embedder, error) {
		return openai.Open(ctx, apiOptions(c))
	}, o)
}

// apiOptions say which API embeds.
func apiOptions(c config.Embedder) openai.Options {
	return openai.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: c.Model, Dimensions: c.Dimensions,
		QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix,
		QueryInputType: c.QueryInputType, PassageInputType: c.PassageInputType,
	}
}

// apiConcurrency is how many requests an embedding API gets at once.
const apiConcurrency = 4

// workshop is what makes runs, and what it keeps on disk for them.
type workshop struct {
	*indexer.Indexer
	cache    *embed.DiskCache
	embedder *embed.Lazy[*embed.Service]
}

// newWorkshop opens it. Close its cache.
func (p *parts) newWorkshop(ctx context.Context) (*workshop, error) {
	cache, err := embed.OpenDiskCache(ctx, filepath.Join(p.dir, "vectors"), 0)
	if err != nil {
		return nil, err
	}
	service := embed.NewLazy(func(ctx context.Context) (*embed.Service, error) { return p.embedder(ctx, cache) }, retryModel)
	c, err := crawler.New(crawler.Options{Version: version(), Logger: p.log, Answered: p.answered})
	if err != nil {
		return nil, errors.Join(err, cache.Close())
	}
	tokens, err := p.builtin()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load the builtin tokenizer: %w", err), cache.Close())
	}
	return &workshop{cache: cache, embedder: service, Indexer: indexer.New(indexer.Parts{
		Crawler: c, Chunker: chunker.New(tokens.Tokenizer()),
		Embedder: func(ctx context.Context) (indexer.Embedder, error) { return service.Get(ctx) },
		Store:    p.store, Analyzer: lexical.New(), Log: p.log, Now: time.Now,
	})}, nil
}

// prune lets go of the vectors on disk that neither the configured embedder nor a
// generation that is live, or a rollback leads to, has made. While the embedder
// cannot be had, it is not known which those are.
func (w *workshop) prune(ctx context.Context, store search.Store) error {
	service, err := w.embedder.Get(ctx)
	if err != nil {
		return nil //nolint:nilerr // the run has said it
	}
	reader, err := store.Reader(ctx)
	if err != nil {
		return err
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		return err
	}
	used := []string{service.Fingerprint()}
	for _, info := range infos {
		used = append(used, embed.EmbedderOf(info.Fingerprint), embed.EmbedderOf(info.Before))
	}
	return w.cache.Keep(ctx, used...)
}

// engine answers queries. The embedder is loaded with the first query that
// needs it, so that a server answers at once.
func (p *parts) engine() *search.Engine {
	load := p.queryEmbedder()
	return search.NewEngine(p.store, search.Options{
		Embedder:      load,
		Reranker:      p.reranker,
		RerankTop:     p.config.Reranker.Top,
		RerankTimeout: p.config.Reranker.Timeout,
		Sources:       p.served(),
		NextRun:       p.nextRun,
		Interval:      p.interval,
		Now:           time.Now,
		Log:           p.log,
	})
}

// served restricts the answers to the configured sources, where any are.
func (p *parts) served() func() []docseek.Source {
	if len(p.config.Sources) == 0 {
		return nil
	}
	return func() []docseek.Source { return p.config.Sources }
}

// retryModel is how long a model that could not be loaded is left alone.
const retryModel = 30 * time.Second

// queryEmbedder gives the engine the configured embedder. It is opened with the
// first query that needs it; one that could not be opened is left alone for a while.
func (p *parts) queryEmbedder() func(fingerprint string) search.QueryEmbedder {
	service := embed.NewLazy(func(ctx context.Context) (*embed.Service, error) { return p.embedder(ctx, nil) }, retryModel)
	return func(fingerprint string) search.QueryEmbedder { return queries{service, fingerprint} }
}

// queries embeds queries for the vectors of one fingerprint.
type queries struct {
	service     *embed.Lazy[*embed.Service]
	fingerprint string
}

func (q queries) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	service, err := q.service.Get(ctx)
	if err != nil {
		return nil, err
	}
	if now := indexer.Fingerprint(service); now != q.fingerprint {
		return nil, fmt.Errorf("%w: %s", search.ErrOtherModel, embed.Changed(q.fingerprint, now))
	}
	return service.EmbedQuery(ctx, text)
}

// sources are those that a command works on: the configured ones, or without
// any those that the index holds.
func (p *parts) sources(ctx context.Context) ([]docseek.Source, error) {
	if len(p.config.Sources) > 0 {
		return p.config.Sources, nil
	}
	reader, err := p.store.Reader(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	var sources []docseek.Source
	for _, info := range infos {
		// One that was never published may have been a slip of the pen.
		if info.Generation > 0 {
			sources = append(sources, info.Source)
		}
	}
	return sources, nil
}
