// Package rerank asks a cross-encoder over HTTP how well passages answer a
// query. It speaks the /rerank API that Cohere, Jina, Voyage, vLLM, Infinity and
// Hugging Face's Text Embeddings Inference share in its main lines.
package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of one request.
const (
	// maxPassage bounds a passage, and maxQuery the query, in bytes.
	maxPassage = 8 << 10
	maxQuery   = 2 << 10
	// maxAnswer bounds the answer.
	maxAnswer = 1 << 20
	// pause is how long a reranker that failed is left alone, so that not every
	// search waits for it.
	pause = 15 * time.Second
)

// ErrPaused means that the reranker failed just before and is left alone for a while.
var ErrPaused = errors.New("the reranker failed a moment ago and is left alone for a while")

// Options say where the reranker is.
type Options struct {
	// URL is the whole address that is posted to, such as https://api.cohere.com/v2/rerank.
	URL string
	// Model is the model's name. Without one the request is in the form of Text
	// Embeddings Inference, which serves one model.
	Model string
	// APIKey is sent as a bearer token; it never appears in an error.
	APIKey string
	// Transport carries the requests; nil means the proxy and certificates of the
	// environment.
	Transport http.RoundTripper
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Client asks one reranker. It is safe for concurrent use.
type Client struct {
	url, model, key string
	where           string // the address in errors
	http            *http.Client
	now             func() time.Time

	mu    sync.Mutex
	until time.Time // no request before
}

// New checks the options. Nothing is sent.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("rerank: the URL cannot be read")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("rerank: the URL must be an http or https URL")
	case u.User != nil:
		return nil, errors.New("rerank: the URL must not hold a user or password; use api_key")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		url: u.String(), model: o.Model, key: o.APIKey, where: u.Host + u.Path, now: o.Now,
		// An answer from elsewhere is none: the key and the passages are for this address.
		http: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Rerank returns for each passage how well it answers the query, from 0 to 1.
// The context bounds it; nothing is tried twice. After a failure it returns
// ErrPaused for 15 seconds.
func (c *Client) Rerank(ctx context.Context, query string, passages []string) ([]float64, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	if err := c.free(); err != nil {
		return nil, err
	}
	scores, err := c.ask(ctx, query, passages)
	if err != nil {
		// A caller that went away says nothing about the reranker.
		if !errors.Is(err, context.Canceled) {
			c.leaveAlone()
		}
		return nil, fmt.Errorf("rerank with %s: %w", c.where, err)
	}
	return scores, nil
}

func (c *Client) free() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Before(c.until) {
		return ErrPaused
	}
	return nil
}

func (c *Client) leaveAlone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = c.now().Add(pause)
}

// request is the body in both forms: with a model the passages are documents,
// without one they are texts.
type request struct {
	Model     string   `json:"model,omitempty"`
	Query     string   `json:"query"`
	Documents []string `json:"documents,omitempty"`
	Texts     []string `json:"texts,omitempty"`
	Truncate  bool     `json:"truncate,omitempty"`
}

func (c *Client) ask(ctx context.Context, query string, passages []string) ([]float64, error) {
	cut := make([]string, len(passages))
	for i, p := range passages {
		cut[i] = head(p, maxPassage)
	}
	ask := request{Model: c.model, Query: head(query, maxQuery)}
	if c.model == "" {
		ask.Texts, ask.Truncate = cut, true
	} else {
		ask.Documents = cut
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("make the request: the URL cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the address may hold a secret in its query
		}
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer: %w", err)
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("it answers %d: set reranker.api_key right", res.StatusCode)
	case res.StatusCode == http.StatusNotFound:
		return nil, errors.New("it answers 404: set reranker.url to the whole address, such as https://host/v1/rerank, and model to one it has")
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %d", res.StatusCode)
	case len(answer) > maxAnswer:
		return nil, errors.New("the answer is larger than 1 MiB")
	}
	return read(answer, len(passages))
}

// head is the beginning of a text, whole characters of it.
func head(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}

// result is one passage's score in the forms that servers have for it.
type result struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
}

// read finds the scores in an answer: a list under results (Cohere, Jina, vLLM),
// under data (Voyage), or alone (Text Embeddings Inference). Every passage has to
// have its score.
func read(answer []byte, n int) ([]float64, error) {
	var results []result
	if json.Unmarshal(answer, &results) != nil {
		var object struct {
			Results []result `json:"results"`
			Data    []result `json:"data"`
		}
		if err := json.Unmarshal(answer, &object); err != nil {
			return nil, errors.New("the answer is not the JSON of a reranker")
		}
		if results = object.Results; results == nil {
			results = object.Data
		}
	}
	if len(results) != n {
		return nil, fmt.Errorf("the answer has %d scores for %d passages", len(results), n)
	}
	scores, seen := make([]float64, n), make([]bool, n)
	bounded := true
	for _, r := range results {
		score := r.Relevance
		if score == nil {
			score = r.Score
		}
		if r.Index == nil || *r.Index < 0 || *r.Index >= n || seen[*r.Index] || score == nil || math.IsNaN(*score) || math.IsInf(*score, 0) {
			return nil, errors.New("the answer does not give each passage one score")
		}
		seen[*r.Index] = true
		scores[*r.Index] = *score
		bounded = bounded && *score >= 0 && *score <= 1
	}
	if !bounded { // raw logits
		for i, s := range scores {
			scores[i] = 1 / (1 + math.Exp(-s))
		}
	}
	return scores, nil
}
