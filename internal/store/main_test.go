package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// start is when all tests take place, with a fraction that no store may lose.
var start = time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

// engines are what the suite runs on: each makes the URL of an empty database.
var engines = map[string]func(testing.TB) string{
	"sqlite":   func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "it's 100% a ?.db") },
	"postgres": testenv.Database,
}

func open(tb testing.TB, rawURL string) *Archive {
	tb.Helper()
	a, err := New(rawURL, Options{Now: func() time.Time { return start }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a
}

func migrated(tb testing.TB, rawURL string) *Archive {
	tb.Helper()
	a := open(tb, rawURL)
	if err := a.Migrate(tb.Context(), nil); err != nil {
		tb.Fatal(err)
	}
	return a
}

// newVoucher writes a voucher of 10 units down, one for each buyer.
func newVoucher(tb testing.TB, a *Archive, change ...func(*sale.Voucher)) sale.Voucher {
	tb.Helper()
	subtitle, shop := "usable Monday to Friday", "1"
	v := sale.Voucher{
		ID: sale.NewVoucherID(3, start), Title: "120 for 100", Subtitle: &subtitle, ShopID: &shop,
		Rules:    []string{"valid everywhere", "no change given"},
		PayValue: sale.Money{Minor: 10000, Currency: "CNY"}, ActualValue: sale.Money{Minor: 12000, Currency: "CNY"},
		Total: 10, PerBuyerLimit: 1, PaymentWindow: 15 * time.Minute,
		OpensAt: start.Add(-time.Hour), ClosesAt: start.Add(time.Hour), Epoch: 1,
	}
	for _, f := range change {
		f(&v)
	}
	if err := a.CreateVoucher(tb.Context(), v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// claim is an entry of one unit, as the gate accepts it.
func claim(v sale.VoucherID, buyer string, change ...func(*sale.Entry)) sale.Entry {
	payBefore := start.Add(15 * time.Minute)
	e := sale.Entry{Partition: 3, StreamID: "1700000000000-0", Epoch: 1, Order: sale.Order{
		ID: sale.NewOrderID(3, start), VoucherID: v, BuyerID: buyer, RequestID: "r1", Quantity: 1,
		Status: sale.StatusPending, Version: 1, ClaimedAt: start.Add(-time.Second), PayBefore: &payBefore,
	}}
	for _, f := range change {
		f(&e)
	}
	return e
}

func units(n int) func(*sale.Entry) { return func(e *sale.Entry) { e.Order.Quantity = n } }

// claims are entries of different buyers.
func claims(v sale.VoucherID, n int) []sale.Entry {
	all := make([]sale.Entry, n)
	for i := range all {
		all[i] = claim(v, fmt.Sprintf("buyer-%d", i))
	}
	return all
}

func settle(tb testing.TB, a *Archive, v sale.VoucherID, entries ...sale.Entry) []sale.Order {
	tb.Helper()
	orders, err := a.Settle(tb.Context(), v, entries)
	if err != nil {
		tb.Fatal(err)
	}
	if len(orders) != len(entries) {
		tb.Fatalf("%d entries gave %d orders", len(entries), len(orders))
	}
	return orders
}

// verdicts are the states of orders, a rejected one by its reason.
func verdicts(orders []sale.Order) string {
	words := make([]string, len(orders))
	for i, o := range orders {
		if words[i] = string(o.Status); o.Rejection != nil {
			words[i] = string(o.Rejection.Code)
		}
	}
	return strings.Join(words, " ")
}

// wantSold checks the counter of a voucher against its live orders and a number.
func wantSold(t *testing.T, a *Archive, id sale.VoucherID, want int) {
	t.Helper()
	v, err := a.Voucher(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	live, err := a.LiveOrders(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, o := range live {
		held += o.Quantity
	}
	if v.Sold != want || held != want {
		t.Errorf("sold is %d and live orders hold %d units, want %d", v.Sold, held, want)
	}
}

func exec(t *testing.T, a *Archive, statement string) error {
	t.Helper()
	_, err := a.db.ExecContext(t.Context(), statement)
	return err
}

func mustExec(t *testing.T, a *Archive, statement string) {
	t.Helper()
	if err := exec(t, a, statement); err != nil {
		t.Fatal(err)
	}
}

// wantInputError checks that an error blames the caller's data and is not one
// that time heals.
func wantInputError(t *testing.T, err error) {
	t.Helper()
	var in *sale.InputError
	if !errors.As(err, &in) || Transient(err) {
		t.Errorf("error is %v (transient %t), want an InputError", err, Transient(err))
	}
}

func wantNotFound(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, sale.ErrNotFound) || Transient(err) {
		t.Errorf("error is %v, want %v", err, sale.ErrNotFound)
	}
}

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// texts reads a query's only column.
func texts(t *testing.T, a *Archive, query string) []string {
	t.Helper()
	rows, err := a.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
