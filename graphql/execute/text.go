package execute

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
)

// textOf is the text to send for an operation: its own tokens and those of the
// fragments that it needs, each where it stood, so that the places an endpoint
// names are those of the document. Everything else is blank: other operations,
// comments, and descriptions, which many servers do not know yet (GraphQL spec,
// September 2025, §2.3). So what is sent is what was looked at, however a server
// reads the rest.
func (d document) textOf(operation *ast.OperationDefinition) (string, error) {
	needed := d.fragments(operation)
	l := lexer.New(&ast.Source{Input: d.text})
	var tokens []lexer.Token
	for {
		token, err := l.ReadToken()
		if err != nil {
			return "", fmt.Errorf("read the document again: %w", err)
		}
		if token.Kind == lexer.EOF {
			break
		}
		if token.Kind != lexer.Comment {
			tokens = append(tokens, token)
		}
	}
	var keep []ast.Position
	for len(tokens) > 0 {
		n := definition(tokens)
		one := tokens[:n]
		tokens = tokens[n:]
		for len(one) > 0 && isString(one[0]) {
			one = one[1:] // the definition's description
		}
		if len(one) == 0 {
			continue
		}
		wanted := one[0].Pos.Start == operation.Position.Start
		if one[0].Value == "fragment" && len(one) > 1 {
			wanted = needed[one[1].Value]
		}
		if !wanted {
			continue
		}
		for i, token := range one {
			// A string before a variable's name describes it, unless it is the
			// default of the variable before.
			if i > 0 && i+1 < len(one) && isString(token) && one[i+1].Kind == lexer.Dollar && one[i-1].Kind != lexer.Equals {
				continue
			}
			keep = append(keep, token.Pos)
		}
	}
	return blank(d.text, keep), nil
}

func isString(t lexer.Token) bool { return t.Kind == lexer.String || t.Kind == lexer.BlockString }

// definition is the number of tokens of the first definition: up to the end of
// its selection set, which is what stands in braces and not in parentheses.
func definition(tokens []lexer.Token) int {
	parens, braces := 0, 0
	for i, token := range tokens {
		switch token.Kind {
		case lexer.ParenL:
			parens++
		case lexer.ParenR:
			parens--
		case lexer.BraceL:
			if parens == 0 {
				braces++
			}
		case lexer.BraceR:
			if parens == 0 {
				if braces--; braces == 0 {
					return i + 1
				}
			}
		default:
		}
	}
	return len(tokens)
}

// blank keeps the characters of the given places, which are in order, and the
// line breaks before them; the rest becomes spaces where one is needed.
func blank(text string, keep []ast.Position) string {
	var kept, gap strings.Builder
	kept.Grow(len(text))
	spaces := 0
	for i := 0; len(text) > 0 && len(keep) > 0; i++ {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case i >= keep[0].Start:
			kept.WriteString(gap.String())
			kept.WriteString(strings.Repeat(" ", spaces))
			kept.WriteString(text[:size])
			gap.Reset()
			spaces = 0
		case r == '\n', r == '\r':
			gap.WriteString(text[:size])
			spaces = 0
		default:
			spaces++
		}
		text = text[size:]
		for len(keep) > 0 && i+1 >= keep[0].End {
			keep = keep[1:]
		}
	}
	return kept.String()
}
