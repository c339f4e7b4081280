package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// federation knows which names of a schema are not part of the API but of the
// way Apollo Federation composes and routes it
// (https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/directives,
// https://specs.apollo.dev/link/v1.0).
type federation struct {
	namespaces   map[string]bool // of names such as join__Graph
	types        map[string]bool
	directives   map[string]bool
	inaccessible map[string]bool // the names under which @inaccessible is used
}

// hideFederation takes out what only machines behind a router use, and what the
// schema itself declares inaccessible.
func (d *document) hideFederation() {
	f := federation{
		namespaces:   set("join", "link", "core", "federation"),
		types:        set("_Any", "_Entity", "_Service", "_FieldSet"),
		directives:   map[string]bool{},
		inaccessible: set("inaccessible", "federation__inaccessible"),
	}
	if !f.learn(d) {
		return
	}
	for _, name := range []string{
		"authenticated", "composeDirective", "context", "core", "cost", "extends", "external", "fromContext",
		"inaccessible", "interfaceObject", "key", "link", "listSize", "override", "policy", "provides", "requires",
		"requiresScopes", "shareable", "tag",
	} {
		f.directives[name] = true
	}
	d.DirectiveExtensions = slices.DeleteFunc(d.DirectiveExtensions, f.hidesDirective)
	d.Directives = slices.DeleteFunc(d.Directives, f.hidesDirective)
	for _, list := range []*ast.DefinitionList{&d.Definitions, &d.Extensions} {
		for _, def := range *list {
			if f.marked(def.Directives) {
				f.types[def.Name] = true
			}
		}
	}
	for _, list := range []*ast.DefinitionList{&d.Definitions, &d.Extensions} {
		*list = slices.DeleteFunc(*list, func(def *ast.Definition) bool { return f.hidesType(def.Name) })
		for _, def := range *list {
			f.strip(def)
		}
	}
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// learn reads the names that the schema links to, and says whether it is one of
// a federation at all.
func (f *federation) learn(d *document) bool {
	found := false
	for _, list := range []ast.SchemaDefinitionList{d.Schema, d.SchemaExtension} {
		for _, schema := range list {
			for _, directive := range schema.Directives {
				if directive.Name == "link" || directive.Name == "core" {
					f.link(directive)
					found = true
				}
			}
		}
	}
	for _, list := range []ast.DefinitionList{d.Definitions, d.Extensions} {
		for _, def := range list {
			found = found || f.hidesType(def.Name) || def.Directives.ForName("key") != nil
		}
	}
	for _, def := range d.Directives {
		if def.Name == "key" {
			found = true
			if fields := def.Arguments.ForName("fields"); fields != nil && strings.HasSuffix(fields.Type.Name(), "FieldSet") {
				f.types[fields.Type.Name()] = true
			}
		}
		found = found || f.hidesDirective(def)
	}
	return found
}

// link takes in one @link(url:, as:, import:) or @core(feature:, as:).
func (f *federation) link(directive *ast.Directive) {
	text := func(name string) string {
		if a := directive.Arguments.ForName(name); a != nil && a.Value != nil {
			return a.Value.Raw
		}
		return ""
	}
	address := text("url") + text("feature")
	segments := strings.Split(strings.TrimRight(address, "/"), "/")
	name := segments[len(segments)-1]
	if len(segments) > 1 && strings.HasPrefix(name, "v") {
		name = segments[len(segments)-2]
	}
	space := name
	if as := text("as"); as != "" {
		space = as
	}
	if space != "" {
		f.namespaces[space], f.directives[space] = true, true
	}
	if name == "inaccessible" {
		f.inaccessible[space] = true
	}
	imports := directive.Arguments.ForName("import")
	if imports == nil || imports.Value == nil {
		return
	}
	for _, child := range imports.Value.Children {
		original, local := child.Value.Raw, child.Value.Raw
		for _, field := range child.Value.Children {
			switch field.Name {
			case "name":
				original = field.Value.Raw
				if local == "" {
					local = original
				}
			case "as":
				local = field.Value.Raw
			}
		}
		if bare, ok := strings.CutPrefix(local, "@"); ok {
			f.directives[bare] = true
			if original == "@inaccessible" {
				f.inaccessible[bare] = true
			}
		} else if local != "" {
			f.types[local] = true
		}
	}
}

func (f *federation) hidesDirective(def *ast.DirectiveDefinition) bool {
	space, _, ok := strings.Cut(def.Name, "__")
	return ok && f.namespaces[space] || f.directives[def.Name]
}

func (f *federation) hidesType(name string) bool {
	space, _, ok := strings.Cut(name, "__")
	return ok && f.namespaces[space] || f.types[name]
}

func (f *federation) marked(directives ast.DirectiveList) bool {
	return slices.ContainsFunc(directives, func(d *ast.Directive) bool { return f.inaccessible[d.Name] })
}

// strip takes the hidden members out of a type.
func (f *federation) strip(def *ast.Definition) {
	def.Fields = slices.DeleteFunc(def.Fields, func(field *ast.FieldDefinition) bool {
		return f.marked(field.Directives) || f.hidesType(field.Type.Name())
	})
	for _, field := range def.Fields {
		field.Arguments = slices.DeleteFunc(field.Arguments, func(a *ast.ArgumentDefinition) bool {
			return f.marked(a.Directives) || f.hidesType(a.Type.Name())
		})
	}
	def.EnumValues = slices.DeleteFunc(def.EnumValues, func(v *ast.EnumValueDefinition) bool { return f.marked(v.Directives) })
	def.Types, def.TypePositions = slices.DeleteFunc(def.Types, f.hidesType), nil
	def.Interfaces = slices.DeleteFunc(def.Interfaces, f.hidesType)
}
