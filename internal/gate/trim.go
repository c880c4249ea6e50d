package gate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Trim removes entries of the order stream that are older than before and that
// every group on the stream has acknowledged. It never goes by length: that
// would drop orders which nobody has written down. It returns how many went.
//
// The bound is computed first and used afterwards. That is safe without a
// script, because an entry below it is delivered and acknowledged everywhere,
// and neither can be undone.
func (g *Gate) Trim(ctx context.Context, partition int, before time.Time) (int64, error) {
	bound, err := g.trimBound(ctx, partition, before)
	if err != nil || bound.zero() {
		return 0, err
	}
	n, err := g.client.XTrimMinID(ctx, ordersKey(partition), bound.String()).Result()
	if err != nil {
		return 0, unavailable(err)
	}
	return n, nil
}

func (g *Gate) trimBound(ctx context.Context, partition int, before time.Time) (streamID, error) {
	bound := streamID{ms: before.UnixMilli()}
	groups, err := g.client.XInfoGroups(ctx, ordersKey(partition)).Result()
	if isNoStream(err) {
		return streamID{}, nil
	}
	if err != nil {
		return streamID{}, unavailable(err)
	}
	if len(groups) == 0 {
		return streamID{}, nil // nobody has read anything
	}
	for _, gr := range groups {
		delivered, err := parseStreamID(gr.LastDeliveredID)
		if err != nil {
			return streamID{}, err
		}
		bound = bound.min(delivered)
		if gr.Pending == 0 {
			continue
		}
		pending, err := g.client.XPending(ctx, ordersKey(partition), gr.Name).Result()
		if err != nil {
			return streamID{}, unavailable(err)
		}
		if pending.Count > 0 {
			oldest, err := parseStreamID(pending.Lower)
			if err != nil {
				return streamID{}, err
			}
			bound = bound.min(oldest)
		}
	}
	return bound, nil
}

// Backlog is what waits to be written down in one partition.
type Backlog struct {
	Orders int64         // accepted and not acknowledged
	Age    time.Duration // since the oldest of them was accepted; 0 when none waits
}

// Backlog measures a partition. It is for metrics and readiness, not for
// decisions: the claim script has its own bound.
func (g *Gate) Backlog(ctx context.Context, partition int) (Backlog, error) {
	waiting, err := g.client.HLen(ctx, pendingKey(partition)).Result()
	if err != nil {
		return Backlog{}, unavailable(err)
	}
	if waiting == 0 {
		return Backlog{}, nil
	}
	oldest, err := g.oldest(ctx, partition)
	if err != nil {
		return Backlog{}, err
	}
	b := Backlog{Orders: waiting}
	if oldest.ms > 0 {
		now, err := g.client.Time(ctx).Result()
		if err != nil {
			return Backlog{}, unavailable(err)
		}
		b.Age = max(now.Sub(time.UnixMilli(oldest.ms)), 0)
	}
	return b, nil
}

// oldest gives the first entry that the archive's group has not acknowledged:
// its oldest pending one, else the first it has not read.
func (g *Gate) oldest(ctx context.Context, partition int) (streamID, error) {
	pending, err := g.client.XPending(ctx, ordersKey(partition), group).Result()
	switch {
	case isNoStream(err):
		return g.firstAfter(ctx, partition, "0") // the group is gone; it will be made again at the beginning
	case err != nil:
		return streamID{}, unavailable(err)
	case pending.Count > 0:
		return parseStreamID(pending.Lower)
	}
	groups, err := g.client.XInfoGroups(ctx, ordersKey(partition)).Result()
	if err != nil {
		return streamID{}, unavailable(err)
	}
	for _, gr := range groups {
		if gr.Name == group {
			return g.firstAfter(ctx, partition, gr.LastDeliveredID)
		}
	}
	return streamID{}, nil
}

func (g *Gate) firstAfter(ctx context.Context, partition int, id string) (streamID, error) {
	unread, err := g.client.XRangeN(ctx, ordersKey(partition), "("+id, "+", 1).Result()
	if err != nil {
		return streamID{}, unavailable(err)
	}
	if len(unread) == 0 {
		return streamID{}, nil
	}
	return parseStreamID(unread[0].ID)
}

// streamID is an entry's name: milliseconds and a sequence within them.
type streamID struct {
	ms  int64
	seq uint64
}

func parseStreamID(s string) (streamID, error) {
	ms, seq, _ := strings.Cut(s, "-")
	var id streamID
	var err error
	if id.ms, err = strconv.ParseInt(ms, 10, 64); err != nil {
		return streamID{}, fmt.Errorf("stream ID %q: %w", s, err)
	}
	if seq != "" {
		if id.seq, err = strconv.ParseUint(seq, 10, 64); err != nil {
			return streamID{}, fmt.Errorf("stream ID %q: %w", s, err)
		}
	}
	return id, nil
}

func (id streamID) zero() bool { return id == streamID{} }

func (id streamID) min(other streamID) streamID {
	if other.ms < id.ms || (other.ms == id.ms && other.seq < id.seq) {
		return other
	}
	return id
}

func (id streamID) String() string { return fmt.Sprintf("%d-%d", id.ms, id.seq) }
