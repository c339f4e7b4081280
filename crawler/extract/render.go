package extract

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/docseek/docseek"
)

// blocks collects the blocks of a section, a list item, a quotation.
type blocks struct{ b strings.Builder }

func (o *blocks) add(block string) {
	if strings.TrimSpace(block) == "" {
		return
	}
	if o.b.Len() > 0 {
		o.b.WriteString("\n\n")
	}
	o.b.WriteString(block)
}

func (o *blocks) String() string { return o.b.String() }

// renderer writes the main content as sections of Markdown.
type renderer struct {
	*page
	// top collects the current section; sections start only in it.
	top blocks
	cur docseek.Section
	// resumed says that cur goes on after an entry, and has been added before.
	resumed bool
	path    []level
	// floor is the least level of a heading: inside an entry, below the entry's.
	floor int
	// nested counts the lists and quotations around what is written.
	nested   int
	sections []docseek.Section
	taken    map[string]bool
}

// level is a step of the heading path.
type level struct {
	title string
	level int
}

const (
	// maxSections bounds the sections of a page.
	maxSections = 50000
	// maxNested is how deep lists and quotations are indented; what nests deeper stays at that depth.
	maxNested = 12
)

func (p *page) render(roots []*html.Node) []docseek.Section {
	r := &renderer{page: p, taken: map[string]bool{}}
	for _, n := range roots {
		switch {
		case r.level(n) > 0 || r.isCode(n) || is(n, atom.Table, atom.Ul, atom.Ol, atom.Dl):
			r.block(&r.top, n)
		default:
			r.flow(&r.top, n)
		}
	}
	r.close()
	return r.sections
}

// open starts a section.
func (r *renderer) open(title string, lvl int, anchor string) {
	r.close()
	if r.taken[anchor] {
		anchor = ""
	}
	r.taken[anchor] = anchor != ""
	keep := len(r.path)
	for keep > 0 && r.path[keep-1].level >= lvl {
		keep--
	}
	r.path = append(r.path[:keep:keep], level{title, lvl})
	path := make([]string, len(r.path))
	for i, l := range r.path {
		path[i] = l.title
	}
	r.cur = docseek.Section{Title: title, Level: lvl, Anchor: anchor, Path: path}
}

// close adds the current section to the sections.
func (r *renderer) close() {
	text := strings.TrimSpace(r.top.String())
	r.top = blocks{}
	if text == "" && (r.resumed || r.cur.Title == "") {
		return
	}
	if text == "" && contentsTitle.MatchString(r.cur.Title) {
		// The table of contents is gone; what stands deeper is not below it.
		r.path = r.path[:max(0, len(r.path)-1)]
		return
	}
	if len(r.sections) >= maxSections {
		r.signals.Truncated = true
		return
	}
	r.cur.Markdown = text
	r.sections = append(r.sections, r.cur)
	r.resumed = true
}

// contentsTitle matches the headings of tables of contents.
var contentsTitle = regexp.MustCompile(`(?i)^(?:(?:table of )?contents|on this page|in this (?:article|page|section)|page contents)$`)

// enter starts the section of an entry and returns how to leave it: what comes
// after it belongs to the enclosing section again.
func (r *renderer) enter(title, anchor string) (leave func()) {
	cur, path, floor := r.cur, r.path, r.floor
	lvl := 1
	if len(path) > 0 {
		lvl = path[len(path)-1].level + 1
	}
	r.open(title, lvl, anchor)
	r.cur.Entry = true
	r.resumed = false
	r.floor = lvl + 1
	return func() {
		r.close()
		r.cur, r.path, r.floor = cur, path, floor
		r.resumed = true
	}
}

// flow writes the children of n: runs of inline nodes as paragraphs, blocks as blocks.
func (r *renderer) flow(out *blocks, n *html.Node) {
	var l line
	flush := func() {
		if l.last != 0 {
			out.add(resolve(l.String()))
		}
		l = line{}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			l.text(c.Data)
		case c.Type != html.ElementNode || r.parts[c] == chrome:
		case inlineTag(c) && !r.outline.wraps[c] && !r.outline.holds[c]:
			if _, panel := r.labels[c]; panel {
				flush()
				r.block(out, c)
				continue
			}
			if display := r.displayMath(c); display != "" {
				flush()
				out.add(display)
				continue
			}
			if c.DataAtom == atom.Br && l.last == '\n' {
				flush() // two line breaks part paragraphs
				continue
			}
			r.inline(&l, c)
		default:
			flush()
			r.block(out, c)
		}
	}
	flush()
}

func (r *renderer) displayMath(n *html.Node) string {
	if tex, display, ok := texOf(n); ok && display {
		return "$$\n" + tex + "\n$$"
	}
	return ""
}

// block writes an element that is a block.
func (r *renderer) block(out *blocks, n *html.Node) {
	if label := r.labels[n]; label != "" {
		out.add(bold(label))
	}
	if r.outline.holds[n] && !r.outline.starts[n] {
		r.container(out, n)
		return
	}
	if math := r.displayMath(n); math != "" {
		out.add(math)
		return
	}
	if r.isCode(n) {
		r.code(out, n)
		return
	}
	if kind, ok := admonitionKind(n); ok {
		r.admonition(out, n, kind)
		return
	}
	if r.level(n) > 0 {
		r.heading(out, n)
		return
	}
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		r.list(out, n)
	case atom.Dl:
		if r.outline.starts[n] && out == &r.top {
			r.entries(n)
			return
		}
		r.definitions(out, n)
	case atom.Table:
		r.table(out, n)
	case atom.Div:
		if hasClass(n, "summary-table", "details-table") {
			r.gridTable(out, n)
			return
		}
		r.container(out, n)
	case atom.Blockquote:
		r.quote(out, n)
	case atom.Hr:
	default:
		r.container(out, n)
	}
}

// container writes an element that has no form of its own in Markdown.
func (r *renderer) container(out *blocks, n *html.Node) {
	switch n.DataAtom {
	case atom.Table:
		r.layout(out, n)
		return
	case atom.Tr:
		r.layoutRow(out, n)
		return
	case atom.Details:
		r.details(out, n)
		return
	default:
	}
	// Components of Markdown pages have their labels in attributes.
	if n.DataAtom == 0 && r.outline.wraps[n] {
		for _, key := range []string{"title", "label"} {
			if label := collapse(visible(attr(n, key))); label != "" {
				out.add(bold(label))
				break
			}
		}
	}
	r.flow(out, n)
}

func bold(label string) string {
	var l line
	l.text(label)
	if l.last == 0 {
		return ""
	}
	return boldLine(l.String())
}

func boldLine(s string) string {
	return resolve(marked(opener, "**") + s + marked(closer, "**"))
}

func (r *renderer) heading(out *blocks, n *html.Node) {
	title := r.title(n)
	if title == "" {
		return
	}
	if out != &r.top || !r.outline.starts[n] {
		var l line
		l.strong = true
		r.inlines(&l, n)
		if s := l.String(); s != "" {
			out.add(boldLine(s))
		}
		return
	}
	r.open(title, max(r.level(n), r.floor), r.anchor(n))
	r.resumed = false
	if len(r.fullTitle(n)) > maxTitle {
		r.flow(&r.top, n)
	}
}

// entries writes a definition list whose terms have anchors: each term with
// its description is a section.
func (r *renderer) entries(dl *html.Node) {
	var group []*html.Node
	leave := func() {}
	for t := range terms(dl) {
		if r.parts[t] == chrome {
			continue
		}
		switch t.DataAtom {
		case atom.Dt:
			if len(group) == 0 {
				leave()
				leave = func() {}
			}
			group = append(group, t)
		case atom.Dd:
			if len(group) > 0 {
				leave = r.entry(group)
				group = nil
			}
			r.flow(&r.top, t)
		default:
			r.stray(&r.top, t)
		}
	}
	if len(group) > 0 {
		leave = r.entry(group)
	}
	leave()
}

// entry starts the section of the terms that share a description. Terms with
// anchors of their own come before it as sections without text, so that they
// can be addressed.
func (r *renderer) entry(group []*html.Node) (leave func()) {
	titles := make([]string, 0, len(group))
	anchors := make([]string, 0, len(group))
	total := 0
	for _, t := range group {
		title := r.title(t)
		titles = append(titles, title)
		anchors = append(anchors, r.termAnchor(t))
		total += len(title) + 2
	}
	first := ""
	for i, a := range anchors {
		switch {
		case a == "":
		case first == "":
			first = a
		default:
			r.enter(titles[i], a)()
		}
	}
	if total <= maxJoined {
		return r.enter(strings.Join(titles, ", "), first)
	}
	leave = r.enter(titles[0], first)
	for i, t := range titles {
		switch {
		case len(r.fullTitle(group[i])) > maxTitle:
			r.flow(&r.top, group[i])
		case i > 0 && t != "":
			r.top.add(codeSpan(t))
		}
	}
	return leave
}

// maxJoined is how long, in bytes, several terms may be as one title.
const maxJoined = 120

// definitions writes a definition list, in the form that Markdown Extra has for it.
func (r *renderer) definitions(out *blocks, dl *html.Node) {
	r.nested++
	defer func() { r.nested-- }()
	var item strings.Builder
	flush := func() {
		out.add(item.String())
		item.Reset()
	}
	described := true
	for t := range terms(dl) {
		if r.parts[t] == chrome {
			continue
		}
		switch t.DataAtom {
		case atom.Dt:
			if described {
				flush()
			}
			described = false
			var l line
			r.inlines(&l, t)
			if s := resolve(l.String()); s != "" {
				if item.Len() > 0 {
					item.WriteByte('\n')
				}
				item.WriteString(s)
			}
		case atom.Dd:
			described = true
			var inner blocks
			r.flow(&inner, t)
			text := inner.String()
			if text == "" {
				continue
			}
			if item.Len() > 0 {
				item.WriteByte('\n')
			}
			if r.nested > maxNested {
				item.WriteString(text)
			} else {
				item.WriteString(": " + indent(text, "  "))
			}
		default:
			flush()
			r.stray(out, t)
		}
	}
	flush()
}

// stray writes a node that stands where only items of a list should.
func (r *renderer) stray(out *blocks, n *html.Node) {
	if n.Type == html.ElementNode && (!inlineTag(n) || r.outline.wraps[n]) {
		r.block(out, n)
		return
	}
	var l line
	r.inline(&l, n)
	out.add(resolve(l.String()))
}

// indent puts a prefix before each line but the first, and before no empty line.
func indent(s, prefix string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if i > 0 && l != "" {
			lines[i] = prefix + l
		}
	}
	return strings.Join(lines, "\n")
}

func (r *renderer) list(out *blocks, n *html.Node) {
	r.nested++
	defer func() { r.nested-- }()
	ordered := n.DataAtom == atom.Ol
	number := 1
	if start, err := strconv.Atoi(strings.TrimSpace(attr(n, "start"))); err == nil && start >= 0 && start < 1e9 {
		number = start
	}
	var items []string
	loose := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if r.parts[c] == chrome {
			continue
		}
		var inner blocks
		if label := r.labels[c]; label != "" {
			inner.add(bold(label))
		}
		if c.DataAtom == atom.Li {
			r.flow(&inner, c)
		} else {
			r.stray(&inner, c)
		}
		text := inner.String()
		if text == "" {
			continue
		}
		marker := "- "
		if ordered {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		// An item of one paragraph and a list is tight.
		if first, rest, found := strings.Cut(text, "\n\n"); found {
			if isListItem(rest) && !strings.Contains(rest, "\n\n") && !isListItem(first) {
				text = first + "\n" + rest
			} else {
				loose = true
			}
		}
		if r.nested > maxNested {
			items = append(items, text)
			continue
		}
		items = append(items, marker+indent(text, strings.Repeat(" ", len(marker))))
	}
	if loose {
		out.add(strings.Join(items, "\n\n"))
	} else {
		out.add(strings.Join(items, "\n"))
	}
}

func isListItem(s string) bool {
	if strings.HasPrefix(s, "- ") {
		return true
	}
	t := strings.TrimLeft(s, "0123456789")
	return len(t) < len(s) && strings.HasPrefix(t, ". ")
}

func (r *renderer) quote(out *blocks, n *html.Node) {
	r.nested++
	defer func() { r.nested-- }()
	var inner blocks
	r.flow(&inner, n)
	out.add(r.quoted(inner.String()))
}

func (r *renderer) quoted(s string) string {
	if s == "" || r.nested > maxNested {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if l == "" {
			lines[i] = ">"
		} else {
			lines[i] = "> " + l
		}
	}
	return strings.Join(lines, "\n")
}

// details writes a disclosure: its summary in bold, then what it discloses.
func (r *renderer) details(out *blocks, n *html.Node) {
	for c := range children(n) {
		if c.DataAtom != atom.Summary || r.parts[c] == chrome {
			continue
		}
		if r.outline.holds[c] {
			r.flow(out, c)
		} else {
			out.add(bold(r.title(c)))
		}
		r.parts[c] = chrome
	}
	r.flow(out, n)
}
