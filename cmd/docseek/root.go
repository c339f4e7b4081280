package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/graphql"
	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/indexer"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/qdrant"
)

// The exit codes; docs/cli.md lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitConfig      = 3
	exitUnreachable = 4
	exitRefused     = 5
	exitLocked      = 6
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every command has.
type app struct {
	streams
	environ []string
	log     *slog.Logger
	screen  *screen

	configFile, dataDir, logLevel, logFormat string
	json                                     bool
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func newApp(s streams, environ []string) *app {
	return &app{streams: s, environ: environ, log: slog.New(slog.DiscardHandler), screen: &screen{to: s.err}}
}

// run executes one command line and returns its exit code.
func run(args []string, s streams, environ []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)

	a := newApp(s, environ)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if _, reported := errors.AsType[*reportedError](err); err != nil && !reported && ctx.Err() != nil {
		// What broke first when the signal came says nothing.
		err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		a.complain(err)
	}
	return exitCode(err)
}

// complain prints an error as one line, or a line per fault.
func (a *app) complain(err error) {
	if _, silent := errors.AsType[*reportedError](err); silent {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(a.err, "docseek: "+line)
	}
	if _, usage := errors.AsType[usageError](err); usage {
		fmt.Fprintln(a.err, "docseek: docseek --help shows the commands, docseek COMMAND --help what one takes")
	}
}

// reportedError has been shown to the user already; it only carries the code.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var (
		usage   usageError
		faults  *config.FaultsError
		refused *indexer.RefusedError
		input   *search.InputError
		model   *embed.Error
		call    *execute.Error
		address *graphql.CallError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &call) && call.Kind == execute.Refused:
		return exitUsage
	case errors.As(err, &faults), errors.Is(err, crawler.ErrSource):
		return exitConfig
	case errors.Is(err, search.ErrLocked):
		return exitLocked
	case errors.As(err, &refused):
		return exitRefused
	case errors.Is(err, crawler.ErrUnreachable), errors.Is(err, qdrant.ErrUnreachable), errors.As(err, &model) && model.Unreachable(),
		errors.As(err, &call) && call.Kind == execute.Unreachable, errors.As(err, &address):
		return exitUnreachable
	default:
		return exitFailed
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "docseek",
		Short: "Search documentation from coding agents, over MCP and on the command line",
		Long: `docseek crawls a documentation site, keeps an index of it on this machine and
lets coding agents search it by meaning and by words, over MCP.

Exit codes: 0 done · 1 failed · 2 wrong usage · 3 bad config · 4 something
upstream cannot be reached · 5 run refused · 6 another run holds the source.`,
		Example: `  docseek demo
  docseek serve https://docs.example.com/sitemap.xml
  docseek reindex https://docs.example.com/sitemap.xml
  docseek search "how do I rotate a key"`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.startLog() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.configFile, "config", a.env("DOCSEEK_CONFIG"), "configuration `FILE` (or DOCSEEK_CONFIG)")
	f.StringVar(&a.dataDir, "data-dir", "", "`DIR` of the index (or DOCSEEK_DATA_DIR; default: the user's data directory)")
	f.StringVar(&a.logLevel, "log-level", "info", "`LEVEL`: debug, info, warn or error")
	f.StringVar(&a.logFormat, "log-format", "text", "`FORMAT`: text or json")
	f.BoolVar(&a.json, "json", false, "print data as JSON")
	root.AddCommand(
		a.demoCommand(), a.serveCommand(), a.reindexCommand(), a.searchCommand(), a.readCommand(), a.statusCommand(),
		a.rollbackCommand(), a.migrateCommand(), a.graphqlCommand(), a.operationsCommand(), a.crawlCommand(), a.evalCommand(), a.embedCommand(), a.configCommand(), a.doctorCommand(), a.connectCommand(), a.tokenCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// noCommand is the complaint about a mistyped command below parent.
func noCommand(parent *cobra.Command, name string) error {
	parent.SuggestionsMinimumDistance = 2 // letters
	near := parent.SuggestionsFor(name)
	name = strings.TrimPrefix(parent.CommandPath()+" "+name, parent.Root().Name()+" ")
	if len(near) == 0 {
		return usagef("there is no command %q", name)
	}
	return usagef("there is no command %q; nearest: %s", name, strings.Join(near, ", "))
}

// wrapArgs makes every complaint about a command's arguments a usage error.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				if cmd.HasSubCommands() {
					return noCommand(cmd, args[0])
				}
				return usageError{fmt.Errorf("%s: %w; it is used as: %s", cmd.CommandPath(), err, cmd.UseLine())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// env reads one variable.
func (a *app) env(name string) string {
	for _, kv := range a.environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

func (a *app) startLog() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return usagef("--log-level must be debug, info, warn or error (got %q)", a.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch a.logFormat {
	case "text":
		a.log = slog.New(slog.NewTextHandler(a.screen, o))
	case "json":
		a.log = slog.New(slog.NewJSONHandler(a.screen, o))
	default:
		return usagef("--log-format must be text or json (got %q)", a.logFormat)
	}
	return nil
}

// dir is the data directory.
func (a *app) dir() (string, error) {
	switch {
	case a.dataDir != "":
		return a.dataDir, nil
	case a.env("DOCSEEK_DATA_DIR") != "":
		return a.env("DOCSEEK_DATA_DIR"), nil
	case runtime.GOOS == "windows" && a.env("LOCALAPPDATA") != "":
		return filepath.Join(a.env("LOCALAPPDATA"), "docseek"), nil
	case a.env("XDG_DATA_HOME") != "":
		return filepath.Join(a.env("XDG_DATA_HOME"), "docseek"), nil
	case a.env("HOME") == "":
		return "", usagef("there is no home directory to keep the index in: give --data-dir")
	case runtime.GOOS == "darwin":
		return filepath.Join(a.env("HOME"), "Library", "Application Support", "docseek"), nil
	default:
		return filepath.Join(a.env("HOME"), ".local", "share", "docseek"), nil
	}
}

// printJSON writes one JSON document to standard output.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
