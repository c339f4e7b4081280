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

// group makes the entries of an answer from ranked hits. A section has one
// entry and a page two. Ungrouped, each hit is an entry, which is not widened by
// other hits, so that no text is in two entries.
func group(hits []scored, ungrouped bool) []entry {
	var entries []entry
	pages, sections, taken := map[pageKey]int{}, map[sectionKey]bool{}, map[chunkKey]bool{}
	if ungrouped {
		for _, hit := range hits {
			taken[hit.key()] = true
		}
	}
	for _, hit := range hits {
		key := hit.key()
		if section := key.section; !ungrouped {
			if sections[section] || pages[section.page] == maxPerPage {
				continue
			}
			sections[section] = true
			pages[section.page]++
		}
		e := entry{hit: hit, first: hit.Ordinal, last: hit.Ordinal}
		free := func(ordinal int) bool { return !taken[chunkKey{key.section, ordinal}] }
		for e.first > max(0, hit.Ordinal-reach) && free(e.first-1) {
			e.first--
		}
		for e.last < min(hit.PageChunks-1, hit.Ordinal+reach) && free(e.last+1) {
			e.last++
		}
		for ordinal := e.first; ordinal <= e.last; ordinal++ {
			taken[chunkKey{key.section, ordinal}] = true
		}
		entries = append(entries, e)
	}
	return entries
}

func (s scored) key() chunkKey {
	return chunkKey{sectionKey{pageKey{s.Source, s.URL}, s.Section}, s.Ordinal}
}
