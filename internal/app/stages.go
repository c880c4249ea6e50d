package app

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// stage is a part of the process. It runs until its context ends, finishes what
// it has in hand, and returns nil.
type stage func(ctx context.Context) error

// errEndedEarly is the error of a stage that returned nil though nothing asked
// it to end: the rest of the process would be of no use without it.
var errEndedEarly = errors.New("a part of the process ended by itself")

// runStages runs all stages until ctx ends or one of them does. Then it ends
// them in the order of the list, each when those before it are gone, whichever
// of them was the first to end. The error is the first stage's that failed.
func runStages(ctx context.Context, stages []stage) error {
	g, ctx := errgroup.WithContext(ctx)
	turn := ctx.Done() // when the next stage is asked to end
	for _, run := range stages {
		own, stop := context.WithCancel(context.WithoutCancel(ctx))
		mine, ended, next := turn, make(chan struct{}), make(chan struct{})
		g.Go(func() error {
			defer close(ended)
			err := run(own)
			if err == nil && ctx.Err() == nil {
				return errEndedEarly
			}
			return err
		})
		g.Go(func() error {
			defer close(next)
			<-mine
			stop()
			<-ended
			return nil
		})
		turn = next
	}
	return g.Wait()
}
