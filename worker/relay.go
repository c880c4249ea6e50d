package worker

import (
	"context"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// relayBatch is how many due releases one look takes, beside those that the last
// look found waiting for their sale to be loaded: such ones, always the oldest,
// must not hide the rest. relayMost bounds both.
const (
	relayBatch = 200
	relayMost  = 10_000
)

// relay repeats the releases that committed rows ask for until they are done.
func (w *Worker) relay(ctx context.Context) {
	quiet := onceUntilWell{log: w.Log}
	waiting := 0
	every(ctx, w.RelayEvery, func() {
		var err error
		waiting, err = w.relayOnce(ctx, min(relayBatch+waiting, relayMost))
		if err != nil && ctx.Err() == nil {
			quiet.report(ctx, "releases wait", 0, err)
			return
		}
		quiet.well(ctx, "releases go on", 0)
	})
}

// relayOnce tells how many due releases are left of those it looked at. It is
// bounded, so that a service that swallowed one question without an answer does
// not keep the relay for ever.
func (w *Worker) relayOnce(ctx context.Context, limit int) (waiting int, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Attempt)
	defer cancel()
	due, err := w.Outbox.ReleasesDue(ctx, limit)
	if err != nil {
		return 0, err
	}
	done, err := w.releaseAll(ctx, due)
	return len(due) - done, err
}

// releaseAll releases the orders, notes those that are done and counts them. A
// crash in between does it again, which changes nothing.
func (w *Worker) releaseAll(ctx context.Context, orders []sale.Order) (done int, failed error) {
	var ids []sale.OrderID
	for _, o := range orders {
		ok, err := w.Stock.Release(ctx, o)
		switch {
		case err != nil:
			failed = err
		case ok:
			ids = append(ids, o.ID)
		}
	}
	if len(ids) > 0 {
		if err := w.Outbox.Released(ctx, ids); err != nil {
			return 0, err
		}
	}
	return len(ids), failed
}

// tidy trims the streams and removes the names of workers that are gone.
func (w *Worker) tidy(ctx context.Context) {
	every(ctx, w.TidyEvery, func() {
		for p := range w.Partitions {
			_, err := w.Stock.Trim(ctx, p, w.Now().Add(-w.Retention))
			if err == nil {
				err = w.Membership.DropIdle(ctx, p, w.Retention)
			}
			if err != nil {
				if ctx.Err() == nil {
					w.Log.WarnContext(ctx, "stream not tidied", "partition", p, "err", err)
				}
				return
			}
		}
	})
}

// every calls do at once and then at each tick until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
