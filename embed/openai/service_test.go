package openai_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/openai"
)

func service(t *testing.T, s *server, o openai.Options, more embed.Options) (*embed.Service, error) {
	t.Helper()
	return embed.Open(t.Context(), func(context.Context) (embed.Embedder, error) { return try(t, s, o) }, more)
}

func TestAServiceOverAServerWithLimits(t *testing.T) {
	var asked atomic.Int64
	s := serve(t, nil)
	s.now(func(w http.ResponseWriter, r request) {
		switch n := asked.Add(1); {
		case n%3 == 0:
			w.Header().Set("Retry-After", "0.001")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
			return
		case len(r.Input) > 10:
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"error":"batch size is over the maximum allowed batch size 10","error_type":"Validation"}`)
			return
		}
		for _, text := range r.Input {
			if strings.Contains(text, "42") {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				_, _ = io.WriteString(w, "{\"error\":\"`inputs` must have less than 512 tokens. Given: 600\"}")
				return
			}
		}
		arrays(16)(w, r)
	})
	cache, err := embed.OpenDiskCache(t.Context(), filepath.Join(t.TempDir(), "vectors"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cache.Close() }()
	svc, err := service(t, s, openai.Options{}, embed.Options{Cache: cache, Concurrency: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, err := svc.EmbedPassages(t.Context(), texts(100), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Embedded != 99 || len(got.Refused) != 1 || got.Refused[0].Index != 42 {
		t.Fatalf("Embedded %d, refused %v; want all but the one of index 42", got.Embedded, got.Refused)
	}
	for i, v := range got.Vectors {
		if i == 42 {
			continue
		}
		want := vector(texts(100)[i], 16)
		var dot, length, unit float64
		for k := range want {
			dot += float64(v[k]) * float64(want[k])
			length += float64(want[k]) * float64(want[k])
			unit += float64(v[k]) * float64(v[k])
		}
		if math.Abs(dot/math.Sqrt(length)-1) > 1e-6 || math.Abs(unit-1) > 1e-6 {
			t.Fatalf("text %d has not its own vector, of length 1: %v", i, v)
		}
	}
	again, err := svc.EmbedPassages(t.Context(), texts(42), nil)
	if err != nil || again.Embedded != 0 || again.Cached != 42 {
		t.Errorf("again: Embedded %d, Cached %d, error %v; want all from the cache", again.Embedded, again.Cached, err)
	}
}

func TestADimensionThatChangesWhileItRunsIsRefused(t *testing.T) {
	s := serve(t, arrays(768))
	svc, err := service(t, s, openai.Options{}, embed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := svc.Fingerprint()
	s.now(arrays(3072))
	_, err = svc.EmbedPassages(t.Context(), texts(3), nil)
	if err == nil || !strings.Contains(err.Error(), "a vector of 3072 dimensions where 768 were expected") {
		t.Errorf("error = %v", err)
	}
	restarted, err := service(t, s, openai.Options{}, embed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := embed.Changed(before, restarted.Fingerprint()); got != "dimension 768 became 3072" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestARefusedKeyEndsTheWorkAtOnce(t *testing.T) {
	s := serve(t, arrays(4))
	svc, err := service(t, s, openai.Options{APIKey: "k"}, embed.Options{BatchTexts: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.now(func(w http.ResponseWriter, _ request) { w.WriteHeader(http.StatusUnauthorized) })
	before := len(s.requests)
	_, err = svc.EmbedPassages(t.Context(), texts(50), nil)
	refusal, ok := errors.AsType[*embed.Error](err)
	if !ok || refusal.Status != http.StatusUnauthorized || !strings.Contains(err.Error(), "check api_key") {
		t.Errorf("error = %v", err)
	}
	if n := len(s.requests) - before; n != 1 {
		t.Errorf("%d requests with a refused key, want 1", n)
	}
}
