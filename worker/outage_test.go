package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

const (
	unreadable = "queue not readable"
	readable   = "queue readable again"
)

// The archive fails twice for a reason that time heals.
func TestTransientFaultRejectsNobody(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.voucher()
		claimed := b.claims(v.ID, 3)
		fail := times(2, errAway)
		b.Archive = &archive{Archive: b.archive, settle: func(context.Context, []sale.Entry) error { return fail() }}
		b.start()
		b.waitFor("COMMITTED", claimed...)
		b.waitUntilQuiet()
		b.wantUnits(v.ID, 7, 3, 3)
		if n := look(b.seen, func(o *observer) int { return len(o.buried) }); n != 0 {
			t.Errorf("%d entries were buried", n)
		}
		if n := b.book.count("archive not reachable; the orders wait"); n != 1 {
			t.Errorf("%d lines about one trouble, want 1", n)
		}
	})
}

// The database is away while orders come in, and comes back.
func TestDatabaseOutageRejectsNobody(t *testing.T) {
	t.Parallel()
	postgres := testenv.Postgres(t)
	b := newBundle(t, services{redis: testenv.Redis(t).URL(), database: postgres.URL("postgres")})
	v := b.voucher(total(100))
	before := b.claims(v.ID, 10)
	b.start()
	b.waitFor("COMMITTED", before...)

	postgres.Kill()
	var during []sale.Order
	for _, buyer := range []string{"a", "b", "c", "d", "e"} {
		during = append(during, b.claim(v.ID, buyer)) // claims do not need the database
	}
	testenv.Eventually(t, soon, "the worker to notice", func() bool {
		return b.book.count("archive not reachable; the orders wait") > 0
	})
	postgres.Start()

	b.waitFor("COMMITTED", during...)
	b.waitUntilQuiet()
	b.wantUnits(v.ID, 85, 15, 15)
	if n := look(b.seen, func(o *observer) int { return len(o.buried) }); n != 0 {
		t.Errorf("%d entries were buried", n)
	}
}

// Redis is away and comes back with what it had: no restart, no flood of lines.
func TestRedisOutageNeedsNoRestart(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
	b := newBundle(t, services{redis: server.URL(), database: embedded(t).database})
	v := b.voucher()
	first := b.claim(v.ID, "ada")
	b.start()
	b.waitFor("COMMITTED", first)

	server.Kill()
	testenv.Eventually(t, soon, "the worker to notice", func() bool { return b.book.count(unreadable) > 0 })
	server.Start()
	testenv.Eventually(t, soon, "the worker to recover", func() bool { return b.book.count(readable) > 0 })

	b.waitFor("COMMITTED", b.claim(v.ID, "bob"))
	b.wantUnits(v.ID, 8, 2, 2)
	if n := b.book.count(unreadable); n != 1 {
		t.Errorf("%d lines about one outage, want 1", n)
	}
}

// The group is gone, the stream is not: it is read again from its beginning,
// which changes nothing that is written down and skips nothing that is not.
func TestLostGroupIsCreatedAtTheBeginning(t *testing.T) {
	t.Parallel()
	b := newBundle(t, services{redis: testenv.Redis(t).URL(), database: embedded(t).database})
	v := b.voucher()
	written := b.claims(v.ID, 3)
	stop := b.start()
	b.waitFor("COMMITTED", written...)
	stop()
	unread := []sale.Order{b.claim(v.ID, "ada"), b.claim(v.ID, "bob")}
	check(t, b.raw.XGroupDestroy(t.Context(), orders, group).Err())

	b.start()
	b.waitFor("COMMITTED", unread...)
	b.waitUntilQuiet()
	b.wantUnits(v.ID, 5, 5, 5)

	check(t, b.raw.XGroupDestroy(t.Context(), orders, group).Err()) // under the running worker
	testenv.Eventually(t, soon, "the worker to recover", func() bool { return b.book.count(readable) > 0 })
	b.waitFor("COMMITTED", b.claim(v.ID, "eve"))
	b.waitUntilQuiet()
	b.wantUnits(v.ID, 4, 6, 6)
	if n := b.book.count(unreadable); n != 1 {
		t.Errorf("%d lines about one lost group, want 1", n)
	}
}

// Redis is emptied under the running worker. What was written down stays, the
// sale is loaded again, and the next claim is written down.
func TestEmptiedRedisNeedsNoRestart(t *testing.T) {
	t.Parallel()
	b := newBundle(t, services{redis: testenv.Redis(t).URL(), database: embedded(t).database})
	v := b.voucher()
	first := b.claim(v.ID, "ada")
	b.Block = 20 * time.Millisecond
	b.start()
	b.waitFor("COMMITTED", first)

	check(t, b.raw.FlushAll(t.Context()).Err())
	testenv.Eventually(t, soon, "the worker to recover", func() bool { return b.book.count(readable) > 0 })
	b.waitFor("COMMITTED", b.claim(v.ID, "bob"))
	b.waitUntilQuiet()
	b.wantUnits(v.ID, 8, 2, 2)
	if n := b.book.count(unreadable); n != 1 {
		t.Errorf("%d lines about one loss, want 1", n)
	}
}
