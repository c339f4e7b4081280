package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A line of text is written with marks before the characters that Markdown may
// read as syntax; resolve turns them into the escapes that are really needed.
// None of these bytes occurs in text: visible drops control characters.
const (
	literal = '\x00' // the next character is text
	opener  = '\x01' // the next character opens emphasis
	closer  = '\x02' // the next character closes emphasis
	forced  = '\x03' // the next character is text that has to be escaped
)

// line builds the inline Markdown of one block.
type line struct {
	b strings.Builder
	// lead says that white space came before the first character, space that it
	// is due before the next one.
	lead, space bool
	last        byte
	strong, em  bool
	struck      bool
	inLink      bool
}

// text adds text as a reader sees it.
func (l *line) text(s string) {
	s = visible(s)
	for i := 0; i < len(s); {
		c := s[i]
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); isSpace(r) {
				c = ' '
			}
		}
		switch c {
		case ' ', '\n', '\t', '\r', '\f':
			l.gap()
		case '*', '_', '~', '`', '[', ']', '<', '&', '\\':
			l.pad()
			l.b.WriteByte(literal)
			l.b.WriteByte(c)
			l.last = c
		default:
			l.pad()
			l.b.WriteString(s[i : i+size])
			l.last = c
		}
		i += size
	}
}

func (l *line) gap() {
	if l.last == 0 {
		l.lead = true
	} else {
		l.space = true
	}
}

func (l *line) pad() {
	if l.space && l.last != '\n' {
		l.b.WriteByte(' ')
	}
	l.space = false
}

// raw adds Markdown.
func (l *line) raw(s string) {
	if s == "" {
		return
	}
	l.pad()
	l.b.WriteString(s)
	l.last = s[len(s)-1]
}

// lineBreak adds a hard line break.
func (l *line) lineBreak() {
	if l.last != 0 && l.last != '\n' {
		l.b.WriteString("  \n")
		l.last = '\n'
	}
	l.space = false
}

// sub builds the inside of an inline element and adds it between two marks.
func (l *line) sub(open, end string, build func(*line)) {
	inner := line{strong: l.strong, em: l.em, struck: l.struck, inLink: l.inLink}
	build(&inner)
	if inner.lead {
		l.gap()
	}
	if inner.b.Len() > 0 {
		l.raw(open + strings.TrimRight(inner.b.String(), " \n") + end)
	}
	if inner.space || inner.last == '\n' {
		l.gap()
	}
}

func (l *line) String() string { return strings.TrimRight(l.b.String(), " \n") }

// inline adds an inline node to a line.
func (r *renderer) inline(l *line, n *html.Node) {
	if n.Type == html.TextNode {
		l.text(n.Data)
		return
	}
	if n.Type != html.ElementNode || r.parts[n] == chrome {
		return
	}
	if tex, display, ok := texOf(n); ok {
		if display {
			l.raw("$$" + tex + "$$")
		} else {
			l.raw("$" + tex + "$")
		}
		return
	}
	switch n.DataAtom {
	case atom.Br:
		l.lineBreak()
	case atom.Wbr:
	case atom.Img:
		l.text(altText(n))
	case atom.A:
		r.link(l, n)
	case atom.Code, atom.Tt, atom.Kbd, atom.Samp:
		r.codeSpan(l, n)
	case atom.Strong, atom.B:
		r.emphasis(l, n, &l.strong, "**")
	case atom.Em, atom.I, atom.Cite:
		r.emphasis(l, n, &l.em, "*")
	case atom.Del, atom.S, atom.Strike:
		r.emphasis(l, n, &l.struck, "~~")
	case atom.Q:
		l.text("“")
		r.inlines(l, n)
		l.text("”")
	case atom.Sup:
		r.raised(l, n)
	case atom.Sub:
		r.lowered(l, n)
	case atom.Rt:
		l.text("(")
		r.inlines(l, n)
		l.text(")")
	case atom.Rp:
	case atom.Input:
		r.checkbox(l, n)
	default:
		r.inlines(l, n)
	}
}

func (r *renderer) inlines(l *line, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && !inlineTag(c) {
			l.gap()
			r.inlines(l, c)
			l.gap()
			continue
		}
		r.inline(l, c)
	}
}

func (r *renderer) emphasis(l *line, n *html.Node, on *bool, mark string) {
	if *on || r.codeOnly(n) && mark != "~~" {
		r.inlines(l, n)
		return
	}
	*on = true
	l.sub(marked(opener, mark), marked(closer, mark), func(in *line) { r.inlines(in, n) })
	*on = false
}

// marked puts a mark before each byte of s.
func marked(mark byte, s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, mark, s[i])
	}
	return string(b)
}

// codeOnly reports whether an element holds one code span and nothing else:
// emphasis on it would only get in the way.
func (r *renderer) codeOnly(n *html.Node) bool {
	c := n.FirstChild
	return c != nil && c == n.LastChild && is(c, atom.Code, atom.Tt, atom.Kbd, atom.Samp)
}

func (r *renderer) link(l *line, n *html.Node) {
	if isPermalink(n) && (blank(n) || permalinkClass(n)) {
		return
	}
	href := attr(n, "href")
	if href == "" || l.inLink {
		r.inlines(l, n)
		return
	}
	target := r.absolute(href)
	if target == "" {
		r.inlines(l, n)
		return
	}
	l.sub("", "", func(in *line) {
		in.inLink = true
		var label line
		label.strong, label.em, label.struck, label.inLink = l.strong, l.em, l.struck, true
		r.inlines(&label, n)
		if label.lead {
			in.gap()
		}
		if text := label.String(); text != "" {
			if plain(text) == target {
				in.raw(target)
			} else {
				in.raw("[" + balanced(text) + "](" + target + ")")
			}
		}
		if label.space || label.last == '\n' {
			in.gap()
		}
	})
}

// permalinkClass reports whether a link has a class that generators give to the
// permalinks of headings, terms and figures.
func permalinkClass(n *html.Node) bool {
	return hasClass(n, "headerlink", "header-anchor", "hash-link", "anchor", "anchorjs-link", "anchor-link",
		"heading-anchor", "heading-link", "heading-permalink", "sl-anchor-link", "permalink", "id_link",
		"copiable-link", "copiable-anchor", "td-heading-self-link", "subheading-anchor", "direct-link", "autolink")
}

// absolute is the URL of a link as it stands in Markdown; empty when it is not
// one of the web.
func (r *renderer) absolute(href string) string {
	u := r.resolve(href)
	if u == nil || !webScheme(u) {
		return ""
	}
	s := u.String()
	if strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune(`<>"\`+"`", c) }) >= 0 {
		return ""
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		s = strings.NewReplacer("(", "%28", ")", "%29").Replace(s)
	}
	return strings.NewReplacer("|", "%7C").Replace(s)
}

// balanced makes the brackets of a link's text harmless when they do not pair.
func balanced(text string) string {
	depth, paired := 0, true
	for i := 0; i+1 < len(text); i++ {
		if text[i] != literal {
			continue
		}
		switch text[i+1] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth < 0 {
			paired = false
		}
	}
	if paired && depth == 0 {
		return text
	}
	return strings.NewReplacer(string([]byte{literal, '['}), string([]byte{forced, '['}), string([]byte{literal, ']'}), string([]byte{forced, ']'})).Replace(text)
}

// plain is the text of a line without its marks.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if c <= forced {
			return -1
		}
		return c
	}, s)
}

func (r *renderer) codeSpan(l *line, n *html.Node) {
	var b strings.Builder
	r.appendCode(&b, n)
	s := visible(b.String())
	flat := collapse(s)
	if flat == "" {
		if s != "" {
			l.gap()
		}
		return
	}
	if isSpace(rune(s[0])) {
		l.gap()
	}
	l.raw(codeSpan(flat))
	if isSpace(rune(s[len(s)-1])) {
		l.gap()
	}
}

// appendCode collects the text of a code span: of what is inside, only text,
// pictures' names and line breaks count.
func (r *renderer) appendCode(b *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.Type != html.ElementNode || r.parts[c] == chrome:
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		case c.DataAtom == atom.Img:
			b.WriteString(altText(c))
		default:
			r.appendCode(b, c)
		}
	}
}

// codeSpan is s between as many backticks as it takes (CommonMark §6.1).
func codeSpan(s string) string {
	runs, n := backtickRuns(s), 1
	for runs[n] {
		n++
	}
	fence := strings.Repeat("`", n)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// backtickRuns are the lengths of the runs of backticks in a text.
func backtickRuns(s string) map[int]bool {
	var runs map[int]bool
	for rest := s; ; {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			return runs
		}
		after := strings.TrimLeft(rest[i:], "`")
		if runs == nil {
			runs = map[int]bool{}
		}
		runs[len(rest)-i-len(after)] = true
		rest = after
	}
}

// raised writes superscripts: exponents with a caret, ordinals and marks as they are.
func (r *renderer) raised(l *line, n *html.Node) {
	t := flatText(n)
	switch {
	case t == "":
	case find(n, func(e *html.Node) bool { return e.DataAtom == atom.A }) != nil:
		r.inlines(l, n)
	case strings.IndexFunc(t, func(c rune) bool { return !unicode.IsDigit(c) }) < 0, len(t) == 1 && !wordless(t):
		l.text("^" + t)
	case strings.ContainsAny(t, "+-−*/ ") && !wordless(t):
		l.text("^(" + t + ")")
	default:
		r.inlines(l, n)
	}
}

// lowered writes subscripts: numbers as they are ("H2O"), names after an underscore.
func (r *renderer) lowered(l *line, n *html.Node) {
	t := flatText(n)
	if t == "" {
		return
	}
	if c, _ := utf8.DecodeRuneInString(t); unicode.IsLetter(c) && l.last != 0 && !l.space && !strings.Contains(t, " ") {
		l.text("_")
	}
	r.inlines(l, n)
}

func (r *renderer) checkbox(l *line, n *html.Node) {
	if attr(n, "type") != "checkbox" || within(n.Parent, func(e *html.Node) bool { return e.DataAtom == atom.Li }) == nil {
		return
	}
	if l.last != 0 {
		return
	}
	if hasAttr(n, "checked") {
		l.raw("[x]")
	} else {
		l.raw("[ ]")
	}
	l.gap()
}

// altText is what stands for a picture.
func altText(n *html.Node) string {
	alt := collapse(visible(attr(n, "alt")))
	if hasClass(n, "emoji", "badge") && len(alt) > 40 {
		return ""
	}
	return alt
}

// resolve turns the marks of a line into the escapes that Markdown needs
// (CommonMark §2.4, §6; GFM §6.5). What cannot be mistaken for syntax stays as
// it is, so that names like max_retries or *args can be read and found.
func resolve(s string) string {
	if strings.IndexByte(s, literal) < 0 && strings.IndexByte(s, opener) < 0 && strings.IndexByte(s, forced) < 0 {
		return guardStarts(s)
	}
	runs := delimiters(s)
	ticks := countTicks(s)
	var b strings.Builder
	b.Grow(len(s))
	depth := map[byte]int{}
	run := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c > forced || i+1 == len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		ch := s[i]
		switch c {
		case opener:
			depth[ch]++
		case closer:
			depth[ch]--
		case forced:
			b.WriteByte('\\')
		case literal:
			escape := false
			switch ch {
			case '*', '_', '~':
				for run < len(runs) && runs[run].end <= i {
					run++
				}
				if run < len(runs) && runs[run].start < i && i < runs[run].end {
					d := runs[run]
					escape = (d.opens || d.closes) && depth[ch] > 0 || d.pairs
				}
			case '`':
				escape = ticks > 1
			case ']':
				next := peek(s, i+1)
				escape = next == '(' || next == '[' || next == ':' && strings.HasPrefix(s, string([]byte{literal, '['}))
			case '<':
				next := peek(s, i+1)
				escape = (next == '/' || next == '!' || next == '?' || next|0x20 >= 'a' && next|0x20 <= 'z') &&
					(strings.IndexByte(s[i:], '>') >= 0 || b.Len() == 0)
			case '&':
				escape = looksLikeEntity(s[i:])
			case '\\':
				escape = asciiPunct(peek(s, i+1)) || i+1 < len(s) && s[i+1] == '\n'
			}
			if escape {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(ch)
	}
	return guardStarts(b.String())
}

// delimiter is a run of literal characters that might be read as emphasis;
// start and end are byte offsets of the run with its marks.
type delimiter struct {
	char          byte
	start, end    int
	opens, closes bool
	pairs         bool // opens, and a later run of the character closes
}

// delimiters finds the runs and what each could do by its neighbours
// (CommonMark §6.2).
func delimiters(s string) []delimiter {
	var runs []delimiter
	for i := 0; i+1 < len(s); i++ {
		if s[i] != literal || s[i+1] != '*' && s[i+1] != '_' && s[i+1] != '~' {
			if s[i] <= forced {
				i++
			}
			continue
		}
		d := delimiter{char: s[i+1], start: i}
		j := i
		for j+1 < len(s) && s[j] == literal && s[j+1] == d.char {
			j += 2
		}
		d.end = j
		before := ' '
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(s[:i])
		}
		after := ' '
		if j < len(s) {
			k := j
			if s[k] <= forced && k+1 < len(s) {
				k++
			}
			after, _ = utf8.DecodeRuneInString(s[k:])
		}
		left := !isSpace(after) && (!punct(after) || isSpace(before) || punct(before))
		right := !isSpace(before) && (!punct(before) || isSpace(after) || punct(after))
		switch d.char {
		case '_':
			d.opens = left && (!right || punct(before))
			d.closes = right && (!left || punct(after))
		case '~':
			d.opens, d.closes = left && d.end-d.start <= 4, right && d.end-d.start <= 4
		default:
			d.opens, d.closes = left, right
		}
		runs = append(runs, d)
		i = j - 1
	}
	closing := map[byte]bool{}
	for i, d := range slices.Backward(runs) {
		runs[i].pairs = d.opens && closing[d.char]
		closing[d.char] = closing[d.char] || d.closes
	}
	return runs
}

func punct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

func peek(s string, i int) byte {
	if i < len(s) && s[i] <= forced {
		i++
	}
	if i < len(s) {
		return s[i]
	}
	return 0
}

// countTicks counts the runs of literal backticks and the code spans.
func countTicks(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] == '`' && (i == 0 || s[i-1] != '`') {
			n++
		}
	}
	return n
}

func looksLikeEntity(s string) bool {
	for i := 1; i < len(s) && i < 34; i++ {
		c := s[i]
		if c == ';' {
			return i > 1
		}
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && (c != '#' || i > 1) {
			return false
		}
	}
	return false
}

func asciiPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// guardStarts escapes what would make a block of the start of a line.
func guardStarts(s string) string {
	if !strings.Contains(s, "\n") {
		return guardStart(s)
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = guardStart(l)
	}
	return strings.Join(lines, "\n")
}

func guardStart(s string) string {
	if s == "" {
		return s
	}
	switch c := s[0]; {
	case c == '#':
		if t := strings.TrimLeft(s, "#"); len(s)-len(t) <= 6 && (t == "" || t[0] == ' ') {
			return `\` + s
		}
	case c == '>':
		return `\` + s
	case c == '-' || c == '+' || c == '*':
		if len(s) == 1 || s[1] == ' ' || strings.Trim(s, string(c)+" ") == "" {
			return `\` + s
		}
	case c == '=' || c == '_':
		if strings.Trim(s, string(c)+" ") == "" {
			return `\` + s
		}
	case c == '~':
		if strings.HasPrefix(s, "~~~") {
			return `\` + s
		}
	case c >= '0' && c <= '9':
		t := strings.TrimLeft(s, "0123456789")
		if n := len(s) - len(t); n <= 9 && t != "" && (t[0] == '.' || t[0] == ')') && (len(t) == 1 || t[1] == ' ') {
			return s[:n] + `\` + t
		}
	}
	return s
}
