package search

// maxPerPage is how many entries a page has in a grouped answer.
const maxPerPage = 2

// reach is how many chunks a hit is widened by on each side.
const reach = 1

// entry is a hit and the ordinals of the chunks that it may show: itself and
// the neighbours that no better hit of the section has taken.
type entry struct {
	hit         scored
	first, last int
}

type pageKey struct{ source, url string }

type sectionKey struct {
	page    pageKey
	section int
}

type chunkKey struct {
	section sectionKey
	ordinal int
}

// group makes the entries of an answer from ranked hits. A hit that a better
// one shows as its neighbour is a part of it. Unless ungrouped, a section has
// one entry and a page two.
func group(hits []scored, ungrouped bool) []entry {
	var entries []entry
	pages, sections, taken := map[pageKey]int{}, map[sectionKey]bool{}, map[chunkKey]bool{}
	for _, hit := range hits {
		page := pageKey{hit.Source, hit.URL}
		section := sectionKey{page, hit.Section}
		if taken[chunkKey{section, hit.Ordinal}] {
			continue
		}
		if !ungrouped && (sections[section] || pages[page] == maxPerPage) {
			continue
		}
		sections[section] = true
		pages[page]++
		e := entry{hit: hit, first: hit.Ordinal, last: hit.Ordinal}
		for e.first > max(0, hit.Ordinal-reach) && !taken[chunkKey{section, e.first - 1}] {
			e.first--
		}
		for e.last < min(hit.PageChunks-1, hit.Ordinal+reach) && !taken[chunkKey{section, e.last + 1}] {
			e.last++
		}
		for ordinal := e.first; ordinal <= e.last; ordinal++ {
			taken[chunkKey{section, ordinal}] = true
		}
		entries = append(entries, e)
	}
	return entries
}
