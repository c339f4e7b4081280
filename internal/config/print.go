package config

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"
)

//go:embed example.yaml
var example []byte

// Example is a commented configuration file with every setting.
func Example() []byte { return slices.Clone(example) }

// Redacted is the configuration with every secret replaced by "(hidden)".
func (c Config) Redacted() Config {
	c.Sources = slices.Clone(c.Sources)
	for i := range c.Sources {
		c.Sources[i].Headers = redacted(c.Sources[i].Headers)
	}
	c.GraphQL = slices.Clone(c.GraphQL)
	for i := range c.GraphQL {
		c.GraphQL[i].Headers = redacted(c.GraphQL[i].Headers)
	}
	return c
}

func redacted(headers map[string]string) map[string]string {
	shown := maps.Clone(headers)
	for name := range shown {
		shown[name] = hidden
	}
	return shown
}

// JSON is [Config.YAML] as one JSON object.
func (c Config) JSON() ([]byte, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(text)
}

// YAML is the configuration as a file, secrets hidden.
func (c Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.Redacted(), yaml.IndentSequence(true))
}
