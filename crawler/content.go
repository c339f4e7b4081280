package crawler

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/docseek/docseek"
)

func validators(header http.Header) docseek.Validators {
	return docseek.Validators{ETag: header.Get("ETag"), LastModified: header.Get("Last-Modified")}
}

func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	return kind
}

// refuseType says by its type alone why an answer is no page. Plain text is
// looked at, because HTML and Markdown are often sent as such.
func refuseType(kind string, u *url.URL) string {
	switch kind {
	case "text/html", "application/xhtml+xml", "text/markdown", "text/x-markdown", "text/plain", "":
		return ""
	default:
		if isMarkdownPath(u) && kind == "application/octet-stream" {
			return ""
		}
		return "content_type " + kind
	}
}

// contentKind is the type that a page is read as.
func contentKind(kind string, u *url.URL, text []byte) (string, string) {
	switch kind {
	case "text/html", "application/xhtml+xml":
		return kind, ""
	case "text/markdown", "text/x-markdown":
		return "text/markdown", ""
	}
	switch {
	case isMarkdownPath(u):
		return "text/markdown", ""
	case strings.HasPrefix(http.DetectContentType(text), "text/html"):
		return "text/html", ""
	default:
		return kind, "content_type " + cmp.Or(kind, "unknown")
	}
}

func isMarkdownPath(u *url.URL) bool {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".md", ".markdown":
		return true
	default:
		return false
	}
}

func contentLength(header http.Header) int64 {
	n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// modified is the date of last change that a server gives. One that says "now"
// to every question says nothing.
func modified(header http.Header) time.Time {
	at, err := http.ParseTime(header.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil && date.Sub(at).Abs() < 2*time.Second {
		return time.Time{}
	}
	return at.UTC()
}

// robotsTag reports an X-Robots-Tag that keeps the page out of indexes, for
// everybody or for us.
func robotsTag(header http.Header) bool {
	for _, line := range header.Values("X-Robots-Tag") {
		rules := line
		if agent, rest, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(agent, ", ") {
			if !strings.EqualFold(strings.TrimSpace(agent), productName) {
				continue
			}
			rules = rest
		}
		for rule := range strings.SplitSeq(strings.ToLower(rules), ",") {
			if rule = strings.TrimSpace(rule); rule == "noindex" || rule == "none" {
				return true
			}
		}
	}
	return false
}

// visibleText is the text of a body that is too short to be a page. What is
// longer needs no look.
func visibleText(kind string, text []byte) string {
	if len(text) > shortPage || strings.Contains(kind, "html") || bytes.IndexByte(text, '<') >= 0 {
		return ""
	}
	return string(text)
}

func documentText(doc docseek.Document) string {
	var b strings.Builder
	b.WriteString(doc.Title)
	for _, s := range doc.Sections {
		if b.Len() > shortPage {
			break
		}
		b.WriteString(" " + s.Title + " " + s.Markdown)
	}
	return b.String()
}

// contentHash is of what a document says and where: not of what stands around
// it on the page.
func contentHash(doc docseek.Document) string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	write(doc.Title, doc.Language)
	for _, s := range doc.Sections {
		write(s.Title, strconv.Itoa(s.Level), s.Anchor, s.Markdown)
	}
	return hex.EncodeToString(h.Sum(nil))
}
