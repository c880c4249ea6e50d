package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/testenv"
)

// pipelines stands in for Redis: it answers each command of a pipeline with the
// command's last argument, when the test lets it.
type pipelines struct {
	started chan []string // the name of each command of a pipeline that has begun
	goOn    chan struct{} // one for each pipeline; closed: all go on
	mu      sync.Mutex
	unknown map[string]bool // scripts by their last argument that EVALSHA does not know
	fault   error           // of every pipeline
}

func (p *pipelines) DialHook(redis.DialHook) redis.DialHook {
	return func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody dials here") }
}

func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelines) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, c := range cmds {
			names[i] = c.Name()
		}
		p.started <- names
		select {
		case <-p.goOn:
		case <-ctx.Done():
			for _, c := range cmds {
				c.SetErr(ctx.Err())
			}
			return ctx.Err()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range cmds {
			last := fmt.Sprint(c.Args()[len(c.Args())-1])
			switch {
			case p.fault != nil:
				c.SetErr(p.fault)
			case c.Name() == "evalsha" && p.unknown[last]:
				c.SetErr(noScript{})
			default:
				c.(once).SetVal(last)
			}
		}
		return p.fault
	}
}

// noScript is Redis's answer for a digest that it does not know.
type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script. Please use EVAL." }
func (noScript) RedisError()   {}

func newCombiner(t *testing.T, within time.Duration) (*combiner, *pipelines) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	p := &pipelines{started: make(chan []string, 1000), goOn: make(chan struct{}, 1000), unknown: map[string]bool{}}
	client.AddHook(p)
	c := &combiner{client: client, script: claimScript, within: within}
	t.Cleanup(func() {
		c.flying.Wait()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, p
}

type outcome struct {
	cmd *redis.Cmd
	err error
}

// start runs n calls, each with a number as its argument, and returns when all of
// them wait or fly.
func (c *combiner) start(t *testing.T, ctx context.Context, from, n int) []chan outcome {
	t.Helper()
	outcomes := make([]chan outcome, n)
	for i := range n {
		outcomes[i] = make(chan outcome, 1)
		before := c.queued()
		go func() {
			cmd, err := c.run(ctx, []string{"k"}, from+i)
			outcomes[i] <- outcome{cmd, err}
		}()
		testenv.Eventually(t, 20*time.Second, "the call being queued", func() bool { return c.queued() > before })
	}
	return outcomes
}

// queued counts calls; each lane holds one pipeline, so it never falls while the
// lanes are held.
func (c *combiner) queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) + c.lanes
}

func answered(t *testing.T, outcomes []chan outcome, from int) {
	t.Helper()
	for i, o := range outcomes {
		got := <-o
		if got.err != nil {
			t.Errorf("call %d: %v", i, got.err)
			continue
		}
		if s, err := got.cmd.Text(); err != nil || s != fmt.Sprint(from+i) {
			t.Errorf("call %d got the answer %q, %v", from+i, s, err)
		}
	}
}

func TestACallThatIsAloneGoesAtOnce(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	for i := range 3 {
		p.goOn <- struct{}{}
		cmd, err := c.run(t.Context(), []string{"k"}, i)
		if err != nil || cmd.Err() != nil {
			t.Errorf("%v, %v", err, cmd)
		}
		if got := <-p.started; len(got) != 1 {
			t.Errorf("it shared a pipeline: %v", got)
		}
	}
	testenv.Eventually(t, 20*time.Second, "no lane being left", func() bool { return c.queued() == 0 })
}

// TestManyShareAPipeline: what comes while both lanes fly goes together, and each
// caller gets its own answer.
func TestManyShareAPipeline(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	first := c.start(t, t.Context(), 0, combineLanes)
	sizes := []int{}
	for range combineLanes {
		sizes = append(sizes, len(<-p.started))
	}
	rest := c.start(t, t.Context(), combineLanes, 2*combineMost+6)
	close(p.goOn)
	answered(t, first, 0)
	answered(t, rest, combineLanes)
	for range 3 {
		sizes = append(sizes, len(<-p.started))
	}
	slices.Sort(sizes)
	want := append(slices.Repeat([]int{1}, combineLanes), 6, combineMost, combineMost)
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Error(diff)
	}
}

// TestEndOfTheRequestFreesItsCaller: the claim itself may run or have run.
func TestEndOfTheRequestFreesItsCaller(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	leaving := c.start(t, ctx, 0, combineLanes+1) // two fly, one waits
	staying := c.start(t, t.Context(), combineLanes+1, 1)
	cancel()
	for i, o := range leaving {
		if got := <-o; !errors.Is(got.err, context.Canceled) {
			t.Errorf("call %d: %v", i, got.err)
		}
	}
	close(p.goOn)
	answered(t, staying, combineLanes+1)
}

// TestFullQueueTurnsAway: waiting longer than anybody's patience helps nobody.
func TestFullQueueTurnsAway(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	flying := c.start(t, t.Context(), 0, combineLanes)
	c.mu.Lock()
	for len(c.waiting) < combineQueue {
		c.waiting = append(c.waiting, &scriptCall{args: []any{"x"}, done: make(chan struct{})})
	}
	c.mu.Unlock()
	if cmd, err := c.run(t.Context(), nil, 1); !errors.Is(err, errQueueFull) || cmd != nil {
		t.Errorf("got %v, %v", cmd, err)
	}
	close(p.goOn)
	answered(t, flying, 0)
	testenv.Eventually(t, 20*time.Second, "the queue being empty", func() bool { return c.queued() == 0 })
	if cmd, err := c.run(t.Context(), nil, 1); err != nil || cmd.Err() != nil {
		t.Errorf("afterwards: %v, %v", cmd, err)
	}
}

// TestUnknownScriptIsSentOnce guards A8: only those calls of a pipeline that
// Redis did not run are sent again, with the source.
func TestUnknownScriptIsSentOnce(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	p.unknown = map[string]bool{"3": true, "5": true}
	flying := c.start(t, t.Context(), 0, combineLanes)
	for range combineLanes {
		<-p.started
	}
	rest := c.start(t, t.Context(), combineLanes, 5)
	close(p.goOn)
	answered(t, flying, 0)
	answered(t, rest, combineLanes)
	if diff := cmp.Diff([]string{"evalsha", "evalsha", "evalsha", "evalsha", "evalsha"}, <-p.started); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"eval", "eval"}, <-p.started); diff != "" {
		t.Error(diff)
	}
}

// TestFaultReachesEveryCaller of the pipeline, and the lanes are free again.
func TestFaultReachesEveryCaller(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, time.Minute)
	p.fault = errors.New("connection refused")
	calls := c.start(t, t.Context(), 0, combineLanes+10)
	close(p.goOn)
	for i, o := range calls {
		if got := <-o; got.err != nil || !errors.Is(got.cmd.Err(), p.fault) {
			t.Errorf("call %d: %v, %v", i, got.err, got.cmd)
		}
	}
	testenv.Eventually(t, 20*time.Second, "no lane being left", func() bool { return c.queued() == 0 })
}

// TestSilentRedisHoldsNoLane: a pipeline without an answer ends by itself.
func TestSilentRedisHoldsNoLane(t *testing.T) {
	t.Parallel()
	c, p := newCombiner(t, 20*time.Millisecond)
	calls := make([]chan outcome, 2*combineMost) // more than one pipeline takes
	for i := range calls {
		calls[i] = make(chan outcome, 1)
		go func() {
			cmd, err := c.run(context.Background(), nil, i)
			calls[i] <- outcome{cmd, err}
		}()
	}
	for i, o := range calls {
		if got := <-o; got.err != nil || !errors.Is(got.cmd.Err(), context.DeadlineExceeded) {
			t.Errorf("call %d: %v, %v", i, got.err, got.cmd)
		}
	}
	if n := len(p.started); n < 2 {
		t.Errorf("only %d pipelines were sent", n)
	}
}
