package eval

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/docseek/docseek"
)

// matcher compares addresses. Both sides become a path on the host, written as
// the file that a static site has it in.
type matcher struct {
	base    string // path from the root to where bare paths start, with a slash at its end; or empty
	anchors bool
}

func newMatcher(o Options) (matcher, error) {
	m := matcher{anchors: o.Anchors}
	if o.Base == "" {
		return m, nil
	}
	u, err := url.Parse(o.Base)
	if err != nil {
		return matcher{}, fmt.Errorf("read the base address: %w", err)
	}
	if m.base = strings.Trim(u.Path, "/"); m.base != "" {
		m.base += "/"
	}
	return m, nil
}

// BaseOf is the address that a source's pages stand under: its base_url, or the
// folder of the sitemap or page that it starts from.
func BaseOf(s docseek.Source) string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	u, err := url.Parse(s.Start)
	if err != nil || u.Host == "" {
		return s.Start
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = u.Path[:strings.LastIndexByte(u.Path, '/')+1]
	return u.String()
}

// goldEntry is one right page or section, under the keys that it may have.
type goldEntry []string

// gold reads the entries of a question, each page or section once.
func (m matcher) gold(entries []string) []goldEntry {
	var out []goldEntry
	for _, entry := range entries {
		if m.anchors && !strings.Contains(entry, "#") {
			continue
		}
		keys := goldEntry{m.key(entry)}
		if m.base != "" && !strings.Contains(entry, "://") {
			keys = append(keys, m.key(m.base+strings.TrimLeft(entry, "/")))
		}
		known := slices.ContainsFunc(out, func(g goldEntry) bool { return slices.ContainsFunc(keys, g.has) })
		if !known {
			out = append(out, keys)
		}
	}
	return out
}

func (g goldEntry) has(key string) bool { return slices.Contains(g, key) }

// right says of every distinct result whether it is a gold entry. A gold entry
// counts once.
func (m matcher) right(results []string, gold []goldEntry) []bool {
	var out []bool
	seen := map[string]bool{}
	taken := make([]bool, len(gold))
	for _, result := range results {
		key := m.key(result)
		if seen[key] {
			continue
		}
		seen[key] = true
		at := slices.IndexFunc(gold, func(g goldEntry) bool { return g.has(key) })
		ok := at >= 0 && !taken[at]
		if ok {
			taken[at] = true
		}
		out = append(out, ok)
	}
	return out
}

// key is an address as a path from the root of its host: without scheme, host
// and query, decoded, "/" completed to "/index.html" and "/page" to
// "/page.html". The anchor stays where sections are compared.
func (m matcher) key(address string) string {
	if _, rest, absolute := strings.Cut(address, "://"); absolute {
		_, address, _ = strings.Cut(rest, "/")
	}
	address, anchor, _ := strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	address = strings.TrimLeft(decoded(address), "/")
	switch path.Ext(address) {
	case ".html", ".htm", ".md", ".txt":
	default:
		if address == "" || strings.HasSuffix(address, "/") {
			address += "index"
		}
		address += ".html"
	}
	if m.anchors && anchor != "" {
		return address + "#" + decoded(anchor)
	}
	return address
}

// decoded undoes percent-encoding; what is no valid encoding stays as it is.
func decoded(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
