package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

// Bounds of an answer: what the longest vectors take, written out, and what is
// read of a refusal.
const (
	maxBytesPerText = 24 * MaxDimension
	maxAnswerExtra  = 1 << 20
	maxAnswer       = 256 << 20
	maxRefusal      = 64 << 10
)

// answer is what one request learns beside the vectors.
type answer struct {
	texts      int // asked for
	status     int // 0 when there was no whole answer
	retryAfter time.Duration
	location   string // of a redirect
	refusal    refusal
}

type answerKey struct{}

func withAnswer(ctx context.Context, a *answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// transport bounds what is read of an answer and brings it to the documented
// form, which is the one that the client reads: vectors as arrays of numbers.
// Some servers send base64 though nobody asked for it, write null where they
// computed no number, or report a failure with status 200. Redirects are not
// followed: they would turn the POST into a GET.
type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a, ok := r.Context().Value(answerKey{}).(*answer)
	if !ok {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	a.status = response.StatusCode
	if response.StatusCode >= 300 {
		a.retryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
		a.location = response.Header.Get("Location")
		body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
		if err == nil {
			a.refusal = readRefusal(body)
		}
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	limit := int64(min(maxAnswer, maxAnswerExtra+a.texts*maxBytesPerText))
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		a.status = 0
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	body, err = documented(body, a)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	return response, nil
}

type rawAnswer struct {
	Model string `json:"model"`
	Data  []struct {
		Index     int             `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

type documentedAnswer struct {
	Model string             `json:"model"`
	Data  []documentedVector `json:"data"`
}

type documentedVector struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// documented returns the answer with every vector as an array of numbers. An
// answer that is so already is returned as it is.
func documented(body []byte, a *answer) ([]byte, error) {
	var raw rawAnswer
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("it is not the JSON of an embeddings API: %w", err)
	}
	if len(raw.Data) == 0 {
		if a.refusal = readRefusal(body); a.refusal.message != "" {
			return nil, errors.New(a.refusal.message)
		}
		return nil, errors.New("it holds no vectors")
	}
	coded := false
	for _, d := range raw.Data {
		switch {
		case len(d.Embedding) == 0:
			return nil, errors.New("a vector is missing")
		case d.Embedding[0] == '"':
			coded = true
		case bytes.Contains(d.Embedding, []byte("null")):
			return nil, errors.New("a vector holds null where a number is due")
		}
	}
	if !coded {
		return body, nil
	}
	out := documentedAnswer{Model: raw.Model, Data: make([]documentedVector, len(raw.Data))}
	for i, d := range raw.Data {
		vector, err := readVector(d.Embedding)
		if err != nil {
			return nil, err
		}
		out.Data[i] = documentedVector{Index: d.Index, Embedding: vector}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the vectors as numbers: %w", err)
	}
	return body, nil
}

// readVector reads an array of numbers, or a string with the base64 of
// little-endian 32-bit floats.
func readVector(raw json.RawMessage) ([]float32, error) {
	if raw[0] != '"' {
		var vector []float32
		if err := json.Unmarshal(raw, &vector); err != nil {
			return nil, fmt.Errorf("a vector is not an array of numbers: %w", err)
		}
		return vector, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("a vector is no string: %w", err)
	}
	coded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("a vector is no base64: %w", err)
	}
	if len(coded)%4 != 0 {
		return nil, fmt.Errorf("a base64 vector has %d bytes, which is not a whole number of 32-bit floats", len(coded))
	}
	vector := floats(coded, binary.LittleEndian)
	if !plausible(vector) && plausible(floats(coded, binary.BigEndian)) {
		return nil, errors.New("a base64 vector has its bytes in big-endian order, where little-endian is due")
	}
	return vector, nil
}

func floats(coded []byte, order binary.ByteOrder) []float32 {
	vector := make([]float32, len(coded)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(order.Uint32(coded[4*i:]))
	}
	return vector
}

// plausible tells the length of a model's vector from that of floats whose bytes
// were read in the wrong order: those are of any size between 1e-38 and 1e38.
func plausible(vector []float32) bool {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return sum > 1e-12 && sum < 1e12
}
