package operations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/docseek/docseek/graphql/execute"
)

// outline is a YAML mapping to be written, in its order.
type outline []pair

// pair is a key with its value: an outline, a list, a block, or what JSON has.
type pair struct {
	key   string
	value any
	// note is the comment behind it; empty for none.
	note string
}

// block is a text of several lines that is written as it is.
type block string

// text is the outline in YAML.
func (o outline) text() ([]byte, error) {
	var b bytes.Buffer
	if err := o.write(&b, ""); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (o outline) write(b *bytes.Buffer, indent string) error {
	for _, e := range o {
		key, err := yamlText(e.key, false)
		if err != nil {
			return err
		}
		note := ""
		if e.note != "" {
			note = " # " + oneLine(e.note)
		}
		b.WriteString(indent + key + ":")
		switch value := e.value.(type) {
		case block:
			b.WriteString(" |" + note + "\n")
			for line := range strings.Lines(string(value)) {
				if strings.TrimSpace(line) != "" {
					b.WriteString(indent + "  ")
				}
				b.WriteString(strings.TrimRight(line, " \r\n") + "\n")
			}
		case outline:
			if len(value) == 0 {
				b.WriteString(" {}" + note + "\n")
				continue
			}
			b.WriteString(note + "\n")
			if err := value.write(b, indent+"  "); err != nil {
				return err
			}
		default:
			text, err := flow(value)
			if err != nil {
				return err
			}
			b.WriteString(" " + text + note + "\n")
		}
	}
	return nil
}

// flow is a value on one line.
func flow(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return yamlText(value, false)
	case []any:
		items := make([]string, len(value))
		for i, item := range value {
			text, ok := item.(string)
			var err error
			if ok {
				items[i], err = yamlText(text, true)
			} else {
				items[i], err = flow(item)
			}
			if err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case outline:
		items := make([]string, len(value))
		for i, e := range value {
			key, err := yamlText(e.key, true)
			if err != nil {
				return "", err
			}
			text, isText := e.value.(string)
			if isText {
				text, err = yamlText(text, true)
			} else {
				text, err = flow(e.value)
			}
			if err != nil {
				return "", err
			}
			items[i] = key + ": " + text
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	}
	text, err := execute.Encode(value)
	return string(text), err
}

// yamlText is a text in YAML, in quotation marks where it needs them. within says
// that it stands in brackets.
func yamlText(text string, within bool) (string, error) {
	written, err := yaml.Marshal(text)
	if err != nil {
		return "", fmt.Errorf("write %q: %w", text, err)
	}
	line := strings.TrimSuffix(string(written), "\n")
	if strings.Contains(line, "\n") || strings.Contains(line, " #") || strings.Contains(line, ": ") ||
		within && strings.ContainsAny(line, "[]{},:#&*?|<>=!%@`") {
		quoted, err := execute.Encode(text)
		return string(quoted), err
	}
	return line, nil
}

// ordered is a JSON value with the members of its objects in their order.
func ordered(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := orderedValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

func orderedValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		object := outline{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := orderedValue(d)
			if err != nil {
				return nil, err
			}
			object = append(object, pair{key: fmt.Sprint(key), value: value})
		}
		_, err := d.Token()
		return object, err
	}
	return token, nil
}
