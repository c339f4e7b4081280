package operations

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/docseek/docseek/graphql/execute"
)

const again = ": run docseek operations build"

// Check says what keeps a set from being what the team meant, by place: the
// faults of its operations, persisted documents whose ids are not their hashes,
// documents that were built before and that the schema does not allow any more,
// and where the built files are not what [Build] or [ApolloManifest] would write now.
func Check(set Set, built []File) []Fault {
	faults := slices.Concat(set.Faults, set.tampered)
	for _, f := range built {
		if bytes.HasPrefix(bytes.TrimSpace([]byte(f.Text)), []byte("[")) {
			faults = append(faults, set.checkTools(f)...)
		} else {
			faults = append(faults, set.checkDocuments(f)...)
		}
	}
	return inOrder(faults)
}

func (s Set) checkDocuments(f File) []Fault {
	documents, err := ReadManifest([]byte(f.Text))
	if err != nil {
		return []Fault{{Place: Place{File: f.Path}, Message: err.Error() + again}}
	}
	var faults []Fault
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		text, known := s.Documents[id]
		switch {
		case known && text == documents[id]:
			continue
		case known || !isHash(id, documents[id]):
			faults = append(faults, Fault{Place: placeOfID(f, id), Message: "the text of " + id + " is not the one it is the hash of" + again})
			continue
		}
		_, invalid := checkDocument(f, id, documents[id], s.schema, s.limits)
		faults = append(faults, invalid...)
		if len(invalid) == 0 && !s.broken(func(o *Operation) bool { return o.ID == id }) {
			faults = append(faults, Fault{Place: placeOfID(f, id), Message: "the document " + id + " is that of no operation any more" + again})
		}
	}
	for _, o := range s.Operations {
		if _, ours := s.Documents[o.ID]; !ours {
			continue
		}
		if _, there := documents[o.ID]; !there {
			faults = append(faults, Fault{Place: o.Place, Operation: o.OperationName, Message: "the document of the operation is not in " + f.Path + again})
		}
	}
	return faults
}

func (s Set) checkTools(f File) []Fault {
	var there []tool
	if err := json.Unmarshal([]byte(f.Text), &there); err != nil {
		return []Fault{{Place: Place{File: f.Path}, Message: "it is no list of tools: " + err.Error() + again}}
	}
	text := func(t tool) string {
		encoded, _ := execute.Encode(t) // it was JSON
		return string(encoded)
	}
	written := map[string]string{}
	for _, t := range there {
		written[t.Name] = text(t)
	}
	var faults []Fault
	for _, o := range s.Published() {
		now := text(toolOf(o))
		before, ok := written[o.Name]
		delete(written, o.Name)
		var what string
		switch {
		case !ok:
			what = "the tool " + o.Name + " is not in " + f.Path
		case before != now:
			what = "the tool " + o.Name + " is another one in " + f.Path
		default:
			continue
		}
		faults = append(faults, Fault{Place: o.Place, Operation: o.OperationName, Message: what + again})
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if s.broken(func(o *Operation) bool { return o.Name == name }) {
			continue
		}
		faults = append(faults, Fault{Place: placeOfID(f, name), Message: "the tool " + name + " is that of no operation any more" + again})
	}
	return faults
}

// broken reports whether there is such an operation among those that have faults,
// which say more than that it is not there.
func (s Set) broken(is func(*Operation) bool) bool {
	return slices.ContainsFunc(s.Operations, func(o *Operation) bool {
		return o.Withheld != "" && o.Withheld != excluded && is(o)
	})
}
