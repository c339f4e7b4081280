package crawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler/extract"
)

// folderOf reports whether a start is a folder, and which.
func folderOf(start string) (string, bool, error) {
	if rest, ok := strings.CutPrefix(start, "file://"); ok {
		start = rest
	} else if strings.Contains(start, "://") {
		return "", false, nil
	}
	info, err := os.Stat(start)
	if err != nil {
		return "", false, fmt.Errorf("start %q is neither a URL nor a folder that can be read: %w: %w", start, err, ErrSource)
	}
	if !info.IsDir() {
		return "", false, fmt.Errorf("start %q is a file, not a folder: %w", start, ErrSource)
	}
	folder, err := filepath.Abs(start)
	if err != nil {
		return "", false, fmt.Errorf("start %q: %w: %w", start, err, ErrSource)
	}
	return folder, true, nil
}

// folderBase is the address that a folder's pages are published under. Without
// a configured one they are known by their place on disk.
func folderBase(src docseek.Source, folder string) (*url.URL, error) {
	if src.BaseURL == "" {
		return &url.URL{Scheme: "file", Path: filepath.ToSlash(folder) + "/"}, nil
	}
	canonical, err := Canonical(src.BaseURL, "")
	if err != nil {
		return nil, fmt.Errorf("base_url: %w: %w", err, ErrSource)
	}
	base, err := url.Parse(canonical)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w: %w", err, ErrSource)
	}
	if base.RawQuery = ""; !strings.HasSuffix(base.Path, "/") {
		base.Path, base.RawPath = base.Path+"/", ""
	}
	return base, nil
}

// crawlFolder reads the pages of a folder in the order of their paths. Links
// out of the folder are not followed: symbolic links to folders are skipped,
// those to files outside refused.
func (c *Crawler) crawlFolder(ctx context.Context, src docseek.Source, folder string, known func(string) (Known, bool),
	visit func(context.Context, Result) error,
) (Summary, error) {
	base, err := folderBase(src, folder)
	if err != nil {
		return Summary{}, err
	}
	sc, err := newScope(src)
	if err != nil {
		return Summary{}, err
	}
	sc.anchor(base, base.EscapedPath())
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Summary{}, fmt.Errorf("open folder: %w: %w", err, ErrUnreachable)
	}
	defer func() { _ = root.Close() }()
	r := newRunState(c.opts, src, sc, known, visit)
	r.summary.Discovery = fromFolder
	r.fetcher = &fetcher{session: &session{opts: c.opts, log: c.opts.Logger, obey: src.Robots != "ignore"}, content: src.Content}
	files := &folderReader{run: r, root: root, base: base}
	if err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		return files.entry(ctx, name, entry, err)
	}); err != nil && !errors.Is(err, fs.SkipAll) {
		r.incomplete = true
		return files.summarize(), err
	}
	if r.done == 0 {
		r.incomplete = true
		return files.summarize(), fmt.Errorf("folder %s has no .html, .htm or .md file: %w", folder, ErrNothing)
	}
	return files.summarize(), nil
}

// folderReader reads the files of a folder as pages.
type folderReader struct {
	*run
	root  *os.Root
	base  *url.URL
	bytes int64
}

func (f *folderReader) entry(ctx context.Context, name string, entry fs.DirEntry, err error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		f.incomplete = true
		f.warnf("read %s: %v", name, err)
		return nil
	}
	base := path.Base(name)
	if entry.IsDir() {
		if base != "." && (strings.HasPrefix(base, ".") || base == "node_modules") {
			return fs.SkipDir
		}
		return nil
	}
	kind := fileType(base)
	if kind == "" || strings.HasPrefix(base, ".") || entry.Type()&^fs.ModeSymlink != 0 {
		return nil
	}
	if f.pages >= f.maxPages || f.done >= f.opts.MaxURLs {
		f.incomplete = true
		f.warnf("the limit of %d pages is reached; the files from %s on were left out (max_pages)", f.maxPages, name)
		return fs.SkipAll
	}
	u := f.base.JoinPath(strings.Split(name, "/")...)
	t := &task{url: u.String()}
	if f.base.Scheme != "file" {
		canonical, err := Canonical(u.String(), "")
		if err != nil {
			f.warnf("%s: %v", name, err)
			return nil
		}
		t.url = canonical
	}
	if reason, _ := f.scope.check(u); reason != "" {
		return f.emit(ctx, t, refused(reason), nil)
	}
	return f.page(ctx, t, name, kind)
}

// fileType is the content type of a file that is a page, by its name.
func fileType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml":
		return "text/html"
	case ".md", ".markdown":
		return "text/markdown"
	default:
		return ""
	}
}

func (f *folderReader) page(ctx context.Context, t *task, name, kind string) error {
	body, modified, reason := f.readFile(name)
	k := f.recall(t)
	if reason != "" {
		o := refused(reason)
		if t.kept && reason == "unreadable" {
			o.fate = Unreachable
		}
		return f.emit(ctx, t, o, nil)
	}
	sum := sha256.Sum256(body)
	tag := `"sha256-` + hex.EncodeToString(sum[:]) + `"`
	if k.Validators.ETag == tag {
		page := docseek.Page{URL: t.url, FetchedAt: time.Now().UTC(), Validators: k.Validators}
		return f.takeUnchanged(ctx, t, outcome{fate: NotModified, page: page}, k)
	}
	text, encoding, err := decodeText(body, "")
	if err != nil {
		return f.emit(ctx, t, refused("charset "+encoding), nil)
	}
	page := docseek.Page{
		URL: t.url, Body: text, ContentType: kind, FetchedAt: time.Now().UTC(), Modified: modified,
		Validators: docseek.Validators{ETag: tag},
	}
	doc, signals, err := extract.Extract(page, extract.Options{Content: f.content})
	if err != nil {
		return f.emit(ctx, t, refused("extract"), nil)
	}
	if signals.NeedsJS {
		return f.take(ctx, t, soft(ReasonNeedsJS))
	}
	t.final = true // a file is what it is
	return f.takePage(ctx, t, outcome{
		fate: Fetched, page: page, doc: doc, signals: signals, hash: contentHash(doc), noIndex: f.obey && signals.NoIndex,
	})
}

func (f *folderReader) readFile(name string) (body []byte, modified time.Time, reason string) {
	name = filepath.FromSlash(name)
	info, err := f.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		if link, err := f.root.Lstat(name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return nil, time.Time{}, "symlink"
		}
		return nil, time.Time{}, "unreadable"
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, time.Time{}, "unreadable"
	}
	defer func() { _ = file.Close() }()
	body, err = io.ReadAll(&bounded{r: file, left: f.opts.MaxPageBytes})
	switch {
	case errors.Is(err, errTooLarge):
		return nil, time.Time{}, ReasonTooLarge
	case err != nil:
		return nil, time.Time{}, "unreadable"
	}
	f.bytes += int64(len(body))
	return body, info.ModTime().UTC(), ""
}

func (f *folderReader) summarize() Summary {
	s := f.summary
	s.Bytes = f.bytes
	s.Warnings = f.warnings
	s.Complete = !f.incomplete
	return s
}
