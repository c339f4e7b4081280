package main

import (
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

// progress shows how far a run is: a bar on a terminal, log lines elsewhere.
type progress struct {
	a      *app
	source string

	mu    sync.Mutex
	stage indexer.Stage
	bar   *progressbar.ProgressBar
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
	if p.bar == nil || p.stage != now.Stage {
		p.clear()
		p.stage = now.Stage
		p.bar = progressbar.NewOptions(now.Total,
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
		)
	}
	if now.Total != p.bar.GetMax() {
		p.bar.ChangeMax(now.Total)
	}
	_ = p.bar.Set(now.Done) // a bar that cannot be drawn does not stop a run
}

func unit(s indexer.Stage) string {
	if s == indexer.Embedding {
		return "texts"
	}
	return "pages"
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // as above
		p.bar = nil
	}
}

// done takes the bar away.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
