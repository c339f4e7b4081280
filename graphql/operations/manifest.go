package operations

import (
	"bytes"
	"cmp"
	"crypto/md5"  //nolint:gosec // Relay names documents by it; nothing is protected by it here
	"crypto/sha1" //nolint:gosec // GraphQL codegen names documents by it; likewise
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql/execute"
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
	for _, id := range slices.Sorted(maps.Keys(members)) {
		var document string
		if json.Unmarshal(members[id], &document) != nil {
			return nil, fmt.Errorf("read persisted documents: %w: what stands under %q is no text", errNoManifest, id)
		}
		if err := add(id, document); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// persisted is a document of a manifest.
type persisted struct{ id, text string }

// manifest holds the documents that somebody else persisted to the schema. An
// operation that is worth the same as one of them is sent as it stands there,
// under its id.
func (l *loader) manifest(f File) {
	if path.Base(f.Path) == LockName {
		return
	}
	documents, err := ReadManifest([]byte(f.Text))
	if err != nil {
		l.fault(Place{File: f.Path}, "", "%v", err)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		text := documents[id]
		if !isHash(id, text) {
			l.tampered = append(l.tampered, Fault{Place: placeOfID(f, id), Message: fmt.Sprintf(
				"the id %q is not the hash of its text: the manifest was changed by hand, or is another tool's; build it again", id)})
			if l.Strict {
				continue
			}
		}
		tree, faults := checkDocument(f, id, text, l.tree(), l.Limits)
		l.faults = append(l.faults, faults...)
		if len(faults) == 0 && len(tree.Operations) == 1 {
			slices.SortFunc(tree.Fragments, func(a, b *ast.FragmentDefinition) int { return cmp.Compare(a.Name, b.Name) })
			l.published[printed(tree.Operations[0], tree.Fragments)] = persisted{id, text}
		}
	}
}

// placeOfID is where an id stands in a manifest.
func placeOfID(f File, id string) Place {
	at := strings.Index(f.Text, id)
	if at < 0 {
		return Place{File: f.Path}
	}
	before := f.Text[:at]
	line := strings.LastIndexByte(before, '\n')
	return Place{File: f.Path, Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line+1:]) + 1}
}

// checkDocument holds a persisted document to the schema, and to the limits alone
// where none is known. The places of its faults are that of its id.
func checkDocument(f File, id, text string, schema *ast.Schema, limits execute.Limits) (*ast.QueryDocument, []Fault) {
	tree, found := execute.Parse("", text, limits)
	if len(found) == 0 {
		found = execute.CheckParsed(schema, tree, limits)
	}
	faults := make([]Fault, len(found))
	name := ""
	if tree != nil && len(tree.Operations) > 0 {
		name = tree.Operations[0].Name
	}
	for i, fault := range found {
		faults[i] = Fault{Place: placeOfID(f, id), Operation: name, Message: "persisted document " + execute.Cut(id, 12) + ": " + fault.String()}
	}
	return tree, faults
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
