package local

import (
	"runtime"
	"unsafe"
)

// mapFrom is from how many bytes on memory is asked of the system itself.
const mapFrom = 1 << 18

// memory is room for values. A large one is not of the heap: the collector
// would let the heap grow to twice the vectors before it looks for garbage.
// Whoever reads floats keeps the memory alive.
type memory struct{ floats []float32 }

func newMemory(n int) *memory {
	m := &memory{}
	if 4*n >= mapFrom {
		if mapped, err := mapAnonymous(4 * n); err == nil {
			m.floats = unsafe.Slice((*float32)(unsafe.Pointer(&mapped[0])), n) //nolint:gosec // pages are aligned and 4n bytes long
			runtime.AddCleanup(m, unmap, mapped)
			return m
		}
	}
	m.floats = make([]float32, n)
	return m
}
