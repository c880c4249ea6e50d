package notify

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// The change comes between registering and looking: the look still sees the old
// state, and the event is gone before the watcher is handed out.
func TestNothingIsLostBetweenRegisteringAndLooking(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(sale.Order) sale.Order{
		"committed": committed,
		"rejected":  func(o sale.Order) sale.Order { return o.Rejected(sale.RejectedSoldOut) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			b := newBell(t, w)
			o := pendingOrder("ada")
			w.put(o)
			w.looking = func(seen sale.Order) {
				changed := change(seen)
				w.put(changed)
				b.tell(&changed)
			}
			ch := watchOrder(t, b, o, 0)
			got := next(t, ch)
			wantVersion(t, got, 2, change(o).Status)
			if got.Status.Final() {
				wantClosed(t, ch)
				return
			}
			wantNothing(t, ch) // the older state does not follow
		})
	}
}

func TestWatchOrderBeginsWithThePresentState(t *testing.T) {
	t.Parallel()
	pending := pendingOrder("ada")
	rejected := pending.Rejected(sale.RejectedSoldOut)
	for _, test := range []struct {
		name    string
		present sale.Order
		after   int
		first   bool // whether the present state is sent
	}{
		{"pending", pending, 0, true},
		{"pending, known", pending, 1, false},
		{"committed before the subscription", committed(pending), 0, true},
		{"committed, older known", committed(pending), 1, true},
		{"committed, known", committed(pending), 2, false},
		{"rejected", rejected, 0, true},
		{"rejected, older known", rejected, 1, true},
		{"rejected, known", rejected, 2, false},
		{"a version that cannot be", rejected, 1000, false},
		{"a version below all", committed(pending), -5, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			b := newBell(t, w)
			w.put(test.present)
			ch := watchOrder(t, b, test.present, test.after)
			if test.first {
				wantVersion(t, next(t, ch), test.present.Version, test.present.Status)
			}
			if test.present.Status.Final() {
				wantClosed(t, ch)
				if n := b.hub.watching(); n != 0 {
					t.Errorf("%d are watched behind a final state", n)
				}
				return
			}
			wantNothing(t, ch)
			told := at(test.present, 10, sale.StatusCancelled)
			b.tell(&told)
			wantVersion(t, next(t, ch), 10, sale.StatusCancelled)
			wantClosed(t, ch)
		})
	}
}

// Another buyer's order and one that does not exist cannot be told apart.
func TestForeignAndUnknownOrdersAreTheSame(t *testing.T) {
	t.Parallel()
	theirs, unknown := pendingOrder("bob"), pendingOrder("nobody")
	var calls [][]string
	for _, o := range []sale.Order{theirs, unknown} {
		w := newWorld()
		w.put(theirs)
		b := newBell(t, w)
		ch, err := b.WatchOrder(t.Context(), "ada", o.ID, 0)
		if ch != nil || !errors.Is(err, sale.ErrNotFound) {
			t.Errorf("got %v and error %v, want %v", ch, err, sale.ErrNotFound)
		}
		if n := b.hub.watching(); n != 0 {
			t.Errorf("%d are watched after a refusal", n)
		}
		calls = append(calls, w.looks)
	}
	if !slices.Equal(calls[0], calls[1]) {
		t.Errorf("another's order took the look-ups %q, an unknown one %q", calls[0], calls[1])
	}
}

func TestFailedLookLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	away := errors.New("away")
	w.fail(away)
	if _, err := b.WatchOrder(t.Context(), "ada", pendingOrder("ada").ID, 0); !errors.Is(err, away) {
		t.Errorf("watching an order gave %v", err)
	}
	if _, err := b.WatchBuyer(t.Context(), "ada"); !errors.Is(err, away) {
		t.Errorf("watching a buyer gave %v", err)
	}
	if _, err := b.WatchVoucher(t.Context(), sale.NewVoucherID(0, pendingOrder("ada").ClaimedAt)); !errors.Is(err, sale.ErrNotFound) {
		t.Errorf("watching a voucher gave %v", err)
	}
	if n := b.hub.watching(); n != 0 {
		t.Errorf("%d are watched", n)
	}
}

// The context may end before, while and after the watcher is made.
func TestWatchersEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		o := pendingOrder("ada")
		v := openVoucher(w, 5)
		w.put(o)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			orders, buyers, vouchers := watchAll(ctx, t, b, o, v)
			wantVersion(t, next(t, orders), 1, sale.StatusPending)
			next(t, buyers)
			next(t, vouchers)
			cancel()
			wantClosed(t, orders)
			wantClosed(t, buyers)
			wantClosed(t, vouchers)
			synctest.Wait()
			if n := b.hub.watching(); n != 0 {
				t.Errorf("%d are watched after the end", n)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.looking = func(sale.Order) { cancel() }
		orders, _, _ := watchAll(ctx, t, b, o, v)
		synctest.Wait()
		next(t, orders)
		wantClosed(t, orders)
		if n := b.hub.watching(); n != 0 {
			t.Errorf("%d are watched although the context had ended", n)
		}
	})
}

func openVoucher(w *world, remaining int) sale.Voucher {
	o := pendingOrder("")
	v := sale.Voucher{ID: o.VoucherID, Title: "120 for 100", Total: 10, Live: &sale.Live{Remaining: remaining, State: sale.StateOpen}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.vouchers[v.ID] = v
	return v
}

func watchAll(ctx context.Context, t *testing.T, b *Bell, o sale.Order, v sale.Voucher) (
	orders, buyers <-chan *sale.Order, vouchers <-chan *sale.Voucher,
) {
	t.Helper()
	var err [3]error
	orders, err[0] = b.WatchOrder(ctx, o.BuyerID, o.ID, 0)
	buyers, err[1] = b.WatchBuyer(ctx, o.BuyerID)
	vouchers, err[2] = b.WatchVoucher(ctx, v.ID)
	if err := errors.Join(err[:]...); err != nil {
		t.Fatal(err)
	}
	return orders, buyers, vouchers
}

// Ten thousand watchers come and go; the bubble fails when a goroutine stays.
func TestTenThousandWatchersLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		v := openVoucher(w, 5)
		ctx, cancel := context.WithCancel(t.Context())
		for range 10_000 / 3 {
			o := pendingOrder("ada")
			w.put(o)
			if _, err := b.WatchOrder(ctx, "ada", o.ID, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := b.WatchVoucher(ctx, v.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := b.WatchBuyer(ctx, string(o.ID)); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		synctest.Wait()
		if n := b.hub.watching(); n != 0 {
			t.Errorf("%d are still watched", n)
		}
	})
}
