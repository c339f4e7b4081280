// Package search answers questions about indexed documentation.
//
// A [Store] holds the index and answers one query with two lists of candidates,
// dense and lexical. The [Engine] embeds the query, fuses the lists, groups
// them by page, widens each hit within its section and trims the answer to a
// size. Stores do not rank: both kinds of store give the same answers.
package search

import (
	"fmt"
	"time"

	"github.com/docseek/docseek"
)

// Mode says which lists an answer was made from.
type Mode string

// The modes of a search.
const (
	Hybrid  Mode = "hybrid"
	Lexical Mode = "lexical"
	Dense   Mode = "dense"
)

// Bounds and defaults of a query.
const (
	DefaultLimit    = 5
	MaxLimit        = 20
	DefaultMaxChars = 8000
	MinMaxChars     = 500
	// leastChars is what an answer is never bounded below, so that who asks can keep
	// some of MinMaxChars for words of its own.
	leastChars  = 300
	MaxMaxChars = 50000
	// MaxQueryBytes is how much of a query is used, and the longest URL or section
	// that is looked up.
	MaxQueryBytes = 8192
)

// Query asks for passages.
type Query struct {
	Text   string
	Filter docseek.Filter
	// Mode is Hybrid when empty. Hybrid becomes Lexical, and the answer says so,
	// when no vector of the query can be had.
	Mode Mode
	// Limit is the most hits; 0 means DefaultLimit.
	Limit int
	// MaxChars bounds the whole answer as JSON text, in characters; 0 means DefaultMaxChars.
	MaxChars int
	// MinScore drops hits below it.
	MinScore float64
	// Ungrouped makes every matching chunk a hit of its own; otherwise a section
	// is one hit, and a page has two at most.
	Ungrouped bool
	// Cursor continues an earlier answer to the same query.
	Cursor string
}

// Answer is what a query found. An empty one is no error: Hint says what to try.
type Answer struct {
	Mode     Mode   `json:"mode"`
	Degraded bool   `json:"degraded"`
	Reason   string `json:"reason,omitempty"`
	// Reranked says that a reranker put the best of the results in order; their
	// scores are its own.
	Reranked bool          `json:"reranked,omitempty"`
	Results  []docseek.Hit `json:"results"`
	// Omitted counts the hits that were found and not shown because of MaxChars.
	Omitted    int    `json:"omitted"`
	NextCursor string `json:"next_cursor,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

// ReadQuery asks for a page or a section of it.
type ReadQuery struct {
	// URL is a page's or a section's, with or without anchor.
	URL string
	// Section is an anchor or a heading, instead of the URL's anchor.
	Section  string
	Source   string
	MaxChars int
	Cursor   string
}

// Reading is a page or section as Markdown.
type Reading struct {
	URL   string   `json:"url"`
	Title string   `json:"title"`
	Path  []string `json:"heading_path"`
	Text  string   `json:"text"`
	// Sections are the headings of what was asked for, in order; the deepest
	// levels are left out where they would take too much room.
	Sections []SectionLink `json:"sections"`
	// Truncated says that the page or section goes on beyond Text; NextCursor
	// leads there.
	Truncated  bool   `json:"truncated"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// SectionLink is a section of a page as it can be asked for.
type SectionLink struct {
	Anchor string `json:"anchor"`
	Title  string `json:"title"`
	Level  int    `json:"level"`
}

// ListQuery asks for the sources, or for the pages of one.
type ListQuery struct {
	// Source may be left out beside PathPrefix when there is only one.
	Source     string
	PathPrefix string
	Cursor     string
}

// Listing is either the sources or the pages of one source.
type Listing struct {
	Sources    []SourceStatus `json:"sources,omitzero"`
	Pages      []PageLink     `json:"pages,omitzero"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// SourceStatus is a source as agents and people see it.
type SourceStatus struct {
	Name       string     `json:"name"`
	Start      string     `json:"start"`
	Pages      int        `json:"pages"`
	Chunks     int        `json:"chunks"`
	Embedded   int        `json:"embedded"`
	Generation uint64     `json:"generation"`
	IndexedAt  *time.Time `json:"indexed_at"`
	// LastSuccess is when a run last confirmed or renewed the index; NextRun
	// when the scheduler will start the next, nil without one.
	LastSuccess *time.Time `json:"last_success"`
	NextRun     *time.Time `json:"next_run"`
	Versions    []string   `json:"versions"`
	Languages   []string   `json:"languages"`
	// State is ready, degraded, stale, empty or unconfigured; Reason says why.
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	LastRun *Run   `json:"last_run,omitempty"`
}

// PageLink is a page's address and title.
type PageLink struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// InputError is a query that cannot be answered as it was put. Its text is a
// sentence for the one who asked.
type InputError struct{ Message string }

func (e *InputError) Error() string { return e.Message }

func inputErrorf(format string, args ...any) error {
	return &InputError{Message: fmt.Sprintf(format, args...)}
}
