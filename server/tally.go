package server

import (
	"context"
	"fmt"
	"sync"
)

// tally counts what runs and lets one goroutine wait until nothing does. Unlike
// a WaitGroup it may grow while it is waited for, and the wait can be given up.
type tally struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed at zero; nil while nobody waits
}

func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
}

func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	if t.running == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// wait returns nil when nothing runs. When ctx ends first, the error tells how
// much still does.
func (t *tally) wait(ctx context.Context) error {
	t.mu.Lock()
	if t.running == 0 {
		t.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	t.idle = idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = nil
	return fmt.Errorf("%d streams still run", t.running)
}
