package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/operations"
)

const shopSchema = `
	"A day, as in 2026-11-30."
	scalar Date
	scalar JSON
	enum Sort { NEWEST OLDEST }
	input Range { from: Date! to: Date and: [Range!] limit: Int = 10 }
	interface Rejection { message: String! code: String! }
	type NotFoundRejection implements Rejection { message: String! code: String! }
	type Line { title: String! price: Float! tags: [String!]! }
	type Lines { nodes: [Line!]! totalCount: Int! }
	type Customer { name: String! email: String }
	type Order { id: ID! number: String! total: Float! note: String lines(first: Int): Lines! customer: Customer meta: JSON }
	type UserError { field: [String!] message: String! code: String }
	type CancelPayload { order: Order userErrors: [UserError!]! }
	union Found = Order | Customer | NotFoundRejection
	type Query {
		"One order."
		order(id: ID!): Order
		orders(ids: [ID!], sort: Sort, range: Range, open: Boolean, min: Float): [Order!]!
		find(id: ID!): Found!
	}
	type Mutation { cancel(id: ID!, reason: String): CancelPayload! }
`

const orderFile = `# What the support team needs.
name: get_order
description: One order with its lines, by its number.
endpoint: shop
operation_type: query
operation_name: Order
query_template: |
  query Order($id: ID!, $first: Int = 20) {
    order(id: $id) {
      number
      customer { name }
      lines(first: $first) { nodes { title price } }
    }
  }
variables_schema:
  type: object
  properties:
    number: {type: string, description: The order's number.}
    lines: {type: integer, minimum: 1}
  required: [number]
input_mapping:
  id: $.number
  first: $.lines
response_path: $.order
output:
  number: $.number
  customer: $.customer.name
  titles: $.lines.nodes[*].title
output_schema:
  type: object
  properties:
    number: {type: string}
    customer: {type: string}
    titles: {type: array, items: {type: string}}
  required: [number]
error_policy: {partial: fail, null_is_error: true}
headers: {X-Channel: agents}
auth_profile: shop
`

const shopAddress = "https://shop.example.com/graphql"

func shopOptions() operations.Options {
	return operations.Options{
		Endpoint: "shop", URL: shopAddress, AuthProfiles: map[string]string{"shop": "shop.example.com", "other": "example.org"},
	}
}

// loadOrder loads one operation file.
func loadOrder(o operations.Options, text string) operations.Set {
	o.Files = []operations.File{{Path: "order.yaml", Text: text}}
	return operations.Load(o)
}

// edited is orderFile with parts replaced; each has to be there.
func edited(tb testing.TB, replacements ...string) string {
	tb.Helper()
	text := orderFile
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			tb.Fatalf("the text has no %q", replacements[i])
		}
		text = strings.Replace(text, replacements[i], replacements[i+1], 1)
	}
	return text
}

func told(faults []operations.Fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

func TestFile(t *testing.T) {
	for _, known := range []*graphql.Schema{schema(t, shopSchema), nil} {
		o := shopOptions()
		o.Schema = known
		set := loadOrder(o, orderFile)
		if len(set.Faults) > 0 || len(set.Published()) != 1 {
			t.Fatalf("faults: %s", told(set.Faults))
		}
		op := set.Operations[0]
		if op.Name != "get_order" || op.Kind != operations.Mapped || op.Type != operations.Query || op.OperationName != "Order" ||
			op.Endpoint != "shop" || op.AuthProfile != "shop" || op.Place != (operations.Place{File: "order.yaml", Line: 2, Column: 7}) {
			t.Errorf("got %+v", op)
		}
		if op.Revision != operations.Revision(orderFile, shopAddress, "shop") || op.ID != operations.IDOf(op.Document) {
			t.Errorf("revision %s, id %s", op.Revision, op.ID)
		}
		if set.Documents[op.ID] != op.Document {
			t.Errorf("documents: %v", set.Documents)
		}
		input := `{"additionalProperties":false,"properties":{"lines":{"minimum":1,"type":"integer"},` +
			`"number":{"description":"The order's number.","type":"string"}},"required":["number"],"type":"object"}`
		if diff := cmp.Diff(input, string(op.Input)); diff != "" {
			t.Errorf("input: %s", diff)
		}
		var output map[string]any
		if err := json.Unmarshal(op.Output, &output); err != nil || output["type"] != "object" {
			t.Errorf("output %s: %v", op.Output, err)
		}
	}
}

// Each fault of a file is told, with its place.
func TestFileFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		edits []string
		want  string
		alone bool // holds without a schema too
	}{
		"empty":             {[]string{orderFile, "# nothing\n"}, `order.yaml: the file is empty`, true},
		"no mapping":        {[]string{orderFile, "- a\n"}, `order.yaml:1:1: must be a mapping of keys to values`, true},
		"no YAML":           {[]string{orderFile, "name: [\n"}, `order.yaml:1:7: sequence end token ']' not found`, true},
		"two documents":     {[]string{"auth_profile: shop\n", "auth_profile: shop\n---\nname: x\n"}, `order.yaml:40:1: a second YAML document begins here: write one operation to a file`, true},
		"anchor":            {[]string{"{X-Channel: agents}", "&h {X-Channel: agents}"}, `order.yaml:37:10: anchors, aliases, tags and values that nest deeper than 64 are not read`, true},
		"unknown key":       {[]string{"response_path:", "respons_path:"}, `order.yaml:24:1: unknown key "respons_path": there is name, description,`, true},
		"key twice":         {[]string{"endpoint: shop", "endpoint: shop\nendpoint: shop"}, `order.yaml:5:1: endpoint stands here twice`, true},
		"no name":           {[]string{"name: get_order\n", ""}, `order.yaml:1:1: name is missing: the tool's name`, true},
		"bad name":          {[]string{"name: get_order", "name: getOrder"}, `order.yaml:2:7: the tool's name "getOrder" is not made of small letters`, true},
		"name is a number":  {[]string{"name: get_order", "name: 12"}, `order.yaml:2:7: name must be a text`, true},
		"no description":    {[]string{"description: One order with its lines, by its number.\n", ""}, `order.yaml:1:1: description is missing: what the tool is for`, true},
		"empty description": {[]string{"One order with its lines, by its number.", `" "`}, `order.yaml:3:14: the description is empty`, true},
		"long description":  {[]string{"One order with its lines, by its number.", strings.Repeat("x", 1025)}, `order.yaml:3:14: the description has 1025 bytes; at most 1024 are allowed`, true},
		"another endpoint":  {[]string{"endpoint: shop", "endpoint: other"}, `order.yaml:4:11: the operation is for the endpoint "other", and the file stands under operations of "shop"`, true},

		"subscription by type":    {[]string{"operation_type: query", "operation_type: subscription"}, `order.yaml:5:17: a subscription is no tool`, true},
		"no such type":            {[]string{"operation_type: query", "operation_type: fetch"}, `order.yaml:5:17: operation_type must be query or mutation, got "fetch"`, true},
		"another type":            {[]string{"operation_type: query", "operation_type: mutation"}, `order.yaml:8:3: operation_type says mutation, and query_template holds a query`, true},
		"another name":            {[]string{"operation_name: Order", "operation_name: Orders"}, `order.yaml:8:3: operation_name says Orders, and query_template has Order`, true},
		"no operation name":       {[]string{"operation_name: Order\n", ""}, `order.yaml:1:1: operation_name is missing`, true},
		"no name in the template": {[]string{"query Order(", "query ("}, `order.yaml:8:3: the operation has no name in query_template: write Order after query`, true},
		"two operations":          {[]string{"variables_schema:", "  query B { order(id: 1) { id } }\nvariables_schema:"}, `order.yaml:7:17: query_template holds 2 operations: write one to a file`, true},
		"no GraphQL":              {[]string{"order(id: $id) {", "order(id: $id {"}, `order.yaml:9:19: query_template: Expected Name, found {`, true},
		"defer":                   {[]string{"customer { name }", "... @defer { customer { name } }"}, `order.yaml:11:12: incremental delivery is unsupported: leave @defer out`, true},
		"variable never used":     {[]string{"(first: $first) ", ""}, `order.yaml:8:25: query_template: Variable "$first" is never used in operation "Order".`, true},
		"undeclared variable":     {[]string{", $first: Int = 20", ""}, `order.yaml:12:20: query_template: Variable "$first" is not defined by operation "Order".`, true},
		"unknown fragment":        {[]string{"customer { name }", "...Rest"}, `query_template: Unknown fragment "Rest".`, true},
		"Windows line ends": {
			[]string{orderFile, strings.ReplaceAll(strings.Replace(orderFile, "(id: $id)", "(id: $idx)", 1), "\n", "\r\n")},
			`order.yaml:9:15: query_template: Variable "$idx" is not defined by operation "Order".`, true,
		},
		"folded": {
			[]string{"query_template: |", "query_template: >", "(id: $id)", "(id: $idx)"},
			`order.yaml:9:15: query_template: Variable "$idx" is not defined by operation "Order".`, true,
		},
		"no such field":            {[]string{"      number\n", "      numbr\n"}, `order.yaml:10:7: query_template: Cannot query field "numbr" on type "Order". Nearest: number`, false},
		"another type of variable": {[]string{"$id: ID!", "$id: Int!"}, `order.yaml:9:15: query_template: Variable "$id" of type "Int!" used in position expecting type "ID!".`, false},

		"schema is a text":           {[]string{"variables_schema:\n  type: object\n  properties:\n    number: {type: string, description: The order's number.}\n    lines: {type: integer, minimum: 1}\n  required: [number]\n", "variables_schema: object\n"}, `order.yaml:15:19: variables_schema must be a JSON Schema of an object`, true},
		"no object":                  {[]string{"  type: object\n  properties:\n    number", "  type: array\n  properties:\n    number"}, `order.yaml:16:9: variables_schema must have type: object, got "array"`, true},
		"open":                       {[]string{"  required: [number]\n", "  required: [number]\n  additionalProperties: true\n"}, `order.yaml:21:25: variables_schema is closed: additionalProperties must be false`, true},
		"open to texts":              {[]string{"  required: [number]\n", "  required: [number]\n  additionalProperties: {type: string}\n"}, `order.yaml:21:25: variables_schema is closed`, true},
		"combinator":                 {[]string{"  required: [number]\n", "  anyOf: [{required: [number]}]\n"}, `order.yaml:20:10: anyOf cannot stand at the top of variables_schema`, true},
		"no JSON Schema":             {[]string{"{type: integer, minimum: 1}", "{type: whole}"}, `order.yaml:19:19: variables_schema is no JSON Schema: properties.lines.type`, true},
		"remote reference":           {[]string{"{type: integer, minimum: 1}", "{$ref: 'https://example.com/int.json'}"}, `order.yaml:16:3: variables_schema refers to https://example.com/int.json: nothing is loaded from elsewhere`, true},
		"reference to a file":        {[]string{"{type: integer, minimum: 1}", "{$ref: 'file:///etc/passwd'}"}, `variables_schema refers to file:///etc/passwd: nothing is loaded from elsewhere`, true},
		"default of another type":    {[]string{"minimum: 1}", "minimum: 1, default: 0}"}, `order.yaml:19:49: the default of lines does not fit its own schema`, true},
		"argument that goes nowhere": {[]string{"  required: [number]\n", "    unused: {type: string}\n  required: [number]\n"}, `order.yaml:20:13: unused is sent nowhere: input_mapping has no path to it`, true},

		"variable without a mapping":   {[]string{"  id: $.number\n", ""}, `order.yaml:8:15: $id must be given (ID!), and input_mapping has no id`, true},
		"mapping to no variable":       {[]string{"  first: $.lines", "  fist: $.lines"}, `order.yaml:23:3: query_template declares no variable $fist`, true},
		"no path":                      {[]string{"id: $.number", "id: number"}, `order.yaml:22:7: input_mapping.id: "number" is no JSONPath (RFC 9535): unexpected identifier at position 1`, true},
		"path to nothing":              {[]string{"id: $.number", "id: $.nummer"}, `order.yaml:22:7: input_mapping: $.nummer leads to nothing: variables_schema has no nummer there`, true},
		"path through a text":          {[]string{"id: $.number", "id: $[?"}, `is no JSONPath (RFC 9535)`, true},
		"no constant":                  {[]string{"first: $.lines", "first: {value: 3}"}, `order.yaml:23:10: input_mapping.first must be a path such as $.id, or {const: value}`, true},
		"constant of another type":     {[]string{"first: $.lines", "first: {const: many}", "    lines: {type: integer, minimum: 1}\n", ""}, `order.yaml:22:18: the constant does not fit $first: it must be Int, got "many"`, true},
		"argument that may be missing": {[]string{"  required: [number]\n", ""}, `order.yaml:21:7: input_mapping: $id must be given (ID!), and callers may leave $.number out: add it to required`, true},
		"argument that may be null":    {[]string{"{type: string, description", "{type: [string, 'null'], description"}, `order.yaml:22:7: input_mapping: $.number does not fit $id, which is ID!: it may be null`, true},
		"argument of another type":     {[]string{"{type: integer, minimum: 1}", "{type: boolean}"}, `order.yaml:23:10: input_mapping: $.lines does not fit $first, which is Int: it may be boolean, and Int takes integer`, true},
		"number for Int":               {[]string{"{type: integer, minimum: 1}", "{type: number}"}, `it may be number, and Int takes integer`, true},
		"list for one":                 {[]string{"id: $.number", "id: $.number[*]"}, `$.number[*] selects a list, and $id is ID!`, true},

		"no response path":            {[]string{"response_path: $.order", "response_path: order"}, `order.yaml:24:16: response_path: "order" is no JSONPath`, true},
		"response path to nothing":    {[]string{"response_path: $.order", "response_path: $.oder"}, `order.yaml:24:16: response_path: $.oder: the query selects no oder in data: it selects order`, true},
		"response path within a list": {[]string{"response_path: $.order", "response_path: $.order.lines.nodes.title"}, `$.order.lines.nodes.title: nodes is a list: write [*] or an index before title`, false},
		"output path to nothing":      {[]string{"titles: $.lines.nodes[*].title", "titles: $.lines.nodes[*].name"}, `order.yaml:28:11: output.titles: $.lines.nodes[*].name: the query selects no name in nodes: it selects price, title`, true},
		"no output":                   {[]string{"number: $.number", "number: [$.number]"}, `order.yaml:26:11: output.number must be a text`, true},

		"no such policy":           {[]string{"partial: fail", "partial: maybe"}, `order.yaml:36:25: partial must be fail or accept`, true},
		"unknown key of policy":    {[]string{"partial: fail", "partly: fail"}, `order.yaml:36:16: unknown key "partly" in error_policy`, true},
		"flag that is none":        {[]string{"null_is_error: true", "null_is_error: yes please"}, `null_is_error must be true or false`, true},
		"failure path to nothing":  {[]string{"null_is_error: true", "failure_paths: [$.order.errors]"}, `order.yaml:36:47: failure_paths: $.order.errors: the query selects no errors in order`, true},
		"failure path without $":   {[]string{"null_is_error: true", "failure_paths: [order.errors]"}, `failure_paths: "order.errors" is no JSONPath`, true},
		"paths that are no list":   {[]string{"null_is_error: true", "failure_paths: $.order"}, `failure_paths must be a list`, true},
		"typenames not selected":   {[]string{"null_is_error: true", "failure_typenames: ['*Rejection']"}, `order.yaml:36:50: failure_typenames: the query selects no __typename`, true},
		"glob that is none":        {[]string{"null_is_error: true", "failure_typenames: ['[']", "      number\n", "      __typename number\n"}, `"[" is no glob for the name of a type`, true},
		"typename of no type":      {[]string{"null_is_error: true", "failure_typenames: ['*Refusal']", "      number\n", "      __typename number\n"}, `the schema has no type "*Refusal"`, false},
		"output schema is none":    {[]string{"required: [number]\nerror", "required: number\nerror"}, `output_schema is no JSON Schema: required`, true},
		"output schema, remote":    {[]string{"{type: array, items: {type: string}}", "{$ref: 'http://example.com/'}"}, `output_schema refers to http://example.com/: nothing is loaded from elsewhere`, true},
		"no header":                {[]string{"{X-Channel: agents}", `{"X Channel": agents}`}, `order.yaml:37:11: "X Channel" is no valid header`, true},
		"header with two lines":    {[]string{"{X-Channel: agents}", `{X-Channel: "a\nb"}`}, `"X-Channel" is no valid header`, true},
		"credentials":              {[]string{"{X-Channel: agents}", `{authorization: Bearer x}`}, `authorization holds credentials, which do not belong in this file: name them in auth_profile`, true},
		"docseek's own header":     {[]string{"{X-Channel: agents}", `{content-length: "3"}`}, `content-length is set by docseek itself`, true},
		"no such profile":          {[]string{"auth_profile: shop", "auth_profile: shops"}, `order.yaml:38:15: there is no "shops" under auth_profiles in the configuration: there is other, shop`, true},
		"profile of another host":  {[]string{"auth_profile: shop", "auth_profile: other"}, `order.yaml:38:15: auth profile other: its credentials are for example.org, and the endpoint is at shop.example.com`, true},
		"nests too deep":           {[]string{"{X-Channel: agents}", strings.Repeat("[", 70) + strings.Repeat("]", 70)}, `values that nest deeper than 64 are not read`, true},
		"infinite":                 {[]string{"minimum: 1", "minimum: .inf"}, `this kind of value is not read`, true},
		"a key that is no text":    {[]string{"{X-Channel: agents}", "{[a]: b}"}, ``, true},
		"constant in a list const": {[]string{"first: $.lines", "first: {const: [1]}", "    lines: {type: integer, minimum: 1}\n", ""}, `the constant does not fit $first`, true},
	} {
		t.Run(name, func(t *testing.T) {
			known := schema(t, shopSchema)
			for _, s := range []*graphql.Schema{known, nil} {
				if s == nil && !tc.alone {
					continue
				}
				o := shopOptions()
				o.Schema = s
				set := loadOrder(o, edited(t, tc.edits...))
				if got := told(set.Faults); len(set.Faults) == 0 || !strings.Contains(got, tc.want) {
					t.Errorf("with schema %t: got\n%s\nwant\n%s", s != nil, got, tc.want)
				}
				if len(set.Published()) > 0 || len(set.Documents) > 0 {
					t.Error("it is published all the same")
				}
			}
		})
	}
}

// All that is wrong is told at once, in the file's order.
func TestFileTellsAllFaults(t *testing.T) {
	set := loadOrder(shopOptions(), edited(t,
		"endpoint: shop", "endpoint: other", "id: $.number", "id: number", "response_path: $.order", "response_path: $.x", "auth_profile: shop", "auth_profile: none"))
	var places []string
	for _, f := range set.Faults {
		places = append(places, fmt.Sprintf("%d:%d", f.Line, f.Column))
	}
	if diff := cmp.Diff([]string{"4:11", "22:7", "24:16", "38:15"}, places); diff != "" {
		t.Errorf("%s\n%s", diff, told(set.Faults))
	}
}

func TestFilesThatAreRight(t *testing.T) {
	for name, edits := range map[string][]string{
		"no input": {
			"$id: ID!, $first: Int = 20", "", "query Order()", "query Order", "$id", "1", "(first: $first)", "",
			orderFile[strings.Index(orderFile, "variables_schema:"):strings.Index(orderFile, "response_path:")], "",
		},
		"constants":               {"first: $.lines", "first: {const: 3}", "    lines: {type: integer, minimum: 1}\n", ""},
		"the whole input":         {"id: $.number", "id: $['number']"},
		"variable with its $":     {"  id: $.number", "  $id: $.number"},
		"default for a required":  {"  required: [number]\n", "", "{type: string, description", "{type: string, default: A1, description"},
		"no response path":        {"response_path: $.order\n", "", "$.number\n  customer: $.customer.name", "$.order.number\n  customer: $.order.customer.name", "titles: $.lines", "titles: $.order.lines"},
		"closed by itself":        {"  required: [number]\n", "  required: [number]\n  additionalProperties: false\n"},
		"folded template":         {"query_template: |", "query_template: >"},
		"accepts partial answers": {"partial: fail", "partial: accept"},
		"CRLF":                    {},
		"byte order mark":         {},
		"no auth profile":         {"auth_profile: shop\n", ""},
		"fragments": {
			"customer { name }", "...C", "variables_schema:", "  fragment C on Order { customer { name } }\nvariables_schema:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := edited(t, edits...)
			switch name {
			case "CRLF":
				text = strings.ReplaceAll(text, "\n", "\r\n")
			case "byte order mark":
				text = "\ufeff" + text
			}
			for _, s := range []*graphql.Schema{schema(t, shopSchema), nil} {
				o := shopOptions()
				o.Schema = s
				if set := loadOrder(o, text); len(set.Faults) > 0 || len(set.Published()) != 1 {
					t.Errorf("with schema %t: %s", s != nil, told(set.Faults))
				}
			}
		})
	}
}

// A file is published only when the revision that it has now was tested.
func TestFileNeedsATest(t *testing.T) {
	o := shopOptions()
	o.RequireTest = true
	set := loadOrder(o, orderFile)
	if len(set.Published()) > 0 || set.Operations[0].Tested || set.Operations[0].Withheld != "its present revision was not tested: run docseek operations test order.yaml" {
		t.Errorf("without a test: %+v", set.Operations[0])
	}
	o.Lock = o.Lock.Record("get_order", orderFile, shopAddress, "shop")
	set = loadOrder(o, orderFile)
	if len(set.Published()) != 1 || !set.Operations[0].Tested {
		t.Errorf("after its test: %+v", set.Operations[0])
	}
	if set := loadOrder(o, edited(t, "price", "price tags")); len(set.Published()) > 0 {
		t.Error("it is published after a change of the template")
	}
	o.URL = "https://shop.example.com/v2/graphql"
	if set := loadOrder(o, orderFile); len(set.Published()) > 0 {
		t.Error("it is published for another address")
	}
}

// An operation file must fit the limits of a document as everything else does.
func TestFileLimits(t *testing.T) {
	o := shopOptions()
	o.Limits = execute.Limits{Depth: 2}
	if got := told(loadOrder(o, orderFile).Faults); !strings.Contains(got, "order.yaml:8:3: query_template: query Order has 4 levels of fields") {
		t.Errorf("got %s", got)
	}
	if got := told(loadOrder(shopOptions(), orderFile+strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 300)).Faults); !strings.Contains(got, "at most 262144 are read") {
		t.Errorf("got %s", got)
	}
}
