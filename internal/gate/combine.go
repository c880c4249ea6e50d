package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// In a rush hundreds of claims are in flight at once. Sent one by one they cost
// a system call each way and a connection each; the combiner sends those that
// wait together in one pipeline. A claim that is alone goes at once: nothing
// ever waits for company.
const (
	combineLanes = 1    // pipelines in flight: Redis runs one at a time anyway, and what comes meanwhile forms the next
	combineMost  = 32   // commands in one pipeline: enough to share the system calls, short enough to answer soon
	combineQueue = 8192 // commands that may wait; more are turned away at once
)

// errQueueFull says that more claims wait for Redis than it makes sense to keep
// waiting.
var errQueueFull = errors.New("too many claims wait for Redis")

// combiner runs one script for many callers of one partition, in shared
// pipelines. It has no goroutine of its own while nothing waits.
type combiner struct {
	client redis.UniversalClient
	script *redis.Script
	within time.Duration // bound on one pipeline

	mu      sync.Mutex
	waiting []*scriptCall
	lanes   int
	flying  sync.WaitGroup // the lanes, for Close
}

type scriptCall struct {
	keys []string
	args []any
	cmd  *redis.Cmd
	done chan struct{}
}

// run executes the script. When ctx ends first the script may run or have run all
// the same: the outcome is unknown, which is what the error of ctx means here.
func (c *combiner) run(ctx context.Context, keys []string, args ...any) (*redis.Cmd, error) {
	call := &scriptCall{keys: keys, args: args, done: make(chan struct{})}
	c.mu.Lock()
	if len(c.waiting) >= combineQueue {
		c.mu.Unlock()
		return nil, errQueueFull
	}
	c.waiting = append(c.waiting, call)
	if c.lanes < combineLanes {
		c.lanes++
		c.flying.Go(c.drain)
	}
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-call.done:
		return call.cmd, nil
	}
}

// drain sends what waits until nothing does.
func (c *combiner) drain() {
	for {
		c.mu.Lock()
		n := min(len(c.waiting), combineMost)
		if n == 0 {
			c.lanes--
			c.mu.Unlock()
			return
		}
		batch := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		if len(c.waiting) == 0 {
			c.waiting = nil
		}
		c.mu.Unlock()
		c.send(batch)
	}
}

func (c *combiner) send(batch []*scriptCall) {
	ctx, cancel := context.WithTimeout(context.Background(), c.within) // the callers' contexts bound their waiting only
	defer cancel()
	c.pipeline(ctx, batch, "evalsha", c.script.Hash())
	unknown := batch[:0:0]
	for _, call := range batch {
		if redis.HasErrorPrefix(call.cmd.Err(), "NOSCRIPT") {
			unknown = append(unknown, call)
		}
	}
	if len(unknown) > 0 {
		c.pipeline(ctx, unknown, "eval", sourceOf[c.script])
	}
	for _, call := range batch {
		close(call.done)
	}
}

func (c *combiner) pipeline(ctx context.Context, batch []*scriptCall, name, script string) {
	p := c.client.Pipeline()
	for _, call := range batch {
		call.cmd = command(ctx, name, script, call.keys, call.args)
		_ = p.Process(ctx, once{call.cmd}) // queues; the outcome is each command's own
	}
	_, _ = p.Exec(ctx)
}
