package gate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// engines are the Redis servers that every case runs on.
var engines = map[string]func(testing.TB) string{
	"miniredis":    func(tb testing.TB) string { return "redis://" + miniredis.RunT(tb).Addr() },
	"redis-server": func(tb testing.TB) string { return testenv.Redis(tb).URL() },
	"cluster":      func(tb testing.TB) string { return strings.Join(testenv.RedisCluster(tb, 3), ",") },
}

// onEveryEngine runs a case on each Redis, in parallel.
func onEveryEngine(t *testing.T, run func(*testing.T, *bundle)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newBundle(t, engines[name](t)))
		})
	}
}

// bundle is a gate on a Redis of its own, an archive in memory, and a client
// that looks at the keys from outside.
type bundle struct {
	*gate.Gate
	raw     redis.UniversalClient
	archive *archive
}

func newBundle(tb testing.TB, url string, mutate ...func(*gate.Options)) *bundle {
	tb.Helper()
	b := &bundle{archive: newArchive()}
	options := gate.Options{URL: url, Partitions: 16, Source: b.archive, Log: slog.New(slog.DiscardHandler)}
	for _, m := range mutate {
		m(&options)
	}
	var err error
	if b.Gate, err = gate.Open(options); err != nil {
		tb.Fatal(err)
	}
	if b.raw, err = redisdial.Open(url, redisdial.Purpose{PoolSize: 4}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Error(err)
		}
		if err := b.raw.Close(); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// voucher puts a voucher that is open now into the archive.
func (b *bundle) voucher(tb testing.TB, mutate ...func(*sale.Voucher)) sale.Voucher {
	tb.Helper()
	now := sale.Timestamp(time.Now())
	v := sale.Voucher{
		ID: b.NewVoucherID(), Title: "test", Total: 10, PerBuyerLimit: 1, PaymentWindow: 15 * time.Minute,
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Epoch: 1,
	}
	for _, m := range mutate {
		m(&v)
	}
	b.archive.add(v)
	return v
}

func (b *bundle) published(tb testing.TB, mutate ...func(*sale.Voucher)) sale.Voucher {
	tb.Helper()
	v := b.voucher(tb, mutate...)
	if err := b.Publish(tb.Context(), v.ID); err != nil {
		tb.Fatal(err)
	}
	return v
}

// fataler is what the helpers need of *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (b *bundle) claim(t fataler, c sale.Claim) sale.ClaimResult {
	t.Helper()
	r, err := b.Claim(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keysOf are all keys that a claim on the voucher may touch.
func keysOf(id sale.VoucherID) []string {
	tag := fmt.Sprintf("fc:{p%02d}", id.Partition())
	return []string{
		tag + ":v:" + string(id) + ":sale", tag + ":v:" + string(id) + ":stock", tag + ":v:" + string(id) + ":buyers",
		tag + ":orders", tag + ":pending", tag + ":events",
	}
}

// contents reads the keys, whatever their types, as text. Each is read as all
// three types in one round trip: the wrong ones only answer with an error.
func (b *bundle) contents(t fataler, id sale.VoucherID) string {
	t.Helper()
	var out strings.Builder
	ctx := context.Background()
	keys := keysOf(id)
	values, err := b.raw.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, k := range keys {
			p.Get(ctx, k)
			p.HGetAll(ctx, k)
			p.XRange(ctx, k, "-", "+")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Fatal(err)
	}
	for i, value := range values {
		k := keys[i/3]
		switch v := value.(type) {
		case *redis.StringCmd:
			if v.Err() == nil {
				fmt.Fprintf(&out, "%s = %s\n", k, v.Val())
			}
		case *redis.MapStringStringCmd:
			for _, f := range slices.Sorted(maps.Keys(v.Val())) {
				fmt.Fprintf(&out, "%s %q = %s\n", k, f, v.Val()[f])
			}
		case *redis.XMessageSliceCmd:
			if len(v.Val()) > 0 {
				fmt.Fprintf(&out, "%s = %v\n", k, v.Val())
			}
		}
	}
	return out.String()
}

// counted reads stock and the units that buyers hold.
func (b *bundle) counted(t fataler, id sale.VoucherID) (stock, held int) {
	t.Helper()
	ctx := context.Background()
	keys := keysOf(id)
	stock, err := b.raw.Get(ctx, keys[1]).Int()
	if err != nil {
		t.Fatal(err)
	}
	for _, records := range b.raw.HGetAll(ctx, keys[2]).Val() {
		for record := range strings.FieldsSeq(records) {
			var units int
			if _, err := fmt.Sscanf(strings.SplitN(record, "|", 3)[1], "%d", &units); err != nil {
				t.Fatal(err)
			}
			held += units
		}
	}
	return stock, held
}

// archive is an archive in memory that can be made to fail.
type archive struct {
	mu     chan struct{} // a mutex that a test can hold
	vouch  map[sale.VoucherID]sale.Voucher
	orders map[sale.OrderID]sale.Order
	asked  int
	fault  error
}

func newArchive() *archive {
	a := &archive{mu: make(chan struct{}, 1), vouch: map[sale.VoucherID]sale.Voucher{}, orders: map[sale.OrderID]sale.Order{}}
	a.mu <- struct{}{}
	return a
}

func (a *archive) locked(f func()) { <-a.mu; defer func() { a.mu <- struct{}{} }(); f() }

func (a *archive) add(v sale.Voucher) { a.locked(func() { a.vouch[v.ID] = v }) }

func (a *archive) put(o sale.Order) { a.locked(func() { a.orders[o.ID] = o }) }

func (a *archive) Voucher(_ context.Context, id sale.VoucherID) (v sale.Voucher, err error) {
	a.locked(func() {
		a.asked++
		var ok bool
		if v, ok = a.vouch[id]; !ok {
			err = sale.ErrNotFound
		}
		if a.fault != nil {
			err = a.fault
		}
	})
	return v, err
}

func (a *archive) LiveOrders(_ context.Context, id sale.VoucherID) (live []sale.Order, err error) {
	a.locked(func() {
		for _, o := range a.orders {
			if o.VoucherID == id && o.Status.Live() {
				live = append(live, o)
			}
		}
	})
	return live, nil
}

func (a *archive) Orders(_ context.Context, ids []sale.OrderID, newerThan int) (found []sale.Order, err error) {
	a.locked(func() {
		for _, id := range ids {
			if o, ok := a.orders[id]; ok && o.Version > newerThan {
				found = append(found, o)
			}
		}
	})
	return found, nil
}
