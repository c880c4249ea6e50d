package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flashclaim/flashclaim/internal/app"
	"github.com/flashclaim/flashclaim/internal/sale"
)

func (p *program) voucher() *cobra.Command {
	cmd := &cobra.Command{
		Use: "voucher", Short: "Create and look at vouchers",
		Example: "  flashclaim voucher create --file voucher.json\n  flashclaim voucher list\n  flashclaim voucher show vch_...",
		Args:    cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("say which: voucher create --file FILE, voucher list or voucher show ID")}
		},
	}
	cmd.AddCommand(p.voucherCreate(), p.voucherList(), p.voucherShow())
	for _, c := range cmd.Commands() {
		settingFlags(c.Flags(), append(append([]string{}, storeSettings...), logSettings...)...)
	}
	return cmd
}

// withApp runs a command on the opened gate and archive.
func (p *program) withApp(cmd *cobra.Command, do func(*app.App) error) (err error) {
	c, err := p.load(cmd, "redis-url", "database-url")
	if err != nil {
		return err
	}
	a, err := p.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.Archive().Check(cmd.Context()); err != nil {
		return err
	}
	return do(a)
}

func (p *program) voucherCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create --file FILE", Args: noArgs, Short: "Create a voucher from a JSON file and open it to claims",
		Long: `Create a voucher from a JSON file (- is standard input) and open it to claims.
The fields are those of the GraphQL input CreateVoucherInput. The voucher's ID
is printed on standard output. A file with a fault creates nothing.`,
		Example: `  flashclaim voucher create --file voucher.json

  {"title": "120 for 100", "rules": ["Monday to Friday"], "total": 100,
   "payValue": {"amount": "100.00", "currencyCode": "CNY"},
   "actualValue": {"amount": "120.00", "currencyCode": "CNY"},
   "opensAt": "2030-01-01T10:00:00+08:00", "closesAt": "2030-01-01T12:00:00+08:00"}`,
	}
	file := cmd.Flags().String("file", "", "JSON file with the voucher (needed)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *file == "" {
			return usageError{errors.New("--file is needed: the JSON file with the voucher")}
		}
		draft, err := readDraft(*file, cmd.InOrStdin())
		if err != nil {
			return err
		}
		return p.withApp(cmd, func(a *app.App) error {
			v, err := a.Desk().CreateVoucher(cmd.Context(), draft)
			if err != nil {
				return fmt.Errorf("%s: %w", *file, err)
			}
			p.printf("%s\n", v.ID)
			return nil
		})
	}
	return cmd
}

func readDraft(file string, stdin io.Reader) (sale.Draft, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file) //nolint:gosec // the operator names the file
	}
	if err != nil {
		return sale.Draft{}, fmt.Errorf("the voucher file cannot be read: %w", err)
	}
	draft, err := sale.DecodeDraft(data)
	if err != nil {
		return sale.Draft{}, fmt.Errorf("%s: %w", file, err)
	}
	// All rules are checked before anything is opened.
	if _, err := draft.Voucher(""); err != nil {
		return sale.Draft{}, fmt.Errorf("%s: %w", file, err)
	}
	return draft, nil
}

func (p *program) voucherList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Args: noArgs, Short: "List vouchers, newest first",
		Example: "  flashclaim voucher list --first 50",
	}
	first := cmd.Flags().Int("first", sale.DefaultPage, fmt.Sprintf("how many, 1 to %d", sale.MaxPage))
	after := cmd.Flags().String("after", "", "only those behind this cursor")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *first < 1 || *first > sale.MaxPage {
			return usageError{fmt.Errorf("--first must be from 1 to %d, not %d", sale.MaxPage, *first)}
		}
		return p.withApp(cmd, func(a *app.App) error {
			s, err := a.Desk().Vouchers(cmd.Context(), nil, sale.Page{First: *first, After: *after})
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(table, "ID\tSTATE\tREMAINING\tTOTAL\tOPENS\tCLOSES\tTITLE")
			for _, v := range s.Items {
				_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", v.ID, v.Live.State, v.Live.Remaining, v.Total,
					v.OpensAt.Format(timeForm), v.ClosesAt.Format(timeForm), v.Title)
			}
			if err := table.Flush(); err != nil {
				return err
			}
			if s.HasNext {
				p.printf("more: --after %s\n", s.Cursors[len(s.Cursors)-1])
			}
			return nil
		})
	}
	return cmd
}

const timeForm = "2006-01-02T15:04:05Z07:00"

func (p *program) voucherShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Args: oneArg("the voucher's ID"), Short: "Show one voucher",
		Example: "  flashclaim voucher show vch_0701jf8xk2m3n4p5q6r7s8t9v0w1",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withApp(cmd, func(a *app.App) error {
			v, err := a.Desk().Voucher(cmd.Context(), sale.VoucherID(args[0]))
			if errors.Is(err, sale.ErrNotFound) {
				return fmt.Errorf("no voucher has the ID %s", args[0])
			}
			if err != nil {
				return err
			}
			return p.showVoucher(v)
		})
	}
	return cmd
}

func (p *program) showVoucher(v sale.Voucher) error {
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { _, _ = fmt.Fprintf(table, "%s\t%v\n", name, value) }
	line("id", v.ID)
	line("title", v.Title)
	if v.Subtitle != nil {
		line("subtitle", *v.Subtitle)
	}
	if v.ShopID != nil {
		line("shop", *v.ShopID)
	}
	for i, rule := range v.Rules {
		line(fmt.Sprintf("rule %d", i+1), rule)
	}
	line("pay value", fmt.Sprintf("%s %s", v.PayValue.Amount(), v.PayValue.Currency))
	line("actual value", fmt.Sprintf("%s %s", v.ActualValue.Amount(), v.ActualValue.Currency))
	line("state", v.Live.State)
	line("remaining", fmt.Sprintf("%d of %d", v.Live.Remaining, v.Total))
	line("written down", v.Sold)
	line("per buyer", v.PerBuyerLimit)
	line("payment window", v.PaymentWindow)
	line("opens", v.OpensAt.Format(timeForm))
	line("closes", v.ClosesAt.Format(timeForm))
	return table.Flush()
}
