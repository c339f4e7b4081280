package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestConnectorTools(t *testing.T) {
	s, err := New(Options{Docs: &library{}, Log: discard(), ConnectorTools: true})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	tools := listTools(t, base)
	if got, want := slices.Sorted(maps.Keys(tools)), []string{"fetch", "list_docs", "read_docs", "search", "search_docs"}; !slices.Equal(got, want) {
		t.Fatalf("tools %v, want %v", got, want)
	}
	for _, test := range []struct{ tool, args, want string }{
		{
			"search", `{"query":"daily limit"}`,
			`{"results":[{"id":"` + limitsPage + `#daily","title":"Limits > Daily limits","url":"` + limitsPage + `#daily"}]}`,
		},
		{"search", `{"query":"nothing"}`, `{"results":[]}`},
		{
			"fetch", `{"id":"` + limitsPage + `"}`,
			`{"id":"` + limitsPage + `","title":"Limits","url":"` + limitsPage + `","text":"# Limits\n\nFirst half.\nSecond half.\n",` +
				`"metadata":{"notice":"` + notice + `"}}`,
		},
	} {
		eachEra(t, func(t *testing.T, e era) {
			t.Helper()
			got := callTool(t, base, e, test.tool, test.args)
			if len(got.Content) != 1 || !jsonEqual(t, []byte(got.text()), []byte(test.want)) || !jsonEqual(t, got.Structured, []byte(test.want)) {
				t.Errorf("%s(%s): text %s, structured %s, want %s", test.tool, test.args, got.text(), got.Structured, test.want)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Structured))
			if err != nil {
				t.Fatal(err)
			}
			if err := compile(t, tools[test.tool].OutputSchema).Validate(value); err != nil {
				t.Error(err)
			}
		})
	}
	if got := callTool(t, base, modern, "fetch", `{"id":"https://docs.example.com/missing"}`); !got.IsError || got.Structured != nil {
		t.Errorf("a missing page: %+v", got)
	}
}

// jsonEqual compares two JSON texts as values.
func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	var encoded [2]bytes.Buffer
	for i, text := range [][]byte{a, b} {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.NewEncoder(&encoded[i]).Encode(value); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Equal(encoded[0].Bytes(), encoded[1].Bytes())
}
