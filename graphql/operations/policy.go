package operations

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/docseek/docseek/graphql/execute"
)

// policy says which answers are failures, besides those without data.
type policy struct {
	// acceptPartial lets an answer pass that has data and errors.
	acceptPartial bool
	// nullIsError makes a failure of a null at the response path.
	nullIsError bool
	// paths lead into the data to what is there only when something failed.
	paths []jsonPath
	// typenames are globs for the types of objects that stand for a failure.
	typenames []string
}

// failures are what the data itself says has failed.
func (p policy) failures(data any) ([]execute.Fault, error) {
	var faults []execute.Fault
	for _, path := range p.paths {
		value, _, err := path.get(data)
		if err != nil {
			return nil, err
		}
		items, isList := value.([]any)
		if !isList {
			items = []any{value}
		}
		for _, item := range items {
			if !blank(item) {
				faults = append(faults, failureOf(item, path.text))
			}
		}
	}
	if len(p.typenames) > 0 {
		faults = append(faults, p.named(data, nil)...)
	}
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], execute.Fault{Message: fmt.Sprintf("and %d more", more)})
	}
	return faults, nil
}

// named are the objects in a value whose type is that of a failure. at is the
// path to the value.
func (p policy) named(value any, at []any) []execute.Fault {
	var faults []execute.Fault
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			faults = append(faults, p.named(item, append(at, json.Number(strconv.Itoa(i))))...)
		}
	case map[string]any:
		if name, ok := value["__typename"].(string); ok && p.matches(name) {
			f := failureOf(value, name)
			f.Path = slices.Clone(at)
			return []execute.Fault{f}
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			faults = append(faults, p.named(value[key], append(at, key))...)
		}
	}
	return faults
}

func (p policy) matches(typename string) bool {
	return slices.ContainsFunc(p.typenames, func(glob string) bool {
		ok, err := path.Match(glob, typename)
		return ok && err == nil
	})
}

// blank reports whether a value says that nothing failed.
func blank(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case json.Number:
		return value == "0"
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// failureOf is a fault for a value that stands for a failure: an object with a
// message, as most APIs have it, a text, or anything. what names the kind.
func failureOf(value any, what string) execute.Fault {
	members, _ := value.(map[string]any)
	text, isText := value.(string)
	said, ok := members["message"].(string)
	if !ok && isText {
		said = text
	}
	if said == "" {
		said = shown(value)
	}
	code, _ := members["code"].(string)
	f := execute.Fault{Message: what + ": " + said, Code: execute.Cut(code, 80)}
	switch field := members["field"].(type) {
	case string:
		f.Message += " (field " + field + ")"
	case []any:
		steps := make([]string, len(field))
		for i, step := range field {
			steps[i] = fmt.Sprint(step)
		}
		f.Message += " (field " + strings.Join(steps, ".") + ")"
	}
	f.Message = execute.Cut(f.Message, maxMessageRunes)
	return f
}
