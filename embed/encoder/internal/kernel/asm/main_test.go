package main

import "testing"

// The bytes are those of GNU as for {vex} vpdpbusd.
func TestVEXEncoding(t *testing.T) {
	for _, c := range []struct {
		w, x, sum byte
		want      string
	}{
		{0, 1, 2, "$0xc4; BYTE $0xe2; BYTE $0x75; BYTE $0x50; BYTE $0xd0"},
		{15, 14, 13, "$0xc4; BYTE $0x42; BYTE $0x0d; BYTE $0x50; BYTE $0xef"},
		{2, 4, 0, "$0xc4; BYTE $0xe2; BYTE $0x5d; BYTE $0x50; BYTE $0xc2"},
		{8, 0, 7, "$0xc4; BYTE $0xc2; BYTE $0x7d; BYTE $0x50; BYTE $0xf8"},
		{3, 9, 12, "$0xc4; BYTE $0x62; BYTE $0x35; BYTE $0x50; BYTE $0xe3"},
	} {
		if got := vex50(c.w, c.x, c.sum); got != c.want {
			t.Errorf("ymm%d, ymm%d, ymm%d: got %s, want %s", c.w, c.x, c.sum, got, c.want)
		}
	}
}
