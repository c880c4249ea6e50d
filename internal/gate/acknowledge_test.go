package gate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestAcknowledge: decided orders are announced as they stand, forgotten as
// pending, and their entries are not delivered again.
func TestAcknowledge(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 3)
		entries := b.read(t, p, "c", 3)
		committed := entries[0].Order.Committed(time.Now())
		rejected := entries[1].Order.Rejected(sale.RejectedSoldOut)
		settled := []sale.Settled{
			{StreamID: entries[0].StreamID, Order: &committed},
			{StreamID: entries[1].StreamID, Order: &rejected},
			{StreamID: entries[2].StreamID}, // nobody can be told
		}
		if n, err := b.Acknowledge(t.Context(), p, settled[:2]); n != 2 || err != nil {
			t.Fatalf("acknowledged %d, %v", n, err)
		}
		if diff := cmp.Diff([]sale.Order{committed, rejected}, b.events(t, p)); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
		for i, want := range []error{sale.ErrNotFound, sale.ErrNotFound, nil} {
			if _, err := b.Pending(t.Context(), entries[i].Order.ID); !errors.Is(err, want) {
				t.Errorf("order %d is pending: %v", i, err)
			}
		}
		if left := b.reclaim(t, p, "c2", 10, 1); left[0].StreamID != entries[2].StreamID {
			t.Errorf("entry %s is delivered again", left[0].StreamID)
		}
		// One was acknowledged by another consumer meanwhile: B1.
		if n, err := b.Acknowledge(t.Context(), p, settled[1:]); n != 1 || err != nil {
			t.Errorf("acknowledged %d, %v", n, err)
		}
		b.reclaim(t, p, "c2", 10, 0)
		if n, err := b.Acknowledge(t.Context(), p, nil); n != 0 || err != nil {
			t.Errorf("nothing: %d, %v", n, err)
		}
		if _, err := b.raw.HGet(t.Context(), keysOf(v.ID)[4], string(entries[2].Order.ID)).Result(); err != nil {
			t.Errorf("an order that was not decided is not pending any more: %v", err)
		}
	})
}

// TestAcknowledgeIsAllOrNothing: when one step is refused, no step is done.
func TestAcknowledgeIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t)
	v, p := b.queue(t, 1)
	e := b.read(t, p, "c", 1)[0]
	o := e.Order.Committed(time.Now())
	before := b.contents(t, v.ID)
	for _, right := range []string{"-xack", "-hdel", "-xadd"} {
		narrow := b.anotherUser(t, server, right)
		if n, err := narrow.Acknowledge(t.Context(), p, []sale.Settled{{StreamID: e.StreamID, Order: &o}}); n != 0 || sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("%s: acknowledged %d, %v", right, n, err)
		}
		if after := b.contents(t, v.ID); after != before {
			t.Errorf("%s: keys changed:\n%s\n%s", right, before, after)
		}
		b.reclaim(t, p, "c", 10, 1)
	}
}

// TestEventStreamIsCapped: the archive is the truth, so old events may go.
func TestEventStreamIsCapped(t *testing.T) {
	t.Parallel()
	url := engines["redis-server"](t)
	b := newBundle(t, url, func(o *gate.Options) { o.MaxEvents = 100 })
	o := sale.Order{ID: sale.NewOrderID(3, time.Now()), Status: sale.StatusCommitted, Version: 2}
	for range 500 {
		if _, err := b.Acknowledge(t.Context(), 3, []sale.Settled{{StreamID: "0-1", Order: &o}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.length(t, gate.EventsKey(3)); n < 100 || n > 300 {
		t.Errorf("500 announcements left %d events, about 100 are allowed", n)
	}
	if got := b.events(t, 3)[0]; got.ID != o.ID || got.Status != o.Status {
		t.Errorf("announced %+v", got)
	}
}

// TestPendingOfNobody: an order that is not pending is in the archive or nowhere.
func TestPendingOfNobody(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		for _, id := range []sale.OrderID{sale.NewOrderID(1, time.Now()), sale.NewOrderID(99, time.Now()), "", "ord_*"} {
			if _, err := b.Pending(t.Context(), id); !errors.Is(err, sale.ErrNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// TestEntriesThatCannotBeRead guards B4 and V25: a bad entry comes with its fault
// and its fields, and stops none of the others; its order is completed from the
// pending record when it names one.
func TestEntriesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v, p := b.queue(t, 1)
		found := b.accepted(t, one(v, "found"))
		bad := map[string]map[string]any{
			"odd":         {"hello": "world"},
			"mended":      {"order": string(found.ID), "voucher": string(v.ID), "buyer": "\x00", "quantity": "one"},
			"unmendable":  {"order": string(sale.NewOrderID(p, time.Now())), "voucher": string(v.ID), "buyer": "u"},
			"other place": {"order": string(sale.NewOrderID((p+1)%16, time.Now()))},
		}
		names := map[string]string{}
		for name, fields := range bad {
			id, err := b.raw.XAdd(t.Context(), &redis.XAddArgs{Stream: keysOf(v.ID)[3], Values: fields}).Result()
			if err != nil {
				t.Fatal(err)
			}
			names[id] = name
		}
		b.accepted(t, one(v, "last"))
		got := map[string]sale.Entry{}
		good := 0
		for _, e := range b.read(t, p, "c", 7) {
			if e.Fault == nil {
				good++
				continue
			}
			got[names[e.StreamID]] = e
			for field, value := range bad[names[e.StreamID]] {
				if e.Fields[field] != value {
					t.Errorf("%s: field %s is kept as %q", names[e.StreamID], field, e.Fields[field])
				}
			}
		}
		if good != 3 || len(got) != 4 {
			t.Errorf("%d good and %d bad entries", good, len(got))
		}
		if diff := cmp.Diff(*found, got["mended"].Order); diff != "" {
			t.Errorf("mended:\n%s", diff)
		}
		if o := got["unmendable"].Order; o.ID == "" || o.BuyerID != "u" || o.Quantity != 0 {
			t.Errorf("unmendable: %+v", o)
		}
		if o := got["other place"].Order; o.ID != "" {
			t.Errorf("other place: %+v", o)
		}
	})
}
