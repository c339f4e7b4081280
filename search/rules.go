package search

import (
	"fmt"
	"math"
	"strings"
)

// What follows is the same in every store.

// CheckSourceName keeps the names of sources as the configuration has them, which
// also makes them fit for a file name.
func CheckSourceName(name string) error {
	ok := len(name) > 0 && len(name) <= 64
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '.' || c == '_' || c == '-'))
	}
	if !ok {
		return fmt.Errorf("source name %.80q is not of the form [a-z0-9][a-z0-9._-]*, at most 64 bytes", name)
	}
	return nil
}

// CleanPathPrefix gives a path prefix one slash in front and none behind; empty
// when every path matches.
func CleanPathPrefix(prefix string) string {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return ""
	}
	return "/" + prefix
}

// URLPath is the path of an absolute URL, as it is written.
func URLPath(url string) string {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	if _, rest, ok := strings.Cut(url, "://"); ok {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return "/"
		}
		return rest[i:]
	}
	return url
}

// UnitVectors are the request's vectors brought to length 1. A vector without a
// direction is an error.
func (r Request) UnitVectors() (map[string][]float32, error) {
	units := make(map[string][]float32, len(r.Vectors))
	for fingerprint, vector := range r.Vectors {
		square := 0.0
		for _, x := range vector {
			square += float64(x) * float64(x)
		}
		if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
			return nil, fmt.Errorf("the query's vector for %q has no direction", fingerprint)
		}
		unit := make([]float32, len(vector))
		for i, x := range vector {
			unit[i] = float32(float64(x) / math.Sqrt(square))
		}
		units[fingerprint] = unit
	}
	return units, nil
}
