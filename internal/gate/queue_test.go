package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// queue is a published voucher with n accepted claims.
func (b *bundle) queue(t *testing.T, n int) (v sale.Voucher, partition int) {
	t.Helper()
	v = b.published(t, func(v *sale.Voucher) { v.Total = 1000 })
	for i := range n {
		b.accepted(t, one(v, buyer(i)))
	}
	return v, v.ID.Partition()
}

func (b *bundle) reclaim(t fataler, partition int, consumer string, limit, want int) []sale.Entry {
	t.Helper()
	entries, lost, err := b.Reclaim(context.Background(), partition, consumer, 0, limit)
	if err != nil || lost != 0 || len(entries) != want {
		t.Fatalf("reclaimed %d entries, want %d; lost %d, %v", len(entries), want, lost, err)
	}
	return entries
}

func idsOf(entries []sale.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.StreamID
	}
	return ids
}

// TestGroupIsRecreatedAtTheBeginning guards B6, B7 and V6: a group that vanished
// is created again at the stream's beginning, so that what waits is delivered.
func TestGroupIsRecreatedAtTheBeginning(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 5)
		first := b.read(t, p, "c", 5)
		ctx := context.Background()
		if err := b.raw.XGroupDestroy(ctx, keysOf(v.ID)[3], "archive").Err(); err != nil {
			t.Fatal(err)
		}
		b.accepted(t, one(v, "late")) // the stream is there, so claims go on
		if _, err := b.Read(ctx, p, "c", 10, time.Millisecond); !errors.Is(err, gate.ErrNoGroup) {
			t.Fatalf("got %v", err)
		}
		if again := b.read(t, p, "c", 6); !cmp.Equal(idsOf(first), idsOf(again[:5])) {
			t.Errorf("first %v, again %v", idsOf(first), idsOf(again))
		}
		if err := b.raw.XGroupDestroy(ctx, keysOf(v.ID)[3], "archive").Err(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Reclaim(ctx, p, "c", 0, 10); !errors.Is(err, gate.ErrNoGroup) {
			t.Errorf("reclaim: %v", err)
		}
		if err := b.EnsureGroup(ctx, p); err != nil { // repeated, it does not move the group
			t.Error(err)
		}
		b.read(t, p, "c", 6)
		if err := b.EnsureGroup(ctx, p); err != nil {
			t.Error(err)
		}
		b.read(t, p, "c", 0)
	})
}

// TestFlushedRedisGoesOn guards B6 and A13: all keys are gone; the next claim
// loads the sale, makes stream and group, and is delivered.
func TestFlushedRedisGoesOn(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 2)
		b.settle(t, b.read(t, p, "c", 2))
		b.del(t, keysOf(v.ID)...)
		if _, err := b.Read(t.Context(), p, "c", 10, time.Millisecond); !errors.Is(err, gate.ErrNoGroup) {
			t.Errorf("got %v", err)
		}
		b.del(t, keysOf(v.ID)...)
		o := b.accepted(t, one(v, "late"))
		if e := b.read(t, p, "c", 1)[0]; e.Order.ID != o.ID {
			t.Errorf("delivered %s, want %s", e.Order.ID, o.ID)
		}
		if stock := b.conserved(t, v); stock != v.Total-3 {
			t.Errorf("stock %d, want %d", stock, v.Total-3)
		}
	})
}

func TestReadWaitsNoLongerThanAllowed(t *testing.T) {
	t.Parallel()
	b, _ := onMiniredis(t)
	for _, block := range []time.Duration{0, -1, redisdial.MaxBlock + 1} {
		if _, err := b.Read(t.Context(), 0, "c", 1, block); err == nil || sale.CodeOf(err) == sale.CodeUnavailable {
			t.Errorf("block %s: %v", block, err) // B15: 0 would wait for ever
		}
	}
}

// TestReadIsInOrderAndShared: entries of a partition come in stream order, each to
// one consumer.
func TestReadIsInOrderAndShared(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 7)
		var got []string
		for i, consumer := range []string{"c1", "c2", "c1"} {
			entries, err := b.Read(t.Context(), p, consumer, 3, time.Second)
			if want := []int{3, 3, 1}[i]; err != nil || len(entries) != want {
				t.Fatalf("read %d, want %d, %v", len(entries), want, err)
			}
			for _, e := range entries {
				got = append(got, e.Order.BuyerID)
			}
		}
		if diff := cmp.Diff([]string{"u0", "u1", "u2", "u3", "u4", "u5", "u6"}, got); diff != "" {
			t.Error(diff)
		}
		b.conserved(t, v)
	})
}

// TestReclaim guards B2, B3 and V18: what a dead consumer, or this one, was given
// and never acknowledged is found again; what is being worked on is left alone.
func TestReclaim(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		_, p := b.queue(t, 5)
		dead := b.read(t, p, "dead", 5)
		b.read(t, p, "alive", 0) // reading on shows none of it
		if e, _, err := b.Reclaim(t.Context(), p, "alive", time.Hour, 10); err != nil || len(e) != 0 {
			t.Errorf("took %d entries that were delivered just now, %v", len(e), err)
		}
		taken := b.reclaim(t, p, "alive", 10, 5)
		if diff := cmp.Diff(dead, taken); diff != "" {
			t.Error(diff)
		}
		b.reclaim(t, p, "alive", 10, 5) // its own
		b.reclaim(t, p, "alive", 2, 2)
		b.settle(t, taken[1:4])
		if diff := cmp.Diff([]string{taken[0].StreamID, taken[4].StreamID}, idsOf(b.reclaim(t, p, "alive", 10, 2))); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDeletedEntriesAreCountedLost guards B13, V5 and V21: a pending entry that
// somebody deleted has no content; it is dropped from the group and counted.
func TestDeletedEntriesAreCountedLost(t *testing.T) {
	t.Parallel()
	onRealEngines(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 4)
		entries := b.read(t, p, "c", 4)
		if err := b.raw.XDel(t.Context(), keysOf(v.ID)[3], entries[0].StreamID, entries[2].StreamID).Err(); err != nil {
			t.Fatal(err)
		}
		left, lost, err := b.Reclaim(t.Context(), p, "c2", 0, 10)
		if err != nil || lost != 2 {
			t.Errorf("lost %d, want 2, %v", lost, err)
		}
		if diff := cmp.Diff([]string{entries[1].StreamID, entries[3].StreamID}, idsOf(left)); diff != "" {
			t.Error(diff)
		}
		b.settle(t, left)
		pending, err := b.raw.XPending(t.Context(), keysOf(v.ID)[3], "archive").Result()
		if err != nil || pending.Count != 0 {
			t.Errorf("%+v are pending, %v", pending, err)
		}
	})
}

// TestReclaimSeesBehindManyDeleted: a server scans a bounded part of the pending
// list at a time, and an empty answer is not the end.
func TestReclaimSeesBehindManyDeleted(t *testing.T) {
	t.Parallel()
	onRealEngines(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 60)
		entries := b.read(t, p, "c", 60)
		if err := b.raw.XDel(t.Context(), keysOf(v.ID)[3], idsOf(entries[:59])...).Err(); err != nil {
			t.Fatal(err)
		}
		left, lost, err := b.Reclaim(t.Context(), p, "c2", 0, 2)
		if err != nil || lost != 59 || len(left) != 1 || left[0].StreamID != entries[59].StreamID {
			t.Errorf("reclaimed %v, lost %d, %v", idsOf(left), lost, err)
		}
	})
}
