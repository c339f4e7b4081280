package crawler

import (
	"net/url"
)

// maxRepeats is how often one segment may stand in a path.
const maxRepeats = 3

// maxDuplicates is how many queries of one path may show a content that another
// URL has shown before its queries are taken for views of the same.
const maxDuplicates = 3

// isTrap reports whether a path looks as if a relative link had been followed
// for ever: too deep, or the same segment over and over.
func isTrap(u *url.URL, maxSegments int) bool {
	segments := pathSegments(u)
	if len(segments) > maxSegments {
		return true
	}
	count := map[string]int{}
	for i, s := range segments {
		if count[s]++; count[s] > maxRepeats || i >= 2 && s == segments[i-1] && s == segments[i-2] {
			return true
		}
	}
	return false
}

// variants are the queries that one path was met with.
type variants struct{ met, duplicates int }

// variant counts a query of a path, and reports whether it is one of not too many.
func (r *run) variant(u *url.URL) bool {
	key := originOf(u) + u.EscapedPath()
	v := r.variants[key]
	if v == nil {
		v = &variants{}
		r.variants[key] = v
	}
	v.met++
	return v.met <= r.opts.MaxQueryVariants && v.duplicates < maxDuplicates
}

// noteDuplicate counts a query that showed nothing new.
func (r *run) noteDuplicate(canonical string) {
	if u, err := url.Parse(canonical); err == nil && u.RawQuery != "" {
		if v := r.variants[originOf(u)+u.EscapedPath()]; v != nil {
			v.duplicates++
		}
	}
}
