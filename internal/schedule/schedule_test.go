package schedule_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/internal/schedule"
)

// The clock of a synctest bubble starts here.
func midnight() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func newSchedule(t *testing.T, spec string, o schedule.Options) *schedule.Schedule {
	t.Helper()
	s, err := schedule.New(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noJitter is UTC, at the full minute.
func noJitter(t *testing.T, spec string) *schedule.Schedule {
	t.Helper()
	return newSchedule(t, "TZ=UTC "+spec, schedule.Options{Jitter: -1})
}

func at(t *testing.T, value string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.DateTime, value)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestExpressions(t *testing.T) {
	tests := []struct {
		spec      string
		now, next string
		interval  time.Duration
	}{
		{"0 */6 * * *", "2026-03-01 05:59:59", "2026-03-01 06:00:00", 6 * time.Hour},
		{"0 */6 * * *", "2026-03-01 06:00:00", "2026-03-01 12:00:00", 6 * time.Hour},
		{"*/5 * * * *", "2026-03-01 23:58:00", "2026-03-02 00:00:00", 5 * time.Minute},
		{"30 2 * * MON-FRI", "2026-03-07 12:00:00", "2026-03-09 02:30:00", 72 * time.Hour},
		{"30 2 * * MON-FRI", "2026-03-10 12:00:00", "2026-03-11 02:30:00", 24 * time.Hour},
		{"0 0 29 2 *", "2026-03-01 00:00:00", "2028-02-29 00:00:00", 1461 * 24 * time.Hour},
		{"@daily", "2026-03-01 00:00:01", "2026-03-02 00:00:00", 24 * time.Hour},
		{"0 9 1 * *", "2026-03-15 00:00:00", "2026-04-01 09:00:00", 31 * 24 * time.Hour},
	}
	for _, test := range tests {
		s := noJitter(t, test.spec)
		now := at(t, test.now)
		if got := s.Next(now); !got.Equal(at(t, test.next)) {
			t.Errorf("%q after %s: next %s, want %s", test.spec, test.now, got, test.next)
		}
		if got := s.Interval(now); got != test.interval {
			t.Errorf("%q at %s: interval %s, want %s", test.spec, test.now, got, test.interval)
		}
	}
}

func TestATimeZoneIsKept(t *testing.T) {
	s := newSchedule(t, "TZ=Europe/Berlin 0 6 * * *", schedule.Options{Jitter: -1})
	for now, next := range map[string]string{
		"2026-01-15 00:00:00": "2026-01-15 05:00:00",
		"2026-07-15 00:00:00": "2026-07-15 04:00:00",
	} {
		if got := s.Next(at(t, now)); !got.Equal(at(t, next)) {
			t.Errorf("after %s: next %s, want %s", now, got, next)
		}
	}
}

func TestWrongExpressionsAreRefused(t *testing.T) {
	for _, spec := range []string{
		"", "0", "* * * *", "0 0 0 * * *", "60 * * * *", "0 24 * * *", "a b c d e", "0 0 31 2 *", ", * * * *",
		"TZ=UTC", "TZ=Nowhere/City 0 * * * *", "CRON_TZ=", "@every 5m", "@sometimes", "OFF", "*/0 * * * *",
	} {
		_, err := schedule.New(spec, schedule.Options{})
		if err == nil || !strings.Contains(err.Error(), "read the schedule") {
			t.Errorf("New(%q) = %v, want an error", spec, err)
		}
	}
}

func TestJitterMovesEveryTickByTheSame(t *testing.T) {
	for range 50 {
		s := newSchedule(t, "TZ=UTC 0 */6 * * *", schedule.Options{Jitter: time.Hour})
		now := midnight()
		offset := s.Next(now.Add(-time.Nanosecond)).Sub(now)
		if offset < 0 || offset >= time.Hour {
			t.Fatalf("the tick of midnight comes after %s", offset)
		}
		for range 5 {
			next := s.Next(now.Add(offset))
			if want := now.Add(6*time.Hour + offset); !next.Equal(want) {
				t.Fatalf("next after %s is %s, want %s", now.Add(offset), next, want)
			}
			now = now.Add(6 * time.Hour)
		}
	}
}

func TestTheDefaultJitterIsATenthOfTheIntervalAtMost(t *testing.T) {
	for spec, most := range map[string]time.Duration{
		"TZ=UTC */10 * * * *": time.Minute,
		"TZ=UTC 0 */6 * * *":  schedule.MaxJitter,
	} {
		for range 50 {
			s := newSchedule(t, spec, schedule.Options{})
			if offset := s.Next(midnight().Add(-time.Nanosecond)).Sub(midnight()); offset < 0 || offset >= most {
				t.Fatalf("%s: the tick of midnight comes after %s", spec, offset)
			}
		}
	}
}

// source is a job over an index that remembers its last success.
type source struct {
	name string
	last time.Time
	// run is what a run does; nil takes no time and succeeds.
	run  func(ctx context.Context) error
	runs []string // starts, as day and time
}

func (s *source) job() schedule.Job {
	return schedule.Job{
		Name:        s.name,
		LastSuccess: func(context.Context) time.Time { return s.last },
		Run: func(ctx context.Context) error {
			s.runs = append(s.runs, time.Now().UTC().Format("02 15:04"))
			if s.run != nil {
				if err := s.run(ctx); err != nil {
					return err
				}
			}
			s.last = time.Now()
			return nil
		},
	}
}

func takes(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runFor lets a schedule run for a while of the bubble's time.
func runFor(t *testing.T, d time.Duration, s *schedule.Schedule, sources ...*source) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var jobs []schedule.Job
	for _, src := range sources {
		jobs = append(jobs, src.job())
	}
	s.Run(ctx, jobs, nil)
}

func TestRuns(t *testing.T) {
	hours := func(h float64) time.Time { return midnight().Add(time.Duration(h * float64(time.Hour))) }
	boom := errors.New("boom")
	tests := []struct {
		name    string
		spec    string
		begin   float64 // hours after midnight
		hours   float64
		sources []*source
		want    [][]string
	}{
		{
			name: "never run: right away and at every tick", spec: "0 */6 * * *", begin: 1, hours: 24,
			sources: []*source{{name: "a"}},
			want:    [][]string{{"01 01:00", "01 06:00", "01 12:00", "01 18:00", "02 00:00"}},
		},
		{
			name: "fresh: at the next tick", spec: "0 */6 * * *", begin: 1, hours: 6,
			sources: []*source{{name: "a", last: hours(0.5)}},
			want:    [][]string{{"01 06:00"}},
		},
		{
			name: "a tick was missed while nothing ran: right away", spec: "0 */6 * * *", begin: 7, hours: 2,
			sources: []*source{{name: "a", last: hours(0.5)}},
			want:    [][]string{{"01 07:00"}},
		},
		{
			name: "one after another, in order", spec: "0 */6 * * *", begin: 1, hours: 5.5,
			sources: []*source{{name: "a", run: takes(time.Hour)}, {name: "b", run: takes(time.Hour)}},
			want:    [][]string{{"01 01:00", "01 06:00"}, {"01 02:00"}},
		},
		{
			name: "ticks during a run count as one", spec: "0 * * * *", begin: 0, hours: 7,
			sources: []*source{{name: "a", last: hours(-2), run: takes(150 * time.Minute)}},
			want:    [][]string{{"01 00:00", "01 03:00", "01 06:00"}},
		},
		{
			name: "a tick that passed while another source ran is made up for", spec: "0 */6 * * *", begin: 0, hours: 8.5,
			sources: []*source{{name: "a", run: takes(time.Hour)}, {name: "b", run: takes(7 * time.Hour)}},
			want:    [][]string{{"01 00:00", "01 08:00"}, {"01 01:00"}},
		},
		{
			name: "a failed run waits for the next tick", spec: "0 */6 * * *", begin: 1, hours: 12,
			sources: []*source{{name: "a", run: func(context.Context) error { return boom }}, {name: "b"}},
			want:    [][]string{{"01 01:00", "01 06:00", "01 12:00"}, {"01 01:00", "01 06:00", "01 12:00"}},
		},
		{
			name: "a panic is a failed run", spec: "0 */6 * * *", begin: 1, hours: 6,
			sources: []*source{{name: "a", run: func(context.Context) error { panic("boom") }}, {name: "b"}},
			want:    [][]string{{"01 01:00", "01 06:00"}, {"01 01:00", "01 06:00"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Duration(test.begin * float64(time.Hour)))
				runFor(t, time.Duration(test.hours*float64(time.Hour)), noJitter(t, test.spec), test.sources...)
				var got [][]string
				for _, src := range test.sources {
					got = append(got, src.runs)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAnotherProcessMayHaveDoneTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(t, "TZ=UTC 0 */6 * * *", schedule.Options{Jitter: time.Hour})
		tick := midnight().Add(6 * time.Hour)
		job := schedule.Job{
			Name: "a",
			LastSuccess: func(context.Context) time.Time {
				if time.Now().Before(tick) {
					return midnight()
				}
				return tick // by another process, which comes first
			},
			Run: func(context.Context) error {
				t.Errorf("it ran again at %s", time.Now())
				return nil
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Hour)
		defer cancel()
		s.Run(ctx, []schedule.Job{job}, nil)
	})
}

func TestWhatIsAskedForRuns(t *testing.T) {
	for _, spec := range []string{"TZ=UTC 0 */6 * * *", "off"} {
		t.Run(spec, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := schedule.NewRequests()
				fresh := &source{name: "fresh", last: midnight().Add(time.Hour), run: takes(10 * time.Minute)}
				other := &source{name: "other", last: midnight().Add(time.Hour)}
				go func() {
					time.Sleep(time.Hour)
					requests.Ask("fresh", "nobody")
					requests.Ask("fresh")
					time.Sleep(5 * time.Minute) // while it runs
					requests.Ask("fresh")
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
				defer cancel()
				newSchedule(t, spec, schedule.Options{Jitter: -1}).Run(ctx, []schedule.Job{fresh.job(), other.job()}, requests)
				if want := []string{"01 01:00", "01 01:10"}; !slices.Equal(fresh.runs, want) || len(other.runs) > 0 {
					t.Errorf("runs %v of what was asked for, want %v; %v of what was not", fresh.runs, want, other.runs)
				}
			})
		})
	}
}

func TestAnEndWaitsForTheRunUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		slow := &source{name: "slow", run: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // to clean up
			ended = time.Now()
			return ctx.Err()
		}}
		next := &source{name: "next"}
		runFor(t, time.Minute, noJitter(t, "0 * * * *"), slow, next)
		if ended.IsZero() || !ended.Equal(time.Now()) {
			t.Errorf("Run returned at %s, its job at %s", time.Now(), ended)
		}
		if len(next.runs) != 0 {
			t.Error("another job was started after the end")
		}
	})
}

// Who stops the server is not to find a failure in the log.
func TestAnInterruptedRunIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newSchedule(t, "TZ=UTC 0 * * * *", schedule.Options{Jitter: -1, Log: slog.New(slog.NewTextHandler(&out, nil))})
		runFor(t, time.Minute, s, &source{name: "slow", run: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		if log := out.String(); !strings.Contains(log, `msg="scheduled run was interrupted" job=slow took=1m0s`) || strings.Contains(log, "level=ERROR") {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

func TestOffRunsNothing(t *testing.T) {
	s := newSchedule(t, " off ", schedule.Options{})
	src := &source{name: "a"}
	s.Run(t.Context(), []schedule.Job{src.job()}, nil)
	if !s.Off() || len(src.runs) != 0 || !s.Next(midnight()).IsZero() || s.Interval(midnight()) != 0 {
		t.Errorf("off: %v, %v, %v, %v", s.Off(), src.runs, s.Next(midnight()), s.Interval(midnight()))
	}
}

func TestFailuresAreLoggedWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newSchedule(t, "TZ=UTC 0 * * * *", schedule.Options{Jitter: -1, Log: slog.New(slog.NewTextHandler(&out, nil))})
		runFor(t, time.Minute, s,
			&source{name: "fails", run: func(context.Context) error { return errors.New("no such host") }},
			&source{name: "panics", run: func(context.Context) error { panic("out of range") }})
		for _, want := range []string{`msg="scheduled run failed" job=fails took=0s error="no such host"`, `msg="scheduled run panicked" job=panics panic="out of range"`, "schedule_test.go"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, out.String())
			}
		}
	})
}

func FuzzNew(f *testing.F) {
	for _, spec := range []string{"0 */6 * * *", "TZ=UTC @daily", "TZ=", "1-5/2,7 * ? JAN SUN", "off"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := schedule.New(spec, schedule.Options{})
		if err != nil || s.Off() {
			return
		}
		now := midnight()
		if next := s.Next(now); !next.After(now) {
			t.Errorf("next %s is not after %s", next, now)
		}
		if s.Interval(now) <= 0 {
			t.Errorf("interval %s", s.Interval(now))
		}
	})
}
