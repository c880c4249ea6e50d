package websocket

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A drain closes sockets in at most maxBatches batches of at least minBatch.
const (
	maxBatches = 20
	minBatch   = 50
)

// Open is the number of sockets now.
func (t *Transport) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// Drain refuses new sockets, closes the open ones with 1012 in batches that
// spread over about the given time, and waits until all are gone. The batches
// keep the clients from coming back all at one instant. When ctx ends first,
// the rest is cut off without a word and the error tells how many that were.
// It is called once.
func (t *Transport) Drain(ctx context.Context, spread time.Duration) error {
	all := t.beginDrain()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // G404: nothing to guess here
	var closing sync.WaitGroup
	defer closing.Wait()
	left := len(all)
	for batch := range slices.Chunk(all, max(minBatch, (len(all)+maxBatches-1)/maxBatches)) {
		for _, c := range batch {
			closing.Go(func() { c.shut(CloseRestart, "Service restart") })
		}
		if left -= len(batch); left > 0 {
			pause(ctx, rand.N(2*spread/maxBatches+1)) //nolint:gosec // G404: nothing to guess here
		}
	}
	select {
	case <-t.gone:
		return nil
	case <-ctx.Done():
		return t.cutOff()
	}
}

func (t *Transport) beginDrain() []*conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining = true
	if len(t.open) == 0 {
		close(t.gone)
	}
	return t.list()
}

func (t *Transport) cutOff() error {
	t.mu.Lock()
	rest := t.list()
	t.mu.Unlock()
	for _, c := range rest {
		c.drop()
	}
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("%d sockets did not close in time and were cut off", len(rest))
}

func (t *Transport) list() []*conn {
	all := make([]*conn, 0, len(t.open))
	for c := range t.open {
		all = append(all, c)
	}
	return all
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
