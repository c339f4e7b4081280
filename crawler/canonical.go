package crawler

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURLBytes is the longest URL that is taken for one.
const maxURLBytes = 4096

// Canonical resolves raw against base (which may be empty when raw is absolute)
// and returns the one form under which the address is known: as the WHATWG URL
// standard parses it, with http or https, without user, fragment, default port,
// dot segments, tracking and session parameters, the other parameters sorted by
// name, and percent-encoding only where it is needed. Scheme and host are in
// lower case; the case of the path is kept. Canonical is idempotent.
func Canonical(raw, base string) (string, error) {
	if len(raw) > maxURLBytes || len(base) > maxURLBytes {
		return "", fmt.Errorf("canonical URL: longer than %d bytes", maxURLBytes)
	}
	parser := whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())
	var u *whatwg.Url
	var err error
	if base == "" {
		u, err = parser.Parse(raw)
	} else {
		u, err = parser.ParseRef(base, raw)
	}
	if err != nil {
		return "", fmt.Errorf("canonical URL of %q: %w", raw, err)
	}
	if s := u.Scheme(); s != "http" && s != "https" {
		return "", fmt.Errorf("canonical URL of %q: scheme %q is neither http nor https", raw, s)
	}
	host := u.Hostname()
	if rooted := strings.TrimRight(host, "."); rooted != host {
		// What is left without the dot of the root may be an IPv4 address.
		bare, err := parser.Parse("http://" + rooted)
		if err != nil {
			return "", fmt.Errorf("canonical URL of %q: %w", raw, err)
		}
		host = bare.Hostname()
	}
	if host == "" {
		return "", fmt.Errorf("canonical URL of %q: no host", raw)
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	out := u.Scheme() + "://" + host + canonicalPath(u.Pathname())
	if q := canonicalQuery(u.Query()); q != "" {
		out += "?" + q
	}
	if len(out) > maxURLBytes {
		return "", fmt.Errorf("canonical URL: longer than %d bytes", maxURLBytes)
	}
	// What net/http cannot send is no address for us.
	parsed, err := url.Parse(out)
	if err != nil {
		return "", fmt.Errorf("canonical URL of %q: %w", raw, err)
	}
	if parsed.Host != host || parsed.String() != out {
		return "", errors.New("canonical URL: ambiguous")
	}
	return out, nil
}

func canonicalPath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if k := strings.Index(strings.ToLower(s), ";jsessionid="); k >= 0 {
			s = s[:k]
		}
		segments[i] = escapeRest(normalizeEscapes(s))
	}
	return strings.Join(segments, "/")
}

// escapeRest percent-encodes the characters that WHATWG lets stand in a path and
// RFC 3986 does not, so that net/url writes the path as it stands.
func escapeRest(segment string) string {
	plain := func(c byte) bool { return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@[]%", c) >= 0 }
	var b strings.Builder
	for i := range len(segment) {
		if c := segment[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(percent(c))
		}
	}
	return b.String()
}

func percent(c byte) string {
	const hex = "0123456789ABCDEF"
	return string([]byte{'%', hex[c>>4], hex[c&15]})
}

func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		pair = normalizeEscapes(pair)
		if name, value, _ := strings.Cut(pair, "="); pair == "" || name == "" && value == "" || isTracking(name) {
			continue
		}
		pairs = append(pairs, pair)
	}
	slices.SortStableFunc(pairs, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return cmp.Compare(a, b)
	})
	return strings.Join(pairs, "&")
}

// isTracking tells parameters that say where a visitor came from or which
// session is his, not which page is meant.
func isTracking(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
		"li_fat_id", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsctatracking",
		"mkt_tok", "oly_anon_id", "oly_enc_id", "vero_id", "wickedid", "ref_src", "ref_url",
		"phpsessid", "jsessionid", "aspsessionid":
		return true
	default:
		return strings.HasPrefix(name, "utm_") || strings.HasPrefix(name, "pk_") || strings.HasPrefix(name, "mtm_")
	}
}

// normalizeEscapes decodes the percent-encoded characters that never need it
// (RFC 3986 §2.3) and writes the other encodings in upper case (§6.2.2).
func normalizeEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b.WriteByte(s[i])
			continue
		}
		if c := unhex(s[i+1])<<4 | unhex(s[i+2]); isUnreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	default:
		return c - '0'
	}
}
