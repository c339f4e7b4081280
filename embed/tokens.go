package embed

// estimateTokens is how many tokens a text has for about any model, rather more
// than less: every three letters of a word are one, a digit or sign is one, and
// what is not ASCII is two, as for a vocabulary that has only bytes for it.
func estimateTokens(text string) int {
	tokens, letters := 0, 0 // letters of the word so far
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			if letters%3 == 0 {
				tokens++
			}
			letters++
			continue
		}
		letters = 0
		switch {
		case r >= 0x80:
			tokens += 2
		case r != ' ' && r != '\n':
			tokens++
		}
	}
	return tokens
}
