package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
)

const (
	maxFileBytes = 1 << 20
	maxEntries   = 5000
	// lookEvery is the longest time for which a change of the file is not seen.
	lookEvery = time.Second
)

// File accepts the tokens of a YAML file: a list of [Entry]. It is read again
// when it has changed. A file that cannot be read then changes nothing until it
// is mended: see [File.Status].
type File struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	mu     sync.Mutex
	looked time.Time
	text   []byte
	tokens []accepted
	err    error
}

var _ Verifier = (*File)(nil)

// accepted is an entry that is ready to be compared.
type accepted struct {
	hash    [sha256.Size]byte
	expires time.Time
	caller  Caller
}

// OpenFile reads the file. now is the clock. What is wrong with the file is an
// error here, and later is written to the log.
func OpenFile(path string, now func() time.Time, log *slog.Logger) (*File, error) {
	f := &File{path: path, now: now, log: log}
	f.look()
	if f.err != nil {
		return nil, f.err
	}
	return f, nil
}

// Verify tells who a token belongs to.
func (f *File) Verify(_ context.Context, token string) (Caller, error) {
	tokens := f.current()
	hash := sha256.Sum256([]byte(token))
	var found *accepted
	for i := range tokens { // all of them: the time says nothing of where it stands
		if subtle.ConstantTimeCompare(hash[:], tokens[i].hash[:]) == 1 {
			found = &tokens[i]
		}
	}
	switch {
	case found == nil:
		return Caller{}, fmt.Errorf("%w: it is not one of those that this server knows", ErrUnknown)
	case !found.expires.IsZero() && !f.now().Before(found.expires):
		return Caller{}, fmt.Errorf("%w: it has expired", ErrUnknown)
	}
	return found.caller, nil
}

// Status is why the file as it stands is not in use, or nil.
func (f *File) Status() error {
	f.current()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *File) current() []accepted {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now().Sub(f.looked) >= lookEvery {
		f.look()
	}
	return f.tokens
}

// look reads the file and takes what has changed. It compares the bytes, since
// a file can change twice within the resolution of its time.
func (f *File) look() {
	f.looked = f.now()
	text, err := readFile(f.path)
	if err == nil && f.text != nil && bytes.Equal(text, f.text) {
		return // its fault, if it has one, is known
	}
	f.text = text
	var tokens []accepted
	if err == nil {
		tokens, err = parseEntries(text)
	}
	if err != nil {
		err = fmt.Errorf("read the tokens of %s: %w", f.path, err)
		if f.err == nil || f.err.Error() != err.Error() {
			f.log.Error("the tokens stay as they were", slog.Any("error", err))
		}
		f.err = err
		return
	}
	if f.tokens != nil {
		f.log.Info("tokens read again", slog.Int("tokens", len(tokens)))
	}
	f.tokens, f.err = tokens, nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFileBytes:
		return nil, fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	}
	return text, nil
}

// decodeList reads a list in YAML. On some texts that are none, goccy/go-yaml
// v1.19.2 panics; a file that is half written must not end a request.
func decodeList[T any](text []byte) (list []T, err error) {
	defer func() {
		if p := recover(); p != nil {
			list, err = nil, fmt.Errorf("read YAML: %v", p)
		}
	}()
	err = yaml.UnmarshalWithOptions(text, &list, yaml.Strict())
	return list, err
}

// checkValues refuses a key that stands there without a value: what is left out
// allows all sources and endpoints, which who wrote the key did not mean.
func checkValues(text []byte) error {
	entries, err := decodeList[map[string]any](text)
	if err != nil && !errors.Is(err, io.EOF) {
		return errors.New("its entries cannot be read as docseek token new prints them")
	}
	for i, e := range entries {
		for key, value := range e {
			if value == nil {
				return fmt.Errorf("entry %d: %s has no value: write one ([] allows none), or leave out the key", i+1, key)
			}
		}
	}
	return nil
}

func parseEntries(text []byte) ([]accepted, error) {
	entries, err := decodeList[Entry](text)
	if err != nil && !errors.Is(err, io.EOF) {
		// The library's own text quotes the file, in which a token may stand by mistake.
		var located yaml.Error
		if errors.As(err, &located) && located.GetToken() != nil {
			at := located.GetToken().Position
			return nil, fmt.Errorf("line %d, column %d is not an entry as docseek token new prints it (scopes stand in quotes)", at.Line, at.Column)
		}
		return nil, errors.New("it is not a list of entries as docseek token new prints them")
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("it has more than %d entries", maxEntries)
	}
	if err := checkValues(text); err != nil {
		return nil, err
	}
	tokens := make([]accepted, len(entries))
	names, hashes := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for i, e := range entries {
		if err := e.Check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		t := accepted{caller: e.caller()}
		t.expires, _ = e.end()                         // checked
		_, _ = hex.Decode(t.hash[:], []byte(e.SHA256)) // checked
		if names[e.Name] || hashes[t.hash] {
			return nil, fmt.Errorf("entry %d: %s or its token is in the file twice", i+1, e.Name)
		}
		names[e.Name], hashes[t.hash] = true, true
		tokens[i] = t
	}
	return tokens, nil
}
