package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/crawler/sitemap"
)

func read(r io.Reader, limits sitemap.Limits) (sitemap.Kind, []sitemap.Entry, error) {
	var entries []sitemap.Entry
	kind, err := sitemap.Read(r, limits, func(e sitemap.Entry) error {
		entries = append(entries, e)
		return nil
	})
	return kind, entries, err
}

func locs(entries []sitemap.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Loc)
	}
	return out
}

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func utf16le(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

const plain = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc> https://d.example/a </loc></url><url><loc>/b</loc></url></urlset>`

func TestReadForms(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		kind     sitemap.Kind
		want     []string
	}{
		{"url set", plain, sitemap.URLSet, []string{"https://d.example/a", "/b"}},
		{"space and mark before", "\ufeff \r\n" + plain, sitemap.URLSet, []string{"https://d.example/a", "/b"}},
		{"compressed", zip(plain), sitemap.URLSet, []string{"https://d.example/a", "/b"}},
		{"compressed twice", zip(zip(plain)), sitemap.URLSet, []string{"https://d.example/a", "/b"}},
		{"UTF-16", utf16le(strings.Replace(plain, `encoding="UTF-8"`, "", 1)), sitemap.URLSet, []string{"https://d.example/a", "/b"}},
		{"latin-1", "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><urlset><url><loc>/\xfc</loc></url></urlset>", sitemap.URLSet, []string{"/ü"}},
		{"empty", "<urlset/>", sitemap.URLSet, nil},
		{"index", "<sitemapindex><sitemap><loc>s1.xml.gz</loc><lastmod>2026-01-01</lastmod></sitemap></sitemapindex>", sitemap.Index, []string{"s1.xml.gz"}},
		{"prefixed names", `<s:urlset xmlns:s="x"><s:url><s:loc>/a</s:loc></s:url></s:urlset>`, sitemap.URLSet, []string{"/a"}},
		{
			"images are no pages",
			`<urlset><url><loc>/a</loc><image:image><image:loc>/i.png</image:loc></image:image><image:loc>/j.png</image:loc></url></urlset>`,
			sitemap.URLSet,
			[]string{"/a"},
		},
		{"character data, entities, a bare ampersand", `<urlset><url><loc><![CDATA[/a?x=1&y=2]]></loc></url><url><loc>/b?x=1&amp;y=2&z=3</loc></url></urlset>`, sitemap.URLSet, []string{"/a?x=1&y=2", "/b?x=1&y=2&z=3"}},
		{"comment inside", `<urlset><url><loc>/a<!-- x --></loc></url></urlset>`, sitemap.URLSet, []string{"/a"}},
		{"an entry without an address", `<urlset><url><lastmod>2026</lastmod></url><url><loc>/b</loc></url></urlset>`, sitemap.URLSet, []string{"/b"}},
		{"an entry of another kind", `<urlset><sitemap><loc>/a</loc></sitemap><url><loc>/b</loc></url></urlset>`, sitemap.URLSet, []string{"/b"}},
		{"text", "\ufeffhttps://d.example/a\r\n\nHTTPS://d.example/b\nnot an address\nhttps://d.example/c", sitemap.Text, []string{"https://d.example/a", "HTTPS://d.example/b", "https://d.example/c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kind, entries, err := read(strings.NewReader(tc.in), sitemap.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, locs(entries)); kind != tc.kind || diff != "" {
				t.Errorf("kind %d; (-want +got):\n%s", kind, diff)
			}
		})
	}
}

func TestReadEntry(t *testing.T) {
	const in = `<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>/en/a</loc><lastmod>2026-03-04T05:06+02:00</lastmod>
<xhtml:link rel="alternate" hreflang="en" href="/en/a"/><xhtml:link rel="alternate" hreflang="es" href="/es/a"></xhtml:link>
<xhtml:link rel="canonical" href="/x"/></url></urlset>`
	_, entries, err := read(strings.NewReader(in), sitemap.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []sitemap.Entry{{
		Kind: sitemap.URLSet, Loc: "/en/a", Modified: time.Date(2026, 3, 4, 3, 6, 0, 0, time.UTC),
		Alternates: []sitemap.Alternate{{Lang: "en", Href: "/en/a"}, {Lang: "es", Href: "/es/a"}},
	}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadBounds(t *testing.T) {
	bomb := func(before string) io.Reader {
		return strings.NewReader(zip(before + strings.Repeat(" ", 2<<20)))
	}
	small := sitemap.Limits{Bytes: 1 << 20, Entries: 2}
	for _, tc := range []struct {
		name   string
		in     io.Reader
		limits sitemap.Limits
		want   error
		before int // entries handed over before the error
	}{
		{"nothing but space", bomb(""), small, sitemap.ErrTooLarge, 0},
		{"nothing but space within", bomb("<urlset><url><loc>/a</loc></url>"), sitemap.Limits{}, sitemap.ErrFormat, 1},
		{"too many entries", strings.NewReader("<urlset>" + strings.Repeat("<url><loc>/a</loc></url>", 3) + "</urlset>"), small, sitemap.ErrTooMany, 2},
		{"too many lines", strings.NewReader(strings.Repeat("https://d.example/\n", 3)), small, sitemap.ErrTooMany, 2},
		{"too large", strings.NewReader("<urlset>" + strings.Repeat("<x></x>", 1<<18)), small, sitemap.ErrTooLarge, 0},
		{"nested for ever", strings.NewReader(strings.Repeat("<urlset>", 1<<16)), sitemap.Limits{}, sitemap.ErrFormat, 0},
		{"an endless attribute", strings.NewReader(`<urlset a="` + strings.Repeat("x", 1<<17)), sitemap.Limits{}, sitemap.ErrFormat, 0},
		{"nothing", strings.NewReader(" \n"), sitemap.Limits{}, sitemap.ErrFormat, 0},
		{"a page", strings.NewReader("<!doctype html><html><body>Not found</body></html>"), sitemap.Limits{}, sitemap.ErrFormat, 0},
		{"any text", strings.NewReader("User-agent: *\nDisallow:\n"), sitemap.Limits{}, sitemap.ErrFormat, 0},
		{"cut off", strings.NewReader("<urlset><url><loc>/a</loc></url><url><loc>/b"), sitemap.Limits{}, sitemap.ErrFormat, 1},
		{"cut off, compressed", strings.NewReader(zip(plain)[:40]), sitemap.Limits{}, io.ErrUnexpectedEOF, 0},
		{"no gzip after all", strings.NewReader("\x1f\x8bnothing"), sitemap.Limits{}, sitemap.ErrFormat, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, entries, err := read(tc.in, tc.limits)
			if !errors.Is(err, tc.want) || len(entries) != tc.before {
				t.Errorf("%d entries, error %v; want %d, %v", len(entries), err, tc.before, tc.want)
			}
		})
	}
}

func TestReadStopsWithYield(t *testing.T) {
	stop := errors.New("stop")
	if _, err := sitemap.Read(strings.NewReader(plain), sitemap.Limits{}, func(sitemap.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestReadLLMs(t *testing.T) {
	const in = "# Acme\n> docs\n\n- [Start](https://d.example/start.md): how to\n- [A](/a \"title\") and [B](<b.html>)\n" +
		"![logo](logo.png) [top](#top) [open](never\n[]() plain https://d.example/plain\n"
	var got []string
	err := sitemap.ReadLLMs(strings.NewReader(in), sitemap.Limits{}, func(loc string) error {
		got = append(got, loc)
		return nil
	})
	if diff := cmp.Diff([]string{"https://d.example/start.md", "/a", "b.html"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	err = sitemap.ReadLLMs(strings.NewReader(strings.Repeat("[a](b)", 9)), sitemap.Limits{Entries: 8}, func(string) error { return nil })
	if !errors.Is(err, sitemap.ErrTooMany) {
		t.Errorf("error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{plain, zip(plain), utf16le(plain), "<sitemapindex><sitemap><loc>a</loc></sitemap></sitemapindex>", "https://a/\n", "</a>", "<urlset/><urlset>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		limits := sitemap.Limits{Bytes: 1 << 16, Entries: 100}
		kind, entries, err := read(bytes.NewReader(in), limits)
		if len(entries) > limits.Entries {
			t.Fatalf("%d entries", len(entries))
		}
		if err == nil && kind == 0 {
			t.Fatal("neither a kind nor an error")
		}
		for _, e := range entries {
			if e.Kind != kind || e.Loc == "" || strings.TrimSpace(e.Loc) != e.Loc {
				t.Fatalf("entry %+v of kind %d", e, kind)
			}
		}
		_ = sitemap.ReadLLMs(bytes.NewReader(in), limits, func(loc string) error {
			if loc == "" {
				t.Fatal("an empty target")
			}
			return nil
		})
	})
}

func BenchmarkRead(b *testing.B) {
	var in strings.Builder
	in.WriteString("<urlset>")
	for range 10_000 {
		in.WriteString("<url><loc>https://docs.example.com/guide/configuration/reference.html</loc><lastmod>2026-01-02</lastmod></url>\n")
	}
	in.WriteString("</urlset>")
	b.SetBytes(int64(in.Len()))
	for b.Loop() {
		if _, err := sitemap.Read(strings.NewReader(in.String()), sitemap.Limits{}, func(sitemap.Entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
