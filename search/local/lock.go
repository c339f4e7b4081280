package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/docseek/docseek/search"
)

// retryLock is how often a waiting run asks for the lock.
const retryLock = 50 * time.Millisecond

// lock is the right to run a source. The system takes it back when the process
// that holds it ends, however it ends.
type lock struct {
	file   *flock.Flock
	holder string
}

type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

func lockSource(ctx context.Context, dir, source string, wait bool) (*lock, error) {
	dir = filepath.Join(dir, "locks")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("create the directory of locks: %w", err)
	}
	l := &lock{
		file:   flock.New(filepath.Join(dir, source+".lock")),
		holder: filepath.Join(dir, source+".holder"),
	}
	locked, err := l.file.TryLock()
	if err == nil && !locked && wait {
		locked, err = l.file.TryLockContext(ctx, retryLock)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("wait for the source: %w: %w", l.held(source), err)
	case err != nil:
		return nil, fmt.Errorf("lock source %s: %w", source, err)
	case !locked:
		return nil, l.held(source)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text, err := json.Marshal(holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err == nil {
		err = os.WriteFile(l.holder, text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("note who holds source %s: %w", source, err), l.release())
	}
	return l, nil
}

func (l *lock) held(source string) error {
	by := "unknown process"
	if text, err := os.ReadFile(l.holder); err == nil {
		var h holder
		if json.Unmarshal(text, &h) == nil && h.PID != 0 {
			by = fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.Format(time.RFC3339))
		}
	}
	return &search.LockedError{Source: source, Holder: by}
}

// release leaves the files: removing a lock file would let two runs lock two
// files of one name.
func (l *lock) release() error {
	if err := l.file.Unlock(); err != nil {
		return fmt.Errorf("release the source: %w", err)
	}
	return nil
}
