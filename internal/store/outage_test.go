package store

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// The reply of COMMIT is lost: nobody knows the outcome, so nothing is decided,
// and the next attempt finds the rows.
func TestArchiveDoesNotGuessAfterALostCommit(t *testing.T) {
	t.Parallel()
	wire := newWire(t, testenv.Database(t))
	a := migrated(t, wire.url)
	v := newVoucher(t, a)
	entries := claims(v.ID, 2)

	wire.loseReplyOf.Store("COMMIT\x00")
	_, err := a.Settle(t.Context(), v.ID, entries)
	if !Transient(err) || sale.CodeOf(err) != sale.CodeUnavailable {
		t.Fatalf("a lost reply of COMMIT gave %v, want a transient error", err)
	}
	wantSold(t, a, v.ID, 2) // it was committed
	if got := verdicts(settle(t, a, v.ID, entries...)); got != "COMMITTED COMMITTED" {
		t.Errorf("settled again: %s", got)
	}
	wantSold(t, a, v.ID, 2)
}

// The reply of the insert is lost: the transaction is gone, nothing was written
// behind the archive's back by a repeated statement.
func TestArchiveWritesNothingAfterALostInsert(t *testing.T) {
	t.Parallel()
	wire := newWire(t, testenv.Database(t))
	a := migrated(t, wire.url)
	v := newVoucher(t, a)
	e := claim(v.ID, "ada")

	wire.loseReplyOf.Store(e.StreamID) // only the insert carries it
	if _, err := a.Settle(t.Context(), v.ID, []sale.Entry{e}); !Transient(err) {
		t.Fatalf("a lost reply of the insert gave %v, want a transient error", err)
	}
	wantSold(t, a, v.ID, 0)
	settle(t, a, v.ID, e)
	wantSold(t, a, v.ID, 1)
}

// The database goes away and comes back; the archive needs no restart.
func TestArchiveSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	wire := newWire(t, testenv.Database(t))
	a := migrated(t, wire.url)
	v := newVoucher(t, a)
	want := settle(t, a, v.ID, claim(v.ID, "ada"))

	wire.cut()
	wire.refuse.Store(true)
	_, settleErr := a.Settle(t.Context(), v.ID, claims(v.ID, 1))
	_, readErr := a.Order(t.Context(), want[0].ID)
	for call, err := range map[string]error{"settle": settleErr, "read": readErr, "check": a.Check(t.Context())} {
		if !Transient(err) || sale.CodeOf(err) != sale.CodeUnavailable {
			t.Errorf("%s without a database gave %v, want UNAVAILABLE", call, err)
		}
	}
	wire.refuse.Store(false)
	got, err := a.Order(t.Context(), want[0].ID)
	if diff := cmp.Diff(want[0], got); diff != "" || err != nil {
		t.Errorf("after the outage: error %v: %s", err, diff)
	}
}

// A worker that froze inside its transaction does not block the others for ever.
func TestArchiveWaitsForALockOnlySoLong(t *testing.T) {
	t.Parallel()
	a := migrated(t, testenv.Database(t)+"&lock_timeout=50")
	v := newVoucher(t, a)
	frozen, err := a.client.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := frozen.Voucher.Query().ForUpdate().All(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Settle(t.Context(), v.ID, claims(v.ID, 1)); !Transient(err) {
		t.Errorf("a lock that was not got gave %v, want a transient error", err)
	}
	if err := frozen.Rollback(); err != nil {
		t.Fatal(err)
	}
	settle(t, a, v.ID, claims(v.ID, 1)...)
}

// The look-ups of a batch must not depend on what the planner believes about a
// table that grows by the second.
func TestLookupsWalkTheIndexes(t *testing.T) {
	t.Parallel()
	a := migrated(t, testenv.Database(t))
	for query, want := range map[string]string{
		strings.NewReplacer("$1", "'{a,b}'").Replace(knownIDsSQL):           "using orders_pkey",
		strings.NewReplacer("$1", "'v'", "$2", "'{a,b}'").Replace(holdsSQL): "using orders_live",
	} {
		plan := strings.Join(texts(t, a, "EXPLAIN "+query), "\n")
		if !strings.Contains(plan, want) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("want %q in the plan of %s:\n%s", want, query, plan)
		}
	}
}

// wire is a way to a database that can be cut.
type wire struct {
	url         string
	loseReplyOf atomic.Value // string: the next message with it is carried out, its reply is lost
	refuse      atomic.Bool  // whether new connections are closed at once

	server string
	mu     sync.Mutex
	open   []net.Conn
}

func newWire(t *testing.T, databaseURL string) *wire {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{server: u.Host}
	w.loseReplyOf.Store("")
	u.Host = listener.Addr().String()
	w.url = u.String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { w.carry(client) })
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		w.cut()
		running.Wait()
	})
	return w
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// carry serves one connection until either side ends it.
func (w *wire) carry(client net.Conn) {
	defer client.Close()
	if w.refuse.Load() {
		return
	}
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.open = append(w.open, client, server)
	w.mu.Unlock()

	var lose atomic.Bool
	var replies sync.WaitGroup
	replies.Go(func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || lose.Load() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	_, _ = io.Copy(server, &listener{Reader: client, heard: func(b []byte) {
		text, _ := w.loseReplyOf.Load().(string)
		if text != "" && bytes.Contains(b, []byte(text)) && w.loseReplyOf.CompareAndSwap(text, "") {
			lose.Store(true)
		}
	}})
	_ = server.Close()
	replies.Wait()
}

// listener is a reader that tells what it read.
type listener struct {
	io.Reader
	heard func([]byte)
}

func (l *listener) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	l.heard(b[:n])
	return n, err
}
