// Package config reads docseek's configuration: one YAML file, strict, with
// ${NAME} taken from the environment and DOCSEEK_… variables over single values.
package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

// Config is the whole configuration. The zero value is not usable: see [Default].
type Config struct {
	// Sources are the documentation sites.
	Sources []docseek.Source `yaml:"sources"`
	// Schedule is a cron expression of five fields, or "off".
	Schedule string `yaml:"schedule" env:"SCHEDULE"`
	// Embedder turns text into vectors.
	Embedder Embedder `yaml:"embedder" envPrefix:"EMBEDDER_"`
	// Reranker puts the best results in order; without a URL there is none.
	Reranker Reranker `yaml:"reranker,omitempty" envPrefix:"RERANKER_"`
	// Store holds the index.
	Store Store `yaml:"store" envPrefix:"STORE_"`
	// GraphQL are the GraphQL APIs.
	GraphQL []GraphQL `yaml:"graphql,omitempty"`
	// AuthProfiles are the credentials that operations name.
	AuthProfiles map[string]AuthProfile `yaml:"auth_profiles,omitempty"`
	// MaxOperations is how many published operations are too many: more are
	// served, and warned of.
	MaxOperations int `yaml:"max_operations" env:"MAX_OPERATIONS"`
	// Server is the MCP server.
	Server Server `yaml:"server" envPrefix:"SERVER_"`
}

// Embedder says which model embeds.
type Embedder struct {
	// Provider is builtin (the model inside the binary), model (one in a folder)
	// or openai (any OpenAI-compatible API).
	Provider string `yaml:"provider" env:"PROVIDER"`
	// Path is the folder of a model as Hugging Face lays it out, and Precision
	// what it computes with: int8 (the default) or f32.
	Path      string `yaml:"path,omitempty" env:"PATH"`
	Precision string `yaml:"precision,omitempty" env:"PRECISION"`
	// Model, BaseURL and APIKey are those of the API.
	Model   string `yaml:"model,omitempty" env:"MODEL"`
	BaseURL string `yaml:"base_url,omitempty" env:"BASE_URL"`
	APIKey  Secret `yaml:"api_key,omitempty" env:"API_KEY"`
	// Dimensions asks the API for shorter vectors; 0 leaves it to the model.
	Dimensions int `yaml:"dimensions,omitempty" env:"DIMENSIONS"`
	// QueryPrefix and PassagePrefix stand before what is embedded, for models
	// that were trained so; nil means what is known of the model.
	QueryPrefix   *string `yaml:"query_prefix,omitempty" env:"QUERY_PREFIX"`
	PassagePrefix *string `yaml:"passage_prefix,omitempty" env:"PASSAGE_PREFIX"`
	// QueryInputType and PassageInputType tell an API what a text is, where it
	// wants to know; nil means what is known of the API and model, empty sends none.
	QueryInputType   *string `yaml:"query_input_type,omitempty" env:"QUERY_INPUT_TYPE"`
	PassageInputType *string `yaml:"passage_input_type,omitempty" env:"PASSAGE_INPUT_TYPE"`
	// Batch is the most texts in one request; 0 leaves it to the provider's room.
	Batch int `yaml:"batch,omitempty" env:"BATCH"`
	// RequestsPerMinute and TokensPerMinute bound what an API is asked for while
	// pages are embedded; 0 means no bound. Queries do not count.
	RequestsPerMinute int `yaml:"requests_per_minute,omitempty" env:"REQUESTS_PER_MINUTE"`
	TokensPerMinute   int `yaml:"tokens_per_minute,omitempty" env:"TOKENS_PER_MINUTE"`
}

// Reranker is an API that reads query and passage together.
type Reranker struct {
	// URL is the whole address that is posted to.
	URL string `yaml:"url,omitempty" env:"URL"`
	// Model is the model's name; a server of Text Embeddings Inference needs none.
	Model  string `yaml:"model,omitempty" env:"MODEL"`
	APIKey Secret `yaml:"api_key,omitempty" env:"API_KEY"`
	// Top is how many of the best results are reranked; 0 means 50.
	Top int `yaml:"top,omitempty" env:"TOP"`
	// Timeout is after what time the order of the search stands; 0 means 2 s.
	Timeout time.Duration `yaml:"timeout,omitempty" env:"TIMEOUT"`
}

// Providers of embeddings.
const (
	Builtin = "builtin"
	Model   = "model"
	OpenAI  = "openai"
)

// Default is the configuration that an empty file means.
func Default() Config {
	return Config{
		Schedule:      "0 */6 * * *",
		Embedder:      Embedder{Provider: Builtin},
		Store:         Store{Kind: Local},
		MaxOperations: 20,
		Server:        Server{Listen: "127.0.0.1:8080"},
	}
}

// Secret is a string that shows itself only to who calls Reveal.
type Secret string

const hidden = "(hidden)"

// Reveal returns the secret.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret from fmt and slog.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText hides the secret from YAML and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	File string `json:"file,omitempty"`
	// Line and Column count from 1; 0 when the value stands in no file.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field is the path of the value, such as sources[0].start.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func (f Fault) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		b.WriteByte(':')
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", f.Line, f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if f.Field != "" {
		b.WriteString(f.Field)
		b.WriteString(": ")
	}
	b.WriteString(f.Message)
	return b.String()
}

// FaultsError is all that is wrong with a configuration, in the file's order.
type FaultsError struct{ Faults []Fault }

func (e *FaultsError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

func byPlace(a, b Fault) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Field, b.Field))
}
