package desk_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/desk"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var errAway = sale.Unavailable(errors.New("connection refused"), "it")

// bundle is a desk between a gate and an archive that a test fills and breaks.
// Each look at either is noted in calls.
type bundle struct {
	*desk.Desk
	calls    []string
	pending  map[sale.OrderID]sale.Order
	rows     map[sale.OrderID]sale.Order
	vouchers map[sale.VoucherID]sale.Voucher
	result   sale.ClaimResult // of every claim
	lives    []sale.Live      // of every look at the stock
	gateErr  error            // of everything that the gate is asked
	rowsErr  error            // of everything that the archive is asked
	serverAt time.Time
	now      time.Time
	listed   sale.Slice[sale.Voucher]
	listedAt time.Time
}

func newBundle() *bundle {
	b := &bundle{
		pending: map[sale.OrderID]sale.Order{}, rows: map[sale.OrderID]sale.Order{}, vouchers: map[sale.VoucherID]sale.Voucher{},
		serverAt: time.Date(2030, 1, 1, 0, 0, 1, 0, time.UTC), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	b.Desk = desk.New(desk.Options{
		Gate: gate{b}, Stock: stock{b}, Publisher: publisher{b}, Orders: orders{b}, Vouchers: vouchers{b},
		Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler),
	})
	return b
}

func (b *bundle) note(call string) { b.calls = append(b.calls, call) }

type (
	gate      struct{ *bundle }
	stock     struct{ *bundle }
	publisher struct{ *bundle }
	orders    struct{ *bundle }
	vouchers  struct{ *bundle }
)

func (g gate) Claim(context.Context, sale.Claim) (sale.ClaimResult, error) {
	return g.result, g.gateErr
}

func (g gate) Pending(_ context.Context, id sale.OrderID) (sale.Order, error) {
	g.note("pending")
	return find(g.pending, id, g.gateErr)
}

func (s stock) Live(context.Context, []sale.Voucher) ([]sale.Live, error) {
	s.note("live")
	return s.lives, s.gateErr
}

func (s stock) Time(context.Context) (time.Time, error) { return s.serverAt, s.gateErr }

func (p publisher) NewVoucherID() sale.VoucherID { return sale.NewVoucherID(1, p.now) }

func (p publisher) Publish(_ context.Context, id sale.VoucherID) error {
	if _, ok := p.vouchers[id]; !ok {
		p.note("published before it was created")
	}
	p.note("publish")
	return p.gateErr
}

func (o orders) Order(_ context.Context, id sale.OrderID) (sale.Order, error) {
	o.note("row")
	return find(o.rows, id, o.rowsErr)
}

func (o orders) OrdersOf(_ context.Context, buyer string, _ sale.Page) (s sale.Slice[sale.Order], err error) {
	for _, row := range o.rows {
		if row.BuyerID == buyer {
			s.Items = append(s.Items, row)
		}
	}
	return s, o.rowsErr
}

func (v vouchers) CreateVoucher(_ context.Context, made sale.Voucher) error {
	v.note("create")
	if v.rowsErr == nil {
		v.vouchers[made.ID] = made
	}
	return v.rowsErr
}

func (v vouchers) Voucher(_ context.Context, id sale.VoucherID) (sale.Voucher, error) {
	v.note("voucher")
	return find(v.vouchers, id, v.rowsErr)
}

func (v vouchers) Vouchers(_ context.Context, _ *sale.State, now time.Time, _ sale.Page) (sale.Slice[sale.Voucher], error) {
	v.listedAt = now
	return v.listed, v.rowsErr
}

func find[K comparable, V any](m map[K]V, key K, fault error) (V, error) {
	v, ok := m[key]
	switch {
	case fault != nil:
		return *new(V), fault
	case !ok:
		return v, sale.ErrNotFound
	}
	return v, nil
}

// order makes a promise of the buyer u1.
func (b *bundle) order() sale.Order {
	return sale.Order{
		ID: sale.NewOrderID(1, b.now), VoucherID: sale.NewVoucherID(1, b.now), BuyerID: "u1", Quantity: 1,
		Status: sale.StatusPending, Version: 1, ClaimedAt: b.now,
	}
}

// TestOrderIsLookedForInOneOrder: pending first, the archive second. The other
// way round an order could be missed in both, because its entry is acknowledged
// after its row is committed.
func TestOrderIsLookedForInOneOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare   func(*bundle, sale.Order)
		want      sale.OrderStatus // "" means an error
		wantCode  sale.Code
		wantCalls []string
	}{
		"pending": {
			func(b *bundle, o sale.Order) { b.pending[o.ID] = o },
			sale.StatusPending, "",
			[]string{"pending"},
		},
		"committed": {
			func(b *bundle, o sale.Order) { b.rows[o.ID] = o.Committed(b.now) },
			sale.StatusCommitted, "",
			[]string{"pending", "row"},
		},
		"nowhere": {
			func(*bundle, sale.Order) {},
			"", sale.CodeNotFound,
			[]string{"pending", "row"},
		},
		"another buyer's, pending": {
			func(b *bundle, o sale.Order) { o.BuyerID = "u2"; b.pending[o.ID] = o },
			"", sale.CodeNotFound,
			[]string{"pending", "row"},
		},
		"another buyer's, committed": {
			func(b *bundle, o sale.Order) { o.BuyerID = "u2"; b.rows[o.ID] = o.Committed(b.now) },
			"", sale.CodeNotFound,
			[]string{"pending", "row"},
		},
		"another buyer's, both": {
			func(b *bundle, o sale.Order) {
				o.BuyerID = "u2"
				b.pending[o.ID] = o
				b.rows[o.ID] = o.Committed(b.now)
			},
			"", sale.CodeNotFound,
			[]string{"pending", "row"},
		},
		"committed, Redis away": {
			func(b *bundle, o sale.Order) { b.gateErr = errAway; b.rows[o.ID] = o.Committed(b.now) },
			sale.StatusCommitted, "",
			[]string{"pending", "row"},
		},
		"unknown, Redis away": {
			func(b *bundle, _ sale.Order) { b.gateErr = errAway },
			"", sale.CodeUnavailable,
			[]string{"pending", "row"},
		},
		"another buyer's, Redis away": {
			func(b *bundle, o sale.Order) {
				b.gateErr = errAway
				o.BuyerID = "u2"
				b.rows[o.ID] = o.Committed(b.now)
			},
			"", sale.CodeNotFound,
			[]string{"pending", "row"},
		},
		"pending, archive away": {
			func(b *bundle, o sale.Order) { b.rowsErr = errAway; b.pending[o.ID] = o },
			sale.StatusPending, "",
			[]string{"pending"},
		},
		"not pending, archive away": {
			func(b *bundle, _ sale.Order) { b.rowsErr = errAway },
			"", sale.CodeUnavailable,
			[]string{"pending", "row"},
		},
		"both away": {
			func(b *bundle, _ sale.Order) { b.gateErr, b.rowsErr = errAway, errAway },
			"", sale.CodeUnavailable,
			[]string{"pending", "row"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle()
			o := b.order()
			test.prepare(b, o)
			got, err := b.Order(t.Context(), "u1", o.ID)
			if sale.CodeOf(err) != test.wantCode || got.Status != test.want {
				t.Errorf("got %s, %v", got.Status, err)
			}
			if diff := cmp.Diff(test.wantCalls, b.calls); diff != "" {
				t.Errorf("looks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestForeignOrderLooksLikeNone guards F10: the answer for somebody else's order
// and for one that never existed are the same error after the same look-ups.
func TestForeignOrderLooksLikeNone(t *testing.T) {
	t.Parallel()
	b := newBundle()
	foreign := b.order()
	b.rows[foreign.ID], b.pending[foreign.ID] = foreign.Committed(b.now), foreign
	_, foreignErr := b.Order(t.Context(), "u2", foreign.ID)
	foreignCalls := b.calls
	b.calls = nil
	_, noneErr := b.Order(t.Context(), "u2", sale.NewOrderID(1, b.now))
	if foreignErr.Error() != noneErr.Error() || !errors.Is(foreignErr, sale.ErrNotFound) {
		t.Errorf("somebody's: %v; nobody's: %v", foreignErr, noneErr)
	}
	if diff := cmp.Diff(foreignCalls, b.calls); diff != "" {
		t.Errorf("looks differ:\n%s", diff)
	}
}

func TestMalformedIDsReachNobody(t *testing.T) {
	t.Parallel()
	b := newBundle()
	if _, err := b.Order(t.Context(), "u1", "ord_*"); !errors.Is(err, sale.ErrNotFound) {
		t.Error(err)
	}
	if _, err := b.Voucher(t.Context(), "vch_01"); !errors.Is(err, sale.ErrNotFound) {
		t.Error(err)
	}
	if b.calls != nil {
		t.Errorf("they were looked for: %v", b.calls)
	}
}

func TestOrdersOf(t *testing.T) {
	t.Parallel()
	b := newBundle()
	o := b.order()
	b.rows[o.ID] = o.Committed(b.now)
	s, err := b.OrdersOf(t.Context(), "u1", sale.Page{})
	if err != nil || len(s.Items) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	b := newBundle()
	if got, err := b.Time(t.Context()); err != nil || got != b.serverAt {
		t.Errorf("got %s, %v; the gate's clock says %s", got, err, b.serverAt)
	}
	b.gateErr = errAway
	b.now = b.now.Add(1500 * time.Microsecond)
	if got, err := b.Time(t.Context()); err != nil || got != sale.Timestamp(b.now) {
		t.Errorf("got %s, %v; while Redis is away our own clock says %s", got, err, b.now)
	}
}
