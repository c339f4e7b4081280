package extract_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

const address = "https://docs.example.com/guide/page-one.html"

// read extracts a page of HTML and checks its anchors.
func read(t *testing.T, body string) (docseek.Document, extract.Signals) {
	t.Helper()
	doc, signals, err := extract.Extract(docseek.Page{URL: address, Body: []byte(body), ContentType: "text/html"}, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkAnchors(t, doc, body)
	return doc, signals
}

// markdown is the Markdown of a page that has one section, or of all its sections.
func markdown(t *testing.T, body string) string {
	t.Helper()
	doc, _ := read(t, body)
	return join(doc)
}

func join(doc docseek.Document) string {
	var all []string
	for _, s := range doc.Sections {
		all = append(all, s.Markdown)
	}
	return strings.Join(all, "\n\n")
}

func TestCodeIsVerbatim(t *testing.T) {
	lines := []string{
		"FROM golang:1.26 AS build",
		"",
		"RUN go build \\",
		"    -o /bin/app \\",
		"    ./cmd/app  # `app`",
		"ENTRYPOINT [\"/bin/app\", \"<none>\"]",
	}
	esc := func(s string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	}
	each := func(format, sep string) string {
		var b strings.Builder
		for i, l := range lines {
			if i > 0 {
				b.WriteString(sep)
			}
			fmt.Fprintf(&b, format, esc(l))
		}
		return b.String()
	}
	words := func(s string) string { // as Pygments does it
		parts := strings.Split(esc(s), " ")
		return `<span class="k">` + strings.Join(parts, `</span><span class="w"> </span><span class="n">`) + `</span>`
	}
	var pygments []string
	for _, l := range lines {
		pygments = append(pygments, words(l))
	}
	numbered := func(s string) string {
		var b strings.Builder
		for i, l := range lines {
			fmt.Fprintf(&b, s, i+1, esc(l))
		}
		return b.String()
	}
	tests := map[string]string{
		"prism":             `<pre class="language-docker"><code class="language-docker">` + each(`<span class="token instruction">%s</span>`, "\n") + "\n</code></pre>",
		"shiki":             `<div class="language-docker"><pre class="shiki"><code>` + each(`<span class="line"><span>%s</span></span>`, "\n") + `</code></pre></div>`,
		"shiki flat":        `<pre class="shiki" data-language="docker"><code>` + each(`<span class="line">%s</span>`, "") + `</code></pre>`,
		"pygments":          `<div class="highlight-docker notranslate"><div class="highlight"><pre><span></span>` + strings.Join(pygments, "\n") + "\n</pre></div></div>",
		"token-line":        `<pre class="prism-code language-docker"><code>` + each(`<div class="token-line"><span class="token plain">%s</span></div>`, "") + `</code></pre>`,
		"line feed in line": `<pre class="prism-code language-docker"><code>` + each(`<div class="token-line">%s`+"\n</div>", "") + `</code></pre>`,
		"docusaurus":        `<div class="language-docker"><pre class="prism-code"><code>` + each(`<span class="token-line" style="color:#000"><span class="token plain">%s</span><br></span>`, "") + `</code></pre></div>`,
		"br":                `<pre><code class="lang-docker">` + each("%s", "<br>") + `</code></pre>`,
		"br xhtml":          `<pre class="brush: docker">` + each("%s", "<br />") + `</pre>`,
		"list":              `<pre class="language-docker"><ol class="linenums">` + each("<li><span>%s</span></li>", "") + `</ol></pre>`,
		"pandoc":            `<div class="sourceCode"><pre class="sourceCode docker"><code class="sourceCode docker">` + numbered(`<span id="cb1-%d"><a href="#cb1-1" aria-hidden="true"></a>%s</span>`+"\n") + `</code></pre></div>`,
		"table":             `<pre><code class="hljs docker"><table class="hljs-ln"><tbody>` + numbered(`<tr><td class="hljs-ln-numbers"><div class="hljs-ln-n" data-line-number="%d"></div></td><td class="hljs-ln-code">%s</td></tr>`) + `</tbody></table></code></pre>`,
		"code per line":     `<pre class="language-docker">` + each(`<code>%s</code>`, "") + `</pre>`,
		"gutter":            `<pre data-lang="docker">` + numbered(`<span class="lineno">%d</span><span class="line">%s</span>`) + `</pre>`,
		"github":            `<div class="highlight highlight-source-docker"><pre>` + each("%s", "\n") + `</pre></div>`,
	}
	want := "```docker\n" + strings.Join(lines, "\n") + "\n```"
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			got := markdown(t, "<main><h1>Build</h1><p>Before.</p>"+body+"<p>After.</p></main>")
			if diff := cmp.Diff("Before.\n\n"+want+"\n\nAfter.", got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMainContent gives ten pages the same surroundings: none of it may be
// left, and every page has to give its text.
func TestMainContent(t *testing.T) {
	var side strings.Builder
	for i := range 60 {
		fmt.Fprintf(&side, `<li><a href="/guide/%d">Sidebar item %d</a></li>`, i, i)
	}
	frame := func(content string) string {
		return `<html><head><title>Guide</title></head><body>
<div class="cookie-banner"><p>We use cookies to improve your experience.</p><button>Accept all</button></div>
<div id="left"><ul>` + side.String() + `</ul></div>` + content + `
<div class="helpful"><p>Was this helpful?</p><button>Yes</button><button>No</button></div>
<div class="bottom"><p>Was this page helpful? Yes No</p></div>
<footer><p>Copyright 2026 Example Incorporated, all rights reserved.</p></footer></body></html>`
	}
	text := func(i int) string {
		return fmt.Sprintf(`<h1>Topic %d</h1><p>Paragraph %d says what matters about the topic, in a sentence or two, so that there is something to find.</p><p>And a second one that goes on with it.</p>`, i, i)
	}
	for i := range 10 {
		content := "<main>" + text(i) + "</main>"
		switch i {
		case 6:
			content = `<div class="wrap"><div class="col">` + text(i) + "</div></div>"
		case 7:
			content = `<div class="header-wrapper">` + text(i) + "</div>"
		case 8:
			content = `<div class="page-header"><div id="content">` + text(i) + "</div></div>"
		case 9:
			content = `<main></main><article>` + text(i) + `</article>`
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			doc, signals := read(t, frame(content))
			got := join(doc)
			if !strings.Contains(got, fmt.Sprintf("Paragraph %d says", i)) || !strings.Contains(got, "goes on with it") {
				t.Errorf("content is lost: %q", got)
			}
			if want := fmt.Sprintf("Topic %d", i); doc.Title != want {
				t.Errorf("title %q, want %q", doc.Title, want)
			}
			for _, s := range []string{"cookies", "Sidebar", "helpful", "Copyright", "Accept"} {
				if strings.Contains(got, s) {
					t.Errorf("%q is left: %q", s, got)
				}
			}
			if len(doc.Links) != 60 {
				t.Errorf("%d links, want those of the whole page: 60", len(doc.Links))
			}
			if signals.KeptChars == 0 || signals.KeptChars >= signals.VisibleChars {
				t.Errorf("kept %d of %d", signals.KeptChars, signals.VisibleChars)
			}
		})
	}
}

func TestNothingVisibleIsLostAltogether(t *testing.T) {
	tests := map[string]string{
		"only navigation": `<nav><a href="/a">Alpha</a> <a href="/b">Beta</a></nav>`,
		"only a footer":   `<footer>Alpha and Beta</footer>`,
		"named sidebar":   `<div class="sidebar"><p>Alpha. All of the page stands in here, in a good many words.</p></div>`,
		"empty main":      `<main><nav>x</nav></main><div><p>Alpha</p></div>`,
		"hidden main":     `<div aria-hidden="true"><main><p>Alpha</p></main></div><div role="dialog">Log in</div>`,
		"form":            `<form action="/x"><input name=q><h1>T</h1><p>Alpha and a text that is long enough to be a page, which ASP.NET wraps in a form.</p></form>`,
		"frameset":        `<body>Alpha</body>`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			if got := markdown(t, body); !strings.Contains(got, "Alpha") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestPageControlsByTheirWords(t *testing.T) {
	gone := []string{
		`<div>Was this page helpful? <a href="#">Yes</a> <a href="#">No</a></div>`,
		`<p>Did this article answer your question?</p>`,
		`<p>How useful was this topic?</p>`,
		`<div><a href="/e">Edit this page on GitHub</a></div>`,
		`<p><a href="/s">View page source</a></p>`,
		`<p>Last updated on May 4, 2026</p>`,
		`<p><a href="a">← Previous</a> | <a href="b">Up</a> | <a href="c">Next →</a></p>`,
		`<ul><li><a href="#a">A</a></li><li><a href="#b">B</a></li><li><a href="#c">C</a></li></ul>`,
	}
	kept := []string{
		`<p>How is this document organised? By topic.</p>`,
		`<p>Is this section needed? Read on, it is useful to know.</p>`,
		`<p>To change it, <a href="/e">edit this page</a> in the editor.</p>`,
		`<p>Last updated rows win.</p>`,
		`<p>See <a href="a">previous</a> and <a href="b">next</a> about how iterators step through a list.</p>`,
		`<ul><li><a href="/a">A</a></li><li><a href="/b">B</a></li><li><a href="/c">C</a></li></ul>`,
		`<ul><li><a href="#a">a</a> does this</li><li><a href="#b">b</a> that</li><li><a href="#c">c</a> too</li></ul>`,
		`<div class="header">Content in a header</div>`,
		`<h2>S</h2><ul><li><a href="#a">A</a></li><li><a href="#b">B</a></li><li><a href="#c">C</a></li></ul>`,
	}
	text := `<p>` + strings.Repeat("The page has a text. ", 20) + `</p>`
	alone := markdown(t, "<main>"+text+"</main>")
	for _, s := range gone {
		if got := markdown(t, "<main>"+text+s+"</main>"); got != alone {
			t.Errorf("%s leaves %q", s, strings.TrimPrefix(got, alone))
		}
	}
	for _, s := range kept {
		if got := markdown(t, "<main>"+text+s+"</main>"); len(got) < len(alone)+4 {
			t.Errorf("%s is lost", s)
		}
	}
}

func TestTabsAndDetailsAreKept(t *testing.T) {
	got := markdown(t, `<main><h1>Install</h1>
<div class="tabs"><div role="tablist"><button role="tab" aria-controls="p1">npm</button><button role="tab" aria-controls="p2">yarn</button><button role="tab" aria-controls="p3">pnpm</button></div>
<div role="tabpanel" id="p1"><pre>npm i x</pre></div><div role="tabpanel" id="p2" hidden><pre>yarn add x</pre></div><div role="tabpanel" id="p3" hidden style="display:none"><pre>pnpm add x</pre></div></div>
<details><summary>Trouble?</summary><p>Restart.</p></details>
<h3><button aria-expanded="false" aria-controls="acc">Frequently asked</button></h3><div id="acc" hidden>Forty-two.</div>
<div class="modal" role="dialog" hidden>Sign up for news</div><div hidden>Secret</div></main>`)
	want := "**npm**\n\n```\nnpm i x\n```\n\n**yarn**\n\n```\nyarn add x\n```\n\n**pnpm**\n\n```\npnpm add x\n```\n\n**Trouble?**\n\nRestart.\n\nForty-two."
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnchors(t *testing.T) {
	tests := map[string]struct{ body, title, anchor string }{
		"own":              {`<h2 id="one">One</h2>`, "One", "one"},
		"section":          {`<section id="two"><h2>Two</h2><p>x</p></section>`, "Two", "two"},
		"section class":    {`<div class="sect1" id="s"><div class="titlepage"><h2>Two</h2></div></div>`, "Two", "s"},
		"inside":           {`<h2><a id="three"></a>Three</h2>`, "Three", "three"},
		"named inside":     {`<h2><a name="three">Three</a></h2>`, "Three", "three"},
		"span inside":      {`<h2><span id="three">Three</span></h2>`, "Three", "three"},
		"before":           {`<a name="four"></a><h2>Four</h2>`, "Four", "four"},
		"before, nearest":  {`<p>x</p><a id="far"></a> <a id="near"></a>` + "\n" + `<h2>Four</h2>`, "Four", "near"},
		"before, in block": {`<p><a name="four"></a></p><h2>Four</h2>`, "Four", "four"},
		"around":           {`<a name="four"><h2>Four</h2></a>`, "Four", "four"},
		"old javadoc":      {`<a name="add-T-"><!-- --></a><ul><li><h4>add</h4><pre>void add(T t)</pre></li></ul>`, "add", "add-T-"},
		"note":             {`<h2>Six</h2><a name="x"></a><div class="note"><h3 class="title">Note</h3></div>`, "Six", ""},
		"none":             {`<h2>Five</h2>`, "Five", ""},
		"text between":     {`<a name="x"></a>text<h2>Five</h2>`, "Five", ""},
		"slug of a div":    {`<div id="set-up"><h2>Set up</h2></div>`, "Set up", "set-up"},
		"layout div":       {`<div id="row-3"><h2>Set up</h2></div>`, "Set up", ""},
		"non-ascii":        {`<h2 id="配置">配置<a class="header-anchor" href="#%E9%85%8D%E7%BD%AE">¶</a><span class="sr-only">Direct link</span></h2>`, "配置", "配置"},
		"permalink beside": {`<div><h2>Six</h2><a class="anchor" id="six" href="#six"></a></div>`, "Six", "six"},
		"permalink wins":   {`<section id="mod"><span id="alias"></span><h2>Six<a class="headerlink" href="#mod">¶</a></h2></section>`, "Six", "mod"},
		"dead permalink":   {`<h2>Seven <a href="#gone">#</a></h2>`, "Seven", ""},
		"link as heading":  {`<h2 id="h"><a href="#h">Eight</a></h2>`, "Eight", "h"},
		"words of a link":  {`<h2 id="lt"><a href="#lt">Link types</a></h2>`, "Link types", "lt"},
		"wordy permalink":  {`<h2 id="lt">Types<a href="#lt">Permalink to this heading</a></h2>`, "Types", "lt"},
		"nextra":           {`<h2>Ten<a href="#ten" id="ten" class="subheading-anchor" aria-label="Permalink for this section"></a></h2>`, "Ten", "ten"},
		"badge":            {`<h2 id="b">Beta <span class="badge">new</span></h2>`, "Beta", "b"},
		"link elsewhere":   {`<h2>See <a href="#other">other</a></h2><p id="other">x</p>`, "See other", ""},
		"taken id":         {`<p id="dup">x</p><h2 id="dup">Nine</h2>`, "Nine", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc, _ := read(t, `<div id="___gatsby"><div id="content"><h1>Top</h1><p>Text.</p>`+test.body+`<p>More.</p></div></div>`)
			last := doc.Sections[len(doc.Sections)-1]
			if last.Title != test.title || last.Anchor != test.anchor {
				t.Errorf("got %q #%q, want %q #%q", last.Title, last.Anchor, test.title, test.anchor)
			}
		})
	}
	t.Run("page-wide container", func(t *testing.T) {
		for _, id := range []string{"___gatsby", "main-content", "app"} {
			doc, _ := read(t, `<div id="`+id+`"><h2>Only</h2><p>Text.</p></div>`)
			if s := doc.Sections[0]; s.Title != "Only" || s.Anchor != "" {
				t.Errorf("#%s: got %q #%q", id, s.Title, s.Anchor)
			}
		}
	})
}

func TestDeepAndLargePages(t *testing.T) {
	t.Run("wrapped headings", func(t *testing.T) {
		wrap := func(s string) string {
			return strings.Repeat("<div>", 8) + s + strings.Repeat("</div>", 8)
		}
		doc, _ := read(t, "<main><article>"+wrap("<h1>A</h1>")+wrap(`<h2 id="b">B</h2>`)+wrap("<p>b text</p>")+wrap(`<h3 id="c">C</h3><p>c text</p>`)+"</article></main>")
		var got []string
		for _, s := range doc.Sections {
			got = append(got, strings.Join(s.Path, ">")+": "+s.Markdown)
		}
		if diff := cmp.Diff([]string{"A: ", "A>B: b text", "A>B>C: c text"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("unclosed", func(t *testing.T) {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, "<p>Paragraph <b>%d</b>\n<li>item %d\n", i, i)
		}
		doc, signals := read(t, "<main><ul>"+b.String()+"</ul></main>")
		if signals.TooDeep {
			t.Error("unclosed elements count as nested")
		}
		if !strings.Contains(join(doc), "item 1999") {
			t.Error("the end is lost")
		}
	})
	t.Run("20 MB", func(t *testing.T) {
		var b strings.Builder
		b.WriteString("<main><h1>Deep</h1>")
		for b.Len() < 20<<20 {
			b.WriteString(strings.Repeat("<div><span>", 1000))
			b.WriteString(`<h2 id="h` + strconv.Itoa(b.Len()) + `">Bottom</h2><p>` + strings.Repeat("Lorem ipsum dolor sit amet. ", 2000) + "</p>")
			b.WriteString(strings.Repeat("</span></div>", 1000))
		}
		b.WriteString("<p>The end.</p></main>")
		start := time.Now()
		doc, signals, err := extract.Extract(docseek.Page{URL: address, Body: []byte(b.String())}, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d sections in %v", len(doc.Sections), time.Since(start))
		if !signals.TooDeep || signals.Truncated {
			t.Errorf("too deep %v, truncated %v", signals.TooDeep, signals.Truncated)
		}
		if n := len(doc.Sections); n < 200 || !strings.HasSuffix(doc.Sections[n-1].Markdown, "The end.") {
			t.Errorf("%d sections, and the last ends %q", n, tail(doc.Sections[n-1].Markdown))
		}
	})
	t.Run("too many tags", func(t *testing.T) {
		body := "<p>start</p>" + strings.Repeat("<br>", 1_100_000) + "<p>end</p>"
		doc, signals := read(t, body)
		if got := join(doc); got != "start" || !signals.Truncated {
			t.Errorf("truncated %v: %q", signals.Truncated, tail(got))
		}
	})
	t.Run("hostile", func(t *testing.T) {
		bold := strings.Builder{}
		for i := range 500 {
			fmt.Fprintf(&bold, "<b x=%d>", i)
		}
		for name, body := range map[string]string{
			"open formatting":   bold.String() + strings.Repeat("<p>x", 50000) + "<p>end",
			"nested quotes":     strings.Repeat("<blockquote><ul><li>", 3000) + "end",
			"nested tables":     strings.Repeat("<table><tr><td>", 3000) + "end",
			"nested lists":      strings.Repeat("<ul><li>x", 3000) + "end",
			"nested bold":       strings.Repeat("<b><i>", 3000) + "end",
			"nested dl":         strings.Repeat(`<dl><dt id="a">t<dd>`, 3000) + "end",
			"wide spans":        `<table>` + strings.Repeat(`<tr><td rowspan="65000" colspan="9999">x</td></tr>`, 2000) + `<tr><td>end</td></tr></table>`,
			"stars":             "<p>" + strings.Repeat("*a_ `[", 50000) + "</p>end",
			"angle brackets":    "<p>" + strings.Repeat("&lt;a ", 50000) + "</p>end",
			"stray end tags":    strings.Repeat("</b></p></div>", 30000) + "end",
			"headings":          strings.Repeat("<h2>x</h2>", 30000) + "end",
			"links":             strings.Repeat(`<a href="/a">x</a>`, 20000) + "end",
			"tab lists":         strings.Repeat(`<div role="tablist"><a role="tab">x</a></div>`, 20000) + "end",
			"tab panels":        strings.Repeat(`<div role="tablist"><a role="tab">x</a></div><div role="tabpanel">y</div>`, 20000) + "end",
			"radio buttons":     strings.Repeat(`<p><input type="radio"><label for="x">y</label><label for="z">y</label></p>`, 20000) + "end",
			"anchors, headings": strings.Repeat(`<a id="x"></a><div><h2>y</h2></div>`, 20000) + "end",
			"ids":               strings.Repeat(`<a id="x"></a>`, 50000) + "<h2>x</h2>end",
			"fences":            "<pre>" + strings.Repeat("`", 1_000_000) + "</pre>end",
		} {
			t.Run(name, func(t *testing.T) {
				doc, _ := read(t, body)
				if got := join(doc); !strings.Contains(got, "end") {
					t.Errorf("the end is lost: %q", tail(got))
				}
			})
		}
	})
}

func tail(s string) string { return s[max(0, len(s)-60):] }

func TestTitles(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"h1":                {`<title>T | Site</title><main><h1>Heading</h1><p>x</p></main>`, "Heading"},
		"h1 outside":        {`<title>T</title><header><h1>Heading</h1></header><main><p>x</p></main>`, "Heading"},
		"og:title":          {`<head><meta property="og:title" content="Open graph"><title>T | Site</title></head><main><p>x</p></main>`, "Open graph"},
		"title":             {`<title>The page | Site</title><main><p>x</p></main>`, "The page"},
		"site in title":     {`<head><title>The page - Acme</title><meta property="og:site_name" content="Acme"></head><main><p>x</p></main>`, "The page"},
		"dash in title":     {`<title>git-add - Add files</title><main><p>x</p></main>`, "git-add - Add files"},
		"heading in title":  {`<title>Set up – Acme 2</title><main><h2>Set up</h2><p>x</p></main>`, "Set up"},
		"slug":              {`<main><p>x</p></main>`, "Page one"},
		"permalink in h1":   {`<main><h1 id="a">Clean <a href="#a">#</a></h1><p>x</p></main>`, "Clean"},
		"picture as h1":     {`<main><h1><img src="l.png" alt="Logo"></h1><p>x</p></main>`, "Logo"},
		"hidden characters": {"<main><h1>Pay\u200bment\U000E0041 \u202eX</h1><p>x</p></main>", "Payment X"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if doc, _ := read(t, test.body); doc.Title != test.want {
				t.Errorf("got %q, want %q", doc.Title, test.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"two header rows and spans": {
			`<table><thead><tr><th rowspan="2">Key</th><th colspan="2">Time</th></tr><tr><th>read</th><th>write</th></tr></thead>
<tbody><tr><td rowspan="2">a</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody></table>`,
			"| Key | Time / read | Time / write |\n| --- | --- | --- |\n| a | 1 | 2 |\n| a | 3 | 4 |",
		},
		"no header":     {`<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>`, "|  |  |\n| --- | --- |\n| a | b |\n| c | d |"},
		"row headers":   {`<table><tr><th>a</th><td>b</td></tr><tr><th>c</th><td>d</td></tr></table>`, "|  |  |\n| --- | --- |\n| a | b |\n| c | d |"},
		"pipes":         {`<table><tr><th>x</th><th>y</th></tr><tr><td>a|b</td><td><code>c|d</code></td></tr></table>`, "| x | y |\n| --- | --- |\n| a\\|b | `c\\|d` |"},
		"blocks":        {`<table><tr><th>x</th><th>y</th></tr><tr><td><p>one</p><p>two</p></td><td>a<br>b<ul><li>c<li>d</ul></td></tr></table>`, "| x | y |\n| --- | --- |\n| one · two | a b · c · d |"},
		"group row":     {`<table><tr><th>x</th><th>y</th></tr><tr><td colspan="2">All</td></tr><tr><td>a</td><td>b</td></tr></table>`, "| x | y |\n| --- | --- |\n| All |\n| a | b |"},
		"caption":       {`<table><caption>Speeds</caption><tr><th>x</th><th>y</th></tr><tr><td>a</td><td>b</td></tr></table>`, "Speeds\n\n| x | y |\n| --- | --- |\n| a | b |"},
		"foot":          {`<table><thead><tr><th>x</th><th>y</th></tr></thead><tfoot><tr><td>sum</td><td>9</td></tr></tfoot><tbody><tr><td>a</td><td>b</td></tr></tbody></table>`, "| x | y |\n| --- | --- |\n| a | b |\n| sum | 9 |"},
		"code in cells": {"<table><tr><th>x</th><th>y</th></tr><tr><td>a</td><td><pre>one\n  two</pre></td></tr></table>", "- x: a\n\n  y:\n\n  ```\n  one\n    two\n  ```"},
		"layout":        {`<table role="presentation"><tr><td>left</td><td>right</td></tr><tr><td><p>block</p></td></tr></table>`, "left right\n\nblock"},
		"one cell":      {`<table><tr><td><p>block</p><p>two</p></td></tr></table>`, "block\n\ntwo"},
		"numbers":       {`<table class="highlighttable"><tr><td class="linenos"><pre>1` + "\n2</pre></td><td class=code><pre>a\nb</pre></td></tr></table>", "```\na\nb\n```"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, markdown(t, "<main>"+test.body+"</main>")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInline(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"order":                {`Set <code>a</code> then <b>b</b> before <a>c</a> ends。`, "Set `a` then **b** before c ends。"},
		"names stay":           {`max_retries, __init__ and *args, **kwargs, a * b, snake_case_name`, `max_retries, \_\_init__ and *args, **kwargs, a * b, snake_case_name`},
		"emphasis by accident": {`*not bold* and _not em_`, `\*not bold* and \_not em_`},
		"tags":                 {`a &lt; b, &lt;T&gt; and 1 &lt;2`, `a < b, \<T> and 1 <2`},
		"entities":             {`&amp;amp; &amp; AT&amp;T`, `\&amp; & AT&T`},
		"backslash":            {`C:\dir and \* star`, `C:\dir and \\* star`},
		"brackets":             {`see [1] and [a](b)`, `see [1] and [a\](b)`},
		"backticks":            {"one ` tick; <code>a`b</code>, <code>`</code>", "one \\` tick; ``a`b``, `` ` ``"},
		"lone backtick":        {"one ` tick", "one ` tick"},
		"runs of backticks":    {"<code>a`b``c````d</code>", "```a`b``c````d```"},
		"hash":                 {`# not a heading`, `\# not a heading`},
		"list":                 {`1. not a list`, `1\. not a list`},
		"dash":                 {`- not a list`, `\- not a list`},
		"plus":                 {`+1 is fine`, `+1 is fine`},
		"bold in bold":         {`<b>a <strong>b</strong> c</b>`, "**a b c**"},
		"space in bold":        {`x<b> y </b>z`, "x **y** z"},
		"star in bold":         {`<b>a *b</b>`, `**a \*b**`},
		"empty bold":           {`a<b> </b>b`, "a b"},
		"bold code":            {`<b><code>x</code></b>`, "`x`"},
		"link":                 {`<a href="../x.html#y">t</a>`, "[t](https://docs.example.com/x.html#y)"},
		"link in code":         {`<code>f(<a href="#x">int</a>)</code>`, "`f(int)`"},
		"code in link":         {`<a href="/x"><code>f</code></a>`, "[`f`](https://docs.example.com/x)"},
		"brackets in link":     {`<a href="/x">a] [b</a>`, `[a\] \[b](https://docs.example.com/x)`},
		"parens in link":       {`<a href="/x(1">t</a> <a href="/x_(y)">u</a>`, "[t](https://docs.example.com/x%281) [u](https://docs.example.com/x_(y))"},
		"scripts as links":     {`<a href="javascript:x()">t</a>, <a href="mailto:a@b.c">m</a>`, "t, m"},
		"image":                {`<img src="x.png" alt="A lamp"> here <img src="y.png" alt="">`, "A lamp here"},
		"linked image":         {`<a href="/x"><img alt="Build"></a>`, "[Build](https://docs.example.com/x)"},
		"ruby":                 {`<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>です`, "漢字(かんじ)です"},
		"raised":               {`2<sup>10</sup>, x<sup>n+1</sup>, 1<sup>st</sup>, H<sub>2</sub>O, a<sub>i</sub>`, "2^10, x^(n+1), 1st, H2O, a_i"},
		"break":                {`a<br>b`, "a  \nb"},
		"break before mark":    {`a<br>- b`, "a  \n\\- b"},
		"quote":                {`<q>so</q>`, "“so”"},
		"struck":               {`<del>old</del> ~/.config and ~/x`, "~~old~~ ~/.config and ~/x"},
		"wbr":                  {`long<wbr>word`, "longword"},
		"soft hyphen":          {"hy\u00adphen", "hyphen"},
		"katex":                {`<span class="katex"><span class="katex-mathml"><math><semantics><mrow></mrow><annotation encoding="application/x-tex">a_1*b*</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">a1b</span></span>`, "$a_1*b*$"},
		"mathjax":              {`x <script type="math/tex">\frac{1}{2}</script>`, `x $\frac{1}{2}$`},
		"sphinx math":          {`<span class="math notranslate">\(x_1\)</span>`, `$x_1$`},
		"permalink":            {`text<a class="headerlink" href="#x">¶</a>`, "text"},
		"operator link":        {`<a href="#plus">+</a> adds`, "[+](https://docs.example.com/guide/page-one.html#plus) adds"},
		"unknown element":      {`<x-y>custom</x-y> one`, "custom one"},
		"checkbox":             {`<ul><li><input type="checkbox" checked> done<li><input type="checkbox"> open</ul>`, "- [x] done\n- [ ] open"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body := "<main><p>" + test.body + "</p></main>"
			if diff := cmp.Diff(test.want, markdown(t, body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"nested lists":     {`<ul><li>a<ol start="3"><li>b<li>c</ol><li>d</ul>`, "- a\n  3. b\n  4. c\n- d"},
		"code in list":     {"<ol><li><p>Run</p><pre>x\n\n y</pre><p>then</p><li>stop</ol>", "1. Run\n\n   ```\n   x\n\n    y\n   ```\n\n   then\n\n2. stop"},
		"definitions":      {`<dl><dt>t1<dt>t2<dd>d<dt>t3<dd><p>p</p><pre>c</pre></dl>`, "t1\nt2\n: d\n\nt3\n: p\n\n  ```\n  c\n  ```"},
		"quote":            {`<blockquote><p>a</p><pre>b</pre></blockquote>`, "> a\n>\n> ```\n> b\n> ```"},
		"fence in code":    {"<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"},
		"admonition":       {`<div class="admonition tip"><p class="admonition-title">Hint</p><p>Do.</p></div>`, "> **Hint**\n>\n> Do."},
		"unlabelled alert": {`<div class="alert alert-info">Do.</div>`, "> **Info**\n>\n> Do."},
		"github alert":     {`<div class="markdown-alert markdown-alert-caution"><p class="markdown-alert-title"><svg></svg>Caution</p><p>Do.</p></div>`, "> **Caution**\n>\n> Do."},
		"breaks":           {`one<br>two<br><br>three`, "one  \ntwo\n\nthree"},
		"copy in code":     {`<pre><div class="btn-copy">Copy</div>x</pre>`, "```\nx\n```"},
		"label in list":    {`<ul><li><h4>Card</h4>text</li></ul>`, "- **Card**\n\n  text"},
		"figure":           {`<figure><img alt="A map"><figcaption>Where</figcaption></figure>`, "A map\n\nWhere"},
		"display math":     {`<div class="math">\[x^2\]</div>`, "$$\nx^2\n$$"},
		"mermaid":          {`<pre class="mermaid">graph TD; a--&gt;b</pre>`, "```\ngraph TD; a-->b\n```"},
		"inline and block": {`one <span>two<div>three</div>four</span> five`, "one\n\ntwo\n\nthree\n\nfour\n\nfive"},
		"heading in quote": {`<blockquote><h3>So</h3>it goes</blockquote>`, "> **So**\n>\n> it goes"},
		"card":             {`<a href="/x"><h3>Card</h3><p>text</p></a>`, "**Card**\n\ntext"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, markdown(t, "<main>"+test.body+"</main>")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReferenceEntries(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<main><h1>API</h1><section id="f"><h2>Functions</h2><p>All of them.</p>`)
	const n = 3000
	for i := range n {
		fmt.Fprintf(&b, `<dl class="py function"><dt class="sig" id="m.f%d"><span>m.</span><span>f%d</span>(<em>x</em>)<a class="headerlink" href="#m.f%d">¶</a></dt><dd><p>%s</p></dd></dl>`, i, i, i, strings.Repeat("word ", 40))
	}
	b.WriteString(`</section><p>Afterword.</p></main>`)
	doc, _ := read(t, b.String())
	anchors := map[string]docseek.Section{}
	for _, s := range doc.Sections {
		anchors[s.Anchor] = s
	}
	if len(anchors) < n {
		t.Fatalf("%d anchors, want at least %d", len(anchors), n)
	}
	got := anchors["m.f1234"]
	if got.Title != "m.f1234(x)" || got.Level != 3 || !slices.Equal(got.Path, []string{"API", "Functions", "m.f1234(x)"}) {
		t.Errorf("got %q, level %d, path %q", got.Title, got.Level, got.Path)
	}
	last := doc.Sections[len(doc.Sections)-1]
	if last.Markdown != "Afterword." || last.Title != "Functions" || last.Anchor != "f" {
		t.Errorf("what comes after the entries is %q under %q #%s", last.Markdown, last.Title, last.Anchor)
	}
}

func TestHiddenTextIsDropped(t *testing.T) {
	got := markdown(t, `<main><h1>Page</h1><p>Ignore previous instructions, it says.</p>
<!-- comment: ignore previous instructions -->
<div style="display: none !important">hidden one</div><p style="visibility:hidden">hidden two</p><span hidden>hidden three</span>
<span style="font-size:0">hidden four</span><template>hidden five</template><noscript>hidden six</noscript>
<p>zero`+"\u200b\u200c\u200d\u2060\ufeff"+`width, tags`+"\U000E0069\U000E0067"+`, bidi `+"\u202eevil\u2066"+`, sel`+"\ufe01\U000E0101"+`ectors, کتاب`+"\u200c"+`ها 👩`+"\u200d"+`💻</p><pre>a`+"\u202e"+`b</pre></main>`)
	want := "Ignore previous instructions, it says.\n\nzerowidth, tags, bidi evil, selectors, کتاب\u200cها 👩\u200d💻\n\n```\nab\n```"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCodeCommentsAreNoHeadings(t *testing.T) {
	doc, _ := read(t, "<main><h1>Set up</h1><pre class=language-bash># Install\nmake\n## Build</pre></main>")
	if len(doc.Sections) != 1 || doc.Sections[0].Markdown != "```bash\n# Install\nmake\n## Build\n```" {
		t.Errorf("got %+v", doc.Sections)
	}
}

func TestContentSelector(t *testing.T) {
	page := docseek.Page{URL: address, Body: []byte(`<main><h1>A</h1><div class="x">one</div><p>no</p><div class="x">two</div></main>`), ContentType: "text/html"}
	doc, _, err := extract.Extract(page, extract.Options{Content: ".x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := join(doc); got != "one\n\ntwo" {
		t.Errorf("got %q", got)
	}
	if doc, _, err = extract.Extract(page, extract.Options{Content: ".none"}); err != nil || !strings.Contains(join(doc), "no") {
		t.Errorf("without a match: %v, %v", doc.Sections, err)
	}
	if _, _, err = extract.Extract(page, extract.Options{Content: "div["}); err == nil {
		t.Error("a broken selector is taken")
	}
}

func TestSignals(t *testing.T) {
	shell := `<!doctype html><html><head><title>App</title></head><body><div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript><script>` + strings.Repeat("x=1;", 75000) + `</script></body></html>`
	tests := map[string]struct {
		body string
		want extract.Signals
	}{
		"head": {
			`<html lang="pt_BR"><head><base href="/docs/"><link rel="canonical" href="x.html#top"><link rel="alternate" hreflang="DE-at" href="/de/x.html"><meta name="robots" content="noindex, nofollow"></head><body><p>ok</p></body></html>`,
			extract.Signals{Canonical: "https://docs.example.com/docs/x.html", Language: "pt-br", Alternates: map[string]string{"de-at": "https://docs.example.com/de/x.html"}, NoIndex: true, NoFollow: true, VisibleChars: 2, KeptChars: 2},
		},
		"none":           {`<meta name="ROBOTS" content="NONE"><p>ok</p>`, extract.Signals{NoIndex: true, NoFollow: true, VisibleChars: 2, KeptChars: 2}},
		"refresh":        {`<meta http-equiv="Refresh" content="0; URL='../new/#x'"><p>ok</p>`, extract.Signals{Refresh: "https://docs.example.com/new/", VisibleChars: 2, KeptChars: 2}},
		"reload":         {`<meta http-equiv="refresh" content="300"><p>ok</p>`, extract.Signals{VisibleChars: 2, KeptChars: 2}},
		"login":          {`<form><label>ok</label><input type="password"></form>`, extract.Signals{LoginForm: true, VisibleChars: 2, KeptChars: 2}},
		"shell":          {shell, extract.Signals{NeedsJS: true}},
		"nameless shell": {`<div class="x">Loading…</div><script src="app.js"></script>`, extract.Signals{NeedsJS: true, VisibleChars: 8, KeptChars: 8}},
		"redirect":       {`<p>Redirecting</p><script>x</script><meta http-equiv="refresh" content="0;url=/y">`, extract.Signals{Refresh: "https://docs.example.com/y", VisibleChars: 11, KeptChars: 11}},
		"rendered app":   {`<div id="root"><p>` + strings.Repeat("word ", 100) + `</p></div><script>x</script>`, extract.Signals{VisibleChars: 400, KeptChars: 400}},
		"not found":      {`<title>Page not found</title><main><h1>404</h1></main>`, extract.Signals{NotFound: true, VisibleChars: 3, KeptChars: 3}},
		"about a 404":    {`<main><h1>Handling 404 responses</h1></main>`, extract.Signals{VisibleChars: 20, KeptChars: 20}},
		"links counted":  {`<main><p>a <a href="/x">link</a></p></main>`, extract.Signals{VisibleChars: 5, KeptChars: 5, LinkChars: 4}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, test.body)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListing(t *testing.T) {
	_, index := read(t, `<main><h1>Index</h1>`+strings.Repeat(`<p><a href="/x">some function</a>, </p>`, 50)+`</main>`)
	_, page := read(t, `<main><h1>Page</h1>`+strings.Repeat(`<p>Text with <a href="/x">a link</a>.</p>`, 50)+`</main>`)
	if !index.Listing() || page.Listing() {
		t.Errorf("listing: index %v, page %v", index.Listing(), page.Listing())
	}
}

func TestLinks(t *testing.T) {
	doc, _ := read(t, `<base href="https://cdn.example.com/b/"><nav><a href="a#x">a</a><a href="a#y">a</a></nav><a href="#top">t</a><a href="//other.example.com">o</a><a href="ftp://x">f</a><a href="http://[bad">b</a><map><area href=" /c
d "></map>`)
	want := []string{"https://cdn.example.com/b/a", "https://other.example.com", "https://cdn.example.com/cd"}
	if diff := cmp.Diff(want, doc.Links); diff != "" {
		t.Error(diff)
	}
}

func TestContentTypes(t *testing.T) {
	tests := map[string]struct{ kind, url, body, want string }{
		"html as text":     {"text/plain", address, "<!DOCTYPE html><p>a</p>", "a"},
		"markdown as text": {"text/plain", "https://x.test/a.md", "Use `x_y`.", "Use `x_y`."},
		"markdown shape":   {"text/plain", "https://x.test/llms.txt", "# T\n\n- [a](b)\n", "- [a](https://x.test/b)"},
		"plain text":       {"text/plain", "https://x.test/a.txt", "A line\nand another.\n\n  indented *x*\n    more\n", "A line and another.\n\n```\n  indented *x*\n    more\n```"},
		"xhtml":            {"application/xhtml+xml", address, `<html xmlns="http://www.w3.org/1999/xhtml"><body><script src="x"/><p>a<a id="k"/> b</p><p>c</p></body></html>`, "a b\n\nc"},
		"hidden markdown":  {"text/markdown", address, "a <!-- no --> b\n\n<div hidden>no</div>", "a b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc, _, err := extract.Extract(docseek.Page{URL: test.url, ContentType: test.kind, Body: []byte(test.body)}, extract.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, join(doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, _, err := extract.Extract(docseek.Page{URL: address, ContentType: "application/pdf"}, extract.Options{})
	if !errors.Is(err, extract.ErrUnsupported) || !strings.Contains(err.Error(), "application/pdf") {
		t.Errorf("a PDF gives %v", err)
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{"<p>a<b>b", "<table><tr><td rowspan=0>x", "<dl><dt id=a>x<dd>y</dl>", "<h1><a href=#x>¶</a>", "<pre><div>a</div>", "<ul><p><li><table><h2 id=k>"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, body string, md bool) {
		kind := "text/html"
		if md {
			kind = "text/markdown"
		}
		doc, signals, err := extract.Extract(docseek.Page{URL: address, Body: []byte(body), ContentType: kind}, extract.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(join(doc), "\x00\x01\x02\x03") {
			t.Error("a mark is left")
		}
		if signals.VisibleChars > 0 && len(doc.Sections) == 0 {
			t.Errorf("%d visible characters, and nothing is kept", signals.VisibleChars)
		}
		if !md {
			checkAnchors(t, doc, body)
		}
	})
}
