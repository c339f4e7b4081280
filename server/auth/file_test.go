package auth_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/server/auth"
)

// clock is a time that tests move.
type clock struct{ time.Time }

func (c *clock) now() time.Time          { return c.Time }
func (c *clock) forward(d time.Duration) { c.Time = c.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)} }

// line is the line that a token has in the file.
func line(t *testing.T, e auth.Entry) string {
	t.Helper()
	text, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	return text + "\n"
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTokens(t *testing.T) {
	now := newClock()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	all, narrow, short, none := auth.NewToken(), auth.NewToken(), auth.NewToken(), auth.NewToken()
	narrowEntry := auth.NewEntry("ci", narrow)
	narrowEntry.Scopes = []string{auth.DocsRead, auth.RunsWrite}
	narrowEntry.Sources, narrowEntry.Endpoints = []string{"docs"}, []string{"api"}
	shortEntry := auth.NewEntry("short", short)
	shortEntry.Expires = "2026-06-02"
	noneEntry := auth.NewEntry("none", none)
	noneEntry.Scopes, noneEntry.Sources = []string{}, []string{}
	write(t, path, line(t, auth.NewEntry("all", all))+line(t, narrowEntry)+line(t, shortEntry)+
		"- {name: none, sha256: "+noneEntry.SHA256+", scopes: [], sources: []}\n")
	file, err := auth.OpenFile(path, now.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]auth.Caller{
		all:    {Name: "all", Scopes: []string{auth.DocsRead, auth.GraphQLRead}},
		narrow: {Name: "ci", Scopes: narrowEntry.Scopes, Sources: narrowEntry.Sources, Endpoints: narrowEntry.Endpoints},
		short:  {Name: "short", Scopes: []string{auth.DocsRead, auth.GraphQLRead}},
		none:   {Name: "none", Scopes: []string{}, Sources: []string{}},
	} {
		got, err := file.Verify(t.Context(), token)
		if err != nil {
			t.Errorf("%s: %v", want.Name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	for name, token := range map[string]string{
		"another": auth.NewToken(), "empty": "", "hash instead of token": narrowEntry.SHA256, "cut": all[:len(all)-1], "longer": all + "x",
	} {
		if _, err := file.Verify(t.Context(), token); !errors.Is(err, auth.ErrUnknown) {
			t.Errorf("%s token: %v", name, err)
		}
	}
	now.forward(12 * time.Hour)
	if _, err := file.Verify(t.Context(), short); !errors.Is(err, auth.ErrUnknown) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("at its end a token gives %v", err)
	}
}

func TestNewTokensDiffer(t *testing.T) {
	if a, b := auth.NewToken(), auth.NewToken(); a == b || !strings.HasPrefix(a, "docseek_") || len(a) != len("docseek_")+43 {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// A file that changes is taken as a whole or not at all.
func TestTokensAreReadAgain(t *testing.T) {
	now := newClock()
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	var log bytes.Buffer
	first, second := auth.NewToken(), auth.NewToken()
	write(t, path, line(t, auth.NewEntry("first", first)))
	file, err := auth.OpenFile(path, now.now, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	accepts := func(want map[string]bool) {
		t.Helper()
		for token, good := range want {
			if _, err := file.Verify(t.Context(), token); (err == nil) != good {
				t.Errorf("a token that should be accepted (%t) gives %v", good, err)
			}
		}
	}
	accepts(map[string]bool{first: true, second: false})

	write(t, path, line(t, auth.NewEntry("second", second)))
	accepts(map[string]bool{first: true}) // the file is not read for each call
	now.forward(time.Second)
	accepts(map[string]bool{first: false, second: true})

	for name, broken := range map[string]string{
		"no YAML":        "- {name: [",
		"a token":        "- {name: third, sha256: " + first + "}\n",
		"a lone token":   first,
		"unknown key":    "- {name: third, token: " + first + "}\n",
		"name twice":     line(t, auth.NewEntry("third", first)) + line(t, auth.NewEntry("third", second)),
		"token twice":    line(t, auth.NewEntry("third", first)) + line(t, auth.NewEntry("fourth", first)),
		"unknown scope":  strings.Replace(line(t, auth.NewEntry("third", first)), "}", ", scopes: [docs:write]}", 1),
		"no date":        strings.Replace(line(t, auth.NewEntry("third", first)), "}", ", expires: soon}", 1),
		"no name":        strings.Replace(line(t, auth.NewEntry("third", first)), "third", `""`, 1),
		"larger than it": strings.Repeat("#", 1<<20+1),
	} {
		log.Reset()
		write(t, path, broken)
		now.forward(time.Second)
		accepts(map[string]bool{first: false, second: true})
		if err := file.Status(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the status is %v", name, err)
		}
		now.forward(time.Second)
		accepts(map[string]bool{second: true})
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: the log has %d lines:\n%s", name, n, &log)
		}
		if strings.Contains(log.String(), first) {
			t.Errorf("%s: the log has a token:\n%s", name, &log)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now.forward(time.Second)
	accepts(map[string]bool{second: true})
	if file.Status() == nil {
		t.Error("a file that is gone is not told")
	}
	write(t, path, line(t, auth.NewEntry("first", first)))
	now.forward(time.Second)
	accepts(map[string]bool{first: true, second: false})
	if err := file.Status(); err != nil {
		t.Errorf("the mended file: %v", err)
	}
	write(t, path, "# nobody\n")
	now.forward(time.Second)
	accepts(map[string]bool{first: false, second: false})
}

func TestBrokenFileAtStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if _, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file that is not there is opened")
	}
	write(t, path, "- {name: a, sha256: 00}")
	if _, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "entry 1: sha256 of a must be the 64 hexadecimal digits") {
		t.Errorf("a broken file: %v", err)
	}
}

// What is left out of an entry allows everything; a key that was left without a
// value does not.
func TestKeyWithoutValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	entry := "- name: ci\n  sha256: " + strings.Repeat("ab", 32) + "\n"
	for _, key := range []string{"scopes", "sources", "endpoints", "expires"} {
		for _, value := range []string{"", " ", " null", " ~", " # handbook"} {
			write(t, path, line(t, auth.NewEntry("first", auth.NewToken()))+entry+"  "+key+":"+value+"\n")
			if _, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler)); err == nil ||
				!strings.Contains(err.Error(), "entry 2: "+key+" has no value") {
				t.Errorf("%s:%s gives %v", key, value, err)
			}
		}
	}
}

// FuzzTokensFile shows that no file makes a token good that is not in it.
func FuzzTokensFile(f *testing.F) {
	f.Add("- {name: ci, sha256: " + strings.Repeat("ab", 32) + ", scopes: [docs:read]}")
	f.Add("- {name: ci, sha256: 1e5, expires: 2027-01-01}")
	f.Add("[]")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "tokens.yaml")
		write(t, path, text)
		file, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			return
		}
		if c, err := file.Verify(t.Context(), "guess"); err == nil {
			t.Errorf("%q accepts a guess as %+v", text, c)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "tokens.yaml")
	var text strings.Builder
	for range 1000 {
		token := auth.NewToken()
		entry, err := auth.NewEntry("t"+token[8:20], token).Line()
		if err != nil {
			b.Fatal(err)
		}
		text.WriteString(entry + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	file, err := auth.OpenFile(path, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, _ = file.Verify(b.Context(), "docseek_unknown")
	}
}
