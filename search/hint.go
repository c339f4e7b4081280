package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/docseek/docseek"
)

// hint says what to try when a query found nothing.
func (e *Engine) hint(ctx context.Context, s scope, q Query, mode Mode, vectors map[string][]float32, found findings) (string, error) {
	if len(found.hits) > 0 {
		return fmt.Sprintf("Nothing scores %v or more; the best of %d matches has %v: lower min_score.",
			q.MinScore, len(found.hits), found.hits[0].score), nil
	}
	if f := q.Filter; f.Version != "" || f.Language != "" || f.PathPrefix != "" {
		wide := q
		wide.Filter = docseek.Filter{Sources: f.Sources}
		elsewhere, err := e.find(ctx, s.reader, wide, mode, vectors, s.language(f.Language))
		if err != nil {
			return "", err
		}
		if len(elsewhere.hits) > 0 {
			return elsewhereHint(f, elsewhere.hits), nil
		}
	}
	var unknown []string
	for i, term := range found.terms {
		if found.frequency[i] == 0 && !slices.Contains(unknown, term.Word) {
			unknown = append(unknown, term.Word)
		}
	}
	switch {
	case len(found.terms) == 0:
		return "The query has no word to look for.", nil
	case len(unknown) > 0:
		for i, word := range unknown {
			unknown[i] = quoteShort(word)
		}
		return fmt.Sprintf("Not in the index: %s. Try other words for it.", enumerate(unknown)), nil
	}
	return "Try other words, or search all sources.", nil
}

// elsewhereHint says where a query finds something that a filter kept away.
func elsewhereHint(f docseek.Filter, hits []scored) string {
	var versions, languages, paths []string
	add := func(list *[]string, value string) {
		if value != "" && !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	for _, hit := range hits {
		add(&versions, hit.Version)
		add(&languages, hit.Language)
	}
	for _, hit := range hits[:min(3, len(hits))] {
		add(&paths, hit.URL)
	}
	slices.Sort(versions)
	slices.Sort(languages)
	var b strings.Builder
	b.WriteString("Nothing matches within the filter.")
	if f.Version != "" && len(versions) > 0 && !slices.Contains(versions, f.Version) {
		b.WriteString(" Versions that match: " + enumerate(versions) + ".")
	}
	if f.Language != "" && len(languages) > 0 && !slices.Contains(languages, f.Language) {
		b.WriteString(" Languages that match: " + enumerate(languages) + ".")
	}
	b.WriteString(" Without it there are matches such as " + strings.Join(paths, ", ") + ".")
	return b.String()
}
