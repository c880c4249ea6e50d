package gate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func (b *bundle) release(t fataler, o sale.Order) bool {
	t.Helper()
	done, err := b.Release(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestReleaseOnce guards C7 and D9: a unit comes back once, however often it is
// asked for, and only to whom it belongs.
func TestReleaseOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 3 })
		o := b.accepted(t, sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 3})
		stranger, unknown, inflated := *o, *o, *o
		stranger.BuyerID, unknown.ID, inflated.Quantity = "other", sale.NewOrderID(v.ID.Partition(), time.Now()), 100
		for _, test := range []struct {
			name  string
			order sale.Order
			stock int
		}{
			{"by another buyer", stranger, 7},
			{"of an order that never was", unknown, 7},
			{"the units come from the record, not from the caller", inflated, 10},
			{"twice", *o, 10},
		} {
			if !b.release(t, test.order) {
				t.Errorf("%s: not done", test.name)
			}
			if stock := b.conserved(t, v); stock != test.stock {
				t.Errorf("%s: stock %d, want %d", test.name, stock, test.stock)
			}
		}
	})
}

// TestReleasesAtOnce: many workers release one order.
func TestReleasesAtOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		o := b.accepted(t, one(v, "u"))
		done := make(chan error, 20)
		for range cap(done) {
			go func() {
				_, err := b.Release(context.Background(), *o)
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if stock := b.conserved(t, v); stock != 10 {
			t.Errorf("stock %d, want 10", stock)
		}
	})
}

// TestReturnedUnitIsSoldOnce guards A5 and D10: after a release exactly one more
// claim wins, and the allowance is back.
func TestReturnedUnitIsSoldOnce(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.Total = 1 })
		first := b.accepted(t, one(v, "u"))
		b.all(t, 20, func(i int) sale.Claim { return one(v, buyer(i)) })
		b.release(t, *first)
		second := b.accepted(t, one(v, "u"))
		if second.ID == first.ID {
			t.Error("the second order has the first one's ID")
		}
		if n := tallied(b.all(t, 20, func(i int) sale.Claim { return one(v, buyer(i)) })); n["SOLD_OUT"] != 20 {
			t.Errorf("got %v", n)
		}
		b.release(t, *first) // a late repeat must not give the second order's unit back
		if stock := b.conserved(t, v); stock != 0 {
			t.Errorf("stock %d, want 0", stock)
		}
	})
}

// TestReleaseOfAnUnloadedSale says that nothing is known to be given back.
func TestReleaseOfAnUnloadedSale(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		o := b.accepted(t, one(v, "u"))
		for _, key := range keysOf(v.ID)[:3] {
			b.del(t, key)
			before := b.contents(t, v.ID)
			if b.release(t, *o) {
				t.Errorf("done without %s", key)
			}
			if after := b.contents(t, v.ID); after != before {
				t.Errorf("keys changed:\n%s\n%s", before, after)
			}
			if err := b.Load(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		if !b.release(t, *o) {
			t.Error("not done after the load")
		}
		if stock := b.conserved(t, v); stock != 10 {
			t.Errorf("stock %d, want 10", stock)
		}
	})
}

// TestNamedRequestIsAnsweredAfterItsRelease guards A7: a late repeat of a named
// request is its order, and takes nothing; a nameless one is a new wish.
func TestNamedRequestIsAnsweredAfterItsRelease(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		named := sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1, RequestID: "r"}
		first := b.accepted(t, named)
		b.release(t, *first)
		for _, quantity := range []int{1, 2} {
			named.Quantity = quantity
			if r := b.claim(t, named); codeOf(r) != "REPLAYED" || r.Order.ID != first.ID {
				t.Errorf("quantity %d: %s", quantity, codeOf(r))
			}
		}
		if stock := b.conserved(t, v); stock != 10 {
			t.Errorf("stock %d, want 10", stock)
		}
		nameless := b.accepted(t, one(v, "u"))
		b.release(t, *nameless)
		if again := b.accepted(t, one(v, "u")); again.ID == nameless.ID {
			t.Error("a nameless claim was taken for one that was given back")
		}
		b.conserved(t, v)
	})
}

// TestClaimAndReleaseForEver: the record of one buyer stays bounded, and what it
// forgets first is the oldest.
func TestClaimAndReleaseForEver(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		const cycles = 130
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 2 })
		kept := b.accepted(t, sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1, RequestID: "kept"})
		c := sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1}
		orders := map[string]sale.OrderID{}
		for i := range cycles {
			c.RequestID = fmt.Sprintf("r%d", i)
			o := b.accepted(t, c)
			orders[c.RequestID] = o.ID
			b.release(t, *o)
		}
		records := len(strings.Fields(b.raw.HGet(t.Context(), keysOf(v.ID)[2], "u").Val()))
		if records < 50 || records > 101 {
			t.Errorf("after %d cycles the buyer has %d records", cycles, records)
		}
		for i := cycles - 50; i < cycles; i++ {
			c.RequestID = fmt.Sprintf("r%d", i)
			if r := b.claim(t, c); codeOf(r) != "REPLAYED" || r.Order.ID != orders[c.RequestID] {
				t.Errorf("request %s: %s", c.RequestID, codeOf(r))
			}
		}
		c.RequestID = "kept"
		if r := b.claim(t, c); codeOf(r) != "REPLAYED" || r.Order.ID != kept.ID {
			t.Errorf("the live order's request: %s", codeOf(r))
		}
		if stock := b.conserved(t, v); stock != 9 {
			t.Errorf("stock %d, want 9", stock)
		}
	})
}

// TestMalformedIDsNameNothing: they have no keys, and are no reason to end the
// process.
func TestMalformedIDsNameNothing(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		if b.release(t, sale.Order{ID: "ord", VoucherID: "vch", BuyerID: "u"}) {
			t.Error("released")
		}
		live, err := b.Live(t.Context(), []sale.Voucher{{ID: "vch", Total: 3, ClosesAt: time.Now().Add(time.Hour)}})
		if err != nil || live[0] != (sale.Live{Remaining: 3, State: sale.StateOpen}) {
			t.Errorf("got %+v, %v", live, err)
		}
		if err := b.Load(t.Context(), "vch"); sale.CodeOf(err) != sale.CodeNotFound {
			t.Error(err)
		}
	})
}
