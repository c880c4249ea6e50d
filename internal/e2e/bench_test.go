package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/gorilla/websocket"

	"github.com/flashclaim/flashclaim/internal/e2e/api"
	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// The benchmarks measure whole processes on this machine: server, worker, Redis
// (append-only, synced every second), PostgreSQL (synced at every commit) and
// the load share its cores. Each runs once whatever b.N is asked for; run them
// with -benchtime 1x. docs/performance.md explains every figure.

// benchPlace is a place whose PostgreSQL syncs, with the two rooms opened beside
// the processes for preparing and looking.
type benchPlace struct {
	place
	gate    *gate.Gate
	archive *store.Archive
}

func newBenchPlace(b *testing.B) benchPlace {
	b.Helper()
	redis := testenv.Redis(b, "--appendonly", "yes", "--appendfsync", "everysec")
	database := testenv.Postgres(b, testenv.WithFsync()).URL("postgres")
	p := benchPlace{place: placeAt(b, redis.URL(), database)}
	var err error
	if p.archive, err = store.New(database, store.Options{}); err != nil {
		b.Fatal(err)
	}
	if p.gate, err = gate.Open(gate.Options{URL: redis.URL(), Partitions: 16, Source: p.archive}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.gate.Close(); _ = p.archive.Close() })
	return p
}

// voucher creates and publishes a voucher with as many units as anybody wants.
func (p benchPlace) voucher(b *testing.B, limit int) sale.VoucherID {
	b.Helper()
	d := sample()
	d.Total, d.PerBuyerLimit = sale.MaxTotal, limit
	v, err := d.Voucher(p.gate.NewVoucherID())
	if err != nil {
		b.Fatal(err)
	}
	if err := p.archive.CreateVoucher(b.Context(), v); err != nil {
		b.Fatal(err)
	}
	if err := p.gate.Publish(b.Context(), v.ID); err != nil {
		b.Fatal(err)
	}
	return v.ID
}

// written waits until the archive has n orders of the voucher.
func (p benchPlace) written(b *testing.B, id sale.VoucherID, n int) time.Duration {
	b.Helper()
	began := time.Now()
	testenv.Eventually(b, 2*time.Minute, "the backlog is written down", func() bool {
		v, err := p.archive.Voucher(b.Context(), id)
		return err == nil && v.Sold >= n
	})
	return time.Since(began)
}

// once runs a measurement a single time and takes the framework's own figure
// away, which would be of the preparation too.
func once(b *testing.B, measure func()) {
	b.Helper()
	for range b.N {
		measure()
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRush saturates one server for 10 s with claims that all win, beside
// one worker, and compares with the same server's no-op mutation, 5 s before and
// 5 s after.
//
//	noop/s, claims/s      answered requests a second
//	ratio                 claims/s over noop/s
//	ratio-to-typename     claims/s over { __typename }, which runs no resolver at all
//	claim-p50-ms, p99     of an answer, while 64 connections ask without a pause
//	drain-s               from the end of the rush to the last order's commit
//	KIND-us/claim         processor time of each kind of process per claim, and so
//	                      for the no-op; the load's includes signing tokens
func BenchmarkRush(b *testing.B) {
	once(b, func() {
		p := newBenchPlace(b)
		url := p.serve(b)
		p.work(b)
		voucher := p.voucher(b, 1)
		claim := func(int) []byte {
			return requestBody(b, `mutation($v: ID!) { claimVoucher(input: {voucherId: $v}) { order { id status } problem { code } } }`,
				map[string]any{"v": voucher})
		}
		// The no-op is the same mutation, refused before it reaches Redis: the same
		// document, identity, metrics and payload without the effect.
		noop := func(int) []byte {
			return requestBody(b, `mutation($v: ID!) { claimVoucher(input: {voucherId: $v, quantity: 0}) { order { id status } problem { code } } }`,
				map[string]any{"v": voucher})
		}
		empty := func(int) []byte { return requestBody(b, `mutation { __typename }`, nil) }
		load := newLoad(b, url, 1000)
		load.run(b, time.Second, noop) // warm up
		load.run(b, time.Second, claim)
		p.written(b, voucher, int(load.accepted.Load()))
		used := cpuTimes(b)
		before := load.run(b, 5*time.Second, noop)
		reportCPU(b, used, before.answered, "-us/noop")
		used = cpuTimes(b)
		rush := load.run(b, 10*time.Second, claim)
		drain := p.written(b, voucher, int(load.accepted.Load()))
		reportCPU(b, used, rush.answered, "-us/claim")
		after := load.run(b, 5*time.Second, noop)
		nothing := load.run(b, 5*time.Second, empty)
		noops := (before.rate + after.rate) / 2
		b.ReportMetric(noops, "noop/s")
		b.ReportMetric(rush.rate, "claims/s")
		b.ReportMetric(rush.rate/noops, "ratio")
		b.ReportMetric(rush.rate/nothing.rate, "ratio-to-typename")
		b.ReportMetric(float64(rush.p50.Microseconds())/1000, "claim-p50-ms")
		b.ReportMetric(float64(rush.p99.Microseconds())/1000, "claim-p99-ms")
		b.ReportMetric(drain.Seconds(), "drain-s")
		if load.failed.Load() > 0 {
			b.Errorf("%d requests failed, first: %s", load.failed.Load(), load.firstFault())
		}
	})
}

// BenchmarkBacklog has one worker settle 100,000 orders of one voucher that were
// accepted while none ran.
//
//	orders/s    from the worker's start to the last commit
func BenchmarkBacklog(b *testing.B) {
	const orders = 100_000
	once(b, func() {
		p := newBenchPlace(b)
		voucher := p.voucher(b, 1)
		fill(b, p.gate, voucher, orders)
		p.work(b)
		b.ReportMetric(orders/p.written(b, voucher, orders).Seconds(), "orders/s")
	})
}

// fill has the gate accept n claims, each by a buyer of its own, and gives their
// orders.
func fill(b *testing.B, g *gate.Gate, voucher sale.VoucherID, n int) []sale.Order {
	b.Helper()
	orders := make([]sale.Order, n)
	var next atomic.Int64
	var done sync.WaitGroup
	for range 64 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				r, err := g.Claim(b.Context(), sale.Claim{VoucherID: voucher, BuyerID: fmt.Sprintf("fill-%d", i), Quantity: 1})
				if err != nil || r.Problem != nil {
					b.Errorf("claim %d: %v %v", i, r.Problem, err)
					return
				}
				orders[i] = *r.Order
			}
		})
	}
	done.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return orders
}

// BenchmarkNotify claims at a steady 200 a second; every buyer listens on a
// socket.
//
//	p50-ms, p99-ms, max-ms    from sending the claim to hearing COMMITTED
func BenchmarkNotify(b *testing.B) {
	const perSecond, seconds = 200, 15
	once(b, func() {
		p := newBenchPlace(b)
		url := p.serve(b)
		p.work(b)
		voucher := p.voucher(b, sale.MaxPerBuyerLimit)
		http := pool(b, perSecond)
		var mu sync.Mutex
		var took []time.Duration
		var done sync.WaitGroup
		listeners := make([]*listener, perSecond)
		for i := range listeners {
			listeners[i] = newListener(b, url, fmt.Sprintf("buyer-%d", i), http)
		}
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for i := range perSecond * seconds {
			<-tick.C
			l := listeners[i%perSecond]
			done.Go(func() {
				d, err := l.claim(b.Context(), voucher, fmt.Sprintf("request-%d", i))
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			})
		}
		done.Wait()
		slices.Sort(took)
		b.ReportMetric(float64(quantile(took, 50).Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(quantile(took, 99).Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(quantile(took, 100).Microseconds())/1000, "max-ms")
	})
}

// listener is a buyer with an open socket.
type listener struct {
	client graphql.Client
	watch  *subscription[api.WatchMineWsResponse]
}

func newListener(b *testing.B, url, buyer string, http *http.Client) *listener {
	b.Helper()
	pass := token(b, buyer)
	watch, err := subscribe(b, url, pass, func(c graphql.WebSocketClient) (chan api.WatchMineWsResponse, string, error) {
		return api.WatchMine(b.Context(), c)
	})
	if err != nil {
		b.Fatal(err)
	}
	return &listener{client: client(url, pass, http), watch: watch}
}

// claim claims and waits until the order is heard of as committed.
func (l *listener) claim(ctx context.Context, voucher sale.VoucherID, request string) (time.Duration, error) {
	began := time.Now()
	claimed, err := api.Claim(ctx, l.client, string(voucher), &request)
	if err != nil {
		return 0, err
	}
	if p := claimed.ClaimVoucher.Problem; p != nil {
		return 0, fmt.Errorf("refused: %s", (*p).GetMessage())
	}
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	for {
		select {
		case e := <-l.watch.events:
			if o := e.Data.ViewerOrderUpdated; o.Id == claimed.ClaimVoucher.Order.Id && o.Status == api.OrderStatusCommitted {
				return time.Since(began), nil
			}
		case <-late.C:
			return 0, fmt.Errorf("order %s not heard of in 30 s", claimed.ClaimVoucher.Order.Id)
		}
	}
}

// BenchmarkSockets opens 10,000 sockets on one server, each watching one order of
// its own buyer.
//
//	rss-MB          resident memory of the server process with all of them open
//	KB/socket       what each of them added
//	heard-s         from the start of a worker until all have heard COMMITTED
func BenchmarkSockets(b *testing.B) {
	const sockets = 10_000
	once(b, func() {
		p := newBenchPlace(b)
		server := flashclaim(b, p.place, "serve")
		url := server.WaitFor(time.Minute, "ready url=")
		orders := fill(b, p.gate, p.voucher(b, 1), sockets)
		before := residentKB(b, server.PID())
		conns := openAll(b, url, orders)
		after := residentKB(b, server.PID())
		b.ReportMetric(float64(after)/1024, "rss-MB")
		b.ReportMetric(float64(after-before)/sockets, "KB/socket")
		began := time.Now()
		p.work(b)
		hearAll(b, conns)
		b.ReportMetric(time.Since(began).Seconds(), "heard-s")
		b.ReportMetric(float64(residentKB(b, server.PID()))/1024, "rss-after-MB")
	})
}

// openAll opens a socket for every order, subscribes, and waits for the first
// event of each, which is its present state.
func openAll(b *testing.B, url string, orders []sale.Order) []*websocket.Conn {
	b.Helper()
	conns := make([]*websocket.Conn, len(orders))
	d := websocket.Dialer{
		Subprotocols: []string{"graphql-transport-ws"}, ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: &sync.Pool{},
	}
	var done sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(orders)); i = next.Add(1) - 1 {
				conn, err := openOne(b, d, url, orders[i])
				if err != nil {
					b.Errorf("socket %d: %v", i, err)
					return
				}
				conns[i] = conn
			}
		})
	}
	done.Wait()
	b.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	})
	if b.Failed() {
		b.FailNow()
	}
	return conns
}

func openOne(b *testing.B, d websocket.Dialer, url string, o sale.Order) (*websocket.Conn, error) {
	conn, response, err := d.DialContext(b.Context(), "ws"+strings.TrimPrefix(url, "http")+"/graphql", nil)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	subscribe := map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{
		"query": "subscription($id: ID!) { orderUpdated(id: $id) { id status version } }", "variables": map[string]any{"id": o.ID},
	}}
	for _, m := range []any{
		map[string]any{"type": "connection_init", "payload": map[string]any{"authorization": token(b, o.BuyerID)}}, subscribe,
	} {
		if err := conn.WriteJSON(m); err != nil {
			return conn, err
		}
	}
	return conn, readUntil(conn, `"PENDING"`)
}

// readUntil reads messages until one contains the text.
func readUntil(conn *websocket.Conn, text string) error {
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if bytes.Contains(message, []byte(text)) {
			return nil
		}
		if bytes.Contains(message, []byte(`"error`)) {
			return fmt.Errorf("heard %s", message)
		}
	}
}

func hearAll(b *testing.B, conns []*websocket.Conn) {
	b.Helper()
	var done sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(conns)); i = next.Add(1) - 1 {
				if err := readUntil(conns[i], `"COMMITTED"`); err != nil {
					b.Errorf("socket %d: %v", i, err)
				}
			}
		})
	}
	done.Wait()
}

// residentKB is the resident set of a process, as Linux counts it.
func residentKB(tb testing.TB, pid int) int {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kb int
	if _, err := fmt.Sscanf(after, "%d", &kb); err != nil {
		tb.Fatal(err)
	}
	return kb
}
