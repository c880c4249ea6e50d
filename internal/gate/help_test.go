package gate_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// patience bounds the wait for what takes milliseconds on an idle machine.
const patience = 20 * time.Second

// onRealEngines leaves miniredis out, which neither names deleted entries nor
// knows how long a consumer has been silent.
func onRealEngines(t *testing.T, run func(*testing.T, *bundle)) {
	t.Helper()
	for _, name := range []string{"redis-server", "cluster"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newBundle(t, engines[name](t)))
		})
	}
}

// onRedisServer runs a case that needs what only a real Redis has.
func onRedisServer(t *testing.T, args ...string) (*bundle, *testenv.RedisServer) {
	t.Helper()
	server := testenv.Redis(t, args...)
	return newBundle(t, server.URL()), server
}

// onMiniredis runs a case that sets Redis's clock.
func onMiniredis(t *testing.T) (*bundle, *miniredis.Miniredis) {
	t.Helper()
	m := miniredis.RunT(t)
	return newBundle(t, "redis://"+m.Addr()), m
}

// secondGate is another server process on the same Redis and archive.
func (b *bundle) secondGate(t *testing.T, url string) *bundle {
	t.Helper()
	other := newBundle(t, url, func(o *gate.Options) { o.Source = b.archive })
	other.archive = b.archive
	return other
}

// anotherUser opens a gate under an account with fewer rights.
func (b *bundle) anotherUser(t *testing.T, server *testenv.RedisServer, rights ...any) *bundle {
	t.Helper()
	command := append([]any{"acl", "setuser", "narrow", "reset", "on", ">pw", "~*", "&*", "+@all"}, rights...)
	if err := b.raw.Do(t.Context(), command...).Err(); err != nil {
		t.Fatal(err)
	}
	return b.secondGate(t, "redis://narrow:pw@"+server.Addr()+"/0")
}

// all makes n claims at once, each on its own goroutine, and returns the results
// in the order of the numbers.
func (b *bundle) all(t *testing.T, n int, c func(i int) sale.Claim) []sale.ClaimResult {
	t.Helper()
	results := make([]sale.ClaimResult, n)
	faults := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { results[i], faults[i] = b.Claim(context.Background(), c(i)) })
	}
	wg.Wait()
	for _, err := range faults {
		if err != nil {
			t.Error(err)
		}
	}
	return results
}

func tallied(results []sale.ClaimResult) map[string]int {
	n := map[string]int{}
	for _, r := range results {
		n[codeOf(r)]++
	}
	return n
}

func one(v sale.Voucher, buyer string) sale.Claim {
	return sale.Claim{VoucherID: v.ID, BuyerID: buyer, Quantity: 1}
}

func (b *bundle) accepted(t fataler, c sale.Claim) *sale.Order {
	t.Helper()
	r := b.claim(t, c)
	if codeOf(r) != "ACCEPTED" {
		t.Fatalf("claim %+v: %s", c, codeOf(r))
	}
	return r.Order
}

// conserved checks that stock and held units make up the total, and returns the
// stock.
func (b *bundle) conserved(t fataler, v sale.Voucher) int {
	t.Helper()
	stock, held := b.counted(t, v.ID)
	if stock+held != v.Total || stock < 0 {
		t.Fatalf("stock %d + held %d, total %d", stock, held, v.Total)
	}
	return stock
}

func (b *bundle) del(t fataler, keys ...string) {
	t.Helper()
	if err := b.raw.Del(context.Background(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
}

// read gives exactly n new entries.
func (b *bundle) read(t fataler, partition int, consumer string, n int) []sale.Entry {
	t.Helper()
	entries, err := b.Read(context.Background(), partition, consumer, 1000, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != n {
		t.Fatalf("read %d entries, want %d", len(entries), n)
	}
	return entries
}

// settle commits the entries' orders to the archive and acknowledges them.
func (b *bundle) settle(t fataler, entries []sale.Entry) {
	t.Helper()
	settled := make([]sale.Settled, len(entries))
	for i, e := range entries {
		o := e.Order.Committed(time.Now())
		b.archive.put(o)
		settled[i] = sale.Settled{StreamID: e.StreamID, Order: &o}
	}
	n, err := b.Acknowledge(context.Background(), entries[0].Partition, settled)
	if err != nil || n != int64(len(entries)) {
		t.Fatalf("acknowledged %d of %d, %v", n, len(entries), err)
	}
}

func buyer(i int) string { return fmt.Sprintf("u%d", i) }

// lines counts what is logged, by message.
type lines struct {
	mu   sync.Mutex
	seen map[string]int
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[r.Message]++
	return nil
}

func (l *lines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[message]
}

// events reads a partition's event stream.
func (b *bundle) events(t fataler, partition int) []sale.Order {
	t.Helper()
	messages, err := b.raw.XRange(context.Background(), gate.EventsKey(partition), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var orders []sale.Order
	for _, m := range messages {
		for _, id := range slices.Sorted(maps.Keys(m.Values)) {
			text, _ := m.Values[id].(string)
			o, err := sale.DecodeEvent(text)
			if err != nil || string(o.ID) != id {
				t.Fatalf("the event of %s holds %q: %v", id, text, err)
			}
			orders = append(orders, o)
		}
	}
	return orders
}

func (b *bundle) length(t fataler, stream string) int64 {
	t.Helper()
	n, err := b.raw.XLen(context.Background(), stream).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *bundle) config(t *testing.T, name, value string) {
	t.Helper()
	if err := b.raw.ConfigSet(t.Context(), name, value).Err(); err != nil {
		t.Fatal(err)
	}
	if name != "appendonly" {
		return
	}
	// A server does not stop while it writes its first append-only file.
	testenv.Eventually(t, patience, "the append-only file", func() bool {
		info, err := b.raw.Info(t.Context(), "persistence").Result()
		return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
}
