package embed

// estimateTokens is how many tokens a text has for about any model, rather more
// than less: three letters make one, a digit or sign is one, and what is not
// ASCII is two, as in a vocabulary that has only bytes for it.
func estimateTokens(text string) int {
	var letters, tokens int
	for _, r := range text {
		switch {
		case r >= 0x80:
			tokens += 2
		case r == ' ', r == '\n', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			letters++
		default:
			tokens++
		}
	}
	return tokens + (letters+2)/3
}
