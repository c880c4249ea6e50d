package worker_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// verdict is an order's state in the archive, or why it is rejected, or "" while
// it has no row.
func (b *bundle) verdict(id sale.OrderID) string {
	b.t.Helper()
	o, err := b.archive.Order(b.t.Context(), id)
	switch {
	case sale.CodeOf(err) == sale.CodeNotFound:
		return ""
	case err != nil:
		b.t.Fatal(err)
	case o.Rejection != nil:
		return string(o.Rejection.Code)
	}
	return string(o.Status)
}

// waitFor waits until all the orders are told of and acknowledged, and checks
// that they are decided as wanted.
func (b *bundle) waitFor(want string, list ...sale.Order) {
	b.t.Helper()
	testenv.Eventually(b.t, soon, fmt.Sprintf("%d orders to be told of and acknowledged", len(list)), func() bool {
		waiting := must[map[string]string](b.t)(b.raw.HGetAll(b.t.Context(), pending).Result())
		announced := b.announced()
		for _, o := range list {
			if _, waits := waiting[string(o.ID)]; waits || len(announced[o.ID]) == 0 {
				return false
			}
		}
		return true
	})
	for _, o := range list {
		if got := b.verdict(o.ID); got != want {
			b.t.Fatalf("order %s of %s is %q, want %s", o.ID, o.BuyerID, got, want)
		}
	}
}

// waitUntilQuiet waits until nothing is left to do: no entry unread or
// unacknowledged, no release due.
func (b *bundle) waitUntilQuiet() {
	b.t.Helper()
	testenv.Eventually(b.t, soon, "the worker to have nothing left to do", func() bool {
		due := must[[]sale.Order](b.t)(b.archive.ReleasesDue(b.t.Context(), 1000))
		return len(due) == 0 && b.unacknowledged() == 0 && b.read()
	})
}

func (b *bundle) unacknowledged() int64 {
	b.t.Helper()
	return must[*redis.XPending](b.t)(b.raw.XPending(b.t.Context(), orders, group).Result()).Count
}

// read tells whether the group has read the stream to its end.
func (b *bundle) read() bool {
	b.t.Helper()
	last := must[[]redis.XMessage](b.t)(b.raw.XRevRangeN(b.t.Context(), orders, "+", "-", 1).Result())
	groups := must[[]redis.XInfoGroup](b.t)(b.raw.XInfoGroups(b.t.Context(), orders).Result())
	return len(last) == 0 || groups[0].LastDeliveredID == last[0].ID
}

// told lists what was announced of an order, in order.
func (b *bundle) told(id sale.OrderID) []sale.Order { b.t.Helper(); return b.announced()[id] }

func (b *bundle) announced() map[sale.OrderID][]sale.Order {
	b.t.Helper()
	all := map[sale.OrderID][]sale.Order{}
	for _, m := range must[[]redis.XMessage](b.t)(b.raw.XRange(b.t.Context(), events, "-", "+").Result()) {
		for id, value := range m.Values {
			text, _ := value.(string)
			o := must[sale.Order](b.t)(sale.DecodeEvent(text))
			if string(o.ID) != id {
				b.t.Fatalf("the event of %s holds %s", id, o.ID)
			}
			all[o.ID] = append(all[o.ID], o)
		}
	}
	return all
}

// wantUnits checks what is free and held in Redis and sold in the archive.
func (b *bundle) wantUnits(v sale.VoucherID, stock, held, sold int) {
	b.t.Helper()
	tag := "fc:{p00}:v:" + string(v)
	gotStock := must[int](b.t)(b.raw.Get(b.t.Context(), tag+":stock").Int())
	gotHeld := 0
	for _, records := range must[map[string]string](b.t)(b.raw.HGetAll(b.t.Context(), tag+":buyers").Result()) {
		for record := range strings.FieldsSeq(records) {
			gotHeld += must[int](b.t)(strconv.Atoi(strings.Split(record, "|")[1]))
		}
	}
	gotSold := must[sale.Voucher](b.t)(b.archive.Voucher(b.t.Context(), v)).Sold
	if gotStock != stock || gotHeld != held || gotSold != sold {
		b.t.Errorf("stock %d, held %d, sold %d; want %d, %d, %d", gotStock, gotHeld, gotSold, stock, held, sold)
	}
}

// consumers are the names in the group.
func (b *bundle) consumers() []string {
	b.t.Helper()
	var names []string
	for _, c := range must[[]redis.XInfoConsumer](b.t)(b.raw.XInfoConsumers(b.t.Context(), orders, group).Result()) {
		names = append(names, c.Name)
	}
	return names
}

// readAsDead reads what waits as a consumer that is never heard of again.
func (b *bundle) readAsDead() []sale.Entry {
	b.t.Helper()
	entries := must[[]sale.Entry](b.t)(b.gate.Read(b.t.Context(), 0, "dead", 1000, time.Second))
	if len(entries) == 0 {
		b.t.Fatal("there was nothing to read")
	}
	return entries
}
