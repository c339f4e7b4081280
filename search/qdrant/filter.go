package qdrant

import (
	"slices"
	"strings"

	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// Fields of the payload that conditions are on. All are indexed.
const (
	fieldKind     = "kind"
	fieldSource   = "source"
	fieldURL      = "url"
	fieldFrom     = "from"
	fieldTo       = "to"
	fieldOrdinal  = "ordinal"
	fieldHash     = "hash" // of the embedded text: its first 128 bits as a UUID
	fieldVersion  = "version"
	fieldLanguage = "language"
	fieldLangs    = "langs" // the language and its wider forms, in lower case
	fieldPaths    = "paths" // the prefixes of the URL's path, by whole segments
	fieldRev      = "rev"
	fieldToken    = "token"
	fieldBeat     = "beat"
	fieldSeq      = "seq"
	fieldChecked  = "has_check"
)

// maxPaths bounds the prefixes of one URL; deeper ones are not found by path.
const maxPaths = 32

// visible is [search.State.Visible] as conditions. A point's to is 0 as long as
// nothing has replaced it. The server takes ranges faster than exceptions, and
// hidden numbers at the end, such as a run's that goes on, are as good as none.
func visible(s search.State) []*qdrant.Condition {
	hidden := slices.Clone(s.Hidden)
	slices.Sort(hidden)
	last := s.Last
	for n := len(hidden); n > 0 && hidden[n-1] >= last; n-- {
		if hidden[n-1] == last && last > 0 {
			last--
		}
		hidden = hidden[:n-1]
	}
	var from []*qdrant.Condition
	first := uint64(0)
	for _, h := range append(slices.Clone(hidden), last+1) {
		if h > first {
			low, high := float64(first), float64(h-1)
			from = append(from, qdrant.NewRange(fieldFrom, &qdrant.Range{Gte: &low, Lte: &high}))
		}
		first = h + 1
	}
	written := from[0]
	if len(from) > 1 {
		written = either(from...)
	}
	after := float64(last)
	return []*qdrant.Condition{
		written,
		either(
			qdrant.NewMatchInts(fieldTo, append([]int64{0}, ints(hidden)...)...),
			qdrant.NewRange(fieldTo, &qdrant.Range{Gt: &after}),
		),
	}
}

func ints(numbers []uint64) []int64 {
	list := make([]int64, len(numbers))
	for i, n := range numbers {
		list[i] = int64(n)
	}
	return list
}

func either(conditions ...*qdrant.Condition) *qdrant.Condition {
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Should: conditions})
}

func isFrom(n uint64) *qdrant.Condition        { return qdrant.NewMatchInt(fieldFrom, int64(n)) }
func isTo(n uint64) *qdrant.Condition          { return qdrant.NewMatchInt(fieldTo, int64(n)) }
func ofSource(name string) *qdrant.Condition   { return qdrant.NewMatchKeyword(fieldSource, name) }
func ofKind(kind string) *qdrant.Condition     { return qdrant.NewMatchKeyword(fieldKind, kind) }
func ofPages(urls ...string) *qdrant.Condition { return qdrant.NewMatchKeywords(fieldURL, urls...) }

// narrow is a filter of a query as conditions.
func narrow(f docseek.Filter) []*qdrant.Condition {
	var conditions []*qdrant.Condition
	if len(f.Sources) > 0 {
		conditions = append(conditions, qdrant.NewMatchKeywords(fieldSource, f.Sources...))
	}
	if f.Version != "" {
		conditions = append(conditions, qdrant.NewMatchKeyword(fieldVersion, f.Version))
	}
	if f.Language != "" {
		conditions = append(conditions, qdrant.NewMatchKeyword(fieldLangs, strings.ToLower(f.Language)))
	}
	if prefix := search.CleanPathPrefix(f.PathPrefix); prefix != "" {
		conditions = append(conditions, qdrant.NewMatchKeyword(fieldPaths, prefix))
	}
	return conditions
}

// languageForms are what a language is found by: basic filtering of RFC 4647 §3.3.1.
func languageForms(language string) []string {
	language = strings.ToLower(language)
	var forms []string
	for i := range len(language) {
		if language[i] == '-' {
			forms = append(forms, language[:i])
		}
	}
	if language != "" {
		forms = append(forms, language)
	}
	return forms
}

// pathPrefixes are what a URL is found by.
func pathPrefixes(url string) []string {
	path := search.URLPath(url)
	var prefixes []string
	for i := 1; i <= len(path) && len(prefixes) < maxPaths; i++ {
		if i == len(path) || path[i] == '/' {
			prefixes = append(prefixes, path[:i])
		}
	}
	return prefixes
}

// underPath compares by whole segments. prefix is as search.CleanPathPrefix returns it.
func underPath(prefix, url string) bool {
	return prefix == "" || slices.Contains(pathPrefixes(url), prefix)
}
