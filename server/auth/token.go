package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// tokenPrefix begins every token that is made here, so that scanners for leaked
// secrets can tell one.
const tokenPrefix = "docseek_"

// tokenBytes are random: nobody guesses one, so a plain hash is enough to keep.
const tokenBytes = 32

// maxTokenBytes bounds a token that a caller sends; access tokens with many
// claims have a few kilobytes.
const maxTokenBytes = 16 << 10

// NewToken makes a token.
func NewToken() string {
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Entry is one accepted token as the file has it.
type Entry struct {
	// Name is who the token was given to, unique in the file: 1 to 64 of a-z,
	// A-Z, 0-9 and "._@-".
	Name string `yaml:"name"`
	// SHA256 is the hash of the token, in hexadecimal digits.
	SHA256 string `yaml:"sha256"`
	// Scopes are what the token may do; nil means docs:read and graphql:read.
	Scopes []string `yaml:"scopes,omitempty,flow"`
	// Sources and Endpoints are the names of those it may use; nil means all.
	Sources   []string `yaml:"sources,omitempty,flow"`
	Endpoints []string `yaml:"endpoints,omitempty,flow"`
	// Expires is when it is no longer accepted: a day (2027-01-31, its first
	// moment in UTC) or a time of RFC 3339; empty means never.
	Expires string `yaml:"expires,omitempty"`
}

// NewEntry is the entry of a token.
func NewEntry(name, token string) Entry {
	hash := sha256.Sum256([]byte(token))
	return Entry{Name: name, SHA256: hex.EncodeToString(hash[:])}
}

// Line is the entry as one line of the file, without the line's end.
func (e Entry) Line() (string, error) {
	text, err := yaml.MarshalWithOptions(e, yaml.Flow(true))
	if err != nil {
		return "", fmt.Errorf("write the entry of %s: %w", e.Name, err)
	}
	return "- " + strings.TrimSpace(string(text)), nil
}

// Check returns what is wrong with the entry.
func (e Entry) Check() error {
	switch hash, err := hex.DecodeString(e.SHA256); {
	case !isName(e.Name):
		return fmt.Errorf("name must be 1 to 64 of letters, digits, '.', '_', '@' and '-' (got %q)", e.Name)
	case err != nil || len(hash) != sha256.Size:
		return fmt.Errorf("sha256 of %s must be the 64 hexadecimal digits that docseek token new printed", e.Name)
	}
	for _, scope := range e.Scopes {
		if !slices.Contains(Scopes(), scope) {
			return fmt.Errorf("scope %q of %s is none of %s", scope, e.Name, strings.Join(Scopes(), ", "))
		}
	}
	if _, err := e.end(); err != nil {
		return fmt.Errorf("expires of %s: %w", e.Name, err)
	}
	return nil
}

// end is when the entry expires; the zero time if it never does.
func (e Entry) end() (time.Time, error) {
	if e.Expires == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, e.Expires); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("must be a day such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z (got %q)", e.Expires)
}

func isName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._@-", r)
	})
}

func (e Entry) caller() Caller {
	c := Caller{Name: e.Name, Scopes: e.Scopes, Sources: e.Sources, Endpoints: e.Endpoints}
	if c.Scopes == nil {
		c.Scopes = ReadScopes()
	}
	return c
}
