package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"

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

// The stock moves in the transaction of the rows: when a row cannot be written,
// nothing has changed.
func TestArchiveMovesStockWithTheRowsOnly(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			mustExec(t, a, "CREATE UNIQUE INDEX only_one_request ON orders (request_id)")
			_, err := a.Settle(t.Context(), v.ID, claims(v.ID, 2))
			if err == nil || Transient(err) || !duplicate(err) {
				t.Errorf("error is %v, want a unique violation that time does not heal", err)
			}
			wantSold(t, a, v.ID, 0)
		})
	}
}

// The counter's guard holds even where somebody moved it behind the lock's back.
func TestArchiveGuardsTheSoldCounter(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total = 2 })
			mustExec(t, a, "UPDATE vouchers SET sold = 2")
			if got := verdicts(settle(t, a, v.ID, claim(v.ID, "ada"))); got != "SOLD_OUT" {
				t.Errorf("the order is %s, want SOLD_OUT", got)
			}
			b := batch{voucherID: v.ID, units: 1}
			tx, err := a.client.Tx(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			err = b.save(t.Context(), tx, a.engine.dialect)
			if err == nil || !strings.Contains(err.Error(), "sold of voucher "+string(v.ID)+" cannot be moved by 1") {
				t.Errorf("moving the counter above the total gave %v, want the guard's refusal", err)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			if err := exec(t, a, "UPDATE vouchers SET sold = 3"); err == nil {
				t.Error("the table accepted more sold than total")
			}
		})
	}
}

// The index is the fence behind the lock: a writer that ignores the lock cannot
// give one buyer the same place twice, nor a live order no place.
func TestArchiveIndexRefusesASecondLiveOrder(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			settle(t, a, v.ID, claim(v.ID, "ada"))
			copyOf := func(ordinal string) string {
				return `INSERT INTO orders (id, voucher_id, buyer_id, request_id, quantity, ordinal, status, version, epoch,
				stream_id, claimed_at, release_due, updated_at)
				SELECT '` + string(sale.NewOrderID(3, start)) + `', voucher_id, buyer_id, request_id, quantity, ` + ordinal + `,
				status, version, epoch, stream_id, claimed_at, release_due, updated_at FROM orders`
			}
			if err := exec(t, a, copyOf("ordinal")); !duplicate(err) {
				t.Errorf("a second live order of the buyer gave %v, want a unique violation", err)
			}
			if err := exec(t, a, copyOf("NULL")); err == nil || Transient(err) {
				t.Errorf("a live order without ordinal gave %v, want a broken check", err)
			}
			mustExec(t, a, "UPDATE orders SET status = 'EXPIRED', ordinal = NULL")
			if got := verdicts(settle(t, a, v.ID, claim(v.ID, "ada"))); got != "COMMITTED" {
				t.Errorf("the order after an expired one is %s, want COMMITTED", got)
			}
		})
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

// Four workers, in two processes, settle the same entries in different orders.
func TestArchiveNeverOversellsConcurrently(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			rawURL := database(t)
			const total, buyers = 40, 60
			a, other := migrated(t, rawURL), open(t, rawURL)
			v := newVoucher(t, a, func(v *sale.Voucher) { v.Total, v.PerBuyerLimit = total, 2 })
			var entries []sale.Entry
			for i := range buyers {
				for range 3 { // one more than allowed
					entries = append(entries, claim(v.ID, fmt.Sprintf("buyer-%d", i)))
				}
			}
			var workers errgroup.Group
			for w := range 4 {
				workers.Go(func() error {
					mine := slices.Clone(entries)
					slices.SortFunc(mine, func(x, y sale.Entry) int { // each worker in another order
						return strings.Compare(string(x.Order.ID[len(x.Order.ID)-1-w:]), string(y.Order.ID[len(y.Order.ID)-1-w:]))
					})
					for part := range slices.Chunk(mine, 25) {
						if _, err := []*Archive{a, other}[w%2].Settle(t.Context(), v.ID, part); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := workers.Wait(); err != nil {
				t.Fatal(err)
			}
			wantSold(t, a, v.ID, total)
			perBuyer := map[string]int{}
			for _, o := range settle(t, a, v.ID, entries...) {
				if o.Status.Live() {
					perBuyer[o.BuyerID] += o.Quantity
				}
			}
			for buyer, n := range perBuyer {
				if n > 2 {
					t.Errorf("%s holds %d units, limit 2", buyer, n)
				}
			}
		})
	}
}

// Two vouchers, met in opposite orders: no deadlock, because a transaction locks
// one voucher.
func TestArchiveSettlesTwoVouchersInMixedOrder(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			const rounds = 15
			many := func(v *sale.Voucher) { v.Total = 1000 }
			one, two := newVoucher(t, a, many), newVoucher(t, a, many)
			var workers errgroup.Group
			for w, order := range [][]sale.VoucherID{{one.ID, two.ID}, {two.ID, one.ID}} {
				workers.Go(func() error {
					for round := range rounds {
						for _, id := range order {
							if _, err := a.Settle(t.Context(), id, []sale.Entry{claim(id, fmt.Sprint(w, " ", round))}); err != nil {
								return err
							}
						}
					}
					return nil
				})
			}
			if err := workers.Wait(); err != nil {
				t.Fatal(err)
			}
			wantSold(t, a, one.ID, 2*rounds)
			wantSold(t, a, two.ID, 2*rounds)
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
