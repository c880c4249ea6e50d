package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// While a sale is not in Redis nothing can be given back; the release stays due,
// and a load in the meantime counts the order out.
func TestReleaseWaitsForTheSaleToBeLoaded(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, o := rejectedOrder(t, b)
		key := "fc:{p00}:v:" + string(v.ID) + ":"
		check(t, b.raw.Del(t.Context(), key+"sale", key+"stock", key+"buyers").Err())
		var looks atomic.Int64
		b.Outbox = &outbox{Outbox: b.archive, due: func(context.Context) error { looks.Add(1); return nil }}
		b.start()
		b.waitFor("LIMIT_REACHED", o)
		seen := looks.Load()
		testenv.Eventually(t, soon, "three more looks of the relay", func() bool { return looks.Load() > seen+3 })
		if due := must[[]sale.Order](t)(b.archive.ReleasesDue(t.Context(), 10)); len(due) != 1 {
			t.Errorf("%d releases are due, want the one that waits", len(due))
		}
		check(t, b.gate.Publish(t.Context(), v.ID))
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 9, 1, 1)
	})
}

// Releases of sales that are never loaded again do not hide the others.
func TestReleasesThatWaitHideNobody(t *testing.T) {
	t.Parallel()
	b := newBundle(t, embedded(t))
	unknown := b.draft()
	stuck := make([]sale.Entry, 450)
	for i := range stuck {
		now := sale.Timestamp(b.gate.Now())
		stuck[i] = sale.Entry{StreamID: fmt.Sprintf("%d-0", i+1), Epoch: 1, Order: sale.Order{
			ID: sale.NewOrderID(0, now), VoucherID: unknown.ID, BuyerID: fmt.Sprint(i), Quantity: 1,
			Status: sale.StatusPending, Version: 1, ClaimedAt: now,
		}}
	}
	must[[]sale.Order](t)(b.archive.Settle(t.Context(), unknown.ID, stuck))
	v, o := rejectedOrder(t, b)
	fail := times(1, errAway)
	b.Stock = &stock{Stock: b.gate, release: func(other sale.Order) error {
		if other.ID == o.ID {
			return fail() // the worker's own try
		}
		return nil
	}}
	b.start()
	b.waitFor("LIMIT_REACHED", o)
	testenv.Eventually(t, soon, "the release to be done", func() bool {
		due := must[[]sale.Order](t)(b.archive.ReleasesDue(t.Context(), 1000))
		return len(due) == len(stuck)
	})
	b.wantUnits(v.ID, 9, 1, 1)
}
