package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/config"
)

func faultsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var fe *config.FaultsError
	if !errors.As(err, &fe) {
		t.Fatalf("error is %T, want *FaultsError: %v", err, err)
	}
	var out []string
	for _, f := range fe.Faults {
		out = append(out, f.String())
	}
	return out
}

func TestParse(t *testing.T) {
	got, err := config.Parse("f.yaml", []byte(`
sources:
  - name: docs
    start: https://docs.example.com/sitemap.xml
    headers: {Authorization: "Bearer ${TOKEN}"}
    rate: {concurrency: 2, delay: 250ms}
    version: {from_path: "/docs/{version}/**", current: latest}
  - {name: files, start: ./site, base_url: "https://x.example/"}
schedule: off
embedder:
  provider: openai
  model: m
  api_key: ${KEY}
`), []string{"TOKEN=a: {b} # c", "KEY=k", "DOCSEEK_SERVER_LISTEN=127.0.0.1:9999", "DOCSEEK_EMBEDDER_BATCH=7", "DOCSEEK_SERVER_ALLOWED_HOSTS=a,b"})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Schedule = "off"
	want.Sources = []docseek.Source{
		{
			Name: "docs", Start: "https://docs.example.com/sitemap.xml",
			Headers: map[string]string{"Authorization": "Bearer a: {b} # c"},
			Rate:    docseek.Rate{Concurrency: 2, Delay: 250 * time.Millisecond},
			Version: docseek.Version{FromPath: "/docs/{version}/**", Current: "latest"},
		},
		{Name: "files", Start: "./site", BaseURL: "https://x.example/"},
	}
	want.Embedder = config.Embedder{Provider: "openai", Model: "m", APIKey: "k", Batch: 7}
	want.Server.Listen = "127.0.0.1:9999"
	want.Server.AllowedHosts = []string{"a", "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
}

func TestFaultsAreReportedAtOnce(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte(`sources:
  - name: Docs
    begin: https://a.example/
  - name: b
    start: https://u:p@b.example/
    rate: {delay: soon}
    headers: {A: "${NOT_SET}"}
scheduel: off
server: {listen: "0.0.0.0:80"}
`), []string{"DOCSEEK_EMBEDDER_BATCH=many"})
	got := strings.Join(faultsOf(t, err), "\n")
	for _, want := range []string{
		`f.yaml:2:11: sources[0].name: must be 1 to 64`,
		`f.yaml:2:9: sources[0].start: is missing`,
		`f.yaml:3:5: sources[0].begin: unknown field "begin"`,
		`f.yaml:5:12: sources[1].start: must not hold a user or password`,
		`f.yaml:6:19: sources[1].rate.delay: `,
		`f.yaml:7:18: sources[1].headers.A: the environment has no variable NOT_SET`,
		`f.yaml:8:1: scheduel: unknown field "scheduel"`,
		`f.yaml:9:18: server.listen: 0.0.0.0:80 can be reached by others`,
		`an environment variable DOCSEEK_…: `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no fault %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "p@b") {
		t.Errorf("a password is shown:\n%s", got)
	}
}

func TestValidate(t *testing.T) {
	source := func(change func(*docseek.Source)) config.Config {
		c := config.Default()
		s := docseek.Source{Name: "a", Start: "https://a.example/"}
		change(&s)
		c.Sources = []docseek.Source{s}
		return c
	}
	for name, tc := range map[string]struct {
		c    config.Config
		want string
	}{
		"ok":           {source(func(*docseek.Source) {}), ""},
		"ftp":          {source(func(s *docseek.Source) { s.Start = "ftp://a.example/" }), "sources[0].start: must be an http or https URL, or a folder"},
		"folder":       {source(func(s *docseek.Source) { s.Start = "/srv/docs" }), "sources[0].base_url: is missing"},
		"glob":         {source(func(s *docseek.Source) { s.Include = []string{"docs/**"} }), `sources[0].include[0]: must begin with "/"`},
		"two versions": {source(func(s *docseek.Source) { s.Version = docseek.Version{Label: "1", FromPath: "/{version}/**"} }), "sources[0].version.label: and version.from_path"},
		"pattern":      {source(func(s *docseek.Source) { s.Version = docseek.Version{FromPath: "/docs/**"} }), "sources[0].version.from_path: must hold {version} once"},
		"segment":      {source(func(s *docseek.Source) { s.Version = docseek.Version{FromPath: "/v{version}/**"} }), "as a whole segment"},
		"browser":      {source(func(s *docseek.Source) { s.Render = "always" }), "sources[0].render: always needs a browser"},
		"robots":       {source(func(s *docseek.Source) { s.Robots = "no" }), `sources[0].robots: must be obey or ignore (got "no")`},
		"header":       {source(func(s *docseek.Source) { s.Headers = map[string]string{"A": "b\r\nc: d"} }), `"A" is no valid header`},
		"twice": {func() config.Config {
			c := source(func(*docseek.Source) {})
			c.Sources = append(c.Sources, c.Sources[0])
			return c
		}(), `sources[1].name: "a" is already the name of sources[0]`},
		"builtin with model": {func() config.Config {
			c := config.Default()
			c.Embedder.Model = "m"
			return c
		}(), "embedder.provider: builtin has one model"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(faultsOf(t, tc.c.Validate()), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("faults %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSyntaxErrorNamesThePlace(t *testing.T) {
	for _, text := range []string{"sources: [", "a: b: c", "\tx: 1", "a: 1\n---\nb: 2", "sources:\n  - name: a\n name: b"} {
		got := faultsOf(t, func() error { _, err := config.Parse("f.yaml", []byte(text), nil); return err }())
		if len(got) == 0 || !regexp.MustCompile(`^f\.yaml:\d+:\d+: `).MatchString(got[0]) {
			t.Errorf("%q: faults %q", text, got)
		}
	}
}

func TestSecretsStayHidden(t *testing.T) {
	c := config.Default()
	c.Embedder = config.Embedder{Provider: "openai", Model: "m", APIKey: "s3cret"}
	c.Sources = []docseek.Source{{Name: "a", Start: "https://a.example/", Headers: map[string]string{"Authorization": "s3cret"}}}
	y, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", slog.Any("embedder", c.Embedder), slog.Any("key", c.Embedder.APIKey))
	j, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(j), `"api_key"`) {
		t.Errorf("the settings have other names in JSON: %s", j)
	}
	for _, shown := range []string{string(y), string(j), log.String(), fmt.Sprintf("%v %+v %#v", c.Embedder, c.Embedder, c.Embedder)} {
		if strings.Contains(shown, "s3cret") || !strings.Contains(shown, "(hidden)") {
			t.Errorf("shown: %s", shown)
		}
	}
	if c.Sources[0].Headers["Authorization"] != "s3cret" {
		t.Error("redacting changed the configuration itself")
	}
}

// The example with its defaults written out means what an empty file means, and
// with its comments taken off every setting in it is a known one.
// What is wrong with an address is said without what may be secret in it.
func TestFaultsHideSecrets(t *testing.T) {
	_, err := config.Parse("c.yaml", []byte(`
sources:
  - {name: a, start: "ftp://u:hunter2@a.example/"}
  - {name: b, start: "https://u:hunter2@b.example:port/"}
  - {name: c, start: "https://c.example/docs?lang=en&access_token=hunter2"}
  - {name: d, start: ./site, base_url: "gopher://d.example/?x=hunter2"}
embedder: {provider: openai, model: m, base_url: "ht tp://u:hunter2@e.example"}
server: {public_url: "https://u:hunter2@f.example/%zz"}
`), nil)
	got := faultsOf(t, err)
	want := []string{
		`c.yaml:3:22: sources[0].start: must be an http or https URL, or a folder (got "ftp://…@a.example/")`,
		`c.yaml:4:22: sources[1].start: is no URL: invalid port ":port" after host`,
		`c.yaml:5:22: sources[2].start: must not hold a credential (access_token): the address is stored with the index and shown; send it as a header`,
		`c.yaml:6:40: sources[3].base_url: must be an http or https URL (got "gopher://d.example/?…")`,
		`c.yaml:7:50: embedder.base_url: is no URL: first path segment in URL cannot contain colon`,
		`c.yaml:8:22: server.public_url: is no URL: invalid URL escape "%zz"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// The library's time grows with the square of the depth, and a fault without a
// place has to be searched for.
func TestHostileFiles(t *testing.T) {
	equal := "sources:\n" + strings.Repeat("  - {name: a, start: \"https://a.example/\", rate: {delay: soon}}\n", 30)
	for name, test := range map[string]struct{ text, want string }{
		"mappings":     {"sources: " + strings.Repeat("{a: ", 50_000), "c.yaml:1:410: nests deeper than 100"},
		"sequences":    {strings.Repeat("[", 500_000), "c.yaml:1:101: nests deeper than 100"},
		"lone tag":     {"schedule: off\nsources: ! &a b\n", "c.yaml:2:10: sources: is a value that cannot be read: is there a tag (!) without one?"},
		"equal faults": {equal, `c.yaml:2:58: sources[0].rate.delay: time: invalid duration "soon"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("c.yaml", []byte(test.text), nil)
			if got := faultsOf(t, err); !slices.Contains(got, test.want) {
				t.Errorf("faults %q, want %q", got, test.want)
			}
		})
	}
}

func TestExample(t *testing.T) {
	got, err := config.Parse("example.yaml", config.Example(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Sources = []docseek.Source{{Name: "docs", Start: "https://docs.example.com/sitemap.xml"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the example is not the default (-want +got):\n%s", diff)
	}
	setting := regexp.MustCompile(`(?m)^( +)# ((?:- |  )?[a-z_]+:)`)
	text := setting.ReplaceAllString(string(config.Example()), "$1$2")
	text = strings.Replace(text, "  provider: builtin ", "  # ", 1)
	text = strings.Replace(text, "  kind: local ", "  # ", 1)
	_, err = config.Parse("example.yaml", []byte(text), []string{"DOCS_TOKEN=t", "OPENAI_API_KEY=k", "API_TOKEN=t", "QDRANT_API_KEY=k"})
	if got := faultsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "base_url: is for a folder") {
		t.Errorf("the uncommented example: %q", got)
	}
}

// The folder that a process was started in says nothing about where the docs are.
func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "docseek.yaml")
	text := `
sources:
  - {name: near, start: site, base_url: "https://docs.example.com/"}
  - {name: far, start: /srv/site, base_url: "https://docs.example.com/"}
  - {name: web, start: "https://docs.example.com/"}
graphql:
  - {name: api, url: "https://api.example.com/graphql", schema: schema.graphql}
  - {name: other, url: "https://api.example.com/graphql"}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Sources[0].Start, c.Sources[1].Start, c.Sources[2].Start, c.GraphQL[0].Schema, c.GraphQL[1].Schema}
	want := []string{filepath.Join(dir, "site"), "/srv/site", "https://docs.example.com/", filepath.Join(dir, "schema.graphql"), ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestChecksAreReportedWithTheRest(t *testing.T) {
	text := "sources: [{name: A, start: \"https://a.example/\"}]\nschedule: never\n"
	_, err := config.Parse("c.yaml", []byte(text), nil, func(c config.Config) []config.Fault {
		return []config.Fault{{Field: "schedule", Message: "is no time: " + c.Schedule}}
	})
	got := faultsOf(t, err)
	if len(got) != 2 || got[1] != "c.yaml:2:11: schedule: is no time: never" {
		t.Errorf("faults %q", got)
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	if got := faultsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "config init") {
		t.Errorf("faults %q", got)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, make([]byte, config.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = config.Load(big, nil)
	if got := faultsOf(t, err); len(got) != 1 || !strings.Contains(got[0], "larger") {
		t.Errorf("faults %q", got)
	}
	// One that is there and cannot be read is not to be made.
	_, err = config.Load(filepath.Join(big, "below.yaml"), nil)
	if got := faultsOf(t, err); len(got) != 1 || strings.Contains(got[0], "config init") {
		t.Errorf("faults %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(config.Example())
	f.Add([]byte("sources:\n- name: a\n  start: [1]\n  rate: 3\nserver: []"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, _ = config.Parse("f", text, nil) // no panic, no endless loop
	})
}

func TestModelInAFolder(t *testing.T) {
	for text, want := range map[string]string{
		"embedder: {provider: model, path: /models/bge}":                                                                      "",
		"embedder: {provider: model, path: /models/bge, precision: f32, query_prefix: 'query: '}":                             "",
		"embedder: {provider: model}":                                                                                         "embedder.path: is missing",
		"embedder: {provider: model, path: /models/bge, precision: f16}":                                                      `embedder.precision: must be int8 or f32 (got "f16")`,
		"embedder: {provider: model, path: /models/bge, model: bge}":                                                          "write provider: openai",
		"embedder: {provider: builtin, path: /models/bge}":                                                                    "write provider: model",
		"embedder: {provider: builtin, query_input_type: query}":                                                              "builtin has one model",
		"embedder: {provider: builtin, tokens_per_minute: 1}":                                                                 "builtin has one model",
		"embedder: {provider: openai, model: m, requests_per_minute: -1}":                                                     "embedder.requests_per_minute: must not be negative (got -1)",
		"embedder: {provider: openai, model: m, tokens_per_minute: -1}":                                                       "embedder.tokens_per_minute: must not be negative (got -1)",
		"embedder: {provider: openai, model: m, query_input_type: '', passage_input_type: passage, requests_per_minute: 300}": "",
		"embedder: {provider: openai, model: m, precision: int8}":                                                             "write provider: model",
	} {
		_, err := config.Parse("c.yaml", []byte(text), nil)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got := faultsOf(t, err); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
