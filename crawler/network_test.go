package crawler_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/internal/fakesite"
)

// nameServer answers every name with the addresses given, one after the other,
// the last of them for ever; none at all is an unknown name.
func nameServer(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			m.Response, m.Additionals = true, nil
			switch q := m.Questions[0]; {
			case len(answers) == 0:
				m.RCode = dnsmessage.RCodeNameError
			case q.Type == dnsmessage.TypeA:
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(answers[0]).As4()},
				}}
				if len(answers) > 1 {
					answers = answers[1:]
				}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func withName(site *fakesite.Site, host, path string) string {
	u, _ := url.Parse(site.Base)
	return "http://" + net.JoinHostPort(host, u.Port()) + path
}

func TestNameThatChangesItsMind(t *testing.T) {
	site := fakesite.Start(t, "-- /sitemap.xml --\n<urlset><url><loc>/a</loc></url></urlset>\n-- /a --\n<h1>A</h1><p>Page A.</p>\n")
	t.Run("public, then loopback", func(t *testing.T) {
		c := newCrawler(t, func(o *crawler.Options) { o.Resolver = nameServer(t, "93.184.216.34", "127.0.0.1") })
		x := crawl(t, c, docseek.Source{Start: withName(site, "docs.test", "/sitemap.xml")}, nil)
		if x.err == nil || !strings.Contains(x.err.Error(), "private_address") || len(site.Requests()) != 0 {
			t.Errorf("error %v, %d requests", x.err, len(site.Requests()))
		}
	})
	t.Run("private from the start", func(t *testing.T) {
		c := newCrawler(t, func(o *crawler.Options) { o.Resolver = nameServer(t, "127.0.0.1") })
		x := crawl(t, c, docseek.Source{Start: withName(site, "docs.test", "/sitemap.xml")}, nil)
		if x.err != nil || len(x.results) != 1 {
			t.Errorf("error %v, %d results", x.err, len(x.results))
		}
	})
}

func TestProxy(t *testing.T) {
	site := fakesite.Start(t, `
-- /sitemap.xml --
<urlset><url><loc>/a</loc></url><url><loc>/away</loc></url></urlset>
-- /a --
<h1>A</h1><p>Page A.</p>
-- /away status=302 location=http://169.254.169.254/latest/meta-data --
`)
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Host)
		mu.Unlock()
		req, err := http.NewRequestWithContext(r.Context(), r.Method, site.Base+r.URL.RequestURI(), http.NoBody)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("NO_PROXY", "direct.test")

	c := newCrawler(t, func(o *crawler.Options) { o.Resolver = nameServer(t) }) // only the proxy knows names
	x := crawl(t, c, docseek.Source{Start: "http://docs.test/sitemap.xml"}, nil)
	if x.err != nil || x.results["http://docs.test/a"].Fate != crawler.Fetched {
		t.Errorf("error %v, results %v", x.err, x.reasons())
	}
	// A sitemap that leads to where only this machine should get is not asked for.
	if err := site.Set("/sitemap.xml status=302 location=http://10.0.0.1/sitemap.xml", ""); err != nil {
		t.Fatal(err)
	}
	if x := crawl(t, c, docseek.Source{Start: "http://docs.test/sitemap.xml"}, nil); x.err == nil || !strings.Contains(x.err.Error(), "private_address") {
		t.Errorf("a redirect into the private network: %v", x.err)
	}
	mu.Lock()
	if slices.Contains(asked, "10.0.0.1") || slices.Contains(asked, "169.254.169.254") {
		t.Errorf("the proxy was asked for %q", asked)
	}
	mu.Unlock()
	mu.Lock()
	asked = nil
	mu.Unlock()
	if x := crawl(t, c, docseek.Source{Start: "http://direct.test/sitemap.xml"}, nil); x.err == nil || len(asked) != 0 {
		t.Errorf("error %v, the proxy was asked for %q", x.err, asked)
	}
}

func TestHeadersAreNotSentToAnotherOrigin(t *testing.T) {
	site := fakesite.Start(t, `
-- /guide/a.html --
<h1>A</h1><p>Page A.</p><a href=b.html>b</a>
-- /guide/b.html --
<h1>B</h1><p>Page B.</p>
`)
	www, bare := withName(site, "www.docs.test", ""), withName(site, "docs.test", "")
	site.Handle("/start", http.RedirectHandler(www+"/guide/a.html", http.StatusFound))
	c := newCrawler(t, func(o *crawler.Options) { o.Resolver = nameServer(t, "127.0.0.1") })
	x := crawl(t, c, docseek.Source{
		Start: bare + "/start", Include: []string{"/guide/**"}, Headers: map[string]string{"Authorization": "Bearer s3cret", "X-Team": "docs"},
	}, nil)
	if x.err != nil {
		t.Fatal(x.err)
	}
	wantPaths(t, "fetched", x.urls(www, crawler.Fetched, ""), "/guide/a.html", "/guide/b.html")
	for _, r := range site.Requests() {
		home := !strings.HasPrefix(r.Host, "www.")
		if sent := r.Header.Get("Authorization") != "" || r.Header.Get("X-Team") != ""; sent != home {
			t.Errorf("%s%s: the source's headers were sent: %v", r.Host, r.Path, sent)
		}
	}
	if w := x.summary.Warnings; len(w) == 0 || !strings.Contains(w[0], "headers are not sent") || strings.Contains(strings.Join(w, ""), "s3cret") {
		t.Errorf("warnings %q", w)
	}
}

func TestStartThatMovesToItsOtherName(t *testing.T) {
	site := fakesite.Start(t, `
-- /guide/a.html --
<h1>A</h1><p>Page A.</p>
-- /guide/b.html --
<h1>B</h1><p>Page B.</p>
-- /guide/c.html --
<h1>C</h1><p>Page C.</p>
`)
	www, bare := withName(site, "www.docs.test", ""), withName(site, "docs.test", "")
	site.Handle("/", http.RedirectHandler(www+"/guide/a.html", http.StatusMovedPermanently))
	if err := site.Set("/sitemap.xml", "<urlset><url><loc>"+www+"/guide/b.html</loc></url><url><loc>"+bare+"/guide/c.html</loc></url>"+
		"<url><loc>"+withName(site, "other.docs.test", "/guide/d.html")+"</loc></url></urlset>"); err != nil {
		t.Fatal(err)
	}
	c := newCrawler(t, func(o *crawler.Options) { o.Resolver = nameServer(t, "127.0.0.1") })
	x := crawl(t, c, docseek.Source{Start: bare + "/"}, nil)
	if x.err != nil {
		t.Fatal(x.err)
	}
	wantPaths(t, "fetched", x.urls(www, crawler.Fetched, ""), "/guide/a.html", "/guide/b.html", "/guide/c.html")
	if n := x.reasons()["out_of_scope"]; n != 1 {
		t.Errorf("reasons %v", x.reasons())
	}
	for _, r := range site.Requests() {
		if r.Path == "/guide/c.html" && !strings.HasPrefix(r.Host, "www.") {
			t.Errorf("the alias was asked for under %s", r.Host)
		}
	}

	// The sitemap of another host, which leads to neither, is of no use.
	y := crawl(t, c, docseek.Source{Start: withName(site, "third.test", "/sitemap.xml")}, nil)
	if !errors.Is(y.err, crawler.ErrNothing) || !strings.Contains(y.err.Error(), www) {
		t.Errorf("error %v", y.err)
	}
}
