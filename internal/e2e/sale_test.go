package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/redis/go-redis/v9"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/e2e/api"
	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
)

const crowd = 1000

// TestSaleOnEmbeddedServices is what a newcomer has: one process, nothing else.
func TestSaleOnEmbeddedServices(t *testing.T) {
	t.Parallel()
	dev := flashclaim(t, []string{"FLASHCLAIM_JWT_SECRET=" + secret}, "dev", "--addr", "127.0.0.1:0")
	url := dev.WaitFor(time.Minute, "ready url=")
	r := play(t, []string{url})
	t.Log(r)
}

// TestSaleOnRealServices is the same sale on Redis and PostgreSQL, with two
// servers and two workers in processes of their own; every winner listens on
// the server that did not take the claim.
func TestSaleOnRealServices(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	urls := []string{p.serve(t), p.serve(t)}
	p.work(t)
	p.work(t)
	r := play(t, urls)
	t.Log(r)
	nothingPending(t, p)
}

// result is what a crowd was told.
type result struct {
	mu        sync.Mutex
	winners   map[string]sale.OrderID // by buyer
	refused   map[string]int          // by code
	claimTook []time.Duration
	heardTook []time.Duration // from the claim's start to COMMITTED heard
	total     time.Duration
}

func (r *result) String() string {
	slices.Sort(r.claimTook)
	slices.Sort(r.heardTook)
	return fmt.Sprintf("%d winners, refused %v in %s; claim answered p50 %s p99 %s; claim to COMMITTED heard p50 %s p99 %s",
		len(r.winners), r.refused, r.total.Round(time.Millisecond), quantile(r.claimTook, 50), quantile(r.claimTook, 99),
		quantile(r.heardTook, 50), quantile(r.heardTook, 99))
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(100 * time.Microsecond)
}

// play creates the sample voucher and lets 1,000 buyers claim it at once, spread
// over the servers. It checks all that they may expect.
func play(t *testing.T, urls []string) *result {
	t.Helper()
	ctx := t.Context()
	http := pool(t, 200)
	admin := client(urls[0], token(t, "admin", sale.RoleAdmin), http)
	voucher := createVoucher(t, admin, sample())

	r := &result{winners: map[string]sale.OrderID{}, refused: map[string]int{}}
	start, done := make(chan struct{}), sync.WaitGroup{}
	for i := range crowd {
		buyer := fmt.Sprintf("buyer-%04d", i)
		pass := token(t, buyer)
		done.Go(func() {
			<-start
			claimAndListen(t, r, buyer, voucher, client(urls[i%len(urls)], pass, http), urls[(i+1)%len(urls)], pass)
		})
	}
	began := time.Now()
	close(start)
	done.Wait()
	r.total = time.Since(began)

	if len(r.winners) != 100 || r.refused["SOLD_OUT"] != crowd-100 {
		t.Fatalf("%d winners and refusals %v, want 100 winners and %d SOLD_OUT", len(r.winners), r.refused, crowd-100)
	}
	after, err := api.Voucher(ctx, admin, voucher)
	if err != nil {
		t.Fatal(err)
	}
	if v := after.Voucher; v.Remaining != 0 || v.SaleState != api.SaleStateSoldOut {
		t.Errorf("after the sale %d remain and the sale is %s, want 0 and SOLD_OUT", v.Remaining, v.SaleState)
	}
	for buyer, id := range r.winners {
		mine, err := api.MyOrders(ctx, client(urls[0], token(t, buyer), http))
		if err != nil {
			t.Fatal(err)
		}
		orders := mine.Viewer.Orders.Nodes
		if len(orders) != 1 || orders[0].Id != string(id) || orders[0].Status != api.OrderStatusCommitted {
			t.Errorf("%s won %s and the archive has %+v", buyer, id, orders)
		}
	}
	return r
}

func createVoucher(t testing.TB, admin graphql.Client, d sale.Draft) string {
	t.Helper()
	money := func(m sale.MoneyInput) api.MoneyInput {
		return api.MoneyInput{Amount: string(m.Amount), CurrencyCode: string(m.CurrencyCode)}
	}
	created, err := api.CreateVoucher(t.Context(), admin, api.CreateVoucherInput{
		Title: d.Title, Subtitle: d.Subtitle, Rules: d.Rules, ShopId: d.ShopID,
		PayValue: money(d.PayValue), ActualValue: money(d.ActualValue), Total: d.Total,
		PerBuyerLimit: d.PerBuyerLimit, PaymentWindowSeconds: d.PaymentWindowSeconds,
		OpensAt: d.OpensAt, ClosesAt: d.ClosesAt,
	})
	if err != nil {
		t.Fatal(err)
	}
	return created.CreateVoucher.Voucher.Id
}

// claimAndListen is one buyer: claim, and when the claim is accepted, listen on
// another server until the order is committed.
func claimAndListen(t *testing.T, r *result, buyer, voucher string, c graphql.Client, listenURL, pass string) {
	began := time.Now()
	claimed, err := claimUntilKnown(t.Context(), c, voucher)
	if err != nil {
		t.Errorf("%s: %v", buyer, err)
		return
	}
	answer := claimed.ClaimVoucher
	r.mu.Lock()
	r.claimTook = append(r.claimTook, time.Since(began))
	if p := answer.Problem; p != nil {
		r.refused[string((*p).GetCode())]++
		if answer.Order != nil {
			t.Errorf("%s was refused and got an order", buyer)
		}
		r.mu.Unlock()
		return
	}
	r.winners[buyer] = sale.OrderID(answer.Order.Id)
	r.mu.Unlock()
	if err := hearCommitted(t, listenURL, pass, answer.Order.Id); err != nil {
		t.Errorf("%s: %v", buyer, err)
		return
	}
	r.mu.Lock()
	r.heardTook = append(r.heardTook, time.Since(began))
	r.mu.Unlock()
}

// claimUntilKnown claims as the API asks its clients to: while the outcome is
// unknown, it repeats the same request. On a slow machine an embedded Redis may
// take longer for a crowd than the server waits.
func claimUntilKnown(ctx context.Context, c graphql.Client, voucher string) (*api.ClaimResponse, error) {
	request := "request-1"
	for try := 1; ; try++ {
		claimed, err := api.Claim(ctx, c, voucher, &request)
		var answers gqlerror.List
		if try == 10 || !errors.As(err, &answers) || answers[0].Extensions["code"] != "UNAVAILABLE" {
			return claimed, err
		}
	}
}

// hearCommitted subscribes to the order and reads until it is committed. Every
// event must be of this order and newer than the one before.
func hearCommitted(t *testing.T, url, pass, order string) error {
	watch, err := subscribe(t, url, pass, func(c graphql.WebSocketClient) (chan api.WatchWsResponse, string, error) {
		return api.Watch(t.Context(), c, order)
	})
	if err != nil {
		return err
	}
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	version := 0
	for {
		select {
		case <-deadline.Done():
			return fmt.Errorf("order %s not heard of as COMMITTED in 30 s", order)
		case e, ok := <-watch.events:
			switch {
			case !ok:
				return fmt.Errorf("order %s: the stream ended", order)
			case len(e.Errors) > 0:
				return e.Errors
			}
			o := e.Data.OrderUpdated
			if o.Id != order || o.Version <= version {
				return fmt.Errorf("heard of %s version %d after version %d, while watching %s", o.Id, o.Version, version, order)
			}
			version = o.Version
			if o.Status == api.OrderStatusCommitted {
				return nil
			}
		}
	}
}

// nothingPending checks that no accepted claim is left unwritten or
// unacknowledged in Redis.
func nothingPending(t *testing.T, p place) {
	t.Helper()
	c := redisOf(t, p)
	for partition := range 16 {
		tag := fmt.Sprintf("fc:{p%02d}", partition)
		if n := c.HLen(t.Context(), tag+":pending").Val(); n != 0 {
			t.Errorf("partition %d has %d pending orders", partition, n)
		}
		if x, err := c.XPending(t.Context(), tag+":orders", "archive").Result(); err == nil && x.Count != 0 {
			t.Errorf("partition %d has %d unacknowledged entries", partition, x.Count)
		}
	}
}

func redisOf(t testing.TB, p place) redis.UniversalClient {
	t.Helper()
	c, err := redisdial.Open(p[0][len("FLASHCLAIM_REDIS_URL="):], redisdial.Purpose{PoolSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
