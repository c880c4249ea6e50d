package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// soon bounds every wait for something that must happen.
const soon = 30 * time.Second

// never is an interval that no test lives to see.
const never = 24 * time.Hour

// world is the archive, the look-up and the stock of a bell, in memory.
type world struct {
	mu       sync.Mutex
	orders   map[sale.OrderID]sale.Order
	changed  map[sale.OrderID]time.Time
	vouchers map[sale.VoucherID]sale.Voucher
	fault    error
	looks    []string                       // what Order was asked
	asked    [][]sale.OrderID               // what Orders was asked
	looking  func(o sale.Order)             // called inside a look, after the reading
	query    func(context.Context)          // called at the begin of Orders
	lives    func(n int) (sale.Live, error) // what the n-th live query sees; nil: what the vouchers hold
	liveAsks int
}

func newWorld() *world {
	return &world{
		orders: map[sale.OrderID]sale.Order{}, changed: map[sale.OrderID]time.Time{},
		vouchers: map[sale.VoucherID]sale.Voucher{},
	}
}

// put writes an order down as of now.
func (w *world) put(list ...sale.Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range list {
		w.orders[o.ID] = o
		w.changed[o.ID] = time.Now()
	}
}

func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = err
}

func (w *world) Orders(ctx context.Context, ids []sale.OrderID, newerThan int) (found []sale.Order, _ error) {
	w.mu.Lock()
	w.asked = append(w.asked, slices.Clone(ids))
	query := w.query
	w.mu.Unlock()
	if query != nil {
		query(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if o, ok := w.orders[id]; ok && o.Version > newerThan {
			found = append(found, o)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return found, w.fault
}

func (w *world) ChangedSince(_ context.Context, buyers []string, since time.Time) (found []sale.Order, newest time.Time, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	newest = since
	for id, o := range w.orders {
		if at := w.changed[id]; slices.Contains(buyers, o.BuyerID) && at.After(since.Add(-time.Second)) {
			found = append(found, o)
			if at.After(newest) {
				newest = at
			}
		}
	}
	return found, newest, w.fault
}

func (w *world) UnfinishedOf(_ context.Context, buyer string, limit int) (found []sale.Order, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.orders {
		if o.BuyerID == buyer && !o.Status.Final() && len(found) < limit {
			found = append(found, o)
		}
	}
	return found, w.fault
}

func (w *world) Order(_ context.Context, buyer string, id sale.OrderID) (sale.Order, error) {
	w.mu.Lock()
	w.looks = append(w.looks, fmt.Sprintf("%s %d", buyer, len(id)))
	o, ok := w.orders[id]
	looking, fault := w.looking, w.fault
	w.mu.Unlock()
	if looking != nil {
		looking(o)
	}
	switch {
	case fault != nil:
		return sale.Order{}, fault
	case !ok || o.BuyerID != buyer:
		return sale.Order{}, sale.ErrNotFound
	}
	return o, nil
}

func (w *world) Voucher(_ context.Context, id sale.VoucherID) (sale.Voucher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.vouchers[id]
	if !ok {
		return sale.Voucher{}, sale.ErrNotFound
	}
	return v, nil
}

func (w *world) Live(_ context.Context, vouchers []sale.Voucher) ([]sale.Live, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.liveAsks++
	live := make([]sale.Live, len(vouchers))
	for i, v := range vouchers {
		if w.lives == nil {
			live[i] = *w.vouchers[v.ID].Live
			continue
		}
		var err error
		if live[i], err = w.lives(w.liveAsks); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// newBell makes a bell that nobody runs. Its Redis does not exist.
func newBell(tb testing.TB, w *world, change ...func(*Options)) *Bell {
	tb.Helper()
	o := Options{
		URL: "redis://127.0.0.1:1/0", Partitions: 1, EventsKey: eventsKey, Archive: w, Lookup: w, Stock: w,
		Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	b, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b
}

func eventsKey(partition int) string { return fmt.Sprintf("fc:{p%02d}:events", partition) }

// pendingOrder is version 1 of a new order.
func pendingOrder(buyer string) sale.Order {
	now := time.Now()
	return sale.Order{
		ID: sale.NewOrderID(0, now), VoucherID: sale.NewVoucherID(0, now), BuyerID: buyer, Quantity: 1,
		Status: sale.StatusPending, Version: 1, ClaimedAt: sale.Timestamp(now),
	}
}

func committed(o sale.Order) sale.Order { return o.Committed(time.Now()) }

// at is an order of the given version that is final or can still change.
func at(o sale.Order, version int, status sale.OrderStatus) sale.Order {
	o.Version, o.Status = version, status
	return o
}

// next takes the next value; it fails when none comes or the channel is closed.
func next[T any](t *testing.T, ch <-chan *T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the channel is closed, want a value")
		}
		return *v
	case <-time.After(soon):
		t.Fatalf("nothing came within %s", soon)
	}
	panic("unreachable")
}

// wantClosed waits for the end of a channel that has no more values.
func wantClosed[T any](t *testing.T, ch <-chan *T) {
	t.Helper()
	select {
	case v, ok := <-ch:
		if ok {
			t.Fatalf("got %+v, want the channel's end", *v)
		}
	case <-time.After(soon):
		t.Fatalf("the channel was not closed within %s", soon)
	}
}

// wantNothing checks that no value waits and the channel is open.
func wantNothing[T any](t *testing.T, ch <-chan *T) {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the channel is closed")
		}
		t.Fatalf("got %+v, want nothing", *v)
	default:
	}
}

func wantVersion(t *testing.T, o sale.Order, version int, status sale.OrderStatus) {
	t.Helper()
	if o.Version != version || o.Status != status {
		t.Errorf("got version %d, %s; want %d, %s", o.Version, o.Status, version, status)
	}
}

// watching counts who is in the hub.
func (h *hub) watching() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.orders) + len(h.buyers) + len(h.vouchers)
}

func watchOrder(t *testing.T, b *Bell, o sale.Order, after int) <-chan *sale.Order {
	t.Helper()
	ch, err := b.WatchOrder(t.Context(), o.BuyerID, o.ID, after)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}
