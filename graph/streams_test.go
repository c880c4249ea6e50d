package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// stream gives the values and ends.
func stream[T any](values ...T) <-chan *T {
	c := make(chan *T, len(values))
	for i := range values {
		c <- &values[i]
	}
	close(c)
	return c
}

// TestSubscriptions: what the bell tells comes out whole, in order, until it
// ends; what the client asked for goes inward.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	var asked string
	committed := pending().Committed(noon.Add(time.Second))
	b := setup(t, &fakes{
		watchOrder: func(buyer string, id sale.OrderID, after int) (<-chan *sale.Order, error) {
			asked = fmt.Sprint(buyer, " ", id == orderID, " ", after)
			return stream(pending(), committed), nil
		},
		watchBuyer: func(buyer string) (<-chan *sale.Order, error) {
			asked = buyer
			return stream(committed), nil
		},
		watchVoucher: func(id sale.VoucherID) (<-chan *sale.Voucher, error) {
			asked = fmt.Sprint(id == voucherID)
			return stream(sample()), nil
		},
	})
	one, two := fmt.Sprintf(`{"id":%q,"version":1}`, orderID), fmt.Sprintf(`{"id":%q,"version":2}`, orderID)
	cases := []struct {
		who      caller
		document string
		asked    string
		want     []string
	}{
		{ada, fmt.Sprintf(`subscription { orderUpdated(id: %q) { id version } }`, orderID), "ada true 0", []string{`{"orderUpdated":` + one + `}`, `{"orderUpdated":` + two + `}`}},
		{ada, fmt.Sprintf(`subscription { orderUpdated(id: %q, afterVersion: 3) { id version } }`, orderID), "ada true 3", []string{`{"orderUpdated":` + one + `}`, `{"orderUpdated":` + two + `}`}},
		{ada, `subscription { viewerOrderUpdated { id version } }`, "ada", []string{`{"viewerOrderUpdated":` + two + `}`}},
		{nobody, fmt.Sprintf(`subscription { voucherUpdated(id: %q) { remaining saleState } }`, voucherID), "true", []string{`{"voucherUpdated":{"remaining":60,"saleState":"OPEN"}}`}},
	}
	for _, c := range cases {
		asked = ""
		var got []string
		for _, a := range b.hear(c.who, c.document) {
			got = append(got, string(a.Data))
			if len(a.Errors) > 0 {
				t.Errorf("%s: %+v", c.document, a.Errors)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || asked != c.asked {
			t.Errorf("%s asked for %q, want %q (-want +got):\n%s", c.document, asked, c.asked, diff)
		}
	}
}

// TestSubscriptionFaults: what is refused before the first event has its code.
func TestSubscriptionFaults(t *testing.T) {
	t.Parallel()
	b := setup(t, &fakes{
		watchOrder:   func(string, sale.OrderID, int) (<-chan *sale.Order, error) { return nil, sale.ErrNotFound },
		watchVoucher: func(sale.VoucherID) (<-chan *sale.Voucher, error) { return nil, sale.ErrNotFound },
	})
	cases := []struct {
		who            caller
		document, code string
	}{
		{nobody, `subscription { orderUpdated(id: "x") { id } }`, "UNAUTHENTICATED"},
		{nobody, `subscription { viewerOrderUpdated { id } }`, "UNAUTHENTICATED"},
		{ada, `subscription { orderUpdated(id: "x") { id } }`, "NOT_FOUND"},
		{ada, `subscription { orderUpdated(id: "x", afterVersion: 2147483648) { id } }`, "BAD_USER_INPUT"},
		{nobody, `subscription { voucherUpdated(id: "x") { id } }`, "NOT_FOUND"},
	}
	for _, c := range cases {
		got := b.hear(c.who, c.document)
		if len(got) != 1 || got[0].code(t) != c.code {
			t.Errorf("%s: %+v, want one answer with %s", c.document, got, c.code)
		}
	}
}
