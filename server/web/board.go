package web

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Running is a run that is on.
type Running struct {
	Source string
	// Stage is what it does: crawling or embedding.
	Stage string
	// Done of Total are pages while crawling, texts while embedding; Total is 0
	// while nothing is known.
	Done, Total int
	Started     time.Time
}

// Board knows which runs of this process are on. The zero Board has none; it is
// safe for concurrent use.
type Board struct {
	mu   sync.Mutex
	runs map[string]Running
}

// Start puts a source's run on the board.
func (b *Board) Start(source string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		b.runs = map[string]Running{}
	}
	b.runs[source] = Running{Source: source, Started: now}
}

// Update says how far the run of a source is. One that was not started or has
// ended is not taken up.
func (b *Board) Update(source, stage string, done, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if run, on := b.runs[source]; on {
		run.Stage, run.Done, run.Total = stage, done, total
		b.runs[source] = run
	}
}

// End takes the run of a source off the board.
func (b *Board) End(source string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.runs, source)
}

// Progress is how far the runs are that are on, by source.
func (b *Board) Progress() []Running {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs := make([]Running, 0, len(b.runs))
	for _, run := range b.runs {
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(x, y Running) int { return strings.Compare(x.Source, y.Source) })
	return runs
}
