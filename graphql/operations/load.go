package operations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

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
	// Err is why there is no text, which is a fault of this file alone; nil
	// where there is one.
	Err error
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

	schema   *ast.Schema
	limits   execute.Limits
	tampered []Fault
}

// Published are the operations that are tools, sorted by name.
func (s Set) Published() []*Operation {
	return slices.DeleteFunc(slices.Clone(s.Operations), func(o *Operation) bool { return o.Withheld != "" })
}

// Load makes operations of files. It never fails as a whole: what is broken is a
// fault, and is not published. The order of the files does not matter.
func Load(o Options) Set {
	o.MaxName = cmp.Or(max(o.MaxName, 0), DefaultMaxName)
	l := loader{
		Options: o, scalars: map[string]*scalar{}, fragments: map[string][]*ast.FragmentDefinition{}, texts: map[string]bool{},
		broken: map[*Operation]bool{}, published: map[string]persisted{}, unmapped: map[string][]string{},
	}
	for _, name := range slices.Sorted(maps.Keys(o.Scalars)) {
		s, err := newScalar(name, o.Scalars[name])
		if err != nil {
			l.fault(Place{File: "configuration"}, "", "scalars: %s: %v", name, err)
			continue
		}
		l.scalars[name] = s
	}
	for i, f := range l.files() {
		if i == maxFiles {
			l.fault(Place{File: f.Path}, "", "more than %d files are not read", maxFiles)
			break
		}
		l.read(f)
	}
	if l.Strict {
		l.faults = append(l.faults, l.tampered...)
	} else {
		l.warnings = append(l.warnings, l.tampered...)
	}
	l.annotated()
	l.clashes()
	for _, name := range slices.Sorted(maps.Keys(l.unmapped)) {
		l.warn(Place{File: "configuration"}, "", "the scalar %s of %s is described nowhere, so its values are not checked: add it under scalars",
			name, listed(l.unmapped[name]))
	}
	if len(l.operations)+len(l.faults) == 0 {
		l.warn(Place{File: "configuration"}, "", "%d files were read for the endpoint %s, and no operation in them is marked @%s",
			len(o.Files), o.Endpoint, markTool)
	}
	return l.set()
}

// loader collects what the files hold.
type loader struct {
	Options
	scalars map[string]*scalar
	marked  []*marked
	// fragments are those of all documents by name. Where there are several, they
	// differ.
	fragments  map[string][]*ast.FragmentDefinition
	texts      map[string]bool // of them
	operations []*Operation
	broken     map[*Operation]bool
	// published are persisted documents of others, by what they are worth: see
	// [printed].
	published map[string]persisted
	// tampered are those whose id is not the hash of the text.
	tampered []Fault
	// unmapped are the operations that need a custom scalar of which nothing is
	// known, by the scalar's name.
	unmapped map[string][]string
	faults   []Fault
	warnings []Fault
}

// tree is the schema; nil where none is known.
func (l *loader) tree() *ast.Schema {
	if l.Schema == nil {
		return nil
	}
	return l.Schema.AST()
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

func (l *loader) warn(at Place, operation, format string, args ...any) {
	l.warnings = append(l.warnings, Fault{Place: at, Operation: operation, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) read(f File) {
	if f.Err != nil {
		l.fault(Place{File: f.Path}, "", "the file cannot be read: %v", f.Err)
		return
	}
	kind := strings.ToLower(path.Ext(f.Path))
	if len(f.Text) > maxFileBytes && kind != ".json" {
		l.fault(Place{File: f.Path}, "", "the file has %d bytes; at most %d are read", len(f.Text), maxFileBytes)
		return
	}
	switch kind {
	case ".graphql", ".gql":
		l.document(f)
	case ".yaml", ".yml":
		l.add(loadFile(f, l.Options, checks(l.scalars)))
	case ".json":
		l.manifest(f)
	default:
		l.fault(Place{File: f.Path}, "", "the name does not say what the file holds: it must end in .graphql, .gql, .yaml, .yml or .json")
	}
}

// add keeps an operation with what is wrong with it. One that is broken is no
// tool, and its document is none of the set's.
func (l *loader) add(o *Operation, faults []Fault) {
	l.faults = append(l.faults, faults...)
	if o == nil {
		return
	}
	l.operations = append(l.operations, o)
	if len(faults) > 0 {
		l.broken[o] = true
		if o.Withheld != excluded {
			o.Withheld = inOrder(faults)[0].Message
		}
	}
}

// clashes finds tools of the same name. None of them is published.
func (l *loader) clashes() {
	named := map[string][]*Operation{}
	for _, o := range l.operations {
		if o.Withheld != excluded && o.Name != "" {
			named[o.Name] = append(named[o.Name], o)
		}
	}
	for _, o := range l.operations {
		var places []string
		for _, other := range named[o.Name] {
			twin := o.Kind == Annotated && other.Kind == Annotated && other.OperationName == o.OperationName // that has been said
			if o.Withheld != excluded && other != o && !twin {
				places = append(places, other.Place.String())
			}
		}
		if len(places) == 0 {
			continue
		}
		l.fault(o.Place, cmp.Or(o.OperationName, o.Name), "the tool's name %q is that of %s too: give one of them another",
			o.Name, listed(places))
		l.broken[o] = true
		o.Withheld = cmp.Or(o.Withheld, l.faults[len(l.faults)-1].Message)
	}
}

func (l *loader) set() Set {
	s := Set{
		Operations: l.operations, Faults: l.faults, Warnings: l.warnings, Documents: map[string]string{},
		schema: l.tree(), limits: l.Limits, tampered: l.tampered,
	}
	slices.SortStableFunc(s.Operations, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), comparePlaces(a.Place, b.Place))
	})
	for _, o := range s.Operations {
		if !l.broken[o] {
			s.Documents[o.ID] = o.Document
		}
	}
	s.Faults, s.Warnings = inOrder(s.Faults), inOrder(s.Warnings)
	return s
}

// inOrder are faults by place, each once.
func inOrder(faults []Fault) []Fault {
	faults = slices.Clone(faults)
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(comparePlaces(a.Place, b.Place), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(faults)
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
