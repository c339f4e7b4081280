package execute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
)

func TestTypesNamed(t *testing.T) {
	schema := load(t, schemaText)
	for message, want := range map[string][]string{
		`Cannot query field "x" on type "Query". Did you mean "by"?`:        {"Query"},
		`Unknown argument "frist" on field "Query.accounts".`:               {"Query"},
		`Field "accounts" of type "[Account!]!" must have a selection`:      {"Account"},
		`Variable "$w" of type "Where" used in "Query" expecting "[Sort!]"`: {"Where", "Sort", "Query"},
		"Cannot query field 'x' on type 'Party'":                            {"Party"},
		"field `a` of `Person` failed":                                      {"Person"},
		`Account is not here, "Nope" neither, nor "String" nor "__Type"`:    nil,
	} {
		if diff := cmp.Diff(want, execute.TypesNamed(schema, []execute.Fault{{Message: message}})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", message, diff)
		}
	}
}
