package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Source is what the gate needs of the archive to load a sale.
type Source interface {
	// Voucher gives the voucher, or sale.ErrNotFound.
	Voucher(ctx context.Context, id sale.VoucherID) (sale.Voucher, error)
	// LiveOrders gives all orders that hold units of the voucher.
	LiveOrders(ctx context.Context, id sale.VoucherID) ([]sale.Order, error)
	// Orders gives those of the named orders that have a row with a version above
	// newerThan.
	Orders(ctx context.Context, ids []sale.OrderID, newerThan int) ([]sale.Order, error)
}

// Observer is told of every decided claim. Its method must not block.
type Observer interface {
	// ClaimDecided reports a claim with its result, or with the fault that kept
	// it from being decided, and how long it took.
	ClaimDecided(c sale.Claim, r sale.ClaimResult, fault error, took time.Duration)
}

// Options of a [Gate]. Zero values take the named defaults.
type Options struct {
	URL        string // see redisdial.Open
	Partitions int    // number of partitions, 1 to sale.MaxPartitions
	// MaxBacklog is how many accepted claims of one partition may wait to be
	// written down before further ones are refused as BUSY. Default 1,000,000.
	MaxBacklog int
	// MaxEvents is about how many events a partition's stream keeps, each of one to
	// 50 orders. The archive is the truth, so old ones may go. Default 5,000.
	MaxEvents int64
	Source    Source
	Observer  Observer
	Now       func() time.Time // stamps order IDs only; default time.Now
	Log       *slog.Logger     // default slog.Default()
}

// Gate is the Redis side of all sales. It is safe for concurrent use.
type Gate struct {
	Options
	client  redis.UniversalClient // urgent commands: claims, releases, acknowledgements
	readers redis.UniversalClient // blocking reads of the worker
	claims  []*combiner           // by partition, so that a node that is away holds up its own sales only
	loads   singleflight.Group
	absent  absentVouchers
}

// Open prepares the clients. It does no I/O, so it succeeds while Redis is away;
// the error is a fault of the options, in one sentence.
func Open(o Options) (*Gate, error) {
	if o.Partitions < 1 || o.Partitions > sale.MaxPartitions {
		return nil, fmt.Errorf("the number of partitions must be from 1 to %d, not %d", sale.MaxPartitions, o.Partitions)
	}
	if o.MaxBacklog == 0 {
		o.MaxBacklog = 1_000_000
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = 5_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	client, err := redisdial.Open(o.URL, redisdial.Purpose{PoolSize: 32})
	if err != nil {
		return nil, err
	}
	readers, err := redisdial.Open(o.URL, redisdial.Purpose{PoolSize: o.Partitions + 4, Blocking: true})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	g := &Gate{Options: o, client: client, readers: readers}
	for range o.Partitions {
		g.claims = append(g.claims, &combiner{client: client, script: claimScript, within: claimWithin})
	}
	return g, nil
}

// claimWithin bounds one trip of claims to Redis and back.
const claimWithin = 3 * time.Second

// Close waits for claims that are still on their way and closes the
// connections. No new call may be made.
func (g *Gate) Close() error {
	for _, c := range g.claims {
		c.flying.Wait()
	}
	return errors.Join(g.client.Close(), g.readers.Close())
}

// Ping tells whether Redis answers.
func (g *Gate) Ping(ctx context.Context) error {
	if err := g.client.Ping(ctx).Err(); err != nil {
		return unavailable(err)
	}
	return nil
}

// NewVoucherID draws an identifier in a random partition, so that sales spread
// over the nodes of a cluster.
func (g *Gate) NewVoucherID() sale.VoucherID {
	var b [1]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand documents
	return sale.NewVoucherID(int(b[0])%g.Partitions, g.Now())
}

// served tells whether an identifier's partition exists in this deployment.
func (g *Gate) served(partition int) bool { return partition >= 0 && partition < g.Partitions }

func unavailable(err error) error { return sale.Unavailable(err, "the gate") }
