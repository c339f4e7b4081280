// Package embed turns texts into vectors through any [Embedder].
//
// A [Service] stands around an embedder: it batches, runs batches side by side,
// retries what may pass, checks every vector and keeps them in a [Cache], so
// that nobody pays for a text twice. [DiskCache] is such a cache.
package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// Kind says what a text is. Some models put another prefix before a question
// than before a passage.
type Kind int

// The kinds of text.
const (
	Passage Kind = iota
	Query
)

func (k Kind) String() string {
	switch k {
	case Passage:
		return "passage"
	case Query:
		return "query"
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// Embedder is one model. It is safe for concurrent use.
type Embedder interface {
	// Fingerprint names everything that decides which vector a text gets: model,
	// weights, dimension, pooling, normalisation, prefixes, token limit. Two
	// embedders with one fingerprint give vectors of one space.
	Fingerprint() string
	// Dimension is the length of every vector.
	Dimension() int
	// Embed returns one vector per text, in the order of the texts. The vectors
	// are the caller's. A failure that may pass, or that a smaller batch avoids,
	// is an [Error] that says so; a text that is the reason by itself is a
	// [TextError]; any other failure is final.
	Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error)
}

// TextHash is the SHA-256 of a text, in hex: what vectors are kept by.
func TextHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Fingerprint is the fingerprint of an index: an embedder's, the version of the
// chunker that cuts its texts and the version of the template that puts context
// before them. It reads "key=value;key=value".
func Fingerprint(embedder string, chunker int, template string) string {
	return fmt.Sprintf("%s;chunker=%d;context=%s", embedder, chunker, url.QueryEscape(template))
}

// EmbedderOf is the embedder's part of an index's fingerprint, see [Fingerprint].
func EmbedderOf(fingerprint string) string {
	if i := strings.LastIndex(fingerprint, ";chunker="); i >= 0 {
		return fingerprint[:i]
	}
	return fingerprint
}

// NoModel is the fingerprint in place of an embedder's where nothing has been
// embedded, because none could be had.
const NoModel = "model=none"

// Changed says in which parts two fingerprints differ, for people: "model a
// became b, dimension 384 became 768". It is empty when they are equal.
func Changed(before, after string) string {
	if before == after {
		return ""
	}
	old, names := fingerprintParts(before)
	now, more := fingerprintParts(after)
	for _, name := range more {
		if _, ok := old[name]; !ok {
			names = append(names, name)
		}
	}
	var changes []string
	for _, name := range names {
		if was, is := old[name], now[name]; was != is {
			changes = append(changes, fmt.Sprintf("%s %s became %s", name, orNone(was), orNone(is)))
		}
	}
	return strings.Join(changes, ", ")
}

func fingerprintParts(fingerprint string) (values map[string]string, names []string) {
	values = map[string]string{}
	for part := range strings.SplitSeq(fingerprint, ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			name, value = "embedder", part
		}
		if _, twice := values[name]; !twice {
			names = append(names, name)
		}
		values[name] = value
	}
	return values, names
}

func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}
