package gate_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// slowArchive holds every load in the middle, until the test lets it go on, and
// can refuse.
type slowArchive struct {
	*archive
	entered chan struct{}
	goOn    chan error
}

func (a slowArchive) LiveOrders(ctx context.Context, id sale.VoucherID) ([]sale.Order, error) {
	a.entered <- struct{}{}
	if err := <-a.goOn; err != nil {
		return nil, err
	}
	return a.archive.LiveOrders(ctx, id)
}

func newSlowGate(t *testing.T, url string, shared *archive) (*bundle, slowArchive) {
	t.Helper()
	slow := slowArchive{shared, make(chan struct{}, 1), make(chan error)}
	b := newBundle(t, url, func(o *gate.Options) { o.Source = slow })
	b.archive = shared
	return b, slow
}

// TestFailedLoadIsGivenUp: a load that fails in the middle leaves no key and no
// lease, so that another process may load at once.
func TestFailedLoadIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engine(t)
			shared := newArchive()
			b, slow := newSlowGate(t, url, shared)
			v := b.voucher(t)
			result := make(chan string)
			go func() { result <- codeOf(b.claim(t, one(v, "u"))) }()
			<-slow.entered
			slow.goOn <- sale.Unavailable(fmt.Errorf("gone"), "the archive")
			if code := <-result; code != "NOT_READY" {
				t.Errorf("got %s", code)
			}
			if n, err := b.raw.Exists(t.Context(), keysOf(v.ID)[:3]...).Result(); n != 0 || err != nil {
				t.Errorf("%d keys are left, %v", n, err)
			}
			other := b.secondGate(t, url)
			began := time.Now()
			other.accepted(t, one(v, "u"))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the next load took %s", took)
			}
		})
	}
}

// TestOneProcessLoadsTheOthersWait: two servers that meet a big sale at once must
// not take the load from each other again and again.
func TestOneProcessLoadsTheOthersWait(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engine(t)
			shared := newArchive()
			first, slow := newSlowGate(t, url, shared)
			v := first.voucher(t)
			loaded := make(chan error)
			go func() { loaded <- first.Load(context.Background(), v.ID) }()
			<-slow.entered

			second, idle := newSlowGate(t, url, shared)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if err := second.Load(ctx, v.ID); sale.CodeOf(err) != sale.CodeUnavailable {
				t.Errorf("the second process loaded too: %v", err)
			}
			slow.goOn <- nil
			if err := <-loaded; err != nil {
				t.Error(err)
			}
			if err := second.Load(t.Context(), v.ID); err != nil {
				t.Error(err)
			}
			if len(idle.entered) != 0 {
				t.Error("the second process read the archive too")
			}
			second.accepted(t, one(v, "u"))
		})
	}
}

// TestLoadOfADeadProcessIsTakenOver: its lease ends by Redis's clock.
func TestLoadOfADeadProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	b, clock := onMiniredis(t)
	v := b.voucher(t)
	now := time.Now()
	clock.SetTime(now)
	for name, lease := range map[string]string{
		"over": strconv.FormatInt(now.UnixMilli(), 10), "unreadable": "soon", "missing": "",
	} {
		b.del(t, keysOf(v.ID)...)
		clock.HSet(keysOf(v.ID)[0], "loader", "dead", "lease_until_ms", lease)
		if r := b.claim(t, one(v, name)); codeOf(r) != "ACCEPTED" {
			t.Errorf("lease %s: %s", name, codeOf(r))
		}
	}
}

// TestTwoLoadersNeverOversell guards D2: two servers lose and load the keys of a
// sale again and again while buyers claim at both.
func TestTwoLoadersNeverOversell(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := engine(t)
			b := newBundle(t, url)
			other := b.secondGate(t, url)
			v := b.published(t, func(v *sale.Voucher) { v.Total = 20 })
			var mu sync.Mutex
			orders := map[sale.OrderID]string{}
			var wg sync.WaitGroup
			for i, g := range []*bundle{b, other, b, other} {
				wg.Go(func() {
					for n := range 15 {
						if n%5 == 4 && i < 2 {
							g.del(t, keysOf(v.ID)[:3]...)
							if err := g.Load(context.Background(), v.ID); err != nil {
								t.Error(err)
							}
						}
						who := fmt.Sprintf("u%d-%d", i, n)
						if r := g.claim(t, one(v, who)); r.Problem == nil {
							mu.Lock()
							orders[r.Order.ID] = who
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			b.del(t, keysOf(v.ID)[:3]...)
			if err := b.Load(t.Context(), v.ID); err != nil {
				t.Fatal(err)
			}
			if stock := b.conserved(t, v); len(orders) > v.Total || stock != v.Total-len(orders) {
				t.Errorf("%d orders of %d units, stock %d", len(orders), v.Total, stock)
			}
			for id := range orders {
				if _, err := b.Pending(t.Context(), id); err != nil {
					t.Errorf("order %s was given out: %v", id, err)
				}
			}
		})
	}
}
