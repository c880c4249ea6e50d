package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

const claimDocument = `mutation ($input: ClaimVoucherInput!) { claimVoucher(input: $input) {
  order { id status } replayed
  problem {
    __typename code message retryable
    ... on SoldOut { remaining }
    ... on SaleNotOpen { opensAt serverTime }
    ... on SaleClosed { closesAt }
    ... on LimitReached { perBuyerLimit order { id status } }
    ... on Busy { retryAfterMs }
    ... on RateLimited { retryAfterMs }
  }
} }`

// TestProblems: every refusal that the domain knows comes out as the type of its
// own, with what the buyer needs to go on.
func TestProblems(t *testing.T) {
	t.Parallel()
	had := pending()
	cases := map[string]struct {
		problem sale.ClaimProblem
		want    string // of the type's own members
	}{
		"SoldOut":         {sale.SoldOut{Remaining: 2}, `,"remaining":2`},
		"SaleNotOpen":     {sale.SaleNotOpen{OpensAt: noon.AddDate(1, 0, 0), ServerTime: noon}, `,"opensAt":"2031-01-01T12:00:00.123Z","serverTime":"2030-01-01T12:00:00.123Z"`},
		"SaleClosed":      {sale.SaleClosed{ClosesAt: noon}, `,"closesAt":"2030-01-01T12:00:00.123Z"`},
		"SalePaused":      {sale.SalePaused{}, ``},
		"LimitReached":    {sale.LimitReached{PerBuyerLimit: 2, Order: &had}, fmt.Sprintf(`,"perBuyerLimit":2,"order":{"id":%q,"status":"PENDING"}`, orderID)},
		"NotReady":        {sale.NotReady{}, ``},
		"Busy":            {sale.Busy{RetryAfterMs: 250}, `,"retryAfterMs":250`},
		"RateLimited":     {sale.RateLimited{RetryAfterMs: 90}, `,"retryAfterMs":90`},
		"VoucherNotFound": {sale.VoucherNotFound{}, ``},
		"InvalidClaim":    {sale.InvalidClaim{Reason: "quantity must be 1 or more, not 0"}, ``},
	}
	for _, name := range schemaOf(t).PossibleTypes["ClaimProblem"] {
		if _, ok := cases[name.Name]; !ok {
			t.Errorf("%s has no case here", name.Name)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, &fakes{claim: func(sale.Claim) (sale.ClaimResult, error) {
				return sale.ClaimResult{Problem: c.problem}, nil
			}})
			got := b.ask(ada, claimDocument, fmt.Sprintf(`{"input":{"voucherId":%q}}`, voucherID))
			message, _ := json.Marshal(c.problem.Message())
			want := fmt.Sprintf(`{"claimVoucher":{"order":null,"replayed":false,"problem":{"__typename":%q,"code":%q,"message":%s,"retryable":%t%s}}}`,
				name, c.problem.Code(), message, c.problem.Retryable(), c.want)
			if diff := cmp.Diff(want, string(got.Data)); diff != "" || len(got.Errors) > 0 {
				t.Errorf("errors %+v (-want +got):\n%s", got.Errors, diff)
			}
		})
	}
}

// TestLimitReachedWithoutOrder: the quantity alone may be above the limit.
func TestLimitReachedWithoutOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{claim: func(sale.Claim) (sale.ClaimResult, error) {
		return sale.ClaimResult{Problem: sale.LimitReached{PerBuyerLimit: 1}}, nil
	}})
	got := b.ask(ada, claimDocument, fmt.Sprintf(`{"input":{"voucherId":%q}}`, voucherID))
	if !strings.Contains(string(got.Data), `"perBuyerLimit":1,"order":null`) || len(got.Errors) > 0 {
		t.Errorf("%s %+v", got.Data, got.Errors)
	}
}

// TestClaimGoesInward: what a client sends arrives, and an ID that cannot name a
// voucher does not.
func TestClaimGoesInward(t *testing.T) {
	t.Parallel()
	var got sale.Claim
	o := pending()
	b := setup(t, &fakes{claim: func(c sale.Claim) (sale.ClaimResult, error) {
		got = c
		return sale.ClaimResult{Order: &o, Replayed: true}, nil
	}})
	cases := map[string]sale.Claim{
		fmt.Sprintf(`{"input":{"voucherId":%q}}`, voucherID):                                {VoucherID: voucherID, BuyerID: "ada", Quantity: 1},
		fmt.Sprintf(`{"input":{"voucherId":%q,"quantity":3,"requestId":"r"}}`, voucherID):   {VoucherID: voucherID, BuyerID: "ada", Quantity: 3, RequestID: "r"},
		fmt.Sprintf(`{"input":{"voucherId":%q,"quantity":-1,"requestId":null}}`, voucherID): {VoucherID: voucherID, BuyerID: "ada", Quantity: -1},
	}
	for variables, want := range cases {
		a := b.ask(ada, claimDocument, variables)
		if diff := cmp.Diff(want, got); diff != "" || len(a.Errors) > 0 {
			t.Errorf("%s: errors %+v (-want +got):\n%s", variables, a.Errors, diff)
		}
		want := fmt.Sprintf(`{"claimVoucher":{"order":{"id":%q,"status":"PENDING"},"replayed":true,"problem":null}}`, orderID)
		if diff := cmp.Diff(want, string(a.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", variables, diff)
		}
	}
	got = sale.Claim{}
	for _, id := range []string{"1", "", string(orderID), "vch_"} {
		a := b.ask(ada, claimDocument, fmt.Sprintf(`{"input":{"voucherId":%q}}`, id))
		if !strings.Contains(string(a.Data), `"code":"NOT_FOUND"`) || got.Quantity != 0 {
			t.Errorf("claim %q: %s, and the gate was asked for %+v", id, a.Data, got)
		}
	}
}
