package crawler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Redirects of lists that are not followed.
var (
	errLocation  = errors.New("bad location")
	errRedirects = fmt.Errorf("more than %d", maxRedirects)
)

// list is a document that is read as a stream: a robots.txt, a sitemap, an llms.txt.
type list struct {
	status int
	header http.Header
	body   io.ReadCloser
	// url is where it was found in the end, via the addresses that led there.
	url *url.URL
	via []*url.URL
}

// open asks for a list and follows its redirects; every hop is checked by allow
// (nil: everything goes). It tries again what may be passing.
func (s *session) open(ctx context.Context, client *http.Client, u *url.URL, limit int64,
	allow func(context.Context, *url.URL) error,
) (*list, error) {
	l := &list{url: u}
	for {
		if allow != nil {
			if err := allow(ctx, l.url); err != nil {
				return nil, err
			}
		}
		res, err := s.openOnce(withLimit(ctx, limit), client, l.url)
		if err != nil {
			return nil, err
		}
		location := res.Header.Get("Location")
		if !isRedirect(res.StatusCode) || location == "" {
			l.status, l.header, l.body = res.StatusCode, res.Header, res.Body
			return l, nil
		}
		_ = res.Body.Close()
		next, err := l.url.Parse(location)
		if err != nil || next.Host == "" || next.Scheme != "http" && next.Scheme != "https" {
			return nil, fmt.Errorf("follow redirect of %s: %w %q", l.url, errLocation, location)
		}
		next.Fragment, next.User = "", nil
		l.via = append(l.via, l.url)
		if l.url = next; len(l.via) > maxRedirects {
			return nil, fmt.Errorf("follow redirects of %s: %w", u, errRedirects)
		}
	}
}

func (s *session) openOnce(ctx context.Context, client *http.Client, u *url.URL) (*http.Response, error) {
	h := s.hostOf(u)
	for attempt := 1; ; attempt++ {
		if err := h.gate.enter(ctx); err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			h.gate.leave(neutral)
			return nil, fmt.Errorf("request %s: %w", u, err)
		}
		res, err := client.Do(r)
		status, header := 0, http.Header{}
		if err == nil {
			status, header = res.StatusCode, res.Header
		}
		s.settle(ctx, h, status, header, err)
		pause := wantsPause(status, header)
		again := pause || status >= 500 || err != nil && errorReason(err).outcome().again
		if ctx.Err() != nil || !again || attempt >= maxAttempts {
			return res, err
		}
		if err == nil {
			_ = res.Body.Close()
		}
		if !pause {
			if err := sleep(ctx, s.opts.Backoff<<(attempt-1)); err != nil {
				return nil, err
			}
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// robotsOf returns the robots.txt that rules over an address, read once (RFC
// 9309 §2.3): what cannot be found allows everything, what cannot be read
// holds the host.
func (s *session) robotsOf(ctx context.Context, u *url.URL) (*robots, error) {
	h := s.hostOf(u)
	return h.robotsOnce.get(ctx, func(ctx context.Context) *robots {
		r := s.readRobots(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"})
		if delay := min(r.delay, s.opts.MaxCrawlDelay); s.obey && delay > 0 {
			if delay < r.delay {
				s.warnf("%s asks for a crawl delay of %s; %s is kept", u.Host, r.delay, delay)
			}
			h.gate.slow(delay)
		}
		return r
	})
}

func (s *session) readRobots(ctx context.Context, u *url.URL) *robots {
	l, err := s.open(ctx, s.robots, u, maxRobotsBytes, nil)
	if err != nil {
		return &robots{held: "robots_" + errorReason(err).text}
	}
	defer func() { _ = l.body.Close() }()
	switch {
	case l.status == http.StatusOK:
		body, err := io.ReadAll(l.body)
		if errors.Is(err, errTooLarge) {
			// The last line may be cut in the middle: it says something else then.
			body = body[:max(bytes.LastIndexByte(body, '\n'), 0)]
		} else if err != nil {
			return &robots{held: "robots_" + errorReason(err).text}
		}
		return parseRobots(body, productName)
	case l.status >= 500, l.status == http.StatusTooManyRequests:
		return &robots{held: fmt.Sprintf("robots_http_%d", l.status)}
	default:
		return &robots{}
	}
}

// mayFetch reports why robots.txt keeps an address from being fetched (the zero
// outcome if it does not), and by which rule.
func (s *session) mayFetch(ctx context.Context, u *url.URL) (why outcome, rule string, err error) {
	if !s.obey {
		return outcome{}, "robots are ignored", nil
	}
	r, err := s.robotsOf(ctx, u)
	if err != nil {
		return outcome{}, "", err
	}
	if r.held != "" {
		return outcome{fate: Unreachable, reason: r.held}, "", nil
	}
	allowed, rule := r.allows(u)
	if !allowed {
		return outcome{fate: Refused, reason: "robots"}, rule, nil
	}
	return outcome{}, rule, nil
}
