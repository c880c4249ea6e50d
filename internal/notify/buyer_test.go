package notify

import (
	"testing"
	"testing/synctest"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// A burst of changes of many orders: all arrive, of each order the newest last,
// and the middle states that nobody read in time are skipped.
func TestBuyerHearsOfAllOrdersOfABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		ch, err := b.WatchBuyer(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		const orders, last = 50, 5
		for range orders {
			o := pendingOrder("ada")
			for version := 2; version <= last; version++ {
				told := at(o, version, sale.StatusCommitted)
				b.tell(&told)
				b.tell(&told)
			}
		}
		synctest.Wait()
		newest, values := map[sale.OrderID]int{}, 0
		for complete := 0; complete < orders; values++ {
			o := next(t, ch)
			if o.Version <= newest[o.ID] {
				t.Fatalf("version %d came after %d", o.Version, newest[o.ID])
			}
			if newest[o.ID] = o.Version; o.Version == last {
				complete++
			}
		}
		synctest.Wait()
		wantNothing(t, ch)
		if values > 2*orders {
			t.Errorf("%d values for %d orders; middle states should be skipped", values, orders)
		}
	})
}

func TestBuyerBeginsWithTheUnfinished(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	open := committed(pendingOrder("ada"))
	w.put(open, pendingOrder("ada").Rejected(sale.RejectedSoldOut), committed(pendingOrder("bob")))
	ch, err := b.WatchBuyer(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if got := next(t, ch); got.ID != open.ID {
		t.Errorf("got order %s, want the unfinished %s", got.ID, open.ID)
	}
	wantNothing(t, ch)
}

// The healing query reads the same versions again and again.
func TestBuyerHearsOfEachVersionOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBell(t, newWorld())
		ch, err := b.WatchBuyer(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		o := committed(pendingOrder("ada"))
		for _, fresh := range []int{1, 0, 0} {
			if got := b.hub.tell(&o); got != fresh {
				t.Errorf("the change was fresh to %d watchers, want %d", got, fresh)
			}
		}
		wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
		b.tell(&o)
		synctest.Wait()
		wantNothing(t, ch)
	})
}

// A buyer with more orders than are remembered still hears of each change.
func TestBuyerWithManyOrdersHearsOfEach(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	ch, err := b.WatchBuyer(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	for range rememberedOrders + 10 {
		o := committed(pendingOrder("ada"))
		b.tell(&o)
		if got := next(t, ch); got.ID != o.ID {
			t.Fatalf("got order %s, want %s", got.ID, o.ID)
		}
	}
}
