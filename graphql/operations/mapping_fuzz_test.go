package operations_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/operations"
)

// given is a caller with one answer.
type given string

func (g given) Do(context.Context, graphql.Request) (graphql.Response, error) {
	return graphql.Response{Data: json.RawMessage(g)}, nil
}

// Whatever a file says, reading it ends, twice in the same, and what is published
// takes any arguments without a panic.
func FuzzFile(f *testing.F) {
	f.Add(orderFile, `{"number":1}`)
	f.Add(cancelFile, `{"id":"1"}`)
	f.Add(numberFile, `[]`)
	f.Add(strings.ReplaceAll(orderFile, "\n", "\r\n"), `{"number":"a","lines":"3"}`)
	f.Add("name: a\nquery_template: >-\n  query A {\n\n    a }\n? [x]\n: y\nheaders: {a: &x b}\n", ``)
	f.Add("name: a\nvariables_schema: {properties: {a: {$ref: '#'}, b: {type: [array, 'null'], items: {$ref: '#/properties/b'}}}}\ninput_mapping: {a: '$.a[?@.b>1]', b: $..b}\n", `{"a":{"a":{}},"b":[[[]]]}`)
	known := schema(f, shopSchema)
	f.Fuzz(func(t *testing.T, text, input string) {
		for _, s := range []*graphql.Schema{known, nil} {
			o := shopOptions()
			o.Schema = s
			set := loadOrder(o, text)
			if again := loadOrder(o, text); told(again.Faults) != told(set.Faults) {
				t.Errorf("faults differ:\n%s\nand\n%s", told(set.Faults), told(again.Faults))
			}
			if len(set.Published()) == 0 && len(set.Faults) == 0 {
				t.Error("neither an operation nor a fault")
			}
			for _, op := range set.Published() {
				if !json.Valid(op.Input) || op.Output != nil && !json.Valid(op.Output) || op.ID != operations.IDOf(op.Document) {
					t.Errorf("published %+v", op)
				}
				op.AuthProfile = ""
				r, err := operations.NewRunner(operations.RunnerOptions{Caller: given(`{"order":null}`), Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				if result, err := r.Call(t.Context(), op, json.RawMessage(input), nil); err == nil && result.Sent != nil && len(result.Sent.Variables) > 0 && !json.Valid(result.Sent.Variables) {
					t.Errorf("sent %s", result.Sent.Variables)
				}
			}
		}
	})
}

// Whatever the paths and the data are, a result is one JSON object, the same each
// time: a list from a path that may select several values, one value from one
// that may not.
func FuzzResult(f *testing.F) {
	f.Add("$.a", "$.b", "$.c", `{"a":{"b":[1,{"c":null}]}}`)
	f.Add("$.a[*]", "$..c", "$.a[?@.b==1]", `{"a":[{"b":1,"c":9007199254740993},[],null,"x"]}`)
	f.Add("$..*", "$[::-1]", "$['a','b'][0]", `{"a":{"a":{"a":[]}},"b":1e2}`)
	f.Add("$[?match(@.a, '.*') && length(@.b) > 0]", "$", "$.x", `{"z":{"a":"q","b":"r"},"y":{"a":"q","b":[1]}}`)
	f.Fuzz(func(t *testing.T, response, output, failure, data string) {
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
		text := "name: look\ndescription: Looks.\noperation_type: query\noperation_name: Look\nquery_template: |\n  query Look { a { b } }\n" +
			"response_path: " + quote(response) + "\noutput: {o: " + quote(output) + "}\nerror_policy: {failure_paths: [" + quote(failure) + "]}\n"
		set := operations.Load(operations.Options{Files: []operations.File{{Path: "look.yaml", Text: text}}})
		if len(set.Published()) == 0 || !json.Valid([]byte(data)) {
			return
		}
		r, err := operations.NewRunner(operations.RunnerOptions{Caller: given(data), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		got, again := call(t, r, set.Operations[0], ``), call(t, r, set.Operations[0], ``)
		if diff := cmp.Diff(string(got.Object()), string(again.Object())); diff != "" || got.State != again.State {
			t.Errorf("the second time it is another: %s", diff)
		}
		var object map[string]json.RawMessage
		if got.Object() != nil && json.Unmarshal(got.Object(), &object) != nil {
			t.Errorf("no object: %s", got.Object())
		}
		if got.Object() == nil && !got.Failed() {
			t.Errorf("%s without a value", got.State)
		}
	})
}

// Whatever the query and the sample are, a draft that is written can be read.
func FuzzDraft(f *testing.F) {
	f.Add(`query Order($id: ID!, $sort: [[Sort]!]! = [[NEWEST]]) { order(id: $id) { number: id lines { nodes { title } } ...F } } fragment F on Order { meta note }`,
		`{"data":{"order":{"number":1,"lines":{"nodes":[{"title":"a: # b"}]},"meta":{"":[[null]],"e-f":{"'\"\\":1e5},"on":[[],{}]}}}}`)
	f.Add(`mutation Cancel { cancel(id: "a\"b # c") { userErrors { message } } }`, `{"cancel":{"userErrors":[]}}`)
	f.Add(`query A { find(id: 1) { __typename ... on Rejection { code } } } # b`, ``)
	known := schema(f, shopSchema)
	f.Fuzz(func(t *testing.T, query, sample string) {
		for _, s := range []*graphql.Schema{known, nil} {
			o := operations.DraftOptions{Query: query, Sample: []byte(sample), Schema: s}
			file, notes, err := operations.Draft(o)
			if err != nil {
				if strings.Contains(err.Error(), "what was written") {
					t.Error(err)
				}
				continue
			}
			again, _, err := operations.Draft(o)
			if err != nil || string(again) != string(file) {
				t.Errorf("the second time it is another: %v", err)
			}
			if s != nil && sample == "" && strings.Contains(strings.Join(notes, ""), "sample says") {
				t.Errorf("notes on no sample: %v", notes)
			}
		}
	})
}
