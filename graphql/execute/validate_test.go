package execute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
)

func TestValidate(t *testing.T) {
	schema := load(t, schemaText)
	e := executor(t, "http://127.0.0.1:1/", nil)
	for name, tc := range map[string]struct {
		document string
		want     []execute.Fault
	}{
		"valid": {`{ accounts { id } }`, []execute.Fault{}},
		"no such field, none like it": {`{nope}`, []execute.Fault{{
			Message: `Cannot query field "nope" on type "Query".`, Line: 1, Column: 2, Suggestions: []string{"by", "echo", "account"},
		}}},
		"no such field": {"{\n  accounts { ibann owner { mail } }\n}", []execute.Fault{
			{Message: `Cannot query field "ibann" on type "Account".`, Line: 2, Column: 14, Suggestions: []string{"iban"}},
			{Message: `Cannot query field "mail" on type "Person".`, Line: 2, Column: 28, Suggestions: []string{"email"}},
		}},
		"field of a member of a union": {`{ by(by: {id: 1}) { iban } }`, []execute.Fault{{
			Message: `Cannot query field "iban" on type "Party".`, Line: 1, Column: 21, Suggestions: []string{"... on Account"},
		}}},
		"argument": {`{ accounts(frist: 1) { id } }`, []execute.Fault{{
			Message: `Unknown argument "frist" on field "Query.accounts".`, Line: 1, Column: 3, Suggestions: []string{"first"},
		}}},
		"required argument": {`{ account { id } }`, []execute.Fault{{
			Message: `Field "account" argument "id" of type "ID!" is required, but it was not provided.`, Line: 1, Column: 3,
		}}},
		"enum": {`{ accounts(sort: ASCENDING) { id } }`, []execute.Fault{{
			Message: `Value "ASCENDING" does not exist in "Sort" enum.`, Line: 1, Column: 18, Suggestions: []string{"ASC", "DESC", "NEWEST_FIRST"},
		}}},
		"enum as text": {`{ accounts(sort: "ASC") { id } }`, []execute.Fault{{
			Message: `Enum "Sort" cannot represent non-enum value: "ASC".`, Line: 1, Column: 19, Suggestions: []string{"ASC", "DESC"},
		}}},
		"type": {`query($w: Wher) { accounts(where: $w) { id } }`, []execute.Fault{{
			Message: `Unknown type "Wher".`, Line: 1, Column: 7, Suggestions: []string{"Where"},
		}, {
			Message: `Variable "$w" of type "Wher" used in position expecting type "Where".`, Line: 1, Column: 35,
		}}},
		"Int beyond 32 bits": {`query($n: Int = -99999999999) { accounts(first: 3000000000) { id } a: accounts(first: $n, ratio: 3000000000) { id } }`, []execute.Fault{
			{Message: `Int cannot represent -99999999999: it is a whole number from -2147483648 to 2147483647.`, Line: 1, Column: 17},
			{Message: `Int cannot represent 3000000000: it is a whole number from -2147483648 to 2147483647.`, Line: 1, Column: 49},
		}},
		"two of a @oneOf": {`{ by(by: {id: 1, email: "a"}) { __typename } }`, []execute.Fault{{
			Message: `OneOf Input Object "By" must specify exactly one key.`, Line: 1, Column: 10,
		}}},
		"no subfields": {`{ accounts }`, []execute.Fault{{
			Message: `Field "accounts" of type "[Account!]!" must have a selection of subfields.`, Line: 1, Column: 3, Suggestions: []string{"accounts { ... }"},
		}}},
		"quotation marks after a block string": {`query($j: JSON = """é""") { a: echo(json: """\"""b""""), c: echo(json: """""") }`, []execute.Fault{{
			Message: `The block string ends in more than three quotation marks: within it, write three as \""".`, Line: 1, Column: 43,
		}}},
		"syntax": {"{\n  accounts { id }\n  ;\n}", []execute.Fault{{
			Message: `Cannot parse the unexpected character ";".`, Line: 3, Column: 3,
		}}},
		"not closed":        {`{ accounts { id }`, []execute.Fault{{Message: `Expected Name, found <EOF>`, Line: 1, Column: 18}}},
		"unknown directive": {`{ accounts { id @live } }`, []execute.Fault{{Message: `Unknown directive "@live".`, Line: 1, Column: 18}}},
		"unused":            {`query($n: Int) { accounts { id } }`, []execute.Fault{{Message: `Variable "$n" is never used.`, Line: 1, Column: 7}}},
		"names twice": {`query A { accounts { id } } query A { accounts { iban } }`, []execute.Fault{{
			Message: `There can be only one operation named "A".`, Line: 1, Column: 29,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := e.Validate(schema, tc.document)
			if got.Valid != (len(tc.want) == 0) {
				t.Errorf("valid is %t", got.Valid)
			}
			for i := range got.Errors { // nil and empty are alike
				if got.Errors[i].Suggestions == nil && i < len(tc.want) && tc.want[i].Suggestions != nil {
					got.Errors[i].Suggestions = []string{}
				}
			}
			if diff := cmp.Diff(tc.want, got.Errors); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateSaysWhatWouldBeRefused(t *testing.T) {
	schema := load(t, schemaText)
	e := executor(t, "http://127.0.0.1:1/", nil)
	if v := e.Validate(schema, `mutation M { deleteAccount(id: 1) }`); !v.Valid || !strings.Contains(v.Note, "only queries are allowed") {
		t.Errorf("validation %+v", v)
	}
	if v := e.Validate(schema, `{ accounts { id } }`); !v.Valid || v.Note != "" {
		t.Errorf("validation %+v", v)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, " no%d%s", i, strings.Repeat("x", 2000))
	}
	v := executor(t, "http://127.0.0.1:1/", nil).Validate(load(t, schemaText), "{"+b.String()+"}")
	if n := len(v.Errors); n != 21 || v.Errors[20].Message != "and 80 more" {
		t.Errorf("%d faults, the last %v", n, v.Errors[n-1])
	}
	for _, f := range v.Errors {
		if len(f.Message) > 700 {
			t.Errorf("a message of %d bytes", len(f.Message))
		}
	}
}

// Without a schema, a document still has to agree with itself.
func TestCheckWithoutASchema(t *testing.T) {
	for text, want := range map[string]string{
		`query A($id: ID!) { anything(id: $id) { ...F @include(if: true) } } fragment F on Whatever { x }`: ``,
		`query A { a(id: $id) }`:             `1:17: Variable "$id" is not defined by operation "A".`,
		`query A($id: ID) { a }`:             `1:9: Variable "$id" is never used in operation "A".`,
		`query A { ...F }`:                   `1:14: Unknown fragment "F".`,
		`query A { a(b: 1, b: 2) }`:          `1:19: There can be only one argument named "b".`,
		`query A($a: T, $a: T) { a(b: $a) }`: "1:16: Variable \"$a\" is never used in operation \"A\".\n1:16: There can be only one variable named \"$a\".",
	} {
		tree, faults := execute.Parse("", text, execute.Limits{})
		if len(faults) == 0 {
			faults = execute.CheckParsed(nil, tree, execute.Limits{})
		}
		got := make([]string, len(faults))
		for i, f := range faults {
			got[i] = f.String()
		}
		if joined := strings.Join(got, "\n"); joined != want {
			t.Errorf("%s: got %s, want %s", text, joined, want)
		}
	}
}
