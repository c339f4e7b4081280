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
		h := maps.Clone(c.Sources[i].Headers)
		for name := range h {
			h[name] = hidden
		}
		c.Sources[i].Headers = h
	}
	return c
}

// YAML is the configuration as a file, secrets hidden.
func (c Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c.Redacted(), yaml.IndentSequence(true))
}
