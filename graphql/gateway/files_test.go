package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files below a new folder; a name with an arrow is a link.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(path, []byte(name), 0o600)
		if link {
			err = os.Remove(path)
			if err == nil {
				err = os.Symlink(target, path)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestExpand(t *testing.T) {
	root := tree(t, "a.graphql", "b.gql", "notes.md", "deep/c.graphql", "deep/er/d.graphql", "deep/er/e.yaml",
		".git/x.graphql", "..2026_11/f.yaml", "..data -> ..2026_11", "f.yaml -> ..data/f.yaml", "gone.graphql -> nowhere", "round/trip -> ..")
	for _, test := range []struct {
		patterns []string
		files    string
	}{
		{[]string{"*.graphql"}, "a.graphql"},
		{[]string{"**/*.graphql"}, "a.graphql deep/c.graphql deep/er/d.graphql"},
		{[]string{"**/*.graphql", "a.graphql", "*.g?l"}, "a.graphql b.gql deep/c.graphql deep/er/d.graphql"},
		{[]string{"deep/**/*.yaml"}, "deep/er/e.yaml"},
		{[]string{"**/**/e.yaml"}, "deep/er/e.yaml"},
		{[]string{"*/c.graphql"}, "deep/c.graphql"},
		{[]string{"[ab].g*"}, "a.graphql b.gql"},
		{[]string{"*.yaml"}, "f.yaml"},    // as a ConfigMap is mounted: once, not by its versions too
		{[]string{"**/f.yaml"}, "f.yaml"}, // likewise
		{[]string{"..data/*.yaml"}, "..data/f.yaml"},
		{[]string{".git/*.graphql"}, ".git/x.graphql"},
		{[]string{"nowhere/**/*.graphql"}, ""},
		{[]string{"**"}, ""},
	} {
		var patterns, got []string
		for _, p := range test.patterns {
			patterns = append(patterns, filepath.Join(root, filepath.FromSlash(p)))
		}
		files, _, err := expand(patterns)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			short, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(short))
		}
		if diff := cmp.Diff(test.files, strings.Join(got, " ")); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.patterns, diff)
		}
	}
	_, folders, err := expand([]string{filepath.Join(root, "deep", "**", "*.yaml"), filepath.Join(root, "later", "*.yaml")})
	want := []string{filepath.Join(root, "deep"), filepath.Join(root, "deep", "er"), filepath.Join(root, "later")}
	if diff := cmp.Diff(want, folders); diff != "" || err != nil {
		t.Errorf("folders, error %v (-want +got):\n%s", err, diff)
	}
}

func TestExpandRelative(t *testing.T) {
	t.Chdir(tree(t, "ops/a.graphql"))
	files, folders, err := expand([]string{"ops/*.graphql", "*.graphql"})
	if err != nil || strings.Join(files, " ") != "ops/a.graphql" || strings.Join(folders, " ") != ". ops" {
		t.Errorf("files %q, folders %q, error %v", files, folders, err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	deep := tree(t, strings.Repeat("d/", maxNesting+2)+"a.graphql")
	if _, _, err := expand([]string{filepath.Join(deep, "**", "*.graphql")}); err == nil || !strings.Contains(err.Error(), "nests deeper") {
		t.Errorf("deep folders: %v", err)
	}
	root := tree(t, "large.graphql", "a.graphql")
	large := filepath.Join(root, "large.graphql")
	if err := os.Truncate(large, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	read, err := readAll([]string{large, filepath.Join(root, "a.graphql"), root})
	if err != nil || len(read) != 3 || read[1].text != "a.graphql" {
		t.Fatalf("a large file, a fine one and a folder: %v, %v", read, err)
	}
	for i, want := range map[int]string{0: "larger than", 2: "no regular file"} {
		if read[i].err == nil || !strings.Contains(read[i].err.Error(), want) {
			t.Errorf("%s: %v, want %q", read[i].path, read[i].err, want)
		}
	}
	if err := os.Truncate(large, maxFileBytes); err != nil {
		t.Fatal(err)
	}
	many := make([]string, maxBytes/maxFileBytes+1)
	for i := range many {
		many[i] = large
	}
	if _, err := readAll(many); err == nil || !strings.Contains(err.Error(), "all files together") {
		t.Errorf("large files: %v", err)
	}
	read, err = readAll([]string{filepath.Join(root, "a.graphql"), filepath.Join(root, "gone.graphql")})
	if err != nil || len(read) != 1 || read[0].text != "a.graphql" {
		t.Errorf("a file that is gone by now: %v, %v", read, err)
	}
}

func TestDigest(t *testing.T) {
	states := [][]source{
		nil,
		{{path: "a", text: "b"}},
		{{path: "ab"}},
		{{path: "a"}, {path: "b"}},
		{{text: "ab"}},
		{{path: "a", text: "c"}},
		{{path: "a", err: errors.New("b")}},
		{{path: "a", err: errors.New("c")}},
	}
	for i, a := range states {
		for j, b := range states {
			if same := digest(a) == digest(b); same != (i == j) {
				t.Errorf("%v and %v have the same digest: %t", a, b, same)
			}
		}
	}
}
