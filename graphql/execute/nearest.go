package execute

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// anyway is how many members of a type are suggested where none is near.
	anyway = 3
	// contained is what a name counts as far away that contains the other.
	contained = 3
)

// nearest returns at most maxSuggestions of the names, those most like the given
// one first, by the number of letters to change. A name that contains the other
// is near. Those where more than half of the letters would have to change fill
// up to the least number.
func nearest(name string, names []string, least int) []string {
	type candidate struct {
		name     string
		distance int
	}
	name = strings.ToLower(Cut(name, 64))
	all := make([]candidate, 0, len(names))
	for _, other := range names {
		lower := strings.ToLower(other)
		d := distance(name, lower)
		if len(name) > 2 && len(lower) > 2 && (strings.Contains(lower, name) || strings.Contains(name, lower)) {
			d = min(d, contained)
		}
		all = append(all, candidate{other, d})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for i, c := range all[:min(maxSuggestions, len(all))] {
		if i < least || c.distance <= len(name)/2 {
			out = append(out, c.name)
		}
	}
	return out
}

// distance is the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
