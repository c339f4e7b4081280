package rerank_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek/search/rerank"
)

const key = "s3cr3t"

// asked is what a server was sent.
type asked struct {
	Authorization string
	Body          map[string]any
	Requests      int
}

func serve(t *testing.T, status int, answer string) (string, *asked) {
	t.Helper()
	var got asked
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Requests++
		got.Authorization = r.Header.Get("Authorization")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got.Body = nil
		if err := json.Unmarshal(body, &got.Body); err != nil {
			t.Error(err)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/rerank?secret=" + key, &got
}

func client(t *testing.T, o rerank.Options) *rerank.Client {
	t.Helper()
	c, err := rerank.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDialects(t *testing.T) {
	for name, test := range map[string]struct {
		model, answer string
		want          []float64
	}{
		"Cohere, Jina, vLLM": {"m", `{"id":"x","results":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}]}`, []float64{.25, .75}},
		"Voyage":             {"m", `{"object":"list","data":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}]}`, []float64{.25, .75}},
		"TEI":                {"", `[{"index":1,"score":0.75},{"index":0,"score":0.25}]`, []float64{.25, .75}},
		"logits":             {"", `[{"index":0,"score":0},{"index":1,"score":-2}]`, []float64{.5, 1 / (1 + math.Exp(2))}},
	} {
		t.Run(name, func(t *testing.T) {
			url, got := serve(t, http.StatusOK, test.answer)
			c := client(t, rerank.Options{URL: url, Model: test.model, APIKey: key})
			scores, err := c.Rerank(t.Context(), "what?", []string{"one", "two"})
			if err != nil || !slices.Equal(scores, test.want) {
				t.Fatalf("scores %v, want %v; %v", scores, test.want, err)
			}
			field := "documents"
			if test.model == "" {
				field = "texts"
			}
			if texts, ok := got.Body[field].([]any); !ok || len(texts) != 2 || got.Body["query"] != "what?" || got.Authorization != "Bearer "+key {
				t.Errorf("sent %+v", got)
			}
			if (test.model != "") != (got.Body["model"] != nil) {
				t.Errorf("model %v", got.Body["model"])
			}
		})
	}
}

func TestBadAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		status       int
		answer, says string
	}{
		"401":              {401, "no " + key, "reranker.api_key"},
		"404":              {404, "", "reranker.url"},
		"500":              {500, "boom", "answers 500"},
		"redirect":         {302, "", "answers 302"},
		"not JSON":         {200, "<html>", "not the JSON"},
		"too few":          {200, `{"results":[{"index":0,"relevance_score":1}]}`, "1 scores for 2 passages"},
		"one twice":        {200, `[{"index":0,"score":1},{"index":0,"score":1}]`, "each passage one score"},
		"out of range":     {200, `[{"index":0,"score":1},{"index":2,"score":1}]`, "each passage one score"},
		"negative":         {200, `[{"index":0,"score":1},{"index":-1,"score":1}]`, "each passage one score"},
		"without index":    {200, `[{"score":1},{"index":1,"score":1}]`, "each passage one score"},
		"without score":    {200, `[{"index":0},{"index":1,"score":1}]`, "each passage one score"},
		"endless":          {200, "[" + strings.Repeat(" ", 2<<20), "larger than 1 MiB"},
		"not even a list":  {200, `null`, "0 scores"},
		"results is a map": {200, `{"results":{}}`, "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, test.status, test.answer)
			_, err := client(t, rerank.Options{URL: url, Model: "m", APIKey: key}).Rerank(t.Context(), "q", []string{"one", "two"})
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), key) {
				t.Errorf("error %v, want one with %q and without the key", err, test.says)
			}
		})
	}
}

func TestAFailureIsFollowedByAPause(t *testing.T) {
	url, got := serve(t, http.StatusServiceUnavailable, "")
	now := time.Unix(1_000_000, 0)
	c := client(t, rerank.Options{URL: url, Model: "m", Now: func() time.Time { return now }})
	for range 3 {
		_, err := c.Rerank(t.Context(), "q", []string{"one"})
		if err == nil || got.Requests != 1 {
			t.Fatalf("%d requests, error %v", got.Requests, err)
		}
	}
	if _, err := c.Rerank(t.Context(), "q", []string{"one"}); !errors.Is(err, rerank.ErrPaused) {
		t.Error(err)
	}
	now = now.Add(16 * time.Second)
	if _, err := c.Rerank(t.Context(), "q", []string{"one"}); err == nil || got.Requests != 2 {
		t.Errorf("%d requests after the pause, error %v", got.Requests, err)
	}
}

func TestACallerThatLeavesIsNoFailure(t *testing.T) {
	url, got := serve(t, http.StatusOK, `[{"index":0,"score":1}]`)
	c := client(t, rerank.Options{URL: url})
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.Rerank(gone, "q", []string{"one"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := c.Rerank(t.Context(), "q", []string{"one"}); err != nil || got.Requests != 1 {
		t.Errorf("%d requests, error %v", got.Requests, err)
	}
}

func TestErrorsDoNotShowTheAddressesSecret(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := client(t, rerank.Options{URL: s.URL + "/rerank?secret=" + key}).Rerank(t.Context(), "q", []string{"one"})
	if err == nil || strings.Contains(err.Error(), key) {
		t.Error(err)
	}
}

func TestLongPassagesAreCut(t *testing.T) {
	url, got := serve(t, http.StatusOK, `[{"index":0,"score":1}]`)
	if _, err := client(t, rerank.Options{URL: url}).Rerank(t.Context(), "q", []string{strings.Repeat("é", 10_000)}); err != nil {
		t.Fatal(err)
	}
	texts, ok := got.Body["texts"].([]any)
	if !ok || len(texts) != 1 {
		t.Fatalf("sent %v", got.Body)
	}
	if text, ok := texts[0].(string); !ok || text != strings.Repeat("é", 4096) {
		t.Errorf("%d bytes were sent", len(text))
	}
}

func TestBadURLs(t *testing.T) {
	for _, url := range []string{"", "host/rerank", "ftp://host/rerank", "http://user:pass@host/", "http://[::1"} {
		if _, err := rerank.New(rerank.Options{URL: url}); err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
