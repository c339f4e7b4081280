package operations

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	graph "github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/net/http/httpguts"

	"github.com/docseek/docseek/graphql/execute"
)

// fileRemedy says where to give an operation file another name.
const fileRemedy = "change name"

// loadFile reads an operation file and checks it as a whole. The operation is nil
// where it has no name; with faults, it can only be shown.
func loadFile(f File, o Options, scalars execute.Scalars) (*Operation, []Fault) {
	l := fileLoader{
		sheet: readSheet(f, []string{
			"name", "description", "endpoint", "operation_type", "operation_name", "query_template", "variables_schema", "input_mapping",
			"response_path", "output", "output_schema", "error_policy", "headers", "auth_profile",
		}),
		options: o, scalars: scalars,
	}
	if l.entries == nil {
		return nil, l.faults
	}
	l.operation = l.text("name")
	op := &Operation{Name: l.operation, Kind: Mapped, Endpoint: o.Endpoint, Place: Place{File: f.Path, Line: 1, Column: 1}}
	l.describe(op)
	l.credentials(op)
	l.template(op)
	l.arguments(op)
	l.response(op)
	if op.Name == "" {
		return nil, l.faults
	}
	op.Revision = Revision(f.Text, o.URL, op.AuthProfile)
	op.Tested = o.Lock.Tested(op.Name, op.Revision)
	if o.RequireTest && !op.Tested {
		op.Withheld = "its present revision was not tested: run docseek operations test " + f.Path
	}
	return op, l.faults
}

// fileLoader makes an operation of a sheet, step by step.
type fileLoader struct {
	*sheet
	options Options
	scalars execute.Scalars
	// definition and query are those of the template; nil and empty where it has
	// faults.
	definition *graph.OperationDefinition
	query      selection
}

// describe reads what the tool is called, and which API it is for.
func (l *fileLoader) describe(op *Operation) {
	if l.required("name", "the tool's name") {
		if err := checkName(op.Name, l.options, fileRemedy); err != nil {
			l.fault(l.node("name"), "%v", err)
		}
		at := l.node("name").GetToken().Position
		op.Place.Line, op.Place.Column = at.Line, at.Column
	}
	op.Description = strings.TrimSpace(l.text("description"))
	switch n := l.node("description"); {
	case !l.required("description", "what the tool is for, in a sentence or two"):
	case op.Description == "":
		l.fault(n, "the description is empty")
	case len(op.Description) > maxDescription:
		l.fault(n, "the description has %d bytes; at most %d are allowed", len(op.Description), maxDescription)
	}
	if endpoint := l.text("endpoint"); endpoint != "" && endpoint != l.options.Endpoint {
		l.fault(l.node("endpoint"), "the operation is for the endpoint %q, and the file stands under operations of %q", execute.Cut(endpoint, 80), l.options.Endpoint)
	}
}

// credentials reads the headers, and whose credentials go with them.
func (l *fileLoader) credentials(op *Operation) {
	if n := l.node("headers"); n != nil {
		op.headers = http.Header{}
		for _, e := range l.mapping(n) {
			name, value := keyOf(e), l.textOf(e.Value, "the value of a header")
			switch {
			case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value):
				l.fault(e.Key, "%q is no valid header", execute.Cut(name, 80))
			case secret(name):
				l.fault(e.Key, "%s holds credentials, which do not belong in this file: name them in auth_profile", name)
			case reserved(name):
				l.fault(e.Key, "%s is set by docseek itself", name)
			}
			op.headers.Set(name, value)
		}
	}
	op.AuthProfile = l.text("auth_profile")
	if op.AuthProfile == "" {
		return
	}
	host, ok := l.options.AuthProfiles[op.AuthProfile]
	if !ok {
		l.fault(l.node("auth_profile"), "there is no %q under auth_profiles in the configuration: there is %s", execute.Cut(op.AuthProfile, 80), namesOrNone(slices.Sorted(maps.Keys(l.options.AuthProfiles))))
	} else if err := checkHost(host, l.options.URL); err != nil {
		l.fault(l.node("auth_profile"), "auth profile %s: %v", op.AuthProfile, err)
	}
}

// secret tells the headers that hold credentials.
func secret(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Cookie", "X-Api-Key":
		return true
	}
	return false
}

// reserved tells the headers that are about the message, the connection (RFC 9110
// §7.6.1) or MCP.
func reserved(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host",
		"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

func namesOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// template reads the document: one operation of the type and name that are said.
func (l *fileLoader) template(op *Operation) {
	kind, name, text := l.text("operation_type"), l.text("operation_name"), l.text("query_template")
	if l.required("operation_type", "query or mutation") {
		switch graph.Operation(kind) {
		case graph.Query, graph.Mutation:
		case graph.Subscription:
			l.fault(l.node("operation_type"), "a subscription is no tool: a call has one answer, and subscriptions go on")
		default:
			l.fault(l.node("operation_type"), "operation_type must be query or mutation, got %q", execute.Cut(kind, 80))
		}
	}
	named := l.required("operation_name", "the name that the operation has in query_template")
	if !l.required("query_template", "the GraphQL document") {
		return
	}
	n := l.node("query_template")
	tree, faults := execute.Parse(l.file, text, l.options.Limits)
	if len(faults) == 0 {
		var schema *graph.Schema
		if l.options.Schema != nil {
			schema = l.options.Schema.AST()
		}
		faults = execute.CheckParsed(schema, tree, l.options.Limits)
	}
	for _, f := range faults {
		at := l.placeIn(n, text, f.Line, f.Column)
		l.add(at, "query_template: %s", faultOf(f, "", at).Message)
	}
	if tree == nil || len(tree.Operations) == 0 {
		return
	}
	if len(tree.Operations) > 1 {
		l.fault(n, "query_template holds %d operations: write one to a file", len(tree.Operations))
		return
	}
	definition := tree.Operations[0]
	at := l.placeIn(n, text, definition.Position.Line, definition.Position.Column)
	if kind != "" && string(definition.Operation) != kind {
		l.add(at, "operation_type says %s, and query_template holds a %s", execute.Cut(kind, 80), definition.Operation)
	}
	switch {
	case !named:
	case definition.Name == "":
		l.add(at, "the operation has no name in query_template: write %s after %s", execute.Cut(name, 80), definition.Operation)
	case definition.Name != name:
		l.add(at, "operation_name says %s, and query_template has %s", execute.Cut(name, 80), definition.Name)
	}
	l.incremental(tree, n, text)
	if len(faults) > 0 {
		return
	}
	l.definition = definition
	l.query = selection{root: definition.SelectionSet, fragments: tree.Fragments}
	op.Type, op.OperationName = Type(definition.Operation), definition.Name
	op.Document = printed(definition, tree.Fragments)
	op.ID = IDOf(op.Document)
}

// incremental refuses directives that ask for an answer in parts.
func (l *fileLoader) incremental(tree *graph.QueryDocument, n ast.Node, text string) {
	refuse := func(all graph.DirectiveList) {
		for _, d := range all {
			if d.Name == "defer" || d.Name == "stream" {
				l.add(l.placeIn(n, text, d.Position.Line, d.Position.Column), "incremental delivery is unsupported: leave @%s out", d.Name)
			}
		}
	}
	var walk func(graph.SelectionSet)
	walk = func(set graph.SelectionSet) {
		for _, s := range set {
			switch s := s.(type) {
			case *graph.Field:
				refuse(s.Directives)
				walk(s.SelectionSet)
			case *graph.InlineFragment:
				refuse(s.Directives)
				walk(s.SelectionSet)
			case *graph.FragmentSpread:
				refuse(s.Directives)
			}
		}
	}
	for _, o := range tree.Operations {
		walk(o.SelectionSet)
	}
	for _, f := range tree.Fragments {
		walk(f.SelectionSet)
	}
}

// arguments reads what the tool takes, and how variables are made of it.
func (l *fileLoader) arguments(op *Operation) {
	b := &binding{defaults: map[string]json.RawMessage{}}
	schema := l.input(b, op)
	types := builtin()
	if l.options.Schema != nil {
		types = l.options.Schema.AST()
	}
	used := l.sources(b, fitting{arguments: b.schema, types: types, scalars: l.scalars})
	if l.definition == nil || b.schema == nil {
		return
	}
	for _, v := range l.definition.VariableDefinitions {
		mapped := slices.ContainsFunc(b.slots, func(s source) bool { return s.variable == v.Variable })
		if !mapped && v.Type.NonNull && v.DefaultValue == nil {
			n := l.node("query_template")
			l.add(l.placeIn(n, l.text("query_template"), v.Position.Line, v.Position.Column),
				"$%s must be given (%s), and input_mapping has no %s", v.Variable, v.Type, v.Variable)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.schema.Properties)) {
		if !used[name] && !used["*"] {
			l.fault(within(schema, []string{"properties", name}), "%s is sent nowhere: input_mapping has no path to it", name)
		}
	}
	definition := l.definition
	b.coerce = func(variables json.RawMessage) (json.RawMessage, []execute.Fault) {
		return execute.Coerce(types, definition, variables, l.scalars)
	}
	op.variables = b.variables
}

// input reads variables_schema.
func (l *fileLoader) input(b *binding, op *Operation) ast.Node {
	n := l.node("variables_schema")
	said := map[string]any{"type": "object", "properties": map[string]any{}}
	if n != nil {
		before := len(l.faults)
		object, ok := l.value(n, 0).(map[string]any)
		if len(l.faults) > before {
			return n
		}
		if !ok {
			l.fault(n, "variables_schema must be a JSON Schema of an object")
			return n
		}
		said = object
	}
	if !l.closable(n, said) {
		return n
	}
	if said["properties"] == nil {
		said["properties"] = map[string]any{}
	}
	said["additionalProperties"] = false
	schema := closed(said)
	compiled, err := compile("variables_schema", schema)
	if err != nil {
		l.invalid(n, err)
		return n
	}
	for _, name := range slices.Sorted(maps.Keys(compiled.Properties)) {
		property := compiled.Properties[name]
		if property.Default == nil {
			continue
		}
		if wrong := checkValue(property, *property.Default); len(wrong) > 0 {
			l.fault(within(n, []string{"properties", name, "default"}), "the default of %s does not fit its own schema: %s", name, strings.Join(wrong, "; "))
		}
		if b.defaults[name], err = execute.Encode(*property.Default); err != nil {
			l.fault(n, "the default of %s cannot be written: %v", name, err)
		}
	}
	b.schema = compiled
	if op.Input, err = execute.Encode(schema); err != nil {
		l.fault(n, "variables_schema cannot be written: %v", err)
	}
	return n
}

// invalid adds a fault for a JSON Schema that is none, where it is none.
func (l *fileLoader) invalid(n ast.Node, err error) {
	if invalid, ok := errors.AsType[*schemaError](err); ok {
		n = within(n, invalid.location)
	}
	l.fault(n, "%v", err)
}

// closable says what a tool's input cannot have at its top.
func (l *fileLoader) closable(n ast.Node, schema map[string]any) bool {
	before := len(l.faults)
	if kind, ok := schema["type"]; ok && kind != "object" {
		l.fault(within(n, []string{"type"}), "variables_schema must have type: object, got %s", shown(kind))
	}
	schema["type"] = "object"
	if more, ok := schema["additionalProperties"]; ok && more != false {
		l.fault(within(n, []string{"additionalProperties"}), "variables_schema is closed: additionalProperties must be false, and may be left out")
	}
	for _, name := range []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "$ref", "patternProperties"} {
		if schema[name] != nil {
			l.fault(within(n, []string{name}), "%s cannot stand at the top of variables_schema: clients do not take it there", name)
		}
	}
	return len(l.faults) == before
}

// sources reads input_mapping and returns which arguments are used; "*" stands
// for all.
func (l *fileLoader) sources(b *binding, f fitting) map[string]bool {
	used := map[string]bool{}
	n := l.node("input_mapping")
	if n == nil {
		return used
	}
	entries := l.mapping(n)
	slices.SortFunc(entries, func(x, y *ast.MappingValueNode) int { return strings.Compare(keyOf(x), keyOf(y)) })
	for _, e := range entries {
		s := source{variable: strings.TrimPrefix(keyOf(e), "$")}
		var declared *graph.VariableDefinition
		if l.definition != nil {
			if declared = l.definition.VariableDefinitions.ForName(s.variable); declared == nil {
				l.fault(e.Key, "query_template declares no variable $%s", execute.Cut(s.variable, 80))
			}
		}
		if _, isMapping := e.Value.(ast.MapNode); isMapping {
			l.constant(&s, e.Value, declared, f)
		} else if p, ok := l.path(e.Value, "input_mapping."+s.variable); !ok {
			used["*"] = true
		} else {
			s.path = &p
			used[firstName(p)] = true
			if declared != nil && f.arguments != nil {
				if why := f.check(declared, p); why != "" {
					l.fault(e.Value, "input_mapping: %s", why)
				}
			}
		}
		b.slots = append(b.slots, s)
	}
	return used
}

// constant reads {const: value}.
func (l *fileLoader) constant(s *source, n ast.Node, declared *graph.VariableDefinition, f fitting) {
	entries := l.mapping(n)
	if len(entries) != 1 || keyOf(entries[0]) != "const" {
		l.fault(n, "input_mapping.%s must be a path such as $.id, or {const: value}", s.variable)
		return
	}
	s.constant = l.value(entries[0].Value, 0)
	if declared == nil {
		return
	}
	if why := f.takes(declared.Type, s.constant); why != "" {
		l.fault(entries[0].Value, "the constant does not fit $%s: %s", s.variable, why)
	}
}

// firstName is the argument that a path leads into; "*" where it is not one.
func firstName(p jsonPath) string {
	if p.stem > 0 {
		if name, ok := nameOf(p.segments[0]); ok {
			return name
		}
	}
	return "*"
}

// path reads a JSONPath.
func (l *fileLoader) path(n ast.Node, what string) (jsonPath, bool) {
	before := len(l.faults)
	text := l.textOf(n, what)
	if len(l.faults) > before {
		return jsonPath{}, false
	}
	p, err := parsePath(text)
	if err != nil {
		l.fault(n, "%s: %v", what, err)
		return jsonPath{}, false
	}
	return p, true
}

// response reads how results are made of answers.
func (l *fileLoader) response(op *Operation) {
	m := &op.mapping
	at := l.query.spot()
	known := l.definition != nil
	follow := func(from spot, n ast.Node, p jsonPath, what string) spot {
		to, err := l.query.follow(from, p)
		if err != nil && known {
			l.fault(n, "%s: %v", what, err)
		}
		if err != nil || !known {
			to.open = true
		}
		return to
	}
	if n := l.node("response_path"); n != nil {
		if p, ok := l.path(n, "response_path"); ok {
			m.response = p
			at = follow(at, n, p, "response_path")
		}
	}
	if n := l.node("output"); n != nil {
		m.output = []slot{}
		for _, e := range l.mapping(n) {
			if p, ok := l.path(e.Value, "output."+keyOf(e)); ok {
				m.output = append(m.output, slot{key: keyOf(e), path: p})
				follow(at, e.Value, p, "output."+keyOf(e))
			}
		}
	}
	if n := l.node("error_policy"); n != nil {
		l.policy(&m.policy, n, func(n ast.Node, p jsonPath) { follow(l.query.spot(), n, p, "failure_paths") })
	}
	if n := l.node("output_schema"); n != nil {
		l.output(op, n)
	}
}

func (l *fileLoader) policy(p *policy, n ast.Node, follow func(ast.Node, jsonPath)) {
	for _, e := range l.mapping(n) {
		switch key := keyOf(e); key {
		case "partial":
			switch l.textOf(e.Value, "partial") {
			case "accept":
				p.acceptPartial = true
			case "fail":
			default:
				l.fault(e.Value, "partial must be fail or accept")
			}
		case "null_is_error":
			p.nullIsError = l.flag(e.Value, key)
		case "failure_paths":
			l.texts(e.Value, key, func(item ast.Node, _ string) {
				if path, ok := l.path(item, key); ok {
					p.paths = append(p.paths, path)
					follow(item, path)
				}
			})
		case "failure_typenames":
			l.texts(e.Value, key, func(item ast.Node, glob string) { l.typename(p, item, glob) })
			if len(p.typenames) > 0 && l.definition != nil && !l.query.selects("__typename") {
				l.fault(e.Value, "failure_typenames: %v", errNoTypename)
			}
		default:
			l.fault(e.Key, "unknown key %q in error_policy: there is partial, null_is_error, failure_paths, failure_typenames", execute.Cut(key, 80))
		}
	}
}

// typename reads a glob for names of types, of which the schema must have one.
func (l *fileLoader) typename(p *policy, n ast.Node, glob string) {
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		l.fault(n, "%q is no glob for the name of a type", execute.Cut(glob, 80))
		return
	}
	p.typenames = append(p.typenames, glob)
	if l.options.Schema == nil {
		return
	}
	if !slices.ContainsFunc(l.options.Schema.Names(), (policy{typenames: []string{glob}}).matches) {
		l.fault(n, "the schema has no type %q", execute.Cut(glob, 80))
	}
}

// output reads output_schema, and makes the schema of the tool's answer of it.
func (l *fileLoader) output(op *Operation, n ast.Node) {
	before := len(l.faults)
	value := l.value(n, 0)
	if len(l.faults) > before {
		return
	}
	schema, ok := value.(map[string]any)
	if !ok {
		l.fault(n, "output_schema must be a JSON Schema")
		return
	}
	compiled, err := compile("output_schema", schema)
	if err != nil {
		l.invalid(n, err)
		return
	}
	op.mapping.schema = compiled
	published := schema
	if schema["type"] != "object" {
		op.mapping.wrapped = true
		published = wrap(schema)
	}
	if op.Output, err = execute.Encode(published); err != nil {
		l.fault(n, "output_schema cannot be written: %v", err)
	}
}

// wrap is the schema of an object that has what a schema describes under
// "result". Definitions stay at the top, where references look for them.
func wrap(schema map[string]any) map[string]any {
	inner, outer := maps.Clone(schema), map[string]any{"type": "object", "required": []any{"result"}, "additionalProperties": false}
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		if value, ok := inner[name]; ok {
			outer[name] = value
			delete(inner, name)
		}
	}
	outer["properties"] = map[string]any{"result": inner}
	return outer
}
