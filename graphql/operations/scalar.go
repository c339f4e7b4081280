package operations

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/docseek/docseek/graphql/execute"
)

// scalar is what the configuration says of a custom scalar.
type scalar struct {
	description string
	// plain and nullable are the keywords of its JSON Schema without the
	// description, as they are written between braces.
	plain, nullable []byte
	schema          *jsonschema.Schema
}

func (s *scalar) append(b []byte, nullable bool) []byte {
	if nullable {
		return append(b, s.nullable...)
	}
	return append(b, s.plain...)
}

// newScalar reads the JSON Schema of a scalar.
func newScalar(name string, raw json.RawMessage) (*scalar, error) {
	value, err := execute.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	keywords, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is no JSON object")
	}
	if refers(value) {
		return nil, errors.New("it must stand by itself, without $ref and $defs")
	}
	s := &scalar{}
	if s.schema, err = compile(name, value); err != nil {
		return nil, err
	}
	s.description, _ = keywords["description"].(string)
	keywords = maps.Clone(keywords)
	delete(keywords, "description")
	delete(keywords, "$schema")
	s.plain = between(keywords)
	s.nullable = s.plain
	if s.schema.Validate(nil) == nil {
		return s, nil
	}
	kind, typed := keywords["type"].(string)
	for _, other := range []string{"enum", "const", "allOf", "anyOf", "oneOf", "not", "if"} {
		if _, has := keywords[other]; has {
			typed = false
		}
	}
	if typed {
		keywords["type"] = []string{kind, "null"}
		s.nullable = between(keywords)
	} else {
		s.nullable = fmt.Appendf(nil, `"anyOf":[{%s},{"type":"null"}]`, s.plain)
	}
	return s, nil
}

// between is what stands between the braces of a JSON object.
func between(keywords map[string]any) []byte {
	text, _ := execute.Encode(keywords) // it was JSON
	return text[1 : len(text)-1]
}

// refers reports whether a schema points to another place.
func refers(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.HasPrefix(name, "$") && name != "$schema" && name != "$comment" || refers(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, refers)
	}
	return false
}

// checks are the scalars as coercion asks them.
func checks(scalars map[string]*scalar) execute.Scalars {
	all := make(execute.Scalars, len(scalars))
	for name, s := range scalars {
		all[name] = func(value any) error {
			if faults := checkValue(s.schema, value); len(faults) > 0 {
				return errors.New(strings.Join(faults, "; "))
			}
			return nil
		}
	}
	return all
}
