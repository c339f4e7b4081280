// Command asm generates the assembly of package kernel for amd64.
//
// Vectors are 32 bytes wide (AVX2 with FMA) or 64 bytes (AVX-512). A function
// computes one tile or one row, so that none runs for more than a few
// microseconds: assembly cannot be preempted.
package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the instructions read as assembly
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand" //nolint:revive // the instructions read as assembly
	"github.com/mmcloughlin/avo/reg"
)

// group is the number of consecutive rows of a weight matrix that stand
// together, panel that of columns.
const (
	group = 4
	panel = 32
)

// vectors are the registers that a set of functions uses.
type vectors struct {
	suffix string
	bytes  int
	new    func() reg.VecVirtual
	// constants are those that stand in memory already, by name.
	constants map[string]Mem
}

// lanes is the number of 32-bit elements in a vector.
func (v vectors) lanes() int { return v.bytes / 4 }

// A row is worked on in steps of 16 numbers, and sums of a row are made of 16
// partial ones whatever the width of a vector, so that all kernels round alike.
const stepBytes = 64

// parts makes the registers that a step of a row needs.
func (v vectors) parts() []reg.VecVirtual {
	parts := make([]reg.VecVirtual, stepBytes/v.bytes)
	for i := range parts {
		parts[i] = v.new()
	}
	return parts
}

// part is the place of part i of a step.
func (v vectors) part(base reg.Register, i int) Mem { return Mem{Base: base, Disp: v.bytes * i} }

func main() {
	constants := map[string]Mem{}
	narrow := vectors{"AVX2", 32, YMM, constants}
	wide := vectors{"AVX512", 64, ZMM, constants}
	for _, rows := range []int{1, 3, 6} {
		narrow.dotWords(rows)
		narrow.dotBytes(rows)
		narrow.matMul(rows)
	}
	for _, rows := range []int{1, 4, 12} {
		wide.dotBytes(rows)
		wide.matMul(rows)
	}
	for _, v := range []vectors{narrow, wide} {
		v.extremes()
		v.softmax()
		v.gelu()
		v.addNorm()
	}
	narrow.quantizeWords()
	narrow.quantizeBytes()
	wide.quantizeBytes()
	narrow.transpose()
	Generate()
}

// text starts a function.
func text(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(strings.Split(name+" "+doc, "\n")...)
}

func load(name string) reg.Register { return Load(Param(name), GP64()) }

// rows addresses consecutive rows of one distance in bytes: a base register for
// every four of them, plus up to three times the distance.
type rows struct {
	bases            []reg.Register
	distance, triple reg.Register
}

func newRows(base, distance reg.Register, n int) rows {
	r := rows{bases: []reg.Register{base}, distance: distance}
	if n > 3 {
		r.triple = GP64()
		LEAQ(Mem{Base: distance, Index: distance, Scale: 2}, r.triple)
	}
	for i := 4; i < n; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: r.bases[len(r.bases)-1], Index: distance, Scale: 4}, next)
		r.bases = append(r.bases, next)
	}
	return r
}

// at is the address that lies offset bytes behind the start of row i.
func (r rows) at(i, offset int) Mem {
	m := Mem{Base: r.bases[i/4], Disp: offset}
	switch i % 4 {
	case 1, 2:
		m.Index, m.Scale = r.distance, uint8(i%4)
	case 3:
		m.Index, m.Scale = r.triple, 1
	}
	return m
}

// advance moves all rows on by n bytes.
func (r rows) advance(n int) {
	for _, base := range r.bases {
		ADDQ(U32(n), base)
	}
}

// loop repeats body count times, count being a register that it uses up. With
// maybeNone it looks first whether there is anything to do.
func loop(name string, count reg.Register, maybeNone bool, body func()) {
	if maybeNone {
		TESTQ(count, count)
		JZ(LabelRef(name + "End"))
	}
	Label(name)
	body()
	DECQ(count)
	JNZ(LabelRef(name))
	if maybeNone {
		Label(name + "End")
	}
}

// grid makes n × m zeroed accumulators.
func (v vectors) grid(n, m int) [][]reg.VecVirtual {
	g := make([][]reg.VecVirtual, n)
	for i := range g {
		for range m {
			a := v.new()
			v.zero(a)
			g[i] = append(g[i], a)
		}
	}
	return g
}

func (v vectors) zero(r reg.VecVirtual) {
	if v.bytes == 64 {
		VPXORD(r, r, r)
	} else {
		VPXOR(r, r, r)
	}
}

const dotSignature = "func(a *%s, lda int, b *int8, depth int, dst *float32, ldd int, zero *int32, scale *float32, sum *int32, columnScale *float32, bias *float32)"

// dotBytes makes a tile of rows × two vectors of sums of products of unsigned
// and signed bytes: with AVX-512 VNNI, or in its narrower form with AVX-VNNI.
func (v vectors) dotBytes(n int) {
	text(fmt.Sprintf("dotBytes%sx%d", v.suffix, n), fmt.Sprintf(dotSignature, "uint8"),
		fmt.Sprintf("sets rows of %d columns of a product of quantised matrices.\nlda and ldd are in bytes; depth is a multiple of 16.", 2*v.lanes()))
	a := newRows(load("a"), load("lda"), n)
	b, steps := load("b"), load("depth")
	SHRQ(Imm(4), steps)
	sums := v.grid(n, 2)
	left, right := v.new(), v.new()
	loop("step", steps, false, func() {
		for u := range 4 {
			VMOVUPS(Mem{Base: b, Disp: u * panel * group}, left)
			VMOVUPS(Mem{Base: b, Disp: u*panel*group + v.bytes}, right)
			for i := range n {
				x := v.new()
				VPBROADCASTD(a.at(i, u*group), x)
				v.dpbusd(left, x, sums[i][0])
				v.dpbusd(right, x, sums[i][1])
			}
		}
		ADDQ(U32(4*panel*group), b)
		a.advance(4 * group)
	})
	v.finishDot(sums)
}

// dpbusd adds the products of each four unsigned bytes of x and signed ones of
// w to a 32-bit sum: VPDPBUSD, which avo does not know. Go's assembler knows the
// form of AVX-512 only.
func (v vectors) dpbusd(w, x, sum reg.VecVirtual) {
	i := &ir.Instruction{
		Opcode:   "VPDPBUSD",
		Operands: []Op{w, x, sum},
		Inputs:   []Op{w, x, sum},
		Outputs:  []Op{sum},
		ISA:      []string{"AVX512VNNI"},
	}
	if v.bytes == 32 {
		i.Opcode, i.ISA = "BYTE", []string{"AVXVNNI"}
		i.Operands = []Op{vexDPBUSD{U8(0), i}}
	}
	Instruction(i)
}

// vexDPBUSD is the operand of BYTE that makes it the instruction
// VEX.256.66.0F38.W0 50 /r on the registers that its inputs are bound to.
type vexDPBUSD struct {
	Constant
	instruction *ir.Instruction
}

func (o vexDPBUSD) Asm() string {
	var r [3]byte
	for i, op := range o.instruction.Inputs {
		register, ok := op.(reg.Physical)
		if !ok {
			panic("VPDPBUSD is printed before its registers are allocated")
		}
		r[i] = byte(register.PhysicalIndex())
	}
	return vex50(r[0], r[1], r[2])
}

// vex50 encodes VPDPBUSD sum, x, w (the order of Intel's manual), numbers of YMM registers.
func vex50(w, x, sum byte) string {
	const inverted = 1
	code := []byte{
		0xC4,
		(sum>>3^inverted)<<7 | 1<<6 | (w>>3^inverted)<<5 | 0b00010, // the high bits of sum and w, and the map 0F38
		(^x&15)<<3 | 1<<2 | 0b01,                                   // x, 256 bits, and the prefix 66
		0x50,
		0b11<<6 | sum&7<<3 | w&7,
	}
	text := make([]string, len(code))
	for i, b := range code {
		text[i] = fmt.Sprintf("$0x%02x", b)
	}
	return strings.Join(text, "; BYTE ")
}

// dotWords makes a tile of rows × 8 sums of products of 16-bit words and bytes
// that are extended to words. VPMADDUBSW would take bytes, but it saturates.
func (v vectors) dotWords(n int) {
	text(fmt.Sprintf("dotWords%sx%d", v.suffix, n), fmt.Sprintf(dotSignature, "int16"),
		"sets rows of 8 columns of a product of quantised matrices.\nlda and ldd are in bytes; depth is a multiple of 16.")
	a := newRows(load("a"), load("lda"), n)
	b, steps := load("b"), load("depth")
	SHRQ(Imm(4), steps)
	sums := v.grid(n, 2)
	left, right := v.new(), v.new()
	loop("step", steps, false, func() {
		for u := range 4 {
			VPMOVSXBW(Mem{Base: b, Disp: u * panel * group}, left)
			VPMOVSXBW(Mem{Base: b, Disp: u*panel*group + 16}, right)
			for i := range n {
				x, product := v.new(), v.new()
				VPBROADCASTQ(a.at(i, u*group*2), x)
				VPMADDWD(left, x, product)
				VPADDD(product, sums[i][0], sums[i][0])
				VPMADDWD(right, x, product)
				VPADDD(product, sums[i][1], sums[i][1])
			}
		}
		ADDQ(U32(4*panel*group), b)
		a.advance(4 * group * 2)
	})
	for i := range sums {
		// Each sum is in two neighbouring halves yet, of columns 0 to 3 and 4 to 7.
		VPHADDD(sums[i][1], sums[i][0], sums[i][0])
		VPERMQ(Imm(0b11_01_10_00), sums[i][0], sums[i][0])
		sums[i] = sums[i][:1]
	}
	v.finishDot(sums)
}

// finishDot turns integer sums into floats and stores them:
// (sum − zero·columnSum) · scale·columnScale + bias.
func (v vectors) finishDot(sums [][]reg.VecVirtual) {
	dst, ldd := load("dst"), load("ldd")
	zero, scale := load("zero"), load("scale")
	column := map[string]reg.Register{}
	for _, name := range []string{"sum", "columnScale", "bias"} {
		column[name] = load(name)
	}
	t, f := v.new(), v.new()
	for i := range sums {
		for j, sum := range sums[i] {
			VPBROADCASTD(Mem{Base: zero, Disp: 4 * i}, t)
			VPMULLD(Mem{Base: column["sum"], Disp: v.bytes * j}, t, t)
			VPSUBD(t, sum, sum)
			VCVTDQ2PS(sum, sum)
			VBROADCASTSS(Mem{Base: scale, Disp: 4 * i}, f)
			VMULPS(Mem{Base: column["columnScale"], Disp: v.bytes * j}, f, f)
			VFMADD213PS(Mem{Base: column["bias"], Disp: v.bytes * j}, f, sum)
			VMOVUPS(sum, Mem{Base: dst, Disp: v.bytes * j})
		}
		if i+1 < len(sums) {
			ADDQ(ldd, dst)
		}
	}
	VZEROUPPER()
	RET()
}

// matMul makes a tile of n rows and two vectors of columns of a product of
// 32-bit floats.
func (v vectors) matMul(n int) {
	text(fmt.Sprintf("matMul%sx%d", v.suffix, n),
		"func(a *float32, lda int, b *float32, depth int, dst *float32, ldd int, factor *float32)",
		fmt.Sprintf("sets rows of %d columns of a matrix product, each times its factor.\nlda and ldd are in bytes.", 2*v.lanes()))
	a := newRows(load("a"), load("lda"), n)
	b, rest := load("b"), load("depth")
	steps := GP64()
	MOVQ(rest, steps)
	SHRQ(Imm(2), steps)
	ANDQ(Imm(3), rest)
	sums := v.grid(n, 2)
	left, right := v.new(), v.new()
	step := func(count int) func() {
		return func() {
			for u := range count {
				VMOVUPS(Mem{Base: b, Disp: 2 * u * v.bytes}, left)
				VMOVUPS(Mem{Base: b, Disp: (2*u + 1) * v.bytes}, right)
				for i := range n {
					x := v.new()
					VBROADCASTSS(a.at(i, 4*u), x)
					VFMADD231PS(left, x, sums[i][0])
					VFMADD231PS(right, x, sums[i][1])
				}
			}
			ADDQ(U32(2*count*v.bytes), b)
			a.advance(4 * count)
		}
	}
	loop("four", steps, true, step(4))
	loop("one", rest, true, step(1))
	dst, ldd, factor := load("dst"), load("ldd"), load("factor")
	f := v.new()
	for i := range sums {
		VBROADCASTSS(Mem{Base: factor, Disp: 4 * i}, f)
		for j, sum := range sums[i] {
			VMULPS(f, sum, sum)
			VMOVUPS(sum, Mem{Base: dst, Disp: j * v.bytes})
		}
		if i+1 < n {
			ADDQ(ldd, dst)
		}
	}
	VZEROUPPER()
	RET()
}

// reduce folds the parts of a step into the lowest lane of the first: lane i and
// i+8, then i and i+4, i and i+2, 0 and 1.
func (v vectors) reduce(parts []reg.VecVirtual, fold func(ops ...Op)) reg.VecVirtual {
	r, t := parts[0], v.new()
	if len(parts) == 2 {
		fold(parts[1], r, r)
	} else {
		VEXTRACTF64X4(U8(1), r, t.AsY())
		fold(t.AsY(), r.AsY(), r.AsY())
	}
	VEXTRACTF128(U8(1), r.AsY(), t.AsX())
	fold(t.AsX(), r.AsX(), r.AsX())
	for _, order := range []uint8{0b01_00_11_10, 0b10_11_00_01} {
		VPERMILPS(U8(order), r.AsX(), t.AsX())
		fold(t.AsX(), r.AsX(), r.AsX())
	}
	return r
}

// steps loads the number of steps in the parameter n.
func steps() reg.Register {
	n := load("n")
	SHRQ(U8(4), n)
	return n
}

func (v vectors) extremes() {
	text("extremes"+v.suffix, "func(x *float32, n int) (least, most float32)", "finds the extremes of n numbers, a multiple of 16.")
	x, n := load("x"), steps()
	least, most, t := v.parts(), v.parts(), v.new()
	for i := range least {
		VMOVUPS(v.part(x, i), least[i])
		VMOVUPS(v.part(x, i), most[i])
	}
	loop("next", n, false, func() {
		for i := range least {
			VMOVUPS(v.part(x, i), t)
			VMINPS(t, least[i], least[i])
			VMAXPS(t, most[i], most[i])
		}
		ADDQ(U32(stepBytes), x)
	})
	Store(v.reduce(least, VMINPS).AsX(), ReturnIndex(0))
	Store(v.reduce(most, VMAXPS).AsX(), ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// quantizeBytes spreads numbers over 256 levels, a byte each.
func (v vectors) quantizeBytes() {
	v.quantize("quantizeBytes"+v.suffix, "uint8", func(dst reg.Register, parts []reg.VecVirtual) {
		t := parts[0]
		if v.bytes == 64 {
			none := v.new()
			v.zero(none)
			VPMAXSD(none, t, t)
			VPMOVUSDB(t, t.AsX())
		} else {
			v.words(parts)
			high := v.new()
			VEXTRACTI128(U8(1), t, high.AsX())
			VPACKUSWB(high.AsX(), t.AsX(), t.AsX())
		}
		VMOVDQU(t.AsX(), Mem{Base: dst})
		ADDQ(U32(16), dst)
	})
}

// quantizeWords spreads numbers over 256 levels, 16 bits each.
func (v vectors) quantizeWords() {
	most := v.constant("mostLevel", 255|255<<16)
	v.quantize("quantizeWords"+v.suffix, "int16", func(dst reg.Register, parts []reg.VecVirtual) {
		v.words(parts)
		VPMINUW(most, parts[0], parts[0])
		VMOVDQU(parts[0], Mem{Base: dst})
		ADDQ(U32(32), dst)
	})
}

// words packs the two parts of a step into the first, 16 unsigned bits each.
func (v vectors) words(parts []reg.VecVirtual) {
	VPACKUSDW(parts[1], parts[0], parts[0])
	VPERMQ(Imm(0b11_01_10_00), parts[0], parts[0])
}

// quantize turns a step of numbers into levels of 32 bits each, which store
// bounds, packs and stores.
func (v vectors) quantize(name, element string, store func(dst reg.Register, parts []reg.VecVirtual)) {
	text(name, fmt.Sprintf("func(dst *%s, x *float32, n int, inverse float32, zero int32)", element),
		"sets dst to the levels of n numbers, a multiple of 16.")
	dst, x, n := load("dst"), load("x"), steps()
	inverse, zero := v.new(), v.new()
	VBROADCASTSS(paramAddr("inverse"), inverse)
	VMOVD(Load(Param("zero"), GP32()), zero.AsX())
	VPBROADCASTD(zero.AsX(), zero)
	loop("next", n, false, func() {
		parts := v.parts()
		for i, t := range parts {
			VMULPS(v.part(x, i), inverse, t)
			VCVTPS2DQ(t, t)
			VPADDD(zero, t, t)
		}
		store(dst, parts)
		ADDQ(U32(stepBytes), x)
	})
	VZEROUPPER()
	RET()
}

// paramAddr is where a parameter lies on the stack.
func paramAddr(name string) Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// constant is a vector of equal 32-bit elements in read-only memory.
func (v vectors) constant(name string, value uint32) Mem {
	m, ok := v.constants[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		for i := 0; i < 64; i += 8 {
			DATA(i, U64(uint64(value)<<32|uint64(value)))
		}
		v.constants[name] = m
	}
	return m
}

func (v vectors) float(name string, value float32) Mem {
	return v.constant(name, math.Float32bits(value))
}

// exp2 replaces x ≤ 0 by 2^x: the integer part goes into the exponent, the rest
// through a polynomial of degree 5 with a relative error below 1e-7.
func (v vectors) exp2(x reg.VecVirtual) {
	whole, t := v.new(), v.new()
	VMAXPS(v.float("leastExponent", -126), x, x)
	VCVTPS2DQ(x, whole)
	VCVTDQ2PS(whole, t)
	VSUBPS(t, x, t)
	VMOVUPS(v.float("power5", 0.0013276470126584172), x)
	for _, c := range []struct {
		name  string
		value float32
	}{
		{"power4", 0.009675540961325169},
		{"power3", 0.05550713092088699},
		{"power2", 0.24022120237350464},
		{"power1", 0.6931469440460205},
		{"one", 1},
	} {
		VFMADD213PS(v.float(c.name, c.value), t, x)
	}
	VPSLLD(Imm(23), whole, whole)
	VPADDD(whole, x, x)
}

func (v vectors) softmax() {
	text("softmax"+v.suffix, "func(x *float32, n int) (sum float32)",
		"turns n numbers, a multiple of 16, into exp(x − max) and sums them.")
	x, n := load("x"), steps()
	at, count := GP64(), GP64()
	MOVQ(x, at)
	MOVQ(n, count)
	parts := v.parts()
	for i, most := range parts {
		VMOVUPS(v.part(at, i), most)
	}
	loop("max", count, false, func() {
		for i, most := range parts {
			VMAXPS(v.part(at, i), most, most)
		}
		ADDQ(U32(stepBytes), at)
	})
	most := v.reduce(parts, VMAXPS)
	VBROADCASTSS(most.AsX(), most)
	log2e, sums := v.new(), v.parts()
	VMOVUPS(v.float("log2e", 1.4426950408889634), log2e)
	VMULPS(log2e, most, most)
	for _, sum := range sums {
		v.zero(sum)
	}
	loop("exp", n, false, func() {
		for i, sum := range sums {
			e := v.new()
			VMOVUPS(v.part(x, i), e)
			VFMSUB213PS(most, log2e, e)
			v.exp2(e)
			VMOVUPS(e, v.part(x, i))
			VADDPS(e, sum, sum)
		}
		ADDQ(U32(stepBytes), x)
	})
	Store(v.reduce(sums, VADDPS).AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// gelu computes x·(1 + erf(x/√2))/2. The error function is an odd rational of
// degrees 13 and 8 on −4 to 4, outside of which it is ±1 in 32-bit floats; the
// absolute error is below 4e-7.
func (v vectors) gelu() {
	text("gelu"+v.suffix, "func(x *float32, n int)", "applies GELU to n numbers, a multiple of 16.")
	x, n := load("x"), load("n")
	SHRQ(U8(map[int]uint8{32: 3, 64: 4}[v.bytes]), n)
	loop("next", n, false, func() {
		in, z, square, above, below := v.new(), v.new(), v.new(), v.new(), v.new()
		VMOVUPS(Mem{Base: x}, in)
		VMULPS(v.float("rootHalf", 0.7071067811865476), in, z)
		VMINPS(v.float("erfMost", 4), z, z)
		VMAXPS(v.float("erfLeast", -4), z, z)
		VMULPS(z, z, square)
		v.polynomial("erfAbove", above, square, -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06,
			-5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)
		v.polynomial("erfBelow", below, square, -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
			-7.37332916720468e-03, -1.42647390514189e-02)
		VMULPS(z, above, above)
		VDIVPS(below, above, above)
		VMULPS(v.float("half", 0.5), in, in)
		VFMADD213PS(in, in, above)
		VMOVUPS(above, Mem{Base: x})
		ADDQ(U32(v.bytes), x)
	})
	VZEROUPPER()
	RET()
}

// polynomial sets dst to a polynomial of x, the highest coefficient first.
func (v vectors) polynomial(name string, dst, x reg.VecVirtual, coefficients ...float32) {
	for i, c := range coefficients {
		m := v.float(fmt.Sprintf("%s%d", name, len(coefficients)-1-i), c)
		if i == 0 {
			VMOVUPS(m, dst)
		} else {
			VFMADD213PS(m, x, dst)
		}
	}
}

func (v vectors) addNorm() {
	text("addNorm"+v.suffix, "func(x, residual, gain, bias *float32, n int, epsilon float32)",
		"sets x to the layer normalisation of x + residual, n numbers, a multiple of 16.")
	x, residual, gain, bias, rest := load("x"), load("residual"), load("gain"), load("bias"), steps()
	at, count := GP64(), GP64()
	restart := func() {
		MOVQ(x, at)
		MOVQ(rest, count)
	}
	next := func(registers ...reg.Register) {
		for _, r := range registers {
			ADDQ(U32(stepBytes), r)
		}
	}
	width := XMM()
	VXORPS(width, width, width)
	VCVTSI2SSQ(load("n"), width, width)
	t, sums, squares := v.new(), v.parts(), v.parts()
	for i := range sums {
		v.zero(sums[i])
		v.zero(squares[i])
	}

	restart()
	loop("sum", count, false, func() {
		for i, sum := range sums {
			VMOVUPS(v.part(at, i), t)
			VADDPS(v.part(residual, i), t, t)
			VMOVUPS(t, v.part(at, i))
			VADDPS(t, sum, sum)
		}
		next(at, residual)
	})
	mean := v.reduce(sums, VADDPS)
	VDIVSS(width, mean.AsX(), mean.AsX())
	VBROADCASTSS(mean.AsX(), mean)

	restart()
	loop("square", count, false, func() {
		for i, sum := range squares {
			VMOVUPS(v.part(at, i), t)
			VSUBPS(mean, t, t)
			VFMADD231PS(t, t, sum)
		}
		next(at)
	})
	factor := v.reduce(squares, VADDPS)
	VDIVSS(width, factor.AsX(), factor.AsX())
	VADDSS(paramAddr("epsilon"), factor.AsX(), factor.AsX())
	VSQRTSS(factor.AsX(), factor.AsX(), factor.AsX())
	one := XMM()
	VMOVSS(v.float("one", 1), one)
	VDIVSS(factor.AsX(), one, factor.AsX())
	VBROADCASTSS(factor.AsX(), factor)

	loop("scale", rest, false, func() {
		for i := range sums {
			g := v.new()
			VMOVUPS(v.part(x, i), t)
			VSUBPS(mean, t, t)
			VMULPS(factor, t, t)
			VMOVUPS(v.part(gain, i), g)
			VFMADD213PS(v.part(bias, i), g, t)
			VMOVUPS(t, v.part(x, i))
		}
		next(x, gain, bias)
	})
	VZEROUPPER()
	RET()
}

// transpose turns a block of as many rows as columns.
func (v vectors) transpose() {
	text("transposeAVX2", "func(dst *float32, ldd int, src *float32, lds int)",
		"sets the 8 × 8 block dst to the transposed block src.\nldd and lds are in bytes.")
	dst, src := newRows(load("dst"), load("ldd"), 8), newRows(load("src"), load("lds"), 8)
	r := make([]reg.VecVirtual, 8)
	for i := range r {
		r[i] = v.new()
		VMOVUPS(src.at(i, 0), r[i])
	}
	// After the first round neighbours share pairs of rows, after the second
	// blocks of four, and the last one joins halves of vectors.
	var pairs, fours []reg.VecVirtual
	for rows := range slices.Chunk(r, 2) {
		low, high := v.new(), v.new()
		VUNPCKLPS(rows[1], rows[0], low)
		VUNPCKHPS(rows[1], rows[0], high)
		pairs = append(pairs, low, high)
	}
	for rows := range slices.Chunk(pairs, 4) {
		for j := range 2 {
			low, high := v.new(), v.new()
			VSHUFPS(U8(0b01_00_01_00), rows[2+j], rows[j], low)
			VSHUFPS(U8(0b11_10_11_10), rows[2+j], rows[j], high)
			fours = append(fours, low, high)
		}
	}
	for i := range 4 {
		low, high := v.new(), v.new()
		VPERM2F128(Imm(0x20), fours[i+4], fours[i], low)
		VPERM2F128(Imm(0x31), fours[i+4], fours[i], high)
		VMOVUPS(low, dst.at(i, 0))
		VMOVUPS(high, dst.at(i+4, 0))
	}
	VZEROUPPER()
	RET()
}
