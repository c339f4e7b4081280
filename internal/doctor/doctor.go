// Package doctor finds out what works of a configured docseek and what does not,
// by trying it: each check does a little of the real thing and, where it fails,
// says what to do.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Check is what one look at one thing gave.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail is what was found.
	Detail string `json:"detail"`
	// Remedy says what to do; it may be given where all is well enough, too.
	Remedy string `json:"remedy,omitempty"`
}

// Report is what all checks gave.
type Report struct {
	// OK says that no check failed.
	OK     bool    `json:"ok"`
	Checks []Check `json:"checks"`
}

// BrokenError is an error that says what to do about it.
type BrokenError struct {
	Err    error
	Remedy string
}

func (e *BrokenError) Error() string { return e.Err.Error() }

func (e *BrokenError) Unwrap() error { return e.Err }

func problem(remedy, format string, args ...any) error {
	return &BrokenError{Err: fmt.Errorf(format, args...), Remedy: remedy}
}

// Finding is what a probe found in order.
type Finding struct {
	Detail string
	// Advice is worth following although nothing is broken; it may be empty.
	Advice string
}

// Probe looks at one thing.
type Probe struct {
	Name string
	// Look returns what is there, or an error, best a *BrokenError.
	Look func(context.Context) (Finding, error)
}

// Bounds of a run of probes.
const (
	// patience is how long one probe may take.
	patience = 30 * time.Second
	// together is how many probes look at once.
	together = 4
)

// Run runs the probes, some at a time, and reports in their order.
func Run(ctx context.Context, probes []Probe) Report {
	report := Report{OK: true, Checks: make([]Check, len(probes))}
	var group sync.WaitGroup
	slots := make(chan struct{}, together)
	for i, p := range probes {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			report.Checks[i] = p.check(ctx)
		})
	}
	group.Wait()
	for _, c := range report.Checks {
		report.OK = report.OK && c.OK
	}
	return report
}

func (p Probe) check(ctx context.Context) Check {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := p.Look(ctx)
	if err == nil {
		return Check{Name: p.Name, OK: true, Detail: printable(found.Detail), Remedy: found.Advice}
	}
	c := Check{Name: p.Name, Detail: printable(err.Error())}
	if known, ok := errors.AsType[*BrokenError](err); ok {
		c.Remedy = known.Remedy
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.Detail = fmt.Sprintf("no answer within %v: %s", patience, c.Detail)
	}
	return c
}

// printable is a text that may hold what a server answered, for a terminal: what
// would move its cursor, colour it or turn its lines is replaced.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
