package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

// sourceName is what a source may be called.
var sourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Validate returns a *FaultsError with all that is wrong, or nil.
func (c Config) Validate() error {
	if fs := c.validate(); len(fs) > 0 {
		return &FaultsError{Faults: fs}
	}
	return nil
}

func (c Config) validate() []Fault {
	v := validator{}
	names := map[string]int{}
	for i, s := range c.Sources {
		at := fmt.Sprintf("sources[%d].", i)
		v.source(at, s)
		if first, twice := names[s.Name]; twice && s.Name != "" {
			v.fault(at+"name", "%q is already the name of sources[%d]", s.Name, first)
		} else {
			names[s.Name] = i
		}
	}
	v.embedder(c.Embedder)
	v.reranker(c.Reranker)
	v.store(c.Store)
	v.graphql(c.GraphQL, c.Server.Auth.On())
	v.authProfiles(c.AuthProfiles)
	if c.MaxOperations < 1 || c.MaxOperations > 1000 {
		v.fault("max_operations", "must be 1 to 1000 (got %d)", c.MaxOperations)
	}
	v.server(c.Server)
	if strings.TrimSpace(c.Schedule) == "" {
		v.fault("schedule", `must be a cron expression such as "0 */6 * * *", or off`)
	}
	return v.faults
}

type validator struct{ faults []Fault }

func (v *validator) fault(field, format string, args ...any) {
	v.faults = append(v.faults, Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

func (v *validator) oneOf(field, got string, allowed ...string) {
	if !slices.Contains(allowed, got) {
		named := slices.DeleteFunc(allowed, func(s string) bool { return s == "" })
		v.fault(field, "must be %s (got %q)", strings.Join(named, " or "), got)
	}
}

func (v *validator) source(at string, s docseek.Source) {
	if !sourceName.MatchString(s.Name) {
		v.fault(at+"name", "must be 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit (got %q)", s.Name)
	}
	switch {
	case s.Start == "":
		v.fault(at+"start", "is missing: the URL of a sitemap or a page, or a folder")
	case IsURL(s.Start):
		v.webURL(at+"start", s.Start)
		v.noCredential(at+"start", s.Start)
		if s.BaseURL != "" {
			v.fault(at+"base_url", "is for a folder; the pages of a site have their own addresses")
		}
	case strings.Contains(s.Start, "://"):
		v.fault(at+"start", "must be an http or https URL, or a folder (got %q)", shown(s.Start))
	case s.BaseURL == "":
		v.fault(at+"base_url", "is missing: the address that the folder's pages are published under")
	default:
		v.webURL(at+"base_url", s.BaseURL)
	}
	for i, g := range s.Include {
		v.glob(fmt.Sprintf("%sinclude[%d]", at, i), g)
	}
	for i, g := range s.Exclude {
		v.glob(fmt.Sprintf("%sexclude[%d]", at, i), g)
	}
	if s.Version.Label != "" && s.Version.FromPath != "" {
		v.fault(at+"version.label", "and version.from_path exclude each other; for pages that the pattern does not match there is version.current")
	}
	if p := s.Version.FromPath; p != "" && (strings.Count(p, "{version}") != 1 || !slices.Contains(strings.Split(p, "/"), "{version}")) {
		v.fault(at+"version.from_path", "must hold {version} once, as a whole segment (got %q)", p)
	}
	if s.Version.Current != "" && s.Version.FromPath == "" {
		v.fault(at+"version.current", "needs version.from_path")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(s.Headers[name], "\r\n") {
			v.fault(at+"headers", "%q is no valid header", name)
		}
	}
	if s.Rate.Concurrency < 0 || s.Rate.Concurrency > 64 {
		v.fault(at+"rate.concurrency", "must be 1 to 64 (got %d)", s.Rate.Concurrency)
	}
	if s.Rate.Delay < 0 || s.Rate.Delay > time.Minute {
		v.fault(at+"rate.delay", "must be between 0 and 1m (got %s)", s.Rate.Delay)
	}
	if s.MaxPages < 0 {
		v.fault(at+"max_pages", "must not be negative (got %d)", s.MaxPages)
	}
	switch s.Render {
	case "", "auto", "never":
	case "always":
		v.fault(at+"render", "always needs a browser, which this version does not drive; pages that need JavaScript are reported as needs_js")
	default:
		v.fault(at+"render", "must be auto or never (got %q)", s.Render)
	}
	v.oneOf(at+"robots", s.Robots, "", "obey", "ignore")
}

func (v *validator) glob(field, g string) {
	if !strings.HasPrefix(g, "/") {
		v.fault(field, `must begin with "/": it is matched against the whole path (got %q)`, g)
	}
}

func (v *validator) webURL(field, raw string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		if parsing, ok := errors.AsType[*url.Error](err); ok {
			err = parsing.Err // without the URL, which may hold a password
		}
		v.fault(field, "is no URL: %v", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		v.fault(field, "must be an http or https URL (got %q)", shown(raw))
	case u.User != nil:
		v.fault(field, "must not hold a user or password; use headers: {Authorization: …}")
	}
}

// noCredential refuses an address whose query holds a credential: the address is
// kept with the index, shown and logged.
func (v *validator) noCredential(field, raw string) {
	u, err := url.Parse(raw)
	if err != nil {
		return // said already
	}
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if isCredential(name) {
			v.fault(field, "must not hold a credential (%s): the address is stored with the index and shown; send it as a header", name)
		}
	}
}

// isCredential tells the query parameters that are secret by their name.
func isCredential(name string) bool {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "token", "accesstoken", "authtoken", "apikey", "apitoken", "secret", "clientsecret", "password", "passwd", "sig", "signature":
		return true
	default:
		return false
	}
}

// shown is an address as a message may quote it: without what stands where a
// user and password, or a query, would.
func shown(raw string) string {
	if i := strings.IndexByte(raw, '?'); i >= 0 {
		raw = raw[:i] + "?…"
	}
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		scheme, _, _ := strings.Cut(raw[:i], "//")
		raw = scheme + "//…" + raw[i:]
	}
	return raw
}

func (v *validator) embedder(e Embedder) {
	v.oneOf("embedder.provider", e.Provider, Builtin, Model, OpenAI)
	if e.Provider != Model && (e.Path != "" || e.Precision != "") {
		v.fault("embedder.path", "is for a model in a folder: write provider: model")
	}
	switch e.Provider {
	case Model:
		if e.Path == "" {
			v.fault("embedder.path", "is missing: the folder with config.json, model.safetensors and tokenizer.json")
		}
		v.oneOf("embedder.precision", cmp.Or(e.Precision, "int8"), "int8", "f32")
		if e.ofAPI() {
			v.fault("embedder.provider", "model, base_url, api_key, dimensions, input types and bounds per minute are for an API: write provider: openai")
		}
	case Builtin:
		if e.ofAPI() || e.QueryPrefix != nil || e.PassagePrefix != nil {
			v.fault("embedder.provider", "builtin has one model and takes no other setting; for an API write provider: openai")
		}
	case OpenAI:
		if e.Model == "" {
			v.fault("embedder.model", "is missing: the model's name as the API knows it")
		}
		if e.BaseURL != "" {
			v.webURL("embedder.base_url", e.BaseURL)
			v.noCredential("embedder.base_url", e.BaseURL)
		}
	}
	if e.Dimensions < 0 || e.Dimensions > 8192 {
		v.fault("embedder.dimensions", "must be 0 to 8192 (got %d)", e.Dimensions)
	}
	if e.Batch < 0 || e.Batch > 2048 {
		v.fault("embedder.batch", "must be 0 to 2048 (got %d)", e.Batch)
	}
	if e.RequestsPerMinute < 0 {
		v.fault("embedder.requests_per_minute", "must not be negative (got %d)", e.RequestsPerMinute)
	}
	if e.TokensPerMinute < 0 {
		v.fault("embedder.tokens_per_minute", "must not be negative (got %d)", e.TokensPerMinute)
	}
}

// ofAPI reports whether something is set that only an API has.
func (e Embedder) ofAPI() bool {
	return e.Model != "" || e.BaseURL != "" || e.APIKey != "" || e.Dimensions != 0 ||
		e.QueryInputType != nil || e.PassageInputType != nil || e.RequestsPerMinute != 0 || e.TokensPerMinute != 0
}

func (v *validator) reranker(r Reranker) {
	if r.URL == "" {
		if r != (Reranker{}) {
			v.fault("reranker.url", "is missing: the whole address, such as https://api.cohere.com/v2/rerank")
		}
		return
	}
	v.webURL("reranker.url", r.URL)
	v.noCredential("reranker.url", r.URL)
	if r.Top < 0 || r.Top > 200 {
		v.fault("reranker.top", "must be 0 (the default, 50) to 200 (got %d)", r.Top)
	}
	if r.Timeout < 0 || r.Timeout > 20*time.Second {
		v.fault("reranker.timeout", "must be between 0 (the default, 2s) and 20s (got %s)", r.Timeout)
	}
}

// IsURL tells a web address from the path of a folder.
func IsURL(start string) bool {
	s := strings.ToLower(start)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
