package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flashclaim/flashclaim/graph"
	"github.com/flashclaim/flashclaim/internal/app"
	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server"
)

// run makes serve, work and all: one process on Redis and PostgreSQL.
func (p *program) run(name string) *cobra.Command {
	serves, works := name != "work", name != "serve"
	cmd := &cobra.Command{Use: name, Args: noArgs, Short: map[string]string{
		"serve": "Serve GraphQL on Redis and PostgreSQL",
		"work":  "Write accepted orders to PostgreSQL",
		"all":   "Serve and work in one process",
	}[name]}
	cmd.Example = map[string]string{
		"serve": "  flashclaim serve --database-url postgres://flashclaim@127.0.0.1/flashclaim --addr 127.0.0.1:8080",
		"work":  "  flashclaim work --database-url postgres://flashclaim@127.0.0.1/flashclaim --ops-addr 127.0.0.1:8081",
		"all":   "  FLASHCLAIM_DATABASE_URL=postgres://flashclaim@127.0.0.1/flashclaim flashclaim all --addr 127.0.0.1:0",
	}[name]
	cmd.Long = cmd.Short + `.

Several servers and workers may run side by side; any of them, Redis and the
database may start in any order. SIGTERM or ctrl-C ends it in order, within 10 s.
The line "ready url=..." on standard output says where a server listens.`
	needed := []string{"redis-url", "database-url"}
	own := slices.Concat(storeSettings, logSettings)
	if !serves {
		own = append(own, "ops-addr")
	}
	settingFlags(cmd.Flags(), own...)
	if serves {
		cmd.Flags().AddFlagSet(serverFlags())
		needed = append(needed, "jwt-secret")
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load(cmd, needed...)
		if err != nil {
			return err
		}
		return p.runApp(cmd.Context(), app.Options{Config: c, Server: serves, Worker: works})
	}
	return cmd
}

func (p *program) runApp(ctx context.Context, o app.Options) (err error) {
	o.Log = p.logger(o.Config)
	if o.Ready == nil {
		o.Ready = func(url string) {
			switch {
			case o.Server:
				p.printf("ready url=%s\n", url)
			case url == "":
				p.printf("ready worker\n")
			default:
				p.printf("ready worker url=%s\n", url)
			}
		}
	}
	o.Log.InfoContext(ctx, "starting", "version", version(), "config", o.Config)
	a, err := app.Open(o)
	if err != nil {
		return config.Faults{err.Error()}
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.Run(ctx)
}

func (p *program) token() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token --buyer ID", Args: noArgs, Short: "Sign a token with the configured secret",
		Example: "  flashclaim token --buyer b-1\n  flashclaim token --buyer ops --role admin --ttl 15m",
	}
	settingFlags(cmd.Flags(), "jwt-secret")
	buyer := cmd.Flags().String("buyer", "", "the token's subject (needed)")
	roles := cmd.Flags().StringSlice("role", nil, "admin or payment; may be repeated")
	ttl := cmd.Flags().Duration("ttl", time.Hour, "how long the token is valid")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load(cmd, "jwt-secret")
		if err != nil {
			return err
		}
		if fault := sale.BuyerIDFault(*buyer); fault != "" {
			return usageError{fmt.Errorf("--buyer %s", fault)}
		}
		if *ttl <= 0 {
			return usageError{fmt.Errorf("--ttl must be above 0, not %s", *ttl)}
		}
		granted := make([]sale.Role, len(*roles))
		for i, r := range *roles {
			if granted[i] = sale.Role(r); granted[i] != sale.RoleAdmin && granted[i] != sale.RolePayment {
				return usageError{fmt.Errorf("--role must be admin or payment, not %q", r)}
			}
		}
		verifier, err := server.NewVerifier([]byte(c.JWTSecret))
		if err != nil {
			return config.Faults{err.Error()}
		}
		token, err := verifier.Sign(*buyer, granted, *ttl)
		if err != nil {
			return err
		}
		p.printf("%s\n", token)
		return nil
	}
	return cmd
}

func (p *program) schema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Args: noArgs, Short: "Print the GraphQL schema",
		Example: "  flashclaim schema > schema.graphql",
		RunE: func(*cobra.Command, []string) error {
			p.printf("%s", graph.SDL)
			return nil
		},
	}
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: noArgs, Short: "Print version, commit, Go and platform",
		Example: "  flashclaim version",
		RunE: func(*cobra.Command, []string) error {
			p.printf("flashclaim %s\n", version())
			return nil
		},
	}
}

// Version and Commit are set by the linker for a release.
var (
	Version = ""
	Commit  = ""
)

func version() string {
	v, commit := Version, Commit
	if info, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && commit == "" {
				commit = s.Value
			}
		}
	}
	if v == "" {
		v = "(devel)"
	}
	if commit == "" {
		commit = "unknown"
	}
	return fmt.Sprintf("%s commit=%s go=%s platform=%s/%s", v, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
