package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"

	"github.com/flashclaim/flashclaim/internal/e2e/api"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestKilledWorkerLosesNothing kills the only worker again and again while
// buyers claim, at least once with entries in its hands, and then expects every
// winner's row within 15 s of the last replacement's start.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := p.serve(t)
	clients := pool(t, 64)
	draft := sample()
	draft.Total = sale.MaxTotal
	voucher := createVoucher(t, client(url, token(t, "admin", sale.RoleAdmin), clients), draft)

	archive, redis := p.archive(t), redisOf(t, p)
	crowd := startCrowd(t, url, voucher, clients)
	heldAtDeath := 0
	for round := 0; heldAtDeath == 0 || round < 3; round++ {
		if round == 40 {
			t.Fatal("no worker died with entries in its hands in 40 rounds")
		}
		w := p.work(t)
		before := soldOf(t, archive, voucher)
		testenv.Eventually(t, 30*time.Second, "the worker writes orders", func() bool { return soldOf(t, archive, voucher) > before })
		w.Kill()
		heldAtDeath += int(redis.XPending(t.Context(), ordersStream(voucher), "archive").Val().Count)
	}
	winners := crowd.stop()

	p.work(t)
	testenv.Eventually(t, 15*time.Second, "all winners' rows exist", func() bool { return soldOf(t, archive, voucher) >= len(winners) })
	for id, buyer := range winners {
		o, err := archive.Order(t.Context(), id)
		if err != nil || o.Status != sale.StatusCommitted || o.BuyerID != buyer {
			t.Fatalf("order %s of %s: %+v, %v", id, buyer, o, err)
		}
	}
	v, err := archive.Voucher(t.Context(), sale.VoucherID(voucher))
	if err != nil || v.Sold != len(winners) {
		t.Errorf("the archive sold %d to %d winners, err %v", v.Sold, len(winners), err)
	}
	testenv.Eventually(t, 15*time.Second, "nothing is pending", func() bool {
		return redis.XPending(t.Context(), ordersStream(voucher), "archive").Val().Count == 0
	})
	nothingPending(t, p)
	t.Logf("%d winners, %d entries in the hands of killed workers", len(winners), heldAtDeath)
}

func ordersStream(voucher string) string {
	return fmt.Sprintf("fc:{p%02d}:orders", sale.VoucherID(voucher).Partition())
}

// archive opens the place's database beside the processes.
func (p place) archive(t testing.TB) *store.Archive {
	t.Helper()
	a, err := store.New(p[1][len("FLASHCLAIM_DATABASE_URL="):], store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// soldOf is how many units the archive has sold.
func soldOf(t testing.TB, a *store.Archive, voucher string) int {
	t.Helper()
	v, err := a.Voucher(t.Context(), sale.VoucherID(voucher))
	if err != nil {
		t.Fatal(err)
	}
	return v.Sold
}

// buyers claim one after the other on a few connections until they are stopped.
type buyers struct {
	cancel  context.CancelFunc
	done    sync.WaitGroup
	mu      sync.Mutex
	winners map[sale.OrderID]string
}

func startCrowd(t *testing.T, url, voucher string, clients *http.Client) *buyers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &buyers{cancel: cancel, winners: map[sale.OrderID]string{}}
	t.Cleanup(func() { cancel(); b.done.Wait() })
	for i := range 4 {
		b.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				buyer := fmt.Sprintf("buyer-%d-%d", i, n)
				request := "request"
				// The context of the test, not of the crowd: a claim that was sent is
				// answered, so that no ID is given out unseen.
				claimed, err := api.Claim(t.Context(), client(url, token(t, buyer), clients), voucher, &request)
				if err != nil || claimed.ClaimVoucher.Problem != nil {
					t.Errorf("%s: %v %v", buyer, claimed, err)
					return
				}
				b.mu.Lock()
				b.winners[sale.OrderID(claimed.ClaimVoucher.Order.Id)] = buyer
				b.mu.Unlock()
			}
		})
	}
	return b
}

func (b *buyers) stop() map[sale.OrderID]string {
	b.cancel()
	b.done.Wait()
	return b.winners
}

// TestTwoTabsOnTwoServers has one buyer with a tab on each of two servers: both
// hear everything, on every subscription.
func TestTwoTabsOnTwoServers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	urls := []string{p.serve(t), p.serve(t)}
	http := pool(t, 8)
	voucher := createVoucher(t, client(urls[0], token(t, "admin", sale.RoleAdmin), http), sample())
	pass := token(t, "buyer")

	var mine []*subscription[api.WatchMineWsResponse]
	var stock []*subscription[api.WatchStockWsResponse]
	for _, url := range urls {
		mine = append(mine, listen(t, url, pass, func(c graphql.WebSocketClient) (chan api.WatchMineWsResponse, string, error) {
			return api.WatchMine(t.Context(), c)
		}))
		stock = append(stock, listen(t, url, pass, func(c graphql.WebSocketClient) (chan api.WatchStockWsResponse, string, error) {
			return api.WatchStock(t.Context(), c, voucher)
		}))
	}
	for _, s := range stock { // the present state comes first, which also says that the watch is on
		if e := receive(t, s.events); e.Data.VoucherUpdated.Remaining != 100 || e.Data.VoucherUpdated.SaleState != api.SaleStateOpen {
			t.Errorf("stock before the claim: %+v", e.Data.VoucherUpdated)
		}
	}

	request := "request"
	claimed, err := api.Claim(t.Context(), client(urls[0], pass, http), voucher, &request)
	if err != nil {
		t.Fatal(err)
	}
	order := claimed.ClaimVoucher.Order.Id
	// No worker yet: both tabs see the order pending, whichever server they ask.
	var orders []*subscription[api.WatchWsResponse]
	for _, url := range urls {
		s := listen(t, url, pass, func(c graphql.WebSocketClient) (chan api.WatchWsResponse, string, error) {
			return api.Watch(t.Context(), c, order)
		})
		if e := receive(t, s.events); e.Data.OrderUpdated.Status != api.OrderStatusPending || e.Data.OrderUpdated.Version != 1 {
			t.Errorf("before a worker runs: %+v", e.Data.OrderUpdated)
		}
		orders = append(orders, s)
	}
	p.work(t)
	for i := range urls {
		if o := receive(t, orders[i].events).Data.OrderUpdated; o.Id != order || o.Status != api.OrderStatusCommitted || o.Version != 2 {
			t.Errorf("tab %d heard %+v of the order", i, o)
		}
		if o := receive(t, mine[i].events).Data.ViewerOrderUpdated; o.Id != order || o.Status != api.OrderStatusCommitted {
			t.Errorf("tab %d heard %+v of the buyer's orders", i, o)
		}
		if v := receive(t, stock[i].events).Data.VoucherUpdated; v.Remaining != 99 {
			t.Errorf("tab %d heard of %d units left, want 99", i, v.Remaining)
		}
	}

	// A late tab gets the committed order at once, as its first event.
	late := listen(t, urls[1], pass, func(c graphql.WebSocketClient) (chan api.WatchWsResponse, string, error) {
		return api.Watch(t.Context(), c, order)
	})
	if o := receive(t, late.events).Data.OrderUpdated; o.Status != api.OrderStatusCommitted {
		t.Errorf("a late tab heard %+v first", o)
	}
}

// TestNobodyHearsOfOthersOrders has a second buyer ask for the first one's
// order: the answer is that of an order that does not exist.
func TestNobodyHearsOfOthersOrders(t *testing.T) {
	t.Parallel()
	dev := flashclaim(t, []string{"FLASHCLAIM_JWT_SECRET=" + secret}, "dev", "--addr", "127.0.0.1:0")
	url := dev.WaitFor(time.Minute, "ready url=")
	http := pool(t, 8)
	voucher := createVoucher(t, client(url, token(t, "admin", sale.RoleAdmin), http), sample())
	request := "request"
	claimed, err := api.Claim(t.Context(), client(url, token(t, "owner"), http), voucher, &request)
	if err != nil {
		t.Fatal(err)
	}
	order := claimed.ClaimVoucher.Order.Id
	random := string(sale.NewOrderID(sale.OrderID(order).Partition(), time.Now()))
	stranger := token(t, "stranger")

	var answers []string
	for _, id := range []string{order, random} {
		_, err := api.Order(t.Context(), client(url, stranger, http), id)
		if err == nil {
			t.Fatalf("a stranger read order %s", id)
		}
		watch := listen(t, url, stranger, func(c graphql.WebSocketClient) (chan api.WatchWsResponse, string, error) {
			return api.Watch(t.Context(), c, id)
		})
		e := receive(t, watch.events)
		if e.Data != nil && e.Data.OrderUpdated.Id != "" {
			t.Fatalf("a stranger hears of order %s: %+v", id, e.Data)
		}
		answers = append(answers, err.Error()+" / "+e.Errors.Error())
	}
	if answers[0] != answers[1] {
		t.Errorf("another buyer's order answers %q, one that does not exist %q", answers[0], answers[1])
	}
}

func receive[E any](t *testing.T, events <-chan E) E {
	t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			t.Fatal("the stream ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("nothing heard in 30 s")
	}
	panic("unreachable")
}

// listen is subscribe for a test that cannot go on without it.
func listen[E any](t *testing.T, url, token string, start func(graphql.WebSocketClient) (chan E, string, error)) *subscription[E] {
	t.Helper()
	s, err := subscribe(t, url, token, start)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
