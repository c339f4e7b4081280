package operations

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// maxSampleBytes bounds a sample answer.
const maxSampleBytes = 4 << 20

// DraftOptions say what an operation file is drafted from.
type DraftOptions struct {
	// Query is a document with one operation.
	Query string
	// Name is the tool's name; empty means that of the operation in snake_case.
	Name string
	// Endpoint is the name of the API.
	Endpoint string
	// Schema says what the query takes and gives; nil where none is known.
	Schema *graphql.Schema
	// Scalars are the JSON Schemas of custom scalars, by their names.
	Scalars map[string]json.RawMessage
	// Sample is an answer of the endpoint to the query, or the data of one;
	// empty means none.
	Sample []byte
	Limits execute.Limits
}

// Draft writes a first operation file for a query, and notes on what to look at
// before it is used. The schema has the last word on what the query takes and
// gives; what only the sample says is marked as unconfirmed, in a comment.
//
// A query that is not valid, a sample that is a failure, and a sample with
// something that the query does not select are errors.
func Draft(o DraftOptions) (file []byte, notes []string, err error) {
	d, err := newDrafter(o)
	if err != nil {
		return nil, nil, fmt.Errorf("draft an operation file: %w", err)
	}
	root, err := d.answer(o.Sample)
	if err != nil {
		return nil, nil, fmt.Errorf("draft an operation file: %w", err)
	}
	if file, err = d.content(root).text(); err != nil {
		return nil, nil, fmt.Errorf("draft an operation file: %w", err)
	}
	_, faults := loadFile(File{Path: "draft", Text: string(file)}, d.options(), nil)
	if len(faults) > 0 {
		return nil, nil, fmt.Errorf("draft an operation file: what was written cannot be read: %s", faults[0])
	}
	notes = d.shaper.notes
	if d.shaper.assumed {
		notes = append(notes, "what is marked as unconfirmed is known from the sample alone: compare it with what the API promises")
	}
	return file, notes, nil
}

// drafter makes an operation file of a query.
type drafter struct {
	DraftOptions
	marked *marked
	op     Operation
	input  outline
	shaper shaper
}

func newDrafter(o DraftOptions) (*drafter, error) {
	tree, faults := execute.Parse("", o.Query, o.Limits)
	if len(faults) > 0 {
		return nil, faultsError(faults)
	}
	if len(tree.Operations) != 1 {
		return nil, fmt.Errorf("the query holds %d operations: give one", len(tree.Operations))
	}
	d := &drafter{DraftOptions: o, marked: unmark(tree.Operations[0])}
	var schema *ast.Schema
	if o.Schema != nil {
		schema = o.Schema.AST()
	}
	if faults := execute.CheckParsed(schema, tree, o.Limits); len(faults) > 0 {
		return nil, faultsError(faults)
	}
	switch {
	case d.marked.Operation == ast.Subscription:
		return nil, errors.New("a subscription is no tool: a call has one answer, and subscriptions go on")
	case d.marked.Name == "":
		return nil, fmt.Errorf("the operation has no name: write one after %s", d.marked.Operation)
	}
	d.marked.fragments = tree.Fragments
	d.op = Operation{
		Name:        cmp.Or(o.Name, d.marked.tool.name, snakeCase(d.marked.Name)),
		Description: oneLine(cmp.Or(d.marked.tool.description, d.marked.Description)),
		Type:        Type(d.marked.Operation), OperationName: d.marked.Name,
		Document: printed(d.marked.OperationDefinition, tree.Fragments),
	}
	if err := checkName(d.op.Name, d.options(), "give another with --name"); err != nil {
		return nil, err
	}
	d.shaper = shaper{
		schema: schema, scalars: o.Scalars,
		query: selection{root: d.marked.SelectionSet, fragments: tree.Fragments},
	}
	return d, d.arguments()
}

func (d *drafter) options() Options {
	return Options{Endpoint: d.Endpoint, Schema: d.Schema, Scalars: d.Scalars, MaxName: DefaultMaxName, Limits: d.Limits}
}

func faultsError(faults []execute.Fault) error {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return errors.New(strings.Join(lines, "\n"))
}

// arguments describe the variables: as the schema does, or as far as their types'
// names tell.
func (d *drafter) arguments() error {
	if d.Schema != nil {
		l := loader{Options: d.options(), scalars: map[string]*scalar{}, unmapped: map[string][]string{}}
		for name, raw := range d.Scalars {
			s, err := newScalar(name, raw)
			if err != nil {
				return fmt.Errorf("scalars: %s: %w", name, err)
			}
			l.scalars[name] = s
		}
		l.input(d.marked, &d.op)
		if len(d.marked.faults) > 0 {
			return errors.New(d.marked.faults[0].Message)
		}
		said, err := ordered(d.op.Input)
		if err != nil {
			return fmt.Errorf("describe the variables: %w", err)
		}
		d.input, _ = said.(outline)
		return nil
	}
	properties, required := outline{}, []any{}
	for _, v := range d.marked.VariableDefinitions {
		keywords, note := d.guessed(v.Type)
		if note != "" {
			note = d.shaper.note("$"+v.Variable, "%s", note)
		}
		properties = append(properties, pair{key: v.Variable, value: keywords, note: note})
		if v.Type.NonNull && v.DefaultValue == nil {
			required = append(required, v.Variable)
		}
	}
	d.input = outline{{key: "type", value: "object"}, {key: "properties", value: properties}}
	if len(required) > 0 {
		d.input = append(d.input, pair{key: "required", value: required})
	}
	return nil
}

// guessed describes a type of which only the name is known.
func (d *drafter) guessed(t *ast.Type) (keywords outline, note string) {
	if t.Elem != nil {
		items, note := d.guessed(t.Elem)
		return nullableKeywords(outline{{key: "type", value: "array"}, {key: "items", value: items}}, !t.NonNull), note
	}
	kind := builtinKind(t.NamedType)
	if kind == "" {
		return outline{}, "unconfirmed: without a schema nothing is known of " + t.NamedType
	}
	return nullableKeywords(outline{{key: "type", value: kind}}, !t.NonNull), ""
}

// answer is the shape of the data.
func (d *drafter) answer(sample []byte) (*shape, error) {
	var samples []any
	if len(strings.TrimSpace(string(sample))) > 0 {
		data, err := readSample(sample)
		if err != nil {
			return nil, err
		}
		samples = []any{data}
	}
	root := &shape{form: object}
	d.shaper.sampled = len(samples) > 0
	var kind *ast.Type
	if schema := d.shaper.schema; schema != nil {
		def := schema.Query
		if d.op.Type == Mutation {
			def = schema.Mutation
		}
		kind = ast.NonNullNamedType(def.Name, nil)
	}
	root.fields = d.shaper.fields("$", []ast.SelectionSet{d.marked.SelectionSet}, kind, sorted(samples).objects)
	if strange := d.shaper.strange; len(strange) > 0 {
		return nil, fmt.Errorf("the sample has what the query does not select: %s; is it an answer to this query?", strings.Join(strange, ", "))
	}
	return root, nil
}

// readSample is the data of a sample answer.
func readSample(sample []byte) (map[string]any, error) {
	if len(sample) > maxSampleBytes {
		return nil, fmt.Errorf("the sample has %d bytes; at most %d are read", len(sample), maxSampleBytes)
	}
	value, err := execute.Decode(sample)
	if err != nil {
		return nil, fmt.Errorf("the sample is no JSON: %w", err)
	}
	answer, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the sample is no answer: it must be a JSON object")
	}
	if failed := answer["errors"]; !blank(failed) {
		first := failed
		if list, ok := failed.([]any); ok {
			first = list[0]
		}
		return nil, fmt.Errorf("the sample is a failure: give an answer that succeeded (%s)", failureOf(first, "errors").Message)
	}
	data, has := answer["data"]
	if _, failed := answer["errors"]; !has && !failed {
		return answer, nil
	}
	object, ok := data.(map[string]any)
	if !ok {
		return nil, errors.New("the sample is a failure: it has no data; give an answer that succeeded")
	}
	return object, nil
}

// content is the file.
func (d *drafter) content(root *shape) outline {
	response, target, items, nullable := useful(root)
	describe := "write what the tool is for and when to use it"
	if d.op.Description == "" {
		d.op.Description = d.described(root)
	} else {
		describe = ""
	}
	file := outline{
		{key: "name", value: d.op.Name},
		{key: "description", value: execute.Cut(d.op.Description, maxDescription/4), note: describe},
	}
	if d.Endpoint != "" {
		file = append(file, pair{key: "endpoint", value: d.Endpoint})
	}
	mapped := outline{}
	for _, v := range d.marked.VariableDefinitions {
		mapped = append(mapped, pair{key: v.Variable, value: "$" + step(v.Variable)})
	}
	file = append(
		file,
		pair{key: "operation_type", value: string(d.op.Type)},
		pair{key: "operation_name", value: d.op.OperationName},
		pair{key: "query_template", value: block(d.op.Document)},
		pair{key: "variables_schema", value: d.input},
		pair{key: "input_mapping", value: mapped},
	)
	output, shaped := d.output(target)
	if items != nil && output != nil {
		response += "[*]"
	}
	file = append(file, pair{key: "response_path", value: response, note: target.note})
	if output != nil {
		file = append(file, pair{key: "output", value: output})
	}
	single := items == nil && target.form == object && !strings.Contains(response, "[*]")
	if described := d.result(response, target, items, shaped, single); described != nil {
		file = append(file, pair{key: "output_schema", value: described})
	}
	return append(file, pair{key: "error_policy", value: d.policy(root, single || nullable)})
}

// useful is the part of the data that the query is for: down to the first value
// that has more than one thing in it. items is the list, where target is what it
// holds. nullable says that there may be a null instead of it.
func useful(root *shape) (response string, target, items *shape, nullable bool) {
	response, target = "$", root
	for {
		next, inner := target.inner()
		if inner == nil || inner.form != object && inner.form != list || target.form == object && !inner.always {
			break
		}
		response, target = response+next, inner
		nullable = nullable || target.nullable && !strings.Contains(response, "[*]")
	}
	if target.form == list && target.item.form == object {
		return response, target.item, target, nullable
	}
	return response, target, nil, nullable
}

// output are the paths to the parts of a value, where something stands between
// that has nothing else in it; nil where the value is best left as it is. shaped
// is what they make of it.
func (d *drafter) output(target *shape) (output outline, shaped *shape) {
	if target.form != object {
		return nil, nil
	}
	reshaped := false
	shaped = &shape{form: object, nullable: target.nullable}
	for _, f := range target.fields {
		path, end, several, sure := "$"+step(f.name), f, false, f.always
		for {
			next, inner := end.inner()
			if inner == nil {
				break
			}
			several = several || strings.HasPrefix(next, "[*]")
			sure = sure && !end.nullable && inner.always
			path, end, reshaped = path+next, inner, true
		}
		if f.name == "__typename" {
			reshaped = true
			continue
		}
		part := *end
		if several {
			part = shape{form: list, item: end, note: end.note}
			sure = true
		}
		part.name, part.always = f.name, sure
		output = append(output, pair{key: f.name, value: path, note: part.note})
		shaped.fields = append(shaped.fields, &part)
	}
	if !reshaped {
		return nil, nil
	}
	return output, shaped
}

// result is the output's schema; nil where too little is known.
func (d *drafter) result(response string, target, items, shaped *shape, single bool) outline {
	value := target
	if shaped != nil {
		value = shaped
	}
	if value.form == unknown {
		return nil
	}
	one := *value
	if single {
		one.nullable = false // a null is a failure
	}
	described := d.shaper.describe(&one)
	array := func() {
		described = outline{{key: "type", value: "array"}, {key: "items", value: described}}
	}
	if items != nil && shaped == nil {
		array() // never a null: that is a failure
	}
	if strings.Contains(response, "[*]") {
		array()
	}
	return described
}

// described is what the schema says of the one field that the query asks for.
func (d *drafter) described(root *shape) string {
	said := ""
	d.shaper.query.each([]ast.SelectionSet{d.marked.SelectionSet}, func(f *ast.Field) {
		if f.Definition != nil && len(root.fields) == 1 {
			said = oneLine(f.Definition.Description)
		}
	})
	return cmp.Or(said, fmt.Sprintf("Calls the %s %s.", d.op.Type, d.op.OperationName))
}

// failed matches what APIs call the fields and the types that say what failed.
var (
	failedField = regexp.MustCompile(`^([a-z]\w*)?[eE]rrors$`)
	failedType  = regexp.MustCompile(`(Rejection|Error|Failure|Problem)$`)
)

// policy says when an answer is a failure: where the query selects fields for
// that, and types whose names say so.
func (d *drafter) policy(root *shape, nullIsError bool) outline {
	policy := outline{{key: "partial", value: "fail"}, {key: "null_is_error", value: nullIsError}}
	var paths []any
	var walk func(at string, s *shape)
	walk = func(at string, s *shape) {
		for _, f := range s.fields {
			if failedField.MatchString(f.name) && (f.form == list || f.form == unknown) {
				paths = append(paths, at+step(f.name))
			} else if f.form == object {
				walk(at+step(f.name), f)
			}
		}
	}
	walk("$", root)
	if len(paths) > 0 {
		policy = append(policy, pair{key: "failure_paths", value: paths})
	}
	if d.Schema == nil || !d.shaper.query.selects("__typename") {
		return policy
	}
	var types []any
	d.shaper.query.everywhere([]ast.SelectionSet{d.marked.SelectionSet}, func(f *ast.Field) {
		if f.Definition == nil {
			return
		}
		for _, def := range d.shaper.schema.GetPossibleTypes(d.shaper.schema.Types[f.Definition.Type.Name()]) {
			if failedType.MatchString(def.Name) && !slices.Contains(types, any(def.Name)) {
				types = append(types, def.Name)
			}
		}
	})
	if len(types) > 0 {
		policy = append(policy, pair{key: "failure_typenames", value: types})
	}
	return policy
}
