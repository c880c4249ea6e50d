package notify

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// One read takes at most so many events, and waits at most so long for the
// first; the wait also bounds a shutdown.
const (
	tailBatch = 1000
	tailBlock = redisdial.MaxBlock / 2
)

// tail follows one partition's event stream from its own cursor. The cursor is
// set once, at the stream's end, and then moves with what was read; asking for
// the end again and again would skip what comes between two reads.
func (b *Bell) tail(ctx context.Context, partition int) {
	stream := b.EventsKey(partition)
	cursor, ill := "", false
	for ctx.Err() == nil {
		next, err := b.follow(ctx, stream, cursor)
		cursor = next
		if err == nil {
			ill = false
			continue
		}
		if ctx.Err() == nil && !ill {
			b.Log.WarnContext(ctx, "event stream not readable; watchers are healed from the archive", "partition", partition, "err", err)
		}
		ill = true
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// follow reads once and returns the cursor behind what it read.
func (b *Bell) follow(ctx context.Context, stream, cursor string) (string, error) {
	if cursor == "" {
		return b.end(ctx, stream)
	}
	streams, err := b.client.XRead(ctx, &redis.XReadArgs{
		Streams: []string{stream, cursor}, Count: tailBatch, Block: tailBlock,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return cursor, nil
	}
	if err != nil {
		return cursor, err
	}
	for _, s := range streams {
		for _, m := range s.Messages {
			b.hear(ctx, m)
			cursor = m.ID
		}
	}
	return cursor, nil
}

// end gives the name of the stream's last event, or the beginning when there is
// none yet.
func (b *Bell) end(ctx context.Context, stream string) (string, error) {
	last, err := b.client.XRevRangeN(ctx, stream, "+", "-", 1).Result()
	if err != nil {
		return "", err
	}
	if len(last) == 0 {
		return "0-0", nil
	}
	return last[0].ID, nil
}

// hear tells the watchers of the orders of one event. Orders that nobody here
// watches are not even decoded: in a rush they are most.
func (b *Bell) hear(ctx context.Context, m redis.XMessage) {
	for id, value := range m.Values {
		if !b.hub.listens(sale.OrderID(id)) {
			continue
		}
		text, _ := value.(string)
		o, err := sale.DecodeEvent(text)
		if err != nil {
			b.Log.WarnContext(ctx, "event not understood", "entry_id", m.ID, "err", err)
			continue
		}
		b.tell(&o)
	}
}
