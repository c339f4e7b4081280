package crawler

import (
	"bufio"
	"bytes"
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of a robots.txt (RFC 9309 §2.5 asks for at least 500 KiB).
const (
	maxRobotsBytes    = 512 << 10
	maxRobotsSitemaps = 100
)

// robots is what a host's robots.txt says to one product token (RFC 9309).
type robots struct {
	rules []robotsRule
	// delay is the Crawl-delay of the group that applies.
	delay time.Duration
	// sitemaps stand outside the groups.
	sitemaps []string
	// held is why nothing may be fetched from the host in this run: its
	// robots.txt could not be read (§2.3.1.4). Empty when it could.
	held string
}

type robotsRule struct {
	pattern string // as written, for people
	parts   []string
	anchor  bool // the pattern ends in "$"
	allow   bool
	weight  int
}

// parseRobots reads a robots.txt for one product token. The groups that name
// the token are combined; those of "*" count only if there are none (§2.2.1).
func parseRobots(body []byte, token string) *robots {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	var own, all robots
	var sitemaps []string
	named := false
	// The groups that the lines being read belong to.
	var inOwn, inAll, rulesSeen bool
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(make([]byte, 0, 4096), maxRobotsBytes+1)
	lines.Split(scanAnyLine)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		key = strings.ToLower(strings.TrimSpace(key))
		switch key {
		case "user-agent", "useragent":
			if rulesSeen {
				inOwn, inAll, rulesSeen = false, false, false
			}
			switch {
			case value == "*" || strings.HasPrefix(value, "* "):
				inAll = true
			case strings.EqualFold(productToken(value), token):
				inOwn, named = true, true
			}
		case "allow", "disallow":
			rulesSeen = true
			if rule, ok := newRobotsRule(value, key == "allow"); ok {
				if inOwn {
					own.rules = append(own.rules, rule)
				}
				if inAll {
					all.rules = append(all.rules, rule)
				}
			}
		case "crawl-delay":
			rulesSeen = true
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil || seconds <= 0 || seconds != seconds {
				continue
			}
			delay := time.Duration(min(seconds, 24*3600) * float64(time.Second))
			if inOwn {
				own.delay = delay
			}
			if inAll {
				all.delay = delay
			}
		case "sitemap":
			if len(sitemaps) < maxRobotsSitemaps && value != "" {
				sitemaps = append(sitemaps, value)
			}
		}
	}
	r := &all
	if named {
		r = &own
	}
	r.sitemaps = sitemaps
	return r
}

// scanAnyLine splits at CR, LF and CRLF (§2.2: EOL).
func scanAnyLine(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// productToken is the leading part of a user-agent line's value that may stand
// in a product token.
func productToken(value string) string {
	end := strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
	if end < 0 {
		return value
	}
	return value[:end]
}

func newRobotsRule(pattern string, allow bool) (robotsRule, bool) {
	if pattern == "" {
		return robotsRule{}, false // "Disallow:" disallows nothing
	}
	r := robotsRule{pattern: pattern, allow: allow}
	normal := robotsOctets(pattern)
	if rest, ok := strings.CutSuffix(normal, "$"); ok {
		normal, r.anchor = rest, true
	}
	if !strings.HasPrefix(normal, "/") && !strings.HasPrefix(normal, "*") {
		normal = "/" + normal
	}
	r.weight = len(normal)
	if r.anchor {
		r.weight++
	}
	r.parts = strings.Split(normal, "*")
	return r, true
}

// match reports whether the rule's pattern matches from the start of the path.
// Each part is taken at its first place after the part before, which finds a
// match if there is one, in time linear in the path.
func (r robotsRule) match(path string) bool {
	rest, ok := strings.CutPrefix(path, r.parts[0])
	if !ok {
		return false
	}
	if len(r.parts) == 1 {
		return !r.anchor || rest == ""
	}
	last := len(r.parts) - 1
	for _, part := range r.parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	if r.anchor {
		return strings.HasSuffix(rest, r.parts[last])
	}
	return strings.Contains(rest, r.parts[last])
}

// allows reports whether the URL may be fetched, and the rule that says so:
// the longest that matches, an allow before a disallow of the same length (§2.2.2).
func (r *robots) allows(u *url.URL) (allowed bool, rule string) {
	path := cmp.Or(u.EscapedPath(), "/")
	if path == "/robots.txt" {
		return true, ""
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	path = robotsOctets(path)
	var best robotsRule
	for _, rule := range r.rules {
		if (rule.weight > best.weight || rule.weight == best.weight && rule.allow) && rule.match(path) {
			best = rule
		}
	}
	switch {
	case best.weight == 0:
		return true, "no rule matches"
	case best.allow:
		return true, "Allow: " + best.pattern
	default:
		return false, "Disallow: " + best.pattern
	}
}

// robotsOctets brings paths and patterns to one form: what is not ASCII is
// percent-encoded, what need not be encoded is not (§2.2.2).
func robotsOctets(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		if c := s[i]; c >= 0x80 {
			b.WriteString(percent(c))
		} else {
			b.WriteByte(c)
		}
	}
	return normalizeEscapes(b.String())
}
