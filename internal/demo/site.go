package demo

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"
)

// Addresses of the site besides its pages.
const (
	robotsPath     = "/robots.txt"
	sitemapPath    = "/sitemap.xml"
	currentSitemap = "/sitemap-2.x.xml"
	archiveSitemap = "/sitemap-archive.xml.gz"
	latestPrefix   = "/docs/latest/"
	currentPrefix  = "/docs/" + current + "/"
	statusPath     = "/internal/status"
)

// Site is the documentation site as an HTTP handler. It panics if the pages in
// the binary are broken, which the tests rule out.
func Site() http.Handler {
	pages, err := load()
	if err != nil {
		panic(err)
	}
	s := &site{pages: pages, byPath: make(map[string]*page, len(pages))}
	for _, p := range pages {
		s.byPath[p.Path] = p
		if p.Updated.After(s.updated) {
			s.updated = p.Updated
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(currentPrefix, http.StatusFound))
	mux.HandleFunc("GET "+robotsPath, s.robots)
	mux.HandleFunc("GET "+sitemapPath, s.sitemapIndex)
	mux.HandleFunc("GET "+currentSitemap, s.currentSitemap)
	mux.HandleFunc("GET "+archiveSitemap, s.archiveSitemap)
	mux.HandleFunc("GET "+latestPrefix, s.latest)
	mux.HandleFunc("GET "+statusPath, s.status)
	mux.HandleFunc("GET /assets/{name}", s.asset)
	mux.HandleFunc("GET /", s.page)
	return mux
}

type site struct {
	pages   []*page
	byPath  map[string]*page
	updated time.Time // of the newest page
}

// latest redirects to the page in the current version.
func (s *site) latest(w http.ResponseWriter, r *http.Request) {
	s.redirect(w, r, currentPrefix+strings.TrimPrefix(r.URL.Path, latestPrefix))
}

// redirect sends on to a page for good, if there is one.
func (s *site) redirect(w http.ResponseWriter, r *http.Request, path string) {
	p, ok := s.byPath[path]
	if !ok {
		s.notFound(w)
		return
	}
	http.Redirect(w, r, p.Path, http.StatusMovedPermanently)
}

// answer sends a content with its validators, or that it has not changed.
func answer(w http.ResponseWriter, r *http.Request, contentType string, modified time.Time, content []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("ETag", etag(content))
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", modified, bytes.NewReader(content))
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	p, ok := s.byPath[r.URL.Path]
	if !ok {
		s.redirect(w, r, r.URL.Path+"/")
		return
	}
	w.Header().Set("Content-Language", p.Language)
	answer(w, r, "text/html; charset=utf-8", p.Updated, p.html)
}

func (s *site) notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	// A client that has gone does not need the page.
	_, _ = io.WriteString(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Page not found · Tidewater</title><link rel="stylesheet" href="/assets/site.css"></head>
<body><main class="lost"><h1>Page not found</h1><p>There is no page at this address. Start over at the <a href="`+currentPrefix+`">documentation</a>.</p></main></body></html>
`)
}

// status is a page that robots.txt keeps crawlers from.
func (s *site) status(w http.ResponseWriter, r *http.Request) {
	answer(w, r, "text/html; charset=utf-8", s.updated, []byte(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Service status · Tidewater</title><link rel="stylesheet" href="/assets/site.css"></head>
<body><main class="lost"><h1>Service status</h1><p>All systems operational. This page changes by the minute, so it is not for search engines.</p></main></body></html>
`))
}

func (s *site) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	contentType, ok := types[path.Ext(name)]
	content, err := files.ReadFile("assets/" + name)
	if !ok || err != nil {
		s.notFound(w)
		return
	}
	answer(w, r, contentType, s.updated, content)
}

func (s *site) robots(w http.ResponseWriter, r *http.Request) {
	answer(w, r, "text/plain; charset=utf-8", s.updated, fmt.Appendf(nil, "User-agent: *\nDisallow: /internal/\n\nSitemap: %s%s\n", base(r), sitemapPath))
}

// base is the address under which the site is asked for.
func base(r *http.Request) string { return "http://" + r.Host }

type sitemapEntry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod"`
}

type sitemapIndex struct {
	XMLName  xml.Name       `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemapindex"`
	Sitemaps []sitemapEntry `xml:"sitemap"`
}

type sitemap struct {
	XMLName xml.Name       `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	URLs    []sitemapEntry `xml:"url"`
}

func (s *site) sitemapIndex(w http.ResponseWriter, r *http.Request) {
	index := sitemapIndex{}
	for _, child := range []string{currentSitemap, archiveSitemap} {
		index.Sitemaps = append(index.Sitemaps, sitemapEntry{base(r) + child, s.updated.Format(time.DateOnly)})
	}
	s.xml(w, r, index, false)
}

// isCurrent reports whether a page is in the first part of the sitemap: it is of
// the current version and in English.
func isCurrent(p *page) bool { return p.Version == current && p.Language == "en" }

func (s *site) sitemap(r *http.Request, currentPages bool) sitemap {
	var m sitemap
	for _, p := range s.pages {
		if isCurrent(p) == currentPages {
			m.URLs = append(m.URLs, sitemapEntry{base(r) + p.Path, p.Updated.Format(time.DateOnly)})
		}
	}
	return m
}

func (s *site) currentSitemap(w http.ResponseWriter, r *http.Request) {
	s.xml(w, r, s.sitemap(r, true), false)
}

func (s *site) archiveSitemap(w http.ResponseWriter, r *http.Request) {
	s.xml(w, r, s.sitemap(r, false), true)
}

func (s *site) xml(w http.ResponseWriter, r *http.Request, value any, packed bool) {
	body, err := xml.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, "write the sitemap: "+err.Error(), http.StatusInternalServerError)
		return
	}
	body = append([]byte(xml.Header), body...)
	contentType := "application/xml"
	if packed {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // a buffer takes all
		_ = z.Close()
		body, contentType = b.Bytes(), "application/gzip"
	}
	answer(w, r, contentType, s.updated, body)
}
