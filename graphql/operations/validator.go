package operations

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/docseek/docseek/graphql/execute"
)

// Bounds on what is said of a value that does not fit.
const (
	maxFaults       = 20
	maxMessageRunes = 600
	// maxExponent bounds the exponent of a number. Larger ones say nothing, and
	// take long to compare.
	maxExponent = 400
	// maxDigits bounds the text of a number.
	maxDigits = 1000
	// maxRepairs is how often a value is put right: a text within a list may need
	// both.
	maxRepairs = 3
	// maxReferences bounds how many references lead to a schema.
	maxReferences = 16
)

// compile makes a validator of a JSON Schema (2020-12 unless it says otherwise).
// Nothing is loaded: what it refers to has to stand in it. name stands for it in
// errors.
func compile(name string, schema any) (*jsonschema.Schema, error) {
	address := "docseek:///" + name
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(address, schema); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(address)
	if remote, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return nil, fmt.Errorf("%s refers to %s: nothing is loaded from elsewhere, so put it under $defs", name, remote.URL)
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if failed, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return nil, &schemaError{
				location: leaves(failed)[0].InstanceLocation,
				message:  fmt.Sprintf("%s is no JSON Schema: %s", name, strings.Join(sentences(nil, failed), "; ")),
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no JSON Schema: %s", name, strings.ReplaceAll(err.Error(), address, ""))
	}
	return compiled, nil
}

// schemaError is what is wrong with a JSON Schema, and where in it.
type schemaError struct {
	location []string
	message  string
}

func (e *schemaError) Error() string { return e.message }

// checkValue holds a value to a schema and says in plain sentences what does not
// fit. Numbers are [json.Number].
func checkValue(schema *jsonschema.Schema, value any) []string {
	if err := checkNumbers(value); err != nil {
		return []string{err.Error()}
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(value))
	if !ok {
		return nil
	}
	return sentences(schema, failed)
}

// checkNumbers refuses numbers that are out of all proportion.
func checkNumbers(value any) error {
	switch value := value.(type) {
	case json.Number:
		text := strings.ToLower(value.String())
		_, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if len(text) > maxDigits || exponent != "" && (err != nil || n > maxExponent || n < -maxExponent) {
			return fmt.Errorf("the number %s is out of all proportion", execute.Cut(text, 40))
		}
	case []any:
		for _, item := range value {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, member := range value {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	}
	return nil
}

// leaves are the parts of a failure that say something by themselves.
func leaves(failed *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(failed.Causes) == 0 {
		return []*jsonschema.ValidationError{failed}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range failed.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// sentences say what a failure is about. schema is what the value was held to,
// and may be nil.
func sentences(schema *jsonschema.Schema, failed *jsonschema.ValidationError) []string {
	printer := message.NewPrinter(language.English)
	var all []string
	for _, leaf := range leaves(failed) {
		at := pointerText(leaf.InstanceLocation)
		var sentence string
		switch k := leaf.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				all = append(all, pointerText(append(slices.Clone(leaf.InstanceLocation), name))+" is missing")
			}
			continue
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				all = append(all, pointerText(append(slices.Clone(leaf.InstanceLocation), name))+" is not known"+allowed(schema, leaf.InstanceLocation))
			}
			continue
		case *kind.Type:
			sentence = fmt.Sprintf("%s must be %s, got %s", at, strings.Join(k.Want, " or "), k.Got)
		case *kind.Enum:
			sentence = fmt.Sprintf("%s must be one of %s, got %s", at, shownAll(k.Want), shown(k.Got))
		case *kind.Const:
			sentence = fmt.Sprintf("%s must be %s, got %s", at, shown(k.Want), shown(k.Got))
		default:
			sentence = at + ": " + k.LocalizedString(printer)
		}
		all = append(all, execute.Cut(sentence, maxMessageRunes))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxFaults {
		all = append(all[:maxFaults], fmt.Sprintf("and %d more", len(all)-maxFaults))
	}
	return all
}

// allowed names what an object at a location can have.
func allowed(schema *jsonschema.Schema, location []string) string {
	for _, step := range location {
		schema = below(schema, step)
	}
	if schema = target(schema); schema == nil || len(schema.Properties) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	return ": there is " + execute.Cut(strings.Join(names, ", "), 300)
}

// target is the schema that a schema refers to.
func target(schema *jsonschema.Schema) *jsonschema.Schema {
	for range maxReferences {
		if schema == nil || schema.Ref == nil {
			return schema
		}
		schema = schema.Ref
	}
	return nil
}

// below is the schema of a member by its name, or of an item by its index; nil
// where none is known.
func below(schema *jsonschema.Schema, step string) *jsonschema.Schema {
	schema = target(schema)
	if schema == nil {
		return nil
	}
	if member := schema.Properties[step]; member != nil {
		return member
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(schema.PrefixItems) {
		return schema.PrefixItems[i]
	}
	return schema.Items2020
}

// pointerText is a place in a value as it is written in a sentence.
func pointerText(location []string) string {
	if len(location) == 0 {
		return "the value"
	}
	return execute.Cut(strings.Join(location, "."), 200)
}

func shown(value any) string {
	text, err := execute.Encode(value)
	if err != nil {
		return "?"
	}
	return execute.Cut(string(text), 80)
}

func shownAll(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = shown(v)
	}
	return strings.Join(texts, ", ")
}

// repair puts right what models typically get wrong in a value, where the schema
// says what is meant: a number or boolean written as a text, an object or list
// written as JSON, a number for a text, one value for a list of it. The value is
// changed in place and returned.
func repair(schema *jsonschema.Schema, value any) any {
	for range maxRepairs {
		failed, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(value))
		if !ok {
			break
		}
		changed := false
		for _, leaf := range leaves(failed) {
			if k, ok := leaf.ErrorKind.(*kind.Type); ok {
				value = replaced(value, leaf.InstanceLocation, func(wrong any) any {
					right, ok := meant(wrong, k.Want)
					changed = changed || ok
					return right
				})
			}
		}
		if !changed {
			break
		}
	}
	return value
}

// replaced is a value with the part at a location replaced.
func replaced(value any, location []string, by func(any) any) any {
	if len(location) == 0 {
		return by(value)
	}
	switch value := value.(type) {
	case map[string]any:
		if member, ok := value[location[0]]; ok {
			value[location[0]] = replaced(member, location[1:], by)
		}
	case []any:
		if i, err := strconv.Atoi(location[0]); err == nil && i >= 0 && i < len(value) {
			value[i] = replaced(value[i], location[1:], by)
		}
	}
	return value
}

// meant is what a value of the wrong type stands for.
func meant(value any, want []string) (any, bool) {
	text, isText := value.(string)
	trimmed := strings.TrimSpace(text)
	for _, one := range want {
		switch {
		case isText && (one == "integer" || one == "number"):
			if n, err := execute.Decode([]byte(trimmed)); err == nil && checkNumbers(n) == nil {
				if number, ok := n.(json.Number); ok {
					return number, true
				}
			}
		case isText && one == "boolean":
			if lower := strings.ToLower(trimmed); lower == "true" || lower == "false" {
				return lower == "true", true
			}
		case isText && (one == "object" && strings.HasPrefix(trimmed, "{") || one == "array" && strings.HasPrefix(trimmed, "[")):
			if decoded, err := execute.Decode([]byte(trimmed)); err == nil && checkNumbers(decoded) == nil {
				return decoded, true
			}
		}
		if number, ok := value.(json.Number); ok && one == "string" {
			return number.String(), true
		}
	}
	if slices.Contains(want, "array") && value != nil {
		return []any{value}, true
	}
	return value, false
}
