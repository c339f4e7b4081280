package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// everyKind is a schema with a property of every kind.
var everyKind = schema{Type: kindObject, Properties: []property{
	{Name: "query", Required: true, schema: schema{Type: kindString}, Aliases: []string{"q"}},
	{Name: "mode", schema: schema{Type: kindString, Enum: []string{"hybrid", "lexical"}}},
	{Name: "limit", schema: schema{Type: kindInteger, Minimum: bound(1), Maximum: bound(20)}, Aliases: []string{"top_k"}},
	{Name: "score", schema: schema{Type: kindNumber, Minimum: bound(0), Maximum: bound(1)}},
	{Name: "group", schema: schema{Type: kindBoolean}},
	{Name: "terms", schema: schema{Type: kindArray, Items: &schema{Type: kindString}}},
	{Name: "any", schema: schema{Type: kindArray}},
	{Name: "where", schema: schema{Type: kindObject, Properties: []property{
		{Name: "depth", Required: true, schema: schema{Type: kindInteger}},
	}}},
	{Name: "variables", schema: schema{Type: kindObject}},
}}

func TestParseArguments(t *testing.T) {
	for _, test := range []struct {
		name string
		raw  string
		want arguments
		err  string
	}{
		{
			name: "as described", raw: `{"query":"x","limit":5,"score":0.5,"group":false}`,
			want: arguments{"query": "x", "limit": 5, "score": 0.5, "group": false},
		},
		{name: "alias", raw: `{"q":"x","topK":3}`, want: arguments{"query": "x", "limit": 3}},
		{name: "own name before alias", raw: `{"q":"alias","query":"own"}`, want: arguments{"query": "own"}},
		{name: "case and separators", raw: `{"Query":"x","TOP-K":3}`, want: arguments{"query": "x", "limit": 3}},
		{name: "first spelling in order wins", raw: `{"query":"x","top_k":1,"TopK":2}`, want: arguments{"query": "x", "limit": 2}},
		{
			name: "numbers as strings", raw: `{"query":"x","limit":" 5 ","score":"0.25"}`,
			want: arguments{"query": "x", "limit": 5, "score": 0.25},
		},
		{name: "whole number with a point", raw: `{"query":"x","limit":5.0}`, want: arguments{"query": "x", "limit": 5}},
		{name: "boolean as a string", raw: `{"query":"x","group":"True"}`, want: arguments{"query": "x", "group": true}},
		{name: "number for a string keeps its digits", raw: `{"query":2.10}`, want: arguments{"query": "2.10"}},
		{name: "null is absent", raw: `{"query":"x","limit":null}`, want: arguments{"query": "x"}},
		{name: "empty is absent", raw: `{"query":"x","limit":"","mode":" "}`, want: arguments{"query": "x"}},
		{name: "null does not hide an alias", raw: `{"query":null,"q":"x"}`, want: arguments{"query": "x"}},
		{name: "unknown keys", raw: `{"query":"x","foo":1}`, want: arguments{"query": "x"}},
		{name: "one value for a list", raw: `{"query":"x","terms":"a b"}`, want: arguments{"query": "x", "terms": []any{"a b"}}},
		{name: "a list in a string", raw: `{"query":"x","terms":"[\"a\",\"b\"]"}`, want: arguments{"query": "x", "terms": []any{"a", "b"}}},
		{name: "a list of anything", raw: `{"query":"x","any":[true]}`, want: arguments{"query": "x", "any": []any{true}}},
		{
			name: "an object in a string", raw: `{"query":"x","where":"{\"depth\":\"2\"}"}`,
			want: arguments{"query": "x", "where": map[string]any{"depth": 2}},
		},
		{
			name: "free object", raw: `{"query":"x","variables":{"id":"7"}}`,
			want: arguments{"query": "x", "variables": map[string]any{"id": "7"}},
		},
		{name: "all in a string", raw: `"{\"query\":\"x\"}"`, want: arguments{"query": "x"}},

		{name: "list for a string", raw: `{"query":["x"]}`, err: `query must be a string, got a list`},
		{name: "missing", raw: `{}`, err: `query is missing: it must be a string`},
		{name: "none at all", raw: `null`, err: `query is missing: it must be a string`},
		{name: "blank", raw: `{"query":"  "}`, err: `query is missing: it must be a string`},
		{name: "too many", raw: `{"query":"x","limit":99}`, err: `limit must be at most 20, got 99`},
		{name: "too few", raw: `{"query":"x","limit":"0"}`, err: `limit must be at least 1, got 0`},
		{name: "not whole", raw: `{"query":"x","limit":1.5}`, err: `limit must be an integer, got 1.5`},
		{name: "huge", raw: `{"query":"x","limit":1e300}`, err: `limit must be an integer, got 1e300`},
		{name: "not a number", raw: `{"query":"x","limit":"many"}`, err: `limit must be an integer, got "many"`},
		{name: "NaN", raw: `{"query":"x","score":"NaN"}`, err: `score must be a number, got "NaN"`},
		{name: "object for a number", raw: `{"query":"x","score":{}}`, err: `score must be a number, got an object`},
		{name: "boolean for a string", raw: `{"query":true}`, err: `query must be a string, got true`},
		{name: "number for a boolean", raw: `{"query":"x","group":1}`, err: `group must be a boolean, got 1`},
		{name: "not of the few", raw: `{"query":"x","mode":"fast"}`, err: `mode must be one of hybrid, lexical, got "fast"`},
		{name: "inside a list", raw: `{"query":"x","terms":["a",{}]}`, err: `terms[1] must be a string, got an object`},
		{name: "inside an object", raw: `{"query":"x","where":{}}`, err: `where.depth is missing: it must be an integer`},
		{name: "list for an object", raw: `{"query":"x","where":[1]}`, err: `where must be an object, got a list`},
		{
			name: "all faults at once", raw: `{"limit":99,"group":"maybe"}`,
			err: `query is missing: it must be a string; limit must be at most 20, got 99; group must be a boolean, got "maybe"`,
		},
		{
			name: "long values do not come back", raw: `{"query":"x","limit":"` + strings.Repeat("9x", 60) + `"}`,
			err: `limit must be an integer, got "` + strings.Repeat("9x", 20) + `…"`,
		},
		{name: "list for all", raw: `[1]`, err: `arguments must be an object, got a list`},
		{name: "text for all", raw: `"query"`, want: nil, err: `query is missing: it must be a string`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseArguments(everyKind, json.RawMessage(test.raw))
			if message := errorText(err); message != test.err {
				t.Fatalf("error %q, want %q", message, test.err)
			}
			if err == nil && !reflect.DeepEqual(got, test.want) {
				t.Fatalf("got %#v, want %#v", got, test.want)
			}
		})
	}
}

// Arguments that did not come over a wire are decoded values.
func TestParseArgumentsTakesDecodedValues(t *testing.T) {
	got, err := parseArguments(everyKind, map[string]any{"query": "x", "limit": 3})
	if want := (arguments{"query": "x", "limit": 3}); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %#v, %v, want %#v", got, err, want)
	}
}

// What is accepted is what the published schema allows, however it was written.
func FuzzParseArguments(f *testing.F) {
	published := compile(f, everyKind)
	for _, seed := range []string{
		`{"q":"x","limit":"5","terms":"a","where":"{\"depth\":1}"}`, `{"query":2.10,"any":{},"variables":"{}"}`,
		`null`, `[]`, `"`, `{"query":"x","score":"0x1p-2"}`, `{"query":"x","limit":9007199254740993}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parseArguments(everyKind, json.RawMessage(raw))
		if err != nil {
			return
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if err := published.Validate(value); err != nil {
			t.Fatalf("%s was accepted as %s: %v", raw, encoded, err)
		}
	})
}

func BenchmarkParseArguments(b *testing.B) {
	raw := json.RawMessage(`{"q":"how do I rotate the signing key","source":"docs","limit":"5","version":2.1,"group":null}`)
	input := docsTools(&library{})[0].input
	for b.Loop() {
		if _, err := parseArguments(input, raw); err != nil {
			b.Fatal(err)
		}
	}
}

// compile makes a validator of a schema, or of its encoded form.
func compile(tb testing.TB, s any) *jsonschema.Schema {
	tb.Helper()
	encoded, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		tb.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
