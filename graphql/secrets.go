package graphql

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// leastSecret is the length from which a value is looked for in what an
// endpoint says: shorter ones stand in too many words.
const leastSecret = 6

// harmless are the names of headers and parameters whose values are no secrets,
// and are of use in an error.
var harmless = regexp.MustCompile(`(?i)^(accept.*|content-.*|user-agent)$|version|locale|language|region|tenant`)

// Hide takes the values of headers that were sent in confidence out of a text,
// in whatever form an endpoint may give them back.
func Hide(text string, headers http.Header) string { return hider(headers).Replace(text) }

// hider takes the values of headers and of an address's query out of a text,
// the longest first, since one may begin with another.
func hider(sent ...map[string][]string) *strings.Replacer {
	var found []string
	for _, named := range sent {
		for name, values := range named {
			if harmless.MatchString(name) {
				continue
			}
			for _, value := range values {
				found = append(found, secretsIn(value)...)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, secret := range slices.Compact(found) {
		pairs = append(pairs, secret, "***")
	}
	return strings.NewReplacer(pairs...)
}

// secretsIn are the words of a value as an endpoint may give them back: as they
// are, without the name before them (a cookie's), and in JSON or an address.
func secretsIn(value string) []string {
	var all []string
	add := func(s string) {
		if len(s) < leastSecret || strings.EqualFold(s, "bearer") {
			return
		}
		all = append(all, s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(s, "/", `\/`))
		if quoted, err := json.Marshal(s); err == nil {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '\t' || r == ';' || r == ',' }) {
		add(word)
		if _, bare, ok := strings.Cut(word, "="); ok {
			add(strings.Trim(bare, `"`))
		}
	}
	return all
}

// hide takes out of an endpoint's errors what it was sent in confidence, and
// what cannot be seen.
func hide(errors []Error, secrets *strings.Replacer) {
	for i := range errors {
		e := &errors[i]
		e.Message = secrets.Replace(cleanText(e.Message))
		for j, step := range e.Path {
			if name, ok := step.(string); ok {
				e.Path[j] = secrets.Replace(cleanText(name))
			}
		}
		if e.Extensions != nil {
			e.Extensions = json.RawMessage(secrets.Replace(string(e.Extensions)))
		}
	}
}

func (c *Client) hider(own http.Header) *strings.Replacer {
	return hider(c.headers, own, c.address.Query())
}
