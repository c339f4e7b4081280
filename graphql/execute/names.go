package execute

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxNamed is how many names are taken from faults.
const maxNamed = 8

var quotedName = regexp.MustCompile(`["'` + "`" + `\[]*([_A-Za-z][_0-9A-Za-z]*)(?:\.([_A-Za-z][_0-9A-Za-z]*))?[!\]]*["'` + "`" + `]`)

// NamesIn are the parts of the schema that faults name in quotation marks, as
// validators do: types, and fields as "Query.account". Roots stand last, since
// they are large and seldom to the point; of a root whose fields are suggested,
// those fields stand for it.
func NamesIn(schema *ast.Schema, faults []Fault) []string {
	var all []string
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	isRoot := func(name string) bool {
		d := schema.Types[name]
		return d != nil && (d == schema.Query || d == schema.Mutation || d == schema.Subscription)
	}
	for _, f := range faults {
		for _, m := range quotedName.FindAllStringSubmatch(f.Message, -1) {
			def := schema.Types[m[1]]
			switch {
			case def == nil || def.BuiltIn || strings.HasPrefix(m[1], "__"):
			case m[2] != "" && def.Fields.ForName(m[2]) != nil:
				add(m[1] + "." + m[2])
			case isRoot(m[1]) && len(f.Suggestions) > 0:
				for _, field := range f.Suggestions {
					if def.Fields.ForName(field) != nil {
						add(m[1] + "." + field)
					}
				}
			default:
				add(m[1])
			}
		}
	}
	last := func(name string) int {
		if isRoot(name) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(last(a), last(b)) })
	return all[:min(len(all), maxNamed)]
}
