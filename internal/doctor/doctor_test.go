package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/internal/demo/api"
	"github.com/docseek/docseek/internal/doctor"
	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/rerank"
	"github.com/docseek/docseek/server"
)

// look runs one probe.
func look(t *testing.T, p doctor.Probe) doctor.Check {
	t.Helper()
	report := doctor.Run(t.Context(), []doctor.Probe{p})
	if report.OK != report.Checks[0].OK {
		t.Error("the report does not say what its check does")
	}
	return report.Checks[0]
}

func fine(t *testing.T, c doctor.Check, detail string) {
	t.Helper()
	if !c.OK || !strings.Contains(c.Detail, detail) {
		t.Errorf("%+v, want it fine with %q", c, detail)
	}
}

func broken(t *testing.T, c doctor.Check, detail, remedy string) {
	t.Helper()
	if c.OK || !strings.Contains(c.Detail, detail) || !strings.Contains(c.Remedy, remedy) {
		t.Errorf("%+v, want it broken with %q and the remedy %q", c, detail, remedy)
	}
}

func TestReportKeepsTheOrderAndGoesOn(t *testing.T) {
	probe := func(name string, err error) doctor.Probe {
		return doctor.Probe{Name: name, Look: func(context.Context) (doctor.Finding, error) { return doctor.Finding{Detail: "fine"}, err }}
	}
	report := doctor.Run(t.Context(), []doctor.Probe{
		probe("a", nil), probe("b", errors.New("broken")), probe("c", nil), probe("d", nil), probe("e", nil), probe("f", nil),
	})
	var names []string
	for _, c := range report.Checks {
		names = append(names, c.Name)
	}
	if strings.Join(names, "") != "abcdef" || report.OK || report.Checks[1].OK || !report.Checks[5].OK || report.Checks[1].Detail != "broken" {
		t.Errorf("%+v", report)
	}
}

func TestDataDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	fine(t, look(t, doctor.DataDir(dir)), dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken(t, look(t, doctor.DataDir(file)), "make the data directory", "--data-dir")
}

func TestIndex(t *testing.T) {
	list := func(l search.Listing, err error) doctor.Probe {
		return doctor.Index("the index", func(context.Context) (search.Listing, error) { return l, err })
	}
	fine(t, look(t, list(search.Listing{}, nil)), "no source yet")
	c := look(t, list(search.Listing{Sources: []search.SourceStatus{
		{Name: "docs", State: search.Ready, Pages: 3, Chunks: 9},
		{Name: "old", State: search.Stale, Reason: "last renewed on 2026-01-01", Pages: 1, Chunks: 1},
	}}, nil))
	fine(t, c, "docs: ready, 3 pages, 9 chunks; old: stale, 1 pages, 1 chunks (last renewed on 2026-01-01)")
	if !strings.Contains(c.Remedy, "reindex") {
		t.Errorf("no advice for a stale source: %+v", c)
	}
	broken(t, look(t, list(search.Listing{}, errors.New("connection refused"))), "connection refused", "store")
}

func TestEmbedder(t *testing.T) {
	fine(t, look(t, doctor.Embedder(func(context.Context) (string, int, error) { return "builtin", 384, nil })), "builtin, 384 dimensions")
	broken(t, look(t, doctor.Embedder(func(context.Context) (string, int, error) { return "", 0, errors.New("401") })), "401", "api_key")
}

func TestReranker(t *testing.T) {
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-asked
		case "/rerank":
			_, _ = w.Write([]byte(`[{"index":1,"score":0.1},{"index":0,"score":0.9}]`))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	reranker := func(path string, within time.Duration) doctor.Check {
		client, err := rerank.New(rerank.Options{URL: s.URL + path})
		if err != nil {
			t.Fatal(err)
		}
		return look(t, doctor.Reranker(within, client.Rerank))
	}
	fine(t, reranker("/rerank", time.Minute), "of the 1m0s of a search")
	broken(t, reranker("/other", time.Minute), "it answers 401", "reranker.url")
	broken(t, reranker("/slow", time.Millisecond), "deadline", "timeout")
	close(asked)
}

func TestAccess(t *testing.T) {
	fine(t, look(t, doctor.Access("tokens.yaml", func() error { return nil })), "tokens.yaml is fine")
	broken(t, look(t, doctor.Access("tokens.yaml", func() error { return errors.New("line 3") })), "line 3", "token new")
}

func TestSource(t *testing.T) {
	site := fakesite.Start(t, `
-- /robots.txt --
User-agent: *
Disallow: /private/
Sitemap: {{base}}/sitemap.xml
-- /sitemap.xml --
<urlset><url><loc>{{base}}/guide/</loc></url><url><loc>{{base}}/second</loc></url></urlset>
-- /guide/index.html --
<title>Guide</title><main><h1>Guide</h1><p>How keys are rotated.</p></main>
-- /second --
<h1>Second</h1>
`)
	reader, err := crawler.New(crawler.Options{Version: "test", Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	source := func(start string) doctor.Check {
		return look(t, doctor.Source(reader, docseek.Source{Name: "docs", Start: start}))
	}
	c := source(site.URL("/sitemap.xml"))
	fine(t, c, `found by sitemap; `+site.URL("/guide/")+` gives "Guide" with 1 sections`)
	if c.Name != "source docs" {
		t.Error(c.Name)
	}
	broken(t, source(site.URL("/missing.xml")), "read the start", "")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	broken(t, source(gone.URL+"/sitemap.xml"), "cannot be reached", "HTTPS_PROXY")
}

func TestEndpoint(t *testing.T) {
	endpoint := func(url string) doctor.Check {
		g, err := gateway.New([]gateway.Config{{Name: "api", URL: url, Documents: execute.Read, Explore: true}},
			gateway.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		return look(t, doctor.Endpoint("api", g))
	}
	books, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(books)
	t.Cleanup(s.Close)
	fine(t, endpoint(s.URL), "the schema is there, asked for by introspection")
	s.Close()
	broken(t, endpoint(s.URL), "load the schema", "SDL")
}

// docs is an index without anything in it.
type docs struct{ server.Docs }

func (docs) List(context.Context, search.ListQuery) (search.Listing, error) {
	return search.Listing{}, nil
}

func TestListenAndPublicURL(t *testing.T) {
	mcp, err := server.New(server.Options{Docs: docs{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(mcp.Handler())
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	fine(t, look(t, doctor.Listen(address, s.Client())), "a server answers there")
	fine(t, look(t, doctor.PublicURL(s.URL+"/", s.Client())), "speaks MCP")
	fine(t, look(t, doctor.Server(s.URL+"/", s.Client())), "answers")

	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken(t, look(t, doctor.Listen(free.Addr().String(), &http.Client{Timeout: 200 * time.Millisecond})), "address already in use", "--listen")
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	fine(t, look(t, doctor.Listen(free.Addr().String(), s.Client())), "free")
	broken(t, look(t, doctor.Server("http://"+free.Addr().String(), s.Client())), "healthz", "docseek serve")
	broken(t, look(t, doctor.PublicURL("http://"+free.Addr().String(), s.Client())), "healthz", "proxy")
}

func TestPublicURLBehindAProxy(t *testing.T) {
	answer := func(status int, challenge, body string) *httptest.Server {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				return
			}
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s
	}
	for _, test := range []struct {
		name, challenge, body string
		status                int
		ok                    bool
		detail                string
	}{
		{"token wanted", `Bearer resource_metadata="x"`, "", 401, true, "asks for a token"},
		{"challenge lost", "", "", 401, false, "without a challenge"},
		{"host refused", "", "", 403, false, "403"},
		{"proxy error", "", "", 502, false, "502"},
		{"another site", "", "<html>welcome</html>", 200, false, "no MCP server"},
		{"streamed", "", "event: message\ndata: {\"result\":{\"serverInfo\":{\"name\":\"docseek\"}}}\n\n", 200, true, "speaks MCP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := answer(test.status, test.challenge, test.body)
			c := look(t, doctor.PublicURL(s.URL, s.Client()))
			if c.OK != test.ok || !strings.Contains(c.Detail, test.detail) {
				t.Errorf("%+v", c)
			}
		})
	}
}
