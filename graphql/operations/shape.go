package operations

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// form says what a value is made of.
type form int

// The forms.
const (
	unknown form = iota // whether it is a list is not known
	leaf
	object
	list
)

// shape is what is known of a value in an answer.
type shape struct {
	name   string // its response name
	form   form
	fields []*shape
	item   *shape
	// nullable says that it may be null; always, that it is there wherever what
	// it stands in is.
	nullable, always bool
	// keywords are the JSON Schema of a leaf.
	keywords outline
	// note says what is not confirmed of it.
	note string
}

// onlySampled marks what no schema says.
const onlySampled = "unconfirmed: only the sample says so"

// shaper finds out shapes: from the schema, and where that is silent from a sample.
type shaper struct {
	schema  *ast.Schema // nil where none is known
	scalars map[string]json.RawMessage
	query   selection
	sampled bool // there is a sample
	// strange are the places in the sample that the query does not select.
	strange []string
	notes   []string
	// assumed says that something is known from the sample alone.
	assumed bool
}

func (r *shaper) note(at, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	r.notes = append(r.notes, at+": "+text)
	return text
}

// assume marks a shape as known from the sample alone.
func (r *shaper) assume(s *shape) {
	s.note, r.assumed = onlySampled, true
}

// absent is the note on a place that no sample has.
func (r *shaper) absent(at, lacks string) string {
	if r.sampled {
		return r.note(at, "unconfirmed: not in the sample, so %s is not known", lacks)
	}
	return r.note(at, "unconfirmed: without a schema or a sample, %s is not known", lacks)
}

// shape is that of the values at a place, which the query selects sets of and
// which have a type, nil where it is not known. samples are values of the place.
func (r *shaper) shape(at string, sets []ast.SelectionSet, t *ast.Type, samples []any) *shape {
	s := &shape{nullable: t == nil || !t.NonNull}
	v := sorted(samples)
	switch {
	case t == nil:
		r.guess(at, s, sets, v)
	case t.Elem != nil:
		if len(v.objects)+len(v.others) > 0 {
			r.note(at, "the sample has a single value where the schema has a list; the schema is followed")
		}
		s.form, s.item = list, r.shape(at+"[*]", sets, t.Elem, v.items)
	case len(sets) > 0:
		if v.lists > 0 {
			r.note(at, "the sample has a list where the schema has a single value; the schema is followed")
		}
		s.form, s.fields = object, r.fields(at, sets, t, append(v.objects, sorted(v.items).objects...))
	default:
		r.leaf(at, s, t, v)
	}
	return s
}

// values are sample values by their kind.
type values struct {
	lists, nulls int
	items        []any // of all lists
	objects      []map[string]any
	others       []any
}

func sorted(samples []any) values {
	var v values
	for _, sample := range samples {
		switch sample := sample.(type) {
		case nil:
			v.nulls++
		case []any:
			v.lists++
			v.items = append(v.items, sample...)
		case map[string]any:
			v.objects = append(v.objects, sample)
		default:
			v.others = append(v.others, sample)
		}
	}
	return v
}

// empty reports whether there is no sample.
func (v values) empty() bool { return v.lists+v.nulls+len(v.objects)+len(v.others) == 0 }

// selectedField is what a query selects under one response name.
type selectedField struct {
	name   string
	sets   []ast.SelectionSet
	kind   *ast.Type
	always bool
}

// fields are the shapes of an object's fields, in the query's order; where the
// query does not say, those of the samples by name.
func (r *shaper) fields(at string, sets []ast.SelectionSet, t *ast.Type, samples []map[string]any) []*shape {
	var chosen []*selectedField
	if len(sets) > 0 {
		parent := ""
		if t != nil {
			parent = t.Name()
		}
		for _, set := range sets {
			r.choose(set, parent, true, &chosen)
		}
	} else {
		for _, name := range names(samples) {
			chosen = append(chosen, &selectedField{name: name})
		}
	}
	known := map[string]bool{}
	fields := make([]*shape, 0, len(chosen))
	for _, c := range chosen {
		known[c.name] = true
		var values []any
		for _, sample := range samples {
			if value, ok := sample[c.name]; ok {
				values = append(values, value)
			}
		}
		kind := c.kind
		if c.name == "__typename" && kind == nil {
			kind = ast.NonNullNamedType("String", nil)
		}
		field := r.shape(at+step(c.name), c.sets, kind, values)
		field.name, field.always = c.name, c.always
		fields = append(fields, field)
	}
	for _, name := range names(samples) {
		if !known[name] {
			r.strange = append(r.strange, at+step(name))
		}
	}
	return fields
}

// names are the names of the members of all objects, sorted.
func names(objects []map[string]any) []string {
	all := map[string]bool{}
	for _, o := range objects {
		for name := range o {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// choose collects the fields of a selection set. parent is the type it is of;
// certain says that the set counts in every answer.
func (r *shaper) choose(set ast.SelectionSet, parent string, certain bool, into *[]*selectedField) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			i := slices.IndexFunc(*into, func(c *selectedField) bool { return c.name == s.Alias })
			if i < 0 {
				i = len(*into)
				*into = append(*into, &selectedField{name: s.Alias})
			}
			c := (*into)[i]
			c.always = c.always || certain && !conditional(s.Directives)
			if len(s.SelectionSet) > 0 {
				c.sets = append(c.sets, s.SelectionSet)
			}
			if r.schema != nil && s.Definition != nil {
				c.kind = s.Definition.Type
			}
		case *ast.InlineFragment:
			r.choose(s.SelectionSet, parent, certain && !conditional(s.Directives) && r.covers(s.TypeCondition, parent), into)
		case *ast.FragmentSpread:
			if f := r.query.fragments.ForName(s.Name); f != nil {
				r.choose(f.SelectionSet, parent, certain && !conditional(s.Directives) && r.covers(f.TypeCondition, parent), into)
			}
		}
	}
}

func conditional(all ast.DirectiveList) bool {
	return all.ForName("include") != nil || all.ForName("skip") != nil
}

// covers reports whether every object of a type is of another one.
func (r *shaper) covers(condition, parent string) bool {
	if condition == "" || condition == parent {
		return true
	}
	if r.schema == nil {
		return false
	}
	def := r.schema.Types[parent]
	return def != nil && slices.Contains(def.Interfaces, condition)
}

// leaf describes a scalar or an enum of the schema.
func (r *shaper) leaf(at string, s *shape, t *ast.Type, v values) {
	s.form = leaf
	def := r.schema.Types[t.NamedType]
	if def == nil {
		return
	}
	if def.Kind == ast.Enum {
		values := make([]any, len(def.EnumValues))
		for i, v := range def.EnumValues {
			values[i] = v.Name
		}
		s.keywords = outline{{key: "type", value: "string"}, {key: "enum", value: values}}
		return
	}
	if kind := builtinKind(def.Name); kind != "" {
		s.keywords = outline{{key: "type", value: kind}}
		return
	}
	if raw, ok := r.scalars[def.Name]; ok {
		if said, err := ordered(raw); err == nil {
			s.keywords, _ = said.(outline)
			return
		}
	}
	if v.empty() {
		s.note = r.note(at, "unconfirmed: nothing is known of values of %s; describe it under scalars", def.Name)
		return
	}
	r.guess(at, s, nil, v)
}

// builtinKind is the JSON Schema type of a scalar that every API has; "" for others.
func builtinKind(name string) string {
	return map[string]string{"Int": "integer", "Float": "number", "String": "string", "ID": "string", "Boolean": "boolean"}[name]
}

// guess describes a value by samples alone.
func (r *shaper) guess(at string, s *shape, sets []ast.SelectionSet, v values) {
	switch {
	case v.lists > 0 && len(v.objects)+len(v.others) == 0:
		r.assume(s)
		s.form, s.item = list, r.items(at+"[*]", sets, v)
	case len(v.objects) > 0 && v.lists+len(v.others) == 0:
		r.assume(s)
		s.form, s.fields = object, r.fields(at, sets, nil, v.objects)
	case len(sets) > 0 && v.empty():
		s.note = r.absent(at, "whether it is a list")
	case len(sets) > 0:
		s.note = r.note(at, "unconfirmed: the sample has no object here, though the query selects fields of one")
	default:
		r.scalar(at, s, v)
	}
}

// items is the shape of what sample lists hold.
func (r *shaper) items(at string, sets []ast.SelectionSet, v values) *shape {
	if len(v.items) > 0 {
		return r.shape(at, sets, nil, v.items)
	}
	s := &shape{nullable: true, note: r.note(at, "unconfirmed: seen only empty")}
	if s.form = leaf; len(sets) > 0 {
		s.form, s.fields = object, r.fields(at, sets, nil, nil)
	}
	return s
}

// scalar describes what is neither a list nor an object, or not always.
func (r *shaper) scalar(at string, s *shape, v values) {
	s.form = leaf
	kinds := map[string]bool{}
	for _, value := range v.others {
		kinds[kindOf(value)] = true
	}
	if kinds["number"] {
		delete(kinds, "integer")
	}
	if v.lists > 0 {
		kinds["array"] = true
	}
	if len(v.objects) > 0 {
		kinds["object"] = true
	}
	s.nullable = v.nulls > 0
	switch found := slices.Sorted(maps.Keys(kinds)); {
	case len(found) == 0 && v.nulls > 0:
		s.note = r.note(at, "unconfirmed: seen only null")
	case len(found) == 0:
		s.note = r.absent(at, "its type")
	case len(found) == 1:
		r.assume(s)
		s.keywords = outline{{key: "type", value: found[0]}}
	default:
		s.keywords = outline{{key: "type", value: anys(found)}}
		s.note = r.note(at, "unconfirmed: the sample has several kinds of values")
	}
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// kindOf is the JSON Schema type of a value that is no list, object or null. A
// number with a point or an exponent is no integer, though it may be whole.
func kindOf(value any) string {
	switch value := value.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, err := strconv.ParseInt(value.String(), 10, 64); err == nil || !strings.ContainsAny(value.String(), ".eE") {
			return "integer"
		}
	}
	return "number"
}

// only is the one field of an object that is more than its type's name; nil if
// there are several or none, or if it is not in every answer.
func (s *shape) only() *shape {
	var found *shape
	for _, f := range s.fields {
		if f.name == "__typename" {
			continue
		}
		if found != nil {
			return nil
		}
		found = f
	}
	return found
}

// inner is what a path goes on to in a shape that has nothing else in it: the
// path's next step and where that leads; nil if there is more than one thing.
func (s *shape) inner() (string, *shape) {
	switch {
	case s.form == object:
		if f := s.only(); f != nil {
			return step(f.name), f
		}
	case s.form == list && s.item.form == object:
		if f := s.item.only(); f != nil {
			return "[*]" + step(f.name), f
		}
	}
	return "", nil
}

// describe is the JSON Schema of a shape. Without a schema of the API nothing is
// required.
func (r *shaper) describe(s *shape) outline {
	typed := func(kind string) pair {
		if s.nullable {
			return pair{key: "type", value: []any{kind, "null"}}
		}
		return pair{key: "type", value: kind}
	}
	switch s.form {
	case list:
		items := r.describe(s.item)
		return outline{typed("array"), {key: "items", value: items, note: s.item.note}}
	case object:
		properties, required := outline{}, []any{}
		for _, f := range s.fields {
			properties = append(properties, pair{key: f.name, value: r.describe(f), note: f.note})
			if r.schema != nil && f.always {
				required = append(required, f.name)
			}
		}
		out := outline{typed("object"), {key: "properties", value: properties}}
		if len(required) > 0 {
			out = append(out, pair{key: "required", value: required})
		}
		return out
	case leaf:
		return nullableKeywords(s.keywords, s.nullable)
	default:
		return outline{}
	}
}

// nullableKeywords adds null to what a leaf can be.
func nullableKeywords(keywords outline, nullable bool) outline {
	if !nullable {
		return keywords
	}
	out := make(outline, len(keywords))
	for i, e := range keywords {
		switch values, isList := e.value.([]any); {
		case e.key == "type" && isList, e.key == "enum" && isList:
			var null any = "null"
			if e.key == "enum" {
				null = nil
			}
			e.value = append(slices.Clone(values), null)
		case e.key == "type":
			e.value = []any{e.value, "null"}
		}
		out[i] = e
	}
	return out
}
