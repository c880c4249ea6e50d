package worker_test

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// spoil changes an order's entry on the stream; its claim holds a unit already.
func (b *bundle) spoil(id sale.OrderID, change map[string]any) {
	b.t.Helper()
	for _, m := range must[[]redis.XMessage](b.t)(b.raw.XRange(b.t.Context(), orders, "-", "+").Result()) {
		if m.Values["order"] != string(id) {
			continue
		}
		check(b.t, b.raw.XDel(b.t.Context(), orders, m.ID).Err())
		maps.Copy(m.Values, change)
		check(b.t, b.raw.XAdd(b.t.Context(), &redis.XAddArgs{Stream: orders, Values: m.Values}).Err())
		return
	}
	b.t.Fatalf("order %s is not on the stream", id)
}

// One entry of a hundred cannot be read, or read but not written down.
func TestOnePoisonousEntryStopsNobody(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]any{
		"unreadable number": {"quantity": "abc"},
		"unreadable buyer":  {"buyer": "a\x00b\xff"},
		"no such time":      {"claimed_ms": "0", "pay_before_ms": "1"},
		"huge quantity":     {"quantity": "9007199254740993"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryEngine(t, func(t *testing.T, b *bundle) {
				v := b.voucher(total(200))
				claimed := b.claims(v.ID, 100)
				bad := claimed[40]
				b.spoil(bad.ID, change)
				b.start()
				b.waitFor("COMMITTED", append(claimed[:40:40], claimed[41:]...)...)
				b.waitFor("INVALID", bad)
				later := b.claim(v.ID, "later")
				b.waitFor("COMMITTED", later)
				b.waitUntilQuiet()
				b.wantUnits(v.ID, 100, 100, 100)
				wantTold(t, b.told(bad.ID), sale.RejectedInvalid)
				if n := look(b.seen, func(o *observer) int { return len(o.settled) }); n != 101 {
					t.Errorf("the observer heard of %d settled orders, want 101", n)
				}
				buried := look(b.seen, letters)
				if len(buried) != 1 || buried[0].Reason == "" || buried[0].StreamID == "" || len(buried[0].Fields) == 0 {
					t.Errorf("buried %+v, want one letter with its reason and content", buried)
				}
			})
		})
	}
}

// The database refuses one entry for a reason that nobody foresaw.
func TestEntryRefusedByTheDatabaseIsPutAside(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher(total(100))
		claimed := b.claims(v.ID, 100)
		bad := claimed[99]
		b.Archive = &archive{Archive: b.archive, settle: refusing(bad.ID)}
		b.start()
		b.waitFor("COMMITTED", claimed[:99]...)
		b.waitFor("INVALID", bad)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 1, 99, 99)
		if n := look(b.seen, func(o *observer) int { return len(o.buried) }); n != 1 {
			t.Errorf("%d entries were buried, want 1", n)
		}
	})
}

func refusing(id sale.OrderID) func(context.Context, []sale.Entry) error {
	return func(_ context.Context, entries []sale.Entry) error {
		for _, e := range entries {
			if e.Order.ID == id {
				return errRefused
			}
		}
		return nil
	}
}

// Nobody can be told of an entry that names no order: it is kept and let go.
func TestEntryWithoutAnOrderIsBuriedAndAcknowledged(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		junk := &redis.XAddArgs{Stream: orders, Values: []string{"hello", "world\x00\xff"}}
		check(t, b.raw.XAdd(t.Context(), junk).Err())
		o := b.claim(v.ID, "ada")
		b.start()
		b.waitFor("COMMITTED", o)
		b.waitUntilQuiet()
		buried := look(b.seen, letters)
		if len(buried) != 1 || buried[0].Fields["hello"] != "world\x00\xff" {
			t.Errorf("buried %+v, want the one entry as it was", buried)
		}
		b.wantUnits(v.ID, 9, 1, 1)
	})
}

// Not even a rejection can be stored: the entry is kept, the others go on.
func TestOrderThatCannotEvenBeRejected(t *testing.T) {
	t.Parallel()
	b := newBundle(t, embedded(t))
	v := b.voucher()
	claimed := b.claims(v.ID, 3)
	bad := claimed[1]
	b.Archive = &archive{
		Archive: b.archive, settle: refusing(bad.ID), reject: func(sale.Entry) error { return errRefused },
	}
	b.start()
	b.waitFor("COMMITTED", claimed[0], claimed[2])
	b.waitUntilQuiet()
	if n := look(b.seen, func(o *observer) int { return len(o.buried) }); n != 1 {
		t.Errorf("%d entries were buried, want 1", n)
	}
	if b.book.count("order of a buried entry cannot be rejected") != 1 {
		t.Error("nothing was logged")
	}
}

// Entries that fail again and again take a bounded share: new orders are read
// although more old ones wait than one batch holds.
func TestPermanentFailuresDoNotStarveNewOrders(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher(total(200))
		for i := range 10 {
			check(t, b.raw.XAdd(t.Context(), &redis.XAddArgs{Stream: orders, Values: []string{"junk", fmt.Sprint(i)}}).Err())
		}
		b.readAsDead()
		var refused atomic.Int64
		b.Archive = &archive{Archive: b.archive, bury: func(sale.DeadLetter) error { refused.Add(1); return errRefused }}
		b.Batch = 5
		b.ReclaimIdle, b.ReclaimEvery = time.Millisecond, time.Millisecond
		b.start()
		testenv.Eventually(t, soon, "every bad entry to have failed twice", func() bool { return refused.Load() >= 20 })
		b.waitFor("COMMITTED", b.claims(v.ID, 30)...)
		b.wantUnits(v.ID, 170, 30, 30)
		if n := b.unacknowledged(); n != 10 {
			t.Errorf("%d entries are unacknowledged, want the 10 bad ones", n)
		}
	})
}

// An entry that was deleted while pending has no content: it is counted, and
// the rest goes on. The embedded Redis does not tell of such entries.
func TestDeletedPendingEntriesAreCounted(t *testing.T) {
	t.Parallel()
	b := newBundle(t, services{redis: testenv.Redis(t).URL(), database: embedded(t).database})
	v := b.voucher()
	claimed := b.claims(v.ID, 3)
	gone := b.readAsDead()[1]
	check(t, b.raw.XDel(t.Context(), orders, gone.StreamID).Err())
	b.start()
	b.waitFor("COMMITTED", claimed[0], claimed[2])
	testenv.Eventually(t, soon, "the lost entry to be counted", func() bool {
		return look(b.seen, func(o *observer) int { return o.lost }) == 1
	})
	testenv.Eventually(t, soon, "the group to forget the lost entry", func() bool { return b.unacknowledged() == 0 })
}
