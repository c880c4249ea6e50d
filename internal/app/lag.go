package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server"
)

// lagBound is how old the oldest unwritten order may become before this process
// calls itself not ready: then no worker runs, or none keeps up.
const lagBound = 30 * time.Second

// lagMonitor keeps the age of the oldest order that is accepted and not written
// down.
type lagMonitor struct{ age atomic.Int64 }

// measure reads every partition's backlog into the metrics and the monitor.
func (a *App) measure(ctx context.Context) {
	var oldest time.Duration
	for p := range a.Config.Partitions {
		b, err := a.gate.Backlog(ctx, p)
		if err != nil {
			return // the check of Redis tells it
		}
		a.metrics.Backlog(p, b.Orders, b.Age)
		oldest = max(oldest, b.Age)
	}
	a.lag.age.Store(int64(oldest))
}

// checks are what /readyz shows.
func (a *App) checks(ctx context.Context) []server.Check {
	lag := server.Check{Name: "worker"}
	if age := time.Duration(a.lag.age.Load()); age > lagBound {
		lag.Err = &sale.Error{
			Code:    sale.CodeUnavailable,
			Message: "the oldest order has waited " + age.Round(time.Second).String() + " to be written down; is a worker running?",
		}
	}
	return []server.Check{
		{Name: "redis", Err: a.gate.Ping(ctx)},
		{Name: "database", Err: a.archive.Check(ctx)},
		lag,
	}
}
