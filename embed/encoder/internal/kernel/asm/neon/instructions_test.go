package main

import "testing"

// The words are those of GNU as.
func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name     string
		operands []int
		bits     uint32
		text     string
	}{
		{"fadd", []int{31, 1, 17}, 0x4e31d43f, "fadd v31.4s, v1.4s, v17.4s"},
		{"fcvtns", []int{30, 29}, 0x4e21abbe, "fcvtns v30.4s, v29.4s"},
		{"fmla[]", []int{0, 30, 24, 0}, 0x4f9813c0, "fmla v0.4s, v30.4s, v24.s[0]"},
		{"fmla[]", []int{23, 31, 29, 3}, 0x4fbd1bf7, "fmla v23.4s, v31.4s, v29.s[3]"},
		{"sdot[]", []int{7, 30, 25, 1}, 0x4fb9e3c7, "sdot v7.4s, v30.16b, v25.4b[1]"},
		{"sdot[]", []int{8, 31, 26, 2}, 0x4f9aebe8, "sdot v8.4s, v31.16b, v26.4b[2]"},
		{"smlal2", []int{29, 23, 25}, 0x4e3982fd, "smlal2 v29.8h, v23.16b, v25.16b"},
		{"sadalp", []int{15, 29}, 0x4e606baf, "sadalp v15.4s, v29.8h"},
		{"sqxtn16", []int{6, 5}, 0x4e2148a6, "sqxtn2 v6.16b, v5.8h"},
		{"shl23", []int{6, 7}, 0x4f3754e6, "shl v6.4s, v7.4s, #23"},
		{"faddp", []int{4, 4}, 0x7e30d884, "faddp s4, v4.2s"},
	} {
		bits, text := forms()[c.name].encode(c.operands...)
		if bits != c.bits || text != c.text {
			t.Errorf("%s %v: got %#08x, %s; want %#08x, %s", c.name, c.operands, bits, text, c.bits, c.text)
		}
	}
}
