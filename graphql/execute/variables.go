package execute

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Scalars check the values of custom scalars, by their names: why a JSON value,
// its numbers [json.Number], is none. What a scalar takes that is not among them,
// only the endpoint knows.
type Scalars map[string]func(value any) error

// Coerce holds variables to what an operation declares (GraphQL spec, October
// 2021, §6.1.2) and returns them as a JSON object to send, "" for none. raw is a
// JSON object, a JSON text of one, null or nothing.
//
// Numbers keep their digits. What models typically get wrong is put right: a
// number or boolean written as a text, a number for a text or an ID, an enum
// value in another case, one value for a list of it. A variable that is not
// declared is a fault, since a filter that is left out because of a slip must
// not go unnoticed.
func Coerce(schema *ast.Schema, operation *ast.OperationDefinition, raw json.RawMessage, scalars Scalars) (json.RawMessage, []Fault) {
	given, err := object(raw)
	if err != nil {
		return nil, faultf("variables: %v", err)
	}
	c := coercion{schema: schema, scalars: scalars}
	declared := make([]string, len(operation.VariableDefinitions))
	out := map[string]any{}
	for i, v := range operation.VariableDefinitions {
		declared[i] = v.Variable
		value, ok := given[v.Variable]
		switch {
		case ok:
			out[v.Variable] = c.value(v.Type, value, "variables."+v.Variable)
		case v.Type.NonNull && v.DefaultValue == nil:
			c.fault("variables.%s is missing: it must be %s", v.Variable, v.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(declared, name) {
			continue
		}
		c.suggest(name, declared, "variables.%s is not declared by %s", Cut(name, 80), title(operation))
	}
	if len(c.faults) > 0 || len(out) == 0 {
		return nil, c.all()
	}
	encoded, err := Encode(out)
	if err != nil {
		return nil, faultf("variables: %v", err)
	}
	return encoded, nil
}

// object reads variables as they are given.
func object(raw json.RawMessage) (map[string]any, error) {
	value, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("must be a JSON object: %w", err)
	}
	if text, ok := value.(string); ok {
		if value, err = Decode([]byte(text)); err != nil {
			return nil, fmt.Errorf("must be a JSON object, or one written as a string: %w", err)
		}
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	}
	return nil, fmt.Errorf("must be a JSON object, got %s", describe(value))
}

// Decode reads one JSON value, numbers as they are written. Nothing is nil.
func Decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// Encode writes a value as JSON, letters as they are.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxValueDepth bounds how deep lists and objects of a variable nest.
const maxValueDepth = 100

type coercion struct {
	schema  *ast.Schema
	scalars Scalars
	faults  []Fault
	more    int // faults beyond the bound
	depth   int
}

func (c *coercion) fault(format string, args ...any) { c.suggest("", nil, format, args...) }

// suggest adds a fault, with the names nearest to a wrong one.
func (c *coercion) suggest(wrong string, names []string, format string, args ...any) {
	if len(c.faults) == maxFaults {
		c.more++
		return
	}
	c.faults = append(c.faults, Fault{Message: Cut(fmt.Sprintf(format, args...), maxMessage), Suggestions: nearest(wrong, names, anyway)})
}

// all are the faults, of which there may be more than are kept.
func (c *coercion) all() []Fault {
	if c.more > 0 {
		return append(c.faults, Fault{Message: fmt.Sprintf("and %d more", c.more)})
	}
	return c.faults
}

// value returns a value as its type wants it. path names it in a fault.
func (c *coercion) value(t *ast.Type, value any, path string) any {
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > maxValueDepth {
		c.fault("%s nests deeper than %d levels", Cut(path, 80), maxValueDepth)
		return nil
	}
	switch {
	case value == nil && t.NonNull:
		c.fault("%s must not be null: it must be %s", path, t)
		return nil
	case value == nil:
		return nil
	case t.Elem != nil:
		items, ok := value.([]any)
		if !ok {
			return []any{c.value(t.Elem, value, path)} // a single value stands for a list of it (§3.11)
		}
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = c.value(t.Elem, item, path+"["+strconv.Itoa(i)+"]")
		}
		return out
	}
	def := c.schema.Types[t.NamedType]
	if def == nil {
		return value // validation has said so
	}
	switch def.Kind {
	case ast.Enum:
		return c.enum(def, value, path)
	case ast.InputObject:
		return c.input(def, value, path)
	default:
		return c.scalar(t.NamedType, value, path)
	}
}

func (c *coercion) scalar(name string, value any, path string) any {
	wrong := func() any {
		c.fault("%s must be %s, got %s", path, name, describe(value))
		return nil
	}
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	if isText && (name == "Int" || name == "Float") {
		trimmed := strings.TrimSpace(text)
		if isNumber = json.Valid([]byte(trimmed)); isNumber {
			number = json.Number(trimmed)
			_, err := number.Float64()
			isNumber = err == nil
		}
	}
	switch name {
	case "Int":
		if !isNumber {
			return wrong()
		}
		n, err := strconv.ParseInt(number.String(), 10, 32)
		if f, failure := number.Float64(); err != nil && failure == nil && f == math.Trunc(f) && f >= math.MinInt32 && f <= math.MaxInt32 {
			return int64(f) // 1.0, 1e3
		}
		if err != nil {
			c.fault("%s must be Int, a whole number from -2147483648 to 2147483647, got %s", path, Cut(number.String(), 40))
		}
		return n
	case "Float":
		if !isNumber {
			return wrong()
		}
		return number
	case "Boolean":
		if b, ok := value.(bool); ok {
			return b
		}
		if b := strings.ToLower(strings.TrimSpace(text)); isText && (b == "true" || b == "false") {
			return b == "true"
		}
		return wrong()
	case "String", "ID":
		switch {
		case isText:
			return text
		case isNumber:
			return number.String()
		}
		return wrong()
	}
	if check := c.scalars[name]; check != nil {
		if err := check(value); err != nil {
			c.fault("%s must be %s: %v", path, name, err)
		}
	}
	return value
}

func (c *coercion) enum(def *ast.Definition, value any, path string) any {
	values := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		values[i] = v.Name
	}
	text, ok := value.(string)
	if !ok {
		c.fault("%s must be one of %s's values, got %s", path, def.Name, describe(value))
		return nil
	}
	if slices.Contains(values, text) {
		return text
	}
	var alike []string
	for _, v := range values {
		if strings.EqualFold(v, text) {
			alike = append(alike, v)
		}
	}
	if len(alike) == 1 {
		return alike[0]
	}
	c.suggest(text, values, "%s must be one of %s's values, got %s", path, def.Name, describe(value))
	return nil
}

func (c *coercion) input(def *ast.Definition, value any, path string) any {
	given, ok := value.(map[string]any)
	if !ok {
		c.fault("%s must be an object of %s, got %s", path, def.Name, describe(value))
		return nil
	}
	fields := make([]string, len(def.Fields))
	out := make(map[string]any, len(given))
	for i, field := range def.Fields {
		fields[i] = field.Name
		value, ok := given[field.Name]
		switch {
		case ok:
			out[field.Name] = c.value(field.Type, value, path+"."+field.Name)
		case field.Type.NonNull && field.DefaultValue == nil:
			c.fault("%s.%s is missing: it must be %s", path, field.Name, field.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(fields, name) {
			c.suggest(name, fields, "%s has no field %s", path, Cut(name, 80))
		}
	}
	if def.Directives.ForName("oneOf") != nil {
		set := 0
		for _, v := range given {
			if v != nil {
				set++
			}
		}
		if set != 1 || len(given) != 1 {
			c.fault("%s must have exactly one of %s, and that not null", path, strings.Join(fields, ", "))
		}
	}
	return out
}

// describe says what a value is without giving a long one back.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		return strconv.Quote(Cut(v, 40))
	default:
		return Cut(fmt.Sprint(v), 40)
	}
}
