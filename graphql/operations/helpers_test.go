package operations_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/docseek/docseek/graphql"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// archives are the files of a folder of test data, by path.
func archives(tb testing.TB, folder string) map[string]*txtar.Archive {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		tb.Fatal(paths, err)
	}
	all := map[string]*txtar.Archive{}
	for _, path := range paths {
		if all[path], err = txtar.ParseFile(path); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// goldens holds what becomes of the files of each archive in a folder to those of
// its files that are called want/….
func goldens(t *testing.T, folder string, become func(*testing.T, []txtar.File) []txtar.File) {
	t.Helper()
	for path, archive := range archives(t, folder) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			var files, want []txtar.File
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want/") {
					want = append(want, f)
				} else {
					files = append(files, f)
				}
			}
			got := become(t, files)
			if *update {
				archive.Files = slices.Concat(files, got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func schema(tb testing.TB, text string) *graphql.Schema {
	tb.Helper()
	s, err := graphql.Load([]byte(text), "schema.graphql", graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
