package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestArchiveSettlesABatch(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total, v.PerBuyerLimit = 3, 2 })
			entries := []sale.Entry{
				claim(v.ID, "ada", units(2)),
				claim(v.ID, "ada"), // would be her third
				claim(v.ID, "ben", units(2)),
				claim(v.ID, "ben", func(e *sale.Entry) { e.Order.RequestID, e.Order.PayBefore = "", nil }),
				claim(v.ID, "cid"),
				claim(v.ID, "dan", units(0)),
				claim(v.ID, "eve", units(1<<62)), // must not overflow into a yes
			}
			got := settle(t, a, v.ID, entries...)

			const want = "COMMITTED LIMIT_REACHED SOLD_OUT COMMITTED SOLD_OUT INVALID INVALID"
			if verdicts(got) != want {
				t.Errorf("verdicts are %s, want %s", verdicts(got), want)
			}
			wantSold(t, a, v.ID, 3)
			for i, e := range entries {
				wantOrder := e.Order.Committed(start)
				if got[i].Rejection != nil {
					wantOrder = e.Order.Rejected(got[i].Rejection.Code)
				}
				if diff := cmp.Diff(wantOrder, got[i]); diff != "" {
					t.Errorf("entry %d: %s", i, diff)
				}
				read, err := a.Order(t.Context(), e.Order.ID)
				if diff := cmp.Diff(got[i], read); diff != "" || err != nil {
					t.Errorf("entry %d, error %v: the row differs from the answer: %s", i, err, diff)
				}
			}
		})
	}
}

// The worker died after COMMIT and before the ack: the entry comes again.
func TestArchiveSettlesAgainWithoutChange(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total = 2 })
			entries := claims(v.ID, 3)
			first := settle(t, a, v.ID, entries...)
			late := claim(v.ID, "late")
			again := settle(t, a, v.ID, entries[2], late, entries[0], entries[0], entries[1])

			want := []sale.Order{first[2], again[1], first[0], first[0], first[1]}
			if diff := cmp.Diff(want, again); diff != "" {
				t.Error(diff)
			}
			if got := verdicts(again[1:2]); got != "SOLD_OUT" {
				t.Errorf("the late claim is %s", got)
			}
			wantSold(t, a, v.ID, 2)
		})
	}
}

func TestArchiveSettlesOneOrderTwiceInABatch(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			e := claim(v.ID, "ada")
			got := settle(t, a, v.ID, e, e)
			if diff := cmp.Diff(got[0], got[1]); diff != "" || got[0].Status != sale.StatusCommitted {
				t.Errorf("the same entry twice gave %s: %s", verdicts(got), diff)
			}
			wantSold(t, a, v.ID, 1)
		})
	}
}

// A unique violation is not "already done": another order of the same buyer is
// refused, told and released, once.
func TestArchiveRejectsASecondOrderOfABuyer(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			settle(t, a, v.ID, claim(v.ID, "ada"))
			second := claim(v.ID, "ada")
			for range 2 {
				if got := verdicts(settle(t, a, v.ID, second)); got != "LIMIT_REACHED" {
					t.Errorf("the second order is %s, want LIMIT_REACHED", got)
				}
			}
			wantSold(t, a, v.ID, 1)
			wantReleasesDue(t, a, second.Order.ID)
		})
	}
}

// Redis had more units than the archive: every buyer learns what became of the
// order, and the surplus is released.
func TestArchiveRejectsWhatRedisOversold(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total = 3 })
			entries := claims(v.ID, 5)
			got := settle(t, a, v.ID, entries...)
			if want := "COMMITTED COMMITTED COMMITTED SOLD_OUT SOLD_OUT"; verdicts(got) != want {
				t.Errorf("verdicts are %s, want %s", verdicts(got), want)
			}
			wantSold(t, a, v.ID, 3)
			wantReleasesDue(t, a, entries[3].Order.ID, entries[4].Order.ID)
		})
	}
}

func wantReleasesDue(t *testing.T, a *Archive, want ...sale.OrderID) {
	t.Helper()
	due, err := a.ReleasesDue(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	got := mapAll(due, func(o sale.Order) sale.OrderID { return o.ID })
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("releases that are due: %s", diff)
	}
}

func TestArchiveRejectsOrdersOfAnUnknownVoucher(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			unknown := sale.NewVoucherID(3, start)
			entries := claims(unknown, 2)
			for range 2 {
				if got := verdicts(settle(t, a, unknown, entries...)); got != "NOT_FOUND NOT_FOUND" {
					t.Errorf("verdicts are %s", got)
				}
			}
		})
	}
}

// An entry that no engine could write is named before anything happens, so that
// SQLite, which takes a NUL, and PostgreSQL, which does not, agree.
func TestArchiveRefusesPoison(t *testing.T) {
	t.Parallel()
	poison := map[string]func(*sale.Entry){
		"NUL in the request":       func(e *sale.Entry) { e.Order.RequestID = "a\x00" },
		"invalid UTF-8":            func(e *sale.Entry) { e.Order.BuyerID = "a\xff" },
		"NUL in the stream ID":     func(e *sale.Entry) { e.StreamID = "1-\x00" },
		"no buyer":                 func(e *sale.Entry) { e.Order.BuyerID = "" },
		"buyer too long to index":  func(e *sale.Entry) { e.Order.BuyerID = strings.Repeat("x", 3000) },
		"not an order's ID":        func(e *sale.Entry) { e.Order.ID = "ord_1" },
		"another voucher":          func(e *sale.Entry) { e.Order.VoucherID = "vch_1" },
		"not pending":              func(e *sale.Entry) { e.Order.Status = sale.StatusPaid },
		"a time beyond the engine": func(e *sale.Entry) { e.Order.ClaimedAt = time.UnixMilli(1 << 60) },
		"cannot be decoded":        func(e *sale.Entry) { e.Fault = errors.New("no quantity") },
	}
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total = 1 })
			good := claim(v.ID, "ada")
			for name, spoil := range poison {
				_, err := a.Settle(t.Context(), v.ID, []sale.Entry{good, claim(v.ID, "eve", spoil)})
				if wantInputError(t, err); t.Failed() {
					t.Fatal(name)
				}
			}
			wantSold(t, a, v.ID, 0)
			if got := verdicts(settle(t, a, v.ID, good)); got != "COMMITTED" {
				t.Errorf("the good entry alone is %s", got)
			}
			stranger := claim(v.ID, "eve", func(e *sale.Entry) { e.Order.ID = good.Order.ID })
			_, err := a.Settle(t.Context(), v.ID, []sale.Entry{stranger})
			wantInputError(t, err)
		})
	}
}

func TestArchiveKeepsTheLimitWithQuantities(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.PerBuyerLimit = 3 })
			got := verdicts(settle(t, a, v.ID, claim(v.ID, "ada", units(2))))
			got += " " + verdicts(settle(t, a, v.ID, claim(v.ID, "ada", units(2)), claim(v.ID, "ben", units(4))))
			got += " " + verdicts(settle(t, a, v.ID, claim(v.ID, "ada")))
			if want := "COMMITTED LIMIT_REACHED LIMIT_REACHED COMMITTED"; got != want {
				t.Errorf("verdicts are %s, want %s", got, want)
			}
			wantSold(t, a, v.ID, 3)

			// What a buyer holds counts once, however many of the batch's entries are hers.
			settle(t, a, v.ID, claim(v.ID, "cid"))
			if got := verdicts(settle(t, a, v.ID, claim(v.ID, "cid"), claim(v.ID, "cid"))); got != "COMMITTED COMMITTED" {
				t.Errorf("the second and third of three allowed units: %s", got)
			}
		})
	}
}

func TestArchiveHonoursTheContext(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			_, err := a.Settle(cancelled(t), v.ID, claims(v.ID, 1))
			if !Transient(err) || sale.CodeOf(err) != sale.CodeUnavailable {
				t.Errorf("a cancelled context gave %v, want a transient error", err)
			}
			wantSold(t, a, v.ID, 0)
		})
	}
}
