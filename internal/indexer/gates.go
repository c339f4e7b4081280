package indexer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/search"
)

// The gates: a run that loses more than this publishes nothing.
const (
	maxRemoved = 0.10 // of the live pages
	maxFailed  = 0.20 // of the fetches
	maxNeedsJS = 0.50 // of the pages asked for
)

// gates refuses a generation that has probably lost something. Force lets all
// through but an empty one.
func (r *run) gates() error {
	t := r.tally
	if r.want.Pages == 0 {
		return &RefusedError{Why: "nothing was indexed" + t.why()}
	}
	if r.options.Force {
		return nil
	}
	p := r.report.Pages
	switch {
	case over(p.Removed, r.live.Pages, maxRemoved):
		return &RefusedError{Why: fmt.Sprintf("%d of %d pages would be removed, more than %.0f %%; if that is right, run it with --force%s",
			p.Removed, r.live.Pages, maxRemoved*100, t.why())}
	case over(t.failed, t.asked, maxFailed):
		return &RefusedError{Why: fmt.Sprintf("%d of %d fetches failed, more than %.0f %%; the index stays as it was%s",
			t.failed, t.asked, maxFailed*100, t.why())}
	case over(t.needsJS, t.asked, maxNeedsJS):
		return &RefusedError{Why: fmt.Sprintf("%d of %d pages hold nothing without JavaScript; the site has to be built as static HTML to be indexed",
			t.needsJS, t.asked)}
	}
	return nil
}

func over(n, of int, share float64) bool { return float64(n) > share*float64(of) }

// samples is how many URLs a reason names.
const samples = 5

// tally counts what became of the URLs.
type tally struct {
	byReason map[string]*search.Reason
	// asked counts the fetches, failed those that brought nothing because of
	// trouble, needsJS those whose page is empty without JavaScript.
	asked, failed, needsJS int
}

func (t *tally) fate(result crawler.Result) {
	switch result.Fate {
	case crawler.Fetched, crawler.NotModified, crawler.Gone:
		t.asked++
	case crawler.Unreachable:
		t.asked++
		t.failed++
	case crawler.Refused:
		if result.Reason == crawler.ReasonNeedsJS {
			t.asked++
			t.needsJS++
		}
	}
}

func (t *tally) add(reason, url string) {
	if t.byReason == nil {
		t.byReason = map[string]*search.Reason{}
	}
	r, ok := t.byReason[reason]
	if !ok {
		r = &search.Reason{Reason: reason, Samples: []string{}}
		t.byReason[reason] = r
	}
	r.Count++
	if len(r.Samples) < samples {
		r.Samples = append(r.Samples, url)
	}
}

// reasons are the most frequent first.
func (t *tally) reasons() []search.Reason {
	all := make([]search.Reason, 0, len(t.byReason))
	for _, r := range t.byReason {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b search.Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// why names the reasons for a sentence.
func (t *tally) why() string {
	all := t.reasons()
	if len(all) == 0 {
		return ""
	}
	parts := make([]string, 0, 3)
	for _, r := range all[:min(len(all), 3)] {
		parts = append(parts, fmt.Sprintf("%s: %d", r.Reason, r.Count))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// sameChunker reports whether two fingerprints cut texts alike, so that the
// chunks of one serve the other.
func sameChunker(a, b string) bool {
	return cutting(a) == cutting(b)
}

func cutting(fingerprint string) string {
	_, rest, _ := strings.Cut(fingerprint, ";chunker=")
	return rest
}
