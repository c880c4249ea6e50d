package desk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestNewOrderIsShownAsPromised(t *testing.T) {
	t.Parallel()
	b := newBundle()
	o := b.order()
	b.result = sale.ClaimResult{Order: &o}
	got, err := b.Claim(t.Context(), sale.Claim{})
	if err != nil || got.Order != &o || b.calls != nil {
		t.Errorf("got %+v, %v after %v: a claim asks nobody but the gate", got, err, b.calls)
	}
}

func TestRefusalIsPassedOn(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.result = sale.ClaimResult{Problem: sale.SoldOut{}}
	got, err := b.Claim(t.Context(), sale.Claim{})
	if diff := cmp.Diff(b.result, got); err != nil || diff != "" || b.calls != nil {
		t.Errorf("%v after %v\n%s", err, b.calls, diff)
	}
}

func TestClaimWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.gateErr = errAway
	if got, err := b.Claim(t.Context(), sale.Claim{}); sale.CodeOf(err) != sale.CodeUnavailable || got.Order != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestEarlierOrderIsShownAsItStands guards A7: a repeat, or a claim above the
// limit, answers with the order the buyer has, in its present state; when that
// cannot be known, as it was promised.
func TestEarlierOrderIsShownAsItStands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*bundle, sale.Order)
		want    sale.OrderStatus
		version int
	}{
		"pending":       {func(b *bundle, o sale.Order) { b.pending[o.ID] = o }, sale.StatusPending, 1},
		"committed":     {func(b *bundle, o sale.Order) { b.rows[o.ID] = o.Committed(b.now) }, sale.StatusCommitted, 2},
		"rejected":      {func(b *bundle, o sale.Order) { b.rows[o.ID] = o.Rejected(sale.RejectedSoldOut) }, sale.StatusRejected, 2},
		"archive away":  {func(b *bundle, _ sale.Order) { b.rowsErr = errAway }, sale.StatusPending, 1},
		"nowhere found": {func(*bundle, sale.Order) {}, sale.StatusPending, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle()
			o := b.order()
			test.prepare(b, o)
			check := func(what string, got *sale.Order) {
				t.Helper()
				if got == nil || got.ID != o.ID || got.Status != test.want || got.Version != test.version {
					t.Errorf("%s: got %+v", what, got)
				}
			}
			b.result = sale.ClaimResult{Order: &o, Replayed: true}
			got, err := b.Claim(t.Context(), sale.Claim{})
			if err != nil || !got.Replayed {
				t.Fatalf("got %+v, %v", got, err)
			}
			check("repeat", got.Order)

			b.result = sale.ClaimResult{Problem: sale.LimitReached{Order: &o, PerBuyerLimit: 1}}
			got, err = b.Claim(t.Context(), sale.Claim{})
			if err != nil {
				t.Fatal(err)
			}
			limit, _ := got.Problem.(sale.LimitReached)
			check("above the limit", limit.Order)
			if limit.PerBuyerLimit != 1 {
				t.Errorf("the limit became %d", limit.PerBuyerLimit)
			}
			if o.Status != sale.StatusPending {
				t.Error("the gate's own value was changed")
			}
		})
	}
}

func TestLimitWithoutAnOrder(t *testing.T) {
	t.Parallel()
	b := newBundle()
	b.result = sale.ClaimResult{Problem: sale.LimitReached{PerBuyerLimit: 2}}
	got, err := b.Claim(t.Context(), sale.Claim{})
	if diff := cmp.Diff(b.result, got); err != nil || diff != "" || b.calls != nil {
		t.Errorf("%v after %v\n%s", err, b.calls, diff)
	}
}
