//go:build unix

// Command bench-ort compares the builtin model's speed with that of ONNX Runtime.
//
//	bench-ort [-rounds N] [-tokens N] PYTHON SCRIPT FLOAT32.onnx INT8.onnx
//
// It starts the script, which embeds with ONNX Runtime, and lets the engines
// take turns of one second, one thread each, so that whatever else the machine
// does meets all of them. Time is the processor's. It prints the median of the
// rounds, and of the ratios within a round.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/builtin"
	"github.com/docseek/docseek/embed/encoder"
)

// turn is how long an engine works before the next one does.
const turn = time.Second

// engine embeds a text of some tokens for some time and returns the texts per second.
type engine struct {
	name string
	rate func(ctx context.Context, tokens int, d time.Duration) (float64, error)
}

func main() {
	rounds := flag.Int("rounds", 7, "number of `rounds`")
	tokens := flag.Int("tokens", 256, "`tokens` of a text")
	flag.Parse()
	if flag.NArg() != 4 || *rounds < 1 {
		flag.Usage()
		log.Fatal("bench-ort needs PYTHON SCRIPT FLOAT32.onnx INT8.onnx")
	}
	if err := compare(context.Background(), os.Stdout, *rounds, *tokens, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func compare(ctx context.Context, out io.Writer, rounds, tokens int, command []string) error {
	runtime.GOMAXPROCS(1)
	peer, err := startWorker(ctx, command)
	if err != nil {
		return err
	}
	defer peer.stop()
	engines := []engine{{"ONNX Runtime f32", peer.engine("f32")}, {"ONNX Runtime int8", peer.engine("int8")}}
	for _, name := range encoder.Kernels() {
		if name == "generic" {
			continue
		}
		model, err := builtin.New(builtin.Options{CPU: name, Workers: 1})
		if err != nil {
			return err
		}
		engines = append(engines, engine{"docseek " + name, embedWith(model)})
	}

	rates := make([][]float64, len(engines))
	for round := range rounds + 1 {
		for i, e := range engines {
			rate, err := e.rate(ctx, tokens, turn)
			if err != nil {
				return fmt.Errorf("measure %s: %w", e.name, err)
			}
			if round > 0 { // the first one warms up
				rates[i] = append(rates[i], rate)
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%d tokens, 1 thread\ttexts/s\t÷ ORT f32\t÷ ORT int8\t\n", tokens)
	for i, e := range engines {
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.2f\t\n", e.name, median(rates[i]), median(ratios(rates[i], rates[0])), median(ratios(rates[i], rates[1])))
	}
	return w.Flush()
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}

func embedWith(m *builtin.Model) func(context.Context, int, time.Duration) (float64, error) {
	return func(ctx context.Context, tokens int, d time.Duration) (float64, error) {
		// "word" is one token.
		text := []string{strings.Repeat("word ", tokens-encoder.Overhead)}
		began, count := processorTime(), 0
		for {
			if _, err := m.Embed(ctx, text, embed.Passage); err != nil {
				return 0, err
			}
			count++
			if spent := processorTime() - began; spent >= d {
				return float64(count) / spent.Seconds(), nil
			}
		}
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// worker is the process that embeds with ONNX Runtime.
type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

func startWorker(ctx context.Context, command []string) (*worker, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the command is the user's
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start ONNX Runtime: %w", err)
	}
	w := &worker{c, in, bufio.NewScanner(out)}
	for w.out.Scan() {
		if w.out.Text() == "ready" {
			return w, nil
		}
	}
	w.stop()
	return nil, errors.New("start ONNX Runtime: it ended before it was ready")
}

func (w *worker) stop() {
	if err := errors.Join(w.in.Close(), w.command.Wait()); err != nil {
		log.Print(err)
	}
}

func (w *worker) engine(name string) func(context.Context, int, time.Duration) (float64, error) {
	return func(_ context.Context, tokens int, d time.Duration) (float64, error) {
		fmt.Fprintln(w.in, name, tokens, d.Seconds())
		if !w.out.Scan() {
			return 0, fmt.Errorf("ONNX Runtime gave no answer (%w)", w.out.Err())
		}
		var count, seconds float64
		if _, err := fmt.Sscan(w.out.Text(), &count, &seconds); err != nil {
			return 0, fmt.Errorf("read %q: %w", w.out.Text(), err)
		}
		return count / seconds, nil
	}
}
