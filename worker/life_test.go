package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestIdleWorkerStopsWithinItsBlock(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		b.voucher()
		b.Block = time.Second
		reading := make(chan struct{})
		var once sync.Once
		b.Queue = &queue{Queue: b.gate, read: func(
			ctx context.Context, p int, consumer string, limit int, block time.Duration,
		) ([]sale.Entry, error) {
			once.Do(func() { close(reading) })
			return b.gate.Read(ctx, p, consumer, limit, block)
		}}
		stop := b.start()
		<-reading
		began := time.Now()
		stop()
		if took := time.Since(began); took > b.Block+2*time.Second { // leaving, on a busy machine
			t.Errorf("it took %s to stop, with a block of %s", took, b.Block)
		}
		if names := b.consumers(); len(names) > 0 {
			t.Errorf("the names %q were left behind", names)
		}
	})
}

// A worker that is stopped in the middle of a batch finishes it and leaves.
func TestStopFinishesTheBatch(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 5)
		begun, goOn := make(chan struct{}), make(chan struct{})
		b.Archive = &archive{Archive: b.archive, settle: func(ctx context.Context, _ []sale.Entry) error {
			close(begun)
			<-goOn
			return ctx.Err()
		}}
		ended := make(chan struct{})
		stop := b.start()
		<-begun
		go func() { defer close(ended); stop() }()
		unread := b.claim(v.ID, "later")
		select {
		case <-ended:
			t.Error("the worker ended in the middle of its batch")
		case <-time.After(3 * b.Block):
		}
		close(goOn)
		<-ended

		for _, o := range claimed {
			if verdict := b.verdict(o.ID); verdict != "COMMITTED" || len(b.told(o.ID)) != 1 {
				t.Errorf("order %s is %q, announced %d times", o.ID, verdict, len(b.told(o.ID)))
			}
		}
		if n := b.unacknowledged(); n != 0 {
			t.Errorf("%d entries were left unacknowledged", n)
		}
		if names := b.consumers(); len(names) > 0 {
			t.Errorf("the names %q were left behind", names)
		}
		if verdict := b.verdict(unread.ID); verdict != "" {
			t.Errorf("an entry that was not read is %s", verdict)
		}
		b.Archive = b.archive
		b.start()
		b.waitFor("COMMITTED", unread)
	})
}

// The worker is stopped while the archive hangs: it tries once, not once for
// each voucher and entry, and its name stays, because entries hang on it.
func TestStopDoesNotWaitForAHangingArchive(t *testing.T) {
	t.Parallel()
	for name, vouchers := range map[string]int{"many vouchers": 20, "many entries after a refused batch": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, embedded(t))
			var claimed []sale.Order
			for range vouchers {
				claimed = append(claimed, b.claims(b.voucher(total(100)).ID, 20/vouchers)...)
			}
			hanging := make(chan struct{}, 1000)
			b.Attempt = 200 * time.Millisecond
			b.Archive = &archive{Archive: b.archive, settle: func(ctx context.Context, entries []sale.Entry) error {
				if len(entries) > 1 {
					return errRefused
				}
				hanging <- struct{}{}
				<-ctx.Done()
				return sale.Unavailable(ctx.Err(), "the archive")
			}}
			stop := b.start()
			<-hanging
			stop()
			if more := len(hanging); more > 1 {
				t.Errorf("%d more tries after the stop, want at most 1", more)
			}
			if names := b.consumers(); len(names) != 1 || b.unacknowledged() != int64(len(claimed)) {
				t.Errorf("names %q, %d unacknowledged; want one name that keeps %d", names, b.unacknowledged(), len(claimed))
			}
			if n := b.book.count("batch refused; settling its entries one by one"); vouchers > 1 && n > 0 {
				t.Errorf("%d batches count as refused although the archive only hung", n)
			}
			b.Archive = b.archive
			b.start()
			b.waitFor("COMMITTED", claimed...)
		})
	}
}

// A relay whose archive hangs gives up after a while and tries again.
func TestRelayDoesNotHangForEver(t *testing.T) {
	t.Parallel()
	b := newBundle(t, embedded(t))
	v, o := rejectedOrder(t, b)
	hang := times(1, errAway)
	b.Attempt = 100 * time.Millisecond
	postpone := times(1, errAway)
	b.Stock = &stock{Stock: b.gate, release: func(sale.Order) error { return postpone() }}
	b.Outbox = &outbox{Outbox: b.archive, due: func(ctx context.Context) error {
		if hang() != nil {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	b.start()
	b.waitFor("LIMIT_REACHED", o)
	b.waitUntilQuiet()
	b.wantUnits(v.ID, 9, 1, 1)
}

// Acknowledged entries stay for the retention, so that they can be replayed
// after a database was restored, and no longer.
func TestTrimmingWaitsForTheRetention(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		var ahead, trims, trimmed atomic.Int64
		b.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		b.TidyEvery, b.Retention = 10*time.Millisecond, time.Hour
		b.Stock = &stock{Stock: b.gate, trimmed: func(n int64) { trims.Add(1); trimmed.Add(n) }}
		claimed := b.claims(v.ID, 5)
		b.start()
		b.waitFor("COMMITTED", claimed...)
		seen := trims.Load()
		testenv.Eventually(t, soon, "three more trims", func() bool { return trims.Load() >= seen+3 })
		if n := b.raw.XLen(t.Context(), orders).Val(); n != 5 || trimmed.Load() != 0 {
			t.Errorf("%d entries are left and %d were trimmed before the retention", n, trimmed.Load())
		}
		ahead.Store(int64(2 * time.Hour))
		testenv.Eventually(t, soon, "old entries to go", func() bool { return b.raw.XLen(t.Context(), orders).Val() <= 1 })
		b.waitFor("COMMITTED", b.claim(v.ID, "later"))
	})
}

// What nobody has acknowledged is never trimmed, however old it is.
func TestTrimmingSparesWhatIsUnacknowledged(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 5)
		var trims atomic.Int64
		b.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
		b.TidyEvery = 10 * time.Millisecond
		b.Stock = &stock{Stock: b.gate, trimmed: func(int64) { trims.Add(1) }}
		away := errors.New("away")
		var back atomic.Bool
		b.Transient = func(error) bool { return true }
		b.Archive = &archive{Archive: b.archive, settle: func(context.Context, []sale.Entry) error {
			if back.Load() {
				return nil
			}
			return away
		}}
		b.start()
		testenv.Eventually(t, soon, "some trims", func() bool { return trims.Load() >= 5 })
		if n := b.raw.XLen(t.Context(), orders).Val(); n != 5 {
			t.Errorf("%d entries are left, want all 5", n)
		}
		back.Store(true)
		b.waitFor("COMMITTED", claimed...)
	})
}

// The names of workers that are long gone are removed, unless entries hang on
// them.
func TestNamesOfTheDeadGo(t *testing.T) {
	t.Parallel()
	b := newBundle(t, services{redis: testenv.Redis(t).URL(), database: embedded(t).database})
	v := b.voucher()
	for i := range 5 {
		name := fmt.Sprintf("dead-%d", i)
		check(t, b.raw.XGroupCreateConsumer(t.Context(), orders, group, name).Err())
	}
	o := b.claim(v.ID, "ada")
	b.readAsDead()
	b.TidyEvery, b.Retention = 10*time.Millisecond, time.Millisecond
	b.start()
	b.waitFor("COMMITTED", o)
	testenv.Eventually(t, soon, "only the living name to be left", func() bool {
		for _, name := range b.consumers() {
			if strings.HasPrefix(name, "dead") {
				return false
			}
		}
		return true
	})
	b.wantUnits(v.ID, 9, 1, 1)
}
