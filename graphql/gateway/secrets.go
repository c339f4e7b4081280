package gateway

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/docseek/docseek/graphql/execute"
)

// leastSecret is the length from which a value is looked for in what an
// endpoint says: shorter ones stand in too many words.
const leastSecret = 6

var secretName = regexp.MustCompile(`(?i)auth|token|key|secret|cookie|password|session`)

// secrets hides the values of the configured headers, and of the address's
// query, whose names say that they are secret.
func secrets(headers http.Header, address string) *strings.Replacer {
	var pairs []string
	add := func(name, value string) {
		if !secretName.MatchString(name) {
			return
		}
		for part := range strings.FieldsSeq(value) {
			if len(part) >= leastSecret && !strings.EqualFold(part, "bearer") {
				pairs = append(pairs, part, "***")
			}
		}
	}
	for name, values := range headers {
		for _, value := range values {
			add(name, value)
		}
	}
	if u, err := url.Parse(address); err == nil {
		for name, values := range u.Query() {
			for _, value := range values {
				add(name, value)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// hide takes the secrets out of what an endpoint says of its errors.
func (e *endpoint) hide(faults []execute.Fault) []execute.Fault {
	hidden := make([]execute.Fault, len(faults))
	for i, f := range faults {
		f.Message = e.secrets.Replace(f.Message)
		if f.Extensions != nil {
			f.Extensions = []byte(e.secrets.Replace(string(f.Extensions)))
		}
		hidden[i] = f
	}
	return hidden
}
