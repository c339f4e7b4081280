package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

const (
	// maxLimit bounds a list of candidates and a list of pages.
	maxLimit = 1000
	// parallelRows are worth a second processor.
	parallelRows = 20_000
)

type reader struct {
	store *Store
	*snapshot
	// held says that a writer holds the source that is read, so that no row of it
	// can go.
	held bool
}

func (r *reader) Key() string { return r.key() }

// look runs do in a reading transaction that still has every row of the state.
func (r *reader) look(ctx context.Context, do func(tx *sql.Tx) error) error {
	return r.store.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil {
			return err
		}
		if !r.held && r.seq < rec.floor {
			return fmt.Errorf("read state %s: %w", r.key(), search.ErrStale)
		}
		return do(tx)
	})
}

func (r *reader) Sources(ctx context.Context) ([]search.SourceInfo, error) {
	infos := []search.SourceInfo{}
	err := r.look(ctx, func(tx *sql.Tx) error {
		live, err := r.liveInfos(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT name, settings, last_success, last_run FROM sources ORDER BY name")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			var settings, run []byte
			var success int64
			if err := rows.Scan(&name, &settings, &success, &run); err != nil {
				return err
			}
			info, ok := live[name]
			if !ok {
				if run == nil {
					continue // a first run is under way, or crashed
				}
				info = search.SourceInfo{Versions: []string{}, Languages: []string{}}
				if err := json.Unmarshal(settings, &info.Source); err != nil {
					return err
				}
			}
			info.LastSuccess = decodeTime(success)
			if run != nil {
				info.LastRun = new(search.Run)
				if err := json.Unmarshal(run, info.LastRun); err != nil {
					return err
				}
			}
			infos = append(infos, info)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list the sources: %w", err)
	}
	return infos, nil
}

// liveInfos are the live generations by source.
func (r *reader) liveInfos(ctx context.Context, tx *sql.Tx) (map[string]search.SourceInfo, error) {
	rows, err := tx.QueryContext(ctx, `SELECT s.name, g.num, t.fingerprint, g.settings, g.committed_at,
		g.pages, g.chunks, g.embedded, g.versions, g.languages
		FROM generations g JOIN sources s ON s.id = g.source_id JOIN sets t ON t.id = g.set_id
		WHERE g.seq > 0 ORDER BY g.num`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	infos := make(map[string]search.SourceInfo)
	for rows.Next() {
		var name string
		var settings, versions, languages []byte
		var committed int64
		var i search.SourceInfo
		if err := rows.Scan(&name, &i.Generation, &i.Fingerprint, &settings, &committed,
			&i.Pages, &i.Chunks, &i.Embedded, &versions, &languages); err != nil {
			return nil, err
		}
		if !r.Visible(i.Generation, 0) {
			continue
		}
		i.Before = infos[name].Fingerprint
		i.IndexedAt = decodeTime(committed)
		if err := errors.Join(json.Unmarshal(settings, &i.Source), json.Unmarshal(versions, &i.Versions),
			json.Unmarshal(languages, &i.Languages)); err != nil {
			return nil, err
		}
		infos[name] = i
	}
	return infos, rows.Err()
}

func (r *reader) Stats(ctx context.Context, sources []string, terms []uint32) (search.Stats, error) {
	stats := search.Stats{Frequency: make([]int, len(terms))}
	m := newMatcher(docseek.Filter{Sources: sources})
	for _, v := range r.views {
		if err := ctx.Err(); err != nil {
			return search.Stats{}, err
		}
		mask, rows := v.mask, v.live
		if !m.all() {
			mask = v.matching(m.matches)
			rows = mask.count()
		}
		if rows == 0 {
			continue
		}
		stats.Chunks += rows
		for i, term := range terms {
			holders, _ := v.postings(term)
			if rows == v.size() {
				stats.Frequency[i] += len(holders)
				continue
			}
			for _, row := range holders {
				if mask.has(int(row)) {
					stats.Frequency[i]++
				}
			}
		}
	}
	return stats, nil
}

// part is a view with the rows that a query may find in it.
type part struct {
	*view
	mask bitmap
}

func (r *reader) Candidates(ctx context.Context, req search.Request) (search.Candidates, error) {
	q, err := r.prepare(req)
	if err != nil {
		return search.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	dense, lexical, err := r.scan(ctx, q)
	if err != nil {
		return search.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	chunks, err := r.readChunks(ctx, slices.Concat(dense, lexical))
	if err != nil {
		return search.Candidates{}, fmt.Errorf("read the candidates: %w", err)
	}
	list := func(found []scored) []search.Candidate {
		candidates := make([]search.Candidate, len(found))
		for i, s := range found {
			candidates[i] = search.Candidate{Chunk: chunks[s.chunk()], Score: s.score}
		}
		return candidates
	}
	return search.Candidates{Dense: list(dense), Lexical: list(lexical)}, nil
}

// prepare checks a request and brings its vectors to length 1.
func (r *reader) prepare(req search.Request) (search.Request, error) {
	req.Limit = min(max(req.Limit, 0), maxLimit)
	if len(req.Lexical.Terms) != len(req.Lexical.Weights) {
		return req, fmt.Errorf("the query's lexical vector has %d terms and %d weights", len(req.Lexical.Terms), len(req.Lexical.Weights))
	}
	for _, w := range req.Lexical.Weights {
		if !finite(float64(w)) {
			return req, errors.New("the query's lexical vector has a weight that is no number")
		}
	}
	units, err := req.UnitVectors()
	if err != nil {
		return req, err
	}
	req.Vectors = units
	for _, v := range r.views {
		if vector, ok := units[v.fingerprint]; ok && len(v.matrix) > 0 && len(vector) != v.dim {
			return req, fmt.Errorf("the query's vector has %d values, the index %d: its embedder is not %q", len(vector), v.dim, v.fingerprint)
		}
	}
	return req, nil
}

// scan looks at every row that passes the filter, on several processors when
// there are many.
func (r *reader) scan(ctx context.Context, q search.Request) (dense, lexical []scored, err error) {
	m := newMatcher(q.Filter)
	var parts []part
	total := 0
	for _, v := range r.views {
		mask, rows := v.mask, v.live
		if !m.all() {
			mask = v.matching(m.matches)
			rows = mask.count()
		}
		if rows > 0 {
			parts = append(parts, part{v, mask})
			total += rows
		}
	}
	workers := 1
	if total >= parallelRows {
		workers = min(runtime.GOMAXPROCS(0), len(parts))
	}
	type lists struct {
		dense, lexical topK
		err            error
	}
	all := make([]lists, workers)
	var next atomic.Int64
	work := func(l *lists) {
		l.dense.k, l.lexical.k = q.Limit, q.Limit
		for l.err == nil {
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				return
			}
			l.err = r.scanPart(ctx, q, parts[i], &l.dense, &l.lexical)
		}
	}
	var others sync.WaitGroup
	for i := 1; i < workers; i++ {
		others.Go(func() { work(&all[i]) })
	}
	work(&all[0])
	others.Wait()
	first := &all[0]
	for i := range all {
		if all[i].err != nil {
			return nil, nil, all[i].err
		}
		if i == 0 {
			continue
		}
		for _, s := range all[i].dense.heap {
			first.dense.offer(s)
		}
		for _, s := range all[i].lexical.heap {
			first.lexical.offer(s)
		}
	}
	return first.dense.best(), first.lexical.best(), nil
}

func (r *reader) scanPart(ctx context.Context, q search.Request, p part, dense, lexical *topK) error {
	if len(q.Lexical.Terms) > 0 {
		sums := r.store.sums.Get().(*[1 << 16]float64)
		p.lexical(p.mask, q.Lexical.Terms, q.Lexical.Weights, sums[:], lexical)
		r.store.sums.Put(sums)
	}
	if vector, ok := q.Vectors[p.fingerprint]; ok && len(p.matrix) > 0 {
		return p.dense(ctx, p.mask, vector, r.store.dot, dense)
	}
	return ctx.Err()
}

// chunk is the row number of the scored chunk.
func (s scored) chunk() int64 {
	p := s.view.page(s.row)
	return p.chunk + int64(s.row-p.first)
}

const chunkColumns = "id, key, anchor, title, path, section, text, lead, tail, glue, context, language, version"

func scanChunk(rows *sql.Rows) (id int64, c docseek.Chunk, err error) {
	var path []byte
	if err := rows.Scan(&id, &c.ID, &c.Anchor, &c.Title, &path, &c.Section, &c.Text, &c.Lead, &c.Tail,
		&c.Glue, &c.Context, &c.Language, &c.Version); err != nil {
		return 0, c, err
	}
	if err := json.Unmarshal(path, &c.Path); err != nil {
		return 0, c, fmt.Errorf("read the heading path of chunk %s: %w", c.ID, err)
	}
	return id, c, nil
}

// readChunks reads the texts of what was found, by row number.
func (r *reader) readChunks(ctx context.Context, all []scored) (map[int64]search.Chunk, error) {
	chunks := make(map[int64]search.Chunk, len(all))
	var ids strings.Builder
	for _, s := range all {
		id := s.chunk()
		if _, ok := chunks[id]; ok {
			continue
		}
		p := s.view.page(s.row)
		chunks[id] = search.Chunk{
			Chunk:  docseek.Chunk{URL: p.url, Ordinal: s.row - p.first},
			Source: p.source, Generation: p.generation,
			IndexedAt: decodeTime(p.indexedAt), Modified: decodeTime(p.modified),
			PageChunks: p.n,
		}
		if ids.Len() > 0 {
			ids.WriteByte(',')
		}
		fmt.Fprint(&ids, id)
	}
	if len(chunks) == 0 {
		return chunks, nil
	}
	err := r.store.db.look(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT "+chunkColumns+" FROM chunks WHERE id IN (SELECT value FROM json_each(?))", "["+ids.String()+"]")
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		n := 0
		for ; rows.Next(); n++ {
			id, text, err := scanChunk(rows)
			if err != nil {
				return err
			}
			c := chunks[id]
			text.URL, text.Ordinal = c.URL, c.Ordinal
			c.Chunk = text
			chunks[id] = c
		}
		// Rows never change, and their numbers are never used again.
		if err := rows.Err(); err == nil && n < len(chunks) {
			return search.ErrStale
		}
		return rows.Err()
	})
	return chunks, err
}

// pageRow is a page that the state shows.
type pageRow struct {
	place
	generation          uint64
	indexedAt, modified int64
}

// findPage finds a page of the state, or ErrNotFound.
func (r *reader) findPage(ctx context.Context, tx *sql.Tx, source, url string) (pageRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT p.id, p.first_chunk, p.chunks, p.gen_from, p.gen_to, p.indexed_at, p.modified, t.gen_from, t.gen_to
		FROM sources s JOIN sets t ON t.source_id = s.id JOIN pages p ON p.set_id = t.id
		WHERE s.name = ? AND p.url = ?`, source, url)
	if err != nil {
		return pageRow{}, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p pageRow
		var to, setFrom, setTo uint64
		if err := rows.Scan(&p.page, &p.chunk, &p.chunks, &p.generation, &to, &p.indexedAt, &p.modified, &setFrom, &setTo); err != nil {
			return pageRow{}, err
		}
		if r.Visible(setFrom, setTo) && r.Visible(p.generation, to) {
			return p, nil
		}
	}
	if err := rows.Err(); err != nil {
		return pageRow{}, err
	}
	return pageRow{}, search.ErrNotFound
}

func (r *reader) Chunks(ctx context.Context, source, url string, first, last int) ([]search.Chunk, error) {
	lists, err := r.Spans(ctx, []search.Span{{Source: source, URL: url, First: first, Last: last}})
	if err != nil {
		return nil, err
	}
	return lists[0], nil
}

func (r *reader) Spans(ctx context.Context, spans []search.Span) ([][]search.Chunk, error) {
	lists := make([][]search.Chunk, len(spans))
	err := r.look(ctx, func(tx *sql.Tx) error {
		for i, span := range spans {
			var err error
			if lists[i], err = r.readSpan(ctx, tx, span); err != nil {
				return fmt.Errorf("read the chunks of %s in source %s: %w", span.URL, span.Source, err)
			}
		}
		return nil
	})
	return lists, err
}

func (r *reader) readSpan(ctx context.Context, tx *sql.Tx, span search.Span) ([]search.Chunk, error) {
	chunks := []search.Chunk{}
	p, err := r.findPage(ctx, tx, span.Source, span.URL)
	if err != nil {
		return nil, err
	}
	from, to := max(int64(span.First), 0), min(int64(span.Last), p.chunks-1)
	rows, err := tx.QueryContext(ctx, "SELECT "+chunkColumns+" FROM chunks WHERE id >= ? AND id <= ? ORDER BY id", p.chunk+from, p.chunk+to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		id, c, err := scanChunk(rows)
		if err != nil {
			return nil, err
		}
		c.URL, c.Ordinal = span.URL, int(id-p.chunk)
		chunks = append(chunks, search.Chunk{
			Chunk: c, Source: span.Source, Generation: p.generation,
			IndexedAt: decodeTime(p.indexedAt), Modified: decodeTime(p.modified), PageChunks: int(p.chunks),
		})
	}
	return chunks, rows.Err()
}

func readPage(ctx context.Context, tx *sql.Tx, id int64) (search.PageRecord, error) {
	var text []byte
	var record search.PageRecord
	if err := tx.QueryRowContext(ctx, "SELECT record FROM records WHERE page_id = ?", id).Scan(&text); err != nil {
		return record, err
	}
	return record, json.Unmarshal(text, &record)
}

func (r *reader) Page(ctx context.Context, source, url string) (search.PageRecord, error) {
	var record search.PageRecord
	err := r.look(ctx, func(tx *sql.Tx) error {
		p, err := r.findPage(ctx, tx, source, url)
		if err != nil {
			return err
		}
		record, err = readPage(ctx, tx, p.page)
		return err
	})
	if err != nil {
		return search.PageRecord{}, fmt.Errorf("read page %s of source %s: %w", url, source, err)
	}
	return record, nil
}

func (r *reader) Pages(ctx context.Context, source, pathPrefix, after string, limit int) ([]search.PageRecord, error) {
	records := []search.PageRecord{}
	limit = min(max(limit, 0), maxLimit)
	err := r.look(ctx, func(tx *sql.Tx) error {
		live, err := liveGeneration(ctx, tx, source, r.State)
		if err != nil {
			return err
		}
		ids, err := r.findPages(ctx, tx, live.set, search.CleanPathPrefix(pathPrefix), after, limit)
		if err != nil {
			return err
		}
		for _, id := range ids {
			record, err := readPage(ctx, tx, id)
			if err != nil {
				return err
			}
			records = append(records, record)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the pages of source %s: %w", source, err)
	}
	return records, nil
}

func (r *reader) findPages(ctx context.Context, tx *sql.Tx, set uint64, prefix, after string, limit int) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, url, gen_from, gen_to FROM pages WHERE set_id = ? AND url > ? ORDER BY url", set, after)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for len(ids) < limit && rows.Next() {
		var id int64
		var url string
		var from, to uint64
		if err := rows.Scan(&id, &url, &from, &to); err != nil {
			return nil, err
		}
		if r.Visible(from, to) && (prefix == "" || matchesPath(prefix, url)) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}
