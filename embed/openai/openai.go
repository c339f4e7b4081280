// Package openai embeds texts through any API that is compatible with OpenAI's:
// OpenAI itself, Azure, Ollama, vLLM, Text Embeddings Inference, LM Studio,
// llama.cpp, Voyage, Jina, Mistral and others.
//
// Such servers differ in what they get wrong. What a server answers is brought
// to the documented form (see transport) before it is read, and then checked:
// number, order and dimension of the vectors.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/docseek/docseek/embed"
)

// Bounds of an API.
const (
	// DefaultBaseURL is OpenAI's own API.
	DefaultBaseURL = "https://api.openai.com/v1"
	// MaxDimension is the longest vector that is taken from a server.
	MaxDimension = 16384
	// DefaultTimeout bounds one request, its answer included.
	DefaultTimeout = time.Minute
)

// Options say which model of which API.
type Options struct {
	// BaseURL is the API's address up to and without "/embeddings"; empty means
	// DefaultBaseURL. With an api-version in its query it is an Azure resource
	// (https://NAME.openai.azure.com?api-version=2024-10-21) and Model the
	// deployment. It holds no user, password or fragment.
	BaseURL string
	// Model is the model's name as the API knows it. It also names the model in
	// the fingerprint: another model that a server calls by the same name, in its
	// answers too, is not noticed.
	Model string
	// APIKey is sent as the API asks for it; empty means none.
	APIKey string
	// Dimensions asks for shortened vectors, where the model can; 0 does not ask.
	Dimensions int
	// QueryPrefix and PassagePrefix stand before every text of their kind; nil
	// means what the model's authors tell to (see Prefixes).
	QueryPrefix, PassagePrefix *string
	// QueryInputType and PassageInputType tell the API what a text is, for models
	// that want to know ("query" and "document"; the field is input_type, Jina's
	// is task). Empty sends nothing; nil means what the API or model is known to
	// want.
	QueryInputType, PassageInputType *string
	// Timeout bounds one request, its answer included; 0 means DefaultTimeout.
	Timeout time.Duration
	// Transport carries the requests; nil means the proxy and certificates of
	// the environment.
	Transport http.RoundTripper
}

// Model is one model of an API.
type Model struct {
	client      *api.Client
	where       string // "NAME at URL"
	o           Options
	dialect     dialect
	served      string // the model's name in the answers
	dimension   int
	fingerprint string
}

var _ embed.Embedder = (*Model)(nil)

// probe is the text that the dimension is learnt from.
const probe = "How long is a vector of this model?"

// Open asks the API for one vector, and so learns whether it answers, how long
// its vectors are and what it calls the model. It fails with an [embed.Error]
// when the API refuses.
func Open(ctx context.Context, o Options) (*Model, error) {
	m, err := configure(o)
	if err != nil {
		return nil, fmt.Errorf("embedder openai: %w", err)
	}
	vectors, served, err := m.probe(ctx)
	if err != nil {
		return nil, err
	}
	m.served, m.dimension = served, len(vectors[0])
	if o.Dimensions > 0 && m.dimension != o.Dimensions {
		return nil, fmt.Errorf("open %s: its vectors have %d dimensions where %d were asked for"+
			" (set dimensions to %d, or leave it out: this model or server does not shorten vectors)",
			m.where, m.dimension, o.Dimensions, m.dimension)
	}
	m.fingerprint = m.name()
	return m, nil
}

// probe asks for the first vector, in the format that the API takes.
func (m *Model) probe(ctx context.Context) (vectors [][]float32, served string, err error) {
	for _, format := range []string{m.dialect.format, formatBase64, ""} {
		m.dialect.format = format
		vectors, served, err = m.ask(ctx, []string{probe}, embed.Query)
		refusal, ok := errors.AsType[*embed.Error](err)
		if !ok || refusal.Temporary || !strings.Contains(refusal.Err.Error(), fieldFormat) {
			break
		}
	}
	return vectors, served, err
}

// name makes the fingerprint. Input types are left out where none are sent.
func (m *Model) name() string {
	var b strings.Builder
	part := func(key, value string) { fmt.Fprintf(&b, ";%s=%s", key, url.QueryEscape(value)) }
	b.WriteString("model=" + url.QueryEscape(m.o.Model))
	if m.served != "" && m.served != m.o.Model {
		part("served", m.served)
	}
	part("provider", "openai")
	part("dimension", strconv.Itoa(m.dimension))
	part("normalisation", "l2")
	part("query_prefix", *m.o.QueryPrefix)
	part("passage_prefix", *m.o.PassagePrefix)
	if m.dialect.query != "" || m.dialect.passage != "" {
		part("query_"+m.dialect.inputType, m.dialect.query)
		part("passage_"+m.dialect.inputType, m.dialect.passage)
	}
	return b.String()
}

func configure(o Options) (*Model, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Model == "" {
		return nil, errors.New("model: is empty; name a model of the API")
	}
	if o.Dimensions < 0 || o.Dimensions > MaxDimension {
		return nil, fmt.Errorf("dimensions: must be 0 to %d (got %d)", MaxDimension, o.Dimensions)
	}
	o.APIKey = strings.TrimSpace(o.APIKey)
	if strings.ContainsFunc(o.APIKey, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("api_key: holds a control character")
	}
	query, passage := embed.Prefixes(o.Model)
	if o.QueryPrefix == nil {
		o.QueryPrefix = &query
	}
	if o.PassagePrefix == nil {
		o.PassagePrefix = &passage
	}
	base, version, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	d := dialectOf(hostname(base), o.Model)
	if o.QueryInputType != nil {
		d.query = *o.QueryInputType
	}
	if o.PassageInputType != nil {
		d.passage = *o.PassageInputType
	}
	d.inputType = cmp.Or(d.inputType, fieldInputType)
	config := api.DefaultConfig(o.APIKey)
	if version != "" {
		config = api.DefaultAzureConfig(o.APIKey, base)
		config.APIVersion = version
		config.AzureModelMapperFunc = url.PathEscape
	}
	config.BaseURL = base
	config.HTTPClient = &http.Client{
		Timeout:   o.Timeout,
		Transport: &transport{next: roundTripper(o.Transport)},
	}
	return &Model{client: api.NewClientWithConfig(config), where: o.Model + " at " + base, o: o, dialect: d}, nil
}

func roundTripper(given http.RoundTripper) http.RoundTripper {
	if given != nil {
		return given
	}
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := std.Clone()
	own.MaxIdleConnsPerHost = 16 // all requests go to one host
	return own
}

func hostname(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// parseBase takes a base URL apart into the address and Azure's api-version.
func parseBase(raw string) (base, version string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", errors.New("is no URL")
	}
	query := u.Query()
	version = query.Get("api-version")
	query.Del("api-version")
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", "", errors.New("must be an http or https URL")
	case u.User != nil:
		return "", "", errors.New("must not hold a user or password; use api_key")
	case len(query) > 0 || u.Fragment != "":
		return "", "", errors.New("must not have a query (other than Azure's api-version) or fragment")
	}
	u.RawQuery = ""
	return strings.TrimRight(u.String(), "/"), version, nil
}

// Fingerprint names the model, as asked for and as the API calls it in its
// answers, the dimension, both prefixes and, where they are sent, both input types.
func (m *Model) Fingerprint() string { return m.fingerprint }

// Dimension is the length of the model's vectors.
func (m *Model) Dimension() int { return m.dimension }

// Embed sends all texts in one request. Errors are of type [embed.Error], but
// for vectors of another model or length than the probe's: an [embed.VectorError].
func (m *Model) Embed(ctx context.Context, texts []string, kind embed.Kind) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, served, err := m.ask(ctx, texts, kind)
	if err != nil {
		return nil, err
	}
	if served != m.served {
		return nil, m.broken("vectors of the model %q where %q gave the first; start again to use it", served, m.served)
	}
	for _, v := range vectors {
		if len(v) != m.dimension {
			return nil, m.broken("a vector of %d dimensions where %d were expected", len(v), m.dimension)
		}
	}
	return vectors, nil
}

func (m *Model) broken(format string, args ...any) error {
	return &embed.VectorError{Fingerprint: m.fingerprint, Problem: fmt.Sprintf(format, args...)}
}

// ask makes one request and puts the vectors into the order of the texts. It
// also returns what the API calls the model.
func (m *Model) ask(ctx context.Context, texts []string, kind embed.Kind) (vectors [][]float32, served string, err error) {
	prefix, inputType := *m.o.PassagePrefix, m.dialect.passage
	if kind == embed.Query {
		prefix, inputType = *m.o.QueryPrefix, m.dialect.query
	}
	// What the client knows of a request goes in here too, where it leaves the
	// answer alone: with base64 it would read strings.
	more := map[string]any{}
	if m.dialect.format != "" {
		more[fieldFormat] = m.dialect.format
	}
	if m.o.Dimensions > 0 {
		more[m.dialect.dimensions] = m.o.Dimensions
	}
	if inputType != "" {
		more[m.dialect.inputType] = inputType
	}
	input := texts
	if prefix != "" {
		input = make([]string, len(texts))
		for i, text := range texts {
			input[i] = prefix + text
		}
	}
	got := answer{texts: len(texts)}
	response, err := m.client.CreateEmbeddings(withAnswer(ctx, &got), api.EmbeddingRequestStrings{
		Input: input, Model: api.EmbeddingModel(m.o.Model), ExtraBody: more,
	})
	if err != nil {
		return nil, "", m.refusal(ctx, &got, err)
	}
	vectors, err = inOrder(response.Data, len(texts))
	if err != nil {
		return nil, "", m.refusal(ctx, &got, err)
	}
	return vectors, plain(string(response.Model)), nil
}

// inOrder sorts vectors by their index. Servers that leave the index out keep
// the order of the texts.
func inOrder(data []api.Embedding, n int) ([][]float32, error) {
	if len(data) != n {
		return nil, fmt.Errorf("the answer holds %d vectors for %d texts", len(data), n)
	}
	indexed := false
	for _, d := range data {
		indexed = indexed || d.Index != 0
	}
	vectors := make([][]float32, n)
	for i, d := range data {
		at := i
		if indexed {
			at = d.Index
		}
		switch {
		case at < 0 || at >= n || vectors[at] != nil:
			return nil, fmt.Errorf("the answer numbers its vectors wrongly: index %d of %d", at, n)
		case len(d.Embedding) == 0 || len(d.Embedding) > MaxDimension:
			return nil, fmt.Errorf("the answer holds a vector of %d dimensions", len(d.Embedding))
		}
		vectors[at] = d.Embedding
	}
	return vectors, nil
}

// retryAfter reads a Retry-After header (RFC 9110 §10.2.3): seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 86400) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), 24*time.Hour)
	}
	return 0
}
