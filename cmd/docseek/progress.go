package main

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/docseek/docseek/internal/indexer"
)

// progressEvery is how often a run that no terminal shows says how far it is.
const progressEvery = 5 * time.Second

// screen is where messages and the bar of a run go: a message takes the bar away
// for as long as it is written.
type screen struct {
	to io.Writer

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func (s *screen) Write(message []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		return s.to.Write(message)
	}
	_ = s.bar.Clear() // a bar that cannot be drawn is in nobody's way
	n, err := s.to.Write(message)
	_ = s.bar.RenderBlank()
	return n, err
}

// show makes a bar the one that is shown; nil takes it away.
func (s *screen) show(bar *progressbar.ProgressBar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	s.bar = bar
}

// draw draws the bar that is shown.
func (s *screen) draw(done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if total != s.bar.GetMax() {
		s.bar.ChangeMax(total)
	}
	_ = s.bar.Set(done) // a bar that cannot be drawn does not stop a run
}

// progress shows how far a run is: a bar on a terminal, log lines elsewhere.
type progress struct {
	a      *app
	source string

	mu    sync.Mutex
	stage indexer.Stage
	drawn bool
	last  time.Time
}

func (a *app) progress(source string) *progress {
	return &progress{a: a, source: source, last: time.Now()}
}

func (p *progress) update(now indexer.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.a.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.draw(f, now)
		return
	}
	if time.Since(p.last) < progressEvery {
		return
	}
	p.last = time.Now()
	p.a.log.Info("progress", slog.String("source", p.source), slog.String("stage", string(now.Stage)),
		slog.Int("done", now.Done), slog.Int("total", now.Total))
}

func (p *progress) draw(f *os.File, now indexer.Progress) {
	if !p.drawn || p.stage != now.Stage {
		p.stage, p.drawn = now.Stage, true
		p.a.screen.show(progressbar.NewOptions(now.Total,
			progressbar.OptionSetWriter(f),
			progressbar.OptionSetDescription(p.source+" "+string(now.Stage)),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(unit(now.Stage)),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			// From here the rate is counted: what was done in no time has none.
			progressbar.OptionSetRenderBlankState(true),
		))
	}
	p.a.screen.draw(now.Done, now.Total)
}

func unit(s indexer.Stage) string {
	if s == indexer.Embedding {
		return "texts"
	}
	return "pages"
}

// done takes the bar away.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.a.screen.show(nil)
		p.drawn = false
	}
}
