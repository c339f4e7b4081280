package local

import (
	"slices"
	"strings"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// matcher decides about the pages of one query.
type matcher struct {
	sources           []string
	version, language string
	path              string
}

func newMatcher(f docseek.Filter) matcher {
	return matcher{
		sources:  f.Sources,
		version:  f.Version,
		language: strings.ToLower(f.Language),
		path:     search.CleanPathPrefix(f.PathPrefix),
	}
}

// all reports that every page matches.
func (m matcher) all() bool {
	return len(m.sources) == 0 && m.version == "" && m.language == "" && m.path == ""
}

func (m matcher) matches(p *page) bool {
	return (len(m.sources) == 0 || slices.Contains(m.sources, p.source)) &&
		(m.version == "" || m.version == p.version) &&
		(m.language == "" || matchesLanguage(m.language, p.language)) &&
		(m.path == "" || matchesPath(m.path, p.url))
}

// matchesLanguage lets a language match itself and its narrower forms: basic
// filtering of RFC 4647 §3.3.1. want is in lower case.
func matchesLanguage(want, have string) bool {
	if len(have) < len(want) || !strings.EqualFold(have[:len(want)], want) {
		return false
	}
	return len(have) == len(want) || have[len(want)] == '-'
}

// matchesPath compares by whole segments. prefix is as search.CleanPathPrefix returns it.
func matchesPath(prefix, url string) bool {
	rest, ok := strings.CutPrefix(search.URLPath(url), prefix)
	return ok && (rest == "" || rest[0] == '/')
}
