package gate_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
)

func (b *bundle) trim(t fataler, partition int, before time.Time) int64 {
	t.Helper()
	n, err := b.Trim(context.Background(), partition, before)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTrimKeepsWhatIsNotAcknowledged guards B11 and B12: entries that are unread,
// or pending with anybody, or young, are never removed.
func TestTrimKeepsWhatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		later := time.Now().Add(time.Hour)
		if n := b.trim(t, 3, later); n != 0 { // there is no stream
			t.Errorf("removed %d entries of nothing", n)
		}
		v, p := b.queue(t, 6)
		stream := keysOf(v.ID)[3]
		if n := b.trim(t, p, later); n != 0 {
			t.Errorf("removed %d unread entries", n)
		}
		entries, err := b.Read(t.Context(), p, "c", 4, time.Second)
		if err != nil || len(entries) != 4 {
			t.Fatalf("read %d, %v", len(entries), err)
		}
		if n := b.trim(t, p, later); n != 0 {
			t.Errorf("removed %d pending entries", n)
		}
		b.settle(t, []sale.Entry{entries[0], entries[1], entries[3]})
		if n := b.trim(t, p, time.Now().Add(-time.Hour)); n != 0 {
			t.Errorf("removed %d entries that are to be kept an hour", n)
		}
		if n := b.trim(t, p, later); n != 2 || b.length(t, stream) != 4 {
			t.Errorf("removed %d entries, want the 2 in front of the pending one", n)
		}
		b.settle(t, entries[2:3])
		b.trim(t, p, later)
		left := b.read(t, p, "c", 2)
		if left[0].Order.BuyerID != "u4" || left[1].Order.BuyerID != "u5" {
			t.Errorf("left %+v", left)
		}
		b.settle(t, left)
		b.trim(t, p, later)
		b.accepted(t, one(v, "late")) // an empty stream still takes claims
		b.read(t, p, "c", 1)
	})
}

// TestTrimWaitsForEveryGroup: others read the order stream at their own pace.
func TestTrimWaitsForEveryGroup(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		later := time.Now().Add(time.Hour)
		v, p := b.queue(t, 3)
		stream := keysOf(v.ID)[3]
		ctx := context.Background()
		if err := b.raw.XGroupCreate(ctx, stream, "mail", "0").Err(); err != nil {
			t.Fatal(err)
		}
		entries := b.read(t, p, "c", 3)
		b.settle(t, entries)
		if n := b.trim(t, p, later); n != 0 {
			t.Errorf("removed %d entries that another group has not read", n)
		}
		if err := b.raw.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "mail", Consumer: "m", Streams: []string{stream, ">"}, Count: 2,
		}).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.raw.XAck(ctx, stream, "mail", entries[0].StreamID).Err(); err != nil {
			t.Fatal(err)
		}
		if n := b.trim(t, p, later); n != 1 {
			t.Errorf("removed %d entries, want the one that both have acknowledged", n)
		}
	})
}

func (b *bundle) consumers(t fataler, v sale.Voucher) (names []string) {
	t.Helper()
	consumers, err := b.raw.XInfoConsumers(context.Background(), keysOf(v.ID)[3], "archive").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range consumers {
		names = append(names, c.Name)
	}
	return names
}

// TestLeaveKeepsPendingEntries guards V4 and B10: removing a consumer throws its
// pending entries away for good, so the name stays until there are none.
func TestLeaveKeepsPendingEntries(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		leave := func(partition int, consumer string) {
			t.Helper()
			if err := b.Leave(context.Background(), partition, consumer); err != nil {
				t.Error(err)
			}
		}
		leave(3, "nobody") // there is no stream
		v, p := b.queue(t, 2)
		entries := b.read(t, p, "busy", 2)
		leave(p, "nobody")
		leave(p, "busy")
		if diff := cmp.Diff([]string{"busy"}, b.consumers(t, v)); diff != "" {
			t.Error(diff)
		}
		b.settle(t, entries[:1])
		leave(p, "busy")
		b.settle(t, b.reclaim(t, p, "other", 10, 1))
		leave(p, "busy")
		leave(p, "other")
		if names := b.consumers(t, v); len(names) != 0 {
			t.Errorf("left are %v", names)
		}
	})
}

// TestDropIdleKeepsTheBusy guards B10: names of dead workers go, those with
// pending entries and those that were heard of lately stay.
func TestDropIdleKeepsTheBusy(t *testing.T) {
	t.Parallel()
	onRealEngines(t, func(t *testing.T, b *bundle) {
		drop := func(partition int, idle time.Duration) {
			t.Helper()
			if err := b.DropIdle(context.Background(), partition, idle); err != nil {
				t.Error(err)
			}
		}
		drop(3, 0) // there is no stream
		v, p := b.queue(t, 2)
		done, err := b.Read(t.Context(), p, "done", 1, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		b.settle(t, done)
		b.read(t, p, "busy", 1)
		drop(p, time.Hour)
		if diff := cmp.Diff([]string{"busy", "done"}, b.consumers(t, v)); diff != "" {
			t.Error(diff)
		}
		drop(p, 0)
		if diff := cmp.Diff([]string{"busy"}, b.consumers(t, v)); diff != "" {
			t.Error(diff)
		}
		b.reclaim(t, p, "busy", 10, 1)
	})
}

// TestBacklogAge: the age is that of the oldest order that waits, whether it was
// read or not, by Redis's clock.
func TestBacklogAge(t *testing.T) {
	t.Parallel()
	b, clock := onMiniredis(t)
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock.SetTime(start)
	v := b.published(t, func(v *sale.Voucher) { v.OpensAt, v.ClosesAt = start, start.Add(time.Hour) })
	p := v.ID.Partition()
	check := func(what string, orders int64, age time.Duration) {
		t.Helper()
		got, err := b.Backlog(t.Context(), p)
		if err != nil || got != (gate.Backlog{Orders: orders, Age: age}) {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	check("nothing", 0, 0)
	b.accepted(t, one(v, "u1"))
	clock.SetTime(start.Add(10 * time.Second))
	b.accepted(t, one(v, "u2"))
	clock.SetTime(start.Add(30 * time.Second))
	check("unread", 2, 30*time.Second)
	entries := b.read(t, p, "c", 2)
	check("read", 2, 30*time.Second)
	b.settle(t, entries[:1])
	check("one is done", 1, 20*time.Second)
	b.accepted(t, one(v, "u3"))
	b.settle(t, entries[1:])
	clock.SetTime(start.Add(31 * time.Second))
	check("the rest is unread", 1, time.Second)
	b.settle(t, b.read(t, p, "c", 1))
	check("all is done", 0, 0)
	if err := b.raw.HSet(t.Context(), keysOf(v.ID)[4], "ord", "left behind").Err(); err != nil {
		t.Fatal(err)
	}
	check("a record without an entry", 1, 0)
}

func TestBacklogOnEveryEngine(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		if got, err := b.Backlog(t.Context(), 3); err != nil || got != (gate.Backlog{}) {
			t.Errorf("no stream: %+v, %v", got, err)
		}
		_, p := b.queue(t, 3)
		for _, what := range []string{"unread", "read"} {
			got, err := b.Backlog(t.Context(), p)
			if err != nil || got.Orders != 3 || got.Age < 0 || got.Age > patience {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			if what == "unread" {
				b.read(t, p, "c", 3)
			}
		}
	})
}
