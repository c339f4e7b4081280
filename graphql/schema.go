package graphql

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// MaxSchemaBytes bounds a schema's text, whatever its form.
const MaxSchemaBytes = 64 << 20

// maxWarnings bounds the warnings that are kept of one schema.
const maxWarnings = 100

// Warning is something that a schema has wrong, and that was put right or left
// out so that the rest can be used.
type Warning struct {
	// Place is the element, such as "Query.user(id:)" or "enum Sort"; empty for the whole.
	Place string `json:"place"`
	// Line counts from 1; 0 where the schema is no text.
	Line    int    `json:"line,omitempty"`
	Problem string `json:"problem"`
}

func (w Warning) String() string {
	var b strings.Builder
	if w.Place != "" {
		b.WriteString(w.Place)
		b.WriteString(": ")
	}
	b.WriteString(w.Problem)
	if w.Line > 0 {
		fmt.Fprintf(&b, " (line %d)", w.Line)
	}
	return b.String()
}

// Options say how a schema is read. The zero value is the default.
type Options struct {
	// Federation keeps what Apollo Federation adds to a schema for the machines
	// behind a router (_entities, join__Graph, @key …). By default it is left out,
	// and so is what the schema calls inaccessible.
	Federation bool
}

// Schema is an API's schema, complete in itself: every type that is referred to
// is defined, no name is defined twice. It does not change.
type Schema struct {
	ast        *ast.Schema
	names      []string
	unfillable map[string]string
	warnings   []Warning
	hash       string
	origin     string
}

// AST is the schema as the parser's library has it. It is shared: nobody may
// change it. The introspection types and the root fields __schema and __type are in it.
func (s *Schema) AST() *ast.Schema { return s.ast }

// Type is a type by its name; nil if there is none.
func (s *Schema) Type(name string) *ast.Definition { return s.ast.Types[name] }

// Names are the names of the types the API defines, sorted: neither built-in
// scalars nor introspection types.
func (s *Schema) Names() []string { return s.names }

// Warnings say what is wrong with the schema; at most a hundred and one.
func (s *Schema) Warnings() []Warning { return s.warnings }

// Hash is the SHA-256, in hex, of all that the schema says. The order in which
// it says it does not matter.
func (s *Schema) Hash() string { return s.hash }

// Origin is where the schema is from: a path or an address.
func (s *Schema) Origin() string { return s.origin }

// Unfillable says why no value of an input type can be written: it requires
// itself. ok is false for all other types.
func (s *Schema) Unfillable(name string) (why string, ok bool) {
	why, ok = s.unfillable[name]
	return why, ok
}

// SDL prints the whole schema: types by name, members in their own order.
func (s *Schema) SDL() string {
	return string(appendSchema(nil, s, func(b []byte, d *ast.Definition) []byte {
		return Style{Describe: -1, Arguments: true}.AppendType(b, d)
	}))
}

// Load reads a schema: SDL, the SDL of a supergraph, or the JSON answer to an
// introspection query, with or without the "data" around it.
func Load(text []byte, origin string, o Options) (*Schema, error) {
	if len(text) > MaxSchemaBytes {
		return nil, fmt.Errorf("read schema %s: it is larger than %d MiB", origin, MaxSchemaBytes>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var doc document
	var err error
	if rest := bytes.TrimLeft(text, " \t\r\n"); len(rest) > 0 && rest[0] == '{' {
		err = doc.readIntrospection(rest)
	} else {
		err = doc.readSDL(string(text), origin)
	}
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", origin, err)
	}
	return doc.schema(origin, o)
}

// LoadFile reads a schema from a file.
func LoadFile(path string, o Options) (*Schema, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if info.Size() > MaxSchemaBytes {
		return nil, fmt.Errorf("read schema %s: it is larger than %d MiB", path, MaxSchemaBytes>>20)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return Load(text, path, o)
}

// document is a schema on its way in: what the reader found, and what it noticed.
type document struct {
	ast.SchemaDocument
	warnings []Warning
	unsaid   int // warnings beyond the bound
}

func (d *document) warn(place string, pos *ast.Position, format string, args ...any) {
	if len(d.warnings) >= maxWarnings {
		d.unsaid++
		return
	}
	w := Warning{Place: place, Problem: fmt.Sprintf(format, args...)}
	if pos != nil {
		w.Line = pos.Line
	}
	d.warnings = append(d.warnings, w)
}

// schema puts the document right and closes it.
func (d *document) schema(origin string, o Options) (*Schema, error) {
	if !o.Federation {
		d.hideFederation()
	}
	built := d.build()
	s := &Schema{ast: built, origin: origin}
	for _, name := range slices.Sorted(maps.Keys(built.Types)) {
		if !built.Types[name].BuiltIn {
			s.names = append(s.names, name)
		}
	}
	if len(s.names) == 0 {
		return nil, fmt.Errorf("read schema %s: %w", origin, errNoTypes)
	}
	s.unfillable = unfillable(built)
	for _, name := range slices.Sorted(maps.Keys(s.unfillable)) {
		d.warn("input "+name, built.Types[name].Position, "can never be filled: %s", s.unfillable[name])
	}
	if built.Query == nil {
		d.warn("", nil, "has no query type")
	}
	if d.unsaid > 0 {
		d.warnings = append(d.warnings, Warning{Problem: fmt.Sprintf("%d more warnings", d.unsaid)})
	}
	s.warnings = d.warnings
	sum := sha256.Sum256(appendSchema(nil, s, appendSorted))
	s.hash = hex.EncodeToString(sum[:])
	return s, nil
}

var errNoTypes = errors.New("it defines no types")

// unfillable finds the input types that require a value of themselves, with the
// chain of fields that does so.
func unfillable(s *ast.Schema) map[string]string {
	fillable := map[string]bool{}
	// next is the first field that requires a type not yet known to be fillable;
	// of a @oneOf type, any one field is enough.
	next := func(d *ast.Definition) *ast.FieldDefinition {
		oneOf := d.Directives.ForName("oneOf") != nil
		var first *ast.FieldDefinition
		for _, f := range d.Fields {
			target := s.Types[f.Type.NamedType]
			open := target != nil && target.Kind == ast.InputObject && !fillable[target.Name]
			switch {
			case oneOf && !open:
				return nil
			case open && first == nil && (oneOf || f.Type.NonNull && f.DefaultValue == nil):
				first = f
			}
		}
		return first
	}
	var open []*ast.Definition
	for _, name := range slices.Sorted(maps.Keys(s.Types)) {
		if d := s.Types[name]; d.Kind == ast.InputObject {
			open = append(open, d)
		}
	}
	for before := -1; len(open) != before; {
		before = len(open)
		open = slices.DeleteFunc(open, func(d *ast.Definition) bool {
			fillable[d.Name] = next(d) == nil
			return fillable[d.Name]
		})
	}
	why := map[string]string{}
	for _, d := range open {
		var chain strings.Builder
		seen := map[string]bool{}
		for at := d; !seen[at.Name]; {
			seen[at.Name] = true
			f := next(at)
			fmt.Fprintf(&chain, "%s.%s requires ", at.Name, f.Name)
			at = s.Types[f.Type.NamedType]
			if seen[at.Name] || len(seen) == 8 {
				chain.WriteString(at.Name)
				break
			}
			chain.WriteString(at.Name + ", ")
		}
		why[d.Name] = chain.String()
	}
	return why
}
