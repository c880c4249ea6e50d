package app

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diary notes what the stages do, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// stage runs until it is asked to end and then needs a while, as a drain does.
// The later in the list, the shorter, so that order is not left to luck.
func (d *diary) stage(n int) stage {
	return func(ctx context.Context) error {
		<-ctx.Done()
		d.note(strconv.Itoa(n) + " asked")
		<-time.After(time.Duration(10-n) * time.Second)
		d.note(strconv.Itoa(n) + " gone")
		return nil
	}
}

// fails ends by itself after a second.
func (d *diary) fails(n int, err error) stage {
	return func(ctx context.Context) error {
		select {
		case <-time.After(time.Second):
			d.note(strconv.Itoa(n) + " failed")
			return err
		case <-ctx.Done():
			return errors.New("asked too early")
		}
	}
}

func TestStagesEndSendersFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- runStages(ctx, []stage{d.stage(0), d.stage(1), d.stage(2)}) }()
		synctest.Wait()
		if len(d.lines) != 0 {
			t.Fatalf("before the end: %v", d.lines)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("a clean end gives %v", err)
		}
		want := []string{"0 asked", "0 gone", "1 asked", "1 gone", "2 asked", "2 gone"}
		if diff := cmp.Diff(want, d.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestStagesEndInOrderWhoeverFails: a server that drains must find the worker
// and the bell at work, also when it is one of those that failed.
func TestStagesEndInOrderWhoeverFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := []struct {
		name   string
		stages func(*diary) []stage
		err    error
		want   []string
	}{
		{
			"the first", func(d *diary) []stage { return []stage{d.fails(0, broken), d.stage(1), d.stage(2)} }, broken,
			[]string{"0 failed", "1 asked", "1 gone", "2 asked", "2 gone"},
		},
		{
			"one between", func(d *diary) []stage { return []stage{d.stage(0), d.fails(1, broken), d.stage(2)} }, broken,
			[]string{"1 failed", "0 asked", "0 gone", "2 asked", "2 gone"},
		},
		{
			"the last", func(d *diary) []stage { return []stage{d.stage(0), d.stage(1), d.fails(2, broken)} }, broken,
			[]string{"2 failed", "0 asked", "0 gone", "1 asked", "1 gone"},
		},
		{
			"without an error", func(d *diary) []stage { return []stage{d.stage(0), d.fails(1, nil)} }, errEndedEarly,
			[]string{"1 failed", "0 asked", "0 gone"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d diary
				if err := runStages(t.Context(), c.stages(&d)); !errors.Is(err, c.err) {
					t.Errorf("the error is %v, want %v", err, c.err)
				}
				if diff := cmp.Diff(c.want, d.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestStagesOfAProcess: which parts run is decided by the options, and what they
// need is there.
func TestStagesOfAProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server, worker bool
		stages         int
	}{
		"serve": {true, false, 3}, // server, bell, watch
		"work":  {false, true, 2}, // worker, watch
		"all":   {true, true, 4},
	} {
		a := open(t, "redis://"+nobody(t), file(t), func(o *Options) {
			o.Server, o.Worker = c.server, c.worker
			o.Config.Addr, o.Config.JWTSecret = "127.0.0.1:0", "a secret of at least thirty-two bytes"
		})
		if got := len(a.stages(true)); got != c.stages || (a.server != nil) != c.server || (a.worker != nil) != c.worker {
			t.Errorf("%s: %d stages, server %t, worker %t", name, got, a.server != nil, a.worker != nil)
		}
	}
}
