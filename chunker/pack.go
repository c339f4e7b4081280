package chunker

import "strings"

// pack chooses at which borders to cut: the cheapest way to divide the grains
// into chunks that fit, where a chunk costs the square of the fraction of it
// that stays empty. Counting in integers, it chooses the same way everywhere.
func (k *cutter) pack() []piece {
	type choice struct{ cost, from int }
	best := make([]choice, len(k.grains)+1)
	for j := 1; j <= len(k.grains); j++ {
		last := k.grains[j-1]
		tail, tailBytes := 0, 0
		if last.frame != nil {
			tail, tailBytes = last.frame.tailTokens, len(last.frame.tail)
		}
		best[j] = choice{cost: -1}
		tokens := tail
		for i := j - 1; i >= 0; i-- {
			tokens += k.grains[i].tokens
			bytes := last.end - k.grains[i].start + tailBytes
			lead := 0
			if i > 0 && k.grains[i-1].frame != nil {
				lead = k.grains[i-1].frame.leadTokens
				bytes += len(k.grains[i-1].frame.lead)
			}
			if i < j-1 && (tokens > k.budget || k.grains[i].forced || bytes > 2*k.budget*bytesPerToken) {
				break
			}
			if i < j-1 && (tokens+lead > k.budget || bytes > k.budget*bytesPerToken) {
				continue
			}
			cost := best[i].cost + k.chunkCost(tokens+lead)
			if j < len(k.grains) {
				cost += last.cost
			}
			if best[j].cost < 0 || cost < best[j].cost {
				best[j] = choice{cost: cost, from: i}
			}
		}
	}
	var cuts []int
	for j := len(k.grains); j > 0; j = best[j].from {
		cuts = append(cuts, j)
	}
	pieces := make([]piece, 0, len(cuts))
	for c, from := len(cuts)-1, 0; c >= 0; c-- {
		pieces = append(pieces, k.piece(from, cuts[c]))
		from = cuts[c]
	}
	return pieces
}

func (k *cutter) chunkCost(tokens int) int {
	empty := 1000 * max(k.budget-tokens, 0) / k.budget
	cost := empty * empty / 1000
	if tokens < tinyTokens {
		cost += costTiny
	}
	return cost
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
