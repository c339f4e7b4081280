package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/docseek/docseek"
)

// Read gives a page, or a section with the sections below it, as Markdown. What
// is wrong with the query itself, a page that is not in the index included, is
// an [InputError].
func (e *Engine) Read(ctx context.Context, q ReadQuery) (Reading, error) {
	var err error
	if q.MaxChars, err = checkMaxChars(q.MaxChars); err != nil {
		return Reading{}, err
	}
	if strings.TrimSpace(q.URL) == "" {
		return Reading{}, inputErrorf("the URL is empty: pass the address of a page, as a search gives it")
	}
	if len(q.URL) > MaxQueryBytes || len(q.Section) > MaxQueryBytes {
		return Reading{}, inputErrorf("the URL or the section is longer than %d bytes: pass the address of a page, as a search gives it", MaxQueryBytes)
	}
	identity := []string{q.URL, q.Section, q.Source}
	var at cursor
	if q.Cursor != "" {
		if at, err = parseCursor(q.Cursor, readCursor, identity); err != nil {
			return Reading{}, err
		}
	}
	return retryStale(at, func() (Reading, error) { return e.read(ctx, q, at, identity) })
}

func (e *Engine) read(ctx context.Context, q ReadQuery, at cursor, identity []string) (Reading, error) {
	var asked []string
	if q.Source != "" {
		asked = []string{q.Source}
	}
	s, err := e.scope(ctx, at, asked)
	if err != nil {
		return Reading{}, err
	}
	page, source, err := s.lookUp(ctx, q.URL)
	if err != nil {
		return Reading{}, err
	}
	part, err := partOf(page, cmp.Or(strings.TrimSpace(q.Section), anchorOf(q.URL)))
	if err != nil {
		return Reading{}, err
	}
	from := part.from
	if at.kind != 0 {
		from = place{at.offset, int(at.plan)}
	}
	r := Reading{
		URL: docseek.Link(page.URL, part.anchor), Title: clip(page.Title, maxTitle), Path: clipPath(part.path),
		Sections: sectionLinks(part.outline, q.MaxChars/sectionShare),
	}
	if at.kind != 0 {
		r.Sections = []SectionLink{}
	}
	next := func(p place) string {
		return cursor{kind: readCursor, key: s.reader.Key(), offset: p.chunk, plan: uint64(p.offset)}.encode(identity)
	}
	shell := r
	shell.NextCursor = next(part.to)
	frame, err := encodedChars(shell)
	if err != nil {
		return Reading{}, err
	}
	const slack = 8 // a longer cursor
	a := assembly{reader: s.reader, source: source, page: page, part: part, room: q.MaxChars - frame - slack}
	end, err := a.run(ctx, from)
	if err != nil {
		return Reading{}, err
	}
	r.Text = strings.TrimSpace(a.text.String())
	if end.before(part.to) {
		if end == from {
			return Reading{}, inputErrorf("max_chars is too small for this page: ask for %d or more", min(MaxMaxChars, 2*q.MaxChars))
		}
		r.Truncated, r.NextCursor = true, next(end)
	}
	return r, nil
}

// place is a byte in the body of a page's chunk.
type place struct{ chunk, offset int }

func (p place) before(o place) bool {
	return p.chunk < o.chunk || p.chunk == o.chunk && p.offset < o.offset
}

// part is what is read of a page.
type part struct {
	anchor   string
	path     []string
	from, to place
	outline  []docseek.Heading
}

// partOf finds a section by its anchor or title, or takes the whole page. A
// section ends where the next one of its level or above begins.
func partOf(page PageRecord, section string) (part, error) {
	whole := part{path: []string{}, to: place{page.Chunks, 0}, outline: page.Outline}
	if section == "" {
		return whole, nil
	}
	i := slices.IndexFunc(page.Outline, func(h docseek.Heading) bool { return h.Anchor == section })
	for _, same := range []func(h docseek.Heading) bool{
		func(h docseek.Heading) bool { return strings.EqualFold(h.Anchor, section) },
		func(h docseek.Heading) bool { return strings.EqualFold(h.Title, section) },
		func(h docseek.Heading) bool { return squash(h.Title) == squash(section) && squash(section) != "" },
	} {
		if i < 0 {
			i = slices.IndexFunc(page.Outline, same)
		}
	}
	if i < 0 {
		return part{}, missingSection(page, section)
	}
	heading := page.Outline[i]
	end := i + 1
	for end < len(page.Outline) && page.Outline[end].Level > heading.Level && heading.Level > 0 {
		end++
	}
	p := part{anchor: heading.Anchor, from: place{heading.Chunk, heading.Offset}, to: whole.to, outline: page.Outline[i:end]}
	if end < len(page.Outline) {
		p.to = place{page.Outline[end].Chunk, page.Outline[end].Offset}
	}
	level := heading.Level + 1
	for j := i; j >= 0 && level > 1; j-- {
		if h := page.Outline[j]; h.Level < level && h.Level > 0 {
			p.path = append(p.path, h.Title)
			level = h.Level
		}
	}
	slices.Reverse(p.path)
	return p, nil
}

// squash is a text without what people leave out or spell differently.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\n-_.,:;`'\"()¶#", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

func missingSection(page PageRecord, section string) error {
	var names []string
	for _, h := range nearest(page.Outline, section, func(h docseek.Heading) string { return h.Anchor + " " + h.Title }) {
		if name := cmp.Or(h.Anchor, h.Title); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return inputErrorf("%s has no section %s, nor any other: read the page without it", page.URL, quoteShort(section))
	}
	return inputErrorf("%s has no section %s; the nearest are %s", page.URL, quoteShort(section), enumerate(names))
}

// sectionShare is the part of a reading that its outline may take.
const sectionShare = 3

// sectionLinks are the headings that fit into a number of characters: of all
// levels, or of the upper ones, or the first.
func sectionLinks(outline []docseek.Heading, room int) []SectionLink {
	for deepest := 6; ; deepest-- {
		links, used := []SectionLink{}, 0
		for _, h := range outline {
			if h.Level == 0 || h.Level > deepest && deepest < 6 {
				continue
			}
			link := SectionLink{Anchor: h.Anchor, Title: clip(h.Title, maxPathPart), Level: h.Level}
			used += len(`{"anchor":"","title":"","level":1},`) + jsonChars(link.Anchor) + jsonChars(link.Title)
			if used > room {
				break
			}
			links = append(links, link)
		}
		if used <= room || deepest == 1 {
			return links
		}
	}
}

// assembly makes text from the chunks of a page.
type assembly struct {
	reader Reader
	source string
	page   PageRecord
	part   part
	// room is how many JSON characters the text may have.
	room int
	text strings.Builder
	used int
	// section is that of the chunk that was put last.
	section int
}

// run appends what stands between a place and the end of the part, as far as
// there is room, and returns where it stopped.
func (a *assembly) run(ctx context.Context, from place) (place, error) {
	const window = 32
	to := a.part.to
	for at := from; at.before(to); at = (place{at.chunk + window, 0}) {
		chunks, err := a.reader.Chunks(ctx, a.source, a.page.URL, at.chunk, min(at.chunk+window-1, to.chunk))
		if err != nil {
			return at, fmt.Errorf("read %s: %w", a.page.URL, err)
		}
		for _, c := range chunks {
			start, end := 0, len(c.Body())
			if c.Ordinal == from.chunk {
				start = min(from.offset, end)
			}
			if c.Ordinal == to.chunk {
				end = min(to.offset, end)
			}
			if stop, full := a.chunk(c, start, end); full {
				return stop, nil
			}
		}
	}
	for _, h := range a.part.outline {
		if at := (place{h.Chunk, h.Offset}); !at.before(to) {
			a.putPiece("\n\n"+headingLine(h), "")
		}
	}
	return to, nil
}

// chunk appends the bytes from start to end of a chunk's body, with the
// headings that begin there. It says where it stopped if there was no room.
func (a *assembly) chunk(c Chunk, start, end int) (stop place, full bool) {
	body := c.Body()
	if a.text.Len() == 0 {
		a.put(inside(c.Text[:c.Lead+start]).opening())
		if start > 0 {
			start = end - len(strings.TrimLeft(body[start:end], "\r\n"))
		}
	}
	empty := a.used == 0
	for i, piece := range a.pieces(c, start, end) {
		lead := piece.heading
		switch {
		case empty && i == 0:
		case piece.heading != "":
			lead = "\n\n" + piece.heading
		case piece.start == 0 && c.Section == a.section:
			lead = c.Glue
		case piece.start == 0:
			lead = "\n\n"
		}
		a.section = c.Section
		if kept := a.putPiece(lead, body[piece.start:piece.end]); kept < piece.end-piece.start {
			return place{c.Ordinal, piece.start + kept}, true
		}
	}
	return place{}, false
}

// piece is a part of a chunk's body, and the heading lines that belong before it.
type piece struct {
	start, end int
	heading    string
}

// pieces splits the bytes from start to end of a chunk's body at the headings
// of the part that begin there.
func (a *assembly) pieces(c Chunk, start, end int) []piece {
	body := c.Body()
	pieces := []piece{{start: start, end: end}}
	for _, h := range a.part.outline {
		if h.Chunk != c.Ordinal || h.Offset < start || h.Offset >= end {
			continue
		}
		line := headingLine(h)
		if strings.HasPrefix(body[h.Offset:], strings.TrimSpace(line)) {
			line = "" // it was joined with the section before it, heading and all
		}
		if last := &pieces[len(pieces)-1]; h.Offset == last.start {
			last.heading += line
		} else {
			last.end = h.Offset
			pieces = append(pieces, piece{start: h.Offset, end: end, heading: line})
		}
	}
	return pieces
}

// headingLine is a heading as Markdown, with the blank line behind it.
func headingLine(h docseek.Heading) string {
	return strings.Repeat("#", min(max(h.Level, 1), 6)) + " " + strings.Join(strings.Fields(h.Title), " ") + "\n\n"
}

func (a *assembly) put(s string) {
	a.text.WriteString(s)
	a.used += jsonChars(s)
}

// putPiece appends a piece behind its lead and returns how many bytes of it
// found room. A fence that has to stop is closed.
func (a *assembly) putPiece(lead, text string) int {
	const reserve = 16 // for closing a fence
	c := inside(a.text.String())
	left := a.room - a.used - jsonChars(lead) - reserve
	if jsonChars(text) <= left {
		a.put(lead + text)
		return len(text)
	}
	kept := 0
	if left > 0 {
		_, kept = shorten(c.opening()+text, left+jsonChars(c.opening()))
		kept = max(0, kept-len(c.opening()))
	}
	if kept > 0 {
		a.put(lead + text[:kept])
	}
	a.put(inside(a.text.String()).closing())
	return kept
}

// lookUp finds the page that an address means.
func (s scope) lookUp(ctx context.Context, address string) (PageRecord, string, error) {
	addresses := s.addresses(address)
	for _, candidate := range addresses {
		for _, source := range s.sources {
			page, err := s.reader.Page(ctx, source.Source.Name, candidate)
			if err == nil {
				return page, source.Source.Name, nil
			}
			if !errors.Is(err, ErrNotFound) {
				return page, "", fmt.Errorf("look up %s: %w", candidate, err)
			}
		}
	}
	return PageRecord{}, "", s.missingPage(ctx, address)
}

// addresses are the URLs that may be meant by one: without its fragment, with
// or without a slash at the end, a file name, a query; under each source when
// it is a path.
func (s scope) addresses(raw string) []string {
	raw = strings.TrimSpace(raw)
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	bases := []string{raw}
	switch {
	case strings.HasPrefix(raw, "/"):
		bases = nil
		for _, source := range s.sources {
			if base, err := url.Parse(cmp.Or(source.Source.BaseURL, source.Source.Start)); err == nil && base.Host != "" {
				bases = append(bases, base.Scheme+"://"+base.Host+raw)
			}
		}
	case !strings.Contains(raw, "://"):
		bases = []string{"https://" + raw, "http://" + raw}
	}
	var all []string
	add := func(u string) {
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	for _, base := range bases {
		add(base)
		u, err := url.Parse(base)
		if err != nil {
			continue
		}
		u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
		add(u.String())
		for _, query := range []string{u.RawQuery, ""} {
			u.RawQuery = query
			p, raw := u.Path, u.RawPath
			stem := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "index.html"), "/") }
			for _, end := range []string{"", "/", "/index.html", ".html"} {
				u.Path = stem(p) + end
				if raw != "" {
					u.RawPath = stem(raw) + end
				}
				add(u.String())
			}
			if bare, found := strings.CutSuffix(p, ".html"); found {
				u.Path, u.RawPath = bare, ""
				add(u.String())
			}
			u.Path, u.RawPath = p, raw
		}
	}
	return all
}

// anchorOf is the fragment of an address, decoded.
func anchorOf(address string) string {
	_, fragment, _ := strings.Cut(strings.TrimSpace(address), "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		return decoded
	}
	return fragment
}

// missingPage names the pages nearest to an address that is not in the index.
func (s scope) missingPage(ctx context.Context, address string) error {
	const (
		most    = 500 // pages that are looked at
		deepest = 16  // segments of the path, from which the search goes up
	)
	var urls []string
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		u = &url.URL{Path: "/"}
	}
	segments := strings.Split(u.Path, "/")
	for dir := strings.Join(segments[:min(len(segments), deepest)], "/"); len(urls) == 0; dir = path.Dir(dir) {
		for _, source := range s.sources {
			if len(urls) >= most {
				break
			}
			pages, err := s.reader.Pages(ctx, source.Source.Name, dir, "", most-len(urls))
			if err != nil {
				return fmt.Errorf("look for pages near %s: %w", address, err)
			}
			for _, page := range pages {
				urls = append(urls, page.URL)
			}
		}
		if dir == "/" || dir == "." || dir == "" {
			break
		}
	}
	near := nearest(urls, address, func(u string) string { return u })
	if len(near) == 0 {
		return inputErrorf("%s is not in the index, and nothing near it is: %s", quoteShort(address), s.known())
	}
	return inputErrorf("%s is not in the index; the nearest pages are %s", quoteShort(address), strings.Join(near, ", "))
}

// nearest are the few items whose names share most with a name, best first.
func nearest[T any](items []T, name string, nameOf func(T) string) []T {
	const most = 5
	want := trigrams(name)
	type rated struct {
		item  T
		score float64
	}
	var all []rated
	for _, item := range items {
		have := trigrams(nameOf(item))
		shared := 0
		for t := range want {
			if have[t] {
				shared++
			}
		}
		if shared > 0 {
			all = append(all, rated{item, float64(shared) / float64(len(want)+len(have)-shared)})
		}
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Compare(b.score, a.score) })
	var near []T
	for _, r := range all[:min(most, len(all))] {
		near = append(near, r.item)
	}
	return near
}

func trigrams(s string) map[string]bool {
	const most = 512
	runes := []rune("  " + strings.ToLower(clip(s, most)) + " ")
	set := map[string]bool{}
	for i := range len(runes) - 2 {
		set[string(runes[i:i+3])] = true
	}
	return set
}
