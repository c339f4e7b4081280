package local

import (
	"cmp"
	"slices"
)

// scored is a row of a view with its score.
type scored struct {
	score float64
	view  *view
	row   int
}

// compare orders the better one first: by falling score, then by chunk id, then
// by source.
func (a scored) compare(b scored) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if c := cmp.Compare(a.view.key(a.row), b.view.key(b.row)); c != 0 {
		return c
	}
	return cmp.Compare(a.view.page(a.row).source, b.view.page(b.row).source)
}

// topK keeps the best k of what it is offered: a heap with the worst on top.
type topK struct {
	k    int
	heap []scored
}

func (t *topK) offer(s scored) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, s)
		for i := len(t.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if t.heap[up].compare(t.heap[i]) >= 0 {
				break
			}
			t.heap[up], t.heap[i] = t.heap[i], t.heap[up]
			i = up
		}
		return
	}
	if t.k == 0 || s.score < t.heap[0].score || s.compare(t.heap[0]) >= 0 {
		return
	}
	t.heap[0] = s
	for i := 0; ; {
		worst := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(t.heap) && t.heap[down].compare(t.heap[worst]) > 0 {
				worst = down
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

// best empties the heap, the best first.
func (t *topK) best() []scored {
	slices.SortFunc(t.heap, scored.compare)
	return t.heap
}
