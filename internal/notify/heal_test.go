package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// run runs what the bell does by the clock, which is all but the tail, until the
// test ends.
func (b *Bell) runClock(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.every(ctx, b.HealEvery, "heal", b.heal) })
	running.Go(func() { b.every(ctx, b.LiveEvery, "read live stock", b.live) })
	t.Cleanup(func() { cancel(); running.Wait() })
}

// No event ever arrives; the buyer hears within two seconds all the same,
// whenever the commit is.
func TestLostEventsAreHealedWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		b.runClock(t)
		for offset := time.Duration(0); offset < 3*time.Second; offset += 70 * time.Millisecond {
			o := pendingOrder("ada")
			w.put(o)
			ch := watchOrder(t, b, o, 0)
			next(t, ch)
			buyer := pendingOrder("buyer " + string(o.ID))
			all, err := b.WatchBuyer(t.Context(), buyer.BuyerID)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(offset)
			w.put(committed(o), committed(buyer))
			began := time.Now()
			wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
			wantVersion(t, next(t, all), 2, sale.StatusCommitted)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("committed %s after the subscription, told %s later", offset, took)
			}
		}
	})
}

// Only orders that can still change are read, and only while they are watched.
func TestHealingAsksOnlyForTheUnfinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		b.runClock(t)
		open, over := pendingOrder("ada"), pendingOrder("ada")
		w.put(open, over)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := b.WatchOrder(ctx, "ada", open.ID, 0); err != nil {
			t.Fatal(err)
		}
		ch := watchOrder(t, b, over, 1)
		final := over.Rejected(sale.RejectedSoldOut)
		b.tell(&final)
		next(t, ch)
		wantClosed(t, ch)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if len(w.asked) != 6 { // one each 1.5 s
			t.Errorf("%d healing queries in 10 s, want 6", len(w.asked))
		}
		for _, ids := range w.asked {
			if len(ids) != 1 || ids[0] != open.ID {
				t.Errorf("asked for %q, want only the unfinished %s", ids, open.ID)
			}
		}
		cancel()
		synctest.Wait()
		w.asked = nil
		<-time.After(10 * time.Second)
		synctest.Wait()
		if len(w.asked) != 0 {
			t.Errorf("asked %d times for nobody", len(w.asked))
		}
	})
}

// One question to the archive is never answered: the next ones are asked.
func TestHealingSurvivesASilentArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		o := pendingOrder("ada")
		w.put(o)
		ch := watchOrder(t, b, o, 1)
		var once sync.Once
		w.query = func(ctx context.Context) { once.Do(func() { <-ctx.Done() }) }
		b.runClock(t)
		w.put(committed(o))
		began := time.Now()
		wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("told after %s", took)
		}
	})
}

// The archive is away for a while: one line, and then the watchers hear.
func TestHealingSurvivesAnOutageOfTheArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		lines := &counter{}
		b := newBell(t, w, func(o *Options) { o.Log = slog.New(lines) })
		o := pendingOrder("ada")
		w.put(o)
		ch := watchOrder(t, b, o, 1)
		b.runClock(t)
		w.fail(errors.New("away"))
		w.put(committed(o))
		<-time.After(time.Minute)
		wantNothing(t, ch)
		w.fail(nil)
		began := time.Now()
		wantVersion(t, next(t, ch), 2, sale.StatusCommitted)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("told %s after the archive came back", took)
		}
		if n := lines.count(); n != 1 {
			t.Errorf("%d lines about one outage, want 1", n)
		}
	})
}

// counter counts log lines.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Enabled(context.Context, slog.Level) bool { return true }
func (c *counter) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *counter) WithGroup(string) slog.Handler            { return c }

func (c *counter) Handle(context.Context, slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return nil
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// The first value comes at once, then at most four a second however fast the
// stock falls.
func TestVoucherIsToldAtMostFourTimesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		b.runClock(t)
		v := openVoucher(w, 1_000_000)
		w.lives = func(int) (sale.Live, error) { // falls with every microsecond
			return sale.Live{Remaining: 1_000_000 - int(time.Now().UnixMicro()%1_000_000), State: sale.StateOpen}, nil
		}
		ch, err := b.WatchVoucher(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if first := next(t, ch); first.Live.Remaining != 1_000_000 || first.Title != v.Title || time.Since(began) != 0 {
			t.Errorf("the first value is %+v after %s, want the present one at once", first.Live, time.Since(began))
		}
		const seconds = 10
		end := time.After(seconds * time.Second)
		for n := 0; ; n++ {
			select {
			case <-ch:
				continue
			case <-end:
			}
			if n < 3*seconds || n > 4*seconds {
				t.Errorf("%d values in %d s, want about 4 a second and no more", n, seconds)
			}
			return
		}
	})
}

func TestVoucherIsToldOnlyWhenItChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		b.runClock(t)
		v := openVoucher(w, 5)
		w.lives = func(n int) (sale.Live, error) {
			switch {
			case n < 10:
				return *v.Live, nil
			case n < 20:
				return sale.Live{}, errors.New("away") // a gap changes nothing
			case n < 30:
				return sale.Live{Remaining: 4, State: sale.StateOpen}, nil
			}
			return sale.Live{Remaining: 4, State: sale.StatePaused}, nil
		}
		ch, err := b.WatchVoucher(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []sale.Live
		end := time.After(time.Minute)
		for over := false; !over; {
			select {
			case v := <-ch:
				got = append(got, *v.Live)
			case <-end:
				over = true
			}
		}
		want := []sale.Live{
			{Remaining: 5, State: sale.StateOpen}, {Remaining: 4, State: sale.StateOpen}, {Remaining: 4, State: sale.StatePaused},
		}
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("told %+v, want %+v", got, want)
		}
	})
}

// Nobody watches a voucher: nobody is asked.
func TestLiveAsksForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := newBell(t, w)
		b.runClock(t)
		<-time.After(time.Minute)
		synctest.Wait()
		if w.liveAsks != 0 {
			t.Errorf("%d queries for nobody", w.liveAsks)
		}
	})
}
