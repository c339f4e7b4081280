package schemasearch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/docseek/docseek/graphql"
)

// sharedSchemas is the folder of large schemas of real APIs that the long check
// names; without one, the tests on it have nothing to do.
func sharedSchemas() string { return os.Getenv("DOCSEEK_SCHEMAS") }

func sharedText(tb testing.TB, name string) []byte {
	tb.Helper()
	paths, _ := filepath.Glob(filepath.Join(sharedSchemas(), name+"*"))
	if len(paths) != 1 {
		tb.Fatalf("%s in %s: found %v", name, sharedSchemas(), paths)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		tb.Fatal(err)
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			tb.Fatal(err)
		}
		if text, err = io.ReadAll(z); err != nil {
			tb.Fatal(err)
		}
	}
	return text
}

func sharedSchema(tb testing.TB, name string) *graphql.Schema {
	tb.Helper()
	s, err := graphql.Load(sharedText(tb, name), name, graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

type labelled struct{ Schema, Terms, Expect string }

func labelledQueries(tb testing.TB) []labelled {
	tb.Helper()
	f, err := os.Open(filepath.Join(sharedSchemas(), "labelled_queries.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []labelled
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q labelled
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			tb.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// target is the type and field that a path ends at.
func target(s *graphql.Schema, path string) string {
	segments := strings.Split(path, ".")
	at := segments[0]
	for i, segment := range segments[1:] {
		if name, ok := strings.CutPrefix(segment, "<"); ok {
			at = strings.TrimSuffix(name, ">")
			continue
		}
		if i == len(segments)-2 {
			break
		}
		at = s.Type(at).Fields.ForName(segment).Type.Name()
	}
	return at + "." + segments[len(segments)-1]
}

func TestSharedQueries(t *testing.T) {
	if sharedSchemas() == "" {
		return
	}
	schemas := map[string]*graphql.Schema{}
	for _, damping := range []Damping{DefaultDamping, DampNone, DampDepth} {
		indexes := map[string]*Index{}
		queries := labelledQueries(t)
		at5, reciprocal := 0, 0.0
		for _, q := range queries {
			if schemas[q.Schema] == nil {
				schemas[q.Schema] = sharedSchema(t, q.Schema)
			}
			if indexes[q.Schema] == nil {
				indexes[q.Schema] = New(schemas[q.Schema], Options{Damping: damping})
			}
			answer := indexes[q.Schema].Search([]string{q.Terms}, 0)
			rank := 1 + slices.IndexFunc(answer.Paths, func(p Path) bool { return target(schemas[q.Schema], p.Path) == q.Expect })
			if rank > 0 {
				reciprocal += 1 / float64(rank)
			}
			if rank > 0 && rank <= 5 {
				at5++
			}
			if damping == DefaultDamping {
				t.Logf("%-32s rank %d of %d, %d more, %d characters", q.Terms, rank, len(answer.Paths), answer.Omitted.Count, utf8.RuneCountInString(answer.Text()))
			}
		}
		mrr := reciprocal / float64(len(queries))
		t.Logf("damping %s: hit@5 %d of %d, MRR %.3f", damping, at5, len(queries), mrr)
		if damping == DefaultDamping && (at5 < len(queries)-1 || mrr < 0.8) {
			t.Errorf("hit@5 is %d of %d, MRR %.3f", at5, len(queries), mrr)
		}
	}
}

// Every answer, of whatever size, is enough for a document along its first path.
func TestSharedAnswersAreEnough(t *testing.T) {
	if sharedSchemas() == "" {
		return
	}
	indexes := map[string]*Index{}
	for _, q := range labelledQueries(t) {
		if indexes[q.Schema] == nil {
			indexes[q.Schema] = New(sharedSchema(t, q.Schema), Options{})
		}
		x := indexes[q.Schema]
		for _, size := range []int{200, 500, 1000, 3000, 10000, 40000} {
			answer := x.Search([]string{q.Terms}, size)
			text := answer.Text()
			if n := utf8.RuneCountInString(text); n > size {
				t.Errorf("%s: %d characters in %d", q.Terms, n, size)
			}
			for i, p := range answer.Paths {
				asked, err := document(text, p.Path)
				if err != nil {
					t.Errorf("%s (%d), path %d %s: %v\n%s", q.Terms, size, i, p.Path, err, text)
					break
				}
				if _, errs := gqlparser.LoadQueryWithRules(x.schema.AST(), asked, rules.NewDefaultRules()); errs != nil {
					t.Errorf("%s (%d), path %d %s: %v\n%s", q.Terms, size, i, p.Path, errs, asked)
					break
				}
			}
			if len(answer.Paths) == 0 && answer.Hint == "" {
				t.Errorf("%s (%d): neither a path nor a hint", q.Terms, size)
			}
		}
	}
}
