package local

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

var (
	errEnded = errors.New("the run has ended")
	errTaken = errors.New("the run's number is no longer its own")
)

type writer struct {
	store       *Store
	source      docseek.Source
	fingerprint string
	lock        *lock
	live        *reader
	num         uint64
	sourceID    int64
	// set is what the run writes to, liveSet what it builds on: the same one
	// under the same fingerprint, 0 when nothing is live.
	set, liveSet uint64
	base         uint64 // number of the live generation; 0 for none
	dim          int    // of the fingerprint's vectors; 0 when not known yet
	checks       map[string]search.PageCheck
	touched      map[string]bool // pages put or removed
	ended        bool
}

func (w *writer) Generation() uint64  { return w.num }
func (w *writer) Live() search.Reader { return w.live }

// draw takes the next number, which hides it.
func (w *writer) draw(ctx context.Context, tx *sql.Tx) error {
	rec, err := readRecord(ctx, tx)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(w.source)
	if err != nil {
		return fmt.Errorf("encode the source's settings: %w", err)
	}
	if err := tx.QueryRowContext(ctx, `INSERT INTO sources (name, settings) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET settings = excluded.settings RETURNING id`,
		w.source.Name, string(settings)).Scan(&w.sourceID); err != nil {
		return fmt.Errorf("note the source: %w", err)
	}
	live, err := liveGeneration(ctx, tx, w.source.Name, rec.State)
	if err != nil && !errors.Is(err, search.ErrNotFound) {
		return err
	}
	rec.Last++
	w.num = rec.Last
	rec.hide(w.num)
	w.base, w.liveSet, w.set = live.num, live.set, live.set
	if live.set == 0 || live.fingerprint != w.fingerprint {
		if _, err := tx.ExecContext(ctx, "UPDATE sets SET gen_to = ? WHERE id = ?", w.num, w.liveSet); err != nil {
			return fmt.Errorf("replace the set: %w", err)
		}
		if err := tx.QueryRowContext(ctx, "INSERT INTO sets (source_id, fingerprint, gen_from) VALUES (?, ?, ?) RETURNING id",
			w.sourceID, w.fingerprint, w.num).Scan(&w.set); err != nil {
			return fmt.Errorf("begin a set: %w", err)
		}
	}
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(dim), 0) FROM sets WHERE fingerprint = ?", w.fingerprint).Scan(&w.dim); err != nil {
		return fmt.Errorf("find the dimension of the vectors: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO generations (num, source_id, set_id, settings) VALUES (?, ?, ?, ?)",
		w.num, w.sourceID, w.set, string(settings)); err != nil {
		return fmt.Errorf("note the generation: %w", err)
	}
	return rec.write(ctx, tx)
}

// fence reads the state and makes sure that the run's number is still hidden and
// its own.
func (w *writer) fence(ctx context.Context, tx *sql.Tx) (record, error) {
	rec, err := readRecord(ctx, tx)
	if err == nil && !slices.Contains(rec.Hidden, w.num) {
		err = errTaken
	}
	return rec, err
}

// update runs do in a transaction of the run.
func (w *writer) update(ctx context.Context, durable bool, do func(tx *sql.Tx, rec record) error) error {
	if w.ended {
		return errEnded
	}
	return w.store.db.update(ctx, durable, func(tx *sql.Tx) error {
		rec, err := w.fence(ctx, tx)
		if err != nil {
			return err
		}
		return do(tx, rec)
	})
}

func (w *writer) Checks(ctx context.Context, yield func(url string, check search.PageCheck) error) error {
	return w.store.db.look(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT p.url, p.gen_from, p.gen_to, r.checked FROM pages p
			JOIN records r ON r.page_id = p.id WHERE p.set_id = ? AND r.checked IS NOT NULL ORDER BY p.url`, w.liveSet)
		if err != nil {
			return fmt.Errorf("read the checks of source %s: %w", w.source.Name, err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var url string
			var from, to uint64
			var text []byte
			if err := rows.Scan(&url, &from, &to, &text); err != nil {
				return fmt.Errorf("read the checks of source %s: %w", w.source.Name, err)
			}
			if !w.live.Visible(from, to) {
				continue
			}
			var check search.PageCheck
			if err := json.Unmarshal(text, &check); err != nil {
				return fmt.Errorf("read the check of %s: %w", url, err)
			}
			if err := yield(url, check); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func (w *writer) Vectors(ctx context.Context, hashes []string) (map[string][]float32, error) {
	vectors := make(map[string][]float32, len(hashes))
	if w.set != w.liveSet || w.dim == 0 {
		return vectors, nil
	}
	err := w.store.db.look(ctx, func(tx *sql.Tx) error {
		query, err := tx.PrepareContext(ctx, `SELECT p.gen_from, p.gen_to, v.dense FROM chunks c
			JOIN pages p ON p.id = c.page_id JOIN vectors v ON v.chunk_id = c.id
			WHERE c.set_id = ? AND c.text_hash = ?`)
		if err != nil {
			return err
		}
		defer func() { _ = query.Close() }()
		for _, hash := range hashes {
			raw, err := hex.DecodeString(hash)
			if err != nil || vectors[hash] != nil {
				continue
			}
			vector, err := w.vector(ctx, query, raw)
			if err != nil {
				return err
			}
			if vector != nil {
				vectors[hash] = vector
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find vectors to reuse: %w", err)
	}
	return vectors, nil
}

func (w *writer) vector(ctx context.Context, query *sql.Stmt, hash []byte) ([]float32, error) {
	rows, err := query.QueryContext(ctx, w.liveSet, hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var from, to uint64
		var dense sql.RawBytes
		if err := rows.Scan(&from, &to, &dense); err != nil {
			return nil, err
		}
		if w.live.Visible(from, to) {
			return decodeDense(make([]float32, 0, w.dim), dense, w.dim)
		}
	}
	return nil, rows.Err()
}

func (w *writer) Put(ctx context.Context, page search.PageRecord, chunks []search.Embedding) error {
	embedded, dim, err := w.checkPage(page, chunks)
	if err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	page.Chunks, page.Generation = len(chunks), w.num
	encoded, err := json.Marshal(page)
	if err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	err = w.update(ctx, false, func(tx *sql.Tx, rec record) error {
		if w.dim == 0 && dim > 0 {
			if err := w.fixDim(ctx, tx, dim); err != nil {
				return err
			}
		}
		if err := w.replace(ctx, tx, rec.State, page.URL); err != nil {
			return err
		}
		return w.insert(ctx, tx, page, string(encoded), chunks, embedded)
	})
	if err != nil {
		return fmt.Errorf("put page %s: %w", page.URL, err)
	}
	w.dim = max(w.dim, dim)
	w.touch(page.URL)
	return nil
}

// checkPage reports what keeps a page from being stored, and counts the vectors.
func (w *writer) checkPage(page search.PageRecord, chunks []search.Embedding) (embedded, dim int, err error) {
	if page.URL == "" {
		return 0, 0, errors.New("it has no URL")
	}
	if len(chunks) > maxPageChunks {
		return 0, 0, fmt.Errorf("it has %d chunks, more than %d", len(chunks), maxPageChunks)
	}
	dim = w.dim
	for i, c := range chunks {
		switch {
		case c.URL != page.URL:
			return 0, 0, fmt.Errorf("chunk %s is of page %s", c.ID, c.URL)
		case c.Ordinal != i:
			return 0, 0, fmt.Errorf("chunk %s has ordinal %d in place %d", c.ID, c.Ordinal, i)
		case c.Lead < 0 || c.Tail < 0 || c.Lead+c.Tail > len(c.Text):
			return 0, 0, fmt.Errorf("chunk %s has a lead of %d and a tail of %d in %d bytes", c.ID, c.Lead, c.Tail, len(c.Text))
		}
		if err := checkLexical(c.Lexical); err != nil {
			return 0, 0, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		if c.Vector == nil {
			continue
		}
		embedded++
		if dim == 0 {
			dim = len(c.Vector)
		}
		if len(c.Vector) != dim {
			return 0, 0, fmt.Errorf("chunk %s: %w", c.ID, w.wrongDim(len(c.Vector), dim))
		}
		if err := checkUnit(c.Vector); err != nil {
			return 0, 0, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		if hash, err := hex.DecodeString(c.TextHash); err != nil || len(hash) != 32 {
			return 0, 0, fmt.Errorf("chunk %s: text hash %.80q is no SHA-256 in hex", c.ID, c.TextHash)
		}
	}
	return embedded, dim, nil
}

// fixDim notes the dimension of the set's first vector. Another source may have
// put a first vector of the fingerprint meanwhile.
func (w *writer) fixDim(ctx context.Context, tx *sql.Tx, dim int) error {
	var known int
	if err := tx.QueryRowContext(ctx, "SELECT max(dim) FROM sets WHERE fingerprint = ?", w.fingerprint).Scan(&known); err != nil {
		return err
	}
	if known != 0 && known != dim {
		return w.wrongDim(dim, known)
	}
	_, err := tx.ExecContext(ctx, "UPDATE sets SET dim = ? WHERE id = ?", dim, w.set)
	return err
}

func (w *writer) wrongDim(got, want int) error {
	return fmt.Errorf("vector has %d values where those of fingerprint %q have %d: the embedder has changed, which needs a fingerprint of its own", got, w.fingerprint, want)
}

// replace takes away what the run shows of a page: its own rows go, those of the
// live generation are marked.
func (w *writer) replace(ctx context.Context, tx *sql.Tx, state search.State, url string) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, first_chunk, chunks FROM pages WHERE set_id = ? AND url = ? AND gen_from = ?", w.set, url, w.num)
	if err != nil {
		return err
	}
	own, err := collectPages(rows)
	if err != nil {
		return err
	}
	for _, p := range own {
		if err := deletePage(ctx, tx, p); err != nil {
			return err
		}
	}
	rows, err = tx.QueryContext(ctx, "SELECT id, gen_from, gen_to FROM pages WHERE set_id = ? AND url = ?", w.set, url)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var live []int64
	for rows.Next() {
		var id int64
		var from, to uint64
		if err := rows.Scan(&id, &from, &to); err != nil {
			return err
		}
		if state.Visible(from, to) {
			live = append(live, id)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range live {
		if _, err := tx.ExecContext(ctx, "UPDATE pages SET gen_to = ? WHERE id = ?", w.num, id); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) insert(ctx context.Context, tx *sql.Tx, page search.PageRecord, record string, chunks []search.Embedding, embedded int) error {
	var next int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'chunks'").Scan(&next); err != nil {
		return err
	}
	added, err := tx.ExecContext(ctx, `INSERT INTO pages
		(set_id, url, gen_from, first_chunk, chunks, embedded, version, language, indexed_at, modified)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, w.set, page.URL, w.num, next, len(chunks), embedded,
		page.Version, page.Language, encodeTime(page.IndexedAt), encodeTime(page.Modified))
	if err != nil {
		return err
	}
	id, err := added.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO records (page_id, record) VALUES (?, ?)", id, record); err != nil {
		return err
	}
	addChunk, err := tx.PrepareContext(ctx, `INSERT INTO chunks
		(id, set_id, page_id, key, anchor, title, path, section, text, lead, tail, glue, context, language, version, text_hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer func() { _ = addChunk.Close() }()
	addVector, err := tx.PrepareContext(ctx, "INSERT INTO vectors (chunk_id, key, lexical, dense) VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = addVector.Close() }()
	for i, c := range chunks {
		path, err := json.Marshal(c.Path)
		if err != nil {
			return err
		}
		var hash, dense []byte
		if c.Vector != nil {
			dense = appendDense(make([]byte, 0, 4*len(c.Vector)), c.Vector)
			if hash, err = hex.DecodeString(c.TextHash); err != nil {
				return err
			}
		}
		if _, err := addChunk.ExecContext(ctx, next+int64(i), w.set, id, c.ID, c.Anchor, c.Title, string(path), c.Section,
			c.Text, c.Lead, c.Tail, c.Glue, c.Context, c.Language, c.Version, hash); err != nil {
			return err
		}
		if _, err := addVector.ExecContext(ctx, next+int64(i), c.ID, encodeLexical(c.Lexical), dense); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) Remove(ctx context.Context, url string) error {
	if err := w.update(ctx, false, func(tx *sql.Tx, rec record) error {
		return w.replace(ctx, tx, rec.State, url)
	}); err != nil {
		return fmt.Errorf("remove page %s: %w", url, err)
	}
	w.touch(url)
	return nil
}

func (w *writer) touch(url string) {
	w.touched[url] = true
	delete(w.checks, url)
}

func (w *writer) Check(_ context.Context, url string, check search.PageCheck) error {
	if w.ended {
		return errEnded
	}
	if !w.touched[url] {
		w.checks[url] = check
	}
	return nil
}

// saveChecks writes the checks to the live pages that they are about.
func (w *writer) saveChecks(ctx context.Context, tx *sql.Tx) error {
	find, err := tx.PrepareContext(ctx, "SELECT id, gen_from, gen_to FROM pages WHERE set_id = ? AND url = ?")
	if err != nil {
		return err
	}
	defer func() { _ = find.Close() }()
	save, err := tx.PrepareContext(ctx, "UPDATE records SET checked = ? WHERE page_id = ?")
	if err != nil {
		return err
	}
	defer func() { _ = save.Close() }()
	for url, check := range w.checks {
		id, err := w.livePage(ctx, find, url)
		if err != nil {
			return fmt.Errorf("save the check of %s: %w", url, err)
		}
		if id == 0 {
			continue
		}
		text, err := json.Marshal(check)
		if err != nil {
			return fmt.Errorf("save the check of %s: %w", url, err)
		}
		if _, err := save.ExecContext(ctx, string(text), id); err != nil {
			return fmt.Errorf("save the check of %s: %w", url, err)
		}
	}
	return nil
}

// livePage returns the row number of a live page; 0 when there is none.
func (w *writer) livePage(ctx context.Context, find *sql.Stmt, url string) (int64, error) {
	rows, err := find.QueryContext(ctx, w.liveSet, url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var from, to uint64
		if err := rows.Scan(&id, &from, &to); err != nil {
			return 0, err
		}
		if w.live.Visible(from, to) {
			return id, nil
		}
	}
	return 0, rows.Err()
}

// shown is what the generation would show.
type shown struct {
	search.Counts
	versions, languages []string
}

func (w *writer) tally(ctx context.Context, tx *sql.Tx, rec record) (shown, error) {
	rec.publish(w.num)
	rows, err := tx.QueryContext(ctx, `SELECT gen_from, gen_to, version, language, count(*), sum(chunks), sum(embedded)
		FROM pages WHERE set_id = ? GROUP BY gen_from, gen_to, version, language`, w.set)
	if err != nil {
		return shown{}, fmt.Errorf("count the generation: %w", err)
	}
	defer func() { _ = rows.Close() }()
	s := shown{versions: []string{}, languages: []string{}}
	for rows.Next() {
		var from, to uint64
		var version, language string
		var c search.Counts
		if err := rows.Scan(&from, &to, &version, &language, &c.Pages, &c.Chunks, &c.Embedded); err != nil {
			return shown{}, fmt.Errorf("count the generation: %w", err)
		}
		if !rec.Visible(from, to) {
			continue
		}
		s.Pages += c.Pages
		s.Chunks += c.Chunks
		s.Embedded += c.Embedded
		s.versions = append(s.versions, version)
		s.languages = append(s.languages, language)
	}
	s.versions, s.languages = distinct(s.versions), distinct(s.languages)
	return s, rows.Err()
}

// distinct sorts, and drops doubles and the empty value.
func distinct(values []string) []string {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
}

// verify compares the rows that the run wrote with what their pages say.
func (w *writer) verify(ctx context.Context, tx *sql.Tx) error {
	var pages, chunks, vectors, embedded int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(p.chunks), 0), coalesce(sum(p.embedded), 0) FROM pages p
		WHERE p.gen_from = ?`, w.num).Scan(&pages, &embedded); err != nil {
		return fmt.Errorf("verify the generation: %w", err)
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(c.id), count(v.dense) FROM pages p
		JOIN chunks c ON c.id >= p.first_chunk AND c.id < p.first_chunk + p.chunks AND c.page_id = p.id
		JOIN vectors v ON v.chunk_id = c.id WHERE p.gen_from = ?`, w.num).Scan(&chunks, &vectors); err != nil {
		return fmt.Errorf("verify the generation: %w", err)
	}
	if pages != chunks || embedded != vectors {
		return fmt.Errorf("its pages have %d chunks and %d vectors, its rows %d and %d: %w", pages, embedded, chunks, vectors, search.ErrUnverified)
	}
	return nil
}

func (w *writer) Counts(ctx context.Context) (search.Counts, error) {
	if w.ended {
		return search.Counts{}, errEnded
	}
	var s shown
	err := w.store.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := w.fence(ctx, tx)
		if err != nil {
			return err
		}
		s, err = w.tally(ctx, tx, rec)
		return err
	})
	return s.Counts, err
}

func (w *writer) Commit(ctx context.Context, want search.Counts, run search.Run) error {
	if err := w.update(ctx, true, func(tx *sql.Tx, rec record) error {
		return w.publish(ctx, tx, rec, want, run)
	}); err != nil {
		return fmt.Errorf("commit generation %d of source %s: %w", w.num, w.source.Name, err)
	}
	w.ended = true
	w.store.published(ctx)
	// The generation is live; what is left over can be deleted by a later run.
	if err := w.store.purge(context.WithoutCancel(ctx), w.source.Name); err != nil {
		w.store.log.LogAttrs(ctx, slog.LevelWarn, "old generations not deleted",
			slog.String("source", w.source.Name), slog.Any("error", err))
	}
	return w.lock.release()
}

func (w *writer) publish(ctx context.Context, tx *sql.Tx, rec record, want search.Counts, run search.Run) error {
	live, err := liveGeneration(ctx, tx, w.source.Name, rec.State)
	if err != nil && !errors.Is(err, search.ErrNotFound) {
		return err
	}
	if live.num != w.base {
		return fmt.Errorf("generation %d has become live since the run began on %d", live.num, w.base)
	}
	have, err := w.tally(ctx, tx, rec)
	if err != nil {
		return err
	}
	if have.Counts != want {
		return fmt.Errorf("it shows %d pages, %d chunks, %d embedded where %d, %d, %d were written: %w",
			have.Pages, have.Chunks, have.Embedded, want.Pages, want.Chunks, want.Embedded, search.ErrUnverified)
	}
	if err := w.verify(ctx, tx); err != nil {
		return err
	}
	if err := w.saveChecks(ctx, tx); err != nil {
		return err
	}
	rec.publish(w.num)
	rec.seq++
	if err := rec.write(ctx, tx); err != nil {
		return err
	}
	versions, err := json.Marshal(have.versions)
	if err != nil {
		return err
	}
	languages, err := json.Marshal(have.languages)
	if err != nil {
		return err
	}
	now := time.Now()
	if _, err := tx.ExecContext(ctx, `UPDATE generations SET previous = ?, seq = ?, committed_at = ?,
		pages = ?, chunks = ?, embedded = ?, versions = ?, languages = ? WHERE num = ?`,
		w.base, rec.seq, encodeTime(now), have.Pages, have.Chunks, have.Embedded, string(versions), string(languages), w.num); err != nil {
		return fmt.Errorf("note the generation: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE generations SET previous = 0 WHERE num = ?", w.base); err != nil {
		return fmt.Errorf("note the generation: %w", err)
	}
	return w.recordRun(ctx, tx, run, now, true)
}

// recordRun keeps the newest run's report, and of a good one the time.
func (w *writer) recordRun(ctx context.Context, tx *sql.Tx, run search.Run, now time.Time, good bool) error {
	run.Source = w.source.Name
	report, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("record the run: %w", err)
	}
	success := int64(0)
	if good {
		success = encodeTime(now)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE sources SET last_run = ?, last_success = max(last_success, ?) WHERE id = ?",
		string(report), success, w.sourceID); err != nil {
		return fmt.Errorf("record the run: %w", err)
	}
	return nil
}

func (w *writer) Finish(ctx context.Context, run search.Run) error {
	if err := w.update(ctx, true, func(tx *sql.Tx, _ record) error {
		if err := w.saveChecks(ctx, tx); err != nil {
			return err
		}
		return w.recordRun(ctx, tx, run, time.Now(), run.Outcome == search.Unchanged)
	}); err != nil {
		return fmt.Errorf("finish the run of source %s: %w", w.source.Name, err)
	}
	w.ended = true
	err := w.store.discard(ctx, w.num, 0)
	if err != nil {
		err = fmt.Errorf("discard run %d of source %s: %w", w.num, w.source.Name, err)
	}
	return errors.Join(err, w.lock.release())
}

func (w *writer) Close() error {
	if w.ended {
		return nil
	}
	w.ended = true
	return w.lock.release()
}
