package search

import (
	"slices"
	"testing"

	"github.com/docseek/docseek"
)

func TestVersionRank(t *testing.T) {
	ascending := []string{
		"next", "classic", "0.9", "v1", "1.2", "v1.10", "3.9.x", "v3.10.x", "15", "16.0", "latest", "",
	}
	for i := range ascending[1:] {
		if a, b := versionRank(ascending[i]), versionRank(ascending[i+1]); slices.Compare(a, b) >= 0 {
			t.Errorf("%q (%v) is not below %q (%v)", ascending[i], a, ascending[i+1], b)
		}
	}
}

func TestSplitVersion(t *testing.T) {
	tests := []struct{ address, known, rest, version string }{
		{"https://a.test/docs/howto", "", "a.test/docs/howto?", ""},
		{"https://a.test/docs/v3.9.x/howto", "", "a.test/docs/howto?", "v3.9.x"},
		{"https://a.test/docs/next/howto", "", "a.test/docs/howto?", "next"},
		{"https://a.test/docs/15/sql-select.html", "", "a.test/docs/sql-select.html?", "15"},
		{"https://a.test/en/latest/", "", "a.test/en/?", "latest"},
		{"https://a.test/2.1/api/v2/users?x=1", "", "a.test/api/v2/users?x=1", "2.1"},
		{"https://a.test/blog/2024/news", "", "a.test/blog/2024/news?", ""},
		{"https://a.test/api/v2/users", "2.1", "a.test/api/v2/users?", "2.1"},
		{"https://a.test/docs/classic/x", "classic", "a.test/docs/x?", "classic"},
		{"://", "", "://", ""},
	}
	for _, test := range tests {
		rest, version := splitVersion(test.address, test.known)
		if rest != test.rest || version != test.version {
			t.Errorf("splitVersion(%q, %q) = %q, %q", test.address, test.known, rest, version)
		}
	}
}

func TestPreferVersions(t *testing.T) {
	hit := func(url, heading, version string, score float64) scored {
		return scored{Chunk: Chunk{Source: "docs", Chunk: docseek.Chunk{URL: url, Path: []string{heading}, Version: version}}, score: score}
	}
	tests := []struct {
		name    string
		current string
		hits    []scored
		want    []int
	}{
		{"the one without a version", "", []scored{
			hit("https://a.test/docs/v1/x", "X", "", 0.5), hit("https://a.test/docs/x", "X", "", 0.49), hit("https://a.test/docs/next/x", "X", "", 0.48),
		}, []int{1}},
		{"the newest", "", []scored{
			hit("https://a.test/9/x", "X", "", 0.5), hit("https://a.test/10/x", "X", "", 0.5), hit("https://a.test/8/x", "X", "", 0.5),
		}, []int{1}},
		{"the configured one", "2", []scored{
			hit("https://a.test/3/x", "X", "3", 0.5), hit("https://a.test/2/x", "X", "2", 0.5),
		}, []int{1}},
		{"the one that differs", "", []scored{
			hit("https://a.test/v1/x", "X", "", 0.5), hit("https://a.test/x", "X", "", 0.3),
		}, []int{0}},
		{"other sections and pages", "", []scored{
			hit("https://a.test/v1/x", "X", "", 0.5), hit("https://a.test/x", "Y", "", 0.5), hit("https://a.test/y", "X", "", 0.5),
		}, []int{0, 1, 2}},
		{"all chunks of the section", "", []scored{
			hit("https://a.test/x", "X", "", 0.5), hit("https://a.test/v1/x", "X", "", 0.5), hit("https://a.test/x", "X", "", 0.2),
		}, []int{0, 2}},
		{"other hosts", "", []scored{
			hit("https://a.test/v1/x", "X", "", 0.5), hit("https://b.test/x", "X", "", 0.5),
		}, []int{0, 1}},
	}
	for _, test := range tests {
		for i := range test.hits {
			test.hits[i].Ordinal = i
		}
		var got []int
		for _, h := range preferVersions(test.hits, map[string]string{"docs": test.current}) {
			got = append(got, h.Ordinal)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: kept %v, want %v", test.name, got, test.want)
		}
	}
}
