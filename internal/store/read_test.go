package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestArchiveKeepsAVoucherWhole(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			full := newVoucher(t, a, func(v *sale.Voucher) { v.Paused, v.Epoch = true, 7 })
			bare := newVoucher(t, a, func(v *sale.Voucher) { v.Subtitle, v.ShopID, v.Rules = nil, nil, []string{} })
			for _, want := range []sale.Voucher{full, bare} {
				got, err := a.Voucher(t.Context(), want.ID)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v: %s", err, diff)
				}
			}
			if err := a.CreateVoucher(t.Context(), full); err == nil || Transient(err) {
				t.Errorf("a voucher written twice gave %v, want an error that time does not heal", err)
			}
		})
	}
}

func TestArchiveFindsNothing(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			_, err := a.Voucher(t.Context(), sale.NewVoucherID(0, start))
			wantNotFound(t, err)
			_, err = a.Order(t.Context(), sale.NewOrderID(0, start))
			wantNotFound(t, err)
			got, err := a.Orders(t.Context(), []sale.OrderID{sale.NewOrderID(0, start)}, 0)
			if err != nil || len(got) != 0 {
				t.Errorf("unknown orders gave %v, error %v", got, err)
			}
		})
	}
}

func TestArchiveListsVouchersByState(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			vouchers := map[sale.State]sale.Voucher{
				sale.StatePaused:    newVoucher(t, a, func(v *sale.Voucher) { v.Paused = true }),
				sale.StateScheduled: newVoucher(t, a, func(v *sale.Voucher) { v.OpensAt = start.Add(time.Millisecond) }),
				sale.StateOpen:      newVoucher(t, a, func(v *sale.Voucher) { v.OpensAt = start }),
				sale.StateClosed:    newVoucher(t, a, func(v *sale.Voucher) { v.ClosesAt = start }),
				sale.StateSoldOut:   newVoucher(t, a, func(v *sale.Voucher) { v.Total = 1 }),
			}
			settle(t, a, vouchers[sale.StateSoldOut].ID, claim(vouchers[sale.StateSoldOut].ID, "ada"))
			for state, want := range vouchers {
				got, err := a.Vouchers(t.Context(), VoucherFilter{State: &state, Now: start}, sale.Page{})
				if err != nil || len(got.Items) != 1 || got.Items[0].ID != want.ID {
					t.Errorf("%s: got %d vouchers, error %v", state, len(got.Items), err)
				}
				if live := want.LiveAt(start, got.Items[0].Total-got.Items[0].Sold); live.State != state {
					t.Errorf("the list says %s, the language %s", state, live.State)
				}
			}
			all, err := a.Vouchers(t.Context(), VoucherFilter{}, sale.Page{})
			if err != nil || len(all.Items) != len(vouchers) {
				t.Errorf("all: got %d vouchers, error %v", len(all.Items), err)
			}
		})
	}
}

// Orders with equal times in different partitions, read in pages of both
// directions: nothing is missing, nothing comes twice.
func TestArchivePagesBothWays(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.PerBuyerLimit = 10 })
			settle(t, a, v.ID, claim(v.ID, "other"))
			var want []string
			for i := range 7 {
				e := claim(v.ID, "ada", func(e *sale.Entry) {
					e.Order.ID = sale.NewOrderID(i%3, start)
					e.Order.ClaimedAt = start.Add(time.Duration(i/2) * time.Millisecond)
				})
				settle(t, a, v.ID, e)
				want = append(want, fmt.Sprint(i/2, " ", e.Order.ID))
			}
			slices.Sort(want)
			slices.Reverse(want)

			if diff := cmp.Diff(want, walk(t, a, 3, false)); diff != "" {
				t.Error("forward:", diff)
			}
			backward := walk(t, a, 3, true)
			if diff := cmp.Diff(want, backward); diff != "" {
				t.Error("backward:", diff)
			}
		})
	}
}

// walk reads ada's orders page by page and gives their places in the list.
func walk(t *testing.T, a *Archive, size int, backward bool) []string {
	t.Helper()
	var all []string
	page := sale.Page{First: size}
	if backward {
		page = sale.Page{Last: size}
	}
	for {
		got, err := a.OrdersOf(t.Context(), "ada", page)
		if err != nil || len(got.Items) == 0 {
			t.Fatalf("page %+v: %d orders, error %v", page, len(got.Items), err)
		}
		places := mapAll(got.Items, func(o sale.Order) string {
			return fmt.Sprint(o.ClaimedAt.Sub(start).Milliseconds(), " ", o.ID)
		})
		more, behind := got.HasNext, got.HasPrevious
		if backward {
			all, page.Before = append(places, all...), got.Cursors[0]
			more, behind = behind, more
		} else {
			all, page.After = append(all, places...), got.Cursors[len(got.Cursors)-1]
		}
		if first := len(all) == len(places); behind == first {
			t.Errorf("page %+v: tells %t that there is something behind it", page, behind)
		}
		if !more {
			return all
		}
	}
}

func TestArchivePageBetweenTwoCursors(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			for range 4 {
				newVoucher(t, a)
			}
			all, err := a.Vouchers(t.Context(), VoucherFilter{}, sale.Page{})
			if err != nil || all.HasNext || all.HasPrevious {
				t.Fatalf("all vouchers: %+v, error %v", all, err)
			}
			got, err := a.Vouchers(t.Context(), VoucherFilter{}, sale.Page{After: all.Cursors[0], Before: all.Cursors[3]})
			if diff := cmp.Diff(all.Items[1:3], got.Items); diff != "" || err != nil {
				t.Errorf("error %v: %s", err, diff)
			}
		})
	}
}

func TestArchiveRefusesABadPage(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			_, err := a.Vouchers(t.Context(), VoucherFilter{}, sale.Page{First: 1, Last: 1})
			wantInputError(t, err)
			_, err = a.OrdersOf(t.Context(), "ada", sale.Page{After: "nonsense"})
			wantInputError(t, err)
		})
	}
}

func TestArchiveReadsWhatIsNewer(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			orders := settle(t, a, v.ID, claims(v.ID, 3)...)
			mustExec(t, a, "UPDATE orders SET version = 3, status = 'PAID' WHERE buyer_id = 'buyer-1'")
			ids := mapAll(orders, func(o sale.Order) sale.OrderID { return o.ID })
			for newerThan, want := range []int{3, 3, 1, 0} {
				got, err := a.Orders(t.Context(), ids, newerThan)
				if err != nil || len(got) != want {
					t.Errorf("newer than %d: %d orders, error %v, want %d", newerThan, len(got), err, want)
				}
			}
		})
	}
}

// More IDs than one statement takes.
func TestArchiveReadsManyOrders(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			want := settle(t, a, v.ID, claim(v.ID, "ada"))
			ids := make([]sale.OrderID, 2*idsPerQuery+1)
			for i := range ids {
				ids[i] = sale.NewOrderID(3, start)
			}
			ids[len(ids)-1] = want[0].ID
			got, err := a.Orders(t.Context(), ids, 0)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v: %s", err, diff)
			}
		})
	}
}

func TestArchiveReadsUnfinishedOrders(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a, func(v *sale.Voucher) { v.PerBuyerLimit = 3 })
			var orders []sale.Order
			for i := range 4 {
				e := claim(v.ID, "ada", func(e *sale.Entry) { e.Order.ClaimedAt = start.Add(time.Duration(i) * time.Second) })
				orders = append(orders, settle(t, a, v.ID, e, claim(v.ID, "other"))[0])
			}
			mustExec(t, a, "UPDATE orders SET status = 'REDEEMED' WHERE id = '"+string(orders[0].ID)+"'")
			got, err := a.UnfinishedOf(t.Context(), "ada", 9)
			want := []sale.Order{orders[2], orders[1]} // the first is redeemed, the last was refused
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v: %s", err, diff)
			}
			if got, err := a.UnfinishedOf(t.Context(), "ada", 1); err != nil || len(got) != 1 {
				t.Errorf("limit 1 gave %d, error %v", len(got), err)
			}
		})
	}
}

func TestArchiveReadsWhatChanged(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			want := settle(t, a, v.ID, claims(v.ID, 3)...)[:2]
			buyers := []string{"buyer-0", "buyer-1", "nobody"}
			byID := cmpopts.SortSlices(func(x, y sale.Order) bool { return x.ID < y.ID })

			got, newest, err := a.ChangedSince(t.Context(), buyers, start.Add(-time.Minute))
			if diff := cmp.Diff(want, got, byID); diff != "" || err != nil || !newest.Equal(start) {
				t.Errorf("newest %s, error %v: %s", newest, err, diff)
			}
			got, newest, err = a.ChangedSince(t.Context(), buyers, newest)
			if diff := cmp.Diff(want, got, byID); diff != "" || err != nil || !newest.Equal(start) {
				t.Errorf("inside the overlap: newest %s, error %v: %s", newest, err, diff)
			}
			later := start.Add(time.Hour)
			got, newest, err = a.ChangedSince(t.Context(), buyers, later)
			if err != nil || len(got) != 0 || !newest.Equal(later) {
				t.Errorf("an hour later: %d orders, newest %s, error %v", len(got), newest, err)
			}
		})
	}
}

func TestArchiveKnowsThePartitionsInUse(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			want := func(want int) {
				t.Helper()
				if got, err := a.Partitions(t.Context()); got != want || err != nil {
					t.Errorf("partitions are %d, error %v, want %d", got, err, want)
				}
			}
			want(0)
			for _, partition := range []int{10, 2} {
				newVoucher(t, a, func(v *sale.Voucher) { v.ID = sale.NewVoucherID(partition, start) })
			}
			want(11)
		})
	}
}
