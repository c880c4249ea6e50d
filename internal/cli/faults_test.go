package cli

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// running are the commands that stay.
var running = []string{"serve", "work", "all"}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	env := settings(testenv.Redis(t).URL(), testenv.Database(t), "FLASHCLAIM_DURABILITY=relaxed")
	migrate(t, env)
	want := "the address " + addr + " is in use by another program; stop that one or choose another with --addr"
	for _, command := range []string{"serve", "all", "dev"} {
		fails(t, env, 1, want, command, "--addr", addr)
	}
	fails(t, env, 1, "the address 192.0.2.1:80 cannot be listened on; choose another with --addr", "serve", "--addr", "192.0.2.1:80")
}

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	env := settings(durableRedis(t).URL(), testenv.Database(t))
	for _, command := range running {
		fails(t, env, 1, "run: flashclaim migrate up", command)
	}
}

// TestRedisThatForgets: the default promises that accepted claims outlive Redis.
func TestRedisThatForgets(t *testing.T) {
	t.Parallel()
	env := settings(testenv.Redis(t).URL(), testenv.Database(t))
	migrate(t, env)
	for _, command := range running {
		fails(t, env, 1, `Redis does not keep the durability "everysec": appendonly is no and must be yes; change that in Redis, or choose --durability relaxed`, command)
	}
	start(t, env, "work", "--durability", "relaxed").WaitFor(patience, "accepted claims may be lost when Redis stops")
}

// TestFewerPartitions: vouchers beyond the number could not be claimed any more.
func TestFewerPartitions(t *testing.T) {
	t.Parallel()
	database := testenv.Database(t)
	env := settings(durableRedis(t).URL(), database)
	migrate(t, env)
	archive, err := store.New(database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	draft := demoVoucher("in a high partition", time.Now())
	v, err := draft.Voucher(sale.NewVoucherID(9, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.CreateVoucher(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for _, command := range running {
		fails(t, env, 1, "the database has vouchers in 10 partitions and --partitions is 9; start with at least 10", command, "--partitions", "9")
	}
	start(t, env, "work", "--partitions", "10").WaitFor(patience, "ready worker")
}

// TestDatabaseAway: a command that only asks does not wait.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	postgres := testenv.Postgres(t)
	env := settings(durableRedis(t).URL(), postgres.URL("postgres"))
	migrate(t, env)
	postgres.Stop()
	const want = "the database cannot be reached right now: dial tcp " // and the system's own words
	for _, args := range [][]string{
		{"voucher", "list"}, {"voucher", "show", "vch_1"}, {"migrate", "up"}, {"migrate", "status"},
	} {
		fails(t, env, 1, want+postgres.Addr()+": connect: connection refused", args...)
	}
}

// TestSentence: a fault is one line with its cause and without advice that is
// meant for a client's program.
func TestSentence(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the gate cannot be reached right now: refused": sale.Unavailable(errors.New("refused"), "the gate"),
		"not found":              sale.ErrNotFound,
		"total must be 1":        &sale.InputError{Faults: []sale.FieldFault{{Field: "total", Reason: "must be 1"}}},
		"one; two":               errors.Join(errors.New("one"), errors.New("two")),
		context.Canceled.Error(): context.Canceled,
	} {
		if got := sentence(err); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
}
