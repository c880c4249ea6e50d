package sale_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flashclaim/flashclaim/internal/sale"
)

func TestTallyAdmits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		total, sold, limit int
		held               sale.Hold
		quantity           int
		ordinal            int
		refused            sale.RejectionCode
	}{
		"first order":                       {10, 0, 2, sale.Hold{}, 1, 1, ""},
		"second order":                      {10, 1, 2, sale.Hold{Units: 1, Ordinals: []int{1}}, 1, 2, ""},
		"the gap left by a cancelled order": {10, 1, 2, sale.Hold{Units: 1, Ordinals: []int{2}}, 1, 1, ""},
		"last units":                        {10, 8, 2, sale.Hold{}, 2, 1, ""},
		"one too many":                      {10, 9, 2, sale.Hold{}, 2, 0, sale.RejectedSoldOut},
		"sold out":                          {10, 10, 2, sale.Hold{}, 1, 0, sale.RejectedSoldOut},
		"more sold than there are":          {10, 12, 2, sale.Hold{}, 1, 0, sale.RejectedSoldOut},
		"limit":                             {10, 2, 2, sale.Hold{Units: 2, Ordinals: []int{1, 2}}, 1, 0, sale.RejectedLimitReached},
		"limit by quantity":                 {10, 2, 3, sale.Hold{Units: 2, Ordinals: []int{1}}, 2, 0, sale.RejectedLimitReached},
		"limit before stock":                {1, 1, 1, sale.Hold{Units: 1, Ordinals: []int{1}}, 1, 0, sale.RejectedLimitReached},
		"nothing":                           {10, 0, 2, sale.Hold{}, 0, 0, sale.RejectedInvalid},
		"less than nothing":                 {10, 0, 2, sale.Hold{}, -3, 0, sale.RejectedInvalid},
		"a number that overflows a sum":     {10, 1, 2, sale.Hold{Units: 1, Ordinals: []int{1}}, math.MaxInt, 0, sale.RejectedLimitReached},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := sale.Tally{Total: test.total, Sold: test.sold, Limit: test.limit, Held: map[string]sale.Hold{"b": test.held}}
			ordinal, refused := tally.Admit(sale.Order{BuyerID: "b", Quantity: test.quantity})
			if ordinal != test.ordinal || refused != test.refused {
				t.Errorf("got ordinal %d, refused %q", ordinal, refused)
			}
			sold, units := test.sold, test.held.Units
			if test.refused == "" {
				sold, units = sold+test.quantity, units+test.quantity
			}
			if tally.Sold != sold || tally.Held["b"].Units != units {
				t.Errorf("afterwards %d are sold and the buyer holds %d", tally.Sold, tally.Held["b"].Units)
			}
		})
	}
}

// taken is an admitted order as the property's model knows it.
type taken struct {
	buyer          string
	units, ordinal int
}

// TestTallyKeepsTheLaw: whatever comes in whatever order, live orders never
// exceed the total, a buyer never exceeds the limit, and a buyer's ordinals
// are different numbers from 1 to the limit.
func TestTallyKeepsTheLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tally := sale.Tally{
			Total: rapid.IntRange(1, 12).Draw(rt, "total"), Limit: rapid.IntRange(1, 4).Draw(rt, "limit"),
			Held: map[string]sale.Hold{},
		}
		var live []taken
		rt.Repeat(map[string]func(*rapid.T){
			"claim": func(rt *rapid.T) {
				o := sale.Order{
					BuyerID:  rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "buyer"),
					Quantity: rapid.IntRange(-1, 5).Draw(rt, "quantity"),
				}
				ordinal, refused := tally.Admit(o)
				if (ordinal == 0) != (refused != "") {
					rt.Fatalf("ordinal %d, refused %q", ordinal, refused)
				}
				if refused == "" {
					live = append(live, taken{o.BuyerID, o.Quantity, ordinal})
				}
			},
			"give back": func(rt *rapid.T) {
				if len(live) == 0 {
					rt.Skip("nothing is held")
				}
				i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
				gone := live[i]
				live = slices.Delete(live, i, i+1)
				hold := tally.Held[gone.buyer]
				hold.Units -= gone.units
				hold.Ordinals = slices.DeleteFunc(hold.Ordinals, func(n int) bool { return n == gone.ordinal })
				tally.Held[gone.buyer] = hold
				tally.Sold -= gone.units
			},
			"": func(rt *rapid.T) { checkTally(rt, tally, live) },
		})
	})
}

func checkTally(rt *rapid.T, tally sale.Tally, live []taken) {
	sold, units, ordinals := 0, map[string]int{}, map[string]bool{}
	for _, l := range live {
		sold += l.units
		units[l.buyer] += l.units
		name := fmt.Sprint(l.buyer, l.ordinal)
		if ordinals[name] || l.ordinal < 1 || l.ordinal > tally.Limit {
			rt.Fatalf("ordinal %d of buyer %s is taken twice or out of range", l.ordinal, l.buyer)
		}
		ordinals[name] = true
		if units[l.buyer] > tally.Limit {
			rt.Fatalf("buyer %s holds %d, the limit is %d", l.buyer, units[l.buyer], tally.Limit)
		}
	}
	if sold > tally.Total || sold != tally.Sold {
		rt.Fatalf("%d units are live, %d counted, %d were on sale", sold, tally.Sold, tally.Total)
	}
}
