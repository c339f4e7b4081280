package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"
)

// cursorKind is what a cursor continues.
type cursorKind byte

const (
	searchCursor cursorKind = 's'
	readCursor   cursorKind = 'r'
	listCursor   cursorKind = 'l'
)

// cursor is a place in an answer. It is valid for the query that it came from:
// its text form ends with a digest of all that it holds and of the query. That
// finds mistakes; a forged cursor could reach nothing that a query cannot.
type cursor struct {
	kind cursorKind
	// key is that of the state.
	key string
	// offset counts what was shown; of a reading it is the ordinal of the chunk to go on in.
	offset int
	// plan is a digest of how a search was done; of a reading it is the byte in
	// the body of the chunk.
	plan uint64
	// after is the last URL of a list.
	after string
}

const (
	maxCursorBytes = 8 << 10
	digestBytes    = 8
)

func (c cursor) encode(identity []string) string { return sign(c.append(nil), identity) }

// sign makes the text form of a cursor's bytes.
func sign(b []byte, identity []string) string {
	b = binary.BigEndian.AppendUint64(b, digest(append([]string{string(b)}, identity...)))
	return base64.RawURLEncoding.EncodeToString(b)
}

func (c cursor) append(b []byte) []byte {
	b = append(b, byte(c.kind))
	b = binary.AppendUvarint(b, uint64(c.offset))
	b = binary.AppendUvarint(b, c.plan)
	for _, s := range []string{c.key, c.after} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// parseCursor reads a cursor of a kind for a query.
func parseCursor(text string, kind cursorKind, identity []string) (cursor, error) {
	bad := inputErrorf("this cursor does not belong to this query: pass next_cursor as it was given, with the same arguments, or ask again without it")
	if len(text) > maxCursorBytes {
		return cursor{}, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= digestBytes || cursorKind(b[0]) != kind {
		return cursor{}, bad
	}
	content, sum := b[:len(b)-digestBytes], b[len(b)-digestBytes:]
	if binary.BigEndian.Uint64(sum) != digest(append([]string{string(content)}, identity...)) {
		return cursor{}, bad
	}
	c := cursor{kind: kind}
	rest := content[1:]
	offset, n := binary.Uvarint(rest)
	if n <= 0 || offset > math.MaxInt32 {
		return cursor{}, bad
	}
	c.offset, rest = int(offset), rest[n:]
	if c.plan, n = binary.Uvarint(rest); n <= 0 || kind == readCursor && c.plan > math.MaxInt32 {
		return cursor{}, bad
	}
	rest = rest[n:]
	for _, s := range []*string{&c.key, &c.after} {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return cursor{}, bad
		}
		*s, rest = string(rest[n:n+int(length)]), rest[n+int(length):]
	}
	if len(rest) > 0 || !bytes.Equal(c.append(nil), content) {
		return cursor{}, bad
	}
	return c, nil
}

// digest is the first 64 bits of the SHA-256 of a list of strings.
func digest(parts []string) uint64 {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
