package local

import "math/bits"

// bitmap is a set of small numbers.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

func (b bitmap) put(i int, in bool) {
	if in {
		b[i>>6] |= 1 << (i & 63)
	} else {
		b[i>>6] &^= 1 << (i & 63)
	}
}

// setRange sets from up to, and not including, to.
func (b bitmap) setRange(from, to int) {
	for from < to && from&63 != 0 {
		b.put(from, true)
		from++
	}
	for ; from+64 <= to; from += 64 {
		b[from>>6] = ^uint64(0)
	}
	for ; from < to; from++ {
		b.put(from, true)
	}
}

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}
