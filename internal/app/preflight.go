package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
)

// preflight checks what the promises rest on. The error of a service that is
// away has sale.CodeUnavailable.
func (a *App) preflight(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	redisErr := a.checkRedis(ctx)
	if fatal(redisErr) {
		return redisErr
	}
	databaseErr := a.checkDatabase(ctx)
	if fatal(databaseErr) {
		return databaseErr
	}
	return errors.Join(redisErr, databaseErr)
}

// fatal tells a fault that an operator must mend from a service that is away.
func fatal(err error) bool { return err != nil && sale.CodeOf(err) != sale.CodeUnavailable }

func (a *App) checkRedis(ctx context.Context) error {
	if err := a.gate.Ping(ctx); err != nil {
		return err
	}
	if a.Embedded {
		return nil
	}
	warnings, err := a.gate.CheckDurability(ctx, gate.Durability(a.Config.Durability))
	for _, w := range warnings {
		a.Log.WarnContext(ctx, w)
	}
	return err
}

func (a *App) checkDatabase(ctx context.Context) error {
	if err := a.archive.Check(ctx); err != nil {
		return err
	}
	used, err := a.archive.Partitions(ctx)
	if err != nil {
		return err
	}
	if used > a.Config.Partitions {
		return fmt.Errorf("the database has vouchers in %d partitions and --partitions is %d; start with at least %d, or those vouchers cannot be claimed",
			used, a.Config.Partitions, used)
	}
	return nil
}

// watchEvery is how often a service that is away is asked for, and the backlog
// measured.
const watchEvery = 2 * time.Second

// watchServices repeats the checks until they have passed once, and measures the
// backlog, until ctx ends.
func (a *App) watchServices(ctx context.Context, checked bool) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		if !checked {
			err := awaited(a.preflight(ctx))
			if fatal(err) && ctx.Err() == nil {
				return err
			}
			if checked = err == nil; checked {
				a.Log.InfoContext(ctx, "Redis and the database are reached")
			}
		}
		a.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// awaited turns a missing migration into something to wait for. At the start it
// ends the process with the command to run; a database that came up while the
// process waited for it is about to be migrated by whoever brought it up.
func awaited(err error) error {
	if errors.Is(err, store.ErrNotMigrated) {
		return sale.Unavailable(err, "the database")
	}
	return err
}
