package embed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
)

// hopeless is after how many refused texts, when the service has never got a
// vector, the work ends: then it is not the texts.
const hopeless = 16

// job is one call of EmbedPassages.
type job struct {
	s        *Service
	texts    []string
	hashes   []string         // parallel to texts
	places   map[string][]int // hash → every index of its text, ascending
	todo     []int            // the first index of every distinct text that has no vector
	progress func(done, total int)

	mu     sync.Mutex
	result Result
	done   int
}

func (s *Service) newJob(texts []string, progress func(done, total int)) *job {
	j := &job{
		s: s, texts: texts, progress: progress,
		hashes: make([]string, len(texts)),
		places: make(map[string][]int, len(texts)),
		result: Result{Vectors: make([][]float32, len(texts))},
	}
	for i, text := range texts {
		hash := TextHash(text)
		j.hashes[i] = hash
		if len(j.places[hash]) == 0 {
			j.todo = append(j.todo, i)
		}
		j.places[hash] = append(j.places[hash], i)
	}
	return j
}

// fromCache fills in what the cache has. A cache that fails costs time, not the work.
func (j *job) fromCache(ctx context.Context) {
	if j.s.o.Cache == nil || len(j.todo) == 0 {
		return
	}
	wanted := make([]string, len(j.todo))
	for n, i := range j.todo {
		wanted[n] = j.hashes[i]
	}
	found, err := j.s.o.Cache.Get(ctx, j.s.Fingerprint(), wanted)
	if err != nil {
		j.s.o.Log.LogAttrs(ctx, slog.LevelWarn, "vector cache not read", slog.String("error", err.Error()))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.todo = slices.DeleteFunc(j.todo, func(i int) bool {
		v, ok := found[j.hashes[i]]
		if !ok || len(v) != j.s.Dimension() || unit(v) != nil {
			return false
		}
		j.result.Cached += j.fill(i, v)
		return true
	})
	if j.result.Cached > 0 {
		j.report()
	}
}

// batches cuts what is to do by count and bytes, in order.
func (j *job) batches() iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var bytes, start int
		for n, i := range j.todo {
			size := len(j.texts[i])
			if n > start && (n-start >= int(j.s.batch.Load()) || bytes+size > j.s.o.BatchBytes) {
				if !yield(j.todo[start:n]) {
					return
				}
				bytes, start = 0, n
			}
			bytes += size
		}
		if start < len(j.todo) {
			yield(j.todo[start:])
		}
	}
}

// embed does one batch. One that is more than the model takes is halved until the
// text that is too much stands alone; a text that the embedder names is left out.
func (j *job) embed(ctx context.Context, batch []int) error {
	texts := make([]string, len(batch))
	for n, i := range batch {
		texts[n] = j.texts[i]
	}
	tokens := 0
	for _, text := range texts {
		tokens += estimateTokens(text)
	}
	// The first wait for the bounds per minute costs no patience: it is no failure.
	if err := j.s.gate.pass(ctx, tokens); err != nil {
		return err
	}
	again := false
	vectors, err := retry(ctx, j.s.o, j.s.o.Patience, func() ([][]float32, error) {
		if again {
			if err := j.s.gate.pass(ctx, tokens); err != nil {
				return nil, err
			}
		}
		again = true
		vectors, err := j.s.once(ctx, texts, Passage)
		if refusal, ok := errors.AsType[*Error](err); ok && refusal.Temporary && refusal.RetryAfter > 0 {
			j.s.gate.pause(refusal.RetryAfter)
		}
		return vectors, err
	})
	if err == nil {
		return j.keep(ctx, batch, vectors)
	}
	if ctx.Err() != nil {
		return err
	}
	if text, ok := errors.AsType[*TextError](err); ok && text.Index >= 0 && text.Index < len(batch) {
		return j.without(ctx, batch, text.Index, text.Err)
	}
	refusal, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !refusal.TooLarge:
		return err
	case len(batch) == 1:
		return j.without(ctx, batch, 0, err)
	default:
		return j.halve(ctx, batch)
	}
}

// halve does a batch that was more than the model takes in two. When that was
// not because of a text, the batches from here on are smaller.
func (j *job) halve(ctx context.Context, batch []int) error {
	before := j.refused()
	first, second := batch[:len(batch)/2], batch[len(batch)/2:]
	if err := j.embed(ctx, first); err != nil {
		return err
	}
	if err := j.embed(ctx, second); err != nil {
		return err
	}
	for limit := j.s.batch.Load(); j.refused() == before && limit > int64(len(second)); limit = j.s.batch.Load() {
		j.s.batch.CompareAndSwap(limit, int64(len(second)))
	}
	return nil
}

func (j *job) refused() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.result.Refused)
}

// without gives up one text of a batch and embeds the others.
func (j *job) without(ctx context.Context, batch []int, n int, err error) error {
	j.mu.Lock()
	err = j.refuse(batch[n], err)
	j.report()
	j.mu.Unlock()
	if err != nil || len(batch) == 1 {
		return err
	}
	return j.embed(ctx, slices.Concat(batch[:n], batch[n+1:]))
}

// keep puts vectors into the result and the cache, even if ctx has just ended:
// they are paid for.
func (j *job) keep(ctx context.Context, batch []int, vectors [][]float32) error {
	good := make(map[string][]float32, len(batch))
	var refused error
	j.mu.Lock()
	for n, i := range batch {
		if err := unit(vectors[n]); err != nil {
			refused = errors.Join(refused, j.refuse(i, err))
			continue
		}
		good[j.hashes[i]] = vectors[n]
		j.s.taken.Store(true)
		j.result.Embedded++
		j.result.Cached += j.fill(i, vectors[n]) - 1
	}
	j.report()
	j.mu.Unlock()
	if j.s.o.Cache == nil || len(good) == 0 {
		return refused
	}
	if err := j.s.o.Cache.Put(context.WithoutCancel(ctx), j.s.Fingerprint(), good); err != nil {
		j.s.o.Log.LogAttrs(ctx, slog.LevelWarn, "vectors not cached", slog.String("error", err.Error()))
	}
	return refused
}

// fill puts a vector wherever its text stands and says in how many places. The
// caller holds the lock.
func (j *job) fill(i int, v []float32) int {
	places := j.places[j.hashes[i]]
	for _, place := range places {
		j.result.Vectors[place] = v
	}
	j.done += len(places)
	return len(places)
}

// refuse notes a text that the model gives no vector of; it fails when that is so
// of too many. The caller holds the lock.
func (j *job) refuse(i int, err error) error {
	for _, place := range j.places[j.hashes[i]] {
		j.result.Refused = append(j.result.Refused, &TextError{Index: place, Err: err})
		j.done++
	}
	if refused := j.s.refused.Add(1); refused >= hopeless && !j.s.taken.Load() {
		return fmt.Errorf("the model took none of the first %d texts: %w", refused, err)
	}
	return nil
}

func (j *job) report() {
	if j.progress != nil {
		j.progress(j.done, len(j.texts))
	}
}

func (j *job) finish(err error) (Result, error) {
	slices.SortFunc(j.result.Refused, func(a, b *TextError) int { return a.Index - b.Index })
	if err != nil {
		missing := len(j.texts) - j.result.Embedded - j.result.Cached
		return j.result, fmt.Errorf("%d of %d texts were not embedded: %w", missing, len(j.texts), err)
	}
	return j.result, nil
}
