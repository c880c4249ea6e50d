package worker_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestWorkerWritesDownAndTells(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		first, second := b.voucher(), b.voucher()
		claimed := append(b.claims(first.ID, 4), b.claims(second.ID, 3)...)
		b.start()
		b.waitFor("COMMITTED", claimed...)
		b.waitUntilQuiet()
		b.wantUnits(first.ID, 6, 4, 4)
		b.wantUnits(second.ID, 7, 3, 3)
		for _, o := range claimed {
			row := must[sale.Order](t)(b.archive.Order(t.Context(), o.ID))
			if diff := cmp.Diff([]sale.Order{row}, b.told(o.ID)); diff != "" {
				t.Errorf("announced (-row +event):\n%s", diff)
			}
			if row.CommittedAt == nil || row.Version != 2 || row.BuyerID != o.BuyerID {
				t.Errorf("the row is %+v", row)
			}
		}
		if n := look(b.seen, func(o *observer) int { return len(o.settled) }); n != 7 {
			t.Errorf("the observer heard of %d settled orders, want 7", n)
		}
	})
}

// The archive refuses what the gate accepted: the order ends, its buyer is told,
// its unit is free again.
func TestRefusedOrdersAreToldAndReleasedOnce(t *testing.T) {
	t.Parallel()
	t.Run("second order of a buyer", func(t *testing.T) {
		t.Parallel()
		onEveryEngine(t, func(t *testing.T, b *bundle) {
			v := b.voucher()
			// The gate believes that a buyer may hold two.
			check(t, b.raw.HSet(t.Context(), "fc:{p00}:v:"+string(v.ID)+":sale", "limit", 2).Err())
			one, two := b.claim(v.ID, "ada", "r1"), b.claim(v.ID, "ada", "r2")
			b.start()
			b.waitFor("COMMITTED", one)
			b.waitFor("LIMIT_REACHED", two)
			b.waitUntilQuiet()
			b.wantUnits(v.ID, 9, 1, 1)
			wantTold(t, b.told(two.ID), sale.RejectedLimitReached)
		})
	})
	t.Run("more stock than the archive has", func(t *testing.T) {
		t.Parallel()
		onEveryEngine(t, func(t *testing.T, b *bundle) {
			v := b.draft(total(3))
			check(t, b.archive.CreateVoucher(t.Context(), v))
			inflated := v
			inflated.Total = 5
			b.source.add(inflated)
			check(t, b.gate.Publish(t.Context(), v.ID))
			claimed := b.claims(v.ID, 5)
			b.start()
			b.waitFor("COMMITTED", claimed[:3]...)
			b.waitFor("SOLD_OUT", claimed[3:]...)
			b.waitUntilQuiet()
			b.wantUnits(v.ID, 2, 3, 3) // together what was loaded: none lost, none invented
			for _, o := range claimed[3:] {
				wantTold(t, b.told(o.ID), sale.RejectedSoldOut)
			}
		})
	})
	t.Run("voucher that the archive does not know", func(t *testing.T) {
		t.Parallel()
		onEveryEngine(t, func(t *testing.T, b *bundle) {
			v := b.draft()
			b.source.add(v)
			check(t, b.gate.Publish(t.Context(), v.ID))
			o := b.claim(v.ID, "ada")
			b.start()
			b.waitFor("NOT_FOUND", o)
			b.waitUntilQuiet()
			wantTold(t, b.told(o.ID), sale.RejectedNotFound)
			if n := must[int](t)(b.raw.Get(t.Context(), "fc:{p00}:v:"+string(v.ID)+":stock").Int()); n != v.Total {
				t.Errorf("stock is %d, want all %d", n, v.Total)
			}
		})
	})
}

func wantTold(t *testing.T, told []sale.Order, code sale.RejectionCode) {
	t.Helper()
	if len(told) != 1 || told[0].Status != sale.StatusRejected || told[0].Rejection.Code != code {
		t.Errorf("told of %+v, want one rejection with %s", told, code)
	}
}

// Two workers share the partition: nobody's order is written or told twice.
func TestTwoWorkersShareThePartition(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		const n = 300
		vouchers := []sale.Voucher{b.voucher(total(n)), b.voucher(total(n))}
		b.Batch = 20
		b.ReclaimIdle = soon // nothing is taken over from a worker that lives
		var claimed []sale.Order
		claimed = append(claimed, b.claims(vouchers[0].ID, n/2)...)
		b.start()
		b.start()
		claimed = append(claimed, b.claims(vouchers[1].ID, n/2)...)
		b.waitUntilQuiet()
		for _, o := range claimed {
			if verdict := b.verdict(o.ID); verdict != "COMMITTED" {
				t.Errorf("order %s is %s", o.ID, verdict)
			}
		}
		for _, v := range vouchers {
			b.wantUnits(v.ID, n/2, n/2, n/2)
		}
		told := b.announced()
		for id, changes := range told {
			if len(changes) != 1 {
				t.Errorf("order %s was announced %d times", id, len(changes))
			}
		}
		if len(told) != n {
			t.Errorf("%d orders were announced, want %d", len(told), n)
		}
		if missing := look(b.seen, func(o *observer) int { return o.missing }); missing != 0 {
			t.Errorf("%d acknowledgements were missing", missing)
		}
		names := b.consumers()
		slices.Sort(names)
		if len(slices.Compact(names)) != 2 {
			t.Errorf("the consumers are %q, want two names", names)
		}
	})
}

// An acknowledgement that reaches nothing is a silent reply of Redis; it must
// not stay silent here.
func TestMissingAcknowledgementsAreCounted(t *testing.T) {
	t.Parallel()
	b := newBundle(t, embedded(t))
	v := b.voucher()
	b.Queue = &queue{Queue: b.gate, acknowledge: func(ctx context.Context, p int, settled []sale.Settled) (int64, error) {
		for _, s := range settled { // somebody else was faster
			check(t, b.raw.XAck(ctx, orders, group, s.StreamID).Err())
		}
		return b.gate.Acknowledge(ctx, p, settled)
	}}
	claimed := b.claims(v.ID, 3)
	b.start()
	b.waitFor("COMMITTED", claimed...)
	testenv.Eventually(t, soon, "three missing acknowledgements", func() bool {
		return look(b.seen, func(o *observer) int { return o.missing }) == 3
	})
	if b.book.count("entries were acknowledged before") == 0 {
		t.Error("nothing was logged")
	}
}
