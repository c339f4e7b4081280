package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// What an answer on the page has at most.
const (
	resultsPerPage = 10
	resultChars    = 16000
)

// searchView is the page of a search, or of none yet.
type searchView struct {
	Query    string
	Filters  []choice
	Filtered bool
	Asked    bool
	// Fault is what is wrong with the query, in a sentence.
	Fault   string
	Answer  search.Answer
	Results []result
	// More leads on; Continued says that the page is not the first.
	More      string
	Continued bool
	// Sources are shown while nothing is asked.
	Sources []sourceView
	Pages   int
}

// choice is a filter with what it can be.
type choice struct {
	Name, Label, Any string
	Value            string
	Options          []string
}

// result is a hit as the page shows it.
type result struct {
	docseek.Hit
	Passage template.HTML
}

// trail is where the passage stands, outermost first: the page's title and the
// headings.
func (r result) trail() []string {
	path := r.Path
	if len(path) > 0 && path[0] == r.Title {
		path = path[1:]
	}
	return append([]string{cmp.Or(r.Title, r.URL)}, path...)
}

// Headline is the innermost heading, and Trail what it stands under.
func (r result) Headline() string { t := r.trail(); return t[len(t)-1] }

// Trail is what the headline stands under.
func (r result) Trail() []string { t := r.trail(); return t[:len(t)-1] }

func (p *Page) search(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), p.opts.Deadline)
	defer cancel()
	form := r.URL.Query()
	listed, err := p.opts.Docs.List(ctx, search.ListQuery{})
	if err != nil {
		p.fail(ctx, w, r, "list the sources", err)
		return
	}
	view := searchView{Query: strings.TrimSpace(form.Get("q"))}
	view.Filters = choices(listed.Sources, form)
	for _, filter := range view.Filters {
		view.Filtered = view.Filtered || filter.Value != ""
	}
	if view.Asked = view.Query != ""; !view.Asked {
		view.Sources = p.sourceViews(listed.Sources)
		for _, source := range listed.Sources {
			view.Pages += source.Pages
		}
		p.show(w, r, http.StatusOK, "search", "Search", view)
		return
	}

	query := search.Query{
		Text:     view.Query,
		Filter:   docseek.Filter{Version: form.Get("version"), Language: form.Get("language")},
		Limit:    resultsPerPage,
		MaxChars: resultChars,
		Cursor:   form.Get("cursor"),
	}
	if source := form.Get("source"); source != "" {
		query.Filter.Sources = []string{source}
	}
	status := http.StatusOK
	view.Answer, err = p.opts.Docs.Search(ctx, query)
	if input, wrong := errors.AsType[*search.InputError](err); wrong {
		status, view.Fault = http.StatusBadRequest, input.Message
	} else if err != nil {
		p.fail(ctx, w, r, "search", err)
		return
	}
	view.Continued = query.Cursor != ""
	for _, hit := range view.Answer.Results {
		view.Results = append(view.Results, result{hit, p.passage(hit, view.Query)})
	}
	if next := view.Answer.NextCursor; next != "" {
		form.Set("q", view.Query)
		form.Set("cursor", next)
		view.More = "/?" + form.Encode()
	}
	p.show(w, r, status, "search", view.Query, view)
}

// choices are the filters that narrow something. A value that is set stays in
// sight, whether or not it is one of the options.
func choices(sources []search.SourceStatus, form url.Values) []choice {
	asked := form.Get("source")
	var names, versions, languages []string
	for _, source := range sources {
		if source.State == search.Unconfigured {
			continue
		}
		names = append(names, source.Name)
		if asked == "" || asked == source.Name {
			versions = append(versions, source.Versions...)
			languages = append(languages, source.Languages...)
		}
	}
	var filters []choice
	for _, c := range []choice{
		{Name: "source", Label: "Source", Any: "All sources", Options: names},
		{Name: "version", Label: "Version", Any: "Any version", Options: versions},
		{Name: "language", Label: "Language", Any: "Any language", Options: languages},
	} {
		c.Value = form.Get(c.Name)
		if c.Value != "" {
			c.Options = append(c.Options, c.Value)
		}
		c.Options = slices.DeleteFunc(c.Options, func(o string) bool { return o == "" })
		slices.SortFunc(c.Options, strings.Compare)
		c.Options = slices.Compact(c.Options)
		if len(c.Options) > 1 || c.Value != "" {
			filters = append(filters, c)
		}
	}
	return filters
}

// fail answers a request that could not be served.
func (p *Page) fail(ctx context.Context, w http.ResponseWriter, r *http.Request, what string, err error) {
	m := message{Title: "That did not work", Text: "An " + internalError(w) + "."}
	status := http.StatusInternalServerError
	input, refused := errors.AsType[*search.InputError](err)
	switch {
	case r.Context().Err() != nil:
		return // nobody waits any more
	case refused: // nothing was asked that could be wrong but by whom
		status, m.Title, m.Text = http.StatusForbidden, "Not with this token", "This cannot be shown: "+input.Message+"."
	case ctx.Err() != nil:
		status = http.StatusGatewayTimeout
		m.Text = "There was no answer within " + p.opts.Deadline.Round(time.Second).String() + ": try again."
	case errors.Is(err, search.ErrStale):
		status = http.StatusServiceUnavailable
		m.Text = "The index was renewed in between: try again."
	default:
		p.opts.Log.LogAttrs(ctx, slog.LevelError, "a page failed", slog.String("call", what), slog.Any("error", err),
			slog.String("request_id", requestID(w)))
	}
	p.show(w, r, status, "message", m.Title, m)
}
