package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/openai"
	"github.com/docseek/docseek/internal/config"
)

// documentedAPI is an API as its documentation has it: where it is, what a request
// may hold, and what it refuses.
type documentedAPI struct {
	url    string
	header string // that holds the key; empty for a server without one
	// fields are what a request may hold beside input and model; any other is
	// refused with unknown, where the API does so.
	fields  []string
	unknown string
	// most is how many texts it takes; more are refused with tooMany.
	most    int
	tooMany refusedWith
	// long is how a text of more than 2,000 characters is refused.
	long refusedWith
	// must is what a request has to hold.
	must func(request map[string]any) *refusedWith
	// query and passage are what every text begins with.
	query, passage string
	base64         bool
}

type refusedWith struct {
	status int
	body   string
}

var documentedAPIs = map[string]documentedAPI{
	"OpenAI": {
		url: "https://api.openai.com/v1/embeddings", header: "Authorization",
		fields: []string{"encoding_format", "dimensions", "user"}, unknown: `{"error":{"message":"Unrecognized request argument supplied: %s","type":"invalid_request_error"}}`,
		most: 2048, long: refusedWith{400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000 tokens","type":"invalid_request_error"}}`},
	},
	"Azure OpenAI": {
		url:    "https://my-resource.openai.azure.com/openai/deployments/my-embeddings/embeddings?api-version=2024-10-21",
		header: "Api-Key", fields: []string{"encoding_format", "dimensions", "user"}, most: 2048,
		unknown: `{"error":{"code":null,"message":"Unrecognized request argument supplied: %s","type":"invalid_request_error"}}`,
	},
	"Ollama": {
		url: "http://localhost:11434/v1/embeddings", most: 2048,
		query: "search_query: ", passage: "search_document: ",
	},
	"vLLM": {
		url: "http://localhost:8000/v1/embeddings", most: 2048, query: "Represent this sentence for searching relevant passages: ",
		long: refusedWith{400, `{"object":"error","message":"This model's maximum context length is 512 tokens. However, you requested 900 tokens in the input for embedding generation.","type":"BadRequestError","code":400}`},
	},
	"Text Embeddings Inference": {
		url: "http://localhost:8080/v1/embeddings", most: 8, query: "query: ", passage: "passage: ",
		tooMany: refusedWith{422, `{"message":"batch size 32 > maximum allowed batch size 8","code":422,"type":"Validation"}`},
		long:    refusedWith{413, "{\"message\":\"Input validation error: `inputs` must have less than 512 tokens. Given: 900\",\"code\":413,\"type\":\"Validation\"}"},
	},
	"LM Studio": {
		url: "http://localhost:1234/v1/embeddings", most: 2048,
		query: "search_query: ", passage: "search_document: ",
	},
	"llama.cpp": {
		url: "http://localhost:8080/v1/embeddings", most: 2048,
		query: "task: search result | query: ", passage: "title: none | text: ",
		long: refusedWith{500, `{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}`},
	},
	"Voyage": {
		url: "https://api.voyageai.com/v1/embeddings", header: "Authorization", base64: true,
		fields: []string{"input_type", "truncation", "output_dimension", "output_dtype", "encoding_format"}, unknown: `{"detail":"Argument '%s' is not supported by our API."}`,
		most: 16, tooMany: refusedWith{400, `{"detail":"The batch size limit is 16. Your batch size is too large."}`},
		must: func(r map[string]any) *refusedWith {
			if r["encoding_format"] != nil && r["encoding_format"] != "base64" {
				return &refusedWith{400, `{"detail":"Value 'float' supplied for argument 'encoding_format' is not valid -- accepted values are ['base64']."}`}
			}
			return oneOf(r, "input_type", "query", "document")
		},
		query: "query|", passage: "document|",
	},
	"Jina": {
		url: "https://api.jina.ai/v1/embeddings", header: "Authorization",
		fields: []string{"task", "dimensions", "embedding_type", "encoding_format", "late_chunking", "truncate", "normalized"}, most: 512,
		must:  func(r map[string]any) *refusedWith { return oneOf(r, "task", "retrieval.query", "retrieval.passage") },
		query: "retrieval.query|", passage: "retrieval.passage|",
	},
	"Mistral": {
		url: "https://api.mistral.ai/v1/embeddings", header: "Authorization",
		fields:  []string{"encoding_format", "output_dimension", "output_dtype", "metadata"},
		unknown: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`,
		most:    16, tooMany: refusedWith{400, `{"object":"error","message":"Too many inputs in request, split into more batches.","type":"invalid_request_error"}`},
	},
	"Cohere": {
		url: "https://api.cohere.ai/compatibility/v1/embeddings", header: "Authorization",
		fields: []string{"input_type", "encoding_format", "dimensions"}, most: 96,
		must: func(r map[string]any) *refusedWith {
			if oneOf(r, "input_type", "search_query", "search_document") != nil {
				return &refusedWith{400, `{"message":"invalid request: valid input_type must be provided with the provided model"}`}
			}
			return nil
		},
		query: "search_query|", passage: "search_document|",
	},
}

func oneOf(r map[string]any, field string, values ...string) *refusedWith {
	if value, _ := r[field].(string); slices.Contains(values, value) {
		return nil
	}
	return &refusedWith{422, fmt.Sprintf(`{"detail":"%s must be one of %s"}`, field, strings.Join(values, ", "))}
}

// apiTransport answers in the API's place; the first time it is busy.
type apiTransport struct {
	t   *testing.T
	api documentedAPI

	mu    sync.Mutex
	asked bool
}

func (a *apiTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	status, body := a.answer(r)
	header := http.Header{"Content-Type": {"application/json"}}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "0.001")
	}
	return &http.Response{
		StatusCode: status, Header: header, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func (a *apiTransport) answer(r *http.Request) (status int, body string) {
	if got := r.URL.String(); got != a.api.url || r.Method != http.MethodPost {
		a.t.Errorf("%s %s, want %s", r.Method, got, a.api.url)
		return http.StatusNotFound, `{"detail":"Not Found"}`
	}
	if got := r.Header.Get(a.api.header); a.api.header != "" && strings.TrimPrefix(got, "Bearer ") != "key" {
		return http.StatusUnauthorized, `{"error":{"message":"no such key"}}`
	}
	a.mu.Lock()
	first := !a.asked
	a.asked = true
	a.mu.Unlock()
	if first {
		return http.StatusTooManyRequests, `{"error":{"message":"too fast","code":"rate_limit_exceeded"}}`
	}
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return http.StatusBadRequest, `{"error":"no JSON"}`
	}
	if refused := a.api.refuses(request); refused != nil {
		return refused.status, refused.body
	}
	dimension := 8
	for _, field := range []string{"dimensions", "output_dimension"} {
		if n, ok := request[field].(float64); ok {
			dimension = int(n)
		}
	}
	var data []map[string]any
	for i, text := range request["input"].([]any) {
		v := typedVector(request, text.(string), dimension)
		entry := map[string]any{"object": "embedding", "index": i, "embedding": v}
		if a.api.base64 && request["encoding_format"] == "base64" {
			var coded []byte
			for _, x := range v {
				coded = binary.LittleEndian.AppendUint32(coded, math.Float32bits(float32(x)))
			}
			entry["embedding"] = base64.StdEncoding.EncodeToString(coded)
		}
		data = append(data, entry)
	}
	answer, err := json.Marshal(map[string]any{"object": "list", "model": request["model"], "data": data})
	if err != nil {
		a.t.Error(err)
	}
	return http.StatusOK, string(answer)
}

// typedVector is the vector of a text that the API is told to be of a type.
func typedVector(request map[string]any, text string, dimension int) []float64 {
	for _, field := range []string{"input_type", "task"} {
		if value, ok := request[field].(string); ok {
			text = value + "|" + text
		}
	}
	return wordVector("", text, dimension)
}

func (a documentedAPI) refuses(request map[string]any) *refusedWith {
	for _, field := range slices.Sorted(maps.Keys(request)) {
		if a.unknown != "" && field != "input" && field != "model" && !slices.Contains(a.fields, field) {
			return &refusedWith{http.StatusUnprocessableEntity, fmt.Sprintf(a.unknown, field)}
		}
	}
	if a.must != nil {
		if refused := a.must(request); refused != nil {
			return refused
		}
	}
	input, ok := request["input"].([]any)
	if !ok || len(input) == 0 {
		return &refusedWith{http.StatusBadRequest, `{"error":{"message":"'$.input' is invalid"}}`}
	}
	if len(input) > a.most {
		return &a.tooMany
	}
	for _, text := range input {
		if a.long.status != 0 && len(text.(string)) > 2000 {
			return &a.long
		}
	}
	return nil
}

// Every example of docs/embedders.md works with the API that it is for.
func TestDocumentedEmbedders(t *testing.T) {
	page, err := os.ReadFile("../../docs/embedders.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)\n### ([^\n]+)\n(?:[^#`]|`[^`\n]+`)*```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		examples[m[1]] = m[2]
	}
	if got, want := slices.Sorted(maps.Keys(examples)), slices.Sorted(maps.Keys(documentedAPIs)); !slices.Equal(got, want) {
		t.Fatalf("the examples are %q, the APIs %q", got, want)
	}
	var environ []string
	for _, name := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(string(page), -1) {
		environ = append(environ, name[1]+"=key")
	}
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse(name, []byte(example), environ)
			if err != nil {
				t.Fatal(err)
			}
			api := documentedAPIs[name]
			o := apiOptions(c.Embedder)
			o.Transport = &apiTransport{t: t, api: api}
			checkEmbedder(t, api, o)
		})
	}
}

func checkEmbedder(t *testing.T, api documentedAPI, o openai.Options) {
	t.Helper()
	service, err := embed.Open(t.Context(), func(ctx context.Context) (embed.Embedder, error) { return openai.Open(ctx, o) }, embed.Options{Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("Passage %d speaks of subject%d.", i, i))
	}
	texts[17] = strings.Repeat("far too long ", 200)
	got, err := service.EmbedPassages(t.Context(), texts, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if i == 17 && api.long.status != 0 {
			if got.Vectors[i] != nil || len(got.Refused) != 1 {
				t.Errorf("the text that is too long is not refused alone: %v", got.Refused)
			}
			continue
		}
		checkVector(t, got.Vectors[i], api.passage+text)
	}
	query, err := service.EmbedQuery(t.Context(), "What speaks of subject3?")
	if err != nil {
		t.Fatal(err)
	}
	checkVector(t, query, api.query+"What speaks of subject3?")
}

func checkVector(t *testing.T, got []float32, text string) {
	t.Helper()
	same := make([]float64, len(got))
	for i, x := range got {
		same[i] = float64(x)
	}
	if c := cosine(same, wordVector("", text, len(got))); len(got) == 0 || c < 0.99999 {
		t.Errorf("%.60q has another text's vector: cosine %.3f", text, c)
	}
}
