package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/openai"
)

// request is what the API documents.
type request struct {
	Input          []string `json:"input"`
	Model          string   `json:"model"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     *int     `json:"dimensions"`
	InputType      string   `json:"input_type"`
}

// server is a compatible API that computes vectors from the text alone.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	answer   func(w http.ResponseWriter, r request)
	requests []request
	headers  []http.Header
	paths    []string
}

func serve(t *testing.T, answer func(w http.ResponseWriter, r request)) *server {
	t.Helper()
	s := &server{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		var asked request
		decoder := json.NewDecoder(strings.NewReader(string(body)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&asked); err != nil {
			t.Errorf("request %s: %v", body, err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, asked)
		s.headers = append(s.headers, r.Header.Clone())
		s.paths = append(s.paths, r.Method+" "+r.URL.RequestURI())
		answer := s.answer
		s.mu.Unlock()
		answer(w, asked)
	}))
	t.Cleanup(s.Close)
	return s
}

// now makes the server answer otherwise from here on.
func (s *server) now(answer func(w http.ResponseWriter, r request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *server) last() request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

// vector is a text's vector: numbers that only this text has.
func vector(text string, dimension int) []float32 {
	h := fnv.New64a()
	v := make([]float32, dimension)
	for i := range v {
		fmt.Fprint(h, text, i)
		v[i] = float32(int64(h.Sum64()))/math.MaxInt64 + 1e-9
	}
	return v
}

func asBase64(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

type entry map[string]any

func write(w http.ResponseWriter, data []entry) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1},
	})
}

// arrays answers as documented.
func arrays(dimension int) func(http.ResponseWriter, request) {
	return func(w http.ResponseWriter, r request) {
		var data []entry
		for i, text := range r.Input {
			data = append(data, entry{"object": "embedding", "index": i, "embedding": vector(text, dimension)})
		}
		write(w, data)
	}
}

func open(t *testing.T, s *server, o openai.Options) *openai.Model {
	t.Helper()
	m, err := try(t, s, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return m
}

func try(t *testing.T, s *server, o openai.Options) (*openai.Model, error) {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = s.URL + "/v1"
	}
	if o.Model == "" {
		o.Model = "m"
	}
	return openai.Open(t.Context(), o)
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text %d", i)
	}
	return out
}

func want(texts []string, dimension int) [][]float32 {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = vector(text, dimension)
	}
	return out
}

func TestVectorsAreReadInEveryFormThatServersWrite(t *testing.T) {
	const dimension = 1536
	reversed := func(w http.ResponseWriter, r request) {
		var data []entry
		for i, text := range slices.Backward(r.Input) {
			data = append(data, entry{"index": i, "embedding": vector(text, dimension)})
		}
		write(w, data)
	}
	tests := map[string]func(http.ResponseWriter, request){
		"arrays": arrays(dimension),
		"base64 though floats were asked for": func(w http.ResponseWriter, r request) {
			var data []entry
			for i, text := range r.Input {
				data = append(data, entry{"index": i, "embedding": asBase64(vector(text, dimension))})
			}
			write(w, data)
		},
		"base64 and arrays mixed": func(w http.ResponseWriter, r request) {
			var data []entry
			for i, text := range r.Input {
				e := entry{"index": i, "embedding": asBase64(vector(text, dimension))}
				if i%2 == 1 {
					e["embedding"] = vector(text, dimension)
				}
				data = append(data, e)
			}
			write(w, data)
		},
		"out of order": reversed,
		"without an index": func(w http.ResponseWriter, r request) {
			var data []entry
			for _, text := range r.Input {
				data = append(data, entry{"embedding": vector(text, dimension)})
			}
			write(w, data)
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, answer)
			m := open(t, s, openai.Options{})
			if m.Dimension() != dimension {
				t.Errorf("Dimension = %d, want %d", m.Dimension(), dimension)
			}
			got, err := m.Embed(t.Context(), texts(5), embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want(texts(5), dimension), got); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
			if format := s.last().EncodingFormat; format != "float" {
				t.Errorf("encoding_format = %q, want float", format)
			}
		})
	}
}

func TestWrongAnswersAreErrorsThatSayWhatIsWrong(t *testing.T) {
	one := func(e any) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, r request) {
			data := make([]entry, len(r.Input))
			for i := range data {
				data[i] = entry{"index": i, "embedding": e}
			}
			write(w, data)
		}
	}
	text := func(body string) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, _ request) { _, _ = io.WriteString(w, body) }
	}
	tests := map[string]struct {
		answer func(http.ResponseWriter, request)
		says   string
	}{
		"fewer":                       {func(w http.ResponseWriter, r request) { arrays(4)(w, request{Input: r.Input[1:]}) }, "1 vectors for 2 texts"},
		"one index twice":             {text(`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`), "index 1 of 2"},
		"index too large":             {text(`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`), "index 2 of 2"},
		"index negative":              {text(`{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`), "index -1 of 2"},
		"other dimension":             {arrays(3), "a vector of 3 dimensions where 4 were expected"},
		"empty vector":                {one([]float32{}), "a vector of 0 dimensions"},
		"null":                        {one(nil), "null where a number is due"},
		"null inside":                 {one([]any{1, nil, 2, 3}), "null where a number is due"},
		"base64 of another dimension": {one(asBase64(vector("x", 3))), "a vector of 3 dimensions where 4 were expected"},
		"big-endian base64":           {one(base64.StdEncoding.EncodeToString([]byte{0xbe, 0x4c, 0xcc, 0xcd, 0x3f, 0x19, 0x99, 0x9a, 0x3e, 0x99, 0x99, 0x9a, 0xbf, 0x0c, 0xcc, 0xcd})), "big-endian"},
		"cut base64":                  {one("AAAAAAA="), "not a whole number of 32-bit floats"},
		"no base64":                   {one("not base64!"), "no base64"},
		"NaN in base64":               {one(asBase64([]float32{1, float32(math.NaN()), 1, 1})), "NaN"},
		"words":                       {one([]any{"a", "b", "c", "d"}), "cannot unmarshal"},
		"too large number":            {text(`{"data":[{"index":0,"embedding":[1e39,0,0,0]},{"index":1,"embedding":[1,0,0,0]}]}`), "1e39"},
		"a web page":                  {text("<!doctype html><title>Sign in</title>"), "not the JSON of an embeddings API"},
		"error at 200":                {text(`{"error":"Unexpected endpoint or method. (POST /embeddings)"}`), "Unexpected endpoint"},
		"empty object":                {text(`{}`), "no vectors"},
		"endless": {func(w http.ResponseWriter, _ request) {
			block := []byte(strings.Repeat(" ", 1<<16))
			for range 64 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "longer than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, arrays(4))
			m := open(t, s, openai.Options{APIKey: "sk-secret"})
			s.now(test.answer)
			_, err := m.Embed(t.Context(), texts(2), embed.Passage)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("error = %v, want one that says %q", err, test.says)
			}
			var refusal *embed.Error
			if errors.As(err, &refusal) && (refusal.Temporary || refusal.TooLarge) {
				t.Errorf("%+v is to be tried again; it would be wrong again", refusal)
			}
		})
	}
}

func TestRefusalsAreJudgedByStatusAndWords(t *testing.T) {
	const key = "sk-very-secret"
	tests := []struct {
		name      string
		status    int
		header    string // Retry-After
		body      string
		temporary bool
		tooLarge  bool
		after     time.Duration
		says      []string
	}{
		{name: "wrong key", status: 401, body: `{"error":{"message":"Incorrect API key provided: sk-very-secret.","type":"invalid_request_error","code":"invalid_api_key"}}`, says: []string{"status 401", "Incorrect API key provided: [api_key]", "check api_key"}},
		{name: "forbidden", status: 403, body: `{"error":{"message":"no access to model"}}`, says: []string{"no access to model", "may use this model"}},
		{name: "unknown model", status: 404, body: `{"error":"model \"m\" not found, try pulling it first"}`, says: []string{"try pulling it first", "check model and base_url"}},
		{name: "page not found", status: 404, body: "404 page not found", says: []string{"404 page not found", "/v1"}},
		{name: "bad request", status: 400, body: `{"detail":"unknown field dimensions"}`, says: []string{"unknown field dimensions", "check model and dimensions"}},
		{name: "context length", status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9001 tokens"}}`, tooLarge: true, says: []string{"8192"}},
		{name: "batch of TEI", status: 422, body: `{"error":"batch size 64 > maximum allowed batch size 32","error_type":"Validation"}`, tooLarge: true},
		{name: "text of TEI", status: 413, body: "{\"error\":\"Input validation error: `inputs` must have less than 512 tokens. Given: 600\",\"error_type\":\"Validation\"}", tooLarge: true},
		{name: "llama.cpp", status: 500, body: `{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}`, tooLarge: true},
		{name: "Cohere", status: 400, body: `{"message":"invalid request: total number of texts must be at most 96 - received 97"}`, tooLarge: true},
		{name: "rate limit", status: 429, header: "7", body: `{"error":{"message":"Rate limit exceeded","code":"rate_limit_exceeded"}}`, temporary: true, after: 7 * time.Second, says: []string{"Rate limit exceeded"}},
		{name: "no quota", status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, says: []string{"no quota"}},
		{name: "overloaded", status: 503, header: "1.5", body: "busy", temporary: true, after: 1500 * time.Millisecond},
		{name: "far too long a wait", status: 503, header: "1e30", temporary: true, after: 24 * time.Hour},
		{name: "a past date", status: 503, header: "Mon, 02 Jan 2006 15:04:05 GMT", temporary: true},
		{name: "gateway", status: 502, body: "<html>\n<h1>Bad\tGateway</h1></html>", temporary: true, says: []string{"<html> <h1>Bad Gateway</h1></html>"}},
		{name: "silent", status: 500, temporary: true, says: []string{"internal server error"}},
		{name: "not implemented", status: 501, body: `{"error":{"message":"This server does not support embeddings."}}`},
		{name: "timeout", status: 408, temporary: true},
		{name: "redirect", status: 308, says: []string{"set base_url to where it redirects: https://other.example.com/v1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, arrays(4))
			m := open(t, s, openai.Options{APIKey: key})
			s.now(func(w http.ResponseWriter, _ request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				if test.status == 308 {
					w.Header().Set("Location", "https://other.example.com/v1?token=x")
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := m.Embed(t.Context(), texts(3), embed.Passage)
			var refusal *embed.Error
			if !errors.As(err, &refusal) {
				t.Fatalf("error %v is no embed.Error", err)
			}
			if refusal.Temporary != test.temporary || refusal.TooLarge != test.tooLarge || refusal.RetryAfter != test.after || refusal.Status != test.status {
				t.Errorf("got %+v, want temporary %v, too large %v, after %v", refusal, test.temporary, test.tooLarge, test.after)
			}
			for _, says := range append(test.says, "m at "+s.URL) {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("error %q does not say %q", err, says)
				}
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("error %q holds the key", err)
			}
		})
	}
}

func TestALongRefusalIsCutShort(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("é\x1b[31m", 1<<20))
	})
	_, err := try(t, s, openai.Options{})
	if err == nil || len(err.Error()) > 1500 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error of %d bytes: %.200q", len(fmt.Sprint(err)), err)
	}
}

func TestAServerThatIsNotThereIsATemporaryError(t *testing.T) {
	s := serve(t, arrays(4))
	s.Close()
	_, err := try(t, s, openai.Options{})
	var refusal *embed.Error
	if !errors.As(err, &refusal) || !refusal.Temporary || !strings.Contains(err.Error(), "check base_url") {
		t.Errorf("error = %v", err)
	}
}

func TestACutAnswerIsATemporaryError(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data":[`)
	})
	_, err := try(t, s, openai.Options{})
	var refusal *embed.Error
	if !errors.As(err, &refusal) || !refusal.Temporary {
		t.Errorf("error = %v", err)
	}
}

func TestAnUntrustedCertificateIsFinal(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := openai.Open(t.Context(), openai.Options{BaseURL: s.URL, Model: "m"})
	var refusal *embed.Error
	if !errors.As(err, &refusal) || refusal.Temporary || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("error = %v", err)
	}
}

func TestASlowServerIsLeftAfterTheTimeout(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, request) { <-release })
	t.Cleanup(func() { close(release) })
	_, err := try(t, s, openai.Options{Timeout: time.Millisecond})
	var refusal *embed.Error
	if !errors.As(err, &refusal) || !refusal.Temporary {
		t.Errorf("error = %v, want a temporary one", err)
	}
}

func TestTheEndOfTheContextIsNoRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, arrays(4))
	m := open(t, s, openai.Options{})
	release := make(chan struct{})
	s.now(func(http.ResponseWriter, request) { cancel(); <-release })
	t.Cleanup(func() { close(release) })
	_, err := m.Embed(ctx, texts(1), embed.Passage)
	var refusal *embed.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &refusal) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestPrefixesDifferByKind(t *testing.T) {
	empty, query := "", "find: "
	tests := []struct {
		model          string
		o              openai.Options
		query, passage string
	}{
		{model: "text-embedding-3-small", query: "x", passage: "x"},
		{model: "BAAI/bge-small-en-v1.5", query: "Represent this sentence for searching relevant passages: x", passage: "x"},
		{model: "BAAI/bge-m3", query: "x", passage: "x"},
		{model: "intfloat/multilingual-e5-large", query: "query: x", passage: "passage: x"},
		{model: "nomic-embed-text:latest", query: "search_query: x", passage: "search_document: x"},
		{model: "embeddinggemma:300m", query: "task: search result | query: x", passage: "title: none | text: x"},
		{model: "Qwen/Qwen3-Embedding-0.6B", query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:x", passage: "x"},
		{model: "multilingual-e5-large-instruct", query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: x", passage: "x"},
		{model: "mxbai-embed-large", query: "Represent this sentence for searching relevant passages: x", passage: "x"},
		{model: "bge-large-zh", query: "x", passage: "x"},
		{model: "snowflake-arctic-embed2", query: "query: x", passage: "x"},
		{model: "snowflake-arctic-embed:m", query: "Represent this sentence for searching relevant passages: x", passage: "x"},
		{model: "nomic-embed-text", o: openai.Options{QueryPrefix: &query, PassagePrefix: &empty}, query: "find: x", passage: "x"},
	}
	for _, test := range tests {
		t.Run(test.model, func(t *testing.T) {
			s := serve(t, arrays(4))
			test.o.Model = test.model
			m := open(t, s, test.o)
			for kind, want := range map[embed.Kind]string{embed.Query: test.query, embed.Passage: test.passage} {
				if _, err := m.Embed(t.Context(), []string{"x"}, kind); err != nil {
					t.Fatal(err)
				}
				if got := s.last().Input[0]; got != want {
					t.Errorf("%s is sent as %q, want %q", kind, got, want)
				}
			}
		})
	}
}

func TestInputTypesAreSentWhereTheModelWantsThem(t *testing.T) {
	none, ask, keep := "", "ask", "keep"
	tests := map[string]struct {
		o              openai.Options
		query, passage string
	}{
		"unknown model":         {o: openai.Options{Model: "m"}},
		"voyage":                {openai.Options{Model: "voyageai/voyage-3.5"}, "query", "document"},
		"cohere":                {openai.Options{Model: "embed-multilingual-v3.0"}, "search_query", "search_document"},
		"nvidia":                {openai.Options{Model: "nvidia/nv-embedqa-e5-v5"}, "query", "passage"},
		"jina, not from Jina":   {o: openai.Options{Model: "jinaai/jina-embeddings-v3"}},
		"set":                   {openai.Options{Model: "m", QueryInputType: &ask, PassageInputType: &keep}, "ask", "keep"},
		"set for queries alone": {openai.Options{Model: "voyage-3.5", QueryInputType: &ask}, "ask", "document"},
		"set to nothing":        {o: openai.Options{Model: "voyage-3.5", QueryInputType: &none, PassageInputType: &none}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, arrays(4))
			m := open(t, s, test.o)
			for kind, want := range map[embed.Kind]string{embed.Query: test.query, embed.Passage: test.passage} {
				if _, err := m.Embed(t.Context(), []string{"x"}, kind); err != nil {
					t.Fatal(err)
				}
				if got := s.last().InputType; got != want {
					t.Errorf("a %s is sent as %q, want %q", kind, got, want)
				}
			}
			if got := strings.Contains(m.Fingerprint(), "input_type"); got != (test.query+test.passage != "") {
				t.Errorf("fingerprint %s", m.Fingerprint())
			}
		})
	}
}

func TestAServerThatWantsAnInputTypeSaysSo(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r request) {
		if r.InputType == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"'input_type' parameter is required for asymmetric models"}`)
			return
		}
		arrays(4)(w, r)
	})
	if _, err := try(t, s, openai.Options{}); err == nil || !strings.Contains(err.Error(), "set query_input_type and passage_input_type") {
		t.Errorf("error = %v", err)
	}
	query, passage := "query", "passage"
	open(t, s, openai.Options{QueryInputType: &query, PassageInputType: &passage})
}

// Some APIs take one format alone, or do not know that there are any.
func TestAFormatThatIsRefusedIsNotAskedForAgain(t *testing.T) {
	tests := map[string]struct {
		takes  []string
		answer func(vector []float32) any
	}{
		"base64 alone": {[]string{"base64"}, func(v []float32) any { return asBase64(v) }},
		"none at all":  {[]string{""}, func(v []float32) any { return v }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			refused := 0
			s := serve(t, nil)
			s.now(func(w http.ResponseWriter, r request) {
				if !slices.Contains(test.takes, r.EncodingFormat) {
					refused++
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"detail":"Value supplied for argument 'encoding_format' is not valid"}`)
					return
				}
				var data []entry
				for i, text := range r.Input {
					data = append(data, entry{"index": i, "embedding": test.answer(vector(text, 6))})
				}
				write(w, data)
			})
			m := open(t, s, openai.Options{})
			before := refused
			got, err := m.Embed(t.Context(), texts(3), embed.Passage)
			if err != nil || refused != before {
				t.Fatalf("%d refused after opening, error %v", refused-before, err)
			}
			if diff := cmp.Diff(want(texts(3), 6), got); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFingerprintTellsModelsApart(t *testing.T) {
	prefix, kind := "q: ", "query"
	four, eight := serve(t, arrays(4)), serve(t, arrays(8))
	base := open(t, four, openai.Options{}).Fingerprint()
	for name, other := range map[string]*openai.Model{
		"model":              open(t, four, openai.Options{Model: "n"}),
		"dimension":          open(t, eight, openai.Options{}),
		"query prefix":       open(t, four, openai.Options{QueryPrefix: &prefix}),
		"passage prefix":     open(t, four, openai.Options{PassagePrefix: &prefix}),
		"query input type":   open(t, four, openai.Options{QueryInputType: &kind}),
		"passage input type": open(t, four, openai.Options{PassageInputType: &kind}),
	} {
		if other.Fingerprint() == base {
			t.Errorf("another %s has the same fingerprint %s", name, base)
		}
	}
	if again := open(t, serve(t, arrays(4)), openai.Options{APIKey: "k"}).Fingerprint(); again != base {
		t.Errorf("the same model at another address is %s, was %s", again, base)
	}
}

func TestAnotherModelBehindTheNameIsNoticed(t *testing.T) {
	as := func(model string) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, r request) {
			_ = json.NewEncoder(w).Encode(map[string]any{
				"model": model, "data": []entry{{"embedding": asBase64(vector(r.Input[0], 4))}},
			})
		}
	}
	s := serve(t, as("BAAI/bge-small"))
	before := open(t, s, openai.Options{Model: "embeddings"})
	if _, err := before.Embed(t.Context(), texts(1), embed.Passage); err != nil {
		t.Fatal(err)
	}
	s.now(as("BAAI/bge-base"))
	_, err := before.Embed(t.Context(), texts(1), embed.Passage)
	if err == nil || !strings.Contains(err.Error(), `vectors of the model "BAAI/bge-base" where "BAAI/bge-small" gave the first`) {
		t.Errorf("error = %v", err)
	}
	after := open(t, s, openai.Options{Model: "embeddings"})
	if got, want := embed.Changed(before.Fingerprint(), after.Fingerprint()), "served BAAI%2Fbge-small became BAAI%2Fbge-base"; got != want {
		t.Errorf("Changed = %q, want %q", got, want)
	}
}

func TestDimensionsAreAskedForOnlyWhenSet(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r request) {
		dimension := 8
		if r.Dimensions != nil {
			dimension = *r.Dimensions
		}
		arrays(dimension)(w, r)
	})
	if m := open(t, s, openai.Options{}); m.Dimension() != 8 {
		t.Errorf("Dimension = %d, want the model's own 8", m.Dimension())
	}
	if m := open(t, s, openai.Options{Dimensions: 4}); m.Dimension() != 4 {
		t.Errorf("Dimension = %d, want 4", m.Dimension())
	}
	s.now(arrays(8))
	if _, err := try(t, s, openai.Options{Dimensions: 4}); err == nil || !strings.Contains(err.Error(), "8 dimensions where 4 were asked for") {
		t.Errorf("a server that does not shorten: error = %v", err)
	}
}

func TestRequestsCarryTheKeyAsTheAPIWantsIt(t *testing.T) {
	s := serve(t, arrays(4))
	open(t, s, openai.Options{APIKey: " k\n"})
	open(t, s, openai.Options{})
	open(t, s, openai.Options{APIKey: "k", Model: "my-deployment", BaseURL: s.URL + "/?api-version=2024-10-21"})
	if got := s.headers[0].Get("Authorization"); got != "Bearer k" {
		t.Errorf("Authorization = %q", got)
	}
	if got, ok := s.headers[1]["Authorization"]; ok {
		t.Errorf("without a key Authorization = %q", got)
	}
	if got := s.headers[2].Get("api-key"); got != "k" {
		t.Errorf("Azure's api-key = %q", got)
	}
	want := []string{
		"POST /v1/embeddings", "POST /v1/embeddings",
		"POST /openai/deployments/my-deployment/embeddings?api-version=2024-10-21",
	}
	if diff := cmp.Diff(want, s.paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	const key = "sk-\x00secret"
	tests := []struct {
		o    openai.Options
		says string
	}{
		{openai.Options{}, "model:"},
		{openai.Options{Model: "m", BaseURL: "localhost:8080"}, "base_url: must be an http or https URL"},
		{openai.Options{Model: "m", BaseURL: "http://user:pw@localhost"}, "base_url: must not hold a user"},
		{openai.Options{Model: "m", BaseURL: "http://localhost?key=k"}, "base_url: must not have a query"},
		{openai.Options{Model: "m", BaseURL: "http://local host"}, "base_url: is no URL"},
		{openai.Options{Model: "m", Dimensions: -1}, "dimensions: must be 0 to 16384 (got -1)"},
		{openai.Options{Model: "m", APIKey: key}, "api_key: holds a control character"},
	}
	for _, test := range tests {
		_, err := openai.Open(t.Context(), test.o)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("Open(%+v) = %v, want an error that says %q", test.o, err, test.says)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "pw@")) {
			t.Errorf("error %q holds a secret", err)
		}
	}
}

func TestNoTextsNeedNoRequest(t *testing.T) {
	s := serve(t, arrays(4))
	m := open(t, s, openai.Options{})
	if got, err := m.Embed(t.Context(), nil, embed.Passage); err != nil || len(got) != 0 || len(s.requests) != 1 {
		t.Errorf("Embed(nil) = %v, %v after %d requests", got, err, len(s.requests))
	}
}
