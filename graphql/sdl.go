package graphql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxTokens bounds the tokens of a schema's text.
const maxTokens = 8 << 20

func (d *document) readSDL(text, origin string) error {
	parsed, err := parser.ParseSchemaWithLimit(&ast.Source{Name: origin, Input: text}, maxTokens)
	if err != nil {
		if failure, ok := errors.AsType[*gqlerror.Error](err); ok && len(failure.Locations) > 0 {
			at := failure.Locations[0]
			return fmt.Errorf("as SDL: line %d, column %d: %s", at.Line, at.Column, lowerFirst(failure.Message))
		}
		return fmt.Errorf("as SDL: %w", err)
	}
	d.SchemaDocument = *parsed
	return nil
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
