package extract

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/docseek/docseek"
)

// source is a page's content as HTML, whatever it was written in.
type source struct {
	html  []byte
	xhtml bool
	// title is what the front matter of a Markdown page calls it.
	title string
}

// sourceOf tells what a page is written in. Types lie, so what is HTML by its
// first bytes is read as such, and plain text that looks like Markdown as Markdown.
func sourceOf(in docseek.Page, u *url.URL) (source, error) {
	switch in.ContentType {
	case "text/html", "":
		return source{html: in.Body}, nil
	case "application/xhtml+xml":
		return source{html: in.Body, xhtml: true}, nil
	case "text/markdown", "text/x-markdown", "text/plain", "text/mdx":
	default:
		return source{}, fmt.Errorf("%w: %s", ErrUnsupported, in.ContentType)
	}
	body := in.Body
	if len(body) > maxBytes {
		body = body[:maxBytes]
	}
	switch {
	case looksLikeHTML(body):
		return source{html: in.Body}, nil
	case in.ContentType != "text/plain" || markdownName(u) || looksLikeMarkdown(body):
		return fromMarkdown(body)
	}
	return source{html: fromText(body)}, nil
}

func looksLikeHTML(body []byte) bool {
	start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 512)], "\ufeff \t\r\n"))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

func markdownName(u *url.URL) bool {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".md", ".markdown", ".mdx", ".mkd":
		return true
	}
	return false
}

var markdownLine = regexp.MustCompile("(?m)^(?:#{1,6} \\S|```|\\[[^\\]]+\\]\\(|[-*] \\[[^\\]]+\\]\\()")

// looksLikeMarkdown reports whether plain text has lines that only Markdown has.
func looksLikeMarkdown(body []byte) bool {
	return len(markdownLine.FindAllIndex(body[:min(len(body), 64<<10)], 2)) == 2
}

// fromMarkdown renders Markdown (CommonMark with GFM tables, strikethrough and
// task lists). Headings get no ids but those that the author wrote, as what
// ids the site would give them is not known.
func fromMarkdown(body []byte) (source, error) {
	front, body := frontMatter(body)
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.DefinitionList),
		goldmark.WithParserOptions(parser.WithAttribute()),
		goldmark.WithRendererOptions(renderhtml.WithUnsafe()),
	)
	var b bytes.Buffer
	b.WriteString("<body><main>")
	if err := md.Convert(containers(body), &b); err != nil {
		return source{}, fmt.Errorf("read Markdown: %w", err)
	}
	return source{html: b.Bytes(), title: front}, nil
}

var frontTitle = regexp.MustCompile(`(?m)^title\s*[:=]\s*(.+?)\s*$`)

// frontMatter takes the YAML or TOML block off a Markdown page and returns the
// title that it gives.
func frontMatter(body []byte) (title string, rest []byte) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	for _, fence := range []string{"---", "+++"} {
		if !bytes.HasPrefix(body, []byte(fence+"\n")) && !bytes.HasPrefix(body, []byte(fence+"\r\n")) {
			continue
		}
		end := bytes.Index(body, []byte("\n"+fence))
		if end < 0 || end > 64<<10 {
			return "", body
		}
		if m := frontTitle.FindSubmatch(body[:end]); m != nil {
			title = collapse(visible(strings.Trim(string(m[1]), `"'`)))
		}
		rest = body[end+1+len(fence):]
		if _, after, found := bytes.Cut(rest, []byte("\n")); found {
			return title, after
		}
		return title, nil
	}
	return "", body
}

var (
	// ":::note[Title]" of Docusaurus, "::: tip Title" of VitePress.
	containerOpen = regexp.MustCompile(`^\s*:::+\s*\{?\.?([a-zA-Z]+)\}?(?:\[([^\]]*)\]|\s+([^{]*))?`)
	containerEnd  = regexp.MustCompile(`^\s*:::+\s*$`)
	// "!!! note", "??? tip "Title"", "=== "Tab"" of MkDocs: what is indented belongs to it.
	indentedOpen = regexp.MustCompile(`^( *)(?:!!!|\?\?\?\+?) +([a-zA-Z]+)[^"]*(?:"([^"]*)")?\s*$`)
	tabOpen      = regexp.MustCompile(`^( *)===[!+]? +"([^"]+)"\s*$`)
	// "> [!NOTE]" of GitHub.
	alertLine  = regexp.MustCompile(`^(\s*(?:>\s*)+)\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*$`)
	codeFence  = regexp.MustCompile("^\\s*(```+|~~~+)")
	moduleLine = regexp.MustCompile(`^(?:import\s.+\sfrom\s+['"].+|import\s+['"].+|export\s+(?:const|default|function)\s.+)$`)
)

// containers writes the notes and tabs of Markdown dialects as HTML, and leaves
// the import lines of MDX out.
func containers(body []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(body))
	w := containerWriter{out: &b}
	w.write(strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n"), 0)
	return b.Bytes()
}

type containerWriter struct {
	out   *bytes.Buffer
	bound markupBound // of what is outside of fences
}

func (w *containerWriter) write(lines []string, depth int) {
	b := w.out
	fence := ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := codeFence.FindStringSubmatch(line); m != nil {
			switch {
			case fence == "":
				fence = m[1]
			case strings.HasPrefix(m[1], fence):
				fence = ""
			}
		}
		if fence != "" {
			b.WriteString(line + "\n")
			continue
		}
		line = w.bound.line(line)
		if m := indentedOpen.FindStringSubmatch(line); m != nil && depth < maxNested {
			inner := indented(lines[i+1:], len(m[1])+4)
			openNote(b, m[2], m[3])
			w.write(inner, depth+1)
			b.WriteString("\n</div>\n\n")
			i += len(inner)
			continue
		}
		if m := tabOpen.FindStringSubmatch(line); m != nil && depth < maxNested {
			inner := indented(lines[i+1:], len(m[1])+4)
			fmt.Fprintf(b, "\n<p><strong>%s</strong></p>\n\n", html.EscapeString(m[2]))
			w.write(inner, depth+1)
			b.WriteByte('\n')
			i += len(inner)
			continue
		}
		switch {
		case containerEnd.MatchString(line):
			b.WriteString("\n</div>\n\n")
		case containerOpen.MatchString(line):
			m := containerOpen.FindStringSubmatch(line)
			openNote(b, m[1], m[2]+m[3])
		case alertLine.MatchString(line):
			m := alertLine.FindStringSubmatch(line)
			fmt.Fprintf(b, "%s**%s**\n%s\n", m[1], kindWord(strings.ToLower(m[2])), m[1])
		case moduleLine.MatchString(line):
			b.WriteByte('\n')
		default:
			b.WriteString(line + "\n")
		}
	}
}

func openNote(b *bytes.Buffer, kind, title string) {
	fmt.Fprintf(b, "\n<div class=\"admonition %s\">\n", strings.ToLower(kind))
	if title = strings.TrimSpace(title); title != "" {
		fmt.Fprintf(b, "<p class=\"admonition-title\">%s</p>\n", html.EscapeString(title))
	}
	b.WriteByte('\n')
}

// indented returns the lines that belong to an opening line: those indented by
// at least so many spaces, without these, and blank ones.
func indented(lines []string, by int) []string {
	var inner []string
	prefix := strings.Repeat(" ", by)
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, prefix):
			inner = append(inner, l[by:])
		case strings.TrimSpace(l) == "":
			inner = append(inner, "")
		default:
			return inner
		}
	}
	return inner
}

// fromText sets plain text as HTML: paragraphs where lines begin at the
// margin, and what is indented or drawn as it stands.
func fromText(body []byte) []byte {
	var b bytes.Buffer
	b.WriteString("<body><main>")
	for para := range strings.SplitSeq(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
		if strings.TrimSpace(para) == "" {
			continue
		}
		tag := "p"
		if strings.HasPrefix(para, "  ") || strings.HasPrefix(para, "\t") || strings.Contains(para, "\n ") || strings.Contains(para, "   ") {
			tag = "pre"
		}
		fmt.Fprintf(&b, "<%s>\n%s</%s>", tag, html.EscapeString(strings.Trim(para, "\n")), tag)
	}
	return b.Bytes()
}
