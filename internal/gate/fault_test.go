package gate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// refusedWhole checks that a claim is a fault that may be repeated, and that no
// key changed by a byte.
func (b *bundle) refusedWhole(t *testing.T, what string, v sale.Voucher, look *bundle) {
	t.Helper()
	before := look.contents(t, v.ID)
	r, err := b.Claim(t.Context(), one(v, "unlucky"))
	if sale.CodeOf(err) != sale.CodeUnavailable || r.Order != nil {
		t.Errorf("%s: %s, %v", what, codeOf(r), err)
	}
	if after := look.contents(t, v.ID); after != before {
		t.Errorf("%s: keys changed:\n%s\n%s", what, before, after)
	}
}

// TestWrongKeyTypeRefusesWhole guards A2: a key that holds something else stops
// the script before its first write.
func TestWrongKeyTypeRefusesWhole(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		ctx := context.Background()
		for i, part := range []string{"sale", "stock", "buyers", "orders", "pending"} {
			v := b.published(t)
			b.del(t, keysOf(v.ID)[i])
			var err error
			if part == "stock" {
				err = b.raw.RPush(ctx, keysOf(v.ID)[i], "10").Err()
			} else {
				err = b.raw.Set(ctx, keysOf(v.ID)[i], "something else", 0).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			b.refusedWhole(t, part, v, b)
			b.del(t, keysOf(v.ID)...)
		}
	})
}

// TestMissingRightRefusesWhole guards A2 and V2: Redis runs a script up to the
// command that the account may not use, and takes nothing back by itself.
func TestMissingRightRefusesWhole(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t)
	v := b.published(t)
	b.accepted(t, one(v, "u"))
	for _, right := range []string{"-xadd", "-hset", "-decrby", "-evalsha"} {
		narrow := b.anotherUser(t, server, right)
		narrow.refusedWhole(t, right, v, b)
	}
	if stock := b.conserved(t, v); stock != 9 {
		t.Errorf("stock %d, want 9", stock)
	}
	b.accepted(t, one(v, "unlucky"))
}

// TestFullRedis guards V1 and V12: a claim is refused whole, while the worker can
// still write down what was accepted, which is what makes room.
func TestFullRedis(t *testing.T) {
	t.Parallel()
	b, _ := onRedisServer(t, "--maxmemory-policy", "noeviction")
	v := b.published(t)
	for i := range 3 {
		b.accepted(t, one(v, buyer(i)))
	}
	p := v.ID.Partition()
	b.config(t, "maxmemory", "1")
	b.refusedWhole(t, "full", v, b)

	entries := b.read(t, p, "c", 3)
	reclaimed, lost, err := b.Reclaim(t.Context(), p, "c", 0, 10)
	if len(reclaimed) != 3 || lost != 0 || err != nil {
		t.Errorf("reclaimed %d, lost %d, %v", len(reclaimed), lost, err)
	}
	b.settle(t, entries)
	if backlog, err := b.Backlog(t.Context(), p); backlog.Orders != 0 || err != nil {
		t.Errorf("%d orders wait, %v", backlog.Orders, err)
	}
	if n, err := b.Trim(t.Context(), p, time.Now().Add(time.Hour)); n == 0 || err != nil {
		t.Errorf("trimmed %d, %v", n, err)
	}
	if n := len(b.events(t, p)); n != 0 {
		t.Errorf("a full Redis took %d events", n)
	}

	b.config(t, "maxmemory", "0")
	b.accepted(t, one(v, "unlucky"))
	if stock := b.conserved(t, v); stock != 6 {
		t.Errorf("stock %d, want 6", stock)
	}
	b.settle(t, b.read(t, p, "c", 1))
	if n := len(b.events(t, p)); n != 1 {
		t.Errorf("with room again, %d events were announced", n)
	}
}

// TestRedisAwayIsToldSoon guards G3: while connections are refused, all who wait
// hear at once that they may repeat; when Redis is back, so are the claims.
func TestRedisAwayIsToldSoon(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t, "--appendonly", "yes", "--appendfsync", "always")
	v := b.published(t, func(v *sale.Voucher) { v.Total = 500 })
	b.accepted(t, one(v, "u"))
	server.Kill()
	began := time.Now()
	heard := make(chan error, 300)
	for i := range cap(heard) {
		go func() {
			_, err := b.Claim(context.Background(), one(v, buyer(i)))
			heard <- err
		}()
	}
	for range cap(heard) {
		if err := <-heard; sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("%d claims heard after %s", cap(heard), took)
	}
	for what, err := range map[string]error{
		"ping": b.Ping(t.Context()), "load": b.Load(t.Context(), v.ID), "group": b.EnsureGroup(t.Context(), 0),
		"leave": b.Leave(t.Context(), 0, "c"), "drop": b.DropIdle(t.Context(), 0, 0),
	} {
		if sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	server.Start()
	testenv.Eventually(t, patience, "a claim being accepted again", func() bool {
		r, err := b.Claim(context.Background(), one(v, "late"))
		return err == nil && r.Problem == nil
	})
	if r := b.claim(t, one(v, "u")); codeOf(r) != "REPLAYED" {
		t.Errorf("the order of before: %s", codeOf(r))
	}
	b.conserved(t, v)
}

// TestSilentRedis: a Redis that takes requests and answers none holds nobody for
// long, and nobody whose request has ended.
func TestSilentRedis(t *testing.T) {
	t.Parallel()
	b, server := onRedisServer(t)
	v := b.published(t)
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := b.Claim(ctx, one(v, "u")); sale.CodeOf(err) != sale.CodeUnavailable || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if _, err := b.Claim(t.Context(), one(v, "u2")); sale.CodeOf(err) != sale.CodeUnavailable || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	server.Resume()
	testenv.Eventually(t, patience, "an answer", func() bool {
		r, err := b.Claim(context.Background(), one(v, "u"))
		return err == nil && r.Problem == nil
	})
	b.conserved(t, v)
}

func TestOpenRefusesBadOptions(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]gate.Options{
		"no partitions":       {URL: "redis://127.0.0.1:1"},
		"too many partitions": {URL: "redis://127.0.0.1:1", Partitions: sale.MaxPartitions + 1},
		"no URL":              {Partitions: 1},
		"malformed URL":       {URL: "redis://u:s3cret@h:port", Partitions: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := gate.Open(options)
			if err == nil {
				_ = g.Close()
				t.Fatal("opened")
			}
			if s := err.Error(); strings.Contains(s, "s3cret") || strings.Contains(s, "\n") {
				t.Error(s)
			}
		})
	}
}

// TestOpenWithoutRedis: it succeeds, so that a server may start before Redis.
func TestOpenWithoutRedis(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "redis://127.0.0.1:1")
	if err := b.Ping(t.Context()); sale.CodeOf(err) != sale.CodeUnavailable {
		t.Error(err)
	}
}

func TestNewVoucherIDsSpread(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "redis://127.0.0.1:1", func(o *gate.Options) { o.Partitions = 4 })
	seen := map[int]int{}
	for range 400 {
		seen[b.NewVoucherID().Partition()]++
	}
	for p := range 4 {
		if seen[p] < 40 {
			t.Errorf("partition %d got %d of 400 vouchers", p, seen[p])
		}
		delete(seen, p)
	}
	if len(seen) > 0 {
		t.Error(fmt.Sprint("other partitions: ", seen))
	}
}
