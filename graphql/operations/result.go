package operations

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
)

// State says what kind of answer a call gave.
type State string

// The states of a result.
const (
	// Found is a value.
	Found State = "found"
	// Null is a null, or an empty list from a path that leads into a null.
	Null State = "null"
	// Empty is an empty list.
	Empty State = "empty"
	// Missing means that the response path leads to nothing in the answer.
	Missing State = "missing"
	// Failed means that the operation did not do what it is for.
	Failed State = "failed"
)

// Result is what a call of an operation gave.
type Result struct {
	State State
	// Value is what the mapping made of the answer; nil where there is none. A
	// failure may have one too, from an answer that is partial or does not match
	// its schema.
	Value json.RawMessage
	// Errors say what failed; never nil. Where the error policy accepts partial
	// answers, they stand beside a result that is no failure.
	Errors []execute.Fault
	// Hint says what the result means for the caller; empty if there is nothing to say.
	Hint string
	// Sent is the request without credentials; nil if nothing was sent.
	Sent *graphql.Request
	// Data is all that the endpoint answered; nil if it answered none.
	Data json.RawMessage

	wrapped bool // an object stands under "result" too
}

// Failed reports whether the call is an error for the caller: it failed, or a
// path that has to lead to one value leads to none.
func (r Result) Failed() bool { return r.State == Failed || r.State == Missing && r.Value == nil }

// Object is the value as a tool answers it, a JSON object: what is none stands
// under "result". It is nil where there is no value.
func (r Result) Object() json.RawMessage {
	if r.Value == nil || r.Value[0] == '{' && !r.wrapped {
		return r.Value
	}
	return append(append(json.RawMessage(`{"result":`), r.Value...), '}')
}

// fail makes a failure of the result.
func (r Result) fail(format string, args ...any) Result {
	r.State = Failed
	r.Errors = append(r.Errors, execute.Fault{Message: execute.Cut(fmt.Sprintf(format, args...), maxMessageRunes)})
	return r
}

// mapping makes results of answers, as an operation file says. The zero value
// takes the data as it is.
type mapping struct {
	response jsonPath
	// output reshapes the value at the response path, or each value of a list
	// that the path selects; nil leaves it as it is.
	output []slot
	// schema is what every result is held to; nil for none.
	schema *jsonschema.Schema
	// wrapped says that the result stands under "result" whatever it is.
	wrapped bool
	policy  policy
}

// slot is one entry of a reshaped output.
type slot struct {
	key  string
	path jsonPath
}

// result maps an answer: the errors that stand beside the data, what the data
// itself says has failed, the response path, the shape, and the output's schema,
// in this order.
func (m mapping) result(a execute.Answer) Result {
	r := Result{State: Found, Errors: a.Errors, Hint: a.Hint, Data: a.Data, wrapped: m.wrapped}
	if r.Errors == nil {
		r.Errors = []execute.Fault{}
	}
	if a.Data == nil {
		r.State = Failed
		return r
	}
	data, err := execute.Decode(a.Data)
	if err != nil {
		return r.fail("the data cannot be read: %v", err)
	}
	failures, err := m.policy.failures(data)
	if err != nil {
		return r.fail("%v", err)
	}
	value, state, err := m.value(data)
	if err != nil {
		return r.fail("%v", err)
	}
	r.State = state
	if state != Missing || !m.response.definite() {
		if r.Value, err = execute.Encode(value); err != nil {
			return r.fail("the result cannot be written: %v", err)
		}
	}
	if len(failures) > 0 {
		r.State, r.Errors = Failed, append(r.Errors, failures...)
		return r
	}
	return m.judge(r, a, data, value)
}

// judge holds a result to the policy and to the output's schema.
func (m mapping) judge(r Result, a execute.Answer, data, value any) Result {
	nothing := r.State == Null || r.State == Missing
	null := m.response.nullAbove(data)
	if r.State == Null {
		null = m.response.stemText()
	}
	switch {
	case a.Failed() && (!m.policy.acceptPartial || nothing):
		r.State = Failed
		return r
	case null != "" && m.policy.nullIsError:
		return r.fail("the answer is null at %s", null)
	case r.State == Missing && r.Value == nil:
		message := "path not found: the answer has nothing at " + m.response.text
		if null != "" {
			message += ", since it has a null at " + null
		}
		r.Errors = append(r.Errors, execute.Fault{Message: message})
		return r
	case nothing && null != "":
		r.Hint = m.emptied(r.Hint, "a null at "+null)
	case nothing:
		r.Hint = m.emptied(r.Hint, "nothing at "+m.response.stemText())
	}
	if m.schema != nil {
		if wrong := checkValue(m.schema, value); len(wrong) > 0 {
			return r.fail("the answer does not match output_schema: %s", strings.Join(wrong, "; "))
		}
	}
	return r
}

// emptied adds to a hint why there is nothing in a list.
func (m mapping) emptied(hint, why string) string {
	if m.response.definite() {
		return hint
	}
	return strings.TrimSpace(hint + " The list is empty because the answer has " + why + ".")
}

// value is what the response path selects in the data, in its shape.
func (m mapping) value(data any) (any, State, error) {
	value, state, err := m.response.get(data)
	if err != nil || m.output == nil || value == nil {
		return value, state, err
	}
	if m.response.definite() {
		value, err = m.shape(value)
		return value, state, err
	}
	items, ok := value.([]any)
	if !ok {
		return nil, "", errors.New("select the response: a path that selects several values gave no list")
	}
	shaped := make([]any, len(items))
	for i, item := range items {
		if shaped[i], err = m.shape(item); err != nil {
			return nil, "", err
		}
	}
	return shaped, state, nil
}

// shape is the output of one value. What a path does not lead to is left out;
// a null stays a null.
func (m mapping) shape(value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	out := make(map[string]any, len(m.output))
	for _, slot := range m.output {
		part, state, err := slot.path.get(value)
		if err != nil {
			return nil, err
		}
		if state != Missing || !slot.path.definite() {
			out[slot.key] = part
		}
	}
	return out, nil
}
