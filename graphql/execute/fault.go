package execute

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Bounds on what is shown of faults.
const (
	maxFaults  = 20
	maxMessage = 600 // characters
	// maxSuggestions is how many names a fault suggests.
	maxSuggestions = 5
)

// Fault is one thing that is wrong: with a document, before it is sent, or in
// an endpoint's answer.
type Fault struct {
	Message string `json:"message"`
	// File is what the document was called when it was parsed; empty for one
	// that came without a name.
	File string `json:"file,omitempty"`
	// Line and Column are the place in the document; they count from 1, and are
	// 0 where there is none.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Suggestions are the names nearest to one that does not exist.
	Suggestions []string `json:"suggestions,omitempty"`
	// Path leads to the field of the answer that failed: names, and indices as
	// json.Number.
	Path []any `json:"path,omitempty"`
	// Code is what the endpoint calls the error.
	Code string `json:"code,omitempty"`
	// Extensions is what else the endpoint says of the error, a JSON object.
	Extensions json.RawMessage `json:"extensions,omitempty"`
}

// String is the fault in one line, with all it knows.
func (f Fault) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ": ")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", f.Line, f.Column)
	}
	b.WriteString(strings.Join(strings.Fields(f.Message), " "))
	if len(f.Suggestions) > 0 {
		if !strings.HasSuffix(f.Message, ".") {
			b.WriteByte('.')
		}
		b.WriteString(" Nearest: " + strings.Join(f.Suggestions, ", ") + ".")
	}
	if f.Code != "" {
		b.WriteString(" [" + f.Code + "]")
	}
	if len(f.Path) > 0 {
		b.WriteString(" at ")
		for i, step := range f.Path {
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, step)
		}
	}
	if len(f.Extensions) > 0 {
		b.WriteString(" " + string(f.Extensions))
	}
	return b.String()
}

// The patterns of gqlparser's messages: what it suggests, and what does not exist.
var (
	meant        = regexp.MustCompile(`\s*Did you mean (to use an inline fragment on |the enum value )?(.+)\?$`)
	quoted       = regexp.MustCompile(`"([^"]+)"`)
	noField      = regexp.MustCompile(`^Cannot query field "([^"]+)" on type "([^"]+)"`)
	noInputField = regexp.MustCompile(`^Field "([^"]+)" is not defined by type "([^"]+)"`)
	noEnumValue  = regexp.MustCompile(`^Value "([^"]+)" does not exist in "([^"!]+)!*" enum`)
	noArgument   = regexp.MustCompile(`^Unknown argument "([^"]+)" on field "([^".]+)\.([^"]+)"`)
	noType       = regexp.MustCompile(`^Unknown type "([^"]+)"`)
)

func faultOf(err *gqlerror.Error) Fault {
	f := Fault{Message: err.Message}
	if len(err.Locations) > 0 {
		f.Line, f.Column = err.Locations[0].Line, err.Locations[0].Column
	}
	f.File, _ = err.Extensions["file"].(string)
	if m := meant.FindStringSubmatch(f.Message); m != nil {
		f.Message = strings.TrimSuffix(f.Message, m[0])
		prefix := ""
		if strings.Contains(m[1], "inline fragment") {
			prefix = "... on "
		}
		for _, name := range namesIn(m[2]) {
			f.Suggestions = append(f.Suggestions, prefix+name)
		}
		f.Suggestions = f.Suggestions[:min(len(f.Suggestions), maxSuggestions)]
	}
	f.Message = Cut(f.Message, maxMessage)
	return f
}

// namesIn are the names of a list such as `"a", "b", or "c"`, quoted or not.
func namesIn(list string) []string {
	var all []string
	if found := quoted.FindAllStringSubmatch(list, -1); found != nil {
		for _, m := range found {
			all = append(all, m[1])
		}
		return all
	}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word != "or" {
			all = append(all, word)
		}
	}
	return all
}

// nearest suggests names where one does not exist and none is called nearly so.
func (f Fault) nearest(schema *ast.Schema) Fault {
	if len(f.Suggestions) > 0 {
		return f
	}
	var wrong string
	var names []string
	least := anyway
	if m := noField.FindStringSubmatch(f.Message); m != nil {
		wrong, names = m[1], fieldNames(schema.Types[m[2]])
	} else if m := noInputField.FindStringSubmatch(f.Message); m != nil {
		wrong, names = m[1], fieldNames(schema.Types[m[2]])
	} else if m := noEnumValue.FindStringSubmatch(f.Message); m != nil {
		wrong, names = m[1], valueNames(schema.Types[m[2]])
	} else if m := noArgument.FindStringSubmatch(f.Message); m != nil {
		wrong, names = m[1], argumentNames(schema.Types[m[2]], m[3])
	} else if m := noType.FindStringSubmatch(f.Message); m != nil {
		for name, def := range schema.Types {
			if !def.BuiltIn {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		wrong, least = m[1], 0
	}
	f.Suggestions = nearest(wrong, names, least)
	return f
}

func fieldNames(d *ast.Definition) []string {
	if d == nil {
		return nil
	}
	var names []string
	for _, field := range d.Fields {
		if !strings.HasPrefix(field.Name, "__") {
			names = append(names, field.Name)
		}
	}
	return names
}

func valueNames(d *ast.Definition) []string {
	if d == nil {
		return nil
	}
	names := make([]string, len(d.EnumValues))
	for i, v := range d.EnumValues {
		names[i] = v.Name
	}
	return names
}

func argumentNames(d *ast.Definition, field string) []string {
	if d == nil {
		return nil
	}
	f := d.Fields.ForName(field)
	if f == nil {
		return nil
	}
	names := make([]string, len(f.Arguments))
	for i, a := range f.Arguments {
		names[i] = a.Name
	}
	return names
}

// shorten bounds the number of faults, and says how many there are.
func shorten(faults []Fault) []Fault {
	if len(faults) <= maxFaults {
		return faults
	}
	more := len(faults) - maxFaults
	return append(slices.Clone(faults[:maxFaults]), Fault{Message: fmt.Sprintf("and %d more", more)})
}

// Cut shortens a text to a number of characters.
func Cut(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
