package server

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/security.md names is there, and in the file or folder
// that the page names beside it.
func TestSecurityNamesTests(t *testing.T) {
	root := os.DirFS("..")
	declared := map[string][]string{} // the files that have a test of that name
	function := regexp.MustCompile(`^func ((?:Test|Fuzz)\w+)\(`)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
			if err == nil {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := root.Open(name)
		if err != nil {
			return err
		}
		defer source.Close()
		lines := bufio.NewScanner(source)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if found := function.FindStringSubmatch(lines.Text()); found != nil {
				declared[found[1]] = append(declared[found[1]], name)
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := fs.ReadFile(root, "docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	// Names, and after the last of them the place of all.
	group := regexp.MustCompile("((?:`(?:Test|Fuzz)\\w+`(?:, )?)+)(?: \\(([a-z_/.]+)\\))?")
	named := regexp.MustCompile("`(\\w+)`")
	count := 0
	for _, match := range group.FindAllStringSubmatch(string(page), -1) {
		for _, test := range named.FindAllStringSubmatch(match[1], -1) {
			count++
			if !isAt(declared[test[1]], match[2]) {
				t.Errorf("%s is not in %q: it is in %q", test[1], match[2], declared[test[1]])
			}
		}
	}
	if count < 30 {
		t.Errorf("the page names %d tests", count)
	}
}

// isAt reports whether one of the files is the place, or in the folder of that
// name; an empty place is anywhere.
func isAt(files []string, place string) bool {
	for _, file := range files {
		if place == "" || file == place || path.Dir(file) == place {
			return true
		}
	}
	return false
}
