package gate_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestMissingKeyLoadsTheSale guards A1 and D1: whichever key is missing, the next
// claim loads the sale; it is never told SOLD_OUT and never a fault.
func TestMissingKeyLoadsTheSale(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		for i, part := range []string{"sale", "stock", "buyers", "orders", "all"} {
			v := b.published(t)
			b.accepted(t, one(v, "early"))
			keys := keysOf(v.ID)[:4]
			if part != "all" {
				keys = keys[i : i+1]
			}
			b.del(t, keys...)
			if r := b.claim(t, one(v, "late")); codeOf(r) != "ACCEPTED" {
				t.Errorf("%s missing: %s", part, codeOf(r))
			}
			if stock := b.conserved(t, v); stock != 8 {
				t.Errorf("%s missing: stock %d, want 8", part, stock)
			}
			if r := b.claim(t, one(v, "early")); codeOf(r) != "REPLAYED" {
				t.Errorf("%s missing: the earlier buyer's repeat: %s", part, codeOf(r))
			}
			// B6: a stream that a claim makes by itself would have no group.
			if _, err := b.Read(t.Context(), v.ID.Partition(), "c", 100, time.Millisecond); err != nil {
				t.Errorf("%s missing: the queue: %v", part, err)
			}
		}
	})
}

// TestDamagedSaleIsLoadedAgain: a sale that lost a single field is not loaded,
// for the claim and for the load alike.
func TestDamagedSaleIsLoadedAgain(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		ctx := context.Background()
		for _, field := range []string{"epoch", "state", "opens_ms", "closes_ms", "limit", "pay_ms"} {
			if err := b.raw.HDel(ctx, keysOf(v.ID)[0], field).Err(); err != nil {
				t.Fatal(err)
			}
			b.accepted(t, one(v, field))
		}
		if err := b.raw.Set(ctx, keysOf(v.ID)[1], "many", 0).Err(); err != nil {
			t.Fatal(err)
		}
		b.accepted(t, one(v, "stock"))
		if err := b.raw.HDel(ctx, keysOf(v.ID)[2], "").Err(); err != nil {
			t.Fatal(err)
		}
		b.accepted(t, one(v, "marker"))
		if stock := b.conserved(t, v); stock != 2 {
			t.Errorf("stock %d, want 2", stock)
		}
	})
}

// TestLoadIsSingleFlight guards A1: a rush on a sale that is not loaded asks the
// archive once. A claim that heard NOT_READY in the very moment when the load
// ended may ask once more.
func TestLoadIsSingleFlight(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var begun atomic.Int32
			b := newBundle(t, engine(t), func(o *gate.Options) {
				o.Now = func() time.Time { begun.Add(1); return time.Now() } // asked by every claim for its order's ID
			})
			v := b.voucher(t, func(v *sale.Voucher) { v.Total = 100 })
			begun.Store(0)
			<-b.archive.mu // nobody gets an answer
			results := make(chan []sale.ClaimResult)
			go func() {
				results <- b.all(t, 100, func(i int) sale.Claim { return one(v, buyer(i)) })
			}()
			testenv.Eventually(t, patience, "all claims being on their way", func() bool { return begun.Load() >= 100 })
			b.archive.mu <- struct{}{}
			if n := tallied(<-results)["ACCEPTED"]; n != 100 {
				t.Errorf("%d of 100 claims were accepted", n)
			}
			if b.archive.asked > 10 {
				t.Errorf("the archive was asked %d times", b.archive.asked)
			}
			b.conserved(t, v)
		})
	}
}

// TestUnknownVoucherIsAskedForOnceASecond: made-up IDs reach the database one at
// a time and leave no key.
func TestUnknownVoucherIsAskedForOnceASecond(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := sale.Voucher{ID: b.NewVoucherID()}
		began := time.Now()
		for range 20 {
			if r := b.claim(t, one(v, "u")); codeOf(r) != "NOT_FOUND" || r.Problem.Retryable() {
				t.Fatalf("got %s", codeOf(r))
			}
		}
		if most := 1 + int(time.Since(began)/time.Second); b.archive.asked < 1 || b.archive.asked > most {
			t.Errorf("20 claims in %s asked the archive %d times", time.Since(began), b.archive.asked)
		}
		if n, err := b.raw.Exists(t.Context(), keysOf(v.ID)...).Result(); n != 0 || err != nil {
			t.Errorf("%d keys are left, %v", n, err)
		}
		asked := b.archive.asked
		testenv.Eventually(t, patience, "the archive being asked again", func() bool {
			b.claim(t, one(v, "u"))
			return b.archive.asked > asked
		})
	})
}

// TestCreatedVoucherIsNotMissed: one that was asked for too early is claimable
// as soon as it is published.
func TestCreatedVoucherIsNotMissed(t *testing.T) {
	t.Parallel()
	b, _ := onMiniredis(t)
	v := sale.Voucher{ID: b.NewVoucherID()}
	if r := b.claim(t, one(v, "early")); codeOf(r) != "NOT_FOUND" {
		t.Fatal(codeOf(r))
	}
	v = b.published(t, func(made *sale.Voucher) { made.ID = v.ID })
	b.accepted(t, one(v, "u"))
}

// TestArchiveAwayIsNotReady guards A1: a sale that cannot be loaded just now asks
// for a repeat, keeps no lease, and is loaded as soon as it can be.
func TestArchiveAwayIsNotReady(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher(t)
		away := sale.Unavailable(fmt.Errorf("connection refused"), "the archive")
		b.archive.locked(func() { b.archive.fault = away })
		if r := b.claim(t, one(v, "u")); codeOf(r) != "NOT_READY" || !r.Problem.Retryable() {
			t.Errorf("got %s", codeOf(r))
		}
		if n, err := b.raw.Exists(t.Context(), keysOf(v.ID)[:3]...).Result(); n != 0 || err != nil {
			t.Errorf("%d keys are left, %v", n, err)
		}
		b.archive.locked(func() { b.archive.fault = nil })
		b.accepted(t, one(v, "u"))
	})
}

// TestLoadOfManyBuyers: more than one script call may write.
func TestLoadOfManyBuyers(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		const buyers = 2500
		v := b.voucher(t, func(v *sale.Voucher) { v.Total = 3*buyers + 7; v.PerBuyerLimit = 3 })
		for i := range buyers {
			b.archive.put(sale.Order{
				ID: sale.NewOrderID(v.ID.Partition(), time.Now()), VoucherID: v.ID, BuyerID: buyer(i), RequestID: "r",
				Quantity: 3, Status: sale.StatusCommitted, Version: 2,
			})
		}
		if err := b.Load(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if stock := b.conserved(t, v); stock != 7 {
			t.Errorf("stock %d, want 7", stock)
		}
		for _, i := range []int{0, 999, 1000, 1001, 2499} {
			if r := b.claim(t, one(v, buyer(i))); codeOf(r) != "LIMIT_REACHED" {
				t.Errorf("buyer %d: %s", i, codeOf(r))
			}
		}
	})
}

// TestLoadCountsWhatIsNotWrittenDown guards D2: claims that wait in the stream
// hold their units through a loss of the keys; orders that hold none do not.
func TestLoadCountsWhatIsNotWrittenDown(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		for i := range 5 {
			b.accepted(t, one(v, buyer(i)))
		}
		entries := b.read(t, v.ID.Partition(), "c", 5)
		b.settle(t, entries[:2])                                                        // two are written down
		b.archive.put(entries[2].Order.Committed(time.Now()))                           // one is, and not acknowledged
		b.archive.put(entries[3].Order.Rejected(sale.RejectedSoldOut))                  // one is refused, and not acknowledged
		cancelled := entries[1].Order.Committed(time.Now())                             // one of the written is given back
		cancelled.Status, cancelled.Version = sale.StatusCancelled, cancelled.Version+1 //
		b.archive.put(cancelled)                                                        //
		b.del(t, keysOf(v.ID)[:3]...)
		if err := b.Load(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if stock := b.conserved(t, v); stock != 7 { // 10 less the first, third and fifth
			t.Errorf("stock %d, want 7", stock)
		}
		got := map[string]string{}
		for i := range 5 {
			got[buyer(i)] = codeOf(b.claim(t, one(v, buyer(i))))
		}
		want := map[string]string{"u0": "REPLAYED", "u1": "ACCEPTED", "u2": "REPLAYED", "u3": "ACCEPTED", "u4": "REPLAYED"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLoadRepeatedChangesNothing guards D2: running the load twice is harmless.
func TestLoadRepeatedChangesNothing(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		b.accepted(t, one(v, "u"))
		before := b.contents(t, v.ID)
		for range 3 {
			if err := b.Publish(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
		}
		if after := b.contents(t, v.ID); after != before {
			t.Errorf("keys changed:\n%s\n%s", before, after)
		}
	})
}

// TestMoreSoldThanThereAre: an archive that knows too much is not a negative
// stock.
func TestMoreSoldThanThereAre(t *testing.T) {
	t.Parallel()
	b, _ := onMiniredis(t)
	v := b.voucher(t, func(v *sale.Voucher) { v.Total = 1 })
	for i := range 3 {
		b.archive.put(sale.Order{
			ID: sale.NewOrderID(v.ID.Partition(), time.Now()), VoucherID: v.ID, BuyerID: buyer(i), Quantity: 1,
			Status: sale.StatusPaid, Version: 3,
		})
	}
	if r := b.claim(t, one(v, "late")); codeOf(r) != "SOLD_OUT" {
		t.Errorf("got %s", codeOf(r))
	}
}

// TestGarbageAmongPendingClosesNoSale: one bad record never stops the others.
func TestGarbageAmongPendingClosesNoSale(t *testing.T) {
	t.Parallel()
	url := engines["redis-server"](t)
	log := &lines{}
	b := newBundle(t, url, func(o *gate.Options) { o.Log = slog.New(log) })
	v := b.published(t)
	b.accepted(t, one(v, "u"))
	garbage := map[string]string{
		"ord_x": "hello", "": "", "ord_y": strings.Repeat("|", 9), "ord_z": string(v.ID) + "|one|2|3||u",
	}
	if err := b.raw.HSet(t.Context(), keysOf(v.ID)[4], garbage).Err(); err != nil {
		t.Fatal(err)
	}
	b.del(t, keysOf(v.ID)[:3]...)
	b.accepted(t, one(v, "u2"))
	if stock := b.conserved(t, v); stock != 8 {
		t.Errorf("stock %d, want 8", stock)
	}
	if n := log.count("pending record cannot be read; a load goes on without it"); n != len(garbage) {
		t.Errorf("%d of %d were reported", n, len(garbage))
	}
}

// TestPausedSaleIsLoadedPaused: an operator's word survives a loss of the keys.
func TestPausedSaleIsLoadedPaused(t *testing.T) {
	t.Parallel()
	b, _ := onMiniredis(t)
	v := b.voucher(t, func(v *sale.Voucher) { v.Paused = true })
	if r := b.claim(t, one(v, "u")); codeOf(r) != "PAUSED" || !r.Problem.Retryable() {
		t.Errorf("got %s", codeOf(r))
	}
}
