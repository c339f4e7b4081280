package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/doctor"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/server/auth"
)

func (a *app) doctorCommand() *cobra.Command {
	var server string
	c := &cobra.Command{
		Use:   "doctor [URL…]",
		Short: "Try what is configured, and say what does not work and what to do",
		Long: `Reads the configuration, writes into the data directory, reads the index, embeds
a text, asks the reranker, reads robots.txt, the start and one page of each source,
loads the schema of each GraphQL endpoint, reads the tokens file, and looks at the
server from outside under server.public_url. Nothing is indexed. The exit code is 1 when a check fails.
With --server it asks only whether a server answers there, as a container's
health check does.

With --json it prints {"ok","checks":[{"name","ok","detail","remedy"}]}.`,
		Example: `  docseek --config docseek.yaml doctor
  docseek doctor https://docs.example.com/sitemap.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if server != "" {
				return a.examine(cmd.Context(), []doctor.Probe{doctor.Server(server, &http.Client{Timeout: probeTimeout})})
			}
			c, err := a.configuration(args)
			if err != nil {
				return err
			}
			probes, done, err := a.probes(c)
			if err != nil {
				return err
			}
			defer done()
			return a.examine(cmd.Context(), probes)
		},
	}
	c.Flags().StringVar(&server, "server", "", "ask only the server at `URL`")
	return c
}

// probeTimeout bounds one request of a look from outside.
const probeTimeout = 10 * time.Second

// examine runs probes and prints what they found.
func (a *app) examine(ctx context.Context, probes []doctor.Probe) (err error) {
	report := doctor.Run(ctx, probes)
	if a.json {
		err = a.printJSON(report)
	} else {
		err = printReport(a.out, report)
	}
	if err == nil && !report.OK {
		err = &reportedError{errors.New("something does not work")}
	}
	return err
}

// probes are the checks of a configuration; done closes what they opened.
func (a *app) probes(c config.Config) (probes []doctor.Probe, done func(), _ error) {
	dir, err := a.dir()
	if err != nil {
		return nil, nil, err
	}
	silent := slog.New(slog.DiscardHandler) // the report says it all
	p := a.newParts(c)
	where := "the index in " + dir
	if c.Store.Kind != config.Local {
		where = "the index on " + c.Store.URL
	}
	reader, err := crawler.New(crawler.Options{Version: version(), Logger: silent})
	if err != nil {
		return nil, nil, err
	}
	client := &http.Client{Timeout: probeTimeout}
	probes = []doctor.Probe{
		{Name: "configuration", Look: func(context.Context) (doctor.Finding, error) {
			if a.configFile == "" {
				return doctor.Finding{Detail: "no file: everything has its default"}, nil
			}
			return doctor.Finding{Detail: a.configFile + " is fine"}, nil
		}},
		doctor.DataDir(dir),
		doctor.Index(where, func(ctx context.Context) (_ search.Listing, err error) {
			opened, err := a.assemble(ctx, c)
			if err != nil {
				return search.Listing{}, err
			}
			defer opened.close(&err)
			return opened.engine().List(ctx, search.ListQuery{})
		}),
		doctor.Embedder(func(ctx context.Context) (string, int, error) {
			service, err := p.embedder(ctx, nil)
			if err != nil {
				return "", 0, err
			}
			vector, err := service.EmbedQuery(ctx, "does it work?")
			if err != nil {
				return "", 0, err
			}
			return p.embedderName(), len(vector), nil
		}),
	}
	if c.Reranker.URL != "" {
		reranker, err := newReranker(c.Reranker)
		if err != nil {
			return nil, nil, err
		}
		probes = append(probes, doctor.Reranker(cmp.Or(c.Reranker.Timeout, search.DefaultRerankTimeout), reranker.Rerank))
	}
	for _, s := range c.Sources {
		probes = append(probes, doctor.Source(reader, s))
	}
	var closers []func()
	done = func() {
		for _, shut := range closers {
			shut()
		}
	}
	for _, g := range c.GraphQL {
		api, err := newGateway(c, silent, nil, g)
		if err != nil {
			done()
			return nil, nil, err
		}
		closers = append(closers, api.Close)
		probes = append(probes, doctor.Endpoint(g.Name, api))
	}
	if file := c.Server.Auth.TokensFile; file != "" {
		probes = append(probes, doctor.Access(file, func() error {
			_, err := auth.OpenFile(file, time.Now, silent)
			return err
		}))
	}
	probes = append(probes, doctor.Listen(c.Server.Listen, client))
	if c.Server.PublicURL != "" {
		probes = append(probes, doctor.PublicURL(c.Server.PublicURL, client))
	}
	return probes, done, nil
}

// embedderName says which embedder is configured and, of a model that runs here,
// on which kernel.
func (p *parts) embedderName() string {
	c := p.config.Embedder
	if c.Provider == config.OpenAI {
		return c.Model + " at " + cmp.Or(c.BaseURL, "its provider's address")
	}
	model, err := p.builtin()
	if err != nil {
		return c.Provider
	}
	return strings.TrimSpace(c.Provider+" "+c.Path) + " with kernel " + model.Kernel()
}

func printReport(w io.Writer, r doctor.Report) error {
	var b strings.Builder
	for _, c := range r.Checks {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", mark, c.Name, c.Detail)
		if c.Remedy != "" {
			fmt.Fprintf(&b, "      → %s\n", c.Remedy)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
