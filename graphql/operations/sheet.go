package operations

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/docseek/docseek/graphql/execute"
)

// Bounds on a YAML file.
const (
	maxSheetBytes = 256 << 10
	// maxSheetDepth is how deep its values may nest.
	maxSheetDepth = 64
	// maxSheetFaults bounds the faults that one file reports.
	maxSheetFaults = 50
)

// sheet is the mapping of keys to values that a YAML file holds, with the places
// of what it says, and what is wrong with it.
type sheet struct {
	file      string
	lines     []string // of the text
	operation string   // its name, once it is known
	entries   []*ast.MappingValueNode
	faults    []Fault
}

// readSheet reads a YAML file whose keys are all among the known ones. Anchors
// and aliases are not read: each file says what it means.
func readSheet(f File, known []string) *sheet {
	text := unix(strings.TrimPrefix(f.Text, "\ufeff"))
	s := &sheet{file: f.Path, lines: strings.Split(text, "\n")}
	if len(f.Text) > maxSheetBytes {
		s.faultAt(nil, "the file has %d bytes; at most %d are read", len(f.Text), maxSheetBytes)
		return s
	}
	if !utf8.ValidString(f.Text) {
		s.faultAt(nil, "the file is not valid UTF-8")
		return s
	}
	tokens := lexer.Tokenize(text)
	if tk := refused(tokens); tk != nil {
		s.faultAt(tk, "anchors, aliases, tags and values that nest deeper than %d are not read", maxSheetDepth)
		return s
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if located, ok := errors.AsType[yaml.Error](err); ok && located.GetToken() != nil {
		s.faultAt(located.GetToken(), "%s", located.GetMessage())
		return s
	}
	if err != nil {
		s.faultAt(nil, "%v", err)
		return s
	}
	switch {
	case len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil:
		s.faultAt(nil, "the file is empty")
		return s
	case len(parsed.Docs) > 1:
		s.fault(parsed.Docs[1].Body, "a second YAML document begins here: write one operation to a file")
	}
	s.entries = s.mapping(parsed.Docs[0].Body)
	for _, e := range s.entries {
		if name := keyOf(e); !slices.Contains(known, name) {
			s.fault(e.Key, "unknown key %q: there is %s", execute.Cut(name, 80), strings.Join(known, ", "))
		}
	}
	return s
}

// refused is the first token that is not read.
func refused(tokens token.Tokens) *token.Token {
	depth := 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			return tk
		case token.MappingStartType, token.SequenceStartType:
			if depth++; depth > maxSheetDepth {
				return tk
			}
		case token.MappingEndType, token.SequenceEndType:
			depth--
		default: // what nests by indentation is counted where it is read
		}
	}
	return nil
}

// faultAt adds a fault at a token; nil stands for the whole file.
func (s *sheet) faultAt(tk *token.Token, format string, args ...any) {
	at := Place{File: s.file}
	if tk != nil && tk.Position != nil {
		at.Line, at.Column = tk.Position.Line, tk.Position.Column
	}
	s.add(at, format, args...)
}

// fault adds a fault where a node begins.
func (s *sheet) fault(n ast.Node, format string, args ...any) {
	var tk *token.Token
	if n != nil {
		tk = n.GetToken()
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		tk = m.Key.GetToken()
	}
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		tk = m.Values[0].Key.GetToken()
	}
	s.faultAt(tk, format, args...)
}

func (s *sheet) add(at Place, format string, args ...any) {
	switch message := execute.Cut(fmt.Sprintf(format, args...), maxMessageRunes); {
	case len(s.faults) < maxSheetFaults:
		s.faults = append(s.faults, Fault{Place: at, Operation: s.operation, Message: message})
	case len(s.faults) == maxSheetFaults:
		s.faults = append(s.faults, Fault{Place: Place{File: s.file}, Operation: s.operation, Message: "and more"})
	}
}

// mapping are the entries of a node that has to be a mapping, each key once.
func (s *sheet) mapping(n ast.Node) []*ast.MappingValueNode {
	var all []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		all = n.Values
	case *ast.MappingValueNode:
		all = []*ast.MappingValueNode{n}
	default:
		s.fault(n, "must be a mapping of keys to values")
		return nil
	}
	seen := map[string]bool{}
	var kept []*ast.MappingValueNode
	for _, e := range all {
		name := keyOf(e)
		if seen[name] {
			s.fault(e.Key, "%s stands here twice", execute.Cut(name, 80))
			continue
		}
		seen[name] = true
		kept = append(kept, e)
	}
	return kept
}

// keyOf is the text of an entry's key.
func keyOf(e *ast.MappingValueNode) string {
	switch key := e.Key.(type) {
	case *ast.StringNode:
		return key.Value
	case *ast.MappingKeyNode:
		if text, ok := key.Value.(*ast.StringNode); ok {
			return text.Value
		}
	}
	return e.Key.GetToken().Value
}

// node is the value of a key; nil where it is absent.
func (s *sheet) node(key string) ast.Node {
	for _, e := range s.entries {
		if keyOf(e) == key {
			return e.Value
		}
	}
	return nil
}

// required reports whether a key is there, and says so if not.
func (s *sheet) required(key, what string) bool {
	if s.node(key) != nil {
		return true
	}
	s.add(Place{File: s.file, Line: 1, Column: 1}, "%s is missing: %s", key, what)
	return false
}

// text is the value of a key that has to be a text; empty where it is absent.
func (s *sheet) text(key string) string {
	n := s.node(key)
	if n == nil {
		return ""
	}
	return s.textOf(n, key)
}

func (s *sheet) textOf(n ast.Node, what string) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	s.fault(n, "%s must be a text", what)
	return ""
}

// flag is the value of a node that has to be true or false.
func (s *sheet) flag(n ast.Node, what string) bool {
	if b, ok := n.(*ast.BoolNode); ok {
		return b.Value
	}
	s.fault(n, "%s must be true or false", what)
	return false
}

// texts are the values of a node that has to be a list of texts.
func (s *sheet) texts(n ast.Node, what string, each func(ast.Node, string)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		s.fault(n, "%s must be a list", what)
		return
	}
	for _, item := range list.Values {
		before := len(s.faults)
		if text := s.textOf(item, "each of "+what); len(s.faults) == before {
			each(item, text)
		}
	}
}

// value is what a node says as JSON has it, numbers with their digits.
func (s *sheet) value(n ast.Node, depth int) any {
	if depth > maxSheetDepth {
		s.fault(n, "nests deeper than %d levels", maxSheetDepth)
		return nil
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return s.number(n, n.Token.Value, fmt.Sprint(n.Value))
	case *ast.FloatNode:
		return s.number(n, n.Token.Value, fmt.Sprint(n.Value))
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			list[i] = s.value(item, depth+1)
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		object := map[string]any{}
		for _, e := range s.mapping(n) {
			object[keyOf(e)] = s.value(e.Value, depth+1)
		}
		return object
	}
	s.fault(n, "this kind of value is not read")
	return nil
}

// number is a number as it is written where JSON writes it so too, else as it is
// read (0x10, 1_000).
func (s *sheet) number(n ast.Node, written, read string) any {
	for _, text := range []string{written, read} {
		if json.Valid([]byte(text)) {
			return json.Number(text)
		}
	}
	s.fault(n, "is no number that JSON has")
	return nil
}

// within finds a part of a node by the names of members and the indices of items
// that lead to it: the nearest one there is.
func within(n ast.Node, location []string) ast.Node {
	for _, step := range location {
		var next ast.Node
		switch at := n.(type) {
		case *ast.MappingNode:
			for _, e := range at.Values {
				if keyOf(e) == step {
					next = e.Value
				}
			}
		case *ast.MappingValueNode:
			if keyOf(at) == step {
				next = at.Value
			}
		case *ast.SequenceNode:
			for i, item := range at.Values {
				if strconv.Itoa(i) == step {
					next = item
				}
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// placeIn is the place in the file of a line and column of a text that stands in
// it: exact where its lines stand as they are, otherwise where the text begins.
func (s *sheet) placeIn(n ast.Node, text string, line, column int) Place {
	begin := n.GetToken().Position
	at := Place{File: s.file, Line: begin.Line, Column: begin.Column}
	if _, block := n.(*ast.LiteralNode); !block || line <= 0 {
		return at
	}
	lines := strings.Split(text, "\n")
	if row := begin.Line + line; row <= len(s.lines) && line <= len(lines) {
		if indent, ok := strings.CutSuffix(s.lines[row-1], lines[line-1]); ok && strings.TrimSpace(indent) == "" {
			at.Line, at.Column = row, utf8.RuneCountInString(indent)+column
		}
	}
	return at
}
