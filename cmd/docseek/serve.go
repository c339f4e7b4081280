package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/doctor"
	"github.com/docseek/docseek/internal/indexer"
	"github.com/docseek/docseek/internal/schedule"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server"
	"github.com/docseek/docseek/server/web"
)

type serveFlags struct {
	stdio, noSchedule bool
	listen, graphql   string
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "serve [URL…]",
		Short: "Serve MCP and keep the index fresh",
		Long: `Serves MCP over Streamable HTTP at /mcp and renews each source by the schedule
(every six hours unless configured), and at start when its index is older.
With --stdio it speaks MCP on standard input and output instead, for an agent
that starts it by itself. Without URL and configuration it serves, and renews,
what the index holds.`,
		Example: `  docseek serve https://docs.example.com/sitemap.xml
  docseek --config docseek.yaml serve --listen 127.0.0.1:9000
  claude mcp add docs -- docseek serve --stdio https://docs.example.com/sitemap.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.configuration(args)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), c, flags, nil)
		},
	}
	f := c.Flags()
	f.BoolVar(&flags.stdio, "stdio", false, "speak MCP on standard input and output")
	f.BoolVar(&flags.noSchedule, "no-schedule", false, "never start a run")
	f.StringVar(&flags.listen, "listen", "", "`HOST:PORT` (default 127.0.0.1:8080)")
	f.StringVar(&flags.graphql, "graphql", "", "`URL` of a GraphQL API: tools to search its schema and to run queries")
	return c
}

// serve answers MCP until ctx ends or, on stdio, the client is gone. ready, if
// not nil, is told once the sources have been indexed for the first time.
func (a *app) serve(ctx context.Context, c config.Config, flags serveFlags, ready func(url string)) (err error) {
	if flags.listen != "" {
		c.Server.Listen = flags.listen
		if err := c.Validate(); err != nil {
			return usageError{err}
		}
	}
	if flags.noSchedule {
		c.Schedule = "off"
	}
	plan, err := a.plan(c)
	if err != nil {
		return err
	}
	if c.GraphQL, err = withEndpoint(c.GraphQL, flags.graphql); err != nil {
		return err
	}
	p, err := a.assemble(ctx, c)
	if err != nil {
		return err
	}
	defer p.close(&err)
	if flags.stdio {
		c.Server.Metrics = config.Metrics{} // many agents start a process each: one address is not for all
	}
	seen, err := a.observe(ctx, c.Server)
	defer seen.close(ctx, a.log)
	if err != nil {
		return err
	}
	p.answered = seen.metrics.Fetch
	sources, err := p.sources(ctx)
	if err != nil {
		return err
	}
	if !plan.Off() {
		p.nextRun = func(string) time.Time { return plan.Next(time.Now()) }
		p.interval = plan.Interval(time.Now())
	}
	options := server.Options{
		Docs: p.engine(), Version: version(), Log: a.log, PublicURL: c.Server.PublicURL,
		AllowedHosts: c.Server.AllowedHosts, AllowedOrigins: c.Server.AllowedOrigins, ConnectorTools: c.Server.ConnectorTools,
		Metrics: seen.metrics, Tracer: seen.tracer,
	}
	var requests *schedule.Requests
	if c.Server.RunHook && !flags.stdio {
		requests = schedule.NewRequests()
		options.Runs = hook{sources, requests}
	}
	if !flags.stdio {
		if options.Access, err = a.access(c.Server); err != nil {
			return err
		}
	}
	var board web.Board
	options.Progress = board.Progress
	var apis *gateway.Gateway
	if len(c.GraphQL) > 0 {
		if apis, err = newGateway(c, a.log, seen.transport, c.GraphQL...); err != nil {
			return err
		}
		defer apis.Close()
		options.GraphQL, options.Deadline = apis, callDeadline(c.GraphQL)
	}
	s, err := server.New(options)
	if err != nil {
		return err
	}

	heard, stopHearing := hangups()
	defer stopHearing()
	asked := ctx // to end
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	var address string
	if flags.stdio {
		out := a.reserveStdout()
		group.Go(func() error {
			defer stop()
			if err := s.ServeStdio(ctx, a.in, out); asked.Err() == nil {
				return err
			}
			return nil // a server that was told to end has done its work
		})
	} else {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Server.Listen)
		if err != nil {
			return fmt.Errorf("serve MCP on %s (--listen HOST:PORT takes another address): %w", c.Server.Listen, err)
		}
		address = "http://" + doctor.Reachable(listener.Addr().String())
		if c.Server.PublicURL != "" {
			address = strings.TrimRight(c.Server.PublicURL, "/")
		}
		a.log.Info("serving MCP", slog.String("url", address+"/mcp"))
		group.Go(func() error {
			defer stop()
			return s.Serve(ctx, listener)
		})
	}
	if apis != nil {
		group.Go(func() error {
			a.keepEndpoints(ctx, apis, heard)
			return nil
		})
	}
	group.Go(func() error {
		err := seen.serve(ctx, options.Docs.List)
		if err != nil {
			stop()
		}
		return err
	})
	if (!plan.Off() || requests != nil) && len(sources) > 0 {
		runs := &runner{parts: p, board: &board, seen: seen}
		defer func() { err = errors.Join(err, runs.close()) }()
		jobs, indexed := a.jobs(runs, sources)
		group.Go(func() error {
			plan.Run(ctx, jobs, requests)
			return nil
		})
		group.Go(func() error {
			select {
			case <-indexed:
				if ready != nil {
					ready(address)
				}
			case <-ctx.Done():
			}
			return nil
		})
	} else if len(sources) == 0 && apis == nil {
		a.log.Warn("the index is empty and there is no source to index; give a URL or a configuration")
	}
	if !flags.stdio && ready == nil {
		fmt.Fprint(a.err, welcome(address, c.Server.Auth.TokensFile != ""))
	}
	return group.Wait()
}

// plan is the configured schedule.
func (a *app) plan(c config.Config) (*schedule.Schedule, error) {
	plan, err := schedule.New(c.Schedule, schedule.Options{Log: a.log})
	if err != nil {
		return nil, &config.FaultsError{Faults: []config.Fault{{Field: "schedule", Message: err.Error()}}}
	}
	return plan, nil
}

// reserveStdout keeps standard output for the protocol: whatever else in the
// process prints goes to standard error from here on.
func (a *app) reserveStdout() io.Writer {
	if out, ok := a.out.(*os.File); ok && out == os.Stdout {
		os.Stdout = os.Stderr
	}
	return a.out
}

// runner makes runs. It opens what they need when the first is due.
type runner struct {
	*parts
	// board shows the runs that are on.
	board    *web.Board
	seen     observation
	workshop *workshop
}

func (r *runner) open(ctx context.Context) error {
	if r.workshop != nil {
		return nil
	}
	w, err := r.newWorkshop(ctx)
	if err != nil {
		return err
	}
	r.workshop = w
	return nil
}

func (r *runner) run(ctx context.Context, s docseek.Source, o indexer.Options) (search.Run, error) {
	if err := r.open(ctx); err != nil {
		return search.Run{Source: s.Name, Outcome: search.Failed, Reasons: []search.Reason{}, Error: err.Error()}, err
	}
	report, err := r.workshop.Run(ctx, s, o)
	if o.DryRun || ctx.Err() != nil {
		return report, err
	}
	if e := r.workshop.prune(ctx, r.store); e != nil {
		r.log.Warn("vectors out of use were not deleted", slog.Any("error", e))
	}
	return report, err
}

// lastSuccess is when a run of the source last ended well. It is the zero time
// when none did, and when the index is not what a run would make of the present
// configuration, so that a change is acted on at once.
func (r *runner) lastSuccess(ctx context.Context, s docseek.Source) time.Time {
	reader, err := r.store.Reader(ctx)
	if err != nil {
		return time.Time{}
	}
	infos, err := reader.Sources(ctx)
	if err != nil {
		return time.Time{}
	}
	for _, info := range infos {
		if info.Source.Name == s.Name && (r.open(ctx) != nil || r.workshop.Made(ctx, info, s)) {
			return info.LastSuccess
		}
	}
	return time.Time{}
}

func (r *runner) close() error {
	if r.workshop == nil {
		return nil
	}
	return r.workshop.cache.Close()
}

// jobs are what the scheduler runs, one at a time: one per source. The channel is
// closed when each has run once or needed no run.
func (a *app) jobs(runs *runner, sources []docseek.Source) ([]schedule.Job, <-chan struct{}) {
	indexed := make(chan struct{})
	var mu sync.Mutex
	waiting := map[string]bool{}
	for _, s := range sources {
		waiting[s.Name] = true
	}
	done := func(source string) {
		mu.Lock()
		defer mu.Unlock()
		if waiting[source] {
			delete(waiting, source)
			if len(waiting) == 0 {
				close(indexed)
			}
		}
	}
	jobs := make([]schedule.Job, len(sources))
	for i, s := range sources {
		jobs[i] = schedule.Job{
			Name: s.Name,
			LastSuccess: func(ctx context.Context) time.Time {
				last := runs.lastSuccess(ctx, s)
				if time.Since(last) < runs.interval {
					done(s.Name)
				}
				return last
			},
			Run: func(ctx context.Context) error {
				defer done(s.Name)
				return a.scheduledRun(ctx, runs, s)
			},
		}
	}
	return jobs, indexed
}

func (a *app) scheduledRun(ctx context.Context, runs *runner, s docseek.Source) error {
	progress := a.progress(s.Name)
	defer progress.done()
	runs.board.Start(s.Name, time.Now())
	defer runs.board.End(s.Name)
	report, err := runs.run(ctx, s, indexer.Options{Progress: func(now indexer.Progress) {
		progress.update(now)
		runs.board.Update(s.Name, string(now.Stage), now.Done, now.Total)
	}})
	runs.seen.run(report)
	if err != nil {
		return err
	}
	p := report.Pages
	a.log.Info("indexed", slog.String("source", s.Name), slog.String("outcome", string(report.Outcome)),
		slog.Uint64("generation", report.Generation), slog.Int("pages", p.New+p.Changed+p.Unchanged+p.Kept),
		slog.Int("chunks", report.Chunks), slog.Int("embedded", report.Embedded), slog.Float64("seconds", report.Seconds))
	return nil
}

var _ server.Docs = (*search.Engine)(nil)
