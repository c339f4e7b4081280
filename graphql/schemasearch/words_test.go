package schemasearch

import (
	"slices"
	"strings"
	"testing"
)

func TestIdentifierWords(t *testing.T) {
	for name, want := range map[string]string{
		"userByEmailAddress": "user by email address",
		"IBAN":               "iban",
		"IBANs":              "ibans",
		"listIBANsOfUser":    "list ibans of user",
		"HTMLUrl":            "html url",
		"emojiHTML":          "emoji html",
		"v2":                 "v2",
		"projectV2Items":     "project v2 items",
		"html5Video":         "html5 video",
		"slack_userByEmail":  "slack user by email",
		"MOVED_AWAY":         "moved away",
		"_private":           "private",
		"a":                  "a",
		"":                   "",
		"größeÄndern":        "größe ändern",
		"URLsOfSite":         "urls of site",
		"ABTest":             "ab test",
	} {
		if got := strings.Join(identifierWords(name), " "); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

func TestTextWords(t *testing.T) {
	got := strings.Join(textWords("The user's `emailAddress`, e.g. in v2.1 (HTML)."), " ")
	if want := "the user s email address e g in v2 1 html"; got != want {
		t.Errorf("the words are %q, want %q", got, want)
	}
}

func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"ibans": "iban", "iban": "iban", "threads": "thread", "addresses": "address", "merging": "merg", "merged": "merg", "v2": "v2", "id": "id", "größen": "größen",
	} {
		if got := stem(word); got != want {
			t.Errorf("%q gives %q, want %q", word, got, want)
		}
	}
	if got := stem(strings.Repeat("a", 1000)); len(got) > maxWord {
		t.Errorf("a long word has a stem of %d bytes", len(got))
	}
}

func TestOneEdit(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"invoice", "invoce", true},
		{"invoice", "invoicee", true},
		{"invoice", "invaice", true},
		{"invoice", "invocie", true},
		{"invoice", "invoice", false},
		{"invoice", "invc", false},
		{"abcd", "badc", false},
		{"", "a", true},
		{"", "", false},
	} {
		if oneEdit(test.a, test.b) != test.want || oneEdit(test.b, test.a) != test.want {
			t.Errorf("%q and %q: not %t", test.a, test.b, test.want)
		}
	}
}

func TestReadings(t *testing.T) {
	x := New(mustLoad(t, "type Query { repository: Int report: Int webhook: Int reviewThreads: Int zone: Int }"), Options{})
	words := func(query string) []string {
		var all []string
		for _, readings := range x.terms([]string{query}) {
			var names []string
			for _, id := range readings {
				for word, known := range x.words {
					if known == id {
						names = append(names, word)
					}
				}
			}
			all = append(all, strings.Join(names, "|"))
		}
		return all
	}
	for query, want := range map[string][]string{
		"repo":          {"report|repositori"},
		"web hook":      {"webhook"},
		"reviewthreads": {"review", "thread"},
		"repositroy":    {"repositori"},
		"zones":         {"zone"},
		"the zone zone": {"zone"},
		"xyz":           nil,
	} {
		if got := words(query); !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, want %q", query, got, want)
		}
	}
}
