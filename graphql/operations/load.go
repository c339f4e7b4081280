package operations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// Bounds on what is read.
const (
	maxFiles      = 10_000
	maxFileBytes  = 1 << 20
	maxFileTokens = 100_000
)

// DefaultMaxName is how many characters a tool's name may have: clients allow 64,
// and put a prefix such as "mcp__docseek__" before it.
const DefaultMaxName = 48

// File is one file that the operations of an endpoint are in.
type File struct {
	// Path is how the file is called in faults; its ending says what it holds:
	// .graphql and .gql annotated documents, .yaml and .yml one operation file,
	// .json persisted documents that somebody else built.
	Path string
	Text string
}

// Options say what operations are loaded from, and for which endpoint.
type Options struct {
	// Endpoint is the name of the API.
	Endpoint string
	// URL is its address.
	URL string
	// Schema is what the operations are held to; nil where none is known.
	Schema *graphql.Schema
	Files  []File
	// Scalars are the JSON Schemas of custom scalars, by their names.
	Scalars map[string]json.RawMessage
	// Lock holds the revisions of operation files that were tested.
	Lock Lock
	// RequireTest publishes an operation file only when its revision stands in Lock.
	RequireTest bool
	// Reserved are names that no operation may have: those of the built-in tools.
	Reserved []string
	// AuthProfiles are the hosts that credentials are for, by the names of the
	// credentials.
	AuthProfiles map[string]string
	// MaxName bounds a tool's name, in characters; 0 means [DefaultMaxName].
	MaxName int
	// Limits bound a document.
	Limits execute.Limits
	// Strict makes a fault of a persisted document whose id is not the hash of
	// its text; otherwise that is a warning.
	Strict bool
}

// Set is what was loaded for one endpoint. It does not change.
type Set struct {
	// Operations are sorted by name; those that are no tools have the reason in
	// Withheld.
	Operations []*Operation
	// Faults say what is broken, by place.
	Faults []Fault
	// Warnings say what works, and yet is worth a look, by place.
	Warnings []Fault
	// Documents are the exact texts of all valid operations by their ids, those
	// with exclude: true included.
	Documents map[string]string
}

// Published are the operations that are tools, sorted by name.
func (s Set) Published() []*Operation {
	return slices.DeleteFunc(slices.Clone(s.Operations), func(o *Operation) bool { return o.Withheld != "" })
}

// Load makes operations of files. It never fails as a whole: what is broken is a
// fault, and is not published. The order of the files does not matter.
func Load(o Options) Set {
	o.MaxName = cmp.Or(max(o.MaxName, 0), DefaultMaxName)
	l := loader{Options: o}
	for i, f := range l.files() {
		if i == maxFiles {
			l.fault(Place{File: f.Path}, "", "more than %d files are not read", maxFiles)
			break
		}
		l.read(f)
	}
	return l.set()
}

// loader collects what the files hold.
type loader struct {
	Options
	operations []*Operation
	faults     []Fault
	warnings   []Fault
}

// files are the files by path, each once.
func (l *loader) files() []File {
	sorted := slices.Clone(l.Files)
	slices.SortStableFunc(sorted, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(sorted, func(a, b File) bool { return a.Path == b.Path })
}

func (l *loader) fault(at Place, operation, format string, args ...any) {
	l.faults = append(l.faults, Fault{Place: at, Operation: operation, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) read(f File) {
	if len(f.Text) > maxFileBytes {
		l.fault(Place{File: f.Path}, "", "the file has %d bytes; at most %d are read", len(f.Text), maxFileBytes)
		return
	}
	switch strings.ToLower(path.Ext(f.Path)) {
	case ".yaml", ".yml":
		operation, faults := loadFile(f, l.Options)
		l.faults = append(l.faults, faults...)
		if operation != nil {
			l.operations = append(l.operations, operation)
		}
	default:
		l.fault(Place{File: f.Path}, "", "the name does not say what the file holds: it must end in .graphql, .gql, .yaml, .yml or .json")
	}
}

func (l *loader) set() Set {
	s := Set{Operations: l.operations, Faults: l.faults, Warnings: l.warnings, Documents: map[string]string{}}
	slices.SortStableFunc(s.Operations, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), comparePlaces(a.Place, b.Place))
	})
	for _, all := range [][]Fault{s.Faults, s.Warnings} {
		slices.SortStableFunc(all, func(a, b Fault) int {
			return cmp.Or(comparePlaces(a.Place, b.Place), cmp.Compare(a.Message, b.Message))
		})
	}
	return s
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
