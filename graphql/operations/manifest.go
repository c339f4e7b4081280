package operations

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // Relay names documents by it; nothing is protected by it here
	"crypto/sha1" //nolint:gosec // GraphQL codegen names documents by it; likewise
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	maxManifestBytes = 16 << 20
	maxDocuments     = 10_000
)

var errNoManifest = errors.New("it is neither a map of id to text nor an Apollo manifest")

// ReadManifest reads persisted documents: the map of id to text that docseek,
// Relay and GraphQL codegen write, or the manifest that Apollo's tools write. It
// returns the texts by their ids, without the prefix "sha256:".
func ReadManifest(text []byte) (map[string]string, error) {
	if len(text) > maxManifestBytes {
		return nil, fmt.Errorf("read persisted documents: they have %d bytes; at most %d are read", len(text), maxManifestBytes)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("read persisted documents: %w: %w", errNoManifest, err)
	}
	documents := make(map[string]string, len(members))
	add := func(id, document string) error {
		id = strings.TrimPrefix(id, "sha256:")
		if before, twice := documents[id]; twice && before != document {
			return fmt.Errorf("read persisted documents: the id %q stands for two texts", id)
		}
		documents[id] = document
		if len(documents) > maxDocuments {
			return fmt.Errorf("read persisted documents: there are more than %d", maxDocuments)
		}
		return nil
	}
	var format string
	if json.Unmarshal(members["format"], &format) == nil && format == apolloFormat {
		var manifest apolloManifest
		if err := json.Unmarshal(text, &manifest); err != nil {
			return nil, fmt.Errorf("read persisted documents: as an Apollo manifest: %w", err)
		}
		for _, operation := range manifest.Operations {
			if err := add(operation.ID, operation.Body); err != nil {
				return nil, err
			}
		}
		return documents, nil
	}
	for id, raw := range members {
		var document string
		if json.Unmarshal(raw, &document) != nil {
			return nil, fmt.Errorf("read persisted documents: %w: what stands under %q is no text", errNoManifest, id)
		}
		if err := add(id, document); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// IDOf is the id of a document: the SHA-256 of its text in lower-case hexadecimal digits.
func IDOf(document string) string {
	sum := sha256.Sum256([]byte(document))
	return hex.EncodeToString(sum[:])
}

// isHash reports whether an id is a hash of the document: SHA-256, or what Relay
// (MD5) and GraphQL codegen (SHA-1) use unless told otherwise.
func isHash(id, document string) bool {
	switch len(id) {
	case 2 * sha256.Size:
		return id == IDOf(document)
	case 2 * sha1.Size:
		sum := sha1.Sum([]byte(document)) //nolint:gosec // see the import
		return id == hex.EncodeToString(sum[:])
	case 2 * md5.Size:
		sum := md5.Sum([]byte(document)) //nolint:gosec // see the import
		return id == hex.EncodeToString(sum[:])
	}
	return false
}
