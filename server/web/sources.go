package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/docseek/docseek/search"
)

// refreshSeconds is how often a browser without scripts asks for a page with a
// run that is on.
const refreshSeconds = 5

// sourcesView is the page of the sources.
type sourcesView struct {
	Sources []sourceView
	Live    bool
}

func (v sourcesView) refresh() int {
	if v.Live {
		return refreshSeconds
	}
	return 0
}

// sourceView is a source with the run that is on, if one is.
type sourceView struct {
	search.SourceStatus
	Running *Running
}

// Fault is why the last run failed or was refused, unless the state's reason
// tells it already.
func (v sourceView) Fault() string {
	if strings.Contains(v.Reason, v.LastRun.Error) {
		return ""
	}
	return v.LastRun.Error
}

func (p *Page) sources(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), p.opts.Deadline)
	defer cancel()
	listed, err := p.opts.Docs.List(ctx, search.ListQuery{})
	if err != nil {
		p.fail(ctx, w, r, "list the sources", err)
		return
	}
	view := sourcesView{Sources: p.sourceViews(listed.Sources)}
	for _, source := range view.Sources {
		view.Live = view.Live || source.Running != nil
	}
	p.show(w, r, http.StatusOK, "sources", "Sources", view)
}

// sourceViews adds the runs that are on. One of a source that the caller does
// not see is not told.
func (p *Page) sourceViews(sources []search.SourceStatus) []sourceView {
	running := map[string]*Running{}
	for _, run := range p.opts.Progress() {
		running[run.Source] = &run
	}
	views := make([]sourceView, len(sources))
	for i, source := range sources {
		views[i] = sourceView{source, running[source.Name]}
	}
	return views
}

// Percent is how much of the present stage is done, 0 to 100.
func (r Running) Percent() int {
	if r.Total <= 0 {
		return 0
	}
	return min(100, max(0, 100*r.Done/r.Total))
}

// Unit is what Done and Total count.
func (r Running) Unit() string {
	if r.Stage == "embedding" {
		return "texts"
	}
	return "pages"
}

// duration is how long a run took, to the second, or the tenth of a short one.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
