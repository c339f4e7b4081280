package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/demo"
	"github.com/docseek/docseek/internal/demo/api"
)

func (a *app) demoCommand() *cobra.Command {
	var flags serveFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Serve a small bundled site and GraphQL API: offline, no key, no file",
		Long: `Serves a bundled documentation site and GraphQL API on loopback, indexes the
site into a temporary directory and serves MCP on both, as docseek serve would.
Ctrl-C ends it and leaves nothing behind, unless --data-dir says where to keep
the index.`,
		Example: `  docseek demo
  docseek --data-dir /tmp/demo demo --listen 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), flags) },
	}
	c.Flags().StringVar(&flags.listen, "listen", "", "`HOST:PORT` (default 127.0.0.1:8080)")
	return c
}

func (a *app) demo(ctx context.Context, flags serveFlags) (err error) {
	if a.dataDir == "" {
		if a.dataDir, err = os.MkdirTemp("", "docseek-demo-"); err != nil {
			return fmt.Errorf("make a directory for the index: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(a.dataDir)) }()
	}
	listener, err := siteListener(ctx)
	if err != nil {
		return fmt.Errorf("serve the bundled site: %w", err)
	}
	base := "http://" + listener.Addr().String()
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- demo.Serve(ctx, listener)
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	c, err := a.configuration(nil)
	if err != nil {
		return err
	}
	c.Sources = []docseek.Source{demo.Source(base)}
	operations, err := demoOperations()
	if err != nil {
		return fmt.Errorf("write the bundled operations: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(operations)) }()
	// What a mutation changes there is gone with the demo.
	c.GraphQL = []config.GraphQL{{
		Name: demo.Name, URL: base + demo.APIPath, Documents: config.DocumentsWrite,
		Operations: []string{filepath.Join(operations, "**", "*.graphql")}, Scalars: demo.Scalars(),
	}}
	fmt.Fprintf(a.err, "The bundled documentation is at %s, the GraphQL API of the same company at %s\n", base, c.GraphQL[0].URL)
	return a.serve(ctx, c, flags, func(address string) {
		questions := slices.Concat(demo.Questions()[:2], []string{api.Question})
		fmt.Fprint(a.err, welcome(address, c.Server.Auth.TokensFile != ""))
		fmt.Fprintf(a.err, "Ask it:\n  %s\n\n", strings.Join(questions, "\n  "))
		fmt.Fprintf(a.err, "Or ask the index from another terminal:\n  docseek --data-dir %s search %q\n\n", a.dataDir, questions[0])
		fmt.Fprintf(a.err, "The operations that are tools are in %s: change one, and its tool follows.\n", operations)
		fmt.Fprintf(a.err, "The documentation is at %s/ in a browser. Ctrl-C ends the demo.\n", base)
	})
}

// demoOperations writes the bundled operations into a folder of their own.
func demoOperations() (folder string, err error) {
	bundled, err := demo.Operations()
	if err != nil {
		return "", err
	}
	if folder, err = os.MkdirTemp("", "docseek-operations-"); err != nil {
		return "", err
	}
	if err := os.CopyFS(folder, bundled); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// siteAddress is where the bundled site is served if nothing else is there, so
// that its pages keep their addresses from one demo to the next.
const siteAddress = "127.0.0.1:8089"

func siteListener(ctx context.Context) (net.Listener, error) {
	var c net.ListenConfig
	if listener, err := c.Listen(ctx, "tcp", siteAddress); err == nil {
		return listener, nil
	}
	return c.Listen(ctx, "tcp", "127.0.0.1:0")
}
