package app

import (
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/internal/redisdial"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
)

// TestLag: orders that nobody writes down make the process not ready, also when
// the workers' group is gone, and a measurement of young ones makes it ready
// again.
func TestLag(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t).URL()
	database := migrated(t)
	a := open(t, redis, database, nil)
	v := withVoucher(t, redis, database, 3)
	result, err := a.Desk().Claim(t.Context(), sale.Claim{VoucherID: v.ID, BuyerID: "ada", Quantity: 1})
	if err != nil || result.Order == nil {
		t.Fatalf("claim: %+v %v", result, err)
	}
	client, err := redisdial.Open(redis, redisdial.Purpose{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, group := range []string{"read by nobody", "gone"} {
		if group == "gone" && client.XGroupDestroy(t.Context(), "fc:{p03}:orders", "archive").Val() != 1 {
			t.Fatal("the group was not there")
		}
		a.lag.age.Store(0)
		testenv.Eventually(t, 10*time.Second, "the order that waits is measured, the group being "+group, func() bool {
			a.measure(t.Context())
			return a.lag.age.Load() > 0
		})
	}
	if err := a.lag.fault(); err != nil {
		t.Errorf("a young order is no lag: %v", err)
	}

	a.lag.age.Store(int64(lagBound + time.Second))
	fault := a.lag.fault()
	if fault == nil || fatal(fault) || !strings.Contains(fault.Error(), "waited 31s") {
		t.Errorf("an order waits for 31 s: %v", fault)
	}
	a.measure(t.Context())
	if err := a.lag.fault(); err != nil {
		t.Errorf("measured again: %v", err)
	}
}

// TestLagSurvivesRedis: while Redis is away nothing new is known of the backlog,
// and the check of Redis says so.
func TestLagSurvivesRedis(t *testing.T) {
	t.Parallel()
	a := open(t, "redis://"+nobody(t), file(t), nil)
	a.lag.age.Store(int64(time.Hour))
	a.measure(t.Context())
	if a.lag.fault() == nil {
		t.Error("the last measurement is forgotten")
	}
	names := map[string]bool{}
	for _, check := range a.checks() {
		names[check.Name] = check.Run(t.Context()) != nil
	}
	if len(names) != 3 || !names["redis"] || !names["database"] || !names["worker"] {
		t.Errorf("failing checks: %v, want all of redis, database, worker", names)
	}
}

// TestDatabaseReadyNamesTheCommand: /readyz shows only sentences of package sale.
func TestDatabaseReadyNamesTheCommand(t *testing.T) {
	t.Parallel()
	a := open(t, "redis://"+nobody(t), file(t), nil)
	err := a.databaseReady(t.Context())
	if sale.CodeOf(err) != sale.CodeUnavailable || !strings.Contains(err.Error(), "flashclaim migrate up") {
		t.Errorf("not migrated: %v", err)
	}
}
