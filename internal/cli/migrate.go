package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func (p *program) migrate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Prepare the database",
		Example: "  flashclaim migrate up\n  flashclaim migrate status",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{errors.New("migrate " + args[0] + " is not a command; there are migrate up and migrate status")}
			}
			return usageError{errors.New("say which: migrate up or migrate status")}
		},
	}
	up := &cobra.Command{
		Use: "up", Args: noArgs, Short: "Apply the migrations that are missing, one process at a time",
		Example: "  flashclaim migrate up --database-url postgres://flashclaim@127.0.0.1/flashclaim",
	}
	up.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		c, err := p.load(cmd, "database-url")
		if err != nil {
			return err
		}
		a, err := p.open(c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		return a.Archive().Migrate(cmd.Context(), func(line string) { p.printf("%s\n", line) })
	}
	status := &cobra.Command{
		Use: "status", Args: noArgs, Short: "List the migrations and whether they are applied",
		Example: "  flashclaim migrate status",
	}
	status.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		c, err := p.load(cmd, "database-url")
		if err != nil {
			return err
		}
		a, err := p.open(c)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		list, err := a.Archive().Status(cmd.Context())
		if err != nil {
			return err
		}
		for _, m := range list {
			state := "missing"
			if m.Applied {
				state = "applied"
			}
			p.printf("%d  %-8s %s\n", m.Version, state, m.Name)
		}
		return nil
	}
	for _, c := range []*cobra.Command{up, status} {
		settingFlags(c.Flags(), append([]string{"database-url"}, logSettings...)...)
		cmd.AddCommand(c)
	}
	return cmd
}
