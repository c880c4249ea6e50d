package gate_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestHundredClaimsOfTen: concurrent buyers of a small stock; A4, A5.
func TestHundredClaimsOfTen(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		results := b.all(t, 100, func(i int) sale.Claim { return one(v, buyer(i)) })
		if diff := cmp.Diff(map[string]int{"ACCEPTED": 10, "SOLD_OUT": 90}, tallied(results)); diff != "" {
			t.Error(diff)
		}
		if stock := b.conserved(t, v); stock != 0 {
			t.Errorf("%d units are left", stock)
		}
		queued := map[sale.OrderID]bool{}
		for _, e := range b.read(t, v.ID.Partition(), "c", 10) {
			queued[e.Order.ID] = true
		}
		for _, r := range results {
			if r.Problem == nil && !queued[r.Order.ID] {
				t.Errorf("order %s was given out and not queued", r.Order.ID)
			}
		}
	})
}

// TestOneBuyerFiftyTimes guards D11: concurrent repeats of one request are one
// order, and everybody hears the same ID.
func TestOneBuyerFiftyTimes(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		for _, request := range []string{"", "r-1"} {
			v := b.published(t)
			results := b.all(t, 50, func(int) sale.Claim {
				return sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1, RequestID: request}
			})
			if diff := cmp.Diff(map[string]int{"ACCEPTED": 1, "REPLAYED": 49}, tallied(results)); diff != "" {
				t.Error(diff)
			}
			for _, r := range results {
				if r.Order.ID != results[0].Order.ID {
					t.Errorf("two orders, %s and %s", r.Order.ID, results[0].Order.ID)
				}
			}
			if stock := b.conserved(t, v); stock != 9 {
				t.Errorf("stock %d, want 9", stock)
			}
		}
	})
}

// TestLimitOfThreeInTwos guards D11 with different requests: of many claims of 2
// under a limit of 3 one wins, and the others are shown the buyer's order.
func TestLimitOfThreeInTwos(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 3 })
		results := b.all(t, 50, func(i int) sale.Claim {
			return sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 2, RequestID: buyer(i)}
		})
		if diff := cmp.Diff(map[string]int{"ACCEPTED": 1, "LIMIT_REACHED": 49}, tallied(results)); diff != "" {
			t.Error(diff)
		}
		var won sale.OrderID
		for _, r := range results {
			if r.Problem == nil {
				won = r.Order.ID
			}
		}
		for _, r := range results {
			if p, ok := r.Problem.(sale.LimitReached); ok && (p.Order == nil || p.Order.ID != won || p.PerBuyerLimit != 3) {
				t.Errorf("refused with %+v, the buyer's order is %s", p, won)
			}
		}
		if stock := b.conserved(t, v); stock != 8 {
			t.Errorf("stock %d, want 8", stock)
		}
	})
}

// TestAcceptedOrder: the answer, the queue and the pending record tell the same.
func TestAcceptedOrder(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 2; v.Epoch = 7 })
		before, err := b.Time(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := sale.Claim{VoucherID: v.ID, BuyerID: `auth0|张 "1"`, Quantity: 2, RequestID: "a:b.c-d_e"}
		o := b.accepted(t, c)
		payBefore := o.ClaimedAt.Add(v.PaymentWindow)
		want := sale.Order{
			ID: o.ID, VoucherID: v.ID, BuyerID: c.BuyerID, RequestID: c.RequestID, Quantity: 2,
			Status: sale.StatusPending, Version: 1, ClaimedAt: o.ClaimedAt, PayBefore: &payBefore,
		}
		if diff := cmp.Diff(&want, o); diff != "" {
			t.Errorf("answer:\n%s", diff)
		}
		if o.ClaimedAt.Before(before) || o.ClaimedAt.After(before.Add(patience)) {
			t.Errorf("claimed at %s, Redis's clock said %s before", o.ClaimedAt, before)
		}
		pending, err := b.Pending(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pending); diff != "" {
			t.Errorf("pending:\n%s", diff)
		}
		e := b.read(t, v.ID.Partition(), "c", 1)[0]
		if diff := cmp.Diff(sale.Entry{Partition: v.ID.Partition(), StreamID: e.StreamID, Epoch: 7, Order: want}, e); diff != "" {
			t.Errorf("entry:\n%s", diff)
		}
	})
}

// TestBusyChangesNothing: above the backlog bound a claim waits outside.
func TestBusyChangesNothing(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, engine(t), func(o *gate.Options) { o.MaxBacklog = 3 })
			v := b.published(t)
			for i := range 3 {
				b.accepted(t, one(v, buyer(i)))
			}
			before := b.contents(t, v.ID)
			r := b.claim(t, one(v, "late"))
			if p, ok := r.Problem.(sale.Busy); !ok || p.RetryAfterMs < 1 || !p.Retryable() {
				t.Errorf("got %s", codeOf(r))
			}
			if again := b.claim(t, one(v, buyer(0))); codeOf(again) != "REPLAYED" {
				t.Errorf("a repeat of an accepted claim: %s", codeOf(again))
			}
			if after := b.contents(t, v.ID); after != before {
				t.Errorf("keys changed:\n%s\n%s", before, after)
			}
			b.settle(t, b.read(t, v.ID.Partition(), "c", 3))
			b.accepted(t, one(v, "late"))
			b.conserved(t, v)
		})
	}
}

// TestRepeatWithAnotherQuantity: one request is one wish.
func TestRepeatWithAnotherQuantity(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 5 })
		c := sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: 1, RequestID: "r"}
		b.accepted(t, c)
		c.Quantity = 2
		if r := b.claim(t, c); codeOf(r) != "INVALID" || r.Order != nil {
			t.Errorf("got %s", codeOf(r))
		}
		c.RequestID = "r2"
		b.accepted(t, c)
		if stock := b.conserved(t, v); stock != 7 {
			t.Errorf("stock %d, want 7", stock)
		}
	})
}

// TestScriptFlushLosesNothing guards A8: a restart or a failover empties the
// script cache, also between the commands of a pipeline.
func TestScriptFlushLosesNothing(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.Total = 200 })
		done := make(chan struct{})
		flushed := make(chan error, 1)
		go func() {
			var err error
			for err == nil {
				select {
				case <-done:
					flushed <- nil
					return
				default:
					err = b.raw.ScriptFlush(context.Background()).Err()
				}
			}
			flushed <- err
		}()
		results := b.all(t, 200, func(i int) sale.Claim { return one(v, buyer(i)) })
		close(done)
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
		if n := tallied(results)["ACCEPTED"]; n != 200 {
			t.Errorf("%d of 200 claims were accepted", n)
		}
		if err := b.raw.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Live(t.Context(), []sale.Voucher{v}); err != nil {
			t.Error(err)
		}
		if ok, err := b.Release(t.Context(), *results[0].Order); !ok || err != nil {
			t.Errorf("release: %v, %v", ok, err)
		}
		if stock := b.conserved(t, v); stock != 1 {
			t.Errorf("stock %d, want 1", stock)
		}
	})
}

// observed keeps what a gate tells its observer.
type observed struct{ codes chan string }

func (o observed) ClaimDecided(_ sale.Claim, r sale.ClaimResult, fault error, _ time.Duration) {
	if fault != nil {
		o.codes <- string(sale.CodeOf(fault))
		return
	}
	o.codes <- codeOf(r)
}

func TestObserverHearsEveryClaimOnce(t *testing.T) {
	t.Parallel()
	o := observed{make(chan string, 10)}
	server := engines["redis-server"](t)
	b := newBundle(t, server, func(options *gate.Options) { options.Observer = o })
	v := b.voucher(t)
	b.claim(t, one(v, "u")) // loads the sale and asks again
	b.claim(t, one(v, "u"))
	b.claim(t, sale.Claim{VoucherID: v.ID, BuyerID: "u"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Claim(ctx, one(v, "u2")); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
	close(o.codes)
	var got []string
	for code := range o.codes {
		got = append(got, code)
	}
	if diff := cmp.Diff([]string{"ACCEPTED", "REPLAYED", "INVALID", "UNAVAILABLE"}, got); diff != "" {
		t.Error(diff)
	}
}
