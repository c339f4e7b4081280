package crawler_test

import (
	"net/url"
	"testing"

	"github.com/docseek/docseek/crawler"
)

func TestCanonical(t *testing.T) {
	for _, tc := range []struct{ raw, base, want string }{
		{"HTTP://Example.COM:80/Docs/Intro.HTML#top", "", "http://example.com/Docs/Intro.HTML"},
		{"https://example.com:443", "", "https://example.com/"},
		{"https://example.com:8443/a", "", "https://example.com:8443/a"},
		{"https://example.com./a", "", "https://example.com/a"},
		{"https://user:secret@example.com/a", "", "https://example.com/a"},
		{"https://example.com/a/./b/../c", "", "https://example.com/a/c"},
		{"https://example.com/a/%2e%2e/c", "", "https://example.com/c"},
		{"https://example.com/%7euser/%c3%bc%2f", "", "https://example.com/~user/%C3%BC%2F"},
		{"https://example.com/ü", "", "https://example.com/%C3%BC"},
		{"https://example.com/100%", "", "https://example.com/100%25"},
		{"https://bücher.example/", "", "https://xn--bcher-kva.example/"},
		{" https://example.com/a\n", "", "https://example.com/a"},
		{`https:\\example.com\a`, "", "https://example.com/a"},
		{"https://example.com/p?utm_source=a", "", "https://example.com/p"},
		{"https://example.com/p?b=2&a=1&UTM_Medium=x&gclid=y", "", "https://example.com/p?a=1&b=2"},
		{"https://example.com/p?a=2&b=0&a=1", "", "https://example.com/p?a=2&a=1&b=0"},
		{"https://example.com/p?", "", "https://example.com/p"},
		{"https://example.com/p?&&=&flag", "", "https://example.com/p?flag"},
		{"https://example.com/p;jsessionid=1A2B?x=1", "", "https://example.com/p?x=1"},
		{"../b?x=%41", "https://example.com/docs/a/c", "https://example.com/docs/b?x=A"},
		{"//other.example/x", "https://example.com/", "https://other.example/x"},
		{"?page=2", "https://example.com/list", "https://example.com/list?page=2"},
		{"#only", "https://example.com/list", "https://example.com/list"},
		{"http://[::1]:8080/", "", "http://[::1]:8080/"},
		{"http://0x7f.1/", "", "http://127.0.0.1/"},
		{"http://0../", "", "http://0.0.0.0/"},
		{"https://example.com/a|b%2fc^d", "", "https://example.com/a%7Cb%2Fc%5Ed"},
		{"https://example.com/a[1](b)'c", "", "https://example.com/a[1](b)'c"},
		{"https://example.com/a//b/", "", "https://example.com/a//b/"},
	} {
		got, err := crawler.Canonical(tc.raw, tc.base)
		if err != nil || got != tc.want {
			t.Errorf("Canonical(%q, %q) = %q, %v; want %q", tc.raw, tc.base, got, err, tc.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, raw := range []string{
		"", "/relative", "mailto:a@example.com", "javascript:alert(1)", "ftp://example.com/", "file:///etc/passwd",
		"http://", "https://exa mple.com/", "http://a^b/", "data:text/html,x",
	} {
		if got, err := crawler.Canonical(raw, ""); err == nil {
			t.Errorf("Canonical(%q) = %q, want an error", raw, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"http://example.com/a?b=c#d", "HTTPS://EXAMPLE.com/%7e/../x;jsessionid=1", "http://[::ffff:1.2.3.4]/", "http://a/%%%",
		"http://ü/?ä=ö&&a", "//x", "http://a.b.:80//", "http://a/?%", "http://a/%2%45%", "http://1.2.3/%25%35%35",
		"http://a/;JSESSIONID=x;jsessionid=", "http://a/?utm_%61=1", "http://a/?%75tm_a=1", "http://a/.%2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := crawler.Canonical(raw, "http://base.example/dir/page")
		if err != nil {
			return
		}
		if u, err := url.Parse(once); err != nil || u.String() != once {
			t.Fatalf("Canonical(%q) = %q, which net/url writes as %q (%v)", raw, once, u, err)
		}
		twice, err := crawler.Canonical(once, "")
		if err != nil || twice != once {
			t.Fatalf("Canonical(%q) = %q, then %q (%v)", raw, once, twice, err)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	for b.Loop() {
		if _, err := crawler.Canonical("../guide/Install.html?utm_source=x&b=2&a=1#top", "https://docs.example.com/en/latest/intro.html"); err != nil {
			b.Fatal(err)
		}
	}
}
