package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flashclaim/flashclaim/internal/app"
	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/embedded"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server"
)

func serverFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	settingFlags(flags, serverSettings...)
	return flags
}

// devTokenLife is how long the printed tokens are valid.
const devTokenLife = 24 * time.Hour

func (p *program) dev() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dev", Args: noArgs, Short: "Try it: server and worker in one process, nothing else needed",
		Long: `Run server and worker in one process with an embedded Redis and SQLite. Prints
the URL, tokens, two vouchers and requests to paste, then what happens, line by
line. Nothing survives its end.`,
		Example: "  flashclaim dev\n  flashclaim dev --addr 127.0.0.1:0",
	}
	settingFlags(cmd.Flags(), "addr", "jwt-secret", "allowed-origins", "log-level", "log-format")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load(cmd)
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("log-level") {
			if _, set := p.env("FLASHCLAIM_LOG_LEVEL"); !set {
				c.LogLevel = slog.LevelWarn // the narration is what one wants to see
			}
		}
		return p.runDev(cmd.Context(), c)
	}
	return cmd
}

func (p *program) runDev(ctx context.Context, c config.Config) (err error) {
	services, err := embedded.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	// This is the whole difference to production: two places, and a secret that
	// dies with the process unless one is given.
	c.RedisURL, c.DatabaseURL = services.RedisURL, services.DatabaseURL
	if c.JWTSecret == "" {
		c.JWTSecret = rand.Text() + rand.Text()
	}

	demo, err := p.prepareDemo(ctx, c)
	if err != nil {
		return err
	}
	o := app.Options{
		Config: c, Server: true, Worker: true, Embedded: true, Narrator: &narrator{print: p.printf},
		Playground: &server.Playground{
			Query: demo.document(), Variables: fmt.Sprintf("{\n  \"id\": %q\n}", "ord_..."), Token: demo.buyers[0],
		},
		Ready: func(url string) { p.welcome(url, demo) },
		Log:   p.logger(c),
	}
	a, err := app.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.Run(ctx)
}

// demo is what a newcomer plays with.
type demo struct {
	admin  string
	buyers []string // tokens of buyer-1, buyer-2, buyer-3
	open   sale.Voucher
	soon   sale.Voucher
}

// prepareDemo migrates the empty database, signs tokens and creates vouchers.
func (p *program) prepareDemo(ctx context.Context, c config.Config) (d demo, err error) {
	a, err := app.Open(app.Options{Config: c, Log: p.logger(c)})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.Archive().Migrate(ctx, func(string) {}); err != nil {
		return d, err
	}
	verifier, err := server.NewVerifier([]byte(c.JWTSecret))
	if err != nil {
		return d, err
	}
	if d.admin, err = verifier.Sign("admin", []sale.Role{sale.RoleAdmin}, devTokenLife); err != nil {
		return d, err
	}
	for i := range 3 {
		token, err := verifier.Sign(fmt.Sprintf("buyer-%d", i+1), nil, devTokenLife)
		if err != nil {
			return d, err
		}
		d.buyers = append(d.buyers, token)
	}
	now := time.Now()
	if d.open, err = a.Desk().CreateVoucher(ctx, demoVoucher("Lunch for two, 120 for 100", now.Add(-time.Minute))); err != nil {
		return d, err
	}
	d.soon, err = a.Desk().CreateVoucher(ctx, demoVoucher("Dinner for four, opens in a minute", now.Add(time.Minute)))
	return d, err
}

func demoVoucher(title string, opens time.Time) sale.Draft {
	subtitle := "Monday to Friday"
	return sale.Draft{
		Title: title, Subtitle: &subtitle,
		Rules:    []string{"Valid at all branches", "No booking needed", "No change given", "Eat-in only"},
		PayValue: sale.MoneyInput{Amount: "100.00", CurrencyCode: "CNY"}, ActualValue: sale.MoneyInput{Amount: "120.00", CurrencyCode: "CNY"},
		Total: 100, PerBuyerLimit: 1, PaymentWindowSeconds: 900, OpensAt: opens, ClosesAt: opens.Add(24 * time.Hour),
	}
}

// document is what the playground is filled with.
func (d demo) document() string {
	return fmt.Sprintf(`# Run Claim, copy the order's ID into the variables, then run Watch.
# The token of buyer-1 is in the headers tab.
mutation Claim {
  claimVoucher(input: { voucherId: %q }) {
    order { id status version }
    replayed
    problem { code message retryable }
  }
}

subscription Watch($id: ID!) {
  orderUpdated(id: $id) { id status version committedAt payBefore }
}

subscription Stock {
  voucherUpdated(id: %q) { remaining total saleState }
}

query Vouchers {
  serverTime
  vouchers(first: 10) { nodes { id title remaining saleState opensAt } }
}
`, d.open.ID, d.open.ID)
}

func (p *program) welcome(url string, d demo) {
	p.printf(`flashclaim dev: server and worker in one process, on an embedded Redis and SQLite.
Nothing survives its end. ctrl-C ends it.

  playground     %[1]s/playground   (a token and requests are filled in)
  open voucher   %[2]s   %[3]s
  opens in 60 s  %[4]s   %[5]s

  admin    %[6]s
  buyer-1  %[7]s
  buyer-2  %[8]s
  buyer-3  %[9]s

Claim a voucher, in another terminal:

  curl -s %[1]s/graphql -H 'Content-Type: application/json' \
    -H 'Authorization: Bearer %[7]s' \
    -d '{"query":"mutation { claimVoucher(input: {voucherId: \"%[2]s\"}) { order { id status } problem { code message } } }"}'

Hear when it is committed (any graphql-transport-ws client; SSE works with curl):

  curl -sN %[1]s/graphql -H 'Content-Type: application/json' -H 'Accept: text/event-stream' \
    -H 'Authorization: Bearer %[7]s' \
    -d '{"query":"subscription { viewerOrderUpdated { id status version committedAt } }"}'

`, url, d.open.ID, d.open.Title, d.soon.ID, d.soon.Title, d.admin, d.buyers[0], d.buyers[1], d.buyers[2])
	p.printf("ready url=%s\n", url)
}

// narrator prints one line for each thing that happens to an order.
type narrator struct {
	mu    sync.Mutex
	print func(format string, args ...any)
}

func (n *narrator) line(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.print("%s  "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}

// Claimed says what became of a claim.
func (n *narrator) Claimed(c sale.Claim, r sale.ClaimResult, fault error) {
	switch {
	case fault != nil:
		n.line("failed     %s: %v", c.BuyerID, fault)
	case r.Problem != nil:
		n.line("refused    %s: %s", c.BuyerID, r.Problem.Code())
	case r.Replayed:
		n.line("claimed    %s  by %s (again)", r.Order.ID, c.BuyerID)
	default:
		n.line("claimed    %s  by %s", r.Order.ID, c.BuyerID)
	}
}

// Settled says that an order is written down.
func (n *narrator) Settled(o sale.Order) {
	verb := "committed"
	if o.Status == sale.StatusRejected {
		verb = "rejected "
	}
	n.line("%s  %s  after %d ms", verb, o.ID, time.Since(o.ClaimedAt).Milliseconds())
}

// Notified says that watchers heard of it.
func (n *narrator) Notified(o sale.Order, watchers int) {
	n.line("notified   %s  %s to %d after %d ms", o.ID, o.Status, watchers, time.Since(o.ClaimedAt).Milliseconds())
}
