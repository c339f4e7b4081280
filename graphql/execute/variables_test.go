package execute_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/execute"
)

// What is given for the variables of a query, and what of it is sent, byte for
// byte, or why nothing is.
func TestVariables(t *testing.T) {
	const (
		account  = `query($id: ID!) { account(id: $id) { id } }`
		accounts = `query($w: Where, $s: Sort, $n: Int, $r: Float) { accounts(where: $w, sort: $s, first: $n, ratio: $r) { id } }`
		withDef  = `query($n: Int! = 42) { accounts(first: $n) { id } }`
		by       = `query($by: By!) { by(by: $by) { __typename } }`
		echo     = `query($j: JSON, $l: Decimal, $f: Boolean, $i: [[ID!]!]) { echo(json: $j, long: $l, flag: $f, ids: $i) }`
		between  = `query($w: Where) { accounts(where: $w) { id } }`
	)
	for name, tc := range map[string]struct {
		document, given, sent, fault string
	}{
		"none":                        {`{ accounts { id } }`, ``, ``, ``},
		"null":                        {`{ accounts { id } }`, `null`, ``, ``},
		"empty":                       {accounts, `{}`, ``, ``},
		"empty text":                  {accounts, `""`, ``, ``},
		"as a text":                   {account, `"{\"id\":\"a\"}"`, `{"id":"a"}`, ``},
		"ID as a number":              {account, `{"id":42}`, `{"id":"42"}`, ``},
		"ID beyond 53 bits":           {account, `{"id":9007199254740993}`, `{"id":"9007199254740993"}`, ``},
		"what looks like a document":  {account, `{"id":"\"){id} mutation{x}"}`, `{"id":"\"){id} mutation{x}"}`, ``},
		"letters stay":                {account, `{"id":"é漢"}`, `{"id":"é漢"}`, ``},
		"missing":                     {account, `{}`, ``, `variables.id is missing: it must be ID!`},
		"null for non-null":           {account, `{"id":null}`, ``, `variables.id must not be null`},
		"object for ID":               {account, `{"id":{}}`, ``, `variables.id must be ID, got an object`},
		"undeclared":                  {account, `{"id":"a","Id":"b"}`, ``, `variables.Id is not declared`},
		"default left out":            {withDef, `{}`, ``, ``},
		"null for a default":          {withDef, `{"n":null}`, ``, `variables.n must not be null`},
		"explicit null stays":         {accounts, `{"n":null}`, `{"n":null}`, ``},
		"Int":                         {accounts, `{"n":-2147483648}`, `{"n":-2147483648}`, ``},
		"Int as a text":               {accounts, `{"n":"7"}`, `{"n":7}`, ``},
		"Int too large":               {accounts, `{"n":3000000000}`, ``, `from -2147483648 to 2147483647, got 3000000000`},
		"Int with a point":            {accounts, `{"n":-2.0}`, `{"n":-2}`, ``},
		"Int with an exponent":        {accounts, `{"n":1e3}`, `{"n":1000}`, ``},
		"Int beyond all exponents":    {accounts, `{"n":1e400000000}`, ``, `variables.n must be Int`},
		"Int with a fraction":         {accounts, `{"n":1.5}`, ``, `variables.n must be Int`},
		"Int as a word":               {accounts, `{"n":"many"}`, ``, `variables.n must be Int, got "many"`},
		"Float keeps its digits":      {accounts, `{"r":0.1000000000000000055}`, `{"r":0.1000000000000000055}`, ``},
		"Float as a text":             {accounts, `{"r":"0.10"}`, `{"r":0.10}`, ``},
		"Float as JSON in a text":     {accounts, `{"r":"true"}`, ``, `variables.r must be Float`},
		"scalars of the API":          {echo, `{"l":9223372036854775807,"j":{"b":[1,"2",null,1e400]}}`, `{"j":{"b":[1,"2",null,1e400]},"l":9223372036854775807}`, ``},
		"Boolean as a text":           {echo, `{"f":"True"}`, `{"f":true}`, ``},
		"Boolean as a number":         {echo, `{"f":1}`, ``, `variables.f must be Boolean, got 1`},
		"lists":                       {echo, `{"i":[[1,"2"],[]]}`, `{"i":[["1","2"],[]]}`, ``},
		"a single value for a list":   {echo, `{"i":3}`, `{"i":[["3"]]}`, ``},
		"a list for a list of it":     {echo, `{"i":["3",["4"]]}`, `{"i":[["3"],["4"]]}`, ``},
		"null in a list":              {echo, `{"i":[["a",null]]}`, ``, `variables.i[0][1] must not be null`},
		"enum":                        {accounts, `{"s":"NEWEST_FIRST"}`, `{"s":"NEWEST_FIRST"}`, ``},
		"enum in lower case":          {accounts, `{"s":"newest_first"}`, `{"s":"NEWEST_FIRST"}`, ``},
		"no value of the enum":        {accounts, `{"s":"NEWEST"}`, ``, `must be one of Sort's values, got "NEWEST"`},
		"input, recursive":            {accounts, `{"w":{"and":[{"and":[{"and":[{"and":[{"and":[{"name":1}]}]}]}]}]}}`, `{"w":{"and":[{"and":[{"and":[{"and":[{"and":[{"name":"1"}]}]}]}]}]}}`, ``},
		"input, too deep":             {accounts, `{"w":` + strings.Repeat(`{"and":`, 200) + `{}` + strings.Repeat(`}`, 200) + `}`, ``, `nests deeper than 100 levels`},
		"many faults":                 {accounts, `{"w":{"tags":[` + strings.Repeat(`{},`, 5000) + `{}]}}`, ``, `and 4981 more`},
		"no such input field":         {accounts, `{"w":{"and":{"nam":"x"}}}`, ``, `variables.w.and has no field nam`},
		"text for an input":           {accounts, `{"w":"name = x"}`, ``, `variables.w must be an object of Where`},
		"default of an input's field": {between, `{"w":{"range":{"to":3}}}`, `{"w":{"range":{"to":3}}}`, ``},
		"null for an input's field":   {between, `{"w":{"range":{"from":null}}}`, ``, `variables.w.range.from must not be null: it must be Int!`},
		"one of":                      {by, `{"by":{"email":"a@b"}}`, `{"by":{"email":"a@b"}}`, ``},
		"none of":                     {by, `{"by":{}}`, ``, `variables.by must have exactly one of id, email`},
		"two of":                      {by, `{"by":{"id":1,"email":"a"}}`, ``, `exactly one of`},
		"one of, null":                {by, `{"by":{"id":null}}`, ``, `exactly one of`},
		"one of, with a null":         {by, `{"by":{"id":1,"email":null}}`, ``, `exactly one of`},
		"no object":                   {account, `[1]`, ``, `must be a JSON object, got a list`},
		"no JSON":                     {account, `"{id: 1}"`, ``, `must be a JSON object, or one written as a string`},
		"two values":                  {account, `"{} {}"`, ``, `something follows`},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, reply(200, `{"data":{}}`))
			answer, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: tc.document, Variables: json.RawMessage(tc.given)})
			if err != nil {
				t.Fatal(err)
			}
			got := u.requests()
			if tc.fault != "" {
				if !answer.Failed() || !strings.Contains(fmt.Sprint(answer.Errors), tc.fault) {
					t.Errorf("errors %v, want %q", answer.Errors, tc.fault)
				}
				if len(got) > 0 {
					t.Error("refused, but sent")
				}
				return
			}
			if answer.Failed() || len(got) != 1 {
				t.Fatalf("answer %+v, %d requests", answer, len(got))
			}
			if string(got[0].Variables) != tc.sent {
				t.Errorf("sent %s, want %s", got[0].Variables, tc.sent)
			}
		})
	}
}
