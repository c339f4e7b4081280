package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// admonitionKind tells whether an element is a note, a warning or the like,
// and which, as a label; the kind may be unknown and empty.
func admonitionKind(n *html.Node) (kind string, ok bool) {
	if n.Type != html.ElementNode {
		return "", false
	}
	switch n.DataAtom {
	case atom.Div, atom.Aside, atom.Section, atom.P, atom.Blockquote:
	case 0:
		// Components of Markdown pages: <Note>, <Warning>.
		switch n.Data {
		case "note", "tip", "warning", "info", "callout", "caution", "danger", "check", "admonition":
			kind = kindWord(n.Data)
			if t := kindWord(strings.ToLower(attr(n, "type"))); t != "" {
				kind = t
			}
			return kind, true
		}
		return "", false
	default:
		return "", false
	}
	sure := false
	for c := range classes(n) {
		c = kebab(c)
		switch c {
		case "admonition", "admonitionblock", "callout", "callout-block", "custom-block", "theme-admonition", "markdown-alert", "starlight-aside", "nextra-callout", "hint", "alert", "notice", "notices", "docs-callout", "doc-callout", "note-block", "warning-block":
			ok = true
		case "note", "warning", "tip", "important", "caution", "danger", "attention", "seealso":
			// DocBook and many hand-made pages: the class alone.
			sure = n.DataAtom != atom.P || strings.Contains(attr(n, "class"), "admon")
		case "admonition-title", "alert-heading":
			return "", false
		}
		for word := range strings.SplitSeq(c, "-") {
			if k := kindWord(word); k != "" && kind == "" {
				kind = k
			}
		}
	}
	if t := attr(n, "data-callout-type"); t != "" {
		return kindWord(t), true
	}
	return kind, ok || sure
}

// kindWord is the label of a kind of admonition.
func kindWord(s string) string {
	switch s {
	case "note", "tip", "warning", "caution", "danger", "important", "info", "hint", "attention", "example", "success", "question", "bug", "error", "deprecated", "abstract", "quote", "todo":
		return strings.ToUpper(s[:1]) + s[1:]
	case "seealso":
		return "See also"
	case "failure", "fail":
		return "Failure"
	case "check":
		return "Success"
	case "primary", "secondary":
		return ""
	}
	return ""
}

// admonition writes a quotation under its label.
func (r *renderer) admonition(out *blocks, n *html.Node, kind string) {
	label := kind
	if t := r.admonitionTitle(n); t != nil {
		if text := r.title(t); text != "" {
			label = text
		} else if img := find(t, func(e *html.Node) bool { return e.DataAtom == atom.Img }); img != nil && altText(img) != "" {
			label = altText(img)
		}
		r.parts[t] = chrome
	} else if l := collapse(visible(attr(n, "aria-label"))); l != "" && len(l) < 100 {
		label = l
	}
	r.nested++
	defer func() { r.nested-- }()
	var inner blocks
	text := flatText(n)
	if label != "" && (label != kind || !strings.HasPrefix(strings.ToLower(text), strings.ToLower(kind)+":")) {
		inner.add(bold(strings.Trim(label, "[]: ")))
	}
	r.flow(&inner, n)
	out.add(r.quoted(inner.String()))
}

// admonitionTitle finds the element that holds an admonition's label.
func (r *renderer) admonitionTitle(n *html.Node) *html.Node {
	for e := range elements(n) {
		for c := range classes(e) {
			c = kebab(c)
			if strings.HasSuffix(c, "title") && !strings.HasPrefix(c, "sub") && c != "titlepage" || strings.HasSuffix(c, "admonition-heading") || c == "alert-heading" || c == "callout-heading" {
				return e
			}
			if c == "icon" && e.DataAtom == atom.Td {
				return e
			}
		}
		if e.DataAtom == atom.Th || e.DataAtom == atom.Td && e.FirstChild != nil && is(e.FirstChild, atom.Img) && hasAttr(e, "rowspan") {
			if e.DataAtom == atom.Td {
				r.parts[e] = chrome
				continue
			}
			return e
		}
		if is(e, atom.P, atom.Pre, atom.Ul, atom.Ol, atom.Dl) && !blank(e) {
			return nil
		}
	}
	return nil
}
