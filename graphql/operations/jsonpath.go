package operations

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Bounds on a path.
const (
	maxPathBytes = 1000
	// maxNodes is how many values a path may pass through.
	maxNodes = 200_000
)

var errManyNodes = fmt.Errorf("it selects more than %d values", maxNodes)

// jsonPath is a JSONPath query (RFC 9535).
type jsonPath struct {
	text     string
	segments []*spec.Segment
	// stem is how many of the segments, from the first on, lead to one value at
	// most each.
	stem int
}

// parsePath reads a query.
func parsePath(text string) (jsonPath, error) {
	if len(text) > maxPathBytes {
		return jsonPath{}, fmt.Errorf("the path has %d bytes; at most %d are read", len(text), maxPathBytes)
	}
	parsed, err := jsonpath.Parse(text)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": ")
		return jsonPath{}, fmt.Errorf("%q is no JSONPath (RFC 9535): %s", text, reason)
	}
	p := jsonPath{text: text, segments: parsed.Query().Segments()}
	for p.stem < len(p.segments) && spec.Query(true, p.segments[p.stem]).Singular() != nil {
		p.stem++
	}
	return p, nil
}

// definite reports whether the path leads to one value at most (a singular
// query, RFC 9535 §2.3.5.1).
func (p jsonPath) definite() bool { return p.stem == len(p.segments) }

// stemText is the part of the path that leads to one value at most.
func (p jsonPath) stemText() string {
	if p.definite() {
		return p.text
	}
	return pathText(p.segments[:p.stem])
}

// nullAbove is the first part of the path that leads to a null in a value,
// although the path goes on; "" if none does.
func (p jsonPath) nullAbove(root any) string {
	at := []any{root}
	for i, segment := range p.segments[:p.stem] {
		if at = segment.Select(at[0], root); len(at) == 0 {
			break
		}
		if at[0] == nil && i+1 < len(p.segments) {
			return pathText(p.segments[:i+1])
		}
	}
	return ""
}

// get is what the path selects in a value: the value itself for a definite path,
// otherwise always a list. Missing and Null say that the path's stem leads to
// nothing, or to a null; Empty that what it leads to is an empty list.
func (p jsonPath) get(root any) (value any, state State, err error) {
	stem := []any{root}
	for _, segment := range p.segments[:p.stem] {
		if len(stem) > 0 {
			stem = segment.Select(stem[0], root)
		}
	}
	state = Found
	switch {
	case len(stem) == 0:
		state = Missing
	case stem[0] == nil:
		state = Null
	}
	if p.definite() {
		if state == Found {
			value = stem[0]
		}
	} else {
		nodes := nodes{root: root, list: stem}
		for _, segment := range p.segments[p.stem:] {
			if err := nodes.step(segment); err != nil {
				return nil, "", fmt.Errorf("select %s: %w", p.text, err)
			}
		}
		value = append([]any{}, nodes.list...) // an empty list is one too
	}
	if list, ok := value.([]any); ok && len(list) == 0 && state == Found {
		state = Empty
	}
	return value, state, nil
}

// nodes walk a value segment by segment. They come in one order always, where
// the library takes the members of an object as they come: by name.
type nodes struct {
	root  any
	list  []any
	count int
}

func (n *nodes) step(segment *spec.Segment) error {
	from := n.list
	n.list = nil
	for _, value := range from {
		if err := n.apply(segment, value); err != nil {
			return err
		}
	}
	return nil
}

func (n *nodes) apply(segment *spec.Segment, value any) error {
	for _, selector := range segment.Selectors() {
		n.list = append(n.list, n.selected(selector, value)...)
	}
	if n.count++; n.count+len(n.list) > maxNodes {
		return errManyNodes
	}
	if !segment.IsDescendant() {
		return nil
	}
	for _, child := range children(value) {
		if err := n.apply(segment, child); err != nil {
			return err
		}
	}
	return nil
}

func (n *nodes) selected(selector spec.Selector, value any) []any {
	members, isObject := value.(map[string]any)
	if !isObject {
		return selector.Select(value, n.root)
	}
	switch selector := selector.(type) {
	case spec.WildcardSelector:
		return children(members)
	case *spec.FilterSelector:
		var kept []any
		for _, child := range children(members) {
			if selector.Eval(child, n.root) {
				kept = append(kept, child)
			}
		}
		return kept
	}
	return selector.Select(value, n.root)
}

// children are the items of a list, or the members of an object by name.
func children(value any) []any {
	switch value := value.(type) {
	case []any:
		return value
	case map[string]any:
		all := make([]any, 0, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, value[name])
		}
		return all
	}
	return nil
}

// pathText is a path of segments as people write it.
func pathText(segments []*spec.Segment) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, segment := range segments {
		if name, ok := nameOf(segment); ok {
			b.WriteString(step(name))
		} else {
			b.WriteString(segment.String())
		}
	}
	return b.String()
}

// nameOf is the one name that a segment selects.
func nameOf(segment *spec.Segment) (string, bool) {
	if segment.IsDescendant() || len(segment.Selectors()) != 1 {
		return "", false
	}
	name, ok := segment.Selectors()[0].(spec.Name)
	return string(name), ok
}

// shorthand matches the names that a path has without quotation marks (RFC 9535 §2.5.1).
var shorthand = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// step is a member's name in a path.
func step(name string) string {
	if shorthand.MatchString(name) {
		return "." + name
	}
	return strings.TrimPrefix(spec.NormalizedPath{spec.Name(name)}.String(), "$")
}
