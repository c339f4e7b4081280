package main

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// embeddings is an embeddings API that can be down and up again at one address.
type embeddings struct {
	address string
	server  *httptest.Server // nil while it is down
}

type embeddingsKey struct{}

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: model down | model NAME DIMENSION")
	}
	e := ts.Value(embeddingsKey{}).(*embeddings)
	if e.server != nil {
		e.server.Close()
		e.server = nil
	}
	if e.address == "" {
		e.address = "127.0.0.1:0"
		ts.Defer(func() {
			if e.server != nil {
				e.server.Close()
			}
		})
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", e.address)
	ts.Check(err)
	e.address = listener.Addr().String()
	ts.Setenv("MODEL", "http://"+e.address+"/v1")
	if len(args) == 1 {
		ts.Check(listener.Close())
		return
	}
	dimension, err := strconv.Atoi(args[1])
	ts.Check(err)
	e.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: wordModel(args[0], dimension)}}
	e.server.Start()
}

// wordModel answers as an embeddings API: a text's vector is the sum of a direction
// per word, which are others for each model.
func wordModel(name string, dimension int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type entry struct {
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		}
		var data []entry
		for i, text := range asked.Input {
			data = append(data, entry{i, wordVector(name, text, dimension)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": name, "data": data})
	})
}

func wordVector(model, text string, dimension int) []float64 {
	v := make([]float64, dimension)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(model + " " + strings.Trim(word, ".,:;?!()`")))
		for k := range v {
			v[k] += math.Sin(float64(h.Sum64()%100003) * float64(k+1))
		}
	}
	return v
}

func TestWordModelTellsTextsApart(t *testing.T) {
	near := cosine(wordVector("m", "rotate a key", 64), wordVector("m", "Rotate the key", 64))
	far := cosine(wordVector("m", "rotate a key", 64), wordVector("m", "retries are spaced", 64))
	other := cosine(wordVector("m", "rotate a key", 64), wordVector("n", "rotate a key", 64))
	if near < far+0.2 || math.Abs(other) > 0.5 {
		t.Errorf("cosine %.2f to a near text, %.2f to a far one, %.2f to itself by another model", near, far, other)
	}
}

func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	return dot / math.Sqrt(aa*bb)
}
