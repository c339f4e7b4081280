package execute

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxNamed is how many types are taken from faults.
const maxNamed = 8

var quotedName = regexp.MustCompile(`["'` + "`" + `\[]*([_A-Za-z][_0-9A-Za-z]*)(?:\.[_A-Za-z][_0-9A-Za-z]*)?[!\]]*["'` + "`" + `]`)

// TypesNamed are the types of the schema that faults name in quotation marks,
// as validators do, in the order in which they are named; roots come last, since
// they are the largest and the least to the point.
func TypesNamed(schema *ast.Schema, faults []Fault) []string {
	var all []string
	for _, f := range faults {
		for _, m := range quotedName.FindAllStringSubmatch(f.Message, -1) {
			def := schema.Types[m[1]]
			if def != nil && !def.BuiltIn && !strings.HasPrefix(m[1], "__") && !slices.Contains(all, m[1]) {
				all = append(all, m[1])
			}
		}
	}
	isRoot := func(n string) bool {
		d := schema.Types[n]
		return d == schema.Query || d == schema.Mutation || d == schema.Subscription
	}
	slices.SortStableFunc(all, func(a, b string) int {
		switch {
		case isRoot(a) == isRoot(b):
			return 0
		case isRoot(a):
			return 1
		default:
			return -1
		}
	})
	return all[:min(len(all), maxNamed)]
}
