package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/docseek/docseek/embed/builtin"
	"github.com/docseek/docseek/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Write, check or print the configuration",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  cobra.NoArgs,
	}
	initialise := &cobra.Command{
		Use:     "init [FILE]",
		Short:   "Write a commented configuration file (default docseek.yaml; - prints it)",
		Example: "  docseek config init && docseek --config docseek.yaml config check",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := "docseek.yaml"
			if len(args) > 0 {
				name = args[0]
			}
			return a.configInit(name)
		},
	}
	check := &cobra.Command{
		Use:   "check",
		Short: "Report all faults of the configuration at once",
		Long: `Reads the configuration that --config names and reports every fault with its
place. With --json it prints {"ok","faults":[{"file","line","column","field",
"message"}]}.`,
		Example: `  docseek --config docseek.yaml config check`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.configCheck() },
	}
	show := &cobra.Command{
		Use:     "print",
		Short:   "Print the effective configuration, secrets hidden",
		Example: `  docseek --config docseek.yaml config print`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.configuration(nil)
			if err != nil {
				return err
			}
			form := c.YAML
			if a.json {
				form = c.JSON
			}
			text, err := form()
			if err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			if a.json {
				return a.printJSON(json.RawMessage(text))
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	c.AddCommand(initialise, check, show)
	return c
}

func (a *app) configInit(name string) error {
	if name == "-" {
		_, err := a.out.Write(config.Example())
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names the file
	if errors.Is(err, os.ErrExist) {
		return usagef("%s is there already and is left alone", name)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = f.Write(config.Example())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = fmt.Fprintf(a.err, "wrote %s; set sources[0].start in it, then: docseek --config %s serve\n", name, name)
	return err
}

func (a *app) configCheck() error {
	if a.configFile == "" {
		return usagef("config check needs --config FILE")
	}
	_, err := a.configuration(nil)
	if a.json {
		found := []config.Fault{}
		if faults, ok := errors.AsType[*config.FaultsError](err); ok {
			found = faults.Faults
		} else if err != nil {
			return err
		}
		if e := a.printJSON(map[string]any{"ok": len(found) == 0, "faults": found}); e != nil {
			return e
		}
		if err != nil {
			return &reportedError{err}
		}
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s is fine\n", a.configFile)
	return err
}

// version is the program's, as the Go toolchain stamped it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of docseek and of its builtin model",
		Long: `Prints the version, the builtin model and the kernel that computes it on this
machine. With --json it prints {"version","go","platform","model","kernel"}.`,
		Example: `  docseek version --json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			model, err := builtin.New(builtin.Options{CPU: a.env("DOCSEEK_CPU")})
			if err != nil {
				return fmt.Errorf("load the builtin model: %w", err)
			}
			if a.json {
				return a.printJSON(map[string]string{
					"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
					"model": model.Fingerprint(), "kernel": model.Kernel(),
				})
			}
			_, err = fmt.Fprintf(a.out, "docseek %s (%s %s/%s)\nbuiltin model: %s\nkernel: %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, model.Fingerprint(), model.Kernel())
			return err
		},
	}
}
