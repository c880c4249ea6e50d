package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestPreflightWaitsForWhatIsAway: a service that does not answer is no reason
// to end, whichever it is.
func TestPreflightWaitsForWhatIsAway(t *testing.T) {
	t.Parallel()
	redisAway, databaseAway := "redis://"+nobody(t), "postgres://x@"+nobody(t)+"/x?sslmode=disable"
	redis := testenv.Redis(t).URL()
	cases := map[string]struct {
		redis, database string
		names           []string
	}{
		"Redis":        {redisAway, migrated(t), []string{"the gate"}},
		"the database": {redis, databaseAway, []string{"the database"}},
		"both":         {redisAway, databaseAway, []string{"the gate", "the database"}},
	}
	for name, c := range cases {
		err := open(t, c.redis, c.database, nil).preflight(t.Context())
		if fatal(err) || err == nil {
			t.Errorf("%s away: fatal is %t: %v", name, fatal(err), err)
			continue
		}
		for _, want := range c.names {
			if !strings.Contains(err.Error(), want+" cannot be reached") {
				t.Errorf("%s away: %v does not name %s", name, err, want)
			}
		}
	}
}

// TestPreflightRefusesWhatCannotKeepThePromises: no waiting heals a wrong
// setting, so the process ends and says what to do.
func TestPreflightRefusesWhatCannotKeepThePromises(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t).URL() // without an append-only file
	ready := migrated(t)
	sold := migrated(t)
	withVoucher(t, redis, sold, 9)
	cases := []struct {
		name          string
		redis, db     string
		change        func(*Options)
		want          string // part of the sentence; "" for none
		isNotMigrated bool
	}{
		{name: "all is well", redis: redis, db: ready},
		{name: "not migrated", redis: redis, db: file(t), want: "flashclaim migrate up", isNotMigrated: true},
		{name: "not migrated, and Redis away", redis: "redis://" + nobody(t), db: file(t), want: "flashclaim migrate up", isNotMigrated: true},
		{
			name: "Redis keeps nothing", redis: redis, db: ready, want: "appendonly is no and must be yes",
			change: func(o *Options) { o.Config.Durability = "everysec" },
		},
		{
			name: "Redis keeps nothing and nothing is meant to stay", redis: redis, db: ready,
			change: func(o *Options) { o.Config.Durability, o.Embedded = "everysec", true },
		},
		{
			name: "fewer partitions than are used", redis: redis, db: sold, want: "start with at least 10",
			change: func(o *Options) { o.Config.Partitions = 4 },
		},
		{
			name: "as many partitions as are used", redis: redis, db: sold,
			change: func(o *Options) { o.Config.Partitions = 10 },
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := open(t, c.redis, c.db, c.change).preflight(t.Context())
			if fatal(err) != (c.want != "") {
				t.Fatalf("fatal is %t: %v", fatal(err), err)
			}
			if c.want != "" && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			if errors.Is(err, store.ErrNotMigrated) != c.isNotMigrated {
				t.Errorf("errors.Is ErrNotMigrated is %t: %v", !c.isNotMigrated, err)
			}
		})
	}
}

// TestAwaited: a process that has waited for the database waits on until it is
// migrated, and for nothing else.
func TestAwaited(t *testing.T) {
	t.Parallel()
	a := open(t, "redis://"+nobody(t), file(t), nil)
	if err := awaited(a.preflight(t.Context())); err == nil || fatal(err) {
		t.Errorf("a database without tables while waiting: fatal is %t: %v", fatal(err), err)
	}
	if err := awaited(&gate.ErrNotDurable{Level: "always"}); !fatal(err) {
		t.Errorf("a Redis that keeps nothing is waited for: %v", err)
	}
	if err := awaited(nil); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
}

// withVoucher writes a voucher of the partition down.
func withVoucher(t *testing.T, redis, database string, partition int) sale.Voucher {
	t.Helper()
	a := open(t, redis, database, nil)
	v, err := draft().Voucher(sale.NewVoucherID(partition, draft().OpensAt))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Archive().CreateVoucher(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return v
}
