package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// kind is a JSON Schema type.
type kind string

const (
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindNumber  kind = "number"
	kindBoolean kind = "boolean"
	kindArray   kind = "array"
	kindObject  kind = "object"
)

// schema is the part of JSON Schema 2020-12 that tools describe their
// arguments with. One value is both what clients are shown and what calls are
// held to. There are no unions and no references: several clients refuse them.
type schema struct {
	Type        kind
	Description string
	// Properties are an object's members in the order in which clients see
	// them. An object without any takes whatever it is given.
	Properties []property
	// Items is what an array holds; nil means anything.
	Items *schema
	// Enum are the only values of a string.
	Enum []string
	// Minimum and Maximum bound a number, both included.
	Minimum, Maximum *float64
	// Default is shown to clients; the tool applies it.
	Default any
}

// property is a member of an object.
type property struct {
	Name string
	schema
	Required bool
	// Aliases are other names that models use for the member. They are
	// accepted and not shown.
	Aliases []string
}

// MarshalJSON writes the schema as JSON Schema.
func (s schema) MarshalJSON() ([]byte, error) {
	m := struct {
		Type        kind            `json:"type"`
		Description string          `json:"description,omitempty"`
		Properties  json.RawMessage `json:"properties,omitempty"`
		Additional  bool            `json:"additionalProperties,omitempty"`
		Required    []string        `json:"required,omitempty"`
		Items       *schema         `json:"items,omitempty"`
		Enum        []string        `json:"enum,omitempty"`
		Minimum     *float64        `json:"minimum,omitempty"`
		Maximum     *float64        `json:"maximum,omitempty"`
		Default     any             `json:"default,omitempty"`
	}{
		Type: s.Type, Description: s.Description, Items: s.Items, Enum: s.Enum,
		Minimum: s.Minimum, Maximum: s.Maximum, Default: s.Default,
	}
	if s.Type == kindObject {
		m.Additional = len(s.Properties) == 0
		var b bytes.Buffer
		b.WriteByte('{')
		for i, p := range s.Properties {
			value, err := p.MarshalJSON()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(p.Name))
			b.WriteByte(':')
			b.Write(value)
			if p.Required {
				m.Required = append(m.Required, p.Name)
			}
		}
		b.WriteByte('}')
		m.Properties = b.Bytes()
	}
	return json.Marshal(m)
}

// arguments are a call's arguments after they were held to the tool's schema:
// strings are string, integers int, numbers float64, booleans bool, arrays
// []any, objects map[string]any. What was not given is not there.
type arguments map[string]any

func (a arguments) text(name string) string    { s, _ := a[name].(string); return s }
func (a arguments) integer(name string) int    { n, _ := a[name].(int); return n }
func (a arguments) number(name string) float64 { n, _ := a[name].(float64); return n }

// texts returns the texts of a list.
func (a arguments) texts(name string) []string {
	items, _ := a[name].([]any)
	var all []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// flag returns a boolean, or otherwise where none was given.
func (a arguments) flag(name string, otherwise bool) bool {
	if b, ok := a[name].(bool); ok {
		return b
	}
	return otherwise
}

// parseArguments holds raw JSON to an object schema. It puts right what models
// typically get wrong (see [schema.conform]) and ignores members that the
// schema does not name. The error is sentences for the model, one per fault.
func parseArguments(s schema, raw any) (arguments, error) {
	value, err := decodeArguments(raw)
	if err != nil {
		return nil, err
	}
	var faults []string
	conformed := s.conform("", value, &faults)
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	m, _ := conformed.(map[string]any)
	return m, nil
}

// decodeArguments decodes what mcp-go hands over as arguments: the bytes of the
// message, or a decoded value where a request did not come over the wire.
func decodeArguments(raw any) (any, error) {
	encoded, ok := raw.(json.RawMessage)
	if !ok {
		var err error
		if encoded, err = json.Marshal(raw); err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
	}
	value := decodeJSON(encoded)
	if text, ok := value.(string); ok {
		value = decodeJSON([]byte(text))
	}
	if value == nil {
		value = map[string]any{}
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, fmt.Errorf("arguments must be an object, got %s", describe(value))
	}
	return value, nil
}

// decodeJSON decodes one JSON value, numbers kept as they are written. What is
// not JSON is nil.
func decodeJSON(encoded []byte) any {
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() {
		return nil
	}
	return value
}

// conform returns the value as the schema wants it, or adds to faults. Put
// right are: a number or boolean written as a string, a number for a string, a
// single value for an array, an array or object encoded as a string, and null
// or an empty string for something that was not given. An array for a string is
// a fault: which of its items was meant is not ours to guess.
func (s schema) conform(path string, value any, faults *[]string) any {
	wrong := func() any {
		*faults = append(*faults, fmt.Sprintf("%s must be %s, got %s", path, s.Type.phrase(), describe(value)))
		return nil
	}
	switch s.Type {
	case kindString:
		switch v := value.(type) {
		case string:
			return s.oneOf(path, v, faults)
		case json.Number:
			return s.oneOf(path, v.String(), faults)
		}
	case kindInteger:
		if n, ok := numberOf(value); ok && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			s.bound(path, n, faults)
			return int(n)
		}
	case kindNumber:
		if n, ok := numberOf(value); ok {
			s.bound(path, n, faults)
			return n
		}
	case kindBoolean:
		switch v := value.(type) {
		case bool:
			return v
		case string:
			switch strings.ToLower(strings.TrimSpace(v)) {
			case "true":
				return true
			case "false":
				return false
			}
		}
	case kindArray:
		return s.conformArray(path, value, faults)
	case kindObject:
		if text, ok := value.(string); ok {
			if decoded, isObject := decodeJSON([]byte(text)).(map[string]any); isObject {
				value = decoded
			}
		}
		if m, ok := value.(map[string]any); ok {
			return s.conformObject(path, m, faults)
		}
	}
	return wrong()
}

func (s schema) conformArray(path string, value any, faults *[]string) any {
	items, isList := value.([]any)
	if text, ok := value.(string); ok {
		items, isList = decodeJSON([]byte(text)).([]any)
	}
	if !isList {
		items = []any{value}
	}
	if s.Items == nil {
		return items
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = s.Items.conform(fmt.Sprintf("%s[%d]", path, i), item, faults)
	}
	return out
}

func (s schema) conformObject(path string, value map[string]any, faults *[]string) any {
	if len(s.Properties) == 0 {
		return value
	}
	// Names are compared without case and separators: topK, top_k and top-k
	// are one. The keys are sorted so that of two spellings always the same wins.
	folded := make(map[string]any, len(value))
	for _, key := range slices.Sorted(maps.Keys(value)) {
		if isAbsent(value[key]) {
			continue
		}
		if _, taken := folded[foldName(key)]; !taken {
			folded[foldName(key)] = value[key]
		}
	}
	out := make(map[string]any, len(s.Properties))
	for _, p := range s.Properties {
		name := p.Name
		if path != "" {
			name = path + "." + name
		}
		given, ok := value[p.Name]
		if !ok || isAbsent(given) {
			given, ok = lookUp(folded, p)
		}
		switch {
		case ok:
			out[p.Name] = p.conform(name, given, faults)
		case p.Required:
			*faults = append(*faults, fmt.Sprintf("%s is missing: it must be %s", name, p.Type.phrase()))
		}
	}
	return out
}

// lookUp finds a property under its own name or an alias.
func lookUp(folded map[string]any, p property) (any, bool) {
	for _, name := range append([]string{p.Name}, p.Aliases...) {
		if v, ok := folded[foldName(name)]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s schema) oneOf(path, v string, faults *[]string) any {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		*faults = append(*faults, fmt.Sprintf("%s must be one of %s, got %s",
			path, strings.Join(s.Enum, ", "), describe(v)))
	}
	return v
}

func (s schema) bound(path string, n float64, faults *[]string) {
	if s.Minimum != nil && n < *s.Minimum {
		*faults = append(*faults, fmt.Sprintf("%s must be at least %s, got %s", path, digits(*s.Minimum), digits(n)))
	}
	if s.Maximum != nil && n > *s.Maximum {
		*faults = append(*faults, fmt.Sprintf("%s must be at most %s, got %s", path, digits(*s.Maximum), digits(n)))
	}
}

// digits writes a number as a person would, one of many digits with an exponent.
func digits(n float64) string {
	if math.Abs(n) < 1e15 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// foldName drops case, underscores and hyphens.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isAbsent reports whether a model wrote that it gives no value.
func isAbsent(v any) bool {
	if text, ok := v.(string); ok {
		return strings.TrimSpace(text) == ""
	}
	return v == nil
}

// numberOf reads a finite number, also one that is written as a string.
func numberOf(v any) (float64, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
}

// phrase names the type in a sentence.
func (k kind) phrase() string {
	switch k {
	case kindArray:
		return "a list"
	case kindObject, kindInteger:
		return "an " + string(k)
	default:
		return "a " + string(k)
	}
}

// describe says what a value is, so that the sentence helps and a long value
// does not come back.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		const most = 40
		if runes := []rune(v); len(runes) > most {
			v = string(runes[:most]) + "…"
		}
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
