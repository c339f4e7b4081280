package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/operations"
)

// What an agent gives for an operation, and what of it is sent or said.
func TestVariables(t *testing.T) {
	const types = `
		scalar Day
		scalar Long
		scalar Money
		input Filter { and: [Filter!] equal: Int }
		input By @oneOf { id: ID email: String }
		enum Sort { ASC DESC }
		type Query { x(id: ID, n: Int! = 1, f: Filter, by: By, day: Day, days: [Day], long: Long, money: Money, sort: Sort, ids: [ID!], ratio: Float): Int }
	`
	const documents = `
		query None @mcpTool(description: "x") { x }
		query Id($id: ID!) @mcpTool(description: "x") { x(id: $id) }
		query Count($n: Int! = 42) @mcpTool(description: "x") { x(n: $n) }
		query Fits($n: Int = 42) @mcpTool(description: "x") { x(n: $n) }
		query Filtered($f: Filter) @mcpTool(description: "x") { x(f: $f) }
		query One($by: By!) @mcpTool(description: "x") { x(by: $by) }
		query Scalars($day: Day, $days: [Day], $long: Long, $money: Money, $ratio: Float) @mcpTool(description: "x") { x(day: $day, days: $days, long: $long, money: $money, ratio: $ratio) }
		query Sorted($sort: Sort, $ids: [ID!]) @mcpTool(description: "x") { x(sort: $sort, ids: $ids) }
	`
	set := operations.Load(operations.Options{
		Endpoint: "api", Schema: schema(t, types), Files: []operations.File{{Path: "x.graphql", Text: documents}},
		Scalars: map[string]json.RawMessage{
			"Day":   json.RawMessage(`{"type": "string", "format": "date"}`),
			"Money": json.RawMessage(`{"type": "integer", "minimum": 1, "multipleOf": 5}`),
		},
	})
	if len(set.Faults) > 0 {
		t.Fatal(set.Faults)
	}
	byName := map[string]*operations.Operation{}
	for _, o := range set.Published() {
		byName[o.Name] = o
	}
	deep := strings.Repeat(`{"and":[`, 6) + `{"equal":1}` + strings.Repeat(`]}`, 6)
	for name, tc := range map[string]struct{ operation, given, sent, fault string }{
		"nothing":                    {"none", ``, `{}`, ``},
		"null":                       {"none", `null`, `{}`, ``},
		"empty":                      {"none", `{}`, `{}`, ``},
		"unknown":                    {"none", `{"a":1}`, ``, `a is not declared`},
		"ID as a number":             {"id", `{"id":42}`, `{"id":"42"}`, ``},
		"ID beyond 53 bits":          {"id", `{"id":9007199254740993}`, `{"id":"9007199254740993"}`, ``},
		"no document":                {"id", `{"id":"\"){id} mutation{x}"}`, `{"id":"\"){id} mutation{x}"}`, ``},
		"another key":                {"id", `{"ID":"a"}`, ``, `ID is not declared by query Id. Nearest: id.`},
		"default":                    {"count", `{}`, `{}`, ``},
		"null for a default":         {"count", `{"n":null}`, ``, `n must not be null`},
		"too large":                  {"count", `{"n":3000000000}`, ``, `from -2147483648 to 2147483647, got 3000000000`},
		"nullable with a default":    {"fits", `{}`, `{}`, ``},
		"six levels":                 {"filtered", `{"f":` + deep + `}`, `{"f":` + deep + `}`, ``},
		"explicit null":              {"filtered", `{"f":null}`, `{"f":null}`, ``},
		"one of none":                {"one", `{"by":{}}`, ``, `exactly one of id, email`},
		"one of two":                 {"one", `{"by":{"id":"1","email":"a"}}`, ``, `exactly one of id, email`},
		"one of, null":               {"one", `{"by":{"id":null}}`, ``, `exactly one of id, email`},
		"one of":                     {"one", `{"by":{"email":"a"}}`, `{"by":{"email":"a"}}`, ``},
		"64 bits and all digits":     {"scalars", `{"long":9223372036854775807,"ratio":0.1000000000000000055}`, `{"long":9223372036854775807,"ratio":0.1000000000000000055}`, ``},
		"a scalar by its schema":     {"scalars", `{"day":"2026-11-30","days":["2026-11-30",null],"money":10}`, `{"day":"2026-11-30","days":["2026-11-30",null],"money":10}`, ``},
		"no such day":                {"scalars", `{"day":"2026-11-31"}`, ``, `day must be Day`},
		"no such day in a list":      {"scalars", `{"days":["tomorrow"]}`, ``, `days[0] must be Day`},
		"no such amount":             {"scalars", `{"money":7}`, ``, `money must be Money`},
		"a number beyond all bounds": {"scalars", `{"money":1e999999999}`, ``, `out of all proportion`},
		"an enum in another case":    {"sorted", `{"sort":"asc"}`, `{"sort":"ASC"}`, ``},
		"no value of the enum":       {"sorted", `{"sort":"UP"}`, ``, `one of Sort's values, got "UP". Nearest: ASC, DESC.`},
		"one for a list":             {"sorted", `{"ids":7}`, `{"ids":["7"]}`, ``},
		"a list":                     {"sorted", `[]`, ``, `must be a JSON object, got a list`},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := &asked{}
			result, err := sendingTo(t, endpoint).Call(t.Context(), byName[tc.operation], json.RawMessage(tc.given), nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.fault != "" {
				if !result.Failed() || !strings.Contains(fmt.Sprint(result.Errors), tc.fault) {
					t.Errorf("errors %v, want %q", result.Errors, tc.fault)
				}
				if endpoint.variables != nil {
					t.Errorf("refused, but sent %s", endpoint.variables)
				}
				return
			}
			if result.Failed() || string(endpoint.variables) != tc.sent {
				t.Errorf("sent %s, want %s; %v", endpoint.variables, tc.sent, result.Errors)
			}
		})
	}
}

func TestScalars(t *testing.T) {
	const types = `scalar Day type Query { x(day: Day, must: Day!, all: [Day!]): Int }`
	const document = `query X($day: Day, $must: Day!, $all: [Day!]! = "2026-11-30") @mcpTool(description: "x") { x(day: $day, must: $must, all: $all) }`
	for name, tc := range map[string]struct{ scalar, day, must, fault string }{
		"a type":              {`{"format":"date","type":"string"}`, `{"format":"date","type":["string","null"]}`, `{"format":"date","type":"string"}`, ``},
		"two types":           {`{"type":["string","integer"]}`, `{"anyOf":[{"type":["string","integer"]},{"type":"null"}]}`, `{"type":["string","integer"]}`, ``},
		"null is in it":       {`{"type":["string","null"]}`, `{"type":["string","null"]}`, `{"type":["string","null"]}`, ``},
		"values":              {`{"type":"string","enum":["2026-11-30"]}`, `{"anyOf":[{"enum":["2026-11-30"],"type":"string"},{"type":"null"}]}`, `{"enum":["2026-11-30"],"type":"string"}`, ``},
		"everything":          {`{}`, `{}`, `{}`, ``},
		"a description":       {`{"$schema":"https://json-schema.org/draft/2020-12/schema","description":"A day.","type":"string"}`, `{"type":["string","null"],"description":"A day."}`, `{"type":"string","description":"A day."}`, ``},
		"no JSON":             {`{`, ``, ``, `configuration: scalars: Day: it is no JSON`},
		"no object":           {`true`, ``, ``, `it is no JSON object`},
		"no schema":           {`{"type":"text"}`, ``, ``, `Day is no JSON Schema`},
		"no pattern":          {`{"pattern":"("}`, ``, ``, `Day is no JSON Schema`},
		"a reference":         {`{"items":{"$ref":"#/x"}}`, ``, ``, `must stand by itself`},
		"refuses the default": {`{"type":"integer"}`, ``, ``, `default of all must be Day`},
	} {
		t.Run(name, func(t *testing.T) {
			set := operations.Load(operations.Options{
				Endpoint: "api", Schema: schema(t, types), Files: []operations.File{{Path: "x.graphql", Text: document}},
				Scalars: map[string]json.RawMessage{"Day": json.RawMessage(tc.scalar)},
			})
			if tc.fault != "" {
				if len(set.Faults) == 0 || !strings.Contains(fmt.Sprint(set.Faults), tc.fault) {
					t.Errorf("%v, want %q", set.Faults, tc.fault)
				}
				return
			}
			if len(set.Faults) > 0 {
				t.Fatal(set.Faults)
			}
			var input struct{ Properties map[string]json.RawMessage }
			if err := json.Unmarshal(set.Operations[0].Input, &input); err != nil {
				t.Fatal(err)
			}
			if string(input.Properties["day"]) != tc.day || string(input.Properties["must"]) != tc.must {
				t.Errorf("nullable %s, not null %s", input.Properties["day"], input.Properties["must"])
			}
		})
	}
}
