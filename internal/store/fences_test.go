package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/internal/sale"
)

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
