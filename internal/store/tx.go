package store

import (
	"context"
	"fmt"

	"github.com/flashclaim/flashclaim/ent"
)

// inTx runs the work in one transaction: committed when it returns nil, rolled
// back otherwise. The error tells by [Transient] whether time heals it; after a
// failed COMMIT nobody knows whether the rows were written.
func inTx[T any](ctx context.Context, a *Archive, work func(*ent.Tx) (T, error)) (result T, err error) {
	var none T
	if a.turn != nil {
		select {
		case a.turn <- struct{}{}:
			defer func() { <-a.turn }()
		case <-ctx.Done():
			return none, unavailable(ctx.Err())
		}
	}
	tx, err := a.client.Tx(ctx)
	if err != nil {
		return none, unavailable(err)
	}
	done := false
	defer func() {
		if !done {
			// When this fails the connection is gone, and the server rolls back.
			_ = tx.Rollback()
		}
	}()
	if result, err = work(tx); err != nil {
		return none, unavailable(err)
	}
	done = true
	if err := tx.Commit(); err != nil {
		a.log.WarnContext(ctx, "commit without an answer, its outcome is unknown", "err", err)
		return none, unavailable(fmt.Errorf("commit, outcome unknown: %w", err))
	}
	return result, nil
}

// write is inTx for work that gives nothing but an error.
func write(ctx context.Context, a *Archive, work func(*ent.Tx) error) error {
	_, err := inTx(ctx, a, func(tx *ent.Tx) (struct{}, error) { return struct{}{}, work(tx) })
	return err
}
