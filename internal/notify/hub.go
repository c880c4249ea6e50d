package notify

import (
	"sync"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// hub knows who watches what in this process. It never blocks on a watcher.
type hub struct {
	mu       sync.Mutex
	orders   map[sale.OrderID]map[*orderWatcher]struct{}
	buyers   map[string]map[*buyerWatcher]struct{}
	vouchers map[sale.VoucherID]map[*voucherWatcher]struct{}
}

func newHub() *hub {
	return &hub{
		orders:   map[sale.OrderID]map[*orderWatcher]struct{}{},
		buyers:   map[string]map[*buyerWatcher]struct{}{},
		vouchers: map[sale.VoucherID]map[*voucherWatcher]struct{}{},
	}
}

func add[K comparable, W comparable](h *hub, m map[K]map[W]struct{}, key K, w W) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m[key] == nil {
		m[key] = map[W]struct{}{}
	}
	m[key][w] = struct{}{}
}

func remove[K comparable, W comparable](h *hub, m map[K]map[W]struct{}, key K, w W) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(m[key], w)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

// watchersOf copies a set, so that delivery happens outside the hub's lock.
func watchersOf[K comparable, W comparable](h *hub, m map[K]map[W]struct{}, key K) []W {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(m[key]) == 0 {
		return nil
	}
	list := make([]W, 0, len(m[key]))
	for w := range m[key] {
		list = append(list, w)
	}
	return list
}

// listens tells whether a change of the order may have to be told: somebody
// watches it, or a buyer whose it may be.
func (h *hub) listens(id sale.OrderID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.orders[id]) > 0 || len(h.buyers) > 0
}

// tell delivers a changed order to all who watch it or its buyer, and reports
// how many had not heard of this version. Who watches an order leaves behind its
// final state.
func (h *hub) tell(o *sale.Order) (fresh int) {
	for _, w := range watchersOf(h, h.orders, o.ID) {
		if w.BuyerID != o.BuyerID {
			continue // it will hear that there is no such order
		}
		if w.deliver(o) {
			fresh++
		}
		if o.Status.Final() {
			remove(h, h.orders, o.ID, w)
		}
	}
	for _, w := range watchersOf(h, h.buyers, o.BuyerID) {
		if w.deliver(o) {
			fresh++
		}
	}
	return fresh
}

// unfinished lists the watched orders by the version their watchers have, so
// that the healing query asks only for newer ones.
func (h *hub) unfinished() map[int][]sale.OrderID {
	h.mu.Lock()
	defer h.mu.Unlock()
	byVersion := map[int][]sale.OrderID{}
	for id, watchers := range h.orders {
		oldest := -1
		for w := range watchers {
			if v := w.version(); oldest < 0 || v < oldest {
				oldest = v
			}
		}
		byVersion[oldest] = append(byVersion[oldest], id)
	}
	return byVersion
}

func (h *hub) watchedBuyers() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]string, 0, len(h.buyers))
	for b := range h.buyers {
		list = append(list, b)
	}
	return list
}

// watchedVouchers gives one voucher for each that is watched.
func (h *hub) watchedVouchers() []sale.Voucher {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]sale.Voucher, 0, len(h.vouchers))
	for _, watchers := range h.vouchers {
		for w := range watchers {
			list = append(list, w.voucher)
			break
		}
	}
	return list
}
