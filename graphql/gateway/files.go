package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds on what is read for one endpoint.
const (
	maxFileBytes = 1 << 20
	// maxManifestBytes bounds persisted documents (.json), which are many in one file.
	maxManifestBytes = 16 << 20
	maxFiles         = 2000
	maxBytes         = 32 << 20
	// maxEntries bounds what is looked at to find the files, and maxNesting how
	// deep ** goes.
	maxEntries = 50_000
	maxNesting = 32
)

// source is a file that was read, or that could not be.
type source struct {
	path, text string
	err        error
}

// glob finds the files of some patterns.
type glob struct {
	found   map[string]struct{}
	folders map[string]struct{}
	entries int
}

// present refuses patterns whose folder is not there while no file is found at
// all: a folder that cannot be reached for the moment takes nothing away.
func present(files, folders []string) error {
	if len(files) > 0 {
		return nil
	}
	for _, folder := range folders {
		if _, err := os.Stat(cmp.Or(folder, ".")); err != nil {
			return fmt.Errorf("find the operations: %w", err)
		}
	}
	return nil
}

// expand finds the files that the patterns match, sorted. In a pattern "*", "?"
// and "[…]" stand for characters within a segment, a segment "**" for any number
// of folders. Names that begin with a dot are matched only where the pattern's
// segment begins with one too: a mounted ConfigMap keeps its versions in such
// folders. The folders are those that were looked into, or that would be if
// they were there: where a file that matches can appear.
func expand(patterns []string) (files, folders []string, err error) {
	g := glob{found: map[string]struct{}{}, folders: map[string]struct{}{}}
	for _, pattern := range patterns {
		root, rest := filepath.VolumeName(pattern), filepath.ToSlash(pattern)[len(filepath.VolumeName(pattern)):]
		if strings.HasPrefix(rest, "/") {
			root += string(filepath.Separator)
		}
		segments := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
		if err := g.walk(root, segments, 0); err != nil {
			return nil, nil, fmt.Errorf("find the files of %s: %w", pattern, err)
		}
	}
	return sorted(g.found), sorted(g.folders), nil
}

func sorted(set map[string]struct{}) []string {
	all := make([]string, 0, len(set))
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// walk matches the rest of a pattern below a folder.
func (g *glob) walk(folder string, segments []string, depth int) error {
	if len(segments) == 0 {
		return nil // the pattern ends in **, which is a folder
	}
	segment, rest := segments[0], segments[1:]
	if segment != "**" && !strings.ContainsAny(segment, `*?[\`) {
		name := filepath.Join(folder, segment)
		if len(rest) > 0 {
			return g.walk(name, rest, depth)
		}
		g.folders[filepath.Clean(folder)] = struct{}{}
		return g.add(name)
	}
	g.folders[filepath.Clean(folder)] = struct{}{}
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if g.entries += len(entries); g.entries > maxEntries {
		return fmt.Errorf("there are more than %d entries: name a narrower folder", maxEntries)
	}
	if segment == "**" {
		return g.descend(folder, segments, entries, depth)
	}
	for _, entry := range entries {
		if hidden(entry.Name()) && !hidden(segment) {
			continue
		}
		if ok, err := path.Match(segment, entry.Name()); err != nil || !ok {
			continue // a pattern that is none was refused with the configuration
		}
		name := filepath.Join(folder, entry.Name())
		if len(rest) == 0 {
			err = g.add(name)
		} else {
			err = g.walk(name, rest, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// descend matches "**": the folder itself and all below it. Links to folders
// are not followed, since they may lead in a circle.
func (g *glob) descend(folder string, segments []string, entries []os.DirEntry, depth int) error {
	if err := g.walk(folder, segments[1:], depth); err != nil {
		return err
	}
	if depth >= maxNesting {
		return fmt.Errorf("%s nests deeper than %d folders", folder, maxNesting)
	}
	for _, entry := range entries {
		if entry.IsDir() && !hidden(entry.Name()) {
			if err := g.walk(filepath.Join(folder, entry.Name()), segments, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// absent reports whether there is nothing at a path.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// add takes a file, if there is one. A link to a file is a file. One of which
// nothing can be known, such as a link to itself, is for reading to complain of.
func (g *glob) add(name string) error {
	info, err := os.Stat(name)
	if absent(err) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	g.found[name] = struct{}{}
	if len(g.found) > maxFiles {
		return fmt.Errorf("there are more than %d files", maxFiles)
	}
	return nil
}

// readAll reads files, within the bounds. One that is gone by now is left out;
// one that cannot be read has the reason, and the others are read.
func readAll(names []string) ([]source, error) {
	var all []source
	total := 0
	for _, name := range names {
		text, err := readFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if total += len(text); total > maxBytes {
			return nil, fmt.Errorf("read %s: all files together have more than %d bytes", name, maxBytes)
		}
		all = append(all, source{name, string(text), err})
	}
	return all, nil
}

func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait for a writer
		return nil, fmt.Errorf("read %s: it is no regular file", name)
	}
	f, err := os.Open(name) //nolint:gosec // the configuration names the file
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := maxFileBytes
	if strings.EqualFold(filepath.Ext(name), ".json") {
		most = maxManifestBytes
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > most {
		return nil, fmt.Errorf("read %s: it is larger than %d bytes", name, most)
	}
	return text, nil
}

// digest tells two states of files apart.
func digest(files []source) [sha256.Size]byte {
	h := sha256.New()
	for _, f := range files {
		parts := []string{f.path, f.text}
		if f.err != nil {
			parts = append(parts, f.err.Error())
		}
		_ = binary.Write(h, binary.BigEndian, uint64(len(parts)))
		for _, part := range parts {
			_ = binary.Write(h, binary.BigEndian, uint64(len(part)))
			_, _ = io.WriteString(h, part)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}
