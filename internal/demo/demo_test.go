package demo_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/docseek/docseek/internal/demo"
)

type answer struct {
	status int
	header http.Header
	body   []byte
}

func get(t *testing.T, address string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, body}
}

func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(demo.Site())
	t.Cleanup(server.Close)
	return server.URL
}

type sitemap struct {
	Locs     []string `xml:"url>loc"`
	LastMods []string `xml:"url>lastmod"`
	Sitemaps []string `xml:"sitemap>loc"`
}

func readSitemap(t *testing.T, address string) sitemap {
	t.Helper()
	body := get(t, address).body
	if strings.HasSuffix(address, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	var s sitemap
	if err := xml.Unmarshal(body, &s); err != nil {
		t.Fatalf("read %s: %v", address, err)
	}
	return s
}

// listed are the addresses of the pages in the sitemap.
func listed(t *testing.T, base string) []string {
	t.Helper()
	var all []string
	children := readSitemap(t, base+"/sitemap.xml").Sitemaps
	if len(children) != 2 {
		t.Fatalf("the sitemap index has %d children, want 2", len(children))
	}
	for _, child := range children {
		s := readSitemap(t, child)
		if len(s.Locs) == 0 || len(s.LastMods) != len(s.Locs) {
			t.Fatalf("%s has %d addresses and %d dates", child, len(s.Locs), len(s.LastMods))
		}
		all = append(all, s.Locs...)
	}
	return all
}

// document is what the tests look at in a page.
type document struct {
	language  string
	ids       []string
	links     []string
	canonical string
	alternate map[string]string
}

func read(t *testing.T, body []byte) document {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	d := document{alternate: map[string]string{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		if id, ok := attr["id"]; ok {
			d.ids = append(d.ids, id)
		}
		switch {
		case n.Data == "html":
			d.language = attr["lang"]
		case n.Data == "link" && attr["rel"] == "canonical":
			d.canonical = attr["href"]
		case n.Data == "link" && attr["rel"] == "alternate":
			d.alternate[attr["hreflang"]] = attr["href"]
		}
		for _, key := range []string{"href", "src"} {
			if to, ok := attr[key]; ok {
				d.links = append(d.links, to)
			}
		}
	}
	return d
}

func TestPages(t *testing.T) {
	base := serve(t)
	pages := listed(t, base)
	if len(pages) < 25 {
		t.Errorf("%d pages, want at least 25", len(pages))
	}
	documents := make(map[string]document)
	load := func(address string) document {
		if d, ok := documents[address]; ok {
			return d
		}
		a := get(t, address)
		for a.status == http.StatusMovedPermanently {
			a = get(t, base+a.header.Get("Location"))
		}
		if a.status != http.StatusOK {
			t.Errorf("%s is answered with %d", address, a.status)
		}
		d := document{}
		if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			d = read(t, a.body)
		}
		documents[address] = d
		return d
	}
	for _, address := range pages {
		d := load(address)
		path := strings.TrimPrefix(address, base)
		if d.canonical != path {
			t.Errorf("%s has the canonical address %s", path, d.canonical)
		}
		sorted := slices.Sorted(slices.Values(d.ids))
		if unique := slices.Compact(slices.Clone(sorted)); len(unique) != len(sorted) {
			t.Errorf("%s has an id twice: %v", path, sorted)
		}
		if want := map[bool]string{true: "de", false: "en"}[strings.Contains(path, "/de/")]; d.language != want {
			t.Errorf("%s is in %q, want %q", path, d.language, want)
		}
		for language, other := range d.alternate {
			back := load(base + other)
			if back.language != language || back.alternate[d.language] != path {
				t.Errorf("%s and its %s version %s do not point at each other", path, language, other)
			}
		}
		for _, link := range d.links {
			to, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s links to %q: %v", path, link, err)
				continue
			}
			if to.IsAbs() {
				continue // into the invented world
			}
			target, _ := url.Parse(address)
			target = target.ResolveReference(to)
			fragment := target.Fragment
			target.Fragment = ""
			if d := load(target.String()); fragment != "" && !slices.Contains(d.ids, fragment) {
				t.Errorf("%s links to %s, where there is no such anchor", path, link)
			}
		}
	}
	for address := range documents {
		path := strings.TrimPrefix(address, base)
		if strings.HasPrefix(path, "/docs/") && !slices.Contains(pages, address) {
			t.Errorf("%s is linked but not in the sitemap", path)
		}
	}
}

func TestVersionsAndLanguages(t *testing.T) {
	base := serve(t)
	count := map[string]int{}
	for _, address := range listed(t, base) {
		parts := strings.Split(strings.TrimPrefix(address, base), "/")
		count[parts[2]]++
		if parts[3] == "de" {
			count["de"]++
		}
	}
	if count["2.x"] < 20 || count["1.x"] < 3 || count["de"] < 3 || len(count) != 3 {
		t.Errorf("pages by version and language: %v", count)
	}
}

func TestValidators(t *testing.T) {
	base := serve(t)
	for _, path := range []string{"/docs/2.x/", "/docs/2.x/webhooks", "/docs/1.x/webhooks", "/sitemap.xml", "/sitemap-archive.xml.gz", "/robots.txt", "/assets/site.css"} {
		first := get(t, base+path)
		tag, modified := first.header.Get("ETag"), first.header.Get("Last-Modified")
		if first.status != http.StatusOK || !strings.HasPrefix(tag, `"`) || modified == "" || len(first.body) == 0 {
			t.Errorf("%s: status %d, ETag %s, Last-Modified %s, %d bytes", path, first.status, tag, modified, len(first.body))
		}
		for _, header := range [][]string{{"If-None-Match", tag}, {"If-Modified-Since", modified}} {
			if again := get(t, base+path, header...); again.status != http.StatusNotModified || len(again.body) != 0 {
				t.Errorf("%s with %v: status %d, %d bytes", path, header, again.status, len(again.body))
			}
		}
		if again := get(t, base+path, "If-None-Match", `"other"`); again.status != http.StatusOK || !bytes.Equal(again.body, first.body) {
			t.Errorf("%s with another ETag: status %d", path, again.status)
		}
	}
	if other := get(t, serve(t)+"/docs/2.x/").header.Get("ETag"); other != get(t, base+"/docs/2.x/").header.Get("ETag") {
		t.Error("the ETag of a page depends on where it is served")
	}
}

func TestRobots(t *testing.T) {
	base := serve(t)
	want := "User-agent: *\nDisallow: /internal/\n\nSitemap: " + base + "/sitemap.xml\n"
	if got := string(get(t, base+"/robots.txt").body); got != want {
		t.Errorf("robots.txt is\n%s\nwant\n%s", got, want)
	}
	if a := get(t, base+"/internal/status"); a.status != http.StatusOK {
		t.Errorf("the disallowed page is answered with %d", a.status)
	}
}

func TestOtherAddresses(t *testing.T) {
	base := serve(t)
	tests := []struct {
		path     string
		status   int
		location string
	}{
		{"/", http.StatusFound, "/docs/2.x/"},
		{"/docs/latest/webhooks", http.StatusMovedPermanently, "/docs/2.x/webhooks"},
		{"/docs/latest/", http.StatusMovedPermanently, "/docs/2.x/"},
		{"/docs/latest/nothing", http.StatusNotFound, ""},
		{"/docs/2.x", http.StatusMovedPermanently, "/docs/2.x/"},
		{"/docs/2.x/nothing", http.StatusNotFound, ""},
		{"/docs/2.x/webhooks/", http.StatusNotFound, ""},
		{"/assets/page.html", http.StatusNotFound, ""},
		{"/assets/..%2fdemo.go", http.StatusNotFound, ""},
	}
	for _, test := range tests {
		if a := get(t, base+test.path); a.status != test.status || a.header.Get("Location") != test.location {
			t.Errorf("%s is answered with %d %q, want %d %q", test.path, a.status, a.header.Get("Location"), test.status, test.location)
		}
	}
	response, err := http.Post(base+"/docs/2.x/", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST is answered with %d", response.StatusCode)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- demo.Serve(ctx, listener) }()

	source := demo.Source("http://" + listener.Addr().String() + "/")
	if want := fmt.Sprintf("http://%s/sitemap.xml", listener.Addr()); source.Start != want || source.Name != demo.Name {
		t.Errorf("source is %+v, want it to start at %s", source, want)
	}
	if a := get(t, source.Start); a.status != http.StatusOK {
		t.Errorf("%s is answered with %d", source.Start, a.status)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("end: %v", err)
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

// The questions belong to the pages: what answers them exists.
func TestQuestions(t *testing.T) {
	base := serve(t)
	file, err := os.Open("testdata/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asked := map[string]bool{}
	ids := map[string]bool{}
	for d := json.NewDecoder(file); ; {
		var q struct {
			ID, Query, Kind string
			Gold            []string
		}
		if err := d.Decode(&q); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if ids[q.ID] || q.Query == "" || q.Kind != "synthetic" || len(q.Gold) == 0 {
			t.Errorf("question %+v is incomplete or its id taken", q)
		}
		ids[q.ID] = true
		asked[q.Query] = true
		for _, gold := range q.Gold {
			path, anchor, _ := strings.Cut(gold, "#")
			if a := get(t, base+path); a.status != http.StatusOK || !slices.Contains(read(t, a.body).ids, anchor) {
				t.Errorf("%s: there is no %s", q.ID, gold)
			}
		}
	}
	if len(ids) < 25 {
		t.Errorf("%d questions, want at least 25", len(ids))
	}
	if len(demo.Questions()) != 3 {
		t.Errorf("%d questions to show, want 3", len(demo.Questions()))
	}
	for _, q := range demo.Questions() {
		if !asked[q] {
			t.Errorf("%q has no answer in the question file", q)
		}
	}
}
