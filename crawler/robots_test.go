package crawler

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
)

func TestRobots(t *testing.T) {
	const grouped = "\ufeffUser-agent: otherbot\n\nUser-Agent: ourbot/2.0\r\nDisallow: /a # not this\r\nAllow: /a/ok\nDisallow: /*.pdf$\n" +
		"Sitemap: https://example.com/s.xml\n\nuser-agent: *\nDisallow: /\nCrawl-delay: 7\n"
	for _, tc := range []struct {
		name, body, token, path string
		allowed                 bool
	}{
		{"prefix", grouped, "ourbot", "/a/x", false},
		{"longest wins", grouped, "OurBot", "/a/ok/1", true},
		{"end anchor", grouped, "ourbot", "/b.pdf", false},
		{"end anchor is the end", grouped, "ourbot", "/b.pdf?v=1", true},
		{"no other group is added", grouped, "ourbot", "/b", true},
		{"consecutive agents share", grouped, "otherbot", "/a/x", false},
		{"everybody else", grouped, "unknownbot", "/b", false},
		{"a token is not a prefix", grouped, "our", "/b", false},
		{"robots.txt itself", grouped, "unknownbot", "/robots.txt", true},
		{"nothing", "", "ourbot", "/x", true},
		{"empty disallow", "User-agent: *\nDisallow:\n", "ourbot", "/x", true},
		{"allow before disallow of the same length", "User-agent: *\nDisallow: /x\nAllow: /x\n", "ourbot", "/x", true},
		{"star in the middle", "User-agent: *\nDisallow: /a*/z\n", "ourbot", "/a/b/c/z/1", false},
		{"star takes nothing", "User-agent: *\nDisallow: /a*z\n", "ourbot", "/az", false},
		{"anchored after a star", "User-agent: *\nDisallow: /*z$\n", "ourbot", "/zaz", false},
		{"parts do not overlap", "User-agent: *\nDisallow: /*aba*ba$\n", "ourbot", "/aba", true},
		{"a trailing star is none", "User-agent: *\nDisallow: /a*\n", "ourbot", "/abc", false},
		{"matched from the start", "User-agent: *\nDisallow: /private\n", "ourbot", "/not/private", true},
		{"without a slash", "User-agent: *\nDisallow: private\n", "ourbot", "/private/x", false},
		{"encoded in the rule", "User-agent: *\nDisallow: /%7Ejoe/\n", "ourbot", "/~joe/x", false},
		{"raw in the rule", "User-agent: *\nDisallow: /ü\n", "ourbot", "/%c3%bc", false},
		{"query", "User-agent: *\nDisallow: /*?print=\n", "ourbot", "/x?print=1", false},
		{"groups of one token are one", "User-agent: ourbot\nDisallow: /a\n\nUser-agent: *\nAllow: /\n\nUser-agent: ourbot\nDisallow: /b\n", "ourbot", "/b", false},
		{"crawl-delay ends the agents", "User-agent: a\nCrawl-delay: 1\nUser-agent: ourbot\nDisallow: /x\n", "a", "/x", true},
		{"rules before any agent", "Disallow: /\nUser-agent: ourbot\nDisallow: /x\n", "ourbot", "/y", true},
		{"other lines do not end a group", "User-agent: ourbot\nSitemap: /s\nFoo: bar\nDisallow: /x\n", "ourbot", "/x", false},
		{"carriage returns", "User-agent: *\rDisallow: /x\r", "ourbot", "/x", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u, err := url.Parse("https://example.com" + tc.path)
			if err != nil {
				t.Fatal(err)
			}
			r := parseRobots([]byte(tc.body), tc.token)
			if allowed, rule := r.allows(u); allowed != tc.allowed {
				t.Errorf("allowed is %v by %q", allowed, rule)
			}
		})
	}
	r := parseRobots([]byte(grouped), "ourbot")
	if r.delay != 0 || len(r.sitemaps) != 1 || r.sitemaps[0] != "https://example.com/s.xml" {
		t.Errorf("delay %v, sitemaps %q", r.delay, r.sitemaps)
	}
	if r := parseRobots([]byte(grouped), "unknownbot"); r.delay != 7*time.Second {
		t.Errorf("delay %v", r.delay)
	}
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: docseek\nDisallow: /*a*$\nAllow: /b%4", "/ab")
	f.Add("user-agent:*\ncrawl-delay: 1e999\ncrawl-delay: NaN\nallow:*", "/%")
	f.Fuzz(func(t *testing.T, body, path string) {
		r := parseRobots([]byte(body), productName)
		if r.delay < 0 || r.delay > 24*time.Hour {
			t.Fatalf("delay %v", r.delay)
		}
		u := &url.URL{Scheme: "https", Host: "example.com", Path: "/" + path}
		if allowed, rule := r.allows(u); !allowed && !strings.HasPrefix(rule, "Disallow: ") {
			t.Fatalf("refused by %q", rule)
		}
	})
}

// A robots.txt that redirects to nowhere holds the crawl, and says what is wrong.
func TestRobotsRedirects(t *testing.T) {
	for location, want := range map[string]string{"/robots.txt": "redirect_limit", "mailto:a@b": "bad_redirect"} {
		site := httptest.NewServer(http.RedirectHandler(location, http.StatusFound))
		defer site.Close()
		c, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Crawl(t.Context(), docseek.Source{Start: site.URL}, nil, func(context.Context, Result) error { return nil })
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %s", location, err, want)
		}
	}
}
