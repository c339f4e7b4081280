package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// toolView is a tool with its arguments taken apart.
type toolView struct {
	Tool
	Arguments []argument
	Schema    string
}

// argument is a property of a tool's input schema.
type argument struct {
	Name, Type, Description string
	Required                bool
	// Limits say the range, the default and the allowed values.
	Limits string
}

func (p *Page) tools(w http.ResponseWriter, r *http.Request) {
	var views []toolView
	for _, t := range p.opts.Tools(r.Context()) {
		views = append(views, toolView{Tool: t, Arguments: arguments(t.InputSchema), Schema: indented(t.InputSchema)})
	}
	p.show(w, r, http.StatusOK, "tools", "Tools", views)
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// arguments are the properties of a schema, in its order. What is not understood
// is left out: the schema itself is shown as well.
func arguments(schema json.RawMessage) []argument {
	var object struct {
		Properties members  `json:"properties"`
		Required   []string `json:"required"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	all := make([]argument, 0, len(object.Properties))
	for _, member := range object.Properties {
		var property struct {
			Type        any         `json:"type"`
			Description string      `json:"description"`
			Enum        []any       `json:"enum"`
			Minimum     json.Number `json:"minimum"`
			Maximum     json.Number `json:"maximum"`
			Default     any         `json:"default"`
			Items       struct {
				Type any `json:"type"`
			} `json:"items"`
		}
		if json.Unmarshal(member.value, &property) != nil {
			continue
		}
		a := argument{
			Name: member.name, Type: typeName(property.Type), Description: property.Description,
			Required: slices.Contains(object.Required, member.name),
		}
		if of := typeName(property.Items.Type); a.Type == "array" && of != "" {
			a.Type = of + "[]"
		}
		var limits []string
		switch low, high := property.Minimum.String(), property.Maximum.String(); {
		case low != "" && high != "":
			limits = append(limits, low+" to "+high)
		case low != "":
			limits = append(limits, "at least "+low)
		case high != "":
			limits = append(limits, "at most "+high)
		}
		if allowed := words(property.Enum); len(allowed) > 0 {
			limits = append(limits, strings.Join(allowed, ", "))
		}
		if property.Default != nil {
			limits = append(limits, "default "+words([]any{property.Default})[0])
		}
		a.Limits = strings.Join(limits, "; ")
		all = append(all, a)
	}
	return all
}

// words are JSON values as people write them: strings without quotes.
func words(values []any) []string {
	all := make([]string, 0, len(values))
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			encoded, _ := json.Marshal(value) // it came from JSON
			text = string(encoded)
		}
		all = append(all, text)
	}
	return all
}

// typeName is a JSON Schema type, or the types of a union.
func typeName(t any) string {
	if union, ok := t.([]any); ok {
		return strings.Join(words(union), " or ")
	}
	name, _ := t.(string)
	return name
}

// members are those of a JSON object in their order, which a map would lose.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON reads an object.
func (m *members) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("read the properties: no object (%w)", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fmt.Errorf("read the properties: %w", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("read the property %v: %w", name, err)
		}
		*m = append(*m, member{fmt.Sprint(name), value})
	}
	return nil
}
