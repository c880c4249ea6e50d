package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// backoff doubles a pause from least to most, with jitter, so that workers that
// failed together do not return together.
type backoff struct {
	least, most, next time.Duration
}

func (b *backoff) wait(ctx context.Context) {
	b.next = min(max(b.next*2, b.least), b.most)
	sleep(ctx, b.next/2+rand.N(b.next/2+1)) //nolint:gosec // spreads load, guards nothing
}

func (b *backoff) reset() { b.next = 0 }

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// onceUntilWell logs a trouble once, not at every attempt, and its end.
type onceUntilWell struct {
	log *slog.Logger
	ill bool
}

func (o *onceUntilWell) report(ctx context.Context, what string, partition int, err error) {
	if !o.ill {
		o.log.WarnContext(ctx, what, "partition", partition, "err", err)
	}
	o.ill = true
}

func (o *onceUntilWell) well(ctx context.Context, what string, partition int) {
	if o.ill {
		o.log.InfoContext(ctx, what, "partition", partition)
	}
	o.ill = false
}
