package chunker

import (
	"slices"
	"strings"
)

// pack chooses at which borders to cut: the cheapest way to divide the grains
// into chunks that fit, where a chunk costs the square of the fraction of it
// that stays empty, as lines of a paragraph do (Knuth and Plass, "Breaking
// Paragraphs into Lines", 1981). Counting in integers, it chooses the same way
// on every machine.
func (k *cutter) pack() []piece {
	type choice struct{ cost, from int }
	best := make([]choice, len(k.grains)+1)
	chunkCost := k.chunkCosts()
	maxBytes := k.budget * bytesPerToken
	for j := 1; j <= len(k.grains); j++ {
		last := &k.grains[j-1]
		tokens, bytes := last.frame.tailSize()
		border := last.cost
		if j == len(k.grains) {
			border = 0
		}
		best[j].from = -1
		for i := j - 1; i >= 0; i-- {
			g := &k.grains[i]
			tokens += g.tokens
			size := bytes + last.end - g.start
			if i < j-1 && (g.forced || tokens > k.budget || size > maxBytes) {
				break
			}
			lead, leadBytes := 0, 0
			if i > 0 {
				lead, leadBytes = k.grains[i-1].frame.leadSize()
			}
			if i < j-1 && (tokens+lead > k.budget || size+leadBytes > maxBytes) {
				continue
			}
			cost := best[i].cost + chunkCost[min(tokens+lead, k.budget)] + border
			if best[j].from < 0 || cost < best[j].cost {
				best[j] = choice{cost: cost, from: i}
			}
		}
	}
	var ends []int
	for j := len(k.grains); j > 0; j = best[j].from {
		ends = append(ends, j)
	}
	slices.Reverse(ends)
	pieces := make([]piece, len(ends))
	from := 0
	for i, to := range ends {
		pieces[i] = k.piece(from, to)
		from = to
	}
	return pieces
}

// chunkCosts are the costs of chunks by their number of tokens.
func (k *cutter) chunkCosts() []int {
	costs := make([]int, k.budget+1)
	for tokens := range costs {
		empty := 1000 * (k.budget - tokens) / k.budget
		costs[tokens] = empty * empty / 1000
		if tokens < tinyTokens {
			costs[tokens] += costTiny
		}
	}
	return costs
}

// piece makes the grains i to j-1 a piece.
func (k *cutter) piece(i, j int) piece {
	start, end := k.grains[i].start, k.grains[j-1].end
	var p piece
	var b strings.Builder
	if i > 0 {
		p.glue = k.md[k.grains[i-1].end:start]
		if f := k.grains[i-1].frame; f != nil {
			p.lead = len(f.lead)
			b.WriteString(f.lead)
		}
	}
	b.WriteString(k.md[start:end])
	if f := k.grains[j-1].frame; f != nil {
		p.tail = len(f.tail)
		b.WriteString(f.tail)
	}
	p.text = b.String()
	return p
}
