package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/graphql/operations"
)

// The reference of the tools is made from what they are, so that it is right:
// go test ./server -update rewrites it.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Tools\n\n" +
		"What agents get, over MCP; `docseek search`, `read`, `status` and `graphql` give the same answers. [security.md](security.md) " +
		"says what each tool can and cannot do. This page is made from the tools themselves: `go test ./server -update`.\n\n" +
		"Every tool but `execute_graphql` and those of approved mutations only reads. An answer comes in two forms with the same facts: `structuredContent`, as described " +
		"by its output schema, and text. Errors are results with `isError` and one sentence per fault.\n\n" +
		"The GraphQL tools are there where an endpoint is configured that allows them: `search_graphql_schema` and `inspect_graphql_type` with " +
		"`explore`, `execute_graphql` with `documents: read` (queries) or `write` (mutations too), `validate_graphql` with either. " +
		"`endpoint` is one of the configured names; it has to be given where there are several.\n\n" +
		"Each approved operation is a tool of its own beside these, with its variables as arguments: " +
		"[operations.md](operations.md#approved-graphql-operations).\n\n" +
		"Arguments that models typically get wrong are put right: other names (the last column; case, `_` and `-` do not matter), " +
		"numbers and booleans written as strings, a number for a string, and null or an empty string for what is not given. " +
		"Arguments that a tool does not know are ignored.\n")
	apis := endpoints{{Name: "api", Documents: execute.Read, Explore: true}}
	for _, tool := range append(docsTools(&library{}), graphqlTools(apis)...) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| argument | type | default | bounds | what | also accepted as |\n|---|---|---|---|---|---|\n",
			tool.name, tool.description)
		for _, p := range tool.input.Properties {
			name := "`" + p.Name + "`"
			if p.Required {
				name += " (required)"
			}
			defaults, bounds := "", ""
			if p.Default != nil {
				defaults = fmt.Sprint(p.Default)
			}
			switch {
			case p.Minimum != nil && p.Maximum != nil:
				bounds = digits(*p.Minimum) + " to " + digits(*p.Maximum)
			case p.Minimum != nil || p.Maximum != nil:
				t.Errorf("%s.%s has one bound: teach the reference to say so", tool.name, p.Name)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
				name, p.Type, defaults, bounds, p.Description, strings.Join(p.Aliases, ", "))
		}
		fmt.Fprintf(&b, "\nOutput schema:\n\n```json\n%s```\n", indented(t, tool.output))
	}
	golden(t, "../../docs/tools.md", []byte(b.String()))
}

// endpoints are what is configured, and answer nothing.
type endpoints []gateway.Info

func (e endpoints) Endpoints() []gateway.Info { return e }

func (endpoints) Operations() []*operations.Operation { return nil }
func (endpoints) OnChange(func())                     {}
func (endpoints) Settle(context.Context) error        { return nil }

func (endpoints) Call(context.Context, gateway.OperationCall) (operations.Result, error) {
	return operations.Result{}, errors.New("not asked here")
}

func (endpoints) SearchSchema(context.Context, gateway.SearchQuery) (gateway.SearchAnswer, error) {
	return gateway.SearchAnswer{}, errors.New("not asked here")
}

func (endpoints) InspectType(context.Context, gateway.InspectQuery) (gateway.InspectAnswer, error) {
	return gateway.InspectAnswer{}, errors.New("not asked here")
}

func (endpoints) Validate(context.Context, gateway.ValidateQuery) (gateway.ValidateAnswer, error) {
	return gateway.ValidateAnswer{}, errors.New("not asked here")
}

func (endpoints) Execute(context.Context, gateway.ExecuteQuery) (gateway.ExecuteAnswer, error) {
	return gateway.ExecuteAnswer{}, errors.New("not asked here")
}
