package operations

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// LockName is the file that keeps which operation files were tested. It stands
// beside them and is committed with them.
const LockName = "operations.lock.json"

// Bounds on a lock.
const (
	maxLockBytes = 4 << 20
	// maxRevisions is how many endpoints one text of an operation file can have
	// been tested against.
	maxRevisions = 32
)

// Lock says which revisions of operation files were tested. It does not change:
// see [Lock.Record]. The zero value holds none.
type Lock struct {
	tested map[string]tested // by the operation's name
}

// tested are the endpoints that one text of an operation file was tested
// against: a team has more than one of them, for staging and for production.
type tested struct {
	// File is the SHA-256 of the text.
	File string `json:"file"`
	// Revisions are sorted.
	Revisions []string `json:"revisions"`
}

type lockFile struct {
	Version    int               `json:"version"`
	Operations map[string]tested `json:"operations"`
}

// lockVersion is the form of a lock that is written.
const lockVersion = 1

// ReadLock reads what [Lock.Text] wrote. An empty text is a lock that holds none.
func ReadLock(text []byte) (Lock, error) {
	if len(text) > maxLockBytes {
		return Lock{}, fmt.Errorf("read %s: it has %d bytes; at most %d are read", LockName, len(text), maxLockBytes)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Lock{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var file lockFile
	err := d.Decode(&file)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the lock")
	}
	if err != nil {
		return Lock{}, fmt.Errorf("read %s: %w; test the operations again to write it anew", LockName, err)
	}
	if file.Version != lockVersion {
		return Lock{}, fmt.Errorf("read %s: it has version %d, and this docseek reads version %d", LockName, file.Version, lockVersion)
	}
	return Lock{tested: file.Operations}, nil
}

// Text is the lock as its file has it, the same for the same contents.
func (l Lock) Text() []byte {
	return indented(lockFile{Version: lockVersion, Operations: orNone(l.tested)})
}

// Record returns the lock with one more test in it: that of an operation file
// with this text, against this endpoint. Tests of another text of the operation
// are forgotten.
func (l Lock) Record(operation, fileText, url, authProfile string) Lock {
	next := Lock{tested: maps.Clone(orNone(l.tested))}
	entry := tested{File: IDOf(unix(fileText))}
	if before := l.tested[operation]; before.File == entry.File {
		entry.Revisions = slices.Clone(before.Revisions)
	}
	entry.Revisions = append(entry.Revisions, Revision(fileText, url, authProfile))
	if len(entry.Revisions) > maxRevisions {
		entry.Revisions = entry.Revisions[1:]
	}
	slices.Sort(entry.Revisions)
	entry.Revisions = slices.Compact(entry.Revisions)
	next.tested[operation] = entry
	return next
}

// Tested reports whether a revision of an operation was tested.
func (l Lock) Tested(operation, revision string) bool {
	return slices.Contains(l.tested[operation].Revisions, revision)
}

// Merge is this lock with the entries of another one, which stands beside other
// files. Where both have an operation, its revisions in either count.
func (l Lock) Merge(other Lock) Lock {
	next := Lock{tested: maps.Clone(orNone(l.tested))}
	for name, entry := range other.tested {
		before := next.tested[name]
		entry.Revisions = slices.Concat(before.Revisions, entry.Revisions)
		slices.Sort(entry.Revisions)
		entry.Revisions = slices.Compact(entry.Revisions)
		next.tested[name] = entry
	}
	return next
}

func orNone(m map[string]tested) map[string]tested {
	if m == nil {
		return map[string]tested{}
	}
	return m
}

// Revision names what a test was of: the SHA-256, in hexadecimal digits, of the
// text of the operation file, the address of the endpoint, and the name of the
// auth profile, each after its length in bytes (64 bits, big-endian). Line ends
// count as line feeds, since Git may write them as it likes.
func Revision(fileText, url, authProfile string) string {
	var b strings.Builder
	for _, part := range []string{unix(fileText), url, authProfile} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		b.Write(length[:])
		b.WriteString(part)
	}
	return IDOf(b.String())
}

func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
