package extract

import (
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// generator says how the pages of one documentation generator are told and read.
type generator struct {
	name string
	// meta are how the content of <meta name=generator> begins, in lower case.
	meta []string
	// content are selectors of the main content, the best first. All matches of
	// the first that matches are the content.
	content []string
	// chrome are selectors of what is no content within it.
	chrome []string
	// title selects the page's title where it is not a heading.
	title string
}

// generators are the known ones, the more special before the more general.
func generators() []generator {
	return []generator{
		{
			name:    "docusaurus",
			meta:    []string{"docusaurus"},
			content: []string{"article .theme-doc-markdown", "main article", "main"},
		},
		{
			name:    "vitepress",
			meta:    []string{"vitepress", "vuepress"},
			content: []string{"main .vp-doc", ".vp-doc", ".theme-default-content", ".VPContent", "main"},
			chrome:  []string{"div[class*=language-] > span.lang", "div[class*=language-] > .line-numbers"},
		},
		{
			name:    "mkdocs-material",
			meta:    []string{"mkdocs-material"},
			content: []string{"article.md-content__inner", ".md-content"},
			chrome:  []string{".md-content__button", ".md-source-file", ".md-source-date", ".doc-backlinks"},
		},
		{
			name:    "starlight",
			meta:    []string{"starlight"},
			content: []string{"main"},
			chrome:  []string{"main footer", "mobile-starlight-toc", ".right-sidebar"},
		},
		{
			name:    "sphinx",
			meta:    []string{"sphinx", "docutils"},
			content: []string{"[itemprop=articleBody]", "#furo-main-content", "article.bd-article", ".body[role=main]", "[role=main]", ".body", "main"},
			chrome:  []string{".viewcode-link", ".viewcode-back", ".sphinxsidebar"},
		},
		{
			name:    "docbook",
			meta:    []string{"docbook"},
			content: []string{"#docContent", "body"},
			chrome:  []string{"a.id_link"},
		},
		{
			name:    "asciidoc",
			meta:    []string{"asciidoc", "antora"},
			content: []string{"article.doc", "#header, #preamble, #content, #footnotes", "body"},
			chrome:  []string{"#header .details", "#footer", "#footer-text", ".edit-this-page"},
		},
		{
			name:    "doxygen",
			meta:    []string{"doxygen"},
			content: []string{"#doc-content > .header, #doc-content .contents", "div.header, div.contents"},
			chrome:  []string{".header .summary", ".memSeparator", ".mlabels-right", ".dynheader"},
			title:   ".headertitle .title",
		},
		{
			name:    "javadoc",
			meta:    []string{"javadoc"},
			content: []string{"main", ".header, .contentContainer"},
			chrome:  []string{".sub-nav", ".top-nav", ".sub-title", ".subTitle"},
		},
		{
			name:    "rustdoc",
			meta:    []string{"rustdoc"},
			content: []string{"#main-content", "main"},
			chrome:  []string{"a.src", "a.anchor", ".rightside", ".out-of-band", "#copy-path", ".sub-heading", "#search", ".rustdoc-breadcrumbs", "summary.hideme"},
		},
		{
			name:    "mkdocs",
			meta:    []string{"mkdocs"},
			content: []string{".rst-content [role=main]", "[role=main]", "main"},
		},
		{
			name:    "gitbook",
			meta:    []string{"gitbook", "honkit"},
			content: []string{".page-inner section", "main"},
		},
		{
			name:    "mintlify",
			meta:    []string{"mintlify"},
			content: []string{"#content-area", "#content", "main"},
			chrome:  []string{"#pagination", ".feedback-toolbar", "#header .eyebrow"},
		},
		{
			name:    "nextra",
			meta:    []string{"nextra"},
			content: []string{"article main", ".nextra-content", "main", "article"},
		},
		{
			name:    "texinfo",
			meta:    []string{"makeinfo", "texi2any", "texi2html"},
			content: []string{"body"},
			chrome:  []string{"div.header", "div.nav-panel", "body > hr", "a.copiable-link"},
		},
		{
			name:    "hugo",
			meta:    []string{"hugo"},
			content: []string{".td-content", "main article", "main", "article"},
		},
	}
}

// generic reads what no generator is known for.
func generic() generator { return generator{name: "generic"} }

// recognise tells the generator of a page by its meta tag, else by a mark (see markOf).
func recognise(meta, mark string) generator {
	meta = strings.ToLower(meta)
	byMark := generic()
	for _, g := range generators() {
		for _, m := range g.meta {
			if strings.Contains(meta, m) {
				return g
			}
		}
		if g.name == mark {
			byMark = g
		}
	}
	return byMark
}

// markOf names the generator that alone writes such an element, else it is empty.
func markOf(n *html.Node) string {
	switch attr(n, "id") {
	case "__docusaurus":
		return "docusaurus"
	case "VPContent":
		return "vitepress"
	case "documentation_options":
		return "sphinx"
	case "MSearchBox", "MSearchSelectWindow":
		return "doxygen"
	case "content-area":
		return "mintlify"
	}
	if n.DataAtom == atom.Script {
		if strings.Contains(attr(n, "src"), "documentation_options.js") {
			return "sphinx"
		}
		return ""
	}
	for c := range classes(n) {
		switch c {
		case "theme-doc-markdown":
			return "docusaurus"
		case "VPContent":
			return "vitepress"
		case "md-content__inner":
			return "mkdocs-material"
		case "sl-markdown-content":
			return "starlight"
		case "sphinxsidebar", "rst-content":
			return "sphinx"
		case "navheader", "navfooter":
			return "docbook"
		case "sectionbody":
			return "asciidoc"
		case "memberdecls", "memitem":
			return "doxygen"
		case "rustdoc":
			return "rustdoc"
		case "nextra-content", "nextra-body":
			return "nextra"
		}
	}
	return ""
}

// selected returns the nodes below root that a selector matches, without those
// that stand in another of them.
func selected(root *html.Node, selector string) []*html.Node {
	return outermost(goquery.NewDocumentFromNode(root).Find(selector).Nodes)
}

// outermost returns those of the nodes that do not stand in another of them.
func outermost(nodes []*html.Node) []*html.Node {
	var out []*html.Node
	for _, n := range nodes {
		inside := slices.ContainsFunc(out, func(o *html.Node) bool { return contains(o, n) })
		if !inside && len(out) < maxRoots {
			out = append(out, n)
		}
	}
	return out
}

// maxRoots bounds the parts that the main content is put together from.
const maxRoots = 64
