package gate_test

import (
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// TestWindowIsHalfOpen: the window is [opens, closes) to the millisecond, by
// Redis's clock.
func TestWindowIsHalfOpen(t *testing.T) {
	t.Parallel()
	b, clock := onMiniredis(t)
	opens := time.Date(2030, 1, 1, 10, 0, 0, 0, time.UTC)
	closes := opens.Add(time.Minute)
	v := b.published(t, func(v *sale.Voucher) { v.OpensAt, v.ClosesAt = opens, closes })
	for i, test := range []struct {
		at   time.Time
		want sale.ClaimResult // its problem; none means accepted
	}{
		{opens.Add(-time.Millisecond), sale.ClaimResult{Problem: sale.SaleNotOpen{OpensAt: opens, ServerTime: opens.Add(-time.Millisecond)}}},
		{opens.Add(-time.Microsecond), sale.ClaimResult{Problem: sale.SaleNotOpen{OpensAt: opens, ServerTime: opens.Add(-time.Millisecond)}}},
		{opens, sale.ClaimResult{}},
		{closes.Add(-time.Millisecond), sale.ClaimResult{}},
		{closes.Add(-time.Microsecond), sale.ClaimResult{}},
		{closes, sale.ClaimResult{Problem: sale.SaleClosed{ClosesAt: closes}}},
		{closes.Add(time.Hour), sale.ClaimResult{Problem: sale.SaleClosed{ClosesAt: closes}}},
	} {
		clock.SetTime(test.at)
		got := b.claim(t, one(v, buyer(i)))
		if diff := cmp.Diff(test.want.Problem, got.Problem); diff != "" {
			t.Errorf("at %s:\n%s", test.at, diff)
		}
	}
}

// TestOurClockJudgesNothing: a server whose clock is years wrong accepts and
// refuses like any other.
func TestOurClockJudgesNothing(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, engine(t), func(o *gate.Options) {
				o.Now = func() time.Time { return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) }
			})
			if o := b.accepted(t, one(b.published(t), "u")); time.Since(o.ClaimedAt).Abs() > patience {
				t.Errorf("claimed at %s", o.ClaimedAt)
			}
			later := b.published(t, func(v *sale.Voucher) { v.OpensAt = v.ClosesAt.Add(-time.Second) })
			p, ok := b.claim(t, one(later, "u")).Problem.(sale.SaleNotOpen)
			if !ok || time.Since(p.ServerTime).Abs() > patience || !p.OpensAt.Equal(later.OpensAt) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// TestQuantityFromOneToTheLimit guards H: a plain check would let -3 add stock.
func TestQuantityFromOneToTheLimit(t *testing.T) {
	t.Parallel()
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t, func(v *sale.Voucher) { v.PerBuyerLimit = 2 })
		before := b.contents(t, v.ID)
		for quantity, want := range map[int]sale.ClaimProblemCode{
			0: sale.ProblemInvalid, -3: sale.ProblemInvalid, math.MinInt: sale.ProblemInvalid, math.MaxInt: sale.ProblemInvalid,
			sale.MaxPerBuyerLimit + 1: sale.ProblemInvalid, 3: sale.ProblemLimitReached,
		} {
			r := b.claim(t, sale.Claim{VoucherID: v.ID, BuyerID: "u", Quantity: quantity})
			if r.Problem == nil || r.Problem.Code() != want || r.Order != nil {
				t.Errorf("quantity %d: %s", quantity, codeOf(r))
			}
		}
		if after := b.contents(t, v.ID); after != before {
			t.Errorf("keys changed:\n%s\n%s", before, after)
		}
	})
}

// TestScriptChecksItsArguments: the script does not rely on its caller. A2, H.
func TestScriptChecksItsArguments(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("claim.lua")
	if err != nil {
		t.Fatal(err)
	}
	good := func() []any { return []any{"u", "ord", "vch", "1", "", "100"} }
	onEveryEngine(t, func(t *testing.T, b *bundle) {
		v := b.published(t)
		before := b.contents(t, v.ID)
		for _, bad := range []struct {
			argument int
			value    string
		}{
			{0, ""},
			{1, ""},
			{2, ""},
			{3, ""},
			{3, "0"},
			{3, "-3"},
			{3, "1.5"},
			{3, "nan"},
			{3, "inf"},
			{3, "-inf"},
			{3, "9e99"},
			{3, "one"},
			{3, "9007199254740993"},
			{4, "a b"},
			{4, "a|b"},
			{5, ""},
			{5, "many"},
		} {
			args := good()
			args[bad.argument] = bad.value
			got, err := b.raw.Eval(context.Background(), string(source), keysOf(v.ID)[:5], args...).Slice()
			if err != nil || len(got) != 2 || got[0] != "INVALID" {
				t.Errorf("ARGV[%d] = %q: %v, %v", bad.argument+1, bad.value, got, err)
			}
		}
		for n := range 6 {
			if got, err := b.raw.Eval(context.Background(), string(source), keysOf(v.ID)[:5], good()[:n]...).Slice(); err == nil && got[0] != "INVALID" {
				t.Errorf("with %d arguments: %v", n, got)
			}
		}
		if after := b.contents(t, v.ID); after != before {
			t.Errorf("keys changed:\n%s\n%s", before, after)
		}
	})
}

// TestClaimOutsideThePartitions: an ID that no deployment of this size made names
// nothing, and nobody is asked.
func TestClaimOutsideThePartitions(t *testing.T) {
	t.Parallel()
	b, redis := onMiniredis(t)
	for _, id := range []sale.VoucherID{"", "x", sale.NewVoucherID(16, time.Now()), "vch_*"} {
		if r := b.claim(t, sale.Claim{VoucherID: id, BuyerID: "u", Quantity: 1}); codeOf(r) != "NOT_FOUND" {
			t.Errorf("%q: %s", id, codeOf(r))
		}
	}
	if b.archive.asked != 0 || len(redis.Keys()) != 0 {
		t.Errorf("the archive was asked %d times, keys %v", b.archive.asked, redis.Keys())
	}
}
