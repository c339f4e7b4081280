package execute_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/execute"
)

// Where only queries are allowed, nothing makes a mutation be sent.
func TestReadOnly(t *testing.T) {
	const harm = `deleteAccount(id:"1")`
	for name, q := range map[string]execute.Query{
		"plain":                {Document: `mutation { ` + harm + ` }`},
		"comma":                {Document: `,mutation{` + harm + `}`},
		"commas":               {Document: `,,,,mutation,M,{,` + harm + `,}`},
		"comment":              {Document: "#c\nmutation{" + harm + "}"},
		"carriage return":      {Document: "#c\rmutation{" + harm + "}"},
		"byte order mark":      {Document: "\ufeffmutation{" + harm + "}"},
		"description":          {Document: `"query" mutation M {` + harm + `}`},
		"block description":    {Document: "\"\"\"\nquery { a }\n\"\"\" mutation M {" + harm + "}"},
		"behind a query":       {Document: `query A{account(id:1){id}} mutation B{` + harm + `}`},
		"selected":             {Document: `query A{account(id:1){id}} mutation B{` + harm + `}`, OperationName: "B"},
		"beside the selected":  {Document: `query A{account(id:1){id}} mutation B{` + harm + `}`, OperationName: "A"},
		"named like a query":   {Document: `mutation query {` + harm + `}`, OperationName: "query"},
		"in a fragment":        {Document: `mutation { ...F } fragment F on Mutation { ` + harm + ` }`},
		"with a variable":      {Document: `mutation($id: ID!) { deleteAccount(id: $id) }`, Variables: json.RawMessage(`{"id":"1"}`)},
		"fragment in a query":  {Document: `query { ...F } fragment F on Mutation { ` + harm + ` }`},
		"cast in a query":      {Document: `query { ... on Mutation { ` + harm + ` } }`},
		"field of a query":     {Document: `{ ` + harm + ` }`},
		"semicolon":            {Document: `;mutation{` + harm + `}`},
		"after a semicolon":    {Document: `{account(id:1){id}};mutation{` + harm + `}`},
		"line separator":       {Document: "{account(id:1){id}} #\u2028mutation{" + harm + "}"},
		"string that closes":   {Document: `query A($id: ID = "\"){id}} mutation B{` + harm + `}#") {account(id:$id){id}}`},
		"variable that closes": {Document: `query A($id: ID!) {account(id:$id){id}}`, Variables: json.RawMessage(`{"id":"\"){id} mutation{` + strings.ReplaceAll(harm, `"`, `\"`) + `}"}`)},
		"upper case":           {Document: `MUTATION { ` + harm + ` }`},
		"name as a document":   {Document: `query mutation { account(id:1) { id } }`, OperationName: "mutation { " + harm + " }"},
		"subscription":         {Document: `subscription { accountChanged { id } }`},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, reply(200, `{"data":{}}`))
			answer, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), q)
			for _, got := range u.requests() {
				// What did go up is one query, and what looks like a mutation is inside a value.
				if err != nil || answer.Failed() {
					t.Errorf("refused, but sent: %s", got.Query)
				}
				if outside := withoutStrings(got.Query); strings.Contains(outside, "mutation") || strings.Contains(outside, "deleteAccount") {
					t.Errorf("sent: %s", got.Query)
				}
			}
			if err == nil && !answer.Failed() && len(u.requests()) == 0 {
				t.Error("nothing was sent and nothing said")
			}
		})
	}
}

// withoutStrings drops what stands in plain quotes.
func withoutStrings(document string) string {
	var b strings.Builder
	in := false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case in && c == '\\':
			i++
		case c == '"':
			in = !in
		case !in:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func TestPolicy(t *testing.T) {
	const query, mutation = `{ accounts { id } }`, `mutation { deleteAccount(id: "1") }`
	for _, tc := range []struct {
		policy   execute.Policy
		document string
		want     string // of the refusal
	}{
		{execute.None, query, "documents: none"},
		{"", query, "documents: none"},
		{execute.Read, query, ""},
		{execute.Read, mutation, "only queries are allowed"},
		{execute.Write, query, ""},
		{execute.Write, mutation, ""},
		{execute.Write, `subscription { accountChanged { id } }`, "subscriptions go on"},
	} {
		t.Run(fmt.Sprintf("%s %s", tc.policy, tc.document), func(t *testing.T) {
			u := serve(t, reply(200, `{"data":{"ok":true}}`))
			e := executor(t, u.URL, func(o *execute.Options) { o.Policy = tc.policy })
			answer, err := e.Execute(t.Context(), load(t, schemaText), execute.Query{Document: tc.document})
			if tc.want != "" {
				asError(t, err, execute.Refused, tc.want)
				if len(u.requests()) > 0 {
					t.Error("refused, but sent")
				}
				return
			}
			if err != nil || answer.Failed() || len(u.requests()) != 1 {
				t.Errorf("answer %+v, error %v, %d requests", answer, err, len(u.requests()))
			}
		})
	}
	if _, err := execute.New(execute.Options{Policy: "all"}); err == nil {
		t.Error("an executor without a caller and with an unknown policy")
	}
}

func TestSchemaWithoutMutations(t *testing.T) {
	u := serve(t, reply(200, `{"data":{"a":1}}`))
	schema := load(t, `type Query { a: Int }`)
	e := executor(t, u.URL, write)
	answer, err := e.Execute(t.Context(), schema, execute.Query{Document: `mutation { x }`})
	if err != nil || len(answer.Errors) != 1 || answer.Errors[0].Message != "the schema has no mutations" {
		t.Errorf("answer %+v, error %v", answer, err)
	}
	answer, err = executor(t, u.URL, nil).Execute(t.Context(), schema, execute.Query{Document: `mutation { x }`})
	if err != nil || len(answer.Errors) != 1 || answer.Errors[0].Message != "the schema has no mutations" {
		t.Errorf("where only queries are allowed: answer %+v, error %v", answer, err)
	}
	if answer, err = e.Execute(t.Context(), schema, execute.Query{Document: `{ a }`}); err != nil || answer.Failed() {
		t.Errorf("answer %+v, error %v", answer, err)
	}
	noQueries := load(t, `schema { subscription: S } type S { a: Int }`)
	if v := e.Validate(noQueries, `{ a }`); v.Valid || v.Errors[0].Message != "the schema has no queries" {
		t.Errorf("validation %+v", v)
	}
}

func TestSelectsTheOperation(t *testing.T) {
	const two = `query A { accounts { id } } query B { by(by: {id: 1}) { __typename } }`
	for name, tc := range map[string]struct {
		document, operation, sent, refusal string
	}{
		"by name":       {two, "B", "B", ""},
		"only one":      {`query A { accounts { id } }`, "", "A", ""},
		"spaces":        {two, " A ", "A", ""},
		"which":         {two, "", "", "name one of A, B in operation_name"},
		"none such":     {two, "C", "", "has no operation C; it has A, B"},
		"none with one": {`query A { accounts { id } }`, "B", "", "has no operation B; it has A"},
		"anonymous":     {`{ accounts { id } }`, "", "-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, reply(200, `{"data":{}}`))
			_, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), execute.Query{Document: tc.document, OperationName: tc.operation})
			if tc.refusal != "" {
				asError(t, err, execute.Refused, tc.refusal)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := u.requests()[0]
			switch {
			case tc.sent == "-":
				if got.OperationName != nil {
					t.Errorf("operationName %q", *got.OperationName)
				}
			case got.OperationName == nil || *got.OperationName != tc.sent:
				t.Errorf("operationName %v, want %s", got.OperationName, tc.sent)
			case strings.Count(got.Query, "query") != 1:
				t.Errorf("sent %s", got.Query)
			}
		})
	}
}

func TestIntrospectionCanBeOff(t *testing.T) {
	u := serve(t, reply(200, `{"data":{}}`))
	schema := load(t, schemaText)
	e := executor(t, u.URL, func(o *execute.Options) { o.NoIntrospection = true })
	for _, document := range []string{
		`{ __schema { types { name } } }`,
		`{ accounts { id } x: __type(name: "Account") { name } }`,
		`{ ...F } fragment F on Query { ... { __schema { types { name } } } }`,
	} {
		_, err := e.Execute(t.Context(), schema, execute.Query{Document: document})
		asError(t, err, execute.Refused, "__schema and __type")
	}
	if len(u.requests()) > 0 {
		t.Error("refused, but sent")
	}
	if v := e.Validate(schema, `{ acounts { id } }`); v.Valid || len(v.Errors[0].Suggestions) > 0 || strings.Contains(v.Errors[0].Message, "accounts") {
		t.Errorf("the faults tell names of the schema: %+v", v)
	}
	if answer, err := e.Execute(t.Context(), schema, execute.Query{Document: `{ accounts { __typename } }`}); err != nil || answer.Failed() {
		t.Errorf("__typename is refused: %+v %v", answer, err)
	}
	open := executor(t, u.URL, nil)
	if answer, err := open.Execute(t.Context(), schema, execute.Query{Document: `{ __schema { types { name } } }`}); err != nil || answer.Failed() {
		t.Errorf("introspection is refused where it is on: %+v %v", answer, err)
	}
}
