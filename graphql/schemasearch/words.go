package schemasearch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Bounds on what is analysed.
const (
	maxWord  = 64   // bytes of a word
	maxText  = 4000 // bytes of a description that count
	maxTerms = 64   // different words of a query
)

// identifierWords splits a name into its words: at underscores, at humps
// ("userEmail"), and where an acronym ends ("HTMLUrl", "IBANs of"). Digits stay
// with the word before them ("v2").
func identifierWords(name string) []string {
	var words []string
	for _, piece := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		start := 0
		for i, r := range piece {
			if i > start && unicode.IsUpper(r) {
				before, _ := utf8.DecodeLastRuneInString(piece[:i])
				rest := piece[i+utf8.RuneLen(r):]
				next, _ := utf8.DecodeRuneInString(rest)
				switch {
				case !unicode.IsUpper(before), // aB, 2B
					unicode.IsLower(next) && !pluralEnd(rest): // ABc
					words = append(words, strings.ToLower(piece[start:i]))
					start = i
				}
			}
		}
		words = append(words, strings.ToLower(piece[start:]))
	}
	return words
}

// pluralEnd tells the s of an acronym in the plural: "IBANs", "URLsOf".
func pluralEnd(rest string) bool {
	if !strings.HasPrefix(rest, "s") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[1:])
	return !unicode.IsLower(next)
}

// textWords gives the words of a text, those within identifiers included.
func textWords(text string) []string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	var words []string
	for _, piece := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && !unicode.IsMark(r)
	}) {
		words = append(words, identifierWords(piece)...)
	}
	return words
}

// vocabulary numbers the stems of words.
type vocabulary struct {
	stems map[string]int32 // by word
	ids   map[string]int32 // by stem
}

func newVocabulary() *vocabulary {
	return &vocabulary{stems: map[string]int32{}, ids: map[string]int32{}}
}

// id is the number of a word's stem; it is given one if it has none.
func (v *vocabulary) id(word string) int32 {
	if id, ok := v.stems[word]; ok {
		return id
	}
	s := stem(word)
	id, ok := v.ids[s]
	if !ok {
		id = int32(len(v.ids))
		v.ids[strings.Clone(s)] = id
	}
	v.stems[strings.Clone(word)] = id
	return id
}

// stem brings a word to its stem by the English Snowball algorithm
// (https://snowballstem.org). Words with digits or of other scripts stay as they are.
func stem(word string) string {
	if len(word) > maxWord {
		word = word[:maxWord]
	}
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// stopWord tells words that say nothing in a question about an API.
func stopWord(word string) bool {
	switch word {
	case "a", "an", "the", "of", "for", "to", "and", "or", "in", "on", "at", "by", "with", "from", "as", "into",
		"is", "are", "was", "were", "be", "been", "do", "does", "did", "can", "could", "should", "would", "will",
		"how", "what", "which", "who", "where", "when", "why", "that", "this", "these", "those", "there",
		"i", "me", "my", "we", "us", "our", "you", "your", "it", "its", "they", "their", "his", "her":
		return true
	}
	return false
}
