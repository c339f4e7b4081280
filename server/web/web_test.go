package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// library is a Docs with fixed answers.
type library struct {
	sources []search.SourceStatus
	answer  search.Answer
	err     error
	closed  error // of a list that the caller may not see
	wait    bool  // for the end of the context
	asked   search.Query
}

func (l *library) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	l.asked = q
	if l.wait {
		<-ctx.Done()
		return search.Answer{}, ctx.Err()
	}
	return l.answer, l.err
}

func (l *library) List(context.Context, search.ListQuery) (search.Listing, error) {
	return search.Listing{Sources: l.sources}, l.closed
}

func ago(d time.Duration) *time.Time { return new(now.Add(-d)) }

func twoSources() []search.SourceStatus {
	return []search.SourceStatus{
		{
			Name: "api", Start: "https://api.example.com/sitemap.xml", Pages: 1, Chunks: 4, Generation: 3, State: search.Ready,
			LastSuccess: ago(3 * time.Hour), NextRun: ago(-3 * time.Hour), Versions: []string{"2.0"}, Languages: []string{"en"},
			LastRun: &search.Run{
				Source: "api", Outcome: search.Refused, Started: now.Add(-3 * time.Hour), Seconds: 74.4,
				Pages:    search.PageCounts{New: 1201, Changed: 3, Unchanged: 4, Kept: 5, Removed: 6, Refused: 7},
				Embedded: 9, Error: "12 % of the pages would be removed",
				Reasons:  []search.Reason{{Reason: "not_found", Count: 6, Samples: []string{"https://api.example.com/gone"}}},
				Warnings: []string{"sitemap 2 of 3 could not be read"},
			},
		},
		{
			Name: "guide", Start: "./guide", Pages: 20, Chunks: 80, Generation: 2, State: search.Stale, Reason: "The last successful run was 13h ago.",
			LastSuccess: ago(13 * time.Hour), Versions: []string{"1.0", "2.0"}, Languages: []string{"de", "en"},
		},
	}
}

func oneHit() docseek.Hit {
	return docseek.Hit{
		Rank: 1, URL: "https://api.example.com/limits#burst", Title: "Limits", Path: []string{"Limits", "Rates", "Burst"},
		Source: "api", Version: "2.0", Language: "en", Text: "Before it.\n\nA burst has 20 calls.\n\nAfter it.",
		Matched: docseek.Span{Start: 12, End: 33}, Truncated: true, Score: 0.5,
		IndexedAt: now.Add(-3 * time.Hour), LastModified: ago(72 * time.Hour),
	}
}

// site is a page to ask, with its log.
type site struct {
	*Page
	log bytes.Buffer
}

func newSite(t *testing.T, docs Docs, change func(*Options)) *site {
	t.Helper()
	s := &site{}
	o := Options{Docs: docs, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&s.log, nil))}
	if change != nil {
		change(&o)
	}
	var err error
	if s.Page, err = New(o); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) get(t *testing.T, address string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "0123abcd")
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
	return w.Result()
}

func parse(t *testing.T, r *http.Response) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// read asks for an address that has to be answered with a status.
func (s *site) read(t *testing.T, address string, status int) *goquery.Document {
	t.Helper()
	r := s.get(t, address)
	doc := parse(t, r)
	if r.StatusCode != status {
		t.Fatalf("%s: status %d, want %d:\n%s", address, r.StatusCode, status, doc.Find("main").Text())
	}
	return doc
}

// plain is what is read in a part of a page, white space squeezed.
func plain(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

func wants(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %q", part, got)
		}
	}
}

func TestSearchPage(t *testing.T) {
	docs := &library{sources: twoSources(), answer: search.Answer{
		Mode: search.Lexical, Degraded: true, Reason: "The model is away.", Results: []docseek.Hit{oneHit()}, NextCursor: "c+2", Hint: "Try other words.",
	}}
	doc := newSite(t, docs, nil).read(t, "/?q=+burst+&source=guide&version=9.9&language=en", http.StatusOK)

	if docs.asked.Text != "burst" || !slices.Equal(docs.asked.Filter.Sources, []string{"guide"}) ||
		docs.asked.Filter.Version != "9.9" || docs.asked.Filter.Language != "en" {
		t.Errorf("asked %+v", docs.asked)
	}
	if value, _ := doc.Find("input[name=q]").Attr("value"); value != "burst" {
		t.Errorf("the field has %q", value)
	}
	// Of the chosen source, and what was asked for stays in sight.
	for name, want := range map[string]string{"source": "All sources api *guide", "version": "Any version 1.0 2.0 *9.9", "language": "Any language de *en"} {
		var got []string
		doc.Find("select[name=" + name + "] option").Each(func(_ int, o *goquery.Selection) {
			mark := ""
			if _, chosen := o.Attr("selected"); chosen {
				mark = "*"
			}
			got = append(got, mark+o.Text())
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	wants(t, plain(doc.Find(".summary")), "1 result, best first, and there are more", "without filters")
	wants(t, plain(doc.Find(".notice")), "Searched by words only. The model is away.")
	wants(t, plain(doc.Find("main")), "Try other words.")
	link := doc.Find(".results h2 a")
	if href, _ := link.Attr("href"); href != oneHit().URL || link.Text() != "Burst" || link.AttrOr("rel", "") != "noopener noreferrer nofollow" {
		t.Errorf("the hit's link is %s", link.Text())
	}
	if trail := doc.Find(".where span").Map(func(_ int, s *goquery.Selection) string { return s.Text() }); !slices.Equal(trail, []string{"Limits", "Rates"}) {
		t.Errorf("trail %q", trail)
	}
	if got := doc.Find(".passage mark").Text(); got != "A burst has 20 calls." {
		t.Errorf("highlighted is %q", got)
	}
	wants(t, plain(doc.Find(".facts")), "api", "2.0", "en", "indexed 3 hours ago", "changed 3 days ago", "the section goes on")
	more, err := url.Parse(doc.Find(".more a").AttrOr("href", ""))
	if err != nil || more.Query().Get("cursor") != "c+2" || more.Query().Get("q") != "burst" || more.Query().Get("source") != "guide" {
		t.Errorf("more leads to %v", more)
	}
}

func TestSearchPageWithoutQuery(t *testing.T) {
	docs := &library{sources: twoSources()}
	doc := newSite(t, docs, nil).read(t, "/", http.StatusOK)
	if docs.asked.Text != "" {
		t.Error("nothing was asked and yet searched for")
	}
	wants(t, plain(doc.Find("main")), "21 pages of 2 sources", "1 page, checked 3 hours ago", "stale")
	wants(t, plain(newSite(t, &library{}, nil).read(t, "/", http.StatusOK).Find("main")), "Nothing is indexed yet")

	// A source that is not searched is no filter, and one choice is none.
	docs.sources[1].State = search.Unconfigured
	if n := newSite(t, docs, nil).read(t, "/", http.StatusOK).Find("select").Length(); n != 0 {
		t.Errorf("%d filters for one source", n)
	}
}

func TestFaults(t *testing.T) {
	const secret = "what nobody may read"
	for name, test := range map[string]struct {
		docs   *library
		status int
		want   string
		logged bool
	}{
		"input":    {&library{err: &search.InputError{Message: "there is no source x"}}, http.StatusBadRequest, "there is no source x", false},
		"inside":   {&library{err: errors.New("disk 7 is gone")}, http.StatusInternalServerError, "request id 0123abcd", true},
		"stale":    {&library{err: search.ErrStale}, http.StatusServiceUnavailable, "renewed in between", false},
		"deadline": {&library{wait: true}, http.StatusGatewayTimeout, "no answer within", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, test.docs, func(o *Options) {
				if test.docs.wait {
					o.Deadline = time.Nanosecond
				}
			})
			doc := s.read(t, "/?q="+url.QueryEscape(secret), test.status)
			wants(t, plain(doc.Find("main")), test.want)
			if strings.Contains(doc.Text(), "disk 7") || strings.Contains(s.log.String(), secret) {
				t.Errorf("told too much:\n%s\n%s", plain(doc.Find("main")), &s.log)
			}
			if test.logged != strings.Contains(s.log.String(), "disk 7") {
				t.Errorf("log %q", &s.log)
			}
		})
	}
}

// A caller whose token is not for the documentation is told so.
func TestTokenForSomethingElse(t *testing.T) {
	s := newSite(t, &library{closed: &search.InputError{Message: "the token has not the scope x"}}, nil)
	for _, path := range []string{"/", "/sources", "/?q=word"} {
		wants(t, plain(s.read(t, path, http.StatusForbidden).Find("main")), "the token has not the scope x.")
	}
	if s.log.Len() > 0 {
		t.Errorf("log %q", &s.log)
	}
}

func TestSourcesPage(t *testing.T) {
	var board Board
	docs := &library{sources: twoSources()}
	s := newSite(t, docs, func(o *Options) { o.Progress = board.Progress })
	doc := s.read(t, "/sources", http.StatusOK)
	api := doc.Find("#source-api")
	wants(t, plain(api), "ready", "Pages 1", "Passages 4", "Last checked 3 hours ago", "Next run in 3 hours", "Generation 3",
		"Last run refused 3 hours ago, took 1m14s", "12 % of the pages would be removed", "sitemap 2 of 3 could not be read",
		"not_found 6 pages", "api.example.com/gone")
	if got := plain(api.Find(".counts")); got != "New 1 201 Changed 3 Unchanged 4 Kept 5 Removed 6 Refused 7 Embedded 9" {
		t.Errorf("report %q", got)
	}
	docs.sources[0].Reason = "The last run was refused: 12 % of the pages would be removed"
	if got := s.read(t, "/sources", http.StatusOK).Find("#source-api").Text(); strings.Count(got, "12 % of") != 1 {
		t.Errorf("the same is told twice: %s", got)
	}
	guide := doc.Find("#source-guide")
	wants(t, plain(guide), "stale", "The last successful run was 13h ago.", "./guide", "Next run not planned", "Versions 1.0, 2.0", "Languages de, en")
	if guide.Find(".start a").Length() != 0 {
		t.Error("a folder became a link")
	}
	if doc.Find("progress, noscript, [data-live]").Length() != 0 {
		t.Error("the page is live without a run")
	}

	board.Start("guide", now)
	board.Update("guide", "embedding", 50, 200)
	board.Start("of another caller", now)
	board.Update("api", "crawling", 1, 2) // was not started
	doc = s.read(t, "/sources", http.StatusOK)
	wants(t, plain(doc.Find("#source-guide .running")), "embedding 50 of 200 texts")
	if value := doc.Find("progress").AttrOr("value", ""); value != "25" || doc.Find("progress").Length() != 1 {
		t.Errorf("progress %q of %d runs", value, doc.Find("progress").Length())
	}
	wants(t, doc.Find("noscript").Text(), `http-equiv="refresh" content="5"`)
	if strings.Contains(doc.Text(), "another caller") || doc.Find("#live[data-live]").Length() != 1 {
		t.Error("a run is told of to who does not see its source, or the page is not live")
	}
	wants(t, plain(s.read(t, "/", http.StatusOK).Find(".held")), "indexing")
	board.End("guide")
	if s.read(t, "/sources", http.StatusOK).Find("progress").Length() != 0 {
		t.Error("an ended run is on")
	}
}

func TestToolsPage(t *testing.T) {
	s := newSite(t, &library{}, func(o *Options) {
		o.Tools = func(context.Context) []Tool {
			return []Tool{{
				Name: "find", Title: "Find it", Description: "Finds.",
				InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{
					"query":{"type":"string","description":"What to find"},
					"kinds":{"type":"array","items":{"type":"string"}},
					"limit":{"type":"integer","minimum":1,"maximum":20,"default":5},
					"order":{"type":["string","null"],"enum":["new est","oldest",3],"default":"oldest"},
					"least":{"type":"number","minimum":0.5},
					"odd":true}}`),
			}, {Name: "broken", InputSchema: json.RawMessage(`{"properties":[]}`)}, {Name: "bare"}}
		}
	})
	doc := s.read(t, "/tools", http.StatusOK)
	var rows []string
	doc.Find("#find tbody tr").Each(func(_ int, row *goquery.Selection) {
		rows = append(rows, strings.Join(row.Children().Map(func(_ int, cell *goquery.Selection) string { return plain(cell) }), "|"))
	})
	want := []string{
		"query required|string|What to find", "kinds|string[]|", "limit|integer|1 to 20; default 5",
		"order|string or null|new est, oldest, 3; default oldest", "least|number|at least 0.5",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("arguments\n%q\nwant\n%q", rows, want)
	}
	wants(t, doc.Find("#find pre").Text(), "\n  \"required\": [\n")
	if doc.Find("#broken tbody, #bare tbody").Length() != 0 || doc.Find("#broken pre").Text() == "" {
		t.Error("a schema without properties has arguments, or is not shown")
	}
	wants(t, plain(newSite(t, &library{}, nil).read(t, "/tools", http.StatusOK).Find("main")), "There is no tool")
}

func TestConnectPage(t *testing.T) {
	show := func(change func(*Options)) *goquery.Document {
		return newSite(t, &library{}, change).read(t, "http://docs.internal:8080/connect", http.StatusOK)
	}
	for _, test := range []struct {
		doc    *goquery.Document
		target Target
	}{
		{show(nil), Target{URL: "http://docs.internal:8080/mcp"}},
		{show(func(o *Options) {
			o.Base, o.Token = func(*http.Request) string { return "https://mcp.example.com" }, true
		}), Target{URL: "https://mcp.example.com/mcp", Token: true}},
	} {
		for _, client := range Clients(test.target) {
			section := test.doc.Find("#" + client.Name).Parent()
			if section.Find("pre").Text() != client.Text {
				t.Errorf("%s: %s", client.Name, section.Text())
			}
			wants(t, section.Text(), client.Title, client.File, client.Note)
			if client.File != "" && !json.Valid([]byte(client.Text)) {
				t.Errorf("%s is no JSON: %s", client.Name, client.Text)
			}
		}
	}
}

// Whatever a crawled site, a schema or a configuration says stays text.
func TestHostileText(t *testing.T) {
	const script = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	hit := docseek.Hit{
		URL: "javascript:alert(1)", Title: script, Path: []string{script}, Source: script, Version: script, Language: script,
		Text: script + "\n\n<iframe src=//evil.example></iframe>\n\n[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example) [d](https://ok.example/?a=1&b=\"x)\n\n" +
			"![pixel](https://evil.example/p.png) <javascript:alert(1)> <https://ok.example/?\"onclick=1>\n\n```<b>\n</code></pre>" + script + "\n```\n\n[e]\n\n[e]: javascript:alert(1)",
		Matched: docseek.Span{Start: 3, End: 9000},
	}
	source := search.SourceStatus{
		Name: "x", Start: "javascript:alert(1)", State: script, Reason: script, Versions: []string{script, "y"}, Languages: []string{script},
		LastRun: &search.Run{
			Source: script, Outcome: script, Error: script, Warnings: []string{script},
			Reasons: []search.Reason{{Reason: script, Samples: []string{"javascript:alert(1)", "vbscript:x"}}},
		},
	}
	s := newSite(t, &library{
		sources: []search.SourceStatus{source},
		answer:  search.Answer{Degraded: true, Reason: script, Hint: script, NextCursor: script, Results: []docseek.Hit{hit}},
	}, func(o *Options) {
		o.Tools = func(context.Context) []Tool {
			return []Tool{{Name: script, Title: script, Description: script, InputSchema: json.RawMessage(`{"properties":{"<script>":{"type":"<script>"}}}`)}}
		}
		o.Progress = func() []Running { return []Running{{Source: "x", Stage: script, Done: -5, Total: 2}} }
	})
	for _, address := range []string{"/?q=" + url.QueryEscape(script), "/", "/sources", "/tools", "/connect"} {
		doc := s.read(t, address, http.StatusOK)
		checkHarmless(t, address, doc)
	}
	w := httptest.NewRecorder()
	s.Login(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), http.StatusUnauthorized, script)
	checkHarmless(t, "login", parse(t, w.Result()))
}

func checkHarmless(t *testing.T, where string, doc *goquery.Document) {
	t.Helper()
	if strings.Contains(doc.Text(), "ZgotmplZ") {
		t.Errorf("%s: a value stands where it may not", where)
	}
	doc.Find("*").Each(func(_ int, element *goquery.Selection) {
		node := element.Get(0)
		if slices.Contains([]string{"iframe", "img", "svg", "object", "embed", "base"}, node.Data) {
			t.Errorf("%s: <%s>", where, node.Data)
		}
		if src := element.AttrOr("src", "/assets/site.js"); src != "/assets/site.js" || node.Data == "script" && element.Text() != "" {
			t.Errorf("%s: <%s src=%s>%s", where, node.Data, src, element.Text())
		}
		for _, attribute := range node.Attr {
			if strings.HasPrefix(attribute.Key, "on") || attribute.Key == "style" {
				t.Errorf("%s: %s=%q", where, attribute.Key, attribute.Val)
			}
		}
		href, linked := element.Attr("href")
		if !linked || node.Data == "link" || strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "//") || strings.HasPrefix(href, "#") {
			return
		}
		if u, err := url.Parse(href); err != nil || u.Scheme != "https" || u.Host != "ok.example" {
			t.Errorf("%s: a link to %s", where, href)
		}
		if element.AttrOr("rel", "") != "noopener noreferrer nofollow" {
			t.Errorf("%s: %s without rel", where, href)
		}
	})
}

func TestHeaders(t *testing.T) {
	s := newSite(t, &library{answer: search.Answer{}}, nil)
	for _, address := range []string{"/", "/?q=x", "/sources", "/tools", "/connect"} {
		r := s.get(t, address)
		for name, want := range map[string]string{
			"Content-Type":            "text/html; charset=utf-8",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "same-origin",
			"Cache-Control":           "no-store",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", address, name, got, want)
			}
		}
	}
	for _, name := range []string{"site.css", "site.js", "icon.svg"} {
		first := s.get(t, "/assets/"+name)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/"+name, nil)
		request.Header.Set("If-None-Match", first.Header.Get("ETag"))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, request)
		if first.StatusCode != http.StatusOK || w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s: %d, then %d with %d bytes", name, first.StatusCode, w.Code, w.Body.Len())
		}
	}
	for _, address := range []string{"/assets/", "/assets/../web.go", "/nowhere"} {
		if r := s.get(t, address); r.StatusCode == http.StatusOK {
			t.Errorf("%s is served", address)
		}
	}
}

// The page that asks for a token needs nothing else from the server.
func TestLogin(t *testing.T) {
	s := newSite(t, &library{}, func(o *Options) { o.Protected = true })
	w := httptest.NewRecorder()
	s.Login(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sources", nil), http.StatusUnauthorized, "The token has expired.")
	r := w.Result()
	doc := parse(t, r)
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d", r.StatusCode)
	}
	wants(t, plain(doc.Find("[role=alert]")), "The token has expired.")
	form := doc.Find("form")
	if form.AttrOr("action", "") != "/login" || form.AttrOr("method", "") != "post" || form.Find("input[name=token][type=password]").Length() != 1 {
		t.Error("the form posts something else")
	}
	if doc.Find("label[for=token]").Length() != 1 || doc.Find("script, link[rel=stylesheet], nav").Length() != 0 {
		t.Error("there is no label, or the page fetches what it may not")
	}
	sum := sha256.Sum256([]byte(doc.Find("style").Text()))
	wants(t, r.Header.Get("Content-Security-Policy"), "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "default-src 'none'")

	if out := s.read(t, "/", http.StatusOK).Find("form[action='/logout'][method=post]"); out.Length() != 1 {
		t.Error("a protected page cannot be left")
	}
	if out := newSite(t, &library{}, nil).read(t, "/", http.StatusOK).Find("form[action='/logout']"); out.Length() != 0 {
		t.Error("an open page can be left")
	}
}

func TestNewNeedsItsParts(t *testing.T) {
	for _, o := range []Options{{}, {Docs: &library{}}, {Log: slog.New(slog.DiscardHandler)}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v made a page", o)
		}
	}
}
