package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search/lexical"
)

// Errors that every store returns, wrapped with what happened to what.
var (
	// ErrStale means that a reader's state is no longer held by the store:
	// take a new reader and ask again.
	ErrStale = errors.New("the index has moved on")
	// ErrNotFound means that the source, page or generation is not in the index.
	ErrNotFound = errors.New("not in the index")
	// ErrLocked means that another run holds the source; see [LockedError].
	ErrLocked = errors.New("another run holds the source")
	// ErrUnverified means that a generation does not hold what was written to
	// it; it was not committed.
	ErrUnverified = errors.New("counts do not verify")
)

// LockedError says who holds a source. It matches [ErrLocked].
type LockedError struct {
	Source string
	Holder string // host, process id, since when
}

func (e *LockedError) Error() string {
	return "source " + e.Source + ": another run holds it: " + e.Holder
}

// Is reports that the error is an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// State is the record that decides what is visible. It is small: whoever holds
// one sees one index, however many sources there are.
type State struct {
	// Last is the last generation number that was given out.
	Last uint64 `json:"last"`
	// Hidden are the numbers, ascending, that are not (or no longer) published.
	Hidden []uint64 `json:"hidden,omitempty"`
}

// Visible is the rule that every store applies: something written by
// generation from and replaced or removed by generation to (0: by none) is
// visible when from is published and to is not.
func (s State) Visible(from, to uint64) bool {
	return !s.hides(from) && (to == 0 || s.hides(to))
}

func (s State) hides(n uint64) bool {
	if n > s.Last {
		return true
	}
	_, found := slices.BinarySearch(s.Hidden, n)
	return found
}

// Equal reports whether both states show the same index.
func (s State) Equal(o State) bool { return s.Last == o.Last && slices.Equal(s.Hidden, o.Hidden) }

// PageRecord is what the index keeps of a page beside its chunks.
type PageRecord struct {
	URL        string             `json:"url"`
	Title      string             `json:"title"`
	Language   string             `json:"language,omitempty"`
	Version    string             `json:"version,omitempty"`
	Generator  string             `json:"generator,omitempty"`
	Validators docseek.Validators `json:"validators,omitzero"`
	// Hash is of the extracted content: chunks and vectors of a page whose hash
	// is the same are kept.
	Hash string `json:"hash"`
	// Outline are the page's headings.
	Outline []docseek.Heading `json:"outline,omitempty"`
	// Links are the in-scope URLs that the page points to; a crawl by links
	// follows them when the page itself is unchanged.
	Links []string `json:"links,omitempty"`
	// Chunks is the number of chunks of the page.
	Chunks int `json:"chunks"`
	// Modified is the site's own date; zero if it gives none.
	Modified time.Time `json:"modified,omitzero"`
	// FirstSeen and IndexedAt are when the page was met first and when its
	// present content was read.
	FirstSeen time.Time `json:"first_seen"`
	IndexedAt time.Time `json:"indexed_at"`
	// Generation is the one that wrote the record.
	Generation uint64 `json:"generation"`
}

// PageCheck is what a run learnt of a page whose content it did not change. It
// is written in place when the run ends, whether or not it commits.
type PageCheck struct {
	Validators docseek.Validators `json:"validators,omitzero"`
	// CheckedAt is when the site last confirmed the content.
	CheckedAt time.Time `json:"checked_at"`
	// Failing is why the page could not be read since CheckedAt; empty when it
	// could. A failing page keeps its last good copy.
	Failing string `json:"failing,omitempty"`
	// Absent counts the complete crawls in a row that did not meet the page.
	Absent int `json:"absent,omitempty"`
}

// Run is how one attempt to build a generation went.
type Run struct {
	Source     string     `json:"source"`
	Outcome    Outcome    `json:"outcome"`
	Generation uint64     `json:"generation"`
	Pages      PageCounts `json:"pages"`
	Chunks     int        `json:"chunks"`
	Embedded   int        `json:"embedded"`
	Seconds    float64    `json:"seconds"`
	Reasons    []Reason   `json:"reasons"`
	// Started is when the run began; Error why it failed or was refused.
	Started time.Time `json:"started"`
	Error   string    `json:"error,omitempty"`
	// Generators counts the pages per recognised documentation generator.
	Generators map[string]int `json:"generators,omitempty"`
	// Discovery is where the URLs came from: sitemap, llms.txt, links or folder.
	Discovery string `json:"discovery,omitempty"`
	// Sitemaps is how many sitemap documents were read, Redirects how many
	// redirects were followed.
	Sitemaps  int `json:"sitemaps"`
	Redirects int `json:"redirects"`
	// Warnings are sentences about what the crawl could not read or left out.
	Warnings []string `json:"warnings,omitempty"`
}

// Outcome is how a run ended.
type Outcome string

// The outcomes of a run.
const (
	Published Outcome = "published"
	Unchanged Outcome = "unchanged"
	Refused   Outcome = "refused"
	Failed    Outcome = "failed"
)

// PageCounts counts the pages of a run. New, Changed, Unchanged and Kept
// together are the pages of the generation; Kept are those whose last good
// copy stays because they could not be read.
type PageCounts struct {
	New       int `json:"new"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Kept      int `json:"kept"`
	Removed   int `json:"removed"`
	Refused   int `json:"refused"`
}

// Reason counts the URLs of a run that share a fate, with a few of them.
type Reason struct {
	Reason  string   `json:"reason"`
	Count   int      `json:"count"`
	Samples []string `json:"samples"`
}

// SourceInfo is what a state says of one source.
type SourceInfo struct {
	// Source is as configured when its live generation was made, without headers.
	Source docseek.Source `json:"source"`
	// Generation is the live one; 0 when there is none yet.
	Generation uint64 `json:"generation"`
	// Fingerprint names what embedded the live generation.
	Fingerprint string `json:"fingerprint"`
	// Before is that of the generation that a rollback leads to; empty without one.
	Before string `json:"before,omitempty"`
	Pages  int    `json:"pages"`
	Chunks int    `json:"chunks"`
	// Embedded is how many of the chunks have a vector.
	Embedded int `json:"embedded"`
	// IndexedAt is when the live generation was committed.
	IndexedAt time.Time `json:"indexed_at"`
	// LastSuccess is when a run last ended published or unchanged.
	LastSuccess time.Time `json:"last_success"`
	// LastRun is the newest run's report; nil if none was ever recorded.
	LastRun *Run `json:"last_run,omitempty"`
	// Versions and Languages are those of the visible pages, sorted.
	Versions  []string `json:"versions"`
	Languages []string `json:"languages"`
}

// Stats are what the inverse document frequencies of a query come from.
type Stats struct {
	// Chunks is the number of visible chunks of the sources asked.
	Chunks int
	// Frequency holds, per asked term, in how many of them it occurs.
	Frequency []int
}

// Request asks a reader for candidates.
type Request struct {
	Filter docseek.Filter
	// Vectors holds the query's vector per fingerprint. Chunks of a fingerprint
	// that has none are left out of the dense list.
	Vectors map[string][]float32
	// Lexical is the query's lexical vector, inverse document frequencies included.
	Lexical lexical.Vector
	// Limit is the length of each list.
	Limit int
	// Brief leaves out what ranks nothing: title, anchor, text and what belongs to
	// it, and the dates. A store may give them all the same.
	Brief bool
}

// Candidate is a chunk with its score in one list.
type Candidate struct {
	Chunk
	Score float64
}

// Candidates are the two lists, each by falling score, then by chunk id.
type Candidates struct {
	// Dense is by cosine of the query's and the chunk's vector.
	Dense []Candidate
	// Lexical is by dot product of the lexical vectors, which makes it BM25.
	Lexical []Candidate
}

// Chunk is a stored chunk and where it stands.
type Chunk struct {
	docseek.Chunk
	Source     string
	Generation uint64 // the one that wrote it
	IndexedAt  time.Time
	Modified   time.Time // zero if the site gives none
	// PageChunks is the number of chunks of its page.
	PageChunks int
}

// Span is the chunks of a page with First ≤ Ordinal ≤ Last.
type Span struct {
	Source, URL string
	First, Last int
}

// Store holds generations of sources. A store is safe for concurrent use, and
// for use by several processes.
type Store interface {
	// Reader gives the present state. It never waits for a writer.
	Reader(ctx context.Context) (Reader, error)
	// ReaderAt gives the state with the given key (see Reader.Key), or ErrStale.
	ReaderAt(ctx context.Context, key string) (Reader, error)
	// Begin locks the source for one run, cleans up what crashed runs left, and
	// draws a number. With wait it waits for the lock as long as ctx lives, else
	// it fails with a LockedError. The fingerprint names what will embed the
	// generation: when it differs from the live one's, nothing of the live one is
	// carried over (every page has to be put), and its vectors are not reused.
	Begin(ctx context.Context, source docseek.Source, fingerprint string, wait bool) (Writer, error)
	// Rollback hides the live generation of a source, so that the one before it
	// is live again, and returns that one's number. ErrNotFound when none is kept.
	Rollback(ctx context.Context, source string) (uint64, error)
	Close() error
}

// Reader sees one state. It costs nothing to hold, but a state that was left
// long ago may be answered with ErrStale.
type Reader interface {
	// Key names the state, for a cursor.
	Key() string
	// Sources are all sources of the state, by name.
	Sources(ctx context.Context) ([]SourceInfo, error)
	// Stats counts the visible chunks of the sources (empty: of all) and those
	// that hold each of the terms.
	Stats(ctx context.Context, sources []string, terms []uint32) (Stats, error)
	Candidates(ctx context.Context, r Request) (Candidates, error)
	// Chunks returns the chunks of a page with first ≤ Ordinal ≤ last, in order.
	Chunks(ctx context.Context, source, url string, first, last int) ([]Chunk, error)
	// Spans returns the chunks of several spans of a few chunks each, at once.
	Spans(ctx context.Context, spans []Span) ([][]Chunk, error)
	// Page returns one page's record, or ErrNotFound.
	Page(ctx context.Context, source, url string) (PageRecord, error)
	// Pages returns up to limit pages of a source after the given URL, by URL,
	// whose path has the prefix.
	Pages(ctx context.Context, source, pathPrefix, after string, limit int) ([]PageRecord, error)
}

// Embedding is a chunk with its vectors as it is written.
type Embedding struct {
	docseek.Chunk
	// Vector has length 1; nil when the chunk is not embedded (yet).
	Vector []float32
	// TextHash is the SHA-256 of the embedded text, in hex.
	TextHash string
	// Lexical are the term weights.
	Lexical lexical.Vector
}

// Counts are what a generation would show.
type Counts struct {
	Pages, Chunks, Embedded int
}

// Writer builds one generation. Nothing of it is visible before Commit. What is
// not put or removed stays as the live generation has it. A Writer is used by
// one goroutine at a time.
type Writer interface {
	// Generation is the number drawn.
	Generation() uint64
	// Live is the state that the run builds on; Pages of it are what is asked
	// conditionally.
	Live() Reader
	// Checks streams what earlier runs learnt of the source's live pages.
	Checks(ctx context.Context, yield func(url string, check PageCheck) error) error
	// Vectors returns the stored vectors of the source's visible chunks with the
	// writer's fingerprint, by TextHash; hashes that have none are left out.
	Vectors(ctx context.Context, hashes []string) (map[string][]float32, error)
	// Put writes a page and its chunks in place of what the page had.
	Put(ctx context.Context, page PageRecord, chunks []Embedding) error
	// Remove takes a page out. Removing an unknown page does nothing.
	Remove(ctx context.Context, url string) error
	// Check records what was learnt of an unchanged page.
	Check(ctx context.Context, url string, check PageCheck) error
	// Counts are what the generation would show if it were committed now.
	Counts(ctx context.Context) (Counts, error)
	// Commit verifies that the generation shows what want says, publishes it in
	// one step, records the run and releases the source. What the generation
	// before the live one left behind is deleted. ErrUnverified when the counts
	// differ: then nothing was published.
	Commit(ctx context.Context, want Counts, run Run) error
	// Finish ends a run that publishes nothing: it discards what was put or
	// removed, keeps the checks, records the run and releases the source.
	Finish(ctx context.Context, run Run) error
	// Close releases the source without recording anything, if the writer has not
	// ended yet. It is safe to defer.
	Close() error
}
