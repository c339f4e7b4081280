package operations_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/operations"
)

// Whatever a revision is made of, a change of it is another revision; line ends are
// not part of it.
func TestRevision(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][3]string{
		{"name: a\n", "https://a.example/", "p"},
		{"name: b\n", "https://a.example/", "p"},
		{"name: a\n", "https://a.example/x", "p"},
		{"name: a\n", "https://a.example/", ""},
		{"name: a\nh", "ttps://a.example/", "p"},
		{"name: a\n", "https://a.example/p", ""},
		{"name: a", "\nhttps://a.example/", "p"},
	} {
		revision := operations.Revision(parts[0], parts[1], parts[2])
		if before, twice := seen[revision]; twice || len(revision) != 64 {
			t.Errorf("%q and %s have the revision %s", parts, before, revision)
		}
		seen[revision] = strings.Join(parts[:], "|")
	}
	if operations.Revision("a\r\nb\r\n", "u", "") != operations.Revision("a\nb\n", "u", "") {
		t.Error("line ends make another revision")
	}
}

func TestLock(t *testing.T) {
	const staging, production = "https://staging.example/", "https://example.com/"
	revision := func(text, url string) string { return operations.Revision(text, url, "p") }
	var empty operations.Lock
	lock := empty.Record("b", "1", staging, "p").Record("a", "1", staging, "p").Record("b", "1", production, "p").Record("b", "1", production, "p")
	if empty.Tested("b", revision("1", staging)) {
		t.Error("a lock changed")
	}
	again, err := operations.ReadLock(lock.Text())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(lock.Text()), string(again.Text())); diff != "" {
		t.Error(diff)
	}
	for _, url := range []string{staging, production} {
		if !again.Tested("b", revision("1", url)) || again.Tested("b", revision("2", url)) || again.Tested("c", revision("1", url)) {
			t.Errorf("for %s: %s", url, again.Text())
		}
	}
	// Tests of a text that is gone are gone.
	changed := again.Record("b", "2", staging, "p")
	if !changed.Tested("b", revision("2", staging)) || changed.Tested("b", revision("1", production)) || !changed.Tested("a", revision("1", staging)) {
		t.Errorf("after a change: %s", changed.Text())
	}
	merged := again.Merge(changed)
	if !merged.Tested("b", revision("1", production)) || !merged.Tested("b", revision("2", staging)) {
		t.Errorf("merged: %s", merged.Text())
	}
	const want = `{
  "version": 1,
  "operations": {
    "a": {
      "file": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
      "revisions": [
        "REVISION"
      ]
    }
  }
}
`
	text := string(empty.Record("a", "1", staging, "p").Text())
	if diff := cmp.Diff(strings.Replace(want, "REVISION", revision("1", staging), 1), text); diff != "" {
		t.Error(diff)
	}
}

func TestReadLockRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                  `read operations.lock.json: unexpected EOF; test the operations again to write it anew`,
		`{"version":1,"tests":{}}`:           `unknown field "tests"`,
		`{"version":2,"operations":{}}`:      `it has version 2, and this docseek reads version 1`,
		`{"version":1} {"version":1}`:        `something follows the lock`,
		`<<<<<<< HEAD`:                       `invalid character '<'`,
		strings.Repeat(" ", 5<<20):           `at most 4194304 are read`,
		`{"version":1,"operations":{"a":1}}`: `cannot unmarshal number`,
	} {
		if _, err := operations.ReadLock([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{``, "\n", `{"version":1,"operations":{}}`} {
		if lock, err := operations.ReadLock([]byte(text)); err != nil || lock.Tested("a", "") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
