package gate

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// Live reads stock and state of the vouchers, in one round trip per node, and
// judges them by Redis's clock. A sale that is not loaded is judged by what the
// archive knows: total less sold. The result is in the order of the vouchers.
func (g *Gate) Live(ctx context.Context, vouchers []sale.Voucher) ([]sale.Live, error) {
	cmds := make([]*redis.Cmd, len(vouchers))
	ask := func(source bool) error {
		_, err := g.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, v := range vouchers {
				keys := []string{saleKey(v.ID), stockKey(v.ID)}
				if source {
					cmds[i] = p.Eval(ctx, liveSource, keys)
				} else {
					cmds[i] = p.EvalSha(ctx, liveScript.Hash(), keys)
				}
			}
			return nil
		})
		return err
	}
	err := ask(false)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = ask(true)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	live := make([]sale.Live, len(vouchers))
	for i, v := range vouchers {
		r, err := replyOf(cmds[i])
		if err != nil {
			return nil, unavailable(err)
		}
		live[i] = judge(v, r)
	}
	return live, nil
}

func judge(v sale.Voucher, r reply) sale.Live {
	now := time.UnixMilli(r.number(0))
	if len(r) == 1 {
		return v.LiveAt(now, v.Total-v.Sold)
	}
	v.Paused = r.text(2) != "open"
	return v.LiveAt(now, int(r.number(1)))
}

// Time is Redis's clock, the one that judges every sale window.
func (g *Gate) Time(ctx context.Context) (time.Time, error) {
	now, err := g.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, unavailable(err)
	}
	return sale.Timestamp(now), nil
}
