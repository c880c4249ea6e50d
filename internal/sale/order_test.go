package sale_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

var allStatuses = []sale.OrderStatus{
	sale.StatusPending, sale.StatusCommitted, sale.StatusPaid, sale.StatusRedeemed,
	sale.StatusCancelled, sale.StatusExpired, sale.StatusRefunded, sale.StatusRejected,
}

func TestOrderMachine(t *testing.T) {
	t.Parallel()
	arrows := map[sale.OrderStatus]map[sale.OrderStatus]bool{
		sale.StatusPending:   {sale.StatusCommitted: true, sale.StatusRejected: true},
		sale.StatusCommitted: {sale.StatusPaid: true, sale.StatusCancelled: true, sale.StatusExpired: true},
		sale.StatusPaid:      {sale.StatusRedeemed: true, sale.StatusRefunded: true},
	}
	live := map[sale.OrderStatus]bool{sale.StatusCommitted: true, sale.StatusPaid: true, sale.StatusRedeemed: true}
	for _, from := range allStatuses {
		for _, to := range allStatuses {
			if got := from.CanBecome(to); got != arrows[from][to] {
				t.Errorf("%s can become %s: %v", from, to, got)
			}
		}
		if final := len(arrows[from]) == 0; from.Final() != final {
			t.Errorf("%s is final: %v", from, from.Final())
		}
		if from.Live() != live[from] {
			t.Errorf("%s holds units: %v", from, from.Live())
		}
	}
}

func TestOrderIsCommittedOrRejectedOnce(t *testing.T) {
	t.Parallel()
	payBefore := time.UnixMilli(1_800_000_000_000).UTC()
	o := sale.Order{ID: "ord", Quantity: 2, Status: sale.StatusPending, Version: 1, PayBefore: &payBefore}
	at := time.Date(2030, 1, 1, 8, 0, 0, 123_456_789, time.FixedZone("", 8*3600))
	committedAt := time.Date(2030, 1, 1, 0, 0, 0, 123_000_000, time.UTC)

	committed := sale.Order{
		ID: "ord", Quantity: 2, Status: sale.StatusCommitted, Version: 2, PayBefore: &payBefore, CommittedAt: &committedAt,
	}
	if diff := cmp.Diff(committed, o.Committed(at)); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
	rejected := sale.Order{
		ID: "ord", Quantity: 2, Status: sale.StatusRejected, Version: 2, PayBefore: &payBefore,
		Rejection: &sale.OrderRejection{Code: sale.RejectedSoldOut},
	}
	if diff := cmp.Diff(rejected, o.Rejected(sale.RejectedSoldOut)); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
	if o.Status != sale.StatusPending || o.Version != 1 || o.CommittedAt != nil {
		t.Errorf("the promise itself was changed: %+v", o)
	}
}

func TestNothingElseIsCommittedOrRejected(t *testing.T) {
	t.Parallel()
	for _, status := range allStatuses {
		if status == sale.StatusPending {
			continue
		}
		o := sale.Order{Status: status, Version: 2}
		for name, change := range map[string]func(){
			"committed": func() { o.Committed(time.Now()) },
			"rejected":  func() { o.Rejected(sale.RejectedInvalid) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("an order that is %s was %s", status, name)
					}
				}()
				change()
			}()
		}
	}
}

func TestEveryRejectionHasAMessage(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range []sale.RejectionCode{
		sale.RejectedSoldOut, sale.RejectedLimitReached, sale.RejectedNotFound, sale.RejectedInvalid,
	} {
		m := sale.OrderRejection{Code: code}.Message()
		if m == "" || seen[m] {
			t.Errorf("%s says %q", code, m)
		}
		seen[m] = true
	}
}
