package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes is the largest configuration file that is read.
const MaxBytes = 1 << 20

// maxFaults bounds the faults that one check reports.
const maxFaults = 50

// maxTries bounds how often a file is read without some of its entries, to find
// those that an error without a place is about.
const maxTries = 100

// maxDepth is how deep brackets may nest. The time that the library takes grows
// with the square of it.
const maxDepth = 100

// Check finds what is wrong with a configuration beyond what [Config.Validate]
// knows. Its faults have a field; where that stands is looked up.
type Check func(Config) []Fault

// Load reads the file at path, fills ${NAME} from environ, lets DOCSEEK_…
// variables override single values, and validates. environ is in the form of
// os.Environ. Paths in the file are relative to its folder. Everything that is
// wrong comes back in one *FaultsError.
func Load(path string, environ []string, checks ...Check) (Config, error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		message := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message += " (docseek config init writes a commented one)"
		}
		return Config{}, &FaultsError{Faults: []Fault{{Message: message}}}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return Config{}, &FaultsError{Faults: []Fault{{Message: err.Error()}}}
	}
	if len(text) > MaxBytes {
		return Config{}, &FaultsError{Faults: []Fault{{File: path, Message: fmt.Sprintf("is larger than %d bytes", MaxBytes)}}}
	}
	c, err := Parse(path, text, environ, checks...)
	if err != nil {
		return Config{}, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Config{}, fmt.Errorf("find the folder of %s: %w", path, err)
	}
	c.resolve(folder)
	return c, nil
}

// resolve makes the paths absolute.
func (c *Config) resolve(folder string) {
	absolute := func(path *string) {
		if !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
	if file := &c.Server.Auth.TokensFile; *file != "" {
		absolute(file)
	}
	if c.Embedder.Path != "" {
		absolute(&c.Embedder.Path)
	}
	for i := range c.Sources {
		if start := &c.Sources[i].Start; !IsURL(*start) {
			absolute(start)
		}
	}
	for i := range c.GraphQL {
		if schema := &c.GraphQL[i].Schema; *schema != "" && *schema != Introspect {
			absolute(schema)
		}
		c.GraphQL[i].Operations = slices.Clone(c.GraphQL[i].Operations)
		for j := range c.GraphQL[i].Operations {
			absolute(&c.GraphQL[i].Operations[j])
		}
	}
	for name, p := range c.AuthProfiles {
		if p.File != "" {
			absolute(&p.File)
			c.AuthProfiles[name] = p
		}
	}
}

// Parse is [Load] of a text; name stands for the file in the faults, and paths
// stay as they are.
func Parse(name string, text []byte, environ []string, checks ...Check) (Config, error) {
	tokens := lexer.Tokenize(string(text))
	if tk := tooDeep(tokens); tk != nil {
		return Config{}, &FaultsError{Faults: faults{atToken(tk, fmt.Sprintf("nests deeper than %d", maxDepth))}.in(name)}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return Config{}, &FaultsError{Faults: faults{faultOf(err)}.in(name)}
	}
	r := reader{env: environment(environ), broken: map[string]bool{}}
	c := Default()
	if len(file.Docs) > 1 {
		r.add(atToken(file.Docs[1].GetToken(), "a second YAML document begins here; one is read"))
	}
	if len(file.Docs) > 0 && file.Docs[0].Body != nil {
		r.root = file.Docs[0].Body
		r.expand()
		c = r.decode()
	}
	r.override(&c)
	found := c.validate()
	for _, check := range checks {
		found = append(found, check(c)...)
	}
	for _, f := range found {
		if !r.broken[f.Field] && len(r.faults) < maxFaults {
			r.add(r.place(f))
		}
	}
	if len(r.faults) == 0 {
		return c, nil
	}
	slices.SortStableFunc(r.faults, byPlace)
	return Config{}, &FaultsError{Faults: r.faults.in(name)}
}

// Override is the default configuration with the DOCSEEK_… variables over it.
func Override(environ []string, checks ...Check) (Config, error) {
	return Parse("", nil, environ, checks...)
}

// tooDeep is the bracket that nests too deep, if one does.
func tooDeep(tokens token.Tokens) *token.Token {
	depth := 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			if depth++; depth > maxDepth {
				return tk
			}
		case token.MappingEndType, token.SequenceEndType:
			depth--
		default: // only brackets nest without indentation
		}
	}
	return nil
}

type faults []Fault

func (fs faults) in(file string) []Fault {
	for i := range fs {
		if fs[i].Line > 0 {
			fs[i].File = file
		}
	}
	return fs
}

type reader struct {
	root   ast.Node
	env    map[string]string
	faults faults
	// broken holds the fields whose value could not be read, so that they are
	// not reported as missing too.
	broken map[string]bool
	// tries is how often the file was read without some of its entries.
	tries int
}

func (r *reader) add(f Fault) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, f)
	}
}

// reference matches ${NAME}; $${NAME} stands for the literal text.
var reference = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} in every string value. It works on the parsed tree,
// so that no value of a variable is read as YAML.
func (r *reader) expand() {
	for _, kind := range []ast.NodeType{ast.StringType, ast.LiteralType} {
		for _, n := range ast.Filter(kind, r.root) {
			switch n := n.(type) {
			case *ast.StringNode:
				n.Value = r.substitute(n.Value, n)
			case *ast.LiteralNode:
				n.Value.Value = r.substitute(n.Value.Value, n)
			}
		}
	}
}

func (r *reader) substitute(s string, at ast.Node) string {
	return reference.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		name := m[2 : len(m)-1]
		v, ok := r.env[name]
		if !ok {
			field := strings.TrimPrefix(at.GetPath(), "$.")
			f := atToken(at.GetToken(), "the environment has no variable "+name)
			f.Field = field
			r.broken[field] = true
			r.add(f)
		}
		return v
	})
}

// decode fills a Config from the tree. The library stops at the first fault; to
// report them all, the faulty entry is taken out and the rest read again.
func (r *reader) decode() Config {
	for range maxFaults {
		c, err := r.try()
		if err == nil {
			return c
		}
		f := faultOf(err)
		e, found := r.culprit(err)
		if !found {
			r.add(f)
			return c
		}
		if f.Line == 0 {
			f = atToken(e.value.Value.GetToken(), f.Message)
		}
		f.Field = strings.TrimPrefix(e.value.GetPath(), "$.")
		r.broken[f.Field] = true
		r.add(f)
		e.in.Values = slices.DeleteFunc(e.in.Values, func(v *ast.MappingValueNode) bool { return v == e.value })
	}
	return Default()
}

// try decodes the tree as it is. On some tags without a value, goccy/go-yaml
// v1.19.2 panics.
func (r *reader) try() (c Config, err error) {
	defer func() {
		if recover() != nil {
			c, err = Default(), errors.New("is a value that cannot be read: is there a tag (!) without one?")
		}
	}()
	c = Default()
	err = yaml.NodeToValue(r.root, &c, yaml.Strict())
	return c, err
}

// entry is a key with its value, in a mapping.
type entry struct {
	in    *ast.MappingNode
	value *ast.MappingValueNode
}

// culprit finds the entry that an error is about: the one at the error's place,
// or, for an error that has none (a duration's), the smallest one without which
// the error goes away.
func (r *reader) culprit(err error) (entry, bool) {
	var entries []entry // what stands in an entry before the entry
	for _, n := range slices.Backward(ast.Filter(ast.MappingType, r.root)) {
		if m, ok := n.(*ast.MappingNode); ok {
			for _, v := range m.Values {
				entries = append(entries, entry{m, v})
			}
		}
	}
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		place := located.GetToken().Position
		at := func(n ast.Node) bool {
			p := n.GetToken().Position
			return p.Line == place.Line && p.Column == place.Column
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return at(e.value.Key) || at(e.value.Value) })
		if i < 0 {
			return entry{}, false
		}
		return entries[i], true
	}
	// Without the first few of them the error is as it was, without one more it
	// is another or none: halving finds such a place.
	few, more := 0, len(entries)
	if r.tries >= maxTries || r.without(entries) == err.Error() {
		return entry{}, false
	}
	for more-few > 1 {
		if half := (few + more) / 2; r.without(entries[:half]) == err.Error() {
			few = half
		} else {
			more = half
		}
	}
	if more == 0 {
		return entry{}, false
	}
	return entries[more-1], true
}

// without is the message of the error that is left when the entries are not there.
func (r *reader) without(entries []entry) string {
	gone, whole := map[*ast.MappingValueNode]bool{}, map[*ast.MappingNode][]*ast.MappingValueNode{}
	for _, e := range entries {
		gone[e.value], whole[e.in] = true, e.in.Values
	}
	for m, all := range whole {
		m.Values = slices.DeleteFunc(slices.Clone(all), func(v *ast.MappingValueNode) bool { return gone[v] })
	}
	r.tries++
	_, err := r.try()
	for m, all := range whole {
		m.Values = all
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

func (r *reader) override(c *Config) {
	err := env.ParseWithOptions(c, env.Options{Prefix: Prefix, Environment: r.env})
	var all env.AggregateError
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, e := range all.Errors {
			r.add(Fault{Message: "an environment variable " + Prefix + "…: " + e.Error()})
		}
	default:
		r.add(Fault{Message: err.Error()})
	}
}

// Prefix begins the name of every environment variable that docseek reads by itself.
const Prefix = "DOCSEEK_"

// place finds where the field of a fault stands in the file.
func (r *reader) place(f Fault) Fault {
	if r.root == nil {
		return f
	}
	field := f.Field
	for field != "" {
		path, err := yaml.PathString("$." + field)
		if err != nil {
			return f
		}
		if n, err := path.FilterNode(r.root); err == nil && n != nil {
			p := n.GetToken().Position
			f.Line, f.Column = p.Line, p.Column
			return f
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return f
}

func faultOf(err error) Fault {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		return atToken(located.GetToken(), located.GetMessage())
	}
	return Fault{Message: err.Error()}
}

func atToken(tk *token.Token, message string) Fault {
	return Fault{Line: tk.Position.Line, Column: tk.Position.Column, Message: message}
}

func environment(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}
