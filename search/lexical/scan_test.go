package lexical

import (
	"slices"
	"testing"
)

func TestScan(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"plain words, 2 of them.", []string{"plain", "words", "2", "of", "them"}},
		{"useDeferredValue", []string{"use", "Deferred", "Value", "=useDeferredValue", "!useDeferredValue"}},
		{"HTTPServer", []string{"HTTP", "Server", "=HTTPServer", "!HTTPServer"}},
		{"max_retries", []string{"max", "retries", "=maxretries", "!max_retries"}},
		{"HTTP_PROXY", []string{"HTTP", "PROXY", "=HTTPPROXY", "!HTTP_PROXY"}},
		{"__init__", []string{"init", "!__init__"}},
		{"--dry-run", []string{"dry", "run", "=dryrun", "!dry-run", "!--dry-run"}},
		{"-v", []string{"v", "!-v"}},
		{"a -- b", []string{"a", "b"}},
		{"@acme/sdk", []string{"acme", "sdk", "!acme/sdk", "!@acme/sdk"}},
		{"C++ std::vector", []string{"C", "!C++", "std", "vector", "!std::vector"}},
		{"C# and F#.", []string{"C", "!C#", "and", "F", "!F#"}},
		{"os.path.join(a)", []string{"os", "path", "join", "!os.path.join", "a"}},
		{"Python 3.11.", []string{"Python", "3", "11", "!3.11"}},
		{"E1203", []string{"E1203"}},
		{"/etc/nginx.conf", []string{"etc", "nginx", "conf", "!etc/nginx.conf"}},
		{".gitignore", []string{"gitignore", "!.gitignore"}},
		{"end.Next", []string{"end", "Next", "!end.Next"}},
		{"user@example.com", []string{"user", "example", "com", "!user@example.com"}},
		{"it's", []string{"it", "s"}},
		{"検索する", []string{"検索", "'検", "索す", "'索", "する", "'す", "'る"}},
		{"検", []string{"検"}},
		{"Go言語", []string{"Go", "言語", "'言", "'語"}},
		{`"unbalanced NEAR( a:b * 🙂`, []string{"unbalanced", "NEAR", "a", "b", "!a:b"}},
		{"a [link](https://docs.test/a_(b)/c.html#d) on", []string{"a", "link", "on"}},
		{`an ![image](http://docs.test/a.png "title")`, []string{"an", "image", "title"}},
		{"a [link](https://docs.test/cut", []string{"a", "link"}},
		{"call[i](arg)", []string{"call", "i", "arg"}},
		{"___", nil},
		{"", nil},
	}
	for _, test := range tests {
		var got []string
		scan(test.text, func(surface string, form form) bool {
			got = append(got, []string{"", "=", "!", "'"}[form]+surface)
			return true
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("scan(%q)\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}
