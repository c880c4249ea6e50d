package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// The tests of this file are the rows of the table in the package comment.

func TestCrashBeforeTheBuyersAnswer(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		o := b.claim(v.ID, "ada", "r1") // the answer never reaches the buyer
		b.start()
		b.waitFor("COMMITTED", o)
		repeat := must[sale.ClaimResult](t)(b.gate.Claim(t.Context(), sale.Claim{
			VoucherID: v.ID, BuyerID: "ada", Quantity: 1, RequestID: "r1",
		}))
		if !repeat.Replayed || repeat.Order.ID != o.ID {
			t.Errorf("the repeat was answered with %+v, want order %s", repeat, o.ID)
		}
		b.wantUnits(v.ID, 9, 1, 1)
	})
}

// A worker died between read and COMMIT, and nothing else is ever sent.
func TestCrashBeforeCommit(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 3)
		b.readAsDead()
		b.start()
		b.waitFor("COMMITTED", claimed...)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 7, 3, 3)
		if n := look(b.seen, func(o *observer) int { return o.reclaimed }); n != 3 {
			t.Errorf("%d entries were reclaimed, want 3", n)
		}
	})
}

// The reply of a read was lost, so the entries are in this worker's own name.
func TestLostReadIsReclaimedFromTheOwnName(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(_ *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 3)
		lose := times(1, errAway)
		b.Queue = &queue{Queue: b.gate, read: func(
			ctx context.Context, p int, consumer string, limit int, block time.Duration,
		) ([]sale.Entry, error) {
			entries, err := b.gate.Read(ctx, p, consumer, limit, block)
			if len(entries) > 0 {
				if lost := lose(); lost != nil {
					return nil, lost
				}
			}
			return entries, err
		}}
		b.start()
		b.waitFor("COMMITTED", claimed...)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 7, 3, 3)
	})
}

// The row is there, the entry pending: the same order is told, nothing moves.
func TestCrashAfterCommit(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		b.claim(v.ID, "ada")
		committed := must[[]sale.Order](t)(b.archive.Settle(t.Context(), v.ID, b.readAsDead()))
		b.wantUnits(v.ID, 9, 1, 1)
		b.start()
		b.waitFor("COMMITTED", committed...)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 9, 1, 1)
		if diff := cmp.Diff(committed, b.told(committed[0].ID)); diff != "" {
			t.Errorf("announced (-committed +event):\n%s", diff)
		}
	})
}

// The announcement and acknowledgement fail; the entries come again.
func TestFailedAcknowledgementComesAgain(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 3)
		fail := times(2, errAway)
		b.Queue = &queue{Queue: b.gate, acknowledge: func(ctx context.Context, p int, settled []sale.Settled) (int64, error) {
			if err := fail(); err != nil {
				return 0, err
			}
			return b.gate.Acknowledge(ctx, p, settled)
		}}
		b.start()
		b.waitFor("COMMITTED", claimed...)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 7, 3, 3)
		for _, o := range claimed {
			if n := len(b.told(o.ID)); n != 1 {
				t.Errorf("order %s was announced %d times", o.ID, n)
			}
		}
		if n := b.book.count("not acknowledged; the entries come again"); n != 2 {
			t.Errorf("%d lines about the acknowledgement, want 2", n)
		}
	})
}

// The reply of the announcement and acknowledgement is lost: both are done.
func TestLostReplyOfTheAcknowledgement(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		var looks atomic.Int64
		lose := times(1, errAway)
		b.Queue = &queue{
			Queue: b.gate, reclaim: func() { looks.Add(1) },
			acknowledge: func(ctx context.Context, p int, settled []sale.Settled) (int64, error) {
				n, err := b.gate.Acknowledge(ctx, p, settled)
				if lost := lose(); lost != nil {
					return 0, lost
				}
				return n, err
			},
		}
		o := b.claim(v.ID, "ada")
		b.ReclaimIdle = time.Millisecond
		b.start()
		b.waitFor("COMMITTED", o)
		seen := looks.Load()
		testenv.Eventually(t, soon, "two more looks for entries to reclaim", func() bool { return looks.Load() > seen+2 })
		b.waitUntilQuiet()
		if n := len(b.told(o.ID)); n != 1 {
			t.Errorf("the order was announced %d times, want once", n)
		}
		if n := look(b.seen, func(o *observer) int { return o.reclaimed }); n != 0 {
			t.Errorf("%d entries were reclaimed, want none", n)
		}
		b.wantUnits(v.ID, 9, 1, 1)
	})
}

// rejectedOrder makes an order that the archive will reject.
func rejectedOrder(t *testing.T, b *bundle) (sale.Voucher, sale.Order) {
	t.Helper()
	v := b.voucher()
	check(t, b.raw.HSet(t.Context(), "fc:{p00}:v:"+string(v.ID)+":sale", "limit", 2).Err())
	b.claim(v.ID, "ada", "r1")
	return v, b.claim(v.ID, "ada", "r2")
}

func TestCrashBetweenTheRejectedRowAndTheRelease(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, o := rejectedOrder(t, b)
		fail := times(2, errAway) // the worker's own try, and the relay's first
		b.Stock = &stock{Stock: b.gate, release: func(sale.Order) error { return fail() }}
		b.start()
		b.waitFor("LIMIT_REACHED", o)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 9, 1, 1)
		if b.book.count("release postponed") != 1 {
			t.Error("the postponed release was not logged")
		}
	})
}

func TestCrashInTheMiddleOfARelease(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, o := rejectedOrder(t, b)
		fail := times(3, errAway)
		b.Outbox = &outbox{Outbox: b.archive, released: fail}
		b.start()
		b.waitFor("LIMIT_REACHED", o)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 9, 1, 1) // released four times, given back once
		if fail() != nil {
			t.Error("the release was not repeated")
		}
	})
}
