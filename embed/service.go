package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
)

// OpenPatience is how long Open waits for a server that is busy.
const OpenPatience = 30 * time.Second

// Options tune a Service. The zero value is good for a model in the process.
type Options struct {
	// BatchTexts and BatchBytes bound what one request carries; 0 means 32 texts
	// and 256 KiB. A text that is larger by itself is sent alone.
	BatchTexts int
	BatchBytes int
	// Concurrency is the most requests under way at once; 0 means 1.
	Concurrency int
	// Attempts is how often a request is tried, the first time included; 0 means 8.
	Attempts int
	// Patience bounds the time that one batch takes, waits included; 0 means 5 minutes.
	Patience time.Duration
	// QueryPatience is that bound for a query, which somebody waits for; 0 means 10 s.
	QueryPatience time.Duration
	// RequestsPerMinute and TokensPerMinute bound the requests for passages, evenly
	// over the minute; 0 means no bound. Tokens are estimated, rather too many.
	RequestsPerMinute, TokensPerMinute int
	// Cache keeps the passages' vectors; nil means none.
	Cache Cache
	// Log gets retries and failures of the cache; nil means nowhere.
	Log *slog.Logger
}

// Cache keeps vectors by the embedder's fingerprint and the text's hash (see
// TextHash). It is safe for concurrent use. A cache may forget.
type Cache interface {
	// Get returns the vectors it has; hashes that it has none for are left out.
	// The vectors are the caller's.
	Get(ctx context.Context, fingerprint string, hashes []string) (map[string][]float32, error)
	// Put keeps vectors, but not the slices.
	Put(ctx context.Context, fingerprint string, vectors map[string][]float32) error
}

// Service embeds many texts through one embedder. It is safe for concurrent
// use; concurrent calls share the bound on requests.
type Service struct {
	embedder Embedder
	o        Options
	gate     *gate
	// batch is the most texts of a batch: at first Options.BatchTexts, and less
	// once the model was seen to take less.
	batch atomic.Int64
	// taken says that the model has given a vector, refused of how many distinct
	// texts it gave none.
	taken   atomic.Bool
	refused atomic.Int64
}

// NewService returns a service around an embedder.
func NewService(e Embedder, o Options) *Service {
	o = o.withDefaults()
	s := &Service{embedder: e, o: o, gate: newGate(o.RequestsPerMinute, o.TokensPerMinute)}
	s.batch.Store(int64(o.BatchTexts))
	return s
}

// Open opens an embedder and returns a service around it. A server that answers,
// but cannot serve now, is given OpenPatience; one that does not answer is an
// error at once.
func Open(ctx context.Context, open func(context.Context) (Embedder, error), o Options) (*Service, error) {
	e, err := retry(ctx, o.withDefaults(), OpenPatience, func() (Embedder, error) {
		e, err := open(ctx)
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.Status == 0 {
			final := *refusal
			final.Temporary = false
			return nil, &final
		}
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("open the embedder: %w", err)
	}
	return NewService(e, o), nil
}

func (o Options) withDefaults() Options {
	o.BatchTexts = orDefault(o.BatchTexts, 32)
	o.BatchBytes = orDefault(o.BatchBytes, 256<<10)
	o.Concurrency = orDefault(o.Concurrency, 1)
	o.Attempts = orDefault(o.Attempts, 8)
	o.Patience = orDefault(o.Patience, 5*time.Minute)
	o.QueryPatience = orDefault(o.QueryPatience, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Fingerprint is the embedder's.
func (s *Service) Fingerprint() string { return s.embedder.Fingerprint() }

// Dimension is the embedder's.
func (s *Service) Dimension() int { return s.embedder.Dimension() }

// Result is what EmbedPassages did.
type Result struct {
	// Vectors are parallel to the texts, of length 1; nil where there is none.
	// Equal texts share one vector.
	Vectors [][]float32
	// Embedded counts the texts that the embedder did; Cached those that it was
	// spared, because the cache had them or an equal text was in the same call.
	Embedded, Cached int
	// Refused are the texts that the model gives no vector of, by Index: they are
	// too long for it, or it answered with zeros or no numbers.
	Refused []*TextError
}

// EmbedPassages embeds texts. Progress, if not nil, hears how many of the texts
// are done, never from two goroutines at once. A text that the model gives no
// vector of is among Result.Refused and no error, unless it never gives any.
// When an error or the end of ctx cuts the work short, the result still holds
// every vector made so far, and the cache keeps them.
func (s *Service) EmbedPassages(ctx context.Context, texts []string, progress func(done, total int)) (Result, error) {
	j := s.newJob(texts, progress)
	j.fromCache(ctx)
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.o.Concurrency)
	for batch := range j.batches() {
		if gctx.Err() != nil {
			break
		}
		group.Go(func() error { return j.embed(gctx, batch) })
	}
	err := group.Wait()
	if ctx.Err() != nil && j.done < len(texts) {
		err = context.Cause(ctx)
	}
	return j.finish(err)
}

// EmbedQuery embeds one query. It does not wait behind passages.
func (s *Service) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.QueryPatience)
	defer cancel()
	vectors, err := retry(ctx, s.o, s.o.QueryPatience, func() ([][]float32, error) {
		return s.once(ctx, []string{text}, Query)
	})
	if err == nil {
		err = unit(vectors[0])
	}
	if err != nil {
		return nil, fmt.Errorf("embed the query: %w", err)
	}
	return vectors[0], nil
}

// retry tries op until it succeeds, fails for good, or patience or attempts end.
func retry[T any](ctx context.Context, o Options, patience time.Duration, op func() (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.Multiplier = 2
	wait.MaxInterval = 30 * time.Second
	var none T
	var last error
	done, err := backoff.Retry(ctx, func() (T, error) {
		done, err := op()
		if err == nil {
			return done, nil
		}
		last = err
		refusal, ok := errors.AsType[*Error](err)
		switch {
		case !ok || !refusal.Temporary:
			return none, backoff.Permanent(err)
		case refusal.RetryAfter > 0:
			return none, &backoff.RetryAfterError{Duration: refusal.RetryAfter}
		default:
			return none, err
		}
	},
		backoff.WithBackOff(wait),
		backoff.WithMaxTries(uint(o.Attempts)),
		backoff.WithMaxElapsedTime(patience),
		backoff.WithNotify(func(_ error, wait time.Duration) {
			o.Log.LogAttrs(ctx, slog.LevelWarn, "embedding will be tried again",
				slog.Duration("wait", wait), slog.String("error", last.Error()))
		}),
	)
	switch ended := ctx.Err(); {
	case err == nil:
		return done, nil
	case ended != nil && !errors.Is(last, ended):
		return none, fmt.Errorf("%w while waiting to try again after: %w", ended, last)
	default:
		return none, last
	}
}

// once asks the embedder and checks the shape of its answer.
func (s *Service) once(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	vectors, err := s.embedder.Embed(ctx, texts, kind)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, s.broken("%d vectors for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if want := s.embedder.Dimension(); len(v) != want {
			return nil, s.broken("a vector of %d dimensions where %d were expected", len(v), want)
		}
	}
	return vectors, nil
}

func (s *Service) broken(format string, args ...any) error {
	return &VectorError{Fingerprint: s.Fingerprint(), Problem: fmt.Sprintf(format, args...)}
}

// Errors of a vector that cannot be searched for.
var (
	ErrNotFinite = errors.New("the vector has a component that is not a finite number")
	ErrZero      = errors.New("the vector is all zeros")
)

// unit brings a vector to length 1 in place. One that has it already keeps its bits.
func unit(v []float32) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return ErrNotFinite
	case sum == 0:
		return ErrZero
	case math.Abs(sum-1) < 1e-6:
		return nil
	}
	length := math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return nil
}
