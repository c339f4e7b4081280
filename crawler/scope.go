package crawler

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/docseek/docseek"
)

// scope says which URLs are part of a source.
type scope struct {
	origin string // scheme://host[:port] of the start, after its redirects
	// aliases are origins that mean the same site: their URLs are known under origin.
	aliases []string
	// secure is the https form of a plain origin. It is the same site, and not
	// folded: the site leads from one to the other as it likes.
	secure string
	// dir ends in "/"; it holds where the source names no include.
	dir              string
	include, exclude []glob
}

func newScope(src docseek.Source) (*scope, error) {
	s := &scope{}
	for _, patterns := range []struct {
		from []string
		to   *[]glob
	}{{src.Include, &s.include}, {src.Exclude, &s.exclude}} {
		for _, p := range patterns.from {
			g, err := newGlob(p)
			if err != nil {
				return nil, fmt.Errorf("scope of source %s: %w: %w", src.Name, err, ErrSource)
			}
			*patterns.to = append(*patterns.to, g)
		}
	}
	return s, nil
}

// anchor sets the scope's place to where the start ended up. A start that was
// led from http to https, or between a host and its www form, keeps the origins
// on the way as aliases.
func (s *scope) anchor(final *url.URL, dir string, via ...*url.URL) {
	s.origin, s.dir, s.aliases, s.secure = originOf(final), dir, nil, ""
	if final.Scheme == "http" && final.Port() == "" {
		s.secure = "https://" + final.Host
	}
	for _, u := range via {
		if o := originOf(u); o != s.origin && sameSite(u, final) && !slices.Contains(s.aliases, o) {
			s.aliases = append(s.aliases, o)
		}
	}
	if final.Scheme != "https" || final.Port() != "" {
		return
	}
	// A list that still gives the plain scheme means the same pages.
	for _, u := range append(via, final) {
		o := "http://" + u.Hostname()
		if sameSite(u, final) && !slices.Contains(s.aliases, o) {
			s.aliases = append(s.aliases, o)
		}
	}
}

// sameSite reports whether two addresses differ only in scheme and in the www of their hosts.
func sameSite(a, b *url.URL) bool {
	bare := func(u *url.URL) string { return strings.TrimPrefix(u.Hostname(), "www.") }
	return bare(a) == bare(b) && (a.Port() == b.Port() || a.Port() == "" || b.Port() == "")
}

// fold writes a canonical URL of an alias under the scope's own origin.
func (s *scope) fold(canonical string) string {
	for _, alias := range s.aliases {
		if rest, ok := strings.CutPrefix(canonical, alias); ok && (rest == "" || rest[0] == '/') {
			return s.origin + rest
		}
	}
	return canonical
}

// check returns why a canonical URL is not part of the source ("" if it is) and
// the rule that said so.
func (s *scope) check(u *url.URL) (reason, rule string) {
	if o := originOf(u); o != s.origin && o != s.secure {
		return ReasonOutOfScope, "origin " + s.origin
	}
	segments := pathSegments(u)
	for _, g := range s.exclude {
		if g.match(segments) {
			return ReasonExcluded, "exclude " + g.pattern
		}
	}
	if len(s.include) == 0 {
		if p := u.EscapedPath(); !strings.HasPrefix(p, s.dir) && p+"/" != s.dir {
			return ReasonOutOfScope, "start directory " + s.dir
		}
		return "", "start directory " + s.dir
	}
	for _, g := range s.include {
		if g.match(segments) {
			return "", "include " + g.pattern
		}
	}
	return ReasonOutOfScope, "no include matches"
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// startDir is the directory that a page start stands for. A path of a single
// name without a suffix is taken for a directory of that name.
func startDir(u *url.URL) string {
	p := u.EscapedPath()
	if p == "" || strings.HasSuffix(p, "/") {
		return cmp.Or(p, "/")
	}
	dir := path.Dir(p)
	if dir == "/" {
		if path.Ext(p) == "" {
			return p + "/"
		}
		return "/"
	}
	return dir + "/"
}

// pathSegments are the decoded segments of a URL's path; a trailing slash adds none.
func pathSegments(u *url.URL) []string {
	p := strings.Trim(u.EscapedPath(), "/")
	if p == "" {
		return nil
	}
	segments := strings.Split(p, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil {
			segments[i] = decoded
		}
	}
	return segments
}

// maxGlobSegments bounds a pattern; matching costs segments of the pattern
// times segments of the path.
const maxGlobSegments = 64

// glob is a pattern on a URL's path: "*" and "?" stand for characters within a
// segment, a segment "**" for any number of segments.
type glob struct {
	pattern  string
	segments []string
}

func newGlob(pattern string) (glob, error) {
	trimmed := strings.Trim(pattern, "/")
	g := glob{pattern: pattern}
	if trimmed != "" {
		g.segments = strings.Split(trimmed, "/")
	}
	if len(g.segments) > maxGlobSegments {
		return glob{}, fmt.Errorf("pattern %q has more than %d segments", pattern, maxGlobSegments)
	}
	return g, nil
}

func (g glob) match(segments []string) bool {
	// reach[j] says that the pattern so far matches the first j segments.
	reach := make([]bool, len(segments)+1)
	reach[0] = true
	for _, p := range g.segments {
		if p == "**" {
			for j := range segments {
				reach[j+1] = reach[j+1] || reach[j]
			}
			continue
		}
		for j := len(segments); j > 0; j-- {
			reach[j] = reach[j-1] && matchSegment(p, segments[j-1])
		}
		reach[0] = false
	}
	return reach[len(segments)]
}

// matchSegment matches one segment, in time linear in both for one star and
// never worse than their product.
func matchSegment(pattern, s string) bool {
	var p, i int
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
