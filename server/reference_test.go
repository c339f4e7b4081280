package server

import (
	"fmt"
	"strings"
	"testing"
)

// The reference of the tools is made from what they are, so that it is right:
// go test ./server -update rewrites it.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Tools\n\n" +
		"Every tool only reads, and its answer comes in two forms with the same facts: `structuredContent`, as described " +
		"by its output schema, and Markdown text. Errors are results with `isError` and one sentence per fault.\n\n" +
		"Arguments that models typically get wrong are put right: other names (the last column; case, `_` and `-` do not matter), " +
		"numbers and booleans written as strings, a number for a string, and null or an empty string for what is not given. " +
		"Arguments that a tool does not know are ignored.\n")
	for _, tool := range docsTools(&library{}) {
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
	golden(t, "tools.md", []byte(b.String()))
}
