//go:build linux && amd64

package main

import (
	"encoding/binary"
	"testing"
)

// The bytes are those of GNU as for {vex} vpdpbusd.
func TestDecode(t *testing.T) {
	for code, want := range map[[length]byte]instruction{
		{0xc4, 0xe2, 0x75, 0x50, 0xd0}: {sum: 2, x: 1, w: 0},
		{0xc4, 0x42, 0x0d, 0x50, 0xef}: {sum: 13, x: 14, w: 15},
		{0xc4, 0xc2, 0x7d, 0x50, 0xf8}: {sum: 7, x: 0, w: 8},
	} {
		if got, ok := decode(code); !ok || got != want {
			t.Errorf("% x: got %+v, %t, want %+v", code, got, ok, want)
		}
	}
	for _, code := range [][length]byte{
		{0xc4, 0xe2, 0x75, 0x51, 0xd0}, // VPDPBUSDS
		{0xc4, 0xe2, 0x71, 0x50, 0xd0}, // on XMM registers
		{0xc4, 0xe2, 0x75, 0x50, 0x10}, // from memory
		{0x62, 0xf2, 0x75, 0x28, 0x50}, // EVEX
	} {
		if got, ok := decode(code); ok {
			t.Errorf("% x: taken for %+v", code, got)
		}
	}
}

func TestDot(t *testing.T) {
	var s state
	binary.LittleEndian.PutUint64(s.area[components:], sse)
	s.area[upper+7] = 99 // what the upper halves hold does not count: they are in their initial state
	copy(s.lane(1, 0), []byte{255, 1, 2, 3})
	copy(s.lane(2, 0), []byte{0x81, 1, 1, 0x80}) // −127, 1, 1, −128
	binary.LittleEndian.PutUint32(s.lane(3, 0), 1000)
	s.dot(instruction{sum: 3, x: 1, w: 2})
	if got, want := int32(binary.LittleEndian.Uint32(s.lane(3, 0))), int32(1000-255*127+1+2-3*128); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if in := binary.LittleEndian.Uint64(s.area[components:]); in != sse|avx || s.area[upper+7] != 0 {
		t.Errorf("components %b, and the upper halves hold %d", in, s.area[upper+7])
	}
}
