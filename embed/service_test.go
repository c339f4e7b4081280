package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/docseek/docseek/embed"
)

func TestMain(m *testing.M) {
	if code, ok := cacheProcess(); ok {
		exit(code)
	}
	goleak.VerifyTestMain(m)
}

// model is an embedder of two dimensions that fails as told. A text's vector is
// its length and 1, so that it can be told by it.
type model struct {
	// before is asked with every batch; an error of it is the answer.
	before func(ctx context.Context, texts []string) error
	// vector overrides the vector of a text.
	vector func(text string) []float32
	// drop leaves so many vectors out.
	drop int

	mu      sync.Mutex
	batches [][]string
	kinds   []embed.Kind
	now     int
	most    int // batches at once
}

func (m *model) Fingerprint() string { return "model=test" }

func (m *model) Dimension() int { return 2 }

func (m *model) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	m.mu.Lock()
	m.batches = append(m.batches, append([]string(nil), texts...))
	m.kinds = append(m.kinds, kind)
	m.now++
	m.most = max(m.most, m.now)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.now--
		m.mu.Unlock()
	}()
	if m.before != nil {
		if err := m.before(ctx, texts); err != nil {
			return nil, err
		}
	}
	var vectors [][]float32
	for _, text := range texts[m.drop:] {
		v := []float32{float32(len(text)), 1}
		if m.vector != nil {
			v = m.vector(text)
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

func (m *model) sizes() []int {
	var sizes []int
	for _, batch := range m.batches {
		sizes = append(sizes, len(batch))
	}
	return sizes
}

// memory is a cache that fails as told.
type memory struct {
	err  error
	mu   sync.Mutex
	kept map[string][]float32
}

func (c *memory) Get(_ context.Context, fingerprint string, hashes []string) (map[string][]float32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]float32{}
	for _, hash := range hashes {
		if v, ok := c.kept[fingerprint+hash]; ok {
			found[hash] = append([]float32(nil), v...)
		}
	}
	return found, c.err
}

func (c *memory) Put(ctx context.Context, fingerprint string, vectors map[string][]float32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.kept == nil {
		c.kept = map[string][]float32{}
	}
	for hash, v := range vectors {
		c.kept[fingerprint+hash] = append([]float32(nil), v...)
	}
	return ctx.Err()
}

func numbered(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	return texts
}

// unit is the vector that the service has to give for a text of the test's model.
func unit(text string) []float32 {
	n := float64(len(text))
	length := math.Sqrt(n*n + 1)
	return []float32{float32(n / length), float32(1 / length)}
}

func check(t *testing.T, texts []string, got [][]float32, without ...int) {
	t.Helper()
	want := make([][]float32, len(texts))
	for i, text := range texts {
		want[i] = unit(text)
	}
	for _, i := range without {
		want[i] = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
}

func TestTextHashIsSHA256(t *testing.T) {
	// The digest of "abc" in FIPS 180-4.
	if got, want := embed.TextHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("TextHash = %s, want %s", got, want)
	}
}

func TestFingerprintsTellWhatChanged(t *testing.T) {
	base := embed.Fingerprint("model=a;dimension=384", 1, "t1")
	tests := []struct{ after, want string }{
		{base, ""},
		{embed.Fingerprint("model=b;dimension=384", 1, "t1"), "model a became b"},
		{embed.Fingerprint("model=a;dimension=768;limit=256", 1, "t1"), "dimension 384 became 768, limit (none) became 256"},
		{embed.Fingerprint("model=a;dimension=384", 2, "t;2"), "chunker 1 became 2, context t1 became t%3B2"},
		{"plain", "model a became (none), dimension 384 became (none), chunker 1 became (none), context t1 became (none), embedder (none) became plain"},
	}
	for _, test := range tests {
		if got := embed.Changed(base, test.after); got != test.want {
			t.Errorf("Changed(%q, %q) = %q, want %q", base, test.after, got, test.want)
		}
	}
}

func TestBatchesKeepTheirBounds(t *testing.T) {
	tests := []struct {
		name  string
		o     embed.Options
		texts []string
		sizes []int
	}{
		{"none", embed.Options{}, nil, nil},
		{"default", embed.Options{}, numbered(70), []int{32, 32, 6}},
		{"by count", embed.Options{BatchTexts: 2}, numbered(5), []int{2, 2, 1}},
		{"by bytes", embed.Options{BatchBytes: 6}, numbered(5), []int{3, 1, 1}},
		{"larger than the bound", embed.Options{BatchBytes: 1}, numbered(3), []int{1, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &model{}
			got, err := embed.NewService(m, test.o).EmbedPassages(t.Context(), test.texts, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, test.texts, got.Vectors)
			if diff := cmp.Diff(test.sizes, m.sizes()); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			if got.Embedded != len(test.texts) || got.Cached != 0 {
				t.Errorf("Embedded %d, Cached %d", got.Embedded, got.Cached)
			}
		})
	}
}

func TestEqualTextsAreEmbeddedOnce(t *testing.T) {
	m := &model{}
	texts := []string{"a", "bb", "a", "a", "bb"}
	got, err := embed.NewService(m, embed.Options{}).EmbedPassages(t.Context(), texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, texts, got.Vectors)
	if diff := cmp.Diff([][]string{{"a", "bb"}}, m.batches); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if got.Embedded != 2 || got.Cached != 3 {
		t.Errorf("Embedded %d, Cached %d, want 2 and 3", got.Embedded, got.Cached)
	}
}

func TestTheCacheSparesTheModel(t *testing.T) {
	cache := &memory{}
	m := &model{}
	s := embed.NewService(m, embed.Options{Cache: cache, BatchTexts: 2})
	if _, err := s.EmbedPassages(t.Context(), numbered(4), nil); err != nil {
		t.Fatal(err)
	}
	var heard []int
	got, err := s.EmbedPassages(t.Context(), numbered(5), func(done, total int) { heard = append(heard, done, total) })
	if err != nil {
		t.Fatal(err)
	}
	check(t, numbered(5), got.Vectors)
	if got.Embedded != 1 || got.Cached != 4 {
		t.Errorf("Embedded %d, Cached %d, want 1 and 4", got.Embedded, got.Cached)
	}
	if diff := cmp.Diff([]int{4, 5, 5, 5}, heard); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestBadVectorsInTheCacheAreMadeAgain(t *testing.T) {
	texts := numbered(3)
	cache := &memory{kept: map[string][]float32{
		"model=test" + embed.TextHash(texts[0]): {1, 2, 3},
		"model=test" + embed.TextHash(texts[1]): {0, 0},
	}}
	got, err := embed.NewService(&model{}, embed.Options{Cache: cache}).EmbedPassages(t.Context(), texts, nil)
	if err != nil || got.Embedded != 3 {
		t.Errorf("Embedded %d, error %v", got.Embedded, err)
	}
	check(t, texts, got.Vectors)
}

func TestACacheThatFailsCostsOnlyTime(t *testing.T) {
	s := embed.NewService(&model{}, embed.Options{Cache: &memory{err: errors.New("disk full")}})
	got, err := s.EmbedPassages(t.Context(), numbered(3), nil)
	if err != nil || got.Embedded != 3 {
		t.Errorf("Embedded %d, error %v", got.Embedded, err)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{before: func(context.Context, []string) error { time.Sleep(time.Second); return nil }}
		start := time.Now()
		got, err := embed.NewService(m, embed.Options{BatchTexts: 1, Concurrency: 3}).EmbedPassages(t.Context(), numbered(9), nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, numbered(9), got.Vectors)
		if took := time.Since(start); m.most != 3 || took != 3*time.Second {
			t.Errorf("%d batches at once, %s in all, want 3 and 3s", m.most, took)
		}
	})
}

func TestRequestsPerMinuteAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := embed.NewService(&model{}, embed.Options{BatchTexts: 1, Concurrency: 5, RequestsPerMinute: 30})
		if _, err := s.EmbedPassages(t.Context(), numbered(11), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start).Round(time.Millisecond); took != 20*time.Second {
			t.Errorf("11 requests took %s, want 20s", took)
		}
	})
}

func TestTokensPerMinuteAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := make([]string, 11)
		for i := range texts {
			texts[i] = fmt.Sprintf("%02d", i) + strings.Repeat("abc", 118) // 120 tokens, as estimated
		}
		start := time.Now()
		s := embed.NewService(&model{}, embed.Options{BatchTexts: 1, Concurrency: 5, TokensPerMinute: 240})
		got, err := s.EmbedPassages(t.Context(), texts, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, texts, got.Vectors)
		if took := time.Since(start).Round(time.Second); took != 329*time.Second {
			t.Errorf("11 texts of 120 tokens took %s at 240 a minute, want 5m29s: a second's worth is there at first", took)
		}
	})
}

// A wait for the bound is no failure, however long it is: it may be longer than
// what a batch may take.
func TestTheBoundOfTokensCostsNoPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		m := &model{before: func(context.Context, []string) error {
			if !failed {
				failed = true
				return &embed.Error{Op: "embed", Status: 503, Temporary: true, Err: errors.New("busy")}
			}
			return nil
		}}
		s := embed.NewService(m, embed.Options{TokensPerMinute: 6, Patience: 5 * time.Minute})
		if got, err := s.EmbedPassages(t.Context(), []string{strings.Repeat("abc", 60)}, nil); err != nil || got.Embedded != 1 {
			t.Errorf("Embedded %d, error %v", got.Embedded, err)
		}
	})
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 3
		m := &model{before: func(context.Context, []string) error {
			if failures--; failures >= 0 {
				return &embed.Error{Op: "embed", Status: 503, Temporary: true, Err: errors.New("busy")}
			}
			return nil
		}}
		got, err := embed.NewService(m, embed.Options{}).EmbedPassages(t.Context(), numbered(2), nil)
		if err != nil || len(m.batches) != 4 {
			t.Fatalf("%d requests, error %v", len(m.batches), err)
		}
		check(t, numbered(2), got.Vectors)
	})
}

func TestRetryAfterHoldsForEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var refused bool
		var served []time.Duration
		var mu sync.Mutex
		m := &model{before: func(context.Context, []string) error {
			mu.Lock()
			defer mu.Unlock()
			if !refused {
				refused = true
				return &embed.Error{Op: "embed", Status: 429, Temporary: true, RetryAfter: 20 * time.Second, Err: errors.New("slow down")}
			}
			served = append(served, time.Since(start))
			return nil
		}}
		s := embed.NewService(m, embed.Options{BatchTexts: 1})
		if _, err := s.EmbedPassages(t.Context(), numbered(1), nil); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		refused = false
		start = time.Now()
		served = nil
		mu.Unlock()
		done := make(chan error)
		go func() {
			_, err := s.EmbedPassages(t.Context(), []string{"first"}, nil)
			done <- err
		}()
		synctest.Wait() // the first was refused and waits
		go func() {
			_, err := s.EmbedPassages(t.Context(), []string{"second"}, nil)
			done <- err
		}()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if len(served) != 2 || served[0] < 20*time.Second || served[1] < 20*time.Second {
			t.Errorf("served after %v, want both after 20s", served)
		}
	})
}

func TestTriesEnd(t *testing.T) {
	busy := func(after time.Duration) func(context.Context, []string) error {
		return func(context.Context, []string) error {
			return &embed.Error{Op: "embed", Status: 503, Temporary: true, RetryAfter: after, Err: errors.New("busy")}
		}
	}
	tests := []struct {
		name     string
		o        embed.Options
		after    time.Duration
		requests int
	}{
		{"by count", embed.Options{Attempts: 3}, 0, 3},
		{"by default", embed.Options{}, 0, 8},
		{"by time", embed.Options{Patience: time.Minute}, 25 * time.Second, 3},
		{"at once when told to wait too long", embed.Options{}, time.Hour, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &model{before: busy(test.after)}
				_, err := embed.NewService(m, test.o).EmbedPassages(t.Context(), numbered(1), nil)
				if err == nil || !strings.Contains(err.Error(), "1 of 1 texts were not embedded: embed: status 503: busy") {
					t.Errorf("error = %v", err)
				}
				if len(m.batches) != test.requests {
					t.Errorf("%d requests, want %d", len(m.batches), test.requests)
				}
			})
		})
	}
}

func TestWhatIsFinalIsNotTriedAgain(t *testing.T) {
	for _, final := range []error{
		&embed.Error{Op: "embed", Status: 401, Err: errors.New("wrong key"), Hint: "check api_key"},
		errors.New("broken"),
	} {
		m := &model{before: func(context.Context, []string) error { return final }}
		_, err := embed.NewService(m, embed.Options{BatchTexts: 1}).EmbedPassages(t.Context(), numbered(3), nil)
		if !errors.Is(err, final) || len(m.batches) != 1 {
			t.Errorf("%d requests, error %v, want 1 and %v", len(m.batches), err, final)
		}
	}
}

// atMost refuses batches of more texts, and texts of more bytes.
func atMost(texts, bytes int) func(context.Context, []string) error {
	return func(_ context.Context, batch []string) error {
		if len(batch) > texts {
			return &embed.Error{Op: "embed", Status: 422, TooLarge: true, Err: errors.New("batch too large")}
		}
		for _, text := range batch {
			if len(text) > bytes {
				return &embed.Error{Op: "embed", Status: 413, TooLarge: true, Err: errors.New("text too long")}
			}
		}
		return nil
	}
}

func TestABatchThatIsTooLargeIsHalved(t *testing.T) {
	m := &model{before: atMost(3, 100)}
	got, err := embed.NewService(m, embed.Options{}).EmbedPassages(t.Context(), numbered(10), nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, numbered(10), got.Vectors)
	if diff := cmp.Diff([]int{10, 5, 2, 3, 5, 2, 3}, m.sizes()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestBatchesShrinkToWhatTheModelTakes(t *testing.T) {
	m := &model{before: atMost(10, 200)}
	s := embed.NewService(m, embed.Options{})
	for range 2 {
		if _, err := s.EmbedPassages(t.Context(), numbered(64), nil); err != nil {
			t.Fatal(err)
		}
	}
	sizes := m.sizes()
	again := sizes[len(sizes)-8:]
	if diff := cmp.Diff([]int{8, 8, 8, 8, 8, 8, 8, 8}, again); diff != "" {
		t.Errorf("batches of the second call (-want +got):\n%s", diff)
	}
}

func TestATextThatIsTooLongDoesNotShrinkTheBatches(t *testing.T) {
	m := &model{before: atMost(32, 31)}
	s := embed.NewService(m, embed.Options{})
	if got, err := s.EmbedPassages(t.Context(), numbered(32), nil); err != nil || len(got.Refused) != 1 {
		t.Fatalf("refused %v, error %v", got.Refused, err)
	}
	m.batches = nil
	if _, err := s.EmbedPassages(t.Context(), numbered(31), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{31}, m.sizes()); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestATextThatIsTooLongIsLeftOutAlone(t *testing.T) {
	m := &model{before: atMost(32, 6)}
	texts := append(numbered(8), numbered(7)[6])
	var last int
	got, err := embed.NewService(m, embed.Options{}).EmbedPassages(t.Context(), texts, func(done, _ int) { last = done })
	if err != nil {
		t.Fatal(err)
	}
	check(t, texts, got.Vectors, 6, 7, 8)
	var refused []int
	for _, r := range got.Refused {
		refused = append(refused, r.Index)
		if !strings.Contains(r.Error(), "text too long") {
			t.Errorf("refused because %v", r)
		}
	}
	if diff := cmp.Diff([]int{6, 7, 8}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if got.Embedded != 6 || got.Cached != 0 || last != len(texts) {
		t.Errorf("Embedded %d, Cached %d, done %d", got.Embedded, got.Cached, last)
	}
}

func TestATextThatTheEmbedderNamesIsLeftOut(t *testing.T) {
	m := &model{before: func(_ context.Context, texts []string) error {
		for i, text := range texts {
			if len(text) == 3 {
				return &embed.TextError{Index: i, Err: errors.New("too long")}
			}
		}
		return nil
	}}
	got, err := embed.NewService(m, embed.Options{}).EmbedPassages(t.Context(), numbered(5), nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, numbered(5), got.Vectors, 2)
	if len(got.Refused) != 1 || got.Refused[0].Index != 2 {
		t.Errorf("refused %v", got.Refused)
	}
}

func TestAModelThatTakesNothingEndsTheWork(t *testing.T) {
	m := &model{before: atMost(32, 0)}
	s := embed.NewService(m, embed.Options{BatchTexts: 1})
	got, err := s.EmbedPassages(t.Context(), numbered(10), nil)
	if err != nil || len(got.Refused) != 10 {
		t.Errorf("the first ten: %d refused, error %v; they might be the texts", len(got.Refused), err)
	}
	_, err = s.EmbedPassages(t.Context(), numbered(6), nil)
	if err == nil || !strings.Contains(err.Error(), "took none of the first 16 texts") || len(m.batches) != 16 {
		t.Errorf("%d requests, error %v", len(m.batches), err)
	}
}

func TestATextThatIsTooLongMayStandAlone(t *testing.T) {
	s := embed.NewService(&model{before: atMost(32, 100)}, embed.Options{})
	if _, err := s.EmbedPassages(t.Context(), numbered(1), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		got, err := s.EmbedPassages(t.Context(), []string{strings.Repeat("x", 200+i)}, nil)
		if err != nil || len(got.Refused) != 1 || got.Vectors[0] != nil {
			t.Fatalf("refused %v, error %v", got.Refused, err)
		}
	}
}

func TestVectorsThatCannotBeSearchedAreLeftOut(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	m := &model{vector: func(text string) []float32 {
		switch len(text) {
		case 1:
			return []float32{nan, 1}
		case 2:
			return []float32{inf, 1}
		case 3:
			return []float32{0, 0}
		case 4:
			return []float32{3e38, 3e38}
		default:
			return []float32{float32(len(text)), 1}
		}
	}}
	cache := &memory{}
	got, err := embed.NewService(m, embed.Options{Cache: cache}).EmbedPassages(t.Context(), numbered(5), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Refused) != 3 || !errors.Is(got.Refused[0], embed.ErrNotFinite) || !errors.Is(got.Refused[1], embed.ErrNotFinite) || !errors.Is(got.Refused[2], embed.ErrZero) {
		t.Errorf("refused %v", got.Refused)
	}
	want := [][]float32{nil, nil, nil, {float32(math.Sqrt2 / 2), float32(math.Sqrt2 / 2)}, unit("xxxxx")}
	if diff := cmp.Diff(want, got.Vectors); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
	if len(cache.kept) != 2 {
		t.Errorf("%d vectors cached, want 2", len(cache.kept))
	}
}

func TestAVectorOfLengthOneKeepsItsBits(t *testing.T) {
	given := []float32{0.6, 0.80000001}
	m := &model{vector: func(string) []float32 { return append([]float32(nil), given...) }}
	got, err := embed.NewService(m, embed.Options{}).EmbedQuery(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given, got); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
}

func TestAnEmbedderThatBreaksItsContractIsFinal(t *testing.T) {
	tests := []struct {
		m    *model
		says string
	}{
		{&model{drop: 1}, "the embedder model=test gave 2 vectors for 3 texts"},
		{&model{vector: func(string) []float32 { return make([]float32, 3) }}, "a vector of 3 dimensions where 2 were expected"},
	}
	for _, test := range tests {
		_, err := embed.NewService(test.m, embed.Options{}).EmbedPassages(t.Context(), numbered(3), nil)
		var broken *embed.VectorError
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), test.says) || len(test.m.batches) != 1 {
			t.Errorf("%d requests, error %v, want %q", len(test.m.batches), err, test.says)
		}
	}
}

func TestAnInterruptKeepsWhatIsDone(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	m := &model{}
	m.before = func(ctx context.Context, texts []string) error {
		if len(texts[0]) == 5 { // the third batch
			interrupt(cause)
			return ctx.Err()
		}
		return nil
	}
	cache := &memory{}
	s := embed.NewService(m, embed.Options{Cache: cache, BatchTexts: 2})
	got, err := s.EmbedPassages(ctx, numbered(8), nil)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "4 of 8 texts were not embedded") {
		t.Errorf("error = %v", err)
	}
	check(t, numbered(8), got.Vectors, 4, 5, 6, 7)
	if got.Embedded != 4 || len(cache.kept) != 4 {
		t.Errorf("Embedded %d, %d cached", got.Embedded, len(cache.kept))
	}
	m.before = nil
	got, err = s.EmbedPassages(t.Context(), numbered(8), nil)
	if err != nil || got.Cached != 4 || got.Embedded != 4 {
		t.Errorf("after it: Embedded %d, Cached %d, error %v", got.Embedded, got.Cached, err)
	}
}

func TestAnInterruptEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		busy := errors.New("busy")
		m := &model{before: func(context.Context, []string) error {
			return &embed.Error{Op: "embed", Temporary: true, RetryAfter: time.Minute, Err: busy}
		}}
		done := make(chan error)
		go func() {
			_, err := embed.NewService(m, embed.Options{}).EmbedPassages(ctx, numbered(1), nil)
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		interrupt()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(start) != 0 {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

func TestOpeningWaitsForABusyServerOnly(t *testing.T) {
	refusals := func(status int) (open func(context.Context) (embed.Embedder, error), tries *int) {
		tries = new(int)
		return func(context.Context) (embed.Embedder, error) {
			if *tries++; *tries < 3 {
				return nil, &embed.Error{Op: "open", Status: status, Temporary: status != 401, Err: errors.New("no")}
			}
			return &model{}, nil
		}, tries
	}
	for status, want := range map[int]int{503: 3, 401: 1, 0: 1} {
		synctest.Test(t, func(t *testing.T) {
			open, tries := refusals(status)
			s, err := embed.Open(t.Context(), open, embed.Options{})
			if *tries != want || (err == nil) != (want == 3) {
				t.Errorf("status %d: %d tries, error %v, want %d tries", status, *tries, err, want)
			}
			if err == nil && s.Dimension() != 2 {
				t.Errorf("Dimension = %d", s.Dimension())
			}
		})
	}
}

func TestAQueryIsEmbeddedAsAQuery(t *testing.T) {
	m := &model{}
	s := embed.NewService(m, embed.Options{})
	got, err := s.EmbedQuery(t.Context(), "what")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EmbedPassages(t.Context(), []string{"that"}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unit("what"), got); diff != "" {
		t.Errorf("vector (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]embed.Kind{embed.Query, embed.Passage}, m.kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestAQueryIsGivenUpInTime(t *testing.T) {
	tests := map[string]func(context.Context, []string) error{
		"a server that hangs": func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() },
		"a server that is busy": func(context.Context, []string) error {
			return &embed.Error{Op: "embed", Status: 503, Temporary: true, Err: errors.New("busy")}
		},
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := embed.NewService(&model{before: before}, embed.Options{QueryPatience: 3 * time.Second}).EmbedQuery(t.Context(), "q")
				if err == nil || time.Since(start) > 3*time.Second {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}

func TestAQueryWithoutAVectorIsAnError(t *testing.T) {
	m := &model{vector: func(string) []float32 { return []float32{0, 0} }}
	if _, err := embed.NewService(m, embed.Options{}).EmbedQuery(t.Context(), "q"); !errors.Is(err, embed.ErrZero) {
		t.Errorf("error = %v, want ErrZero", err)
	}
}

func TestProgressNeverGoesBack(t *testing.T) {
	var heard []int
	s := embed.NewService(&model{}, embed.Options{BatchTexts: 1, Concurrency: 8})
	if _, err := s.EmbedPassages(t.Context(), numbered(50), func(done, total int) {
		if total != 50 {
			t.Errorf("total = %d", total)
		}
		heard = append(heard, done)
	}); err != nil {
		t.Fatal(err)
	}
	for i, done := range heard {
		if done != i+1 {
			t.Fatalf("progress = %v", heard)
		}
	}
}

func ExampleChanged() {
	fmt.Println(embed.Changed("model=a;dimension=384", "model=b;dimension=384"))
	// Output: model a became b
}
