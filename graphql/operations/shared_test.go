package operations

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
)

// sharedSchema is one of the large schemas of real APIs, packed, in the folder
// that the long check names.
func sharedSchema(tb testing.TB, name string) *graphql.Schema {
	tb.Helper()
	dir := os.Getenv("DOCSEEK_SCHEMAS")
	if dir == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, name+".gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := graphql.Load(text, name, graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

const prisma = "prisma-style-anonymised-big.graphql"

// inputs are variables of each input type that a schema has.
func inputs(s *graphql.Schema) map[string]ast.VariableDefinitionList {
	all := map[string]ast.VariableDefinitionList{}
	for _, name := range s.Names() {
		if s.Type(name).Kind == ast.InputObject {
			all[name] = ast.VariableDefinitionList{{Variable: "input", Type: &ast.Type{NamedType: name, NonNull: true}}}
		}
	}
	return all
}

// every is a document with an operation for each field of the roots that has
// arguments, which are all variables.
func every(s *graphql.Schema) string {
	var b strings.Builder
	for _, root := range []*ast.Definition{s.AST().Query, s.AST().Mutation} {
		if root == nil {
			continue
		}
		kind := Query
		if root == s.AST().Mutation {
			kind = Mutation
		}
		for _, f := range root.Fields {
			if len(f.Arguments) == 0 || strings.HasPrefix(f.Name, "__") {
				continue
			}
			var declared, given []string
			for _, a := range f.Arguments {
				standard := ""
				if a.DefaultValue != nil {
					standard = " = " + a.DefaultValue.String()
				}
				declared = append(declared, "$"+a.Name+": "+a.Type.String()+standard)
				given = append(given, a.Name+": $"+a.Name)
			}
			below := leafFields(s, f.Type.Name())
			fmt.Fprintf(&b, "%s %s_%s(%s) @mcpTool(description: \"x\", name: \"f%d\") { %s(%s)%s }\n",
				kind, kind, f.Name, strings.Join(declared, ", "), b.Len(), f.Name, strings.Join(given, ", "), below)
		}
	}
	return b.String()
}

// leafFields selects the members of a type that have neither arguments nor members of
// their own.
func leafFields(s *graphql.Schema, name string) string {
	def := s.Type(name)
	if def.IsLeafType() {
		return ""
	}
	var set strings.Builder
	set.WriteString(" { __typename")
	for _, f := range def.Fields {
		if s.Type(f.Type.Name()).IsLeafType() && len(f.Arguments) == 0 && !strings.HasPrefix(f.Name, "__") {
			set.WriteString(" " + f.Name)
		}
	}
	return set.String() + " }"
}

// Every operation that large APIs have becomes a tool whose input is a JSON
// Schema that says no more than the types say, however they contain themselves.
func TestSharedSchemasConvert(t *testing.T) {
	for _, name := range []string{
		prisma, "github.introspection.json", "shopify-admin-2025-01.introspection.json", "shopify-storefront.introspection.json",
		"shopify-customer-account.introspection.json", "swapi.introspection.json",
	} {
		s := sharedSchema(t, name)
		if s == nil {
			return
		}
		t.Run(name, func(t *testing.T) {
			set := Load(Options{Schema: s, Files: []File{{Path: "every.graphql", Text: every(s)}}})
			for _, f := range set.Faults {
				t.Error(f)
			}
			largest := set.Operations[0]
			for i, o := range set.Operations {
				if len(o.Input) > len(largest.Input) {
					largest = o
				}
				held(t, o.Input, i%50 == 0)
			}
			held(t, largest.Input, true)
			if len(set.Published()) != len(set.Operations) {
				t.Errorf("%d of %d operations are tools", len(set.Published()), len(set.Operations))
			}
			t.Logf("%d operations, the largest input has %d bytes", len(set.Operations), len(largest.Input))
		})
	}
}

// held holds a tool's input to what clients read: a closed object without
// combinators at the top, and where it is compiled, a JSON Schema whose
// references lead somewhere.
func held(t *testing.T, input json.RawMessage, compiled bool) {
	t.Helper()
	var top map[string]any
	if err := json.Unmarshal(input, &top); err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(top)); top["type"] != "object" || top["additionalProperties"] != false ||
		!slices.Equal(slices.DeleteFunc(keys, func(k string) bool { return k == "$defs" || k == "required" }), []string{"additionalProperties", "properties", "type"}) {
		t.Fatalf("the keywords at the top are %v", keys)
	}
	if !compiled {
		return
	}
	if _, err := compile("input", top); err != nil {
		t.Fatal(err)
	}
}

// ring is a schema of input types that contain one another, each many times.
func ring(tb testing.TB, types, fields int) *graphql.Schema {
	tb.Helper()
	var b strings.Builder
	b.WriteString("type Query { x(i: T0): Int }\n")
	for i := range types {
		fmt.Fprintf(&b, "input T%d {\n  name: String\n", i)
		for j := range fields {
			fmt.Fprintf(&b, "  f%d: [T%d!]\n  g%d: T%d\n", j, (i*fields+j+1)%types, j, (i+j)%types)
		}
		b.WriteString("}\n")
	}
	s, err := graphql.Load([]byte(b.String()), "ring", graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// bounded checks that each input is no larger than the definitions of its types,
// each written once, and returns the largest.
func bounded(tb testing.TB, s *graphql.Schema) (name string, size int) {
	tb.Helper()
	all := inputs(s)
	for _, input := range slices.Sorted(maps.Keys(all)) {
		c := conversion{schema: s.AST()}
		n := len(c.object(all[input], nil))
		members := 0
		for _, u := range c.used {
			members += 1 + len(u.def.Fields) + len(u.def.EnumValues)
		}
		if n > 200*members {
			tb.Errorf("%s has %d bytes for %d members", input, n, members)
		}
		if n > size {
			name, size = input, n
		}
	}
	return name, size
}

func TestInputsAreBounded(t *testing.T) {
	s := ring(t, 50, 6)
	name, size := bounded(t, s)
	c := conversion{schema: s.AST()}
	held(t, c.object(inputs(s)[name], nil), true)
	t.Logf("the largest input is %s, with %d bytes", name, size)
}

func TestSharedInputsAreBounded(t *testing.T) {
	if s := sharedSchema(t, prisma); s != nil {
		name, size := bounded(t, s)
		t.Logf("the largest of %d inputs is %s, with %d bytes", len(inputs(s)), name, size)
	}
}

// A chain of types that are used once each is no deeper in the schema than
// clients can read.
func TestLongChain(t *testing.T) {
	var b strings.Builder
	const types = 20_000
	for i := range types {
		fmt.Fprintf(&b, "input T%d { next: T%d }\n", i, i+1)
	}
	fmt.Fprintf(&b, "input T%d { x: Int }\ntype Query { x(i: T0): Int }", types)
	s, err := graphql.Load([]byte(b.String()), "chain", graphql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := conversion{schema: s.AST()}
	text := c.object(ast.VariableDefinitionList{{Variable: "i", Type: &ast.Type{NamedType: "T0"}}}, nil)
	depth, deepest := 0, 0
	for _, r := range text {
		switch r {
		case '{':
			depth++
			deepest = max(deepest, depth)
		case '}':
			depth--
		}
	}
	if deepest > 50 || depth != 0 || !json.Valid(text) {
		t.Errorf("it nests %d levels deep", deepest)
	}
}

func BenchmarkInput(b *testing.B) {
	s := ring(b, 200, 10)
	benchmark(b, s, "T0")
}

func benchmark(b *testing.B, s *graphql.Schema, names ...string) {
	b.Helper()
	all := inputs(s)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := conversion{schema: s.AST()}
		c.object(all[names[i%len(names)]], nil)
	}
}

func BenchmarkSharedInput(b *testing.B) {
	s := sharedSchema(b, prisma)
	if s == nil {
		return
	}
	largest, _ := bounded(b, s)
	b.Run("all", func(b *testing.B) { benchmark(b, s, slices.Sorted(maps.Keys(inputs(s)))...) })
	b.Run("largest", func(b *testing.B) { benchmark(b, s, largest) })
}

// Operations that fit one version of an API, and what another version breaks.
func TestSharedDrift(t *testing.T) {
	before, after := sharedSchema(t, "shopify-storefront-2024-04.introspection.json"), sharedSchema(t, "shopify-storefront-2025-01.introspection.json")
	if before == nil {
		return
	}
	o := Options{Schema: before, Files: []File{{Path: "every.graphql", Text: every(before)}}}
	set := Load(o)
	if len(set.Faults) > 0 {
		t.Fatal(set.Faults)
	}
	o.Schema = after
	now := Load(o)
	broken := map[string]bool{}
	for _, f := range now.Faults {
		broken[f.Operation] = true
		if f.Line == 0 {
			t.Errorf("%v has no place", f)
		}
		t.Log(f)
	}
	if len(broken) == 0 || len(now.Published())+len(broken) != len(set.Published()) {
		t.Errorf("%d were tools, %d still are, %d are broken", len(set.Published()), len(now.Published()), len(broken))
	}
	for _, op := range now.Published() {
		if broken[op.OperationName] {
			t.Errorf("%s is broken and published", op.Name)
		}
	}
	t.Logf("%d of %d operations are broken", len(broken), len(set.Published()))
}
