package main

import "fmt"

// form is an instruction that Go's assembler does not know: its encoding without
// operands, and its text, registers in the order destination, first, second.
type form struct {
	bits uint32
	text string
}

// forms are the vector instructions of the Arm Architecture Reference Manual
// (C7.2) that the kernels need, by a name of their own.
func forms() map[string]form {
	const (
		three   = "v%d.4s, v%d.4s, v%d.4s"
		two     = "v%d.4s, v%d.4s"
		element = "v%d.4s, v%d.4s, v%d.s[%d]"
	)
	return map[string]form{
		"add":    {0x4EA08400, "add " + three},
		"addp":   {0x4EA0BC00, "addp " + three},
		"mls":    {0x6EA09400, "mls " + three},
		"fadd":   {0x4E20D400, "fadd " + three},
		"fsub":   {0x4EA0D400, "fsub " + three},
		"fmul":   {0x6E20DC00, "fmul " + three},
		"fdiv":   {0x6E20FC00, "fdiv " + three},
		"fmax":   {0x4E20F400, "fmax " + three},
		"fmin":   {0x4EA0F400, "fmin " + three},
		"fmla":   {0x4E20CC00, "fmla " + three},
		"scvtf":  {0x4E21D800, "scvtf " + two},
		"fcvtns": {0x4E21A800, "fcvtns " + two},
		"shl23":  {0x4F375400, "shl " + two + ", #23"},
		"fmaxv":  {0x6E30F800, "fmaxv s%d, v%d.4s"},
		"fminv":  {0x6EB0F800, "fminv s%d, v%d.4s"},
		"faddp":  {0x7E30D800, "faddp s%d, v%d.2s"},

		// By one element of the second register, which the last operand numbers.
		"fmla[]": {0x4F801000, "fmla " + element},
		"sdot[]": {0x4F80E000, "sdot v%d.4s, v%d.16b, v%d.4b[%d]"},

		"smull":  {0x0E20C000, "smull v%d.8h, v%d.8b, v%d.8b"},
		"smull2": {0x4E20C000, "smull2 v%d.8h, v%d.16b, v%d.16b"},
		"smlal":  {0x0E208000, "smlal v%d.8h, v%d.8b, v%d.8b"},
		"smlal2": {0x4E208000, "smlal2 v%d.8h, v%d.16b, v%d.16b"},
		"sadalp": {0x4E606800, "sadalp v%d.4s, v%d.8h"},

		"sqxtn4":  {0x0E614800, "sqxtn v%d.4h, v%d.4s"},
		"sqxtn8":  {0x4E614800, "sqxtn2 v%d.8h, v%d.4s"},
		"sqxtn8b": {0x0E214800, "sqxtn v%d.8b, v%d.8h"},
		"sqxtn16": {0x4E214800, "sqxtn2 v%d.16b, v%d.8h"},
	}
}

// encode puts operands into a form: the registers destination, first and, where
// there is one, second, then the element of the second.
func (f form) encode(operands ...int) (bits uint32, text string) {
	bits = f.bits
	arguments := make([]any, len(operands))
	for i, o := range operands {
		arguments[i] = o
		// An element is the bits H:L, which lie apart.
		bits |= [...]uint32{uint32(o), uint32(o) << 5, uint32(o) << 16, uint32(o)>>1<<11 | uint32(o)&1<<21}[i]
	}
	return bits, fmt.Sprintf(f.text, arguments...)
}
