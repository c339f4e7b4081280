//go:build linux && amd64

// Command avxvnni runs a program on a processor without AVX-VNNI as if it had
// VPDPBUSD in its VEX form on YMM registers: the program runs natively, traced,
// and where it stops at that instruction, this does what it would have done.
//
//	avxvnni PROGRAM [ARGUMENT...]
//
// The processor needs AVX2. A stop costs some 20 µs.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: avxvnni PROGRAM [ARGUMENT...]")
	}
	code, count, err := run(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "avxvnni: %d instructions emulated\n", count)
	os.Exit(code) //nolint:forbidigo // the status is the program's
}

// run traces a command until it ends, and counts what it emulated.
func run(command []string) (code, count int, err error) {
	runtime.LockOSThread()                        // the kernel knows a tracer by its thread
	c := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // the command is the user's
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return 0, 0, fmt.Errorf("trace %s: %w", command[0], err)
	}
	program := c.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(program, &status, 0, nil); err != nil {
		return 0, 0, fmt.Errorf("trace %s: %w", command[0], err)
	}
	if err := unix.PtraceSetOptions(program, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return 0, 0, fmt.Errorf("trace %s: %w", command[0], err)
	}
	for thread, signal := program, 0; ; {
		// A thread that another one has ended meanwhile cannot go on.
		if err := unix.PtraceCont(thread, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, count, fmt.Errorf("continue thread %d: %w", thread, err)
		}
		for stopped := false; !stopped; {
			if thread, err = unix.Wait4(-1, &status, unix.WALL, nil); err != nil {
				return 0, count, fmt.Errorf("wait for %s: %w", command[0], err)
			}
			switch {
			case thread == program && status.Exited():
				return status.ExitStatus(), count, nil
			case thread == program && status.Signaled():
				return 0, count, fmt.Errorf("%s was ended by %s", command[0], status.Signal())
			}
			stopped = status.Stopped()
		}
		switch s := status.StopSignal(); s {
		case unix.SIGTRAP, unix.SIGSTOP: // of tracing itself
			signal = 0
		case unix.SIGILL:
			signal = int(s)
			done, err := emulate(thread)
			if err != nil {
				return 0, count, fmt.Errorf("emulate in thread %d: %w", thread, err)
			}
			if done {
				signal = 0
				count++
			}
		default:
			signal = int(s)
		}
	}
}

// instruction is VPDPBUSD sum, x, w: numbers of YMM registers.
type instruction struct{ sum, x, w int }

const length = 5

// decode reads VEX.256.66.0F38.W0 50 /r between registers.
func decode(code [length]byte) (i instruction, ok bool) {
	high := func(inverted byte) int { return int(^inverted&1) << 3 }
	i = instruction{
		sum: int(code[4]>>3&7) | high(code[1]>>7),
		x:   int(^code[2] >> 3 & 15),
		w:   int(code[4]&7) | high(code[1]>>5),
	}
	return i, code[0] == 0xC4 && code[1]&31 == 2 && code[2]&0b1_0000_111 == 0b101 && code[3] == 0x50 && code[4]>>6 == 3
}

// emulate executes the instruction at which a thread stands, if it is the one.
func emulate(thread int) (done bool, err error) {
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(thread, &registers); err != nil {
		return false, err
	}
	var code [length]byte
	if _, err := unix.PtracePeekText(thread, uintptr(registers.Rip), code[:]); err != nil {
		return false, err
	}
	i, ok := decode(code)
	if !ok {
		return false, nil
	}
	var s state
	if err := s.transfer(unix.PTRACE_GETREGSET, thread); err != nil {
		return false, err
	}
	s.dot(i)
	if err := s.transfer(unix.PTRACE_SETREGSET, thread); err != nil {
		return false, err
	}
	registers.Rip += length
	return true, unix.PtraceSetRegs(thread, &registers)
}

// state is a thread's XSAVE area (Intel SDM volume 1, chapter 13), in its
// standard format.
type state struct {
	area [1 << 14]byte
	size uint64
}

const (
	components = 512 // which parts are not in their initial state, all zeros
	lower      = 160 // the lower halves of the YMM registers, 16 bytes each
	upper      = 576 // the upper ones
	sse, avx   = 1 << 1, 1 << 2
)

func (s *state) transfer(request, thread int) error {
	const xstate = 0x202 // NT_X86_XSTATE
	if request == unix.PTRACE_GETREGSET {
		s.size = uint64(len(s.area))
	}
	v := unix.Iovec{Base: &s.area[0], Len: s.size}
	_, _, failed := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(thread), xstate, uintptr(unsafe.Pointer(&v)), 0, 0) //nolint:gosec // what ptrace takes
	s.size = v.Len
	if failed != 0 {
		return failed
	}
	return nil
}

// lane is the place of one of the eight 32-bit parts of a register.
func (s *state) lane(register, i int) []byte {
	half := s.area[lower:]
	if i >= 4 {
		half = s.area[upper:]
	}
	return half[16*register+i%4*4:][:4]
}

func (s *state) dot(i instruction) {
	in := binary.LittleEndian.Uint64(s.area[components:])
	for _, part := range []struct {
		bit   uint64
		first int
	}{{sse, lower}, {avx, upper}} {
		if in&part.bit == 0 {
			clear(s.area[part.first : part.first+16*16])
		}
	}
	binary.LittleEndian.PutUint64(s.area[components:], in|sse|avx)
	for l := range 8 {
		sum := binary.LittleEndian.Uint32(s.lane(i.sum, l))
		x, w := s.lane(i.x, l), s.lane(i.w, l)
		for k := range 4 {
			sum += uint32(int32(x[k]) * int32(int8(w[k])))
		}
		binary.LittleEndian.PutUint32(s.lane(i.sum, l), sum)
	}
}
