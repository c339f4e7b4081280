package operations

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// snakeCase is the tool's name for a name of GraphQL: words in lower case with
// underscores between them. A word ends before a capital letter that follows a
// small one or a digit, and before the last of several capitals that a small
// letter follows; digits belong to the word before them.
func snakeCase(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if r == '_' {
			if s := b.String(); s != "" && !strings.HasSuffix(s, "_") {
				b.WriteByte('_')
			}
			continue
		}
		if i > 0 && unicode.IsUpper(r) && runes[i-1] != '_' {
			acronym := unicode.IsUpper(runes[i-1])
			if !acronym || i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSuffix(b.String(), "_")
}

// checkName says why a name cannot be a tool's; remedy says where to give another.
func checkName(name string, o Options, remedy string) error {
	switch {
	case !toolName.MatchString(name):
		return fmt.Errorf("the tool's name %q is not made of small letters, digits and underscores with a letter first: %s", name, remedy)
	case len(name) > o.MaxName:
		return fmt.Errorf("the tool's name %q has %d characters; at most %d leave room for the prefix that clients put before it: %s",
			name, len(name), o.MaxName, remedy)
	case slices.Contains(o.Reserved, name):
		return fmt.Errorf("the tool's name %q is that of a built-in tool: %s", name, remedy)
	}
	return nil
}
