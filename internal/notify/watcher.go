package notify

import (
	"context"
	"sync"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// orderWatcher hears of one order of one buyer.
type orderWatcher struct {
	*slot[sale.Order]
	BuyerID string
	sent    int // highest version handed over; guarded by the slot's mutex
}

// deliver hands the order over unless its version is known, and closes behind a
// final state.
func (w *orderWatcher) deliver(o *sale.Order) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if fresh = o.Version > w.sent; fresh {
		w.sent = o.Version
		w.putLocked(o)
	}
	if o.Status.Final() {
		w.closed = true
		close(w.ch)
	}
	return fresh
}

func (w *orderWatcher) version() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// WatchOrder watches one order of the buyer. The present state comes first,
// unless its version is not above after; then every newer state, the newest
// winning when the reader is slow. The channel closes behind a final state and
// when ctx ends. The error is [sale.ErrNotFound] when there is no such order or it
// is another buyer's, with the same work done for both, or that of the look-up.
func (b *Bell) WatchOrder(ctx context.Context, buyerID string, id sale.OrderID, after int) (<-chan *sale.Order, error) {
	w := &orderWatcher{slot: newSlot[sale.Order](), BuyerID: buyerID, sent: max(after, 0)}
	add(b.hub, b.hub.orders, id, w)
	leave := func() { remove(b.hub, b.hub.orders, id, w); w.close() }
	o, err := b.Lookup.Order(ctx, buyerID, id)
	if err != nil {
		leave()
		return nil, err
	}
	w.deliver(&o)
	if o.Status.Final() {
		leave() // nothing follows
		return w.ch, nil
	}
	context.AfterFunc(ctx, leave)
	return w.ch, nil
}

// buyerWatcher hears of all orders of one buyer. States of different orders do
// not push each other out: the newest of each order waits until it is read.
type buyerWatcher struct {
	mu      sync.Mutex
	sent    map[sale.OrderID]int
	waiting []*sale.Order
	signal  chan struct{}
}

// rememberedOrders bounds how many orders' versions a buyer's watcher keeps to
// recognise repeats. Beyond it all are forgotten, and at worst one is repeated.
const rememberedOrders = 1000

func (w *buyerWatcher) deliver(o *sale.Order) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.Version <= w.sent[o.ID] {
		return false
	}
	if len(w.sent) >= rememberedOrders {
		clear(w.sent)
	}
	w.sent[o.ID] = o.Version
	for i, older := range w.waiting {
		if older.ID == o.ID {
			w.waiting[i] = o
			return true
		}
	}
	w.waiting = append(w.waiting, o)
	select {
	case w.signal <- struct{}{}:
	default:
	}
	return true
}

func (w *buyerWatcher) take() []*sale.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.waiting
	w.waiting = nil
	return taken
}

// WatchBuyer watches all orders of the buyer: first the unfinished ones as they
// are, at most [UnfinishedShown] of the newest, then every change. The channel
// closes when ctx ends.
func (b *Bell) WatchBuyer(ctx context.Context, buyerID string) (<-chan *sale.Order, error) {
	w := &buyerWatcher{sent: map[sale.OrderID]int{}, signal: make(chan struct{}, 1)}
	add(b.hub, b.hub.buyers, buyerID, w)
	unfinished, err := b.Archive.UnfinishedOf(ctx, buyerID, UnfinishedShown)
	if err != nil {
		remove(b.hub, b.hub.buyers, buyerID, w)
		return nil, err
	}
	for i := range unfinished {
		w.deliver(&unfinished[i])
	}
	ch := make(chan *sale.Order)
	go func() {
		defer close(ch)
		defer remove(b.hub, b.hub.buyers, buyerID, w)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.signal:
			}
			for _, o := range w.take() {
				select {
				case <-ctx.Done():
					return
				case ch <- o:
				}
			}
		}
	}()
	return ch, nil
}

// UnfinishedShown is how many unfinished orders a buyer's watcher starts with.
const UnfinishedShown = 20

// voucherWatcher hears of one voucher's stock and state.
type voucherWatcher struct {
	*slot[sale.Voucher]
	voucher sale.Voucher
	last    sale.Live // guarded by the slot's mutex
}

func (w *voucherWatcher) deliver(live sale.Live) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if live == w.last {
		return
	}
	w.last = live
	v := w.voucher
	v.Live = &live
	w.putLocked(&v)
}

// WatchVoucher watches stock and state of a voucher: first as they are, then at
// most once every LiveEvery when they changed. The channel closes when ctx ends.
func (b *Bell) WatchVoucher(ctx context.Context, id sale.VoucherID) (<-chan *sale.Voucher, error) {
	v, err := b.Lookup.Voucher(ctx, id)
	if err != nil {
		return nil, err
	}
	w := &voucherWatcher{slot: newSlot[sale.Voucher](), voucher: v}
	if v.Live != nil {
		w.deliver(*v.Live) // before others can deliver: it is the oldest
	}
	add(b.hub, b.hub.vouchers, id, w)
	context.AfterFunc(ctx, func() { remove(b.hub, b.hub.vouchers, id, w); w.close() })
	return w.ch, nil
}
