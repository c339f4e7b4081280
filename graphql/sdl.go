package graphql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
)

const (
	maxTokens  = 8 << 20 // of a schema's text
	maxRenewed = 8 << 20 // bytes of a text that is rewritten to be read
)

func (d *document) readSDL(text, origin string) error {
	parsed, err := parser.ParseSchemaWithLimit(&ast.Source{Name: origin, Input: text}, maxTokens)
	if err != nil && len(text) <= maxRenewed {
		if renewed := d.renew(text); renewed != text {
			if again, failure := parser.ParseSchemaWithLimit(&ast.Source{Name: origin, Input: renewed}, maxTokens); failure == nil {
				parsed, err = again, nil
			}
		}
	}
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

// renew rewrites what old and careless printers of SDL write: interfaces with
// nothing, or a comma, between them (GraphQL spec, before June 2018), and braces
// around nothing. Lines stay where they are.
func (d *document) renew(text string) string {
	runes := []rune(text)
	lex := lexer.New(&ast.Source{Input: text})
	var tokens [3]lexer.Token // the last three, the newest first
	interfaces := false       // within a list of interfaces
	var ands []int            // where an & is missing
	for {
		token, err := lex.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			break
		}
		if token.Kind == lexer.Comment {
			continue
		}
		tokens = [3]lexer.Token{token, tokens[0], tokens[1]}
		before := tokens[1]
		switch {
		case token.Kind == lexer.BraceR && before.Kind == lexer.BraceL:
			for i := before.Pos.Start; i < token.Pos.End; i++ {
				if runes[i] != '\n' {
					runes[i] = ' '
				}
			}
			d.warn("", &before.Pos, "has braces around nothing")
		case token.Kind != lexer.Name && token.Kind != lexer.Amp, keyword(token.Value):
			interfaces = false
		case token.Value == "implements" && (tokens[2].Value == "type" || tokens[2].Value == "interface"):
			interfaces = true
		case interfaces && token.Kind == lexer.Name && before.Kind == lexer.Name && before.Value != "implements":
			ands = append(ands, token.Pos.Start)
		}
	}
	if len(ands) > 0 {
		d.warn("", nil, "has lists of interfaces as they were written before 2018")
	}
	var b strings.Builder
	done := 0
	for _, i := range ands {
		b.WriteString(string(runes[done:i]))
		b.WriteString("& ")
		done = i
	}
	b.WriteString(string(runes[done:]))
	return b.String()
}

// keyword tells the words that a definition begins with.
func keyword(s string) bool {
	switch s {
	case "type", "interface", "union", "enum", "input", "scalar", "schema", "directive", "extend":
		return true
	}
	return false
}
