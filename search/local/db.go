package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/docseek/docseek/search"
)

const (
	databaseFile = "index.db"
	// applicationID marks the database file as an index of docseek
	// (https://www.sqlite.org/pragma.html#pragma_application_id): "docs".
	applicationID = 0x646f6373
	schemaVersion = 1
	// batchPages is how many pages one transaction deletes, so that other writers
	// get their turn.
	batchPages = 64
)

// schema keeps the narrow rows that every refresh reads apart from the wide
// ones that are read for a single page or chunk. Row numbers of pages and
// chunks are never used twice, and the chunks of a page have consecutive ones:
// whoever knows a number finds the same row or none.
const schema = `
CREATE TABLE store (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	name   TEXT NOT NULL,
	last   INTEGER NOT NULL,
	hidden TEXT NOT NULL,    -- JSON array of numbers, ascending
	seq    INTEGER NOT NULL, -- counts the changes of what is visible
	floor  INTEGER NOT NULL  -- states before this seq miss rows
);
CREATE TABLE sources (
	id           INTEGER PRIMARY KEY,
	name         TEXT NOT NULL UNIQUE,
	settings     TEXT NOT NULL,
	last_success INTEGER NOT NULL DEFAULT 0,
	last_run     TEXT
);
CREATE TABLE generations (
	num          INTEGER PRIMARY KEY,
	source_id    INTEGER NOT NULL REFERENCES sources,
	set_id       INTEGER NOT NULL,
	previous     INTEGER NOT NULL DEFAULT 0, -- what a rollback leads to
	seq          INTEGER NOT NULL DEFAULT 0, -- of the commit; 0 before it
	hidden_seq   INTEGER NOT NULL DEFAULT 0, -- of the rollback
	committed_at INTEGER NOT NULL DEFAULT 0,
	settings     TEXT NOT NULL,
	pages        INTEGER NOT NULL DEFAULT 0,
	chunks       INTEGER NOT NULL DEFAULT 0,
	embedded     INTEGER NOT NULL DEFAULT 0,
	versions     TEXT NOT NULL DEFAULT '[]',
	languages    TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX generations_source ON generations (source_id, num);
-- A set holds the pages of one source under one fingerprint.
CREATE TABLE sets (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	source_id   INTEGER NOT NULL REFERENCES sources,
	fingerprint TEXT NOT NULL,
	dim         INTEGER NOT NULL DEFAULT 0,
	gen_from    INTEGER NOT NULL,
	gen_to      INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE pages (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	set_id      INTEGER NOT NULL REFERENCES sets,
	url         TEXT NOT NULL,
	gen_from    INTEGER NOT NULL,
	gen_to      INTEGER NOT NULL DEFAULT 0,
	first_chunk INTEGER NOT NULL,
	chunks      INTEGER NOT NULL,
	embedded    INTEGER NOT NULL,
	version     TEXT NOT NULL,
	language    TEXT NOT NULL,
	indexed_at  INTEGER NOT NULL,
	modified    INTEGER NOT NULL
);
CREATE INDEX pages_url ON pages (set_id, url);
CREATE INDEX pages_from ON pages (gen_from);
CREATE INDEX pages_to ON pages (gen_to) WHERE gen_to > 0;
CREATE INDEX pages_counts ON pages (set_id, gen_from, gen_to, version, language, chunks, embedded);
CREATE TABLE records (
	page_id INTEGER PRIMARY KEY,
	record  TEXT NOT NULL,
	checked TEXT
);
CREATE TABLE chunks (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	set_id    INTEGER NOT NULL,
	page_id   INTEGER NOT NULL,
	key       TEXT NOT NULL,
	anchor    TEXT NOT NULL,
	title     TEXT NOT NULL,
	path      TEXT NOT NULL, -- JSON array
	section   INTEGER NOT NULL,
	text      TEXT NOT NULL,
	lead      INTEGER NOT NULL,
	tail      INTEGER NOT NULL,
	glue      TEXT NOT NULL,
	context   TEXT NOT NULL,
	language  TEXT NOT NULL,
	version   TEXT NOT NULL,
	text_hash BLOB           -- only with a vector
);
CREATE INDEX chunks_hash ON chunks (set_id, text_hash) WHERE text_hash IS NOT NULL;
CREATE TABLE vectors (
	chunk_id INTEGER PRIMARY KEY,
	key      TEXT NOT NULL,
	lexical  BLOB NOT NULL,
	dense    BLOB
);
`

// database is the durable truth: one SQLite file in WAL mode, one connection
// that writes and a pool that reads.
type database struct {
	path        string
	file        os.FileInfo
	write, read *sql.DB
}

// errDamaged is wrapped by what finds rows that cannot be what was written.
var errDamaged = errors.New("the index is damaged: move the data directory away and reindex")

func openDatabase(ctx context.Context, dir string) (*database, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, fmt.Errorf("find the data directory %s: %w", dir, err)
	}
	d := &database{path: path}
	if err := d.prepare(ctx, dir); err != nil {
		return nil, err
	}
	if d.file, err = os.Stat(path); err != nil {
		return nil, fmt.Errorf("look at the index: %w", err)
	}
	if d.write, err = sql.Open("sqlite", d.dsn("_synchronous=FULL", "_txlock=immediate", "_pragma=journal_size_limit(67108864)")); err != nil {
		return nil, d.explain("open", err)
	}
	d.write.SetMaxOpenConns(1)
	if d.read, err = sql.Open("sqlite", d.dsn("_query_only=1")); err != nil {
		return nil, errors.Join(d.explain("open", err), d.write.Close())
	}
	d.read.SetMaxOpenConns(16)
	d.read.SetMaxIdleConns(4)
	return d, nil
}

func (d *database) dsn(params ...string) string {
	params = append(params, "_busy_timeout=30000", "_error_rc=1", "_dqs=0", "_defensive=1", "_pragma=trusted_schema(0)")
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(d.path), RawQuery: strings.Join(params, "&")}).String()
}

// prepare makes sure that the file is an index of this schema, alone on the
// directory: two processes may start on a new one at once.
func (d *database) prepare(ctx context.Context, dir string) (err error) {
	lock := flock.New(filepath.Join(dir, "open.lock"))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	db, err := sql.Open("sqlite", d.dsn("_pragma=page_size(8192)"))
	if err != nil {
		return d.explain("open", err)
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()

	var application, version, tables int
	for query, into := range map[string]*int{
		"PRAGMA application_id":              &application,
		"PRAGMA user_version":                &version,
		"SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return d.explain("open", err)
		}
	}
	switch {
	case application == applicationID && version > schemaVersion:
		return fmt.Errorf("open %s: it was written by a newer docseek (schema %d, this one knows %d): use that docseek, or another data directory", d.path, version, schemaVersion)
	case application == applicationID && version == schemaVersion:
		return nil
	case tables > 0:
		return fmt.Errorf("open %s: it is a database of another program: use another data directory", d.path)
	}
	// The mode outlasts the connection and cannot be set within a transaction.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return d.explain("create", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain("create", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, query := range []string{
		schema,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", schemaVersion),
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return d.explain("create", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO store VALUES (1, ?, 0, '[]', 0, 0)", uuid.NewString()); err != nil {
		return d.explain("create", err)
	}
	return d.explain("create", tx.Commit())
}

// present fails when the file at the path is not the one that was opened: old
// connections would go on with a file that nobody finds any more, and new ones
// would open another.
func (d *database) present() error {
	file, err := os.Stat(d.path)
	if err == nil && os.SameFile(file, d.file) {
		return nil
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the index %s was moved away or replaced while it was open: start docseek again", d.path)
	}
	return fmt.Errorf("look at the index: %w", err)
}

func (d *database) close() error { return errors.Join(d.read.Close(), d.write.Close()) }

// explain turns SQLite's result codes into what happened to the index and what
// to do about it.
func (d *database) explain(verb string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	if coded, ok := errors.AsType[*sqlite.Error](err); ok {
		switch coded.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			hint = "the disk is full: free some space"
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			hint = "the data directory is not writable: check its owner, or use another one"
		case sqlite3.SQLITE_CORRUPT:
			hint = errDamaged.Error()
		case sqlite3.SQLITE_NOTADB:
			hint = "the file is no index: move it away, or use another data directory"
		case sqlite3.SQLITE_IOERR:
			hint = "the disk failed: check it and the free space"
		case sqlite3.SQLITE_BUSY:
			hint = "another process is writing: try again"
		}
	}
	if hint == "" {
		return fmt.Errorf("%s the index %s: %w", verb, d.path, err)
	}
	return fmt.Errorf("%s the index %s: %s: %w", verb, d.path, hint, err)
}

// update runs do in one writing transaction. A durable one outlasts a loss of
// power together with all before it; another may be lost, but only as a whole
// and with all after it.
func (d *database) update(ctx context.Context, durable bool, do func(tx *sql.Tx) error) error {
	if err := d.present(); err != nil {
		return err
	}
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return d.explain("write", err)
	}
	defer func() { _ = conn.Close() }()
	level := "PRAGMA synchronous = NORMAL"
	if durable {
		level = "PRAGMA synchronous = FULL"
	}
	if _, err := conn.ExecContext(ctx, level); err != nil {
		return d.explain("write", err)
	}
	return d.within(ctx, conn, "write", do)
}

// look runs do in one reading transaction: it sees one state of the file.
func (d *database) look(ctx context.Context, do func(tx *sql.Tx) error) error {
	if err := d.present(); err != nil {
		return err
	}
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return d.explain("read", err)
	}
	defer func() { _ = conn.Close() }()
	return d.within(ctx, conn, "read", do)
}

func (d *database) within(ctx context.Context, conn *sql.Conn, verb string, do func(tx *sql.Tx) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(verb, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		if _, ok := errors.AsType[*sqlite.Error](err); ok {
			return d.explain(verb, err)
		}
		return err
	}
	return d.explain(verb, tx.Commit())
}

// record is the state as it is stored.
type record struct {
	search.State
	name string
	// seq counts the changes of what is visible. A state before floor misses rows
	// that were deleted since.
	seq, floor uint64
}

func (r record) key() string { return fmt.Sprintf("%s.%d", r.name, r.seq) }

func readRecord(ctx context.Context, tx *sql.Tx) (record, error) {
	var r record
	var hidden []byte
	if err := tx.QueryRowContext(ctx, "SELECT name, last, hidden, seq, floor FROM store").
		Scan(&r.name, &r.Last, &hidden, &r.seq, &r.floor); err != nil {
		return r, fmt.Errorf("read the state: %w", err)
	}
	if err := json.Unmarshal(hidden, &r.Hidden); err != nil {
		return r, fmt.Errorf("read the state: %w", err)
	}
	return r, nil
}

func (r record) write(ctx context.Context, tx *sql.Tx) error {
	hidden, err := json.Marshal(r.Hidden)
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE store SET last = ?, hidden = ?, seq = ?, floor = ?",
		r.Last, string(hidden), r.seq, r.floor); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return nil
}

// hide and publish keep Hidden ascending; readers may share the old slice.
func (r *record) hide(n uint64) {
	hidden := append(slices.Clone(r.Hidden), n)
	slices.Sort(hidden)
	r.Hidden = slices.Compact(hidden)
}

func (r *record) publish(n uint64) {
	r.Hidden = slices.DeleteFunc(slices.Clone(r.Hidden), func(h uint64) bool { return h == n })
}
