package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Archive is where the truth about orders is read.
type Archive interface {
	// Orders gives those of the orders whose version is above newerThan.
	Orders(ctx context.Context, ids []sale.OrderID, newerThan int) ([]sale.Order, error)
	// ChangedSince gives the orders of the buyers that changed after since, some
	// perhaps again, and the time to ask with next.
	ChangedSince(ctx context.Context, buyerIDs []string, since time.Time) ([]sale.Order, time.Time, error)
	// UnfinishedOf gives a buyer's newest orders that can still change.
	UnfinishedOf(ctx context.Context, buyerID string, limit int) ([]sale.Order, error)
}

// Lookup reads the present state of one thing.
type Lookup interface {
	// Order gives an order of the buyer, written down or still pending; another
	// buyer's is sale.ErrNotFound.
	Order(ctx context.Context, buyerID string, id sale.OrderID) (sale.Order, error)
	// Voucher gives a voucher with stock and state.
	Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error)
}

// Stock reads what moves of vouchers, in their order.
type Stock interface {
	Live(ctx context.Context, vouchers []sale.Voucher) ([]sale.Live, error)
}

// Observer is told of every change that reached a watcher who had not heard of
// it. Its method must not block.
type Observer interface {
	OrderNotified(o sale.Order, watchers int)
}

// Options of a [Bell]. Zero durations take the named defaults.
type Options struct {
	URL        string // see redisdial.Open
	Partitions int
	EventsKey  func(partition int) string // names the event stream of a partition
	Archive    Archive
	Lookup     Lookup
	Stock      Stock
	Observer   Observer
	// HealEvery is how often watched orders are read from the archive. It bounds
	// how late a change is told when its event is lost. Default 1.5 s.
	HealEvery time.Duration
	LiveEvery time.Duration // how often watched vouchers are read; default 250 ms
	Log       *slog.Logger
}

// Bell tells the watchers of this process. It is safe for concurrent use.
type Bell struct {
	Options
	client redis.UniversalClient
	hub    *hub
	since  time.Time // newest change of a watched buyer that heal has read; its own
}

// Open prepares the client. It does no I/O; the error is a fault of the URL.
func Open(o Options) (*Bell, error) {
	if o.HealEvery == 0 {
		o.HealEvery = 1500 * time.Millisecond
	}
	if o.LiveEvery == 0 {
		o.LiveEvery = 250 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	client, err := redisdial.Open(o.URL, redisdial.Purpose{PoolSize: o.Partitions + 2, Blocking: true})
	if err != nil {
		return nil, err
	}
	return &Bell{Options: o, client: client, hub: newHub(), since: time.Now()}, nil
}

// Close closes the connections; Run has ended before.
func (b *Bell) Close() error { return b.client.Close() }

// Run listens and heals until ctx ends. It does not end because Redis or the
// archive is away.
func (b *Bell) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for p := range b.Partitions {
		g.Go(func() error { b.tail(ctx, p); return nil })
	}
	g.Go(func() error { b.every(ctx, b.HealEvery, "heal", b.heal); return nil })
	g.Go(func() error { b.every(ctx, b.LiveEvery, "read live stock", b.live); return nil })
	return g.Wait()
}

// queryWithin bounds one query of heal and live, so that a service that swallowed
// one question without an answer does not silence the bell for ever.
const queryWithin = 5 * time.Second

func (b *Bell) every(ctx context.Context, interval time.Duration, what string, do func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	ill := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		query, cancel := context.WithTimeout(ctx, queryWithin)
		err := do(query)
		cancel()
		if err != nil && ctx.Err() == nil && !ill {
			b.Log.WarnContext(ctx, "bell cannot "+what, "err", err)
		}
		ill = err != nil
	}
}

// heal reads the watched orders that may have changed. It makes every lost event
// harmless.
func (b *Bell) heal(ctx context.Context) error {
	for version, ids := range b.hub.unfinished() {
		orders, err := b.Archive.Orders(ctx, ids, version)
		if err != nil {
			return err
		}
		b.tellAll(orders)
	}
	buyers := b.hub.watchedBuyers()
	if len(buyers) == 0 {
		return nil
	}
	orders, newest, err := b.Archive.ChangedSince(ctx, buyers, b.since)
	if err != nil {
		return err
	}
	b.since = newest
	b.tellAll(orders)
	return nil
}

func (b *Bell) tellAll(orders []sale.Order) {
	for i := range orders {
		b.tell(&orders[i])
	}
}

func (b *Bell) tell(o *sale.Order) {
	if fresh := b.hub.tell(o); fresh > 0 && b.Observer != nil {
		b.Observer.OrderNotified(*o, fresh)
	}
}

// live reads stock and state of the watched vouchers.
func (b *Bell) live(ctx context.Context) error {
	vouchers := b.hub.watchedVouchers()
	if len(vouchers) == 0 {
		return nil
	}
	live, err := b.Stock.Live(ctx, vouchers)
	if err != nil {
		return err
	}
	if len(live) != len(vouchers) {
		return fmt.Errorf("asked for %d vouchers, heard of %d", len(vouchers), len(live))
	}
	for i, v := range vouchers {
		for _, w := range watchersOf(b.hub, b.hub.vouchers, v.ID) {
			w.deliver(live[i])
		}
	}
	return nil
}
