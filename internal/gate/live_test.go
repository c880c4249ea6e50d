package gate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestLive: stock and state of loaded sales come from Redis, those of others from
// what the archive knows.
func TestLive(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		open := b.published(t)
		b.accepted(t, one(open, "u"))
		soldOut := b.published(t, func(v *sale.Voucher) { v.Total = 1 })
		b.accepted(t, one(soldOut, "u"))
		scheduled := b.published(t, func(v *sale.Voucher) { v.OpensAt = v.ClosesAt.Add(-time.Second) })
		closed := b.published(t, func(v *sale.Voucher) { v.ClosesAt = v.OpensAt.Add(time.Second) })
		paused := b.published(t, func(v *sale.Voucher) { v.Paused = true })
		paused.Paused = false // what the caller read may be old
		unloaded := b.voucher(t, func(v *sale.Voucher) { v.Sold = 4 })
		lost := b.published(t, func(v *sale.Voucher) { v.Sold = 3 })
		b.del(t, keysOf(lost.ID)[1])
		got, err := b.Live(t.Context(), []sale.Voucher{open, soldOut, scheduled, closed, paused, unloaded, lost})
		if err != nil {
			t.Fatal(err)
		}
		want := []sale.Live{
			{Remaining: 9, State: sale.StateOpen},
			{Remaining: 0, State: sale.StateSoldOut},
			{Remaining: 10, State: sale.StateScheduled},
			{Remaining: 10, State: sale.StateClosed},
			{Remaining: 10, State: sale.StatePaused},
			{Remaining: 6, State: sale.StateOpen},
			{Remaining: 7, State: sale.StateOpen},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if none, err := b.Live(t.Context(), nil); err != nil || len(none) != 0 {
			t.Errorf("of no voucher: %v, %v", none, err)
		}
		if n, err := b.raw.Exists(t.Context(), keysOf(unloaded.ID)[:3]...).Result(); n != 0 || err != nil {
			t.Errorf("looking left %d keys, %v", n, err)
		}
	})
}

func TestTimeIsRedisTime(t *testing.T) {
	t.Parallel()
	b, clock := onMiniredis(t)
	at := time.Date(2040, 1, 1, 0, 0, 0, 123_456_789, time.UTC)
	clock.SetTime(at)
	if got, err := b.Time(t.Context()); err != nil || got != at.Truncate(time.Millisecond) {
		t.Errorf("got %s, %v", got, err)
	}
	clock.Close()
	if _, err := b.Time(t.Context()); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
	if _, err := b.Live(t.Context(), []sale.Voucher{{ID: b.NewVoucherID()}}); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
}
