package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/internal/testenv"
	"github.com/flashclaim/flashclaim/worker"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// soon bounds every wait for something that must happen; a busy machine only
// makes it slower.
const soon = 30 * time.Second

// The keys of the only partition, as other programs see them.
const (
	orders  = "fc:{p00}:orders"
	pending = "fc:{p00}:pending"
	events  = "fc:{p00}:events"
	group   = "archive"
)

// services are a Redis and a database.
type services struct{ redis, database string }

// engines are what the main cases run on.
var engines = map[string]func(testing.TB) services{
	"embedded": embedded,
	"servers": func(tb testing.TB) services {
		return services{redis: testenv.Redis(tb).URL(), database: testenv.Database(tb)}
	},
}

func embedded(tb testing.TB) services {
	return services{
		redis:    "redis://" + miniredis.RunT(tb).Addr(),
		database: "sqlite:" + filepath.Join(tb.TempDir(), "archive.db"),
	}
}

// onEveryEngine runs a case on each pair of services, in parallel.
func onEveryEngine(t *testing.T, run func(*testing.T, *bundle)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newBundle(t, engines[name](t)))
		})
	}
}

// bundle is a real gate and a real archive with one partition, a client that
// looks at the keys from outside, and the options of a worker between them. A
// case breaks a port of Options before it starts workers.
type bundle struct {
	worker.Options
	t       *testing.T
	gate    *gate.Gate
	archive *store.Archive
	raw     redis.UniversalClient
	seen    *observer
	book    *logbook
	source  *source
}

func newBundle(t *testing.T, s services) *bundle {
	t.Helper()
	b := &bundle{t: t, seen: &observer{}, book: &logbook{}}
	log := slog.New(b.book)
	b.archive = must[*store.Archive](t)(store.New(s.database, store.Options{Log: log}))
	closeAtEnd(t, b.archive.Close)
	check(t, b.archive.Migrate(t.Context(), nil))
	b.source = &source{Archive: b.archive}
	b.gate = must[*gate.Gate](t)(gate.Open(gate.Options{URL: s.redis, Partitions: 1, Source: b.source, Log: log}))
	closeAtEnd(t, b.gate.Close)
	b.raw = must[redis.UniversalClient](t)(redisdial.Open(s.redis, redisdial.Purpose{PoolSize: 2}))
	closeAtEnd(t, b.raw.Close)
	b.Options = worker.Options{
		Queue: b.gate, Membership: b.gate, Stock: b.gate, Archive: b.archive, Outbox: b.archive, Observer: b.seen,
		Transient: store.Transient, Partitions: 1, Log: log,
		Block: 50 * time.Millisecond, ReclaimIdle: 100 * time.Millisecond, ReclaimEvery: 20 * time.Millisecond,
		RelayEvery: 20 * time.Millisecond,
	}
	return b
}

func must[T any](tb testing.TB) func(T, error) T {
	return func(value T, err error) T {
		tb.Helper()
		check(tb, err)
		return value
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func closeAtEnd(tb testing.TB, end func() error) {
	tb.Cleanup(func() {
		if err := end(); err != nil {
			tb.Error(err)
		}
	})
}

// start runs a worker with the bundle's options. It is stopped by the returned
// function, or at the test's end.
func (b *bundle) start() (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	ended := make(chan error, 1)
	w := worker.New(b.Options)
	go func() { ended <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		b.t.Helper()
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			b.t.Errorf("the worker ended with %v", err)
		}
	}
	b.t.Cleanup(stop)
	return stop
}

// voucher is written down and loaded: 10 units, one for each buyer.
func (b *bundle) voucher(change ...func(*sale.Voucher)) sale.Voucher {
	b.t.Helper()
	v := b.draft(change...)
	check(b.t, b.archive.CreateVoucher(b.t.Context(), v))
	check(b.t, b.gate.Publish(b.t.Context(), v.ID))
	return v
}

func (b *bundle) draft(change ...func(*sale.Voucher)) sale.Voucher {
	now := sale.Timestamp(time.Now())
	v := sale.Voucher{
		ID: b.gate.NewVoucherID(), Title: "120 for 100", Rules: []string{},
		PayValue: sale.Money{Minor: 10000, Currency: "CNY"}, ActualValue: sale.Money{Minor: 12000, Currency: "CNY"},
		Total: 10, PerBuyerLimit: 1, PaymentWindow: 15 * time.Minute,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Epoch: 1,
	}
	for _, f := range change {
		f(&v)
	}
	return v
}

func total(n int) func(*sale.Voucher) { return func(v *sale.Voucher) { v.Total = n } }

// claim is accepted by the gate, or the test ends.
func (b *bundle) claim(v sale.VoucherID, buyer string, request ...string) sale.Order {
	b.t.Helper()
	r := must[sale.ClaimResult](b.t)(b.gate.Claim(b.t.Context(), sale.Claim{
		VoucherID: v, BuyerID: buyer, Quantity: 1, RequestID: strings.Join(request, ""),
	}))
	if r.Problem != nil || r.Replayed {
		b.t.Fatalf("the claim of %s was answered with %+v", buyer, r)
	}
	return *r.Order
}

// claims are of n different buyers.
func (b *bundle) claims(v sale.VoucherID, n int) []sale.Order {
	b.t.Helper()
	list := make([]sale.Order, n)
	for i := range list {
		list[i] = b.claim(v, fmt.Sprintf("buyer-%d", i))
	}
	return list
}
