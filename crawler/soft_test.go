package crawler

import (
	"strings"
	"testing"

	"github.com/docseek/docseek"
)

func TestErrorText(t *testing.T) {
	for text, want := range map[string]string{
		"Rate limit exceeded":                                      ReasonRateLimited,
		"429 Too Many   Requests\nnginx":                           ReasonRateLimited,
		"Access Denied. You don't have permission to access /x":    "access_denied",
		"Just a moment... Checking your browser before accessing.": "access_denied",
		"": "",
		"Rate limits. Each client may ask 60 times a minute; one that asks more often is answered with the status 429 and the header field Retry-After, as every HTTP client should understand: too many requests": "",
		"Too many requests: " + strings.Repeat("the limiter and how to configure it. ", 20):                                                                                                                        "",
	} {
		if got := errorText(text); got != want {
			t.Errorf("%.60q: %q, want %q", text, got, want)
		}
	}
}

func TestLeadsToLogin(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"https://d.example/x", "https://d.example/login", true},
		{"https://d.example/x", "https://d.example/user/Sign_In.php?x=1", true},
		{"https://d.example/x", "https://login.example/x", true},
		{"https://d.example/x", "https://d.example/oauth2/authorize?redirect_uri=x", true},
		{"https://d.example/x", "https://d.example/docs/authorize", false},
		{"https://d.example/auth", "https://d.example/docs/auth", false},
		{"https://d.example/login", "https://d.example/login/", false},
		{"https://d.example/x", "https://d.example/docs/login-options", false},
		{"https://d.example/x", "https://d.example/", false},
		{"https://login.example/x", "https://login.example/y", false},
	} {
		if got := leadsToLogin(mustParse(t, tc.from), mustParse(t, tc.to)); got != tc.want {
			t.Errorf("%s → %s: %v", tc.from, tc.to, got)
		}
	}
}

func TestMissingPage(t *testing.T) {
	doc := func(title, text string) docseek.Document {
		return docseek.Document{Title: title, Sections: []docseek.Section{{Title: title, Markdown: text}}}
	}
	m := newMissingPage(doc("Not found: docseek-abc", "There is no page docseek-abc here. Try the search, or go back to the start."),
		mustParse(t, "https://d.example/docseek-abc"))
	for _, tc := range []struct {
		title, text, url string
		want             bool
	}{
		{"Not found: guide", "There is no page guide here. Try the search, or go back to the start.", "https://d.example/guide", true},
		{"Guide", "There is no page guide here. Try the search, or go back to the start.", "https://d.example/guide", false},
		{"Not found: guide", "A guide to errors of the kind that are named not found, and what to do.", "https://d.example/guide", false},
	} {
		if got := m.matches(doc(tc.title, tc.text), mustParse(t, tc.url)); got != tc.want {
			t.Errorf("%q: %v", tc.text, got)
		}
	}
	var none *missingPage
	if none.matches(doc("x", "y"), mustParse(t, "https://d.example/")) {
		t.Error("a host that knows what is missing has a page for it")
	}
}
