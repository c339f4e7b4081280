package local

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// sweep deletes what no state shows any more of a source: the remains of
// crashed and rolled back runs, and what generations before the live one
// replaced. The caller holds the source's lock, so no late write can come.
func (s *Store) sweep(ctx context.Context, source string) error {
	type swept struct{ num, hiddenSeq uint64 }
	var remains []swept
	err := s.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT g.num, g.hidden_seq FROM generations g
			JOIN sources s ON s.id = g.source_id WHERE s.name = ? ORDER BY g.num`, source)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var g swept
			if err := rows.Scan(&g.num, &g.hiddenSeq); err != nil {
				return err
			}
			if !rec.Visible(g.num, 0) {
				remains = append(remains, g)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("find the remains of earlier runs: %w", err)
	}
	for _, g := range remains {
		if err := s.discard(ctx, g.num, g.hiddenSeq); err != nil {
			return fmt.Errorf("delete the remains of run %d: %w", g.num, err)
		}
	}
	return s.purge(ctx, source)
}

// discard undoes a hidden number: what it wrote goes, what it marked as replaced
// is unmarked, and only then does the number leave the state. hiddenSeq is that
// of its rollback; 0 when nobody ever saw it.
func (s *Store) discard(ctx context.Context, num, hiddenSeq uint64) error {
	if err := s.raiseFloor(ctx, hiddenSeq); err != nil {
		return err
	}
	if err := s.deletePages(ctx, "SELECT id, first_chunk, chunks FROM pages WHERE gen_from = ? LIMIT ?", num); err != nil {
		return err
	}
	return s.db.update(ctx, true, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"UPDATE pages SET gen_to = 0 WHERE gen_to = ?",
			"UPDATE sets SET gen_to = 0 WHERE gen_to = ?",
			"DELETE FROM sets WHERE gen_from = ?",
			"DELETE FROM generations WHERE num = ?",
		} {
			if _, err := tx.ExecContext(ctx, query, num); err != nil {
				return err
			}
		}
		rec.publish(num)
		return rec.write(ctx, tx)
	})
}

// purge deletes what the generations before the live one replaced, once nobody
// is expected to read on in a state from before them.
func (s *Store) purge(ctx context.Context, source string) error {
	type committed struct {
		num, seq uint64
		at       int64
	}
	var kept []committed // the published generations, the live one last
	err := s.db.look(ctx, func(tx *sql.Tx) error {
		rec, err := readRecord(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT g.num, g.seq, g.committed_at FROM generations g
			JOIN sources s ON s.id = g.source_id WHERE s.name = ? AND g.seq > 0 ORDER BY g.num`, source)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var g committed
			if err := rows.Scan(&g.num, &g.seq, &g.at); err != nil {
				return err
			}
			if rec.Visible(g.num, 0) {
				kept = append(kept, g)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("find what earlier generations replaced: %w", err)
	}
	// The first replaced nothing that is still there, and what the live one
	// replaced is what a rollback shows.
	for i := 1; i < len(kept)-1; i++ {
		if g := kept[i]; time.Since(decodeTime(g.at)) >= s.keep {
			if err := s.deleteReplaced(ctx, source, g.num, g.seq); err != nil {
				return fmt.Errorf("delete what generation %d replaced: %w", g.num, err)
			}
		}
	}
	return nil
}

// deleteReplaced deletes what a generation, committed at seq, replaced, and the
// entries of the generations before it.
func (s *Store) deleteReplaced(ctx context.Context, source string, num, seq uint64) error {
	if err := s.raiseFloor(ctx, seq); err != nil {
		return err
	}
	for _, query := range []string{
		"SELECT id, first_chunk, chunks FROM pages WHERE gen_to = ? LIMIT ?",
		"SELECT id, first_chunk, chunks FROM pages WHERE set_id IN (SELECT id FROM sets WHERE gen_to = ?) LIMIT ?",
	} {
		if err := s.deletePages(ctx, query, num); err != nil {
			return err
		}
	}
	return s.db.update(ctx, false, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sets WHERE gen_to = ?", num); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM generations
			WHERE num < ? AND source_id = (SELECT id FROM sources WHERE name = ?)`, num, source)
		return err
	})
}

// raiseFloor tells readers of states before seq that rows of theirs go.
func (s *Store) raiseFloor(ctx context.Context, seq uint64) error {
	if seq == 0 {
		return nil
	}
	return s.db.update(ctx, false, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE store SET floor = max(floor, ?)", seq)
		return err
	})
}

// deletePages deletes the pages that the query finds for a number and a limit,
// with their chunks, a few in each transaction.
func (s *Store) deletePages(ctx context.Context, query string, num uint64) error {
	for done := false; !done; {
		err := s.db.update(ctx, false, func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(ctx, query, num, batchPages)
			if err != nil {
				return err
			}
			pages, err := collectPages(rows)
			if err != nil {
				return err
			}
			for _, p := range pages {
				if err := deletePage(ctx, tx, p); err != nil {
					return err
				}
			}
			done = len(pages) == 0
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// place is where a page's rows are.
type place struct {
	page, chunk, chunks int64
}

func collectPages(rows *sql.Rows) ([]place, error) {
	defer func() { _ = rows.Close() }()
	var pages []place
	for rows.Next() {
		var p place
		if err := rows.Scan(&p.page, &p.chunk, &p.chunks); err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, rows.Err()
}

func deletePage(ctx context.Context, tx *sql.Tx, p place) error {
	for _, d := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM vectors WHERE chunk_id >= ? AND chunk_id < ?", []any{p.chunk, p.chunk + p.chunks}},
		{"DELETE FROM chunks WHERE id >= ? AND id < ?", []any{p.chunk, p.chunk + p.chunks}},
		{"DELETE FROM records WHERE page_id = ?", []any{p.page}},
		{"DELETE FROM pages WHERE id = ?", []any{p.page}},
	} {
		if _, err := tx.ExecContext(ctx, d.query, d.args...); err != nil {
			return err
		}
	}
	return nil
}
