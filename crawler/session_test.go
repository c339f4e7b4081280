package crawler

import (
	"context"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/fakesite"
)

func TestCrawlDelayIsCapped(t *testing.T) {
	for name, tc := range map[string]struct {
		robots, mode string
		want         time.Duration
	}{
		"ours":         {"User-agent: docseek\nCrawl-delay: 2.5\n", "", 2500 * time.Millisecond},
		"too long":     {"User-agent: *\nCrawl-delay: 600\n", "", 10 * time.Second},
		"somebody's":   {"User-agent: other\nCrawl-delay: 5\n", "", time.Second},
		"less than us": {"User-agent: *\nCrawl-delay: 0.1\n", "", time.Second},
		"ignored":      {"User-agent: *\nCrawl-delay: 5\n", "ignore", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			site := fakesite.Start(t, "-- /robots.txt --\n"+tc.robots)
			u := mustParse(t, site.URL("/a"))
			src := docseek.Source{Start: site.Base, Robots: tc.mode, Rate: docseek.Rate{Delay: time.Second}}
			s := newSession(t.Context(), Options{}.withDefaults(), src, u)
			defer s.close()
			if _, err := s.robotsOf(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if got := s.hostOf(u).gate.delay; got != tc.want {
				t.Errorf("delay %v, want %v", got, tc.want)
			}
			if (len(s.warnings) > 0) != (name == "too long") {
				t.Errorf("warnings %q", s.warnings)
			}
		})
	}
}

func TestRobotsAreReadOnce(t *testing.T) {
	site := fakesite.Start(t, "-- /robots.txt --\nUser-agent: *\nDisallow: /x\n")
	u := mustParse(t, site.URL("/x/y"))
	s := newSession(t.Context(), Options{}.withDefaults(), docseek.Source{Start: site.Base}, u)
	defer s.close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.mayFetch(gone, u); err == nil {
		t.Error("a cancelled question is answered")
	}
	for range 3 {
		if why, rule, err := s.mayFetch(t.Context(), u); err != nil || why.reason != "robots" || rule != "Disallow: /x" {
			t.Errorf("%+v %q %v", why, rule, err)
		}
	}
	if n := site.Count("/robots.txt"); n != 1 {
		t.Errorf("robots.txt was asked for %d times", n)
	}
}
