package extract

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isCode reports whether an element is a block of code.
func (r *renderer) isCode(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		return true
	case atom.Code:
		return r.outline.wraps[n]
	case atom.Div:
		return hasClass(n, "fragment", "type-signature", "member-signature", "memberSignature", "memproto")
	default:
		return false
	}
}

// code writes a block of code as it stands in the page. Where one holds several
// variants, each is a block.
func (r *renderer) code(out *blocks, n *html.Node) {
	if variants := codeVariants(n); variants != nil {
		for _, v := range variants {
			r.code(out, v)
		}
		return
	}
	var c codeText
	if hasClass(n, "memproto") {
		// Doxygen sets a signature as a table.
		c.b.WriteString(r.title(n))
	} else {
		c.add(n, r.parts)
	}
	text := strings.TrimRight(visible(c.b.String()), " \t\n\u00a0")
	for first, rest, found := strings.Cut(text, "\n"); found && strings.TrimSpace(first) == ""; first, rest, found = strings.Cut(text, "\n") {
		text = rest
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	text, fence := fenced(text)
	out.add(fence + codeLanguage(n) + "\n" + text + "\n" + fence)
}

// maxFence bounds the length of a fence: it is repeated in every piece that a
// block of code is cut into.
const maxFence = 8

// fenced returns a fence that does not occur in a code (CommonMark §4.5), of
// tildes if backticks do not serve. A code that has long runs of both, as no code
// does that somebody reads, has those of tildes cut short.
func fenced(code string) (text, fence string) {
	for _, mark := range []string{"`", "~"} {
		longest := max(2, longestRun(code, mark[0]))
		if longest < maxFence {
			return code, strings.Repeat(mark, longest+1)
		}
	}
	runs := regexp.MustCompile("~{" + strconv.Itoa(maxFence) + ",}")
	return runs.ReplaceAllString(code, strings.Repeat("~", maxFence-1)), strings.Repeat("~", maxFence)
}

func longestRun(s string, mark byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != mark {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// codeVariants returns the code elements in a pre, if there are several and one
// has several lines: else they are the lines.
func codeVariants(n *html.Node) []*html.Node {
	var codes []*html.Node
	lines := false
	for c := range children(n) {
		if c.DataAtom == atom.Code && n.DataAtom == atom.Pre {
			codes = append(codes, c)
			lines = lines || strings.Contains(strings.TrimSpace(rawText(c)), "\n")
		}
	}
	if len(codes) < 2 || !lines {
		return nil
	}
	return codes
}

// codeText collects code. Highlighters that set each line as an element of its
// own may leave the line breaks out.
type codeText struct {
	b strings.Builder
	// due says that a line element ended and its line break has not come yet.
	due bool
	// gutter says that Doxygen's line number was left out, and the space after
	// it has not come yet.
	gutter bool
}

func (c *codeText) write(s string) {
	if c.gutter {
		s = strings.TrimPrefix(s, " ")
		c.gutter = false
	}
	if s == "" {
		return
	}
	if c.due && s[0] != '\n' && !strings.HasPrefix(s, "\r\n") {
		c.b.WriteByte('\n')
	}
	c.due = false
	c.b.WriteString(s)
}

func (c *codeText) add(n *html.Node, parts map[*html.Node]part) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch {
		case k.Type == html.TextNode:
			c.write(k.Data)
		case k.Type != html.ElementNode || parts[k] == chrome || isControl(k):
		case isGutter(k):
			c.gutter = hasClass(k, "lineno") && is(n, atom.Div)
		case k.DataAtom == atom.Br:
			c.b.WriteByte('\n')
			c.due = false
		case k.DataAtom == atom.Img:
			c.write(altText(k))
		case isCodeLine(k):
			if c.due {
				c.b.WriteByte('\n')
				c.due = false
			} else if s := c.b.Len(); s > 0 && !inlineTag(k) && !strings.HasSuffix(c.b.String()[s-1:], "\n") {
				c.b.WriteByte('\n')
			}
			start := c.b.Len()
			c.add(k, parts)
			c.due = c.due || c.b.Len() == start || c.b.String()[c.b.Len()-1] != '\n'
		default:
			c.add(k, parts)
		}
	}
}

// isCodeLine reports whether an element within code is one line of it.
func isCodeLine(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.P, atom.Li, atom.Tr:
		return true
	case atom.Code:
		return n.PrevSibling != nil && is(n.PrevSibling, atom.Code) || n.NextSibling != nil && is(n.NextSibling, atom.Code)
	case atom.Span:
		return hasClass(n, "line", "token-line", "code-line", "view-line", "cl", "LineWrapper", "hljs-ln-line") || hasAttr(n, "data-line")
	default:
		return false
	}
}

// isControl reports whether an element within code is a button to copy it.
func isControl(n *html.Node) bool {
	class := attr(n, "class")
	return n.DataAtom == atom.Button || strings.Contains(class, "copy") || strings.Contains(class, "clipboard")
}

// isGutter reports whether an element holds line numbers.
func isGutter(n *html.Node) bool {
	for c := range classes(n) {
		switch c {
		case "linenos", "linenodiv", "lineno", "linenumber", "line-number", "line-numbers", "line-numbers-rows", "line-numbers-wrapper",
			"ln", "lnt", "gutter", "gl", "rouge-gutter", "hljs-ln-numbers", "blob-num", "code-gutter", "line-num", "src-line-numbers", "react-code-line-number", "codeLineNumber", "CodeMirror-linenumber", "ec-gutter":
			return !is(n, atom.Pre) && strings.Trim(flatText(n), "0123456789 .:") == ""
		}
	}
	return false
}

// codeLanguage is the language of a block of code as its classes tell it: its
// own, those of the element inside, those of the nearest wrappers.
func codeLanguage(n *html.Node) string {
	if l := languageOf(n); l != "" {
		return l
	}
	for e := range children(n) {
		if l := languageOf(e); l != "" {
			return l
		}
	}
	at := n.Parent
	for range 3 {
		if at == nil || is(at, atom.Body, atom.Article, atom.Main, atom.Section, atom.Li, atom.Dd) || countCode(at) > 1 {
			break
		}
		if l := languageOf(at); l != "" {
			return l
		}
		at = at.Parent
	}
	return ""
}

// countCode counts the blocks of code in n, up to two.
func countCode(n *html.Node) int {
	count := 0
	for e := range elements(n) {
		if e.DataAtom == atom.Pre {
			if count++; count > 1 {
				break
			}
		}
	}
	return count
}

func languageOf(n *html.Node) string {
	for _, key := range []string{"data-lang", "data-language", "language"} {
		if l := cleanLanguage(attr(n, key)); l != "" {
			return l
		}
	}
	source := false
	for c := range classes(n) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "brush:", "src-", "shj-lang-"} {
			if l, ok := strings.CutPrefix(c, prefix); ok {
				if l = cleanLanguage(l); l != "" {
					return l
				}
				break
			}
		}
		// "sourceCode python", "hljs python", "prettyprint python", "brush: python": the name stands alone.
		if source {
			if l := cleanLanguage(c); l != "" {
				return l
			}
		}
		switch c {
		case "sourceCode", "hljs", "src", "brush:", "listingblock-source":
			source = true
		case "rust":
			return "rust"
		}
	}
	return ""
}

// cleanLanguage returns a language tag in lower case, or nothing where the
// name says that there is none.
func cleanLanguage(s string) string {
	s = strings.ToLower(strings.Trim(strings.TrimSpace(s), ";{}"))
	if s == "" || len(s) > 32 {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("+#.-_", rune(c)) {
			return ""
		}
	}
	switch s {
	case "default", "none", "notranslate", "highlight", "plain", "plaintext", "text", "txt", "nohighlight", "unknown", "undefined", "source", "block", "wrapper", "container", "numbersource", "numberlines", "python-repl", "group":
		if s == "python-repl" {
			return "pycon"
		}
		return ""
	}
	return s
}
