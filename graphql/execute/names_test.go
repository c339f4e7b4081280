package execute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql/execute"
)

func TestNamesIn(t *testing.T) {
	schema := load(t, schemaText)
	for _, tc := range []struct {
		fault execute.Fault
		want  []string
	}{
		{execute.Fault{Message: `Cannot query field "x" on type "Query".`}, []string{"Query"}},
		{execute.Fault{Message: `Cannot query field "x" on type "Query".`, Suggestions: []string{"by", "account"}}, []string{"Query.by", "Query.account"}},
		{execute.Fault{Message: `Cannot query field "x" on type "Person".`, Suggestions: []string{"name"}}, []string{"Person"}},
		{execute.Fault{Message: `Unknown argument "frist" on field "Query.accounts".`, Suggestions: []string{"first"}}, []string{"Query.accounts"}},
		{execute.Fault{Message: `Field "accounts" of type "[Account!]!" must have a selection`}, []string{"Account"}},
		{execute.Fault{Message: `Variable "$w" of type "Where" used in "Query" expecting "[Sort!]"`}, []string{"Where", "Sort", "Query"}},
		{execute.Fault{Message: "Cannot query field 'x' on type 'Party'"}, []string{"Party"}},
		{execute.Fault{Message: "field `a` of `Person` failed"}, []string{"Person"}},
		{execute.Fault{Message: `Account is not here, "Nope" neither, nor "String" nor "__Type"`}, nil},
	} {
		if diff := cmp.Diff(tc.want, execute.NamesIn(schema, []execute.Fault{tc.fault})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.fault.Message, diff)
		}
	}
}
