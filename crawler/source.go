package crawler

import (
	"net/url"
	"strings"

	"github.com/docseek/docseek"
)

// languages are the BCP 47 tags that a source is limited to, in lower case.
type languages []string

func newLanguages(tags []string) languages {
	var l languages
	for _, t := range tags {
		l = append(l, normalTag(t))
	}
	return l
}

func normalTag(tag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-")
}

func (l languages) all() bool { return len(l) == 0 }

// allow reports whether pages of a language are wanted: "en" allows "en-us"
// (RFC 4647 §3.3.1). A page that names no language is wanted.
func (l languages) allow(tag string) bool {
	tag = normalTag(tag)
	if l.all() || tag == "" || tag == "x-default" {
		return true
	}
	for _, want := range l {
		if tag == want || strings.HasPrefix(tag, want+"-") {
			return true
		}
	}
	return false
}

// versionOf is the version of the product that a page documents by the source's
// configuration; empty if it does not tell.
func versionOf(v docseek.Version, canonical string) string {
	if v.Label != "" || v.FromPath == "" {
		return v.Label
	}
	u, err := url.Parse(canonical)
	if err != nil {
		return v.Current
	}
	segments := pathSegments(u)
	pattern := strings.Split(strings.Trim(v.FromPath, "/"), "/")
	for i, p := range pattern {
		if p != "{version}" {
			continue
		}
		if i < len(segments) {
			g := glob{segments: append([]string(nil), pattern...)}
			g.segments[i] = "*"
			if g.match(segments) {
				return segments[i]
			}
		}
		break
	}
	return v.Current
}
