// Package schedule starts jobs by a cron expression, one after another.
//
// One rule decides: a job is due when a tick has passed since its last success,
// and since its last attempt by this process. So a job that was missed while
// nothing ran is started right away, ticks that pass during a run count as one,
// a failed run waits for the next tick, and of several processes over one index
// the first to come does the work. A job that is asked for is due, too.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"
	_ "time/tzdata" // a container may come without the zones that TZ= names

	"github.com/robfig/cron/v3"
)

// Off is the expression of a schedule that never runs anything.
const Off = "off"

// Bounds of a schedule.
const (
	// MaxJitter is the longest default delay of a tick.
	MaxJitter = 5 * time.Minute
	// glance is how often a waiting schedule looks at the clock, which may be set
	// or stand still while the machine sleeps.
	glance = time.Minute
)

// Options tune a Schedule.
type Options struct {
	// Jitter delays every tick by one time, drawn when the schedule is made and
	// less than Jitter, so that many processes do not start at once. 0 means a
	// tenth of the interval, at most MaxJitter; a negative one means none.
	Jitter time.Duration
	// Log gets starts, ends and failures of jobs; nil means nowhere.
	Log *slog.Logger
}

// Job is what is run.
type Job struct {
	Name string
	// LastSuccess is when the job last succeeded, whoever ran it; zero if never
	// or unknown.
	LastSuccess func(ctx context.Context) time.Time
	Run         func(ctx context.Context) error
}

// Schedule is a cron expression with its jitter. It is safe for concurrent use.
type Schedule struct {
	ticks  cron.Schedule // nil when off
	offset time.Duration
	log    *slog.Logger
}

// New reads an expression: five fields (minute, hour, day of month, month, day
// of week, as crontab(5) has them) or a name such as "@daily", in local time or
// with "TZ=Area/City " before it, or Off.
func New(spec string, o Options) (*Schedule, error) {
	s := &Schedule{log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if spec = strings.TrimSpace(spec); spec == Off {
		return s, nil
	}
	ticks, err := parse(spec)
	if err != nil {
		return nil, fmt.Errorf("read the schedule %q: %w", spec, err)
	}
	s.ticks = ticks
	jitter := o.Jitter
	if jitter == 0 {
		jitter = min(s.Interval(time.Now())/10, MaxJitter)
	}
	if jitter > 0 {
		s.offset = rand.N(jitter) //nolint:gosec // spreads load, keeps no secret
	}
	return s, nil
}

func parse(spec string) (cron.Schedule, error) {
	zone := strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ=")
	if zone && !strings.Contains(spec, " ") {
		return nil, errors.New("five fields have to follow the time zone") // cron would panic
	}
	ticks, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, err
	}
	if _, fixed := ticks.(*cron.SpecSchedule); !fixed {
		return nil, errors.New("@every has no fixed times; write five fields, such as 0 */6 * * *")
	}
	if ticks.Next(time.Now()).IsZero() {
		return nil, errors.New("no date matches it")
	}
	return ticks, nil
}

// Off says that the schedule runs nothing.
func (s *Schedule) Off() bool { return s.ticks == nil }

// Next is when the next tick after now comes, jitter included; zero when off.
func (s *Schedule) Next(now time.Time) time.Time {
	if s.Off() {
		return time.Time{}
	}
	return s.ticks.Next(now.Add(-s.offset)).Add(s.offset)
}

// Interval is the time between the ticks before and after now; 0 when off.
func (s *Schedule) Interval(now time.Time) time.Duration {
	if s.Off() {
		return 0
	}
	return s.ticks.Next(now).Sub(s.last(now))
}

// last is the latest tick that is not after now, without jitter. Cron can only
// look ahead, so it looks from further and further back.
func (s *Schedule) last(now time.Time) time.Time {
	const farthest = 10 * 366 * 24 * time.Hour // cron itself gives up after five years
	for back := time.Minute; back < farthest; back *= 2 {
		tick := s.ticks.Next(now.Add(-back))
		if tick.IsZero() || tick.After(now) {
			continue
		}
		for {
			next := s.ticks.Next(tick)
			if next.IsZero() || next.After(now) {
				return tick
			}
			tick = next
		}
	}
	return now.Add(-farthest)
}

// Run runs the jobs that are due, at once, after every tick and when one is asked
// for, in their order and one at a time, until ctx ends and the job under way has
// returned. A job that fails or panics is logged. When the schedule is off only
// what is asked for runs; without requests, which may be nil, Run returns at once.
func (s *Schedule) Run(ctx context.Context, jobs []Job, requests *Requests) {
	if s.Off() && requests == nil {
		return
	}
	attempted := make([]time.Time, len(jobs))
	for ctx.Err() == nil {
		began := wallClock()
		for i, job := range jobs {
			if ctx.Err() == nil && s.visit(ctx, job, attempted[i], requests.take(job.Name)) {
				attempted[i] = wallClock()
			}
		}
		s.wait(ctx, began, requests.woken())
	}
}

// due is why a job runs now; empty when it does not.
func (s *Schedule) due(ctx context.Context, job Job, attempted time.Time, asked bool) string {
	switch {
	case asked:
		return "asked for"
	case s.Off():
		return ""
	}
	tick := s.last(wallClock().Add(-s.offset))
	if !attempted.Before(tick) || !job.LastSuccess(ctx).Before(tick) {
		return ""
	}
	return "tick of " + tick.Format(time.RFC3339)
}

// visit runs a job if it is due, and says whether it did.
func (s *Schedule) visit(ctx context.Context, job Job, attempted time.Time, asked bool) (ran bool) {
	log := s.log.With(slog.String("job", job.Name))
	began := time.Now()
	defer func() {
		if reason := recover(); reason != nil {
			ran = true
			log.LogAttrs(ctx, slog.LevelError, "scheduled run panicked",
				slog.Any("panic", reason), slog.String("stack", string(debug.Stack())))
		}
	}()
	why := s.due(ctx, job, attempted, asked)
	if why == "" {
		return false
	}
	log.LogAttrs(ctx, slog.LevelInfo, "scheduled run starts", slog.String("why", why))
	switch err := job.Run(ctx); {
	case err != nil && ctx.Err() != nil:
		log.LogAttrs(ctx, slog.LevelInfo, "scheduled run was interrupted",
			slog.Duration("took", time.Since(began)), slog.String("error", err.Error()))
	case err != nil:
		log.LogAttrs(ctx, slog.LevelError, "scheduled run failed",
			slog.Duration("took", time.Since(began)), slog.String("error", err.Error()))
	default:
		log.LogAttrs(ctx, slog.LevelInfo, "scheduled run done", slog.Duration("took", time.Since(began)))
	}
	return true
}

// wait waits for the first tick after began, so that none which passed meanwhile
// is lost, until it is woken, or until ctx ends.
func (s *Schedule) wait(ctx context.Context, began time.Time, wake <-chan struct{}) {
	until := s.Next(began)
	for {
		left := glance
		if !s.Off() {
			left = min(left, until.Sub(wallClock()))
		}
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-wake:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// wallClock is the time without Go's monotonic reading: ticks are times of day,
// and a machine that slept or was set is not to miss them.
func wallClock() time.Time { return time.Now().Round(0) }
