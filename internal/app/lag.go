package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
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

// fault is nil while orders are written down in time. Its sentence is for
// strangers: it says nothing that the metrics do not.
func (l *lagMonitor) fault() error {
	age := time.Duration(l.age.Load())
	if age <= lagBound {
		return nil
	}
	return &sale.Error{
		Code:    sale.CodeUnavailable,
		Message: "the oldest order has waited " + age.Round(time.Second).String() + " to be written down; is a worker running?",
	}
}

// checks are what /readyz shows.
func (a *App) checks() []server.Check {
	return []server.Check{
		{Name: "redis", Run: a.gate.Ping},
		{Name: "database", Run: a.databaseReady},
		{Name: "worker", Run: func(context.Context) error { return a.lag.fault() }},
	}
}

// databaseReady tells whether the archive can be worked with. That it is not
// migrated is no secret, and the sentence names the command.
func (a *App) databaseReady(ctx context.Context) error {
	err := a.archive.Check(ctx)
	if errors.Is(err, store.ErrNotMigrated) {
		return &sale.Error{Code: sale.CodeUnavailable, Message: err.Error()}
	}
	return err
}
