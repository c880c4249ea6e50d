package notify

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestSlotKeepsTheNewest(t *testing.T) {
	t.Parallel()
	s := newSlot[int]()
	for i := range 1000 {
		s.put(&i) // nobody reads, and put returns
	}
	if got := next(t, s.ch); got != 999 {
		t.Errorf("read %d, want the newest, 999", got)
	}
	wantNothing(t, s.ch)
	s.close()
	s.close()
	last := 1000
	s.put(&last)
	wantClosed(t, s.ch)
}

func TestSlotClosedWithAValueStillGivesIt(t *testing.T) {
	t.Parallel()
	s := newSlot[int]()
	one := 1
	s.put(&one)
	s.close()
	if got := next(t, s.ch); got != 1 {
		t.Errorf("read %d, want 1", got)
	}
	wantClosed(t, s.ch)
}

// A reader that is now fast, now slow sees rising values and always the last.
func TestSlotUnderConcurrentUse(t *testing.T) {
	t.Parallel()
	s := newSlot[int]()
	const last = 20_000
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range last + 1 {
			s.put(&i)
		}
		s.close()
	})
	seen := -1
	for v := range s.ch {
		if *v <= seen {
			t.Fatalf("%d came after %d", *v, seen)
		}
		seen = *v
	}
	writing.Wait()
	if seen != last {
		t.Errorf("the last value read is %d, want %d", seen, last)
	}
}

// Versions are told in any order, again and again, from many sides: each watcher
// hears rising versions, the final one last, and then the end.
func TestVersionsNeverFall(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	o := pendingOrder("ada")
	w.put(o)
	first, second := watchOrder(t, b, o, 0), watchOrder(t, b, o, 0)
	const last = 200
	var telling sync.WaitGroup
	for range 8 {
		telling.Go(func() {
			for _, i := range rand.Perm(last - 2) {
				told := at(o, i+2, sale.StatusCommitted)
				b.tell(&told)
			}
			final := at(o, last, sale.StatusRedeemed)
			b.tell(&final)
			late := at(o, 3, sale.StatusPaid)
			b.tell(&late)
		})
	}
	for _, ch := range []<-chan *sale.Order{first, second} {
		seen := 0
		for o := range ch {
			if o.Version <= seen {
				t.Fatalf("version %d came after %d", o.Version, seen)
			}
			seen = o.Version
		}
		if seen != last {
			t.Errorf("the last version is %d, want %d", seen, last)
		}
	}
	telling.Wait()
	if n := b.hub.watching(); n != 0 {
		t.Errorf("%d are still watched behind their final state", n)
	}
}

func TestRepeatsAreDropped(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	o := pendingOrder("ada")
	w.put(o)
	ch := watchOrder(t, b, o, 0)
	wantVersion(t, next(t, ch), 1, sale.StatusPending)
	two := committed(o)
	if fresh := b.hub.tell(&two); fresh != 1 {
		t.Errorf("the change was fresh to %d watchers, want 1", fresh)
	}
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
	if fresh := b.hub.tell(&two); fresh != 0 {
		t.Errorf("the repeat was fresh to %d watchers, want none", fresh)
	}
	wantNothing(t, ch)
}

func TestEventsOfOtherBuyersAreNotDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	mine, theirs := pendingOrder("ada"), pendingOrder("bob")
	w.put(mine, theirs)
	order := watchOrder(t, b, mine, 1)
	buyer, err := b.WatchBuyer(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	wantVersion(t, next(t, buyer), 1, sale.StatusPending)
	told := committed(theirs)
	forged := committed(mine) // the same ID under another buyer's name
	forged.BuyerID = "bob"
	for _, o := range []sale.Order{told, forged} {
		if fresh := b.hub.tell(&o); fresh != 0 {
			t.Errorf("another buyer's change reached %d watchers", fresh)
		}
	}
	wantNothing(t, order)
	wantNothing(t, buyer)
}

// Somebody who does not read costs the others nothing.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld()
	b := newBell(t, w)
	o := pendingOrder("ada")
	w.put(o)
	slow := watchOrder(t, b, o, 0)
	if _, err := b.WatchBuyer(t.Context(), "ada"); err != nil { // never read
		t.Fatal(err)
	}
	fast := watchOrder(t, b, o, 0)
	for version := 2; version < 2000; version++ {
		told := at(o, version, sale.StatusCommitted)
		b.tell(&told)
		wantVersion(t, next(t, fast), version, sale.StatusCommitted)
	}
	wantVersion(t, next(t, slow), 1999, sale.StatusCommitted)
}
