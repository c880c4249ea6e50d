package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/ent/deadletter"
	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestArchiveRejectsAPoisonedEntry(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			e := claim(v.ID, "eve\x00\xff", func(e *sale.Entry) {
				e.Order.Status, e.Order.ClaimedAt = "", time.UnixMilli(-1<<60)
				e.Order.PayBefore = &e.Order.ClaimedAt
			})
			got, err := a.Reject(t.Context(), e, sale.RejectedInvalid)
			if err != nil {
				t.Fatal(err)
			}
			want := sale.Order{
				ID: e.Order.ID, VoucherID: v.ID, BuyerID: "eve\uFFFD\uFFFD", RequestID: "r1", Quantity: 1,
				Status: sale.StatusRejected, Version: 2, ClaimedAt: start,
				Rejection: &sale.OrderRejection{Code: sale.RejectedInvalid},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if read, err := a.Order(t.Context(), e.Order.ID); err != nil || !cmp.Equal(read, want) {
				t.Errorf("the row is %+v, error %v", read, err)
			}
			wantReleasesDue(t, a, e.Order.ID)
			if err := a.Released(t.Context(), []sale.OrderID{e.Order.ID}); err != nil {
				t.Fatal(err)
			}
			again, err := a.Reject(t.Context(), e, sale.RejectedSoldOut)
			if diff := cmp.Diff(want, again); diff != "" || err != nil {
				t.Errorf("rejected again, error %v: %s", err, diff)
			}
			wantReleasesDue(t, a)
		})
	}
}

func TestArchiveRejectKeepsACommittedOrder(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			v := newVoucher(t, a)
			e := claim(v.ID, "ada")
			committed := settle(t, a, v.ID, e)[0]
			got, err := a.Reject(t.Context(), e, sale.RejectedInvalid)
			if diff := cmp.Diff(committed, got); diff != "" || err != nil {
				t.Errorf("error %v: %s", err, diff)
			}
			wantSold(t, a, v.ID, 1)
		})
	}
}

func TestArchiveRejectsConcurrentlyOnce(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			e := claim(sale.NewVoucherID(3, start), "ada")
			var workers errgroup.Group
			for range 4 {
				workers.Go(func() error {
					_, err := a.Reject(t.Context(), e, sale.RejectedInvalid)
					return err
				})
			}
			if err := workers.Wait(); err != nil {
				t.Error(err)
			}
			wantReleasesDue(t, a, e.Order.ID)
		})
	}
}

func TestArchiveRejectNeedsAnOrder(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			_, err := a.Reject(t.Context(), sale.Entry{StreamID: "1-0"}, sale.RejectedInvalid)
			wantInputError(t, err)
		})
	}
}

func TestArchiveBuriesOnce(t *testing.T) {
	t.Parallel()
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			a := migrated(t, database(t))
			letter := sale.DeadLetter{
				Partition: 3, StreamID: "1-0", Reason: "no quantity\x00",
				Fields: map[string]string{"user\x00": "abc\xff"},
			}
			for range 2 {
				if err := a.Bury(t.Context(), letter); err != nil {
					t.Fatal(err)
				}
			}
			rows, err := a.client.DeadLetter.Query().Where(deadletter.Partition(3)).All(t.Context())
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d dead letters, error %v, want 1", len(rows), err)
			}
			if diff := cmp.Diff(map[string]string{"user\uFFFD": "abc\uFFFD"}, rows[0].Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}
