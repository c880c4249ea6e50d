package notify

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// ring is a bell that runs on a Redis of its own and hears by events alone, and
// a client that announces.
type ring struct {
	*Bell
	t     *testing.T
	w     *world
	raw   redis.UniversalClient
	lines *counter
}

func newRing(t *testing.T, url string, change ...func(*Options)) *ring {
	t.Helper()
	r := &ring{t: t, w: newWorld(), lines: &counter{}}
	r.Bell = newBell(t, r.w, append([]func(*Options){func(o *Options) {
		o.URL, o.HealEvery, o.LiveEvery, o.Log = url, never, never, slog.New(r.lines)
	}}, change...)...)
	var err error
	if r.raw, err = redisdial.Open(url, redisdial.Purpose{PoolSize: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.raw.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// start runs the bell until the test ends.
func (r *ring) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				r.t.Errorf("the bell ended with %v", err)
			}
		case <-time.After(soon):
			r.t.Errorf("the bell did not end within %s", soon)
		}
	})
}

// listening waits until the tail has its cursor: until a change that is told
// again and again in new versions is heard.
func (r *ring) listening() {
	r.t.Helper()
	o := pendingOrder("probe")
	r.w.put(o)
	ch := watchOrder(r.t, r.Bell, o, 1)
	version := 1
	testenv.Eventually(r.t, soon, "the bell to listen", func() bool {
		version++
		r.announce(at(o, version, sale.StatusCommitted))
		select {
		case <-ch:
			return true
		default:
			return false
		}
	})
}

func (r *ring) announce(list ...sale.Order) {
	r.t.Helper()
	p := r.raw.Pipeline()
	for _, o := range list {
		p.XAdd(r.t.Context(), &redis.XAddArgs{Stream: eventsKey(0), Values: []string{string(o.ID), sale.EncodeEvent(o)}})
	}
	if _, err := p.Exec(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// nextMillisecond waits until Redis's clock has passed the last event. A new
// stream numbers its events from the clock; within the same millisecond it would
// begin below the old one's last.
func (r *ring) nextMillisecond() {
	r.t.Helper()
	began := time.Now().UnixMilli() // the last event is older, and this machine has one clock
	testenv.Eventually(r.t, soon, "Redis's clock to move", func() bool {
		now, err := r.raw.Time(r.t.Context()).Result()
		return err == nil && now.UnixMilli() > began
	})
}

// watch watches a new pending order.
func (r *ring) watch() (sale.Order, <-chan *sale.Order) {
	r.t.Helper()
	o := pendingOrder("ada")
	r.w.put(o)
	return o, watchOrder(r.t, r.Bell, o, 1)
}

func TestEventReachesItsWatcher(t *testing.T) {
	t.Parallel()
	r := newRing(t, testenv.Redis(t).URL())
	r.start()
	r.listening()
	o, ch := r.watch()
	r.announce(committed(o))
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
}

// A process that starts does not live through the past again.
func TestEventsBeforeTheStartAreNotReplayed(t *testing.T) {
	t.Parallel()
	r := newRing(t, testenv.Redis(t).URL())
	o, ch := r.watch()
	r.announce(committed(o))
	r.start()
	r.listening() // behind the old event in the same stream
	wantNothing(t, ch)
}

// Bursts come while the bell reads; it skips none between two reads.
func TestNoEventIsSkippedBetweenTwoReads(t *testing.T) {
	t.Parallel()
	r := newRing(t, testenv.Redis(t).URL())
	r.start()
	r.listening()
	const bursts, size = 20, 150
	var channels []<-chan *sale.Order
	var changed []sale.Order
	for range bursts * size {
		o, ch := r.watch()
		channels, changed = append(channels, ch), append(changed, committed(o))
	}
	for i := range bursts {
		r.announce(changed[i*size : (i+1)*size]...)
	}
	for _, ch := range channels {
		wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
	}
}

func TestTailSurvivesARestartOfRedis(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	r := newRing(t, server.URL())
	r.start()
	r.listening()
	before := r.lines.count()
	server.Kill()
	testenv.Eventually(t, soon, "the bell to notice", func() bool { return r.lines.count() > before })
	server.Start()
	o, ch := r.watch()
	r.announce(committed(o))
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
	if n := r.lines.count() - before; n != 1 {
		t.Errorf("%d lines about one outage, want 1", n)
	}
}

func TestTailSurvivesGarbageAndADeletedStream(t *testing.T) {
	t.Parallel()
	r := newRing(t, testenv.Redis(t).URL())
	r.start()
	r.listening()
	o, ch := r.watch()
	for _, values := range [][]string{{string(o.ID), "{"}, {string(o.ID), `{"id":"x"}`}, {string(o.ID), ""}, {"nobody's", "{"}} {
		if err := r.raw.XAdd(t.Context(), &redis.XAddArgs{Stream: eventsKey(0), Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r.announce(committed(o))
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
	if n := r.lines.count(); n != 3 {
		t.Errorf("%d lines about 3 watched events that cannot be understood", n)
	}

	r.nextMillisecond()
	if err := r.raw.Del(t.Context(), eventsKey(0)).Err(); err != nil {
		t.Fatal(err)
	}
	o, ch = r.watch()
	r.announce(committed(o))
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)

	// Something else sits under the stream's name for a while.
	before := r.lines.count()
	if err := r.raw.Set(t.Context(), eventsKey(0), "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, "the bell to notice", func() bool { return r.lines.count() > before })
	if err := r.raw.Del(t.Context(), eventsKey(0)).Err(); err != nil {
		t.Fatal(err)
	}
	o, ch = r.watch()
	r.announce(committed(o))
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
}

// The bell starts while Redis is away.
func TestBellWaitsForRedis(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	r := newRing(t, server.URL())
	server.Kill()
	r.start()
	testenv.Eventually(t, soon, "the bell to notice", func() bool { return r.lines.count() > 0 })
	server.Start()
	r.listening()
}

// Every event goes to a stream that this bell does not read: the archive heals
// it. The exact bound is tested with a clock that waits for nobody.
func TestAllEventsLost(t *testing.T) {
	t.Parallel()
	r := newRing(t, testenv.Redis(t).URL(), func(o *Options) {
		o.EventsKey, o.HealEvery = func(int) string { return "nobody writes here" }, 0
	})
	r.start()
	o, ch := r.watch()
	r.w.put(committed(o))
	r.announce(committed(o))
	began := time.Now()
	wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
	if took := time.Since(began); took > 5*time.Second { // 2 s and a busy machine
		t.Errorf("told after %s", took)
	}
}
