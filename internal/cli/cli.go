package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flashclaim/flashclaim/internal/app"
	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// program is one call of the binary.
type program struct {
	env    func(string) (string, bool)
	stdout io.Writer
	stderr io.Writer
}

// Main runs one command and returns the exit code. env looks a variable up, as
// os.LookupEnv does. A long-running command ends, in order, when ctx does.
func Main(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	p := &program{env: env, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintf(stderr, "flashclaim: %s\n", sentence(err))
	var usage usageError
	var faults config.Faults
	if errors.As(err, &usage) || errors.As(err, &faults) {
		return exitUsage
	}
	return exitFailed
}

// usageError is a command line that does not fit the command.
type usageError struct{ error }

// sentence is what a person at a terminal is told of a fault: what is wrong, and
// its cause in the system's own words, on one line.
func sentence(err error) string {
	text := err.Error()
	var known *sale.Error
	if errors.As(err, &known) && known.Cause != nil {
		text = strings.TrimSuffix(known.Message, "; repeat the same request") + ": " + known.Cause.Error()
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// flagFault says what is wrong with a flag in words that fit the command line.
func flagFault(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		return usageError{fmt.Errorf("--%s (%s) cannot be %q", f.Name, f.Usage, invalid.GetValue())}
	}
	return usageError{err}
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "flashclaim",
		Short: "A GraphQL backend for voucher flash sales",
		Long: `flashclaim sells vouchers that thousands of people want in the same second.

A claim is decided by one atomic script in Redis and answered with an order ID
at once; a worker writes the order to PostgreSQL; a GraphQL subscription tells
the buyer when it is really committed.

Every setting may be given as a flag, as an environment variable, or in a JSON
file named by --config; flags win over the environment, that over the file.
Exit codes: 0 done, 1 failed, 2 wrong usage or settings.`,
		Example: `  flashclaim dev                       # try it: nothing else is needed
  flashclaim migrate up                # prepare the database, once per version
  flashclaim serve & flashclaim work   # the real thing, several of each if you like`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(args)
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(flagFault)
	root.SetHelpCommand(help())
	root.AddCommand(p.dev(), p.run("serve"), p.run("work"), p.run("all"), p.migrate(), p.token(), p.voucher(),
		p.schema(), p.version())
	return root
}

func noCommand(args []string) error {
	return usageError{fmt.Errorf("%q is not a command; flashclaim --help lists them", strings.Join(args, " "))}
}

// help is cobra's help command with a fault for what is no command.
func help() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Show what a command does, as --help does", Example: "  flashclaim help voucher create",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(args)
			}
			return asked.Help()
		},
	}
}

// noArgs refuses arguments that a command does not take.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("this command takes no argument, and got %q", args[0])}
	}
	return nil
}

// oneArg wants exactly one argument.
func oneArg(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("this command takes one argument, %s, and got %d", name, len(args))}
		}
		return nil
	}
}

// settingFlags gives the command the named settings as flags, and --config.
func settingFlags(flags *pflag.FlagSet, names ...string) {
	flags.String("config", "", "JSON file with settings; keys are the flags' names (FLASHCLAIM_CONFIG)")
	for _, s := range config.Settings() {
		for _, n := range names {
			if n == s.Flag {
				flags.String(s.Flag, s.Default, fmt.Sprintf("%s (%s)", s.Usage, s.Env))
			}
		}
	}
}

var (
	logSettings    = []string{"log-level", "log-format"}
	serverSettings = []string{"addr", "jwt-secret", "allowed-origins", "playground", "introspection"}
	storeSettings  = []string{"redis-url", "database-url", "partitions", "durability"}
)

// load reads the settings as the command's flags, the environment and the file
// give them.
func (p *program) load(cmd *cobra.Command, needed ...string) (config.Config, error) {
	given := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	file := given["config"]
	if file == "" {
		file, _ = p.env("FLASHCLAIM_CONFIG")
	}
	return config.Load(file, p.env, given, needed...)
}

// logger writes to standard error: standard output is for answers.
func (p *program) logger(c config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	var h slog.Handler = slog.NewTextHandler(p.stderr, options)
	if c.LogFormat == "json" {
		h = slog.NewJSONHandler(p.stderr, options)
	}
	return slog.New(reqid.Handler(h))
}

// open builds an app without server and worker, for a command that only reads
// or writes a little.
func (p *program) open(c config.Config) (*app.App, error) {
	a, err := app.Open(app.Options{Config: c, Log: p.logger(c)})
	if err != nil {
		return nil, config.Faults{err.Error()}
	}
	return a, nil
}

func (p *program) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.stdout, format, args...) }

// Signals gives a context that ends at ctrl-C or SIGTERM. A second signal, once
// stop was called or the context has ended, kills the process as usual.
func Signals() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
