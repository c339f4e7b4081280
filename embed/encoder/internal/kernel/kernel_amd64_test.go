package kernel

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// With DOCSEEK_TEST_AVXVNNI set the kernel for AVX-VNNI is tested on a processor
// that lacks it, which needs an emulator.
func TestMain(m *testing.M) {
	if os.Getenv("DOCSEEK_TEST_AVXVNNI") != "" {
		cpu.X86.HasAVXVNNI = true
	}
	m.Run()
}

// AVX-VNNI is rarer than what the rest of its kernel needs, so that its levels
// are compared wherever AVX2 is.
func TestLevelsForAVXVNNI(t *testing.T) {
	if !slices.Contains(All(), Kernel(avx2{})) {
		return
	}
	r := source()
	for range 300 {
		depth := 16 * (1 + r.IntN(30))
		x := normal(r, 3*depth, 2)
		var got, want Rows
		avxvnni{}.Quantize(&got, x, depth)
		generic{}.Quantize(&want, x, depth)
		if !slices.Equal(got.bytes, want.bytes) || !slices.Equal(got.zero, want.zero) || !slices.Equal(got.scale, want.scale) {
			t.Fatalf("%d columns: levels differ from those of plain Go", depth)
		}
	}
}
