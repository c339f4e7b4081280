package crawler

import (
	"net/url"
	"testing"

	"github.com/docseek/docseek"
)

func mustParse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestScope(t *testing.T) {
	for _, tc := range []struct {
		name             string
		start            string
		include, exclude []string
		url, reason      string
	}{
		{"directory of the page", "https://d.example/docs/en/intro", nil, nil, "https://d.example/docs/en/x", ""},
		{"beside it", "https://d.example/docs/en/intro", nil, nil, "https://d.example/docs/fr/x", "out_of_scope"},
		{"a segment, not a prefix", "https://d.example/docs", nil, nil, "https://d.example/docs-old/x", "out_of_scope"},
		{"below a single name", "https://d.example/docs", nil, nil, "https://d.example/docs/a", ""},
		{"the name itself", "https://d.example/docs/", nil, nil, "https://d.example/docs", ""},
		{"a file at the root", "https://d.example/index.html", nil, nil, "https://d.example/other.html", ""},
		{"the whole host", "https://d.example/", nil, nil, "https://d.example/a/b", ""},
		{"another host", "https://d.example/", nil, nil, "https://e.example/", "out_of_scope"},
		{"another port", "https://d.example/", nil, nil, "https://d.example:8443/", "out_of_scope"},
		{"plain site, secure link", "http://d.example/", nil, nil, "https://d.example/x", ""},
		{"secure site, plain link", "https://d.example/", nil, nil, "http://d.example/x", "out_of_scope"}, // folded before
		{"include widens", "https://d.example/docs/", []string{"/docs/**", "/api/**"}, nil, "https://d.example/api/x", ""},
		{"include narrows", "https://d.example/docs/", []string{"/docs/v2/**"}, nil, "https://d.example/docs/v1/x", "out_of_scope"},
		{"exclude wins", "https://d.example/", []string{"/**"}, []string{"/blog/**"}, "https://d.example/blog/2026/x", "excluded"},
		{"exclude by segment", "https://d.example/", nil, []string{"/blog/**"}, "https://d.example/blog-posts/x", ""},
		{"exclude of the folder itself", "https://d.example/", nil, []string{"/blog/**"}, "https://d.example/blog", "excluded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := newScope(docseek.Source{Include: tc.include, Exclude: tc.exclude})
			if err != nil {
				t.Fatal(err)
			}
			start := mustParse(t, tc.start)
			s.anchor(start, startDir(start))
			if reason, rule := s.check(mustParse(t, tc.url)); reason != tc.reason {
				t.Errorf("reason %q by %q, want %q", reason, rule, tc.reason)
			}
		})
	}
}

func TestScopeFoldsAliases(t *testing.T) {
	for _, tc := range []struct{ start, final, url, want string }{
		{"http://d.example/", "https://www.d.example/", "http://d.example/x", "https://www.d.example/x"},
		{"http://d.example/", "https://www.d.example/", "https://d.example/x", "https://d.example/x"},
		{"https://d.example/", "https://d.example/docs", "http://d.example/x", "https://d.example/x"},
		{"http://d.example/", "http://d.example/docs", "https://d.example/x", "https://d.example/x"},
		{"https://old.example/", "https://new.example/", "https://old.example/x", "https://old.example/x"},
		{"http://d.example/", "https://www.d.example/", "http://d.example.evil/x", "http://d.example.evil/x"},
	} {
		s := &scope{}
		s.anchor(mustParse(t, tc.final), "/", mustParse(t, tc.start))
		if got := s.fold(tc.url); got != tc.want {
			t.Errorf("%s → %s: fold(%s) = %s, want %s", tc.start, tc.final, tc.url, got, tc.want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"/**", "/", true},
		{"/**", "/a/b", true},
		{"/", "/", true},
		{"/", "/a", false},
		{"/docs/*", "/docs/a", true},
		{"/docs/*", "/docs/a/", true},
		{"/docs/*", "/docs/a/b", false},
		{"/docs/*.html", "/docs/a.html", true},
		{"/docs/**/api/*", "/docs/api/x", true},
		{"/docs/**/api/*", "/docs/1/2/api/x", true},
		{"/docs/**/api/*", "/docs/1/2/api", false},
		{"/v?/**", "/v2/x", true},
		{"/v?/**", "/v10/x", false},
		{"/**/**/**/x", "/a/b/c/d/e", false},
		{"/*a*b*c*", "/xxaxxbxxcxx", true},
		{"/*a*b*c*", "/xxaxxcxxbxx", false},
		{"/größe/**", "/gr%C3%B6%C3%9Fe/x", true},
	} {
		g, err := newGlob(tc.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.match(pathSegments(mustParse(t, "https://d.example"+tc.path))); got != tc.want {
			t.Errorf("%s on %s: %v", tc.pattern, tc.path, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	fromPath := docseek.Version{FromPath: "/docs/{version}/**", Current: "latest"}
	for _, tc := range []struct {
		version   docseek.Version
		url, want string
	}{
		{docseek.Version{Label: "2.1"}, "https://d.example/x", "2.1"},
		{fromPath, "https://d.example/docs/1.0/x", "1.0"},
		{fromPath, "https://d.example/docs/1.0", "1.0"},
		{fromPath, "https://d.example/docs", "latest"},
		{fromPath, "https://d.example/other/1.0/x", "latest"},
		{docseek.Version{FromPath: "/*/{version}/api", Current: "x"}, "https://d.example/en/v3/api", "v3"},
		{docseek.Version{FromPath: "/*/{version}/api", Current: "x"}, "https://d.example/en/v3/api/more", "x"},
		{docseek.Version{}, "https://d.example/x", ""},
	} {
		if got := versionOf(tc.version, tc.url); got != tc.want {
			t.Errorf("%+v on %s: %q, want %q", tc.version, tc.url, got, tc.want)
		}
	}
}

func TestLanguages(t *testing.T) {
	l := newLanguages([]string{"en", "zh_Hant"})
	for tag, want := range map[string]bool{
		"en": true, "EN-us": true, "": true, "x-default": true, "zh-hant-tw": true, "zh": false, "eng": false, "de": false,
	} {
		if got := l.allow(tag); got != want {
			t.Errorf("%q: %v", tag, got)
		}
	}
}

func TestIsTrap(t *testing.T) {
	for path, want := range map[string]bool{
		"/docs/api/java.base/java/util/concurrent/atomic/AtomicLong.html": false,
		"/docs/docs/next":                                    false,
		"/docs/docs/docs/next":                               true,
		"/a/b/a/b/a/b/a/b":                                   true,
		"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16":            false,
		"/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y": true,
	} {
		if got := isTrap(mustParse(t, "https://d.example"+path), 24); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestSameDomain(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"docs.example.com", "docs.example.com", true},
		{"docs.example.com", "cdn.example.com", true},
		{"docs.example.co.uk", "other.co.uk", false},
		{"one.github.io", "two.github.io", false},
		{"example.com", "example.org", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"10.1.0.1", "10.2.0.1", false},
		{"localhost", "example.com", false},
	} {
		if got := sameDomain(tc.a, tc.b); got != tc.want {
			t.Errorf("%s, %s: %v", tc.a, tc.b, got)
		}
	}
}
