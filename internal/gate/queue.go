package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// ErrNoGroup says that the partition's consumer group was gone (a flush, a
// failover to an empty node). It has been created again at the beginning of the
// stream, so that nothing is skipped; the caller pauses and reads again.
var ErrNoGroup = errors.New("the consumer group was gone and has been created again")

// EnsureGroup creates the partition's stream and group unless they exist. The
// group starts at the stream's beginning, never at its end: an order that waits
// must not be skipped, and one that comes twice does no harm.
func (g *Gate) EnsureGroup(ctx context.Context, partition int) error {
	if err := g.ensureGroup(ctx, partition); err != nil {
		return unavailable(err)
	}
	return nil
}

func (g *Gate) ensureGroup(ctx context.Context, partition int) error {
	err := g.client.XGroupCreateMkStream(ctx, ordersKey(partition), group, "0").Err()
	if redis.HasErrorPrefix(err, "BUSYGROUP") {
		return nil
	}
	return err
}

// Read gives up to limit entries that no consumer has seen, waiting up to block
// (at most redisdial.MaxBlock) for the first. None in time is an empty result.
// A cancelled context ends the wait only at the block's end.
func (g *Gate) Read(ctx context.Context, partition int, consumer string, limit int, block time.Duration) ([]sale.Entry, error) {
	if block <= 0 || block > redisdial.MaxBlock {
		return nil, fmt.Errorf("read entries: block must be above 0 and at most %s, not %s", redisdial.MaxBlock, block)
	}
	streams, err := g.readers.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{ordersKey(partition), ">"}, Count: int64(limit), Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, g.queueFault(ctx, partition, err)
	}
	var entries []sale.Entry
	for _, s := range streams {
		entries = append(entries, g.entries(ctx, partition, s.Messages)...)
	}
	return entries, nil
}

// Reclaim takes over up to limit entries that were delivered at least idle ago
// and never acknowledged, whoever read them: a dead consumer, or this one when a
// reply was lost on the way. Entries that were deleted from the stream while
// pending have no content any more; they are dropped from the group and counted
// in lost.
func (g *Gate) Reclaim(ctx context.Context, partition int, consumer string, idle time.Duration, limit int) (entries []sale.Entry, lost int, err error) {
	start := "0-0"
	for {
		messages, next, deleted, err := g.client.XAutoClaimWithDeleted(ctx, &redis.XAutoClaimArgs{
			Stream: ordersKey(partition), Group: group, Consumer: consumer, MinIdle: idle, Start: start, Count: int64(limit),
		}).Result()
		if err != nil {
			return nil, lost, g.queueFault(ctx, partition, err)
		}
		lost += len(deleted)
		// A server scans a bounded part of the pending list at a time, so an empty
		// answer is not the end; the cursor 0-0 is.
		if len(messages) > 0 || next == "0-0" || next == "" {
			return g.entries(ctx, partition, messages), lost, nil
		}
		start = next
	}
}

// entries decodes what was delivered. An entry that can be read only with a
// record which Redis does not give right now is left out: it stays pending, and a
// reclaim brings it again.
func (g *Gate) entries(ctx context.Context, partition int, messages []redis.XMessage) []sale.Entry {
	entries := make([]sale.Entry, 0, len(messages))
	for _, m := range messages {
		e := decodeEntry(partition, m)
		if e.Fault != nil {
			if err := g.mend(ctx, &e); err != nil {
				g.Log.WarnContext(ctx, "damaged entry left for later", "partition", partition, "entry_id", m.ID, "err", err)
				continue
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// mend completes the order of an entry that cannot be read from what was noted
// beside it when the claim was accepted, so that its buyer can be told. Finding no
// note is no error; not being able to look is one.
func (g *Gate) mend(ctx context.Context, e *sale.Entry) error {
	if e.Order.ID == "" {
		return nil
	}
	o, err := g.Pending(ctx, e.Order.ID)
	switch sale.CodeOf(err) {
	case "":
		e.Order = o
	case sale.CodeUnavailable:
		return err
	}
	return nil
}

func (g *Gate) queueFault(ctx context.Context, partition int, err error) error {
	if !redis.HasErrorPrefix(err, "NOGROUP") {
		return unavailable(err)
	}
	if err := g.ensureGroup(ctx, partition); err != nil {
		return unavailable(err)
	}
	return ErrNoGroup
}

// Acknowledge announces decided orders on the event stream, drops them from the
// pending record and acknowledges their entries, all in one transaction. It
// returns how many entries the group still had pending: fewer than given means
// that another consumer acknowledged some before, which is normal after a
// reclaim and worth counting.
//
// A full Redis takes neither an announcement nor any transaction. Then the entries
// are acknowledged without: only what is acknowledged can be trimmed and make
// room, and watchers find the change by looking. The pending record goes first,
// so that a crash in between leaves an entry that comes again.
func (g *Gate) Acknowledge(ctx context.Context, partition int, settled []sale.Settled) (acknowledged int64, err error) {
	if len(settled) == 0 {
		return 0, nil
	}
	var acked *redis.IntCmd
	cmds, err := g.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for part := range slices.Chunk(settled, eventOrders) {
			g.announce(ctx, p, partition, part)
		}
		acked = dropAndAck(ctx, p, partition, settled)
		return nil
	})
	if slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return redis.HasErrorPrefix(c.Err(), "OOM") }) {
		g.Log.WarnContext(ctx, "Redis is full; orders acknowledged without being announced", "partition", partition, "orders", len(settled))
		_, err = g.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			acked = dropAndAck(ctx, p, partition, settled)
			return nil
		})
	}
	if err != nil {
		return 0, unavailable(err)
	}
	return acked.Val(), nil
}

func dropAndAck(ctx context.Context, p redis.Pipeliner, partition int, settled []sale.Settled) *redis.IntCmd {
	streamIDs := make([]string, len(settled))
	var orders []string
	for i, s := range settled {
		streamIDs[i] = s.StreamID
		if s.Order != nil {
			orders = append(orders, string(s.Order.ID))
		}
	}
	if len(orders) > 0 {
		p.HDel(ctx, pendingKey(partition), orders...)
	}
	return p.XAck(ctx, ordersKey(partition), group, streamIDs...)
}

// eventOrders is how many orders one event carries at most.
const eventOrders = 50

// announce puts decided orders on the event stream: one event whose fields are
// the orders' IDs and whose values are the whole orders, so that a reader finds
// those it looks for without reading the others. A rush would drown in events of
// one order each.
func (g *Gate) announce(ctx context.Context, p redis.Pipeliner, partition int, settled []sale.Settled) {
	values := make([]string, 0, 2*len(settled))
	for _, s := range settled {
		if s.Order != nil {
			values = append(values, string(s.Order.ID), sale.EncodeEvent(*s.Order))
		}
	}
	if len(values) > 0 {
		p.XAdd(ctx, &redis.XAddArgs{Stream: EventsKey(partition), MaxLen: g.MaxEvents, Approx: true, Values: values})
	}
}

// Leave removes the consumer's name from the group, unless it still has pending
// entries: those are reclaimed by others, and the name goes when they are done.
func (g *Gate) Leave(ctx context.Context, partition int, consumer string) error {
	err := run(ctx, g.client, dropConsumerScript, []string{ordersKey(partition)}, group, consumer).Err()
	if err != nil && !isNoStream(err) {
		return unavailable(err)
	}
	return nil
}

// DropIdle removes the names of consumers that have been silent for at least
// idle and have nothing pending. Every worker has a new name, so without it
// names would pile up.
func (g *Gate) DropIdle(ctx context.Context, partition int, idle time.Duration) error {
	consumers, err := g.client.XInfoConsumers(ctx, ordersKey(partition), group).Result()
	if isNoStream(err) {
		return nil
	}
	if err != nil {
		return unavailable(err)
	}
	for _, c := range consumers {
		if c.Pending == 0 && c.Idle >= idle {
			if err := g.Leave(ctx, partition, c.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func isNoStream(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") ||
		(err != nil && strings.Contains(err.Error(), "no such key"))
}
