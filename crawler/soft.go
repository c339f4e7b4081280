package crawler

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/docseek/docseek"
)

// shortPage is how many characters a page that is only an error message has at most.
const shortPage = 400

// messageStart is within how many bytes such a page comes to the point.
const messageStart = 160

// errorText returns the reason when a text is nothing but the message of a
// limiter or a guard that came in place of a page. A page that talks about such
// messages is longer than one.
func errorText(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if text == "" || len(text) > shortPage {
		return ""
	}
	text = text[:min(len(text), messageStart)]
	for _, m := range []struct {
		reason  string
		phrases []string
	}{
		{ReasonRateLimited, []string{
			"rate limit exceeded", "too many requests", "rate limited", "you have been rate limited",
			"request limit exceeded", "slow down and try again",
		}},
		{"access_denied", []string{
			"access denied", "access to this page has been denied", "403 forbidden", "you don't have permission to access",
			"you do not have permission to access", "request blocked", "you have been blocked", "verify you are human",
			"checking your browser before", "attention required! | cloudflare", "enable javascript and cookies to continue",
		}},
	} {
		for _, p := range m.phrases {
			if strings.Contains(text, p) {
				return m.reason
			}
		}
	}
	return ""
}

// leadsToLogin reports whether a redirect from one address to another asks the
// visitor to identify himself: by the host, by the last name of the path, or by
// a path about authentication that is told where to lead back to.
func leadsToLogin(from, to *url.URL) bool {
	if from.Host != to.Host {
		label, _, _ := strings.Cut(strings.ToLower(to.Hostname()), ".")
		switch label {
		case "login", "signin", "auth", "accounts", "sso", "idp":
			return true
		}
	}
	segments := pathSegments(to)
	if len(segments) == 0 || slices.Equal(segments, pathSegments(from)) {
		return false
	}
	last := strings.ToLower(segments[len(segments)-1])
	switch strings.TrimSuffix(last, path.Ext(last)) {
	case "login", "log-in", "log_in", "signin", "sign-in", "sign_in", "wp-login":
		return true
	case "auth", "authorize", "oauth", "oauth2", "sso", "saml", "saml2", "session", "sessions":
		return leadsBack(to.Query())
	default:
		return false
	}
}

func leadsBack(query url.Values) bool {
	for name := range query {
		switch strings.ToLower(name) {
		case "next", "return", "returnto", "return_to", "returnurl", "redirect", "redirect_to", "redirect_uri", "continue",
			"service", "samlrequest", "callbackurl", "destination", "goto":
			return true
		}
	}
	return false
}

// missingPage is what a host answers for an address that cannot exist.
type missingPage struct {
	// redirect is the canonical address it led to, if it led to one.
	redirect string
	// title and words are of the page it answered with 200.
	title string
	words map[string]int
	total int
}

// resemblance is from when on two pages' words are taken for the same template:
// the share of words in common (Dice coefficient over the counted words).
const resemblance = 0.95

func newMissingPage(doc docseek.Document, u *url.URL) *missingPage {
	m := &missingPage{title: withoutPath(doc.Title, u)}
	m.words, m.total = countWords(doc, u)
	return m
}

// matches reports whether a document is the host's page for missing pages.
func (m *missingPage) matches(doc docseek.Document, u *url.URL) bool {
	if m == nil || m.words == nil || withoutPath(doc.Title, u) != m.title {
		return false
	}
	words, total := countWords(doc, u)
	if total+m.total == 0 {
		return true
	}
	common := 0
	for w, n := range words {
		common += min(n, m.words[w])
	}
	return 2*float64(common) >= resemblance*float64(total+m.total)
}

// countWords counts a document's words without those of its own address, which
// an error page likes to repeat.
func countWords(doc docseek.Document, u *url.URL) (map[string]int, int) {
	words, total := map[string]int{}, 0
	own := pathWords(u)
	for _, s := range doc.Sections {
		for _, text := range []string{s.Title, s.Markdown} {
			for w := range splitWords(text) {
				if !own[w] {
					words[w]++
					total++
				}
			}
		}
	}
	return words, total
}

func withoutPath(text string, u *url.URL) string {
	own := pathWords(u)
	var kept []string
	for w := range splitWords(text) {
		if !own[w] {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

func pathWords(u *url.URL) map[string]bool {
	own := map[string]bool{}
	for w := range splitWords(u.Path + " " + u.RawQuery + " " + u.Host + " " + u.Scheme) {
		own[w] = true
	}
	return own
}

func splitWords(text string) func(func(string) bool) {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
