package demo

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed pages assets
var files embed.FS

// current is the version that "latest" stands for.
const current = "2.x"

// page is a page of the site. Its file says where it belongs:
// pages/2.x/de/webhooks.md is /docs/2.x/de/webhooks.
type page struct {
	Path           string
	Version        string
	Language       string // en or de
	Slug           string // the last segment; empty for the first page of a tree
	Title, Summary string
	Group          string // of the navigation
	order          int
	Updated        time.Time
	Content        template.HTML
	Headings       []heading
	html           []byte
}

// Home is the address of a page's version and language, with a slash at the end.
func (p *page) Home() string { return strings.TrimSuffix(p.Path, p.Slug) }

// load reads and renders all pages, in the order of their navigation.
func load() ([]*page, error) {
	var pages []*page
	err := fs.WalkDir(files, "pages", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := parse(strings.TrimPrefix(name, "pages/"), string(source))
		if err != nil {
			return fmt.Errorf("page %s: %w", name, err)
		}
		pages = append(pages, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the demo site: %w", err)
	}
	slices.SortFunc(pages, func(a, b *page) int {
		return cmp.Or(-cmp.Compare(a.Version, b.Version), -cmp.Compare(a.Language, b.Language), cmp.Compare(a.order, b.order), cmp.Compare(a.Path, b.Path))
	})
	layout, err := template.ParseFS(files, "assets/page.html")
	if err != nil {
		return nil, fmt.Errorf("load the demo site: %w", err)
	}
	for i, p := range pages {
		var b bytes.Buffer
		if err := layout.Execute(&b, newView(p, i, pages)); err != nil {
			return nil, fmt.Errorf("page %s: %w", p.Path, err)
		}
		p.html = b.Bytes()
	}
	return pages, nil
}

// etag is a strong validator of a content.
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// parse reads a page: lines of "key: value", a line of dashes, Markdown.
func parse(name, source string) (*page, error) {
	front, body, ok := strings.Cut(source, "\n---\n")
	if !ok {
		return nil, errors.New("no line of dashes behind the front matter")
	}
	dir, base := path.Split(strings.TrimSuffix(name, ".md"))
	if base == "index" {
		base = ""
	}
	p := &page{Path: "/docs/" + dir + base, Slug: base, Language: "en"}
	var deeper string
	p.Version, deeper, _ = strings.Cut(strings.TrimSuffix(dir, "/"), "/")
	if deeper != "" {
		p.Language = deeper
	}
	for line := range strings.SplitSeq(front, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		var err error
		switch key {
		case "title":
			p.Title = value
		case "summary":
			p.Summary = value
		case "group":
			p.Group = value
		case "order":
			p.order, err = strconv.Atoi(value)
		case "updated":
			p.Updated, err = time.Parse(time.DateOnly, value)
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		if err != nil {
			return nil, fmt.Errorf("front matter: %w", err)
		}
	}
	var err error
	p.Content, p.Headings, err = render(body)
	return p, err
}

// view is what the layout shows of a page and of what is around it.
type view struct {
	*page
	Words      words
	Navigation []group
	Languages  []*page // the page in all its languages, if in several
	Previous   *page
	Next       *page
	Old        bool
	Newest     string // the path of the page in the current version
	Versions   []link
}

type group struct {
	Title string
	Pages []*page
}

type link struct{ Title, Path string }

// words are those of the layout.
type words struct {
	Home, OnThisPage, Updated, Previous, Next, Status, Old, Newest, Theme string
}

func wordsOf(language string) words {
	if language == "de" {
		return words{
			Home: "Dokumentation", OnThisPage: "Auf dieser Seite", Updated: "Zuletzt geändert am", Previous: "Zurück", Next: "Weiter",
			Status: "Betriebsstatus", Old: "Diese Seite beschreibt eine ältere Version.", Newest: "Zur aktuellen Version", Theme: "Hell oder dunkel",
		}
	}
	return words{
		Home: "Documentation", OnThisPage: "On this page", Updated: "Last updated on", Previous: "Previous", Next: "Next",
		Status: "Service status", Old: "This page describes an older version.", Newest: "Go to the current version", Theme: "Light or dark",
	}
}

func newView(p *page, i int, pages []*page) view {
	v := view{page: p, Words: wordsOf(p.Language), Old: p.Version != current, Newest: currentPrefix}
	for j, q := range pages {
		if q.Slug == p.Slug && q.Version == p.Version {
			v.Languages = append(v.Languages, q)
		}
		if q.Slug == p.Slug && q.Version == current && q.Language == p.Language {
			v.Newest = q.Path
		}
		if q.Slug == "" && q.Language == "en" {
			v.Versions = append(v.Versions, link{q.Version, q.Path})
		}
		if q.Home() != p.Home() {
			continue
		}
		switch j {
		case i - 1:
			v.Previous = q
		case i + 1:
			v.Next = q
		}
		if n := len(v.Navigation); n == 0 || v.Navigation[n-1].Title != q.Group {
			v.Navigation = append(v.Navigation, group{Title: q.Group})
		}
		last := &v.Navigation[len(v.Navigation)-1]
		last.Pages = append(last.Pages, q)
	}
	if len(v.Languages) == 1 {
		v.Languages = nil
	}
	return v
}
