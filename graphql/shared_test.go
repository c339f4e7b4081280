package graphql

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedSchemas are the large schemas of real APIs in the folder that the long
// check names; without one there are none.
func sharedSchemas(tb testing.TB) map[string][]byte {
	tb.Helper()
	dir := os.Getenv("DOCSEEK_SCHEMAS")
	all := map[string][]byte{}
	if dir == "" {
		return all
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".gz")
		if ext := filepath.Ext(name); ext != ".graphql" && ext != ".json" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
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
		all[name] = text
	}
	if len(all) == 0 {
		tb.Fatalf("%s holds no schema", dir)
	}
	return all
}

// Real schemas load, whole and without loss; the faults of GitHub's are named.
func TestSharedSchemas(t *testing.T) {
	for name, text := range sharedSchemas(t) {
		t.Run(name, func(t *testing.T) {
			s, err := Load(text, name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, s)
			for _, w := range s.Warnings() {
				t.Log(w)
			}
			switch {
			case name == "github.schema.graphql":
				if len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0].Place, "EnterpriseOwnerInfo.repositoryDeployKeySetting") || s.Warnings()[0].Line != 15153 {
					t.Errorf("the warnings are %v", s.Warnings())
				}
			case len(s.Warnings()) > 0:
				t.Errorf("the warnings are %v", s.Warnings())
			}
			checkCounts(t, s, text)
		})
	}
}

// checkCounts holds a schema against the counts of its introspection.
func checkCounts(t *testing.T, s *Schema, text []byte) {
	t.Helper()
	if text[0] != '{' {
		return
	}
	var answer struct {
		Data struct {
			Schema *introspected `json:"__schema"`
		} `json:"data"`
		Schema *introspected `json:"__schema"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	in := answer.Schema
	if in == nil {
		in = answer.Data.Schema
	}
	for _, want := range in.Types {
		def := s.Type(want.Name)
		if def == nil {
			t.Errorf("it lacks %s", want.Name)
			continue
		}
		fields := 0
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				fields++
			}
		}
		if def.BuiltIn {
			continue
		}
		if fields != len(want.Fields)+len(want.InputFields) || len(def.EnumValues) != len(want.EnumValues) {
			t.Errorf("%s has %d fields and %d values", want.Name, fields, len(def.EnumValues))
		}
		for _, f := range want.Fields {
			if got := def.Fields.ForName(f.Name); got == nil || len(got.Arguments) != len(f.Args) {
				t.Errorf("%s.%s has other arguments", want.Name, f.Name)
			}
		}
	}
}

func BenchmarkShared(b *testing.B) {
	for name, text := range sharedSchemas(b) {
		b.Run(name, func(b *testing.B) { benchmarkLoad(b, text) })
	}
}

func benchmarkLoad(b *testing.B, text []byte) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(text, "bench", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad reads a made-up schema of 2,000 types in both forms.
func BenchmarkLoad(b *testing.B) {
	sdl := largeSDL(500)
	b.Run("SDL", func(b *testing.B) { benchmarkLoad(b, []byte(sdl)) })
	answer, err := json.Marshal(newAPI(b, sdl).answer((&ladder{rung: Rung{Depth: deepest}}).wholeQuery()))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("introspection", func(b *testing.B) { benchmarkLoad(b, answer) })
}

// largeSDL has four types for each of n things.
func largeSDL(n int) string {
	var b strings.Builder
	b.WriteString("type Query {\n")
	for i := range n {
		fmt.Fprintf(&b, "  thing%d(id: ID!, where: Where%d = {size: 1}): Thing%d\n", i, i, i)
	}
	b.WriteString("}\n")
	for i := range n {
		fmt.Fprintf(&b, "\"\"\"\nThe thing with the number %d,\nwhich has others.\n\"\"\"\ntype Thing%d {\n  id: ID!\n  \"What it is called.\"\n  name(max: Int = 80): String\n"+
			"  others(first: Int, where: Where%d): [Thing%d!]!\n  kind: Kind%d!\n  old: String @deprecated(reason: \"use name\")\n}\n", i, i, i, (i*7+1)%n, i)
		fmt.Fprintf(&b, "input Where%d { size: Int kind: Kind%d = A and: [Where%d!] tags: [String!] }\nenum Kind%d { A \"The other.\" B C }\nunion Any%d = Thing%d | Query\n", i, i, i, i, i, i)
	}
	return b.String()
}

func BenchmarkSDL(b *testing.B) {
	s := mustLoad(b, largeSDL(500))
	b.ReportAllocs()
	for b.Loop() {
		_ = s.SDL()
	}
}
