package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
	"github.com/docseek/docseek/graphql/schemasearch"
	"github.com/docseek/docseek/server/auth"
)

// GraphQL answers the GraphQL tools; [gateway.Gateway] is one. Which tools there
// are follows from what its endpoints allow, and from the operations that are
// published.
type GraphQL interface {
	Endpoints() []gateway.Info
	Operations() []*operations.Operation
	OnChange(func())
	Settle(context.Context) error
	Call(context.Context, gateway.OperationCall) (operations.Result, error)
	SearchSchema(context.Context, gateway.SearchQuery) (gateway.SearchAnswer, error)
	InspectType(context.Context, gateway.InspectQuery) (gateway.InspectAnswer, error)
	Validate(context.Context, gateway.ValidateQuery) (gateway.ValidateAnswer, error)
	Execute(context.Context, gateway.ExecuteQuery) (gateway.ExecuteAnswer, error)
}

var _ GraphQL = (*gateway.Gateway)(nil)

// The schemas of the answers: see searchOutput. The data of an execution has
// any form, and is left out where there is none.
const (
	searchSchemaOutput = `{"type":"object","properties":{` +
		`"endpoint":{"type":"string"},"sdl":{"type":"string"},` +
		`"paths":{"type":"array","items":{"type":"object","required":["path"]}},` +
		`"omitted":{"type":"object"},"hint":{"type":"string"}},"required":["sdl","paths"]}`

	inspectOutput = `{"type":"object","properties":{"endpoint":{"type":"string"},"sdl":{"type":"string"},` +
		`"unknown":{"type":"array","items":{"type":"object","required":["name","nearest"]}},` +
		`"shortened":{"type":"array","items":{"type":"string"}}},"required":["sdl"]}`

	faultsOutput = `"errors":{"type":"array","items":{"type":"object","required":["message"]}}`

	validateOutput = `{"type":"object","properties":{"valid":{"type":"boolean"},` + faultsOutput + `},"required":["valid","errors"]}`

	executeOutput = `{"type":"object","properties":{"data":{"type":"object"},` + faultsOutput +
		`,"hint":{"type":"string"},"sdl":{"type":"string"}},"required":["errors"]}`
)

// graphqlTools are the tools that the endpoints allow.
func graphqlTools(api GraphQL) []tool {
	var exploring, validating, executing, writing []string
	for _, e := range api.Endpoints() {
		if explores(e) {
			exploring = append(exploring, e.Name)
		}
		if validates(e) {
			validating = append(validating, e.Name)
		}
		if executes(e) {
			executing = append(executing, e.Name)
		}
		if e.Documents == execute.Write {
			writing = append(writing, e.Name)
		}
	}
	var tools []tool
	if len(exploring) > 0 {
		tools = append(tools, searchSchemaTool(api, exploring), inspectTypeTool(api, exploring))
	}
	if len(validating) > 0 {
		tools = append(tools, validateTool(api, validating))
	}
	if len(executing) > 0 {
		tools = append(tools, executeTool(api, executing, writing))
	}
	for i := range tools {
		tools[i].scope = auth.GraphQLRead
	}
	return tools
}

// endpointProperty names an endpoint: it has to be given where there are several.
func endpointProperty(names []string) property {
	return property{
		Name: "endpoint", Required: len(names) > 1,
		schema:  schema{Type: kindString, Enum: names},
		Aliases: []string{"endpoint_name", "api"},
	}
}

// minSDLChars is the least size that says something.
const minSDLChars = 100

func sdlSize() property {
	return property{
		Name: "max_chars",
		schema: schema{
			Type:    kindInteger,
			Minimum: bound(minSDLChars), Maximum: bound(schemasearch.MaxMaxChars), Default: schemasearch.DefaultMaxChars,
		},
		Aliases: []string{"max_length", "max_characters"},
	}
}

func documentProperty() property {
	return property{
		Name: "document", Required: true,
		schema:  schema{Type: kindString},
		Aliases: []string{"query", "operation", "mutation", "body", "graphql"},
	}
}

func searchSchemaTool(api GraphQL, names []string) tool {
	return tool{
		name:  "search_graphql_schema",
		title: "Search GraphQL schema",
		description: "Find the fields of the GraphQL API that some words are about. Returns SDL of the paths from the root to the best fields, " +
			"with arguments and input types: enough to write a document.",
		input: schema{Type: kindObject, Properties: []property{
			{
				Name: "terms", Required: true,
				schema:  schema{Type: kindArray, Items: &schema{Type: kindString}, Description: `Such as ["account","IBAN"]`},
				Aliases: []string{"term", "query", "q", "keywords", "search"},
			},
			endpointProperty(names), sdlSize(),
		}},
		output:         json.RawMessage(searchSchemaOutput),
		maxResultChars: 2 * schemasearch.MaxMaxChars,
		call: func(ctx context.Context, args arguments) (answer, error) {
			found, err := api.SearchSchema(ctx, gateway.SearchQuery{
				Endpoint: args.text("endpoint"), Terms: args.texts("terms"), MaxChars: args.integer("max_chars"),
			})
			if err != nil {
				return answer{}, err
			}
			return answer{structured: found, text: found.Text()}, nil
		},
	}
}

func inspectTypeTool(api GraphQL, names []string) tool {
	return tool{
		name:        "inspect_graphql_type",
		title:       "Inspect GraphQL types",
		description: "Print types, directives (@skip) or single fields (Query.account) of the GraphQL schema as SDL.",
		input: schema{Type: kindObject, Properties: []property{
			{
				Name: "names", Required: true,
				schema:  schema{Type: kindArray, Items: &schema{Type: kindString}},
				Aliases: []string{"name", "type", "types", "type_name", "type_names"},
			},
			endpointProperty(names), sdlSize(),
		}},
		output:         json.RawMessage(inspectOutput),
		maxResultChars: 2 * schemasearch.MaxMaxChars,
		call: func(ctx context.Context, args arguments) (answer, error) {
			found, err := api.InspectType(ctx, gateway.InspectQuery{
				Endpoint: args.text("endpoint"), Names: args.texts("names"), MaxChars: args.integer("max_chars"),
			})
			if err != nil {
				return answer{}, err
			}
			return answer{structured: found, text: found.Text(), failed: found.SDL == "" && len(found.Unknown) > 0}, nil
		},
	}
}

func validateTool(api GraphQL, names []string) tool {
	return tool{
		name:        "validate_graphql",
		title:       "Validate GraphQL document",
		description: "Check a GraphQL document against the schema without sending it: errors with line, column and the nearest names.",
		input:       schema{Type: kindObject, Properties: []property{documentProperty(), endpointProperty(names)}},
		output:      json.RawMessage(validateOutput),
		call: func(ctx context.Context, args arguments) (answer, error) {
			checked, err := api.Validate(ctx, gateway.ValidateQuery{Endpoint: args.text("endpoint"), Document: args.text("document")})
			if err != nil {
				return answer{}, err
			}
			return answer{structured: checked, text: validationText(checked)}, nil
		},
	}
}

func executeTool(api GraphQL, names, writing []string) tool {
	what := "Run a GraphQL query and return its data. Mutations are refused."
	switch {
	case len(writing) == len(names):
		what = "Run a GraphQL query or mutation and return its data. A mutation changes real data."
	case len(writing) > 0:
		what = "Run a GraphQL query and return its data; on " + strings.Join(writing, ", ") + " a mutation too, which changes real data."
	}
	return tool{
		name:        "execute_graphql",
		title:       "Execute GraphQL document",
		description: what + " The document is validated first. Select only the fields you need.",
		writes:      len(writing) > 0,
		openWorld:   true,
		input: schema{Type: kindObject, Properties: []property{
			documentProperty(),
			{Name: "variables", schema: schema{Type: kindObject}, Aliases: []string{"vars", "variable_values"}},
			{Name: "operation_name", schema: schema{Type: kindString}},
			endpointProperty(names),
		}},
		output: json.RawMessage(executeOutput),
		call: func(ctx context.Context, args arguments) (answer, error) {
			return executeDocument(ctx, api, args)
		},
	}
}

// maxDataBytes leaves room for the rest of an answer.
const maxDataBytes = maxAnswerBytes - 64<<10

func executeDocument(ctx context.Context, api GraphQL, args arguments) (answer, error) {
	query := gateway.ExecuteQuery{
		Endpoint: args.text("endpoint"), Document: args.text("document"), OperationName: args.text("operation_name"),
		Header: callerHeader(ctx),
	}
	if variables, ok := args["variables"]; ok {
		encoded, err := json.Marshal(variables)
		if err != nil {
			return answer{}, fmt.Errorf("encode the variables: %w", err)
		}
		query.Variables = encoded
	}
	got, err := api.Execute(ctx, query)
	if err != nil {
		return answer{}, err
	}
	if size := len(got.Data); size > maxDataBytes {
		got.Data = nil
		got.Errors = append(slices.Clip(got.Errors), execute.Fault{Message: fmt.Sprintf(
			"the operation was executed, and its data has %d bytes, more than fits an answer: select fewer fields, or ask for smaller pages", size)})
	}
	return answer{structured: got, text: executionText(got), failed: got.Failed()}, nil
}

func validationText(v gateway.ValidateAnswer) string {
	var b strings.Builder
	if v.Valid {
		b.WriteString("valid\n")
	} else {
		b.WriteString("not valid:\n")
	}
	faultsText(&b, v.Errors)
	if v.Note != "" {
		b.WriteString(v.Note + "\n")
	}
	return b.String()
}

func faultsText(b *strings.Builder, faults []execute.Fault) {
	for _, f := range faults {
		b.WriteString("- " + f.String() + "\n")
	}
}

// executionText has the data as the endpoint sent it, and what is wrong.
func executionText(a gateway.ExecuteAnswer) string {
	var b strings.Builder
	if a.Data != nil {
		b.Write(a.Data)
		b.WriteByte('\n')
	}
	if len(a.Errors) > 0 {
		b.WriteString("errors:\n")
		faultsText(&b, a.Errors)
	}
	if a.Hint != "" {
		b.WriteString(a.Hint + "\n")
	}
	if a.SDL != "" {
		b.WriteString("\n" + a.SDL)
	}
	return b.String()
}

type headerKey struct{}

// withCallerHeader keeps the headers of a call for the endpoints that are to
// get some of them.
func withCallerHeader(ctx context.Context, header http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, header)
}

func callerHeader(ctx context.Context) http.Header {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	return header
}
