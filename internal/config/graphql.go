package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GraphQL is one GraphQL API that agents may use.
type GraphQL struct {
	// Name identifies the endpoint everywhere, as a source's name does.
	Name string `yaml:"name"`
	// URL is the endpoint's address.
	URL string `yaml:"url"`
	// Schema is introspect (the default: the endpoint is asked), or the path of
	// a file with SDL or the answer to an introspection query.
	Schema string `yaml:"schema,omitempty"`
	// Poll is the time between two looks at the schema; 0 means 10 minutes.
	Poll time.Duration `yaml:"poll,omitempty"`
	// Documents says which documents agents may execute: none, read (queries;
	// the default) or write (mutations too).
	Documents string `yaml:"documents,omitempty"`
	// Explore says whether agents may search and inspect the schema; nil means
	// unless documents is none.
	Explore *bool `yaml:"explore,omitempty"`
	// Operations are globs of operation documents (.graphql, .gql), operation
	// files (.yaml, .yml) and persisted documents of other tools (.json), relative
	// to the configuration's folder: * and ? within a segment, ** for any number
	// of them.
	Operations []string `yaml:"operations,omitempty"`
	// Persisted says what is sent for an operation: text (the default),
	// document_id or extension (extensions.persistedQuery).
	Persisted string `yaml:"persisted,omitempty"`
	// RequireTest keeps an operation file back until its present revision stands
	// in the lock; nil means true.
	RequireTest *bool `yaml:"require_test,omitempty"`
	// Strict lets one broken operation refuse the whole reload; without it the
	// broken one alone is left out.
	Strict bool `yaml:"strict,omitempty"`
	// Scalars are the JSON Schemas of custom scalars, by their names.
	Scalars map[string]map[string]any `yaml:"scalars,omitempty"`
	// Headers are sent with every request. They may hold secrets.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Forward names the headers of a caller's request that are sent on.
	Forward []string `yaml:"forward,omitempty"`
	// Limits bound a call; a zero field means its default.
	Limits GraphQLLimits `yaml:"limits,omitempty"`
}

// Introspect is the schema that the endpoint is asked for.
const Introspect = "introspect"

// What agents may do with documents of their own.
const (
	DocumentsNone  = "none"
	DocumentsRead  = "read"
	DocumentsWrite = "write"
)

// What is sent for an operation.
const (
	PersistedText       = "text"
	PersistedDocumentID = "document_id"
	PersistedExtension  = "extension"
)

// DefaultPoll is the time between two looks at a schema.
const DefaultPoll = 10 * time.Minute

// GraphQLLimits bound what one call may cost.
type GraphQLLimits struct {
	// Timeout bounds a call with all its tries; 0 means 20 s.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// Response bounds an answer, decoded; 0 means 2 MiB.
	Response Size `yaml:"response,omitempty"`
	// Depth and Aliases bound an operation; 0 means 15 and 30.
	Depth   int `yaml:"depth,omitempty"`
	Aliases int `yaml:"aliases,omitempty"`
}

// WithDefaults fills in what a file may leave out.
func (g GraphQL) WithDefaults() GraphQL {
	g.Schema = cmp.Or(g.Schema, Introspect)
	g.Poll = cmp.Or(g.Poll, DefaultPoll)
	g.Documents = cmp.Or(g.Documents, DocumentsRead)
	if g.Explore == nil {
		g.Explore = new(g.Documents != DocumentsNone)
	}
	g.Persisted = cmp.Or(g.Persisted, PersistedText)
	if g.RequireTest == nil {
		g.RequireTest = new(true)
	}
	return g
}

// Size is a number of bytes, written as such or with KiB, MiB or GiB.
type Size int64

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	number, factor := strings.TrimSpace(string(text)), int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if before, ok := strings.CutSuffix(number, unit); ok {
			number, factor = strings.TrimSpace(before), 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/factor {
		return fmt.Errorf("must be a number of bytes such as 512KiB or 2MiB (got %q)", text)
	}
	*s = Size(n * factor)
	return nil
}

// MarshalText writes a size in the largest unit that keeps it whole.
func (s Size) MarshalText() ([]byte, error) {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if factor := Size(1) << (10 * (3 - i)); s != 0 && s%factor == 0 {
			return fmt.Appendf(nil, "%d%s", s/factor, unit), nil
		}
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

func (v *validator) graphql(all []GraphQL, bearer bool) {
	names := map[string]int{}
	for i, g := range all {
		at := fmt.Sprintf("graphql[%d].", i)
		if first, twice := names[g.Name]; twice && g.Name != "" {
			v.fault(at+"name", "%q is already the name of graphql[%d]", g.Name, first)
		} else {
			names[g.Name] = i
		}
		v.endpoint(at, g)
		for j, name := range g.Forward {
			if bearer && http.CanonicalHeaderKey(name) == "Authorization" {
				v.fault(fmt.Sprintf("%sforward[%d]", at, j), "authorization holds the token for docseek itself (server.auth) and is not sent on; "+
					"let callers send the endpoint's token in a header of its own")
			}
		}
	}
}

func (v *validator) endpoint(at string, g GraphQL) {
	if !sourceName.MatchString(g.Name) {
		v.fault(at+"name", "must be 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit (got %q)", g.Name)
	}
	if g.URL == "" {
		v.fault(at+"url", "is missing: the address of the GraphQL endpoint")
	} else {
		v.webURL(at+"url", g.URL)
	}
	if IsURL(g.Schema) {
		v.fault(at+"schema", "must be introspect or the path of a file (got %q)", g.Schema)
	}
	if g.Poll != 0 && g.Poll < time.Second {
		v.fault(at+"poll", "must be 1s or more (got %s)", g.Poll)
	}
	v.oneOf(at+"documents", cmp.Or(g.Documents, DocumentsRead), DocumentsNone, DocumentsRead, DocumentsWrite)
	v.operations(at, g)
	for _, name := range slices.Sorted(maps.Keys(g.Headers)) {
		switch {
		case !validHeader(name) || strings.ContainsAny(g.Headers[name], "\r\n"):
			v.fault(at+"headers", "%q is no valid header", name)
		case ownHeader(name):
			v.fault(at+"headers", "%s is set by docseek itself", name)
		}
	}
	for i, name := range g.Forward {
		field := fmt.Sprintf("%sforward[%d]", at, i)
		switch {
		case !validHeader(name):
			v.fault(field, "%q is no name of a header", name)
		case ownHeader(name):
			v.fault(field, "%s belongs to one connection or to MCP and cannot be sent on", name)
		}
	}
	l := g.Limits
	for _, limit := range []struct {
		field    string
		got, max int64
	}{
		{"response", int64(l.Response), 64 << 20},
		{"depth", int64(l.Depth), 200},
		{"aliases", int64(l.Aliases), 5000},
	} {
		if limit.got < 0 || limit.got > limit.max {
			v.fault(at+"limits."+limit.field, "must be 0 (the default) to %d (got %d)", limit.max, limit.got)
		}
	}
	if l.Timeout < 0 || l.Timeout > 5*time.Minute {
		v.fault(at+"limits.timeout", "must be between 0 (the default) and 5m (got %s)", l.Timeout)
	}
}

// validHeader reports whether a text is a token (RFC 9110 §5.6.2).
func validHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// ownHeader reports whether a header is about one connection (RFC 9110 §7.6.1),
// about the message that docseek itself writes, or about MCP.
func ownHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Content-Type", "Content-Encoding",
		"Accept", "Accept-Encoding", "Expect":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}
