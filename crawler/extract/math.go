package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func isTeXScript(n *html.Node) bool {
	return strings.HasPrefix(strings.ToLower(attr(n, "type")), "math/tex")
}

// texOf returns the TeX source of a formula, where the page gives it: KaTeX and
// MathML annotations, MathJax scripts, and the delimiters that Sphinx and
// arithmatex leave for MathJax.
func texOf(n *html.Node) (tex string, display, ok bool) {
	switch {
	case n.DataAtom == atom.Script:
		return strings.TrimSpace(visible(rawText(n))), strings.Contains(attr(n, "type"), "display"), true
	case n.DataAtom == atom.Math, n.Data == "mjx-container", n.DataAtom == atom.Span && hasClass(n, "katex", "katex-display", "MathJax", "MathJax_Display"):
		a := find(n, func(e *html.Node) bool {
			return e.Data == "annotation" && strings.Contains(strings.ToLower(attr(e, "encoding")), "tex")
		})
		math := n
		if n.DataAtom != atom.Math {
			if math = find(n, func(e *html.Node) bool { return e.DataAtom == atom.Math }); math == nil {
				math = n
			}
		}
		tex = attr(math, "alttext")
		if a != nil {
			tex = rawText(a)
		}
		display = hasClass(n, "katex-display") || attr(math, "display") == "block" || attr(n, "display") == "true"
		tex = collapse(visible(tex))
		return tex, display, tex != ""
	case is(n, atom.Span, atom.Div) && hasClass(n, "math", "arithmatex", "notranslate") && !hasClass(n, "highlight"):
		s := strings.TrimSpace(visible(rawText(n)))
		for _, d := range [][2]string{{`\(`, `\)`}, {`\[`, `\]`}, {"$$", "$$"}} {
			if strings.HasPrefix(s, d[0]) && strings.HasSuffix(s, d[1]) && len(s) >= 4 {
				return strings.TrimSpace(s[2 : len(s)-2]), d[0] != `\(`, true
			}
		}
	case n.DataAtom == atom.Img && hasClass(n, "math", "tex", "latex", "mwe-math-fallback-image-inline"):
		tex = collapse(visible(attr(n, "alt")))
		return tex, false, tex != ""
	}
	return "", false, false
}
