package worker

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Queue is where accepted claims wait: the gate.
type Queue interface {
	// Read waits up to block for up to limit entries that nobody has seen.
	Read(ctx context.Context, partition int, consumer string, limit int, block time.Duration) ([]sale.Entry, error)
	// Reclaim takes over entries delivered at least idle ago and never
	// acknowledged; lost counts those whose content is gone.
	Reclaim(ctx context.Context, partition int, consumer string, idle time.Duration, limit int) (entries []sale.Entry, lost int, err error)
	// Acknowledge announces the decided orders and acknowledges their entries, in
	// one transaction. It returns how many entries were still pending.
	Acknowledge(ctx context.Context, partition int, settled []sale.Settled) (int64, error)
}

// Membership is the worker's place in the consumer groups: the gate.
type Membership interface {
	// EnsureGroup creates the partition's group, at the beginning of its stream.
	EnsureGroup(ctx context.Context, partition int) error
	// Leave removes the consumer's name where it has nothing pending.
	Leave(ctx context.Context, partition int, consumer string) error
	// DropIdle removes names that are silent for idle and have nothing pending.
	DropIdle(ctx context.Context, partition int, idle time.Duration) error
}

// Stock takes units back and lets old entries go: the gate.
type Stock interface {
	// Release gives an order's units back, once; false means not now, repeat it.
	Release(ctx context.Context, o sale.Order) (done bool, err error)
	// Trim removes entries older than before that all groups have acknowledged.
	Trim(ctx context.Context, partition int, before time.Time) (int64, error)
}

// Archive writes orders down.
type Archive interface {
	// Settle commits or rejects all entries of one voucher in one transaction and
	// returns one order per entry; an entry that was settled before comes back as
	// it is.
	Settle(ctx context.Context, voucher sale.VoucherID, entries []sale.Entry) ([]sale.Order, error)
	// Reject writes one entry down as rejected, unless it has a row.
	Reject(ctx context.Context, e sale.Entry, code sale.RejectionCode) (sale.Order, error)
	// Bury keeps what nobody can be told of, with its reason.
	Bury(ctx context.Context, d sale.DeadLetter) error
}

// Outbox lists the releases that committed rows ask for.
type Outbox interface {
	// ReleasesDue gives rejected orders whose units are not known to be back.
	ReleasesDue(ctx context.Context, limit int) ([]sale.Order, error)
	// Released notes that they are.
	Released(ctx context.Context, ids []sale.OrderID) error
}

// Observer is told what happened. Its methods must not block.
type Observer interface {
	// OrdersSettled reports a committed batch of one voucher and how long the
	// commit took.
	OrdersSettled(orders []sale.Order, took time.Duration)
	// EntriesReclaimed reports entries taken over, and those found without content.
	EntriesReclaimed(partition, entries, lost int)
	// AcksMissing reports entries that were acknowledged before or are not the
	// group's.
	AcksMissing(partition, entries int)
	// EntryBuried reports an entry put aside.
	EntryBuried(d sale.DeadLetter)
}

// Options of a [Worker]. The ports are required; zero durations and sizes take
// the named defaults.
type Options struct {
	Queue      Queue
	Membership Membership
	Stock      Stock
	Archive    Archive
	Outbox     Outbox
	Observer   Observer
	// Transient tells a fault that time heals (the database is away) from one
	// that the entries caused.
	Transient  func(error) bool
	Partitions int
	Batch      int           // most entries in one read; default 500
	Block      time.Duration // longest wait of one read; default 500 ms, at most redisdial.MaxBlock
	// Gather is how long a busy partition waits between two reads, so that the next
	// batch is larger: a batch costs a transaction whatever its size, and in a rush
	// the claims need that processor time. A quiet partition never waits, nor does
	// one with a backlog. Default 25 ms.
	Gather time.Duration
	// ReclaimIdle is how long an entry must lie unacknowledged before another
	// consumer takes it over: well above the slowest batch. Default 5 s.
	ReclaimIdle  time.Duration
	ReclaimEvery time.Duration // how often a partition looks for such entries; default 1 s
	RelayEvery   time.Duration // how often due releases are looked for; default 1 s
	TidyEvery    time.Duration // how often streams are trimmed; default 1 min
	Retention    time.Duration // how long acknowledged entries are kept; default 1 h
	Attempt      time.Duration // bound on one transaction or acknowledgement; default 10 s
	Now          func() time.Time
	Log          *slog.Logger
}

// Worker settles the entries of all partitions.
type Worker struct {
	Options
	consumer string
}

// New makes a worker with a consumer name of its own: host, process and a random
// part, because two workers of one name would settle each other's entries.
func New(o Options) *Worker {
	setDefault(&o.Batch, 500)
	setDefault(&o.Block, 500*time.Millisecond)
	setDefault(&o.Gather, 25*time.Millisecond)
	setDefault(&o.ReclaimIdle, 5*time.Second)
	setDefault(&o.ReclaimEvery, time.Second)
	setDefault(&o.RelayEvery, time.Second)
	setDefault(&o.TidyEvery, time.Minute)
	setDefault(&o.Retention, time.Hour)
	setDefault(&o.Attempt, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Worker{Options: o, consumer: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])}
}

func setDefault[T int | time.Duration](value *T, usual T) {
	if *value == 0 {
		*value = usual
	}
}

// Run works until ctx ends, then finishes the batches in hand, acknowledges them
// and leaves the groups. It returns nil after a clean end; it does not end
// because Redis or the database is away.
func (w *Worker) Run(ctx context.Context) error {
	w.Log.InfoContext(ctx, "worker started", "consumer", w.consumer, "partitions", w.Partitions)
	g, ctx := errgroup.WithContext(ctx)
	for p := range w.Partitions {
		g.Go(func() error { w.work(ctx, p); return nil })
	}
	g.Go(func() error { w.relay(ctx); return nil })
	g.Go(func() error { w.tidy(ctx); return nil })
	err := g.Wait()
	w.leave(context.WithoutCancel(ctx))
	w.Log.InfoContext(ctx, "worker stopped", "consumer", w.consumer)
	return err
}

// work settles one partition until ctx ends.
func (w *Worker) work(ctx context.Context, partition int) {
	pause := backoff{least: 50 * time.Millisecond, most: 2 * time.Second}
	quiet := onceUntilWell{log: w.Log}
	var reclaimed time.Time
	if err := w.Membership.EnsureGroup(ctx, partition); err != nil {
		quiet.report(ctx, "queue not reachable", partition, err)
	}
	for ctx.Err() == nil {
		var err error
		if w.Now().Sub(reclaimed) >= w.ReclaimEvery {
			// One batch of old entries between reads of new ones: neither starves.
			err = w.reclaim(ctx, partition)
			reclaimed = w.Now()
		}
		if err == nil {
			err = w.readOnce(ctx, partition)
		}
		if err != nil && ctx.Err() == nil {
			quiet.report(ctx, "queue not readable", partition, err)
			pause.wait(ctx)
			continue
		}
		quiet.well(ctx, "queue readable again", partition)
		pause.reset()
	}
}

func (w *Worker) readOnce(ctx context.Context, partition int) error {
	entries, err := w.Queue.Read(ctx, partition, w.consumer, w.Batch, w.Block)
	if err != nil {
		return err
	}
	w.settle(ctx, partition, entries)
	if busy := w.Batch / 64; len(entries) >= busy && len(entries) < w.Batch {
		sleep(ctx, w.Gather)
	}
	return nil
}

func (w *Worker) reclaim(ctx context.Context, partition int) error {
	entries, lost, err := w.Queue.Reclaim(ctx, partition, w.consumer, w.ReclaimIdle, w.Batch)
	if err != nil {
		return err
	}
	if len(entries) > 0 || lost > 0 {
		w.Observer.EntriesReclaimed(partition, len(entries), lost)
		w.Log.WarnContext(ctx, "entries reclaimed", "partition", partition, "entries", len(entries), "lost", lost)
	}
	w.settle(ctx, partition, entries)
	return nil
}

func (w *Worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for p := range w.Partitions {
		if err := w.Membership.Leave(ctx, p, w.consumer); err != nil {
			w.Log.WarnContext(ctx, "consumer name left behind; a later worker removes it", "partition", p, "err", err)
			return
		}
	}
}
