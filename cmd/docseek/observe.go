package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/obs"
	"github.com/docseek/docseek/internal/schedule"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/middleware"
)

// observation is what an operator can see of a server from outside. What is not
// configured is nil, and costs nothing.
type observation struct {
	metrics  *obs.Metrics
	tracer   *obs.Tracer
	listener net.Listener // for the metrics
}

// observe begins what is configured.
func (a *app) observe(ctx context.Context, c config.Server) (o observation, err error) {
	if c.Traces.Endpoint != "" {
		o.tracer, err = obs.NewTracer(ctx, obs.TraceOptions{
			Endpoint: c.Traces.Endpoint, Ratio: c.Traces.Ratio, Version: version(), Log: a.log,
		})
		if err != nil {
			return o, err
		}
	}
	if c.Metrics.Listen != "" {
		o.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Metrics.Listen)
		if err != nil {
			return o, fmt.Errorf("serve metrics on %s (server.metrics.listen takes another address): %w", c.Metrics.Listen, err)
		}
		o.metrics = obs.NewMetrics(version())
		a.log.Info("serving metrics", slog.String("url", "http://"+o.listener.Addr().String()+"/metrics"))
	}
	return o, nil
}

// transport counts and traces what goes to an endpoint.
func (o observation) transport(endpoint string, next http.RoundTripper) http.RoundTripper {
	return o.tracer.Transport(o.metrics.Upstream(endpoint, next))
}

// Bounds of the metrics' listener.
const (
	metricsTimeout = 15 * time.Second
	traceDrain     = 3 * time.Second
)

// serve answers scrapes, if metrics are on, until ctx ends. list is looked at
// with each of them.
func (o observation) serve(ctx context.Context, list func(context.Context, search.ListQuery) (search.Listing, error)) error {
	if o.listener == nil {
		return nil
	}
	o.metrics.Index(func(ctx context.Context) ([]obs.Source, error) {
		listed, err := list(ctx, search.ListQuery{})
		sources := make([]obs.Source, len(listed.Sources))
		for i, s := range listed.Sources {
			sources[i] = obs.Source{
				Name: s.Name, Generation: s.Generation, Pages: s.Pages, Chunks: s.Chunks, Embedded: s.Embedded,
				Made: timeOf(s.IndexedAt), Success: timeOf(s.LastSuccess), State: s.State,
			}
		}
		return sources, err
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.metrics.Handler())
	// A web page is not to read what is on loopback under a name of its own.
	server := &http.Server{Handler: middleware.Guard{}.Wrap(mux), ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: 2 * time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", o.listener.Addr(), err)
	}
	return nil
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// close sends the traces that are left. That they cannot be sent is no failure of
// the server.
func (o observation) close(ctx context.Context, log *slog.Logger) {
	if o.listener != nil {
		_ = o.listener.Close() // closed already by a server that was served on
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceDrain)
	defer cancel()
	if err := o.tracer.Close(ctx); err != nil {
		log.Warn("the last traces were not sent", slog.Any("error", err))
	}
}

// run counts a run that has ended.
func (o observation) run(r search.Run) {
	p := r.Pages
	o.metrics.Run(obs.Run{
		Source: r.Source, Outcome: string(r.Outcome), Embedded: r.Embedded, Seconds: r.Seconds,
		Pages: map[string]int{
			"new": p.New, "changed": p.Changed, "unchanged": p.Unchanged, "kept": p.Kept, "removed": p.Removed, "refused": p.Refused,
		},
	})
}

// hook starts runs of the sources that the server keeps.
type hook struct {
	sources  []docseek.Source
	requests *schedule.Requests
}

// Sources are the names of the sources that can be run.
func (h hook) Sources() []string {
	var names []string
	for _, s := range h.sources {
		names = append(names, s.Name)
	}
	return names
}

// Start has sources run as soon as the run under way is done.
func (h hook) Start(sources []string) { h.requests.Ask(sources...) }
