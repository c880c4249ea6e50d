package sale_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestClaimFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		quantity int
		request  string
		fault    string // a part of the message; "" means none
	}{
		"one":                  {1, "", ""},
		"as many as possible":  {sale.MaxPerBuyerLimit, "Az09-_.:", ""},
		"longest request":      {1, strings.Repeat("x", sale.MaxRequestID), ""},
		"none":                 {0, "", "not 0"},
		"H: less than nothing": {-3, "", "not -3"},
		"too many":             {sale.MaxPerBuyerLimit + 1, "", "at most 100"},
		"overflow":             {math.MaxInt, "", "at most 100"},
		"request too long":     {1, strings.Repeat("x", sale.MaxRequestID+1), "requestId"},
		"separator in it":      {1, "a|b", "requestId"},
		"space in it":          {1, "a b", "requestId"},
		"NUL in it":            {1, "a\x00", "requestId"},
		"beyond ASCII":         {1, "\u00e9", "requestId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sale.Claim{Quantity: test.quantity, RequestID: test.request}.Fault()
			switch {
			case test.fault == "":
				if got != nil {
					t.Errorf("refused: %s", got.Message())
				}
			case got == nil:
				t.Error("not refused")
			case got.Code() != sale.ProblemInvalid || !strings.Contains(got.Message(), test.fault):
				t.Errorf("refused as %s: %s", got.Code(), got.Message())
			}
		})
	}
}

func TestBuyerIDFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id   string
		good bool
	}{
		"plain":         {"u1", true},
		"separators":    {"auth0|user 1", true},
		"other scripts": {"\u5f20\u4e09", true},
		"longest":       {strings.Repeat("x", sale.MaxBuyerID), true},
		"empty":         {"", false},
		"too long":      {strings.Repeat("x", sale.MaxBuyerID+1), false},
		"V25: NUL":      {"u\x00", false},
		"V25: not text": {"u\xff", false},
		"line break":    {"u\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sale.BuyerIDFault(test.id); (got == "") != test.good {
				t.Errorf("%q: %q", test.id, got)
			}
		})
	}
}

func TestClaimProblems(t *testing.T) {
	t.Parallel()
	seen := map[sale.ClaimProblemCode]bool{}
	for _, test := range []struct {
		problem   sale.ClaimProblem
		code      sale.ClaimProblemCode
		retryable bool
	}{
		{sale.SoldOut{}, sale.ProblemSoldOut, true},
		{sale.SaleNotOpen{}, sale.ProblemNotOpen, true},
		{sale.SaleClosed{}, sale.ProblemClosed, false},
		{sale.SalePaused{}, sale.ProblemPaused, true},
		{sale.LimitReached{PerBuyerLimit: 2}, sale.ProblemLimitReached, false},
		{sale.NotReady{}, sale.ProblemNotReady, true},
		{sale.Busy{}, sale.ProblemBusy, true},
		{sale.RateLimited{}, sale.ProblemRateLimited, true},
		{sale.VoucherNotFound{}, sale.ProblemNotFound, false},
		{sale.InvalidClaim{Reason: "quantity is odd"}, sale.ProblemInvalid, false},
	} {
		if got := test.problem.Code(); got != test.code || seen[got] {
			t.Errorf("%T has the code %s", test.problem, got)
		}
		seen[test.code] = true
		if test.problem.Retryable() != test.retryable {
			t.Errorf("%s is retryable: %v", test.code, test.problem.Retryable())
		}
		if m := test.problem.Message(); !strings.HasSuffix(m, ".") {
			t.Errorf("%s says %q", test.code, m)
		}
	}
	if few := (sale.SoldOut{Remaining: 1}).Message(); few == (sale.SoldOut{}).Message() {
		t.Error("too few and none sound alike")
	}
}

func TestViewer(t *testing.T) {
	t.Parallel()
	if _, ok := sale.ViewerFrom(context.Background()); ok {
		t.Error("nobody is somebody")
	}
	ctx := sale.WithViewer(context.Background(), sale.Viewer{BuyerID: "u1", Roles: []sale.Role{sale.RoleAdmin}})
	v, ok := sale.ViewerFrom(ctx)
	if !ok || v.BuyerID != "u1" || !v.Has(sale.RoleAdmin) || v.Has(sale.RolePayment) {
		t.Errorf("got %+v, %v", v, ok)
	}
}
